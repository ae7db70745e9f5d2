import json
import os
import pathlib

import pytest

import gsofa

pytest.importorskip("pandas")
from gsofa import testbed  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[4]


def record(variant="cpu_a", samples=(2.0, 3.0, 4.0), matrix="m", machine="x", status="pass"):
    return {"matrix": {"name": matrix, "n": 3, "nnz": 4, "nnz_prepared": 5}, "variant": variant, "device": "cpu",
            "options": {"w": 1}, "threads": 1, "mpi": {"ranks": 1}, "status": status, "reason": "", "samples_s": list(samples),
            "result": {"fill": 1, "nnz_l": 2, "nnz_u": 4}, "machine": {"id": machine}, "host": "h", "git": {"sha": "c"},
            "time_utc": "t"}


def write(path, *records):
    path.write_text("".join(json.dumps(r) + "\n" for r in records))
    return path


def test_read_has_a_row_for_each_run(tmp_path):
    file = write(tmp_path / "a.jsonl", record(), record("cpu_b", (1.0,)), record("cpu_c", (), status="timeout"), {"kind": "order"})
    frame = testbed.read(tmp_path)
    assert frame["variant"].tolist() == ["cpu_a", "cpu_b", "cpu_c"] and frame["line"].tolist() == [1, 2, 3]
    a, b, c = (frame.iloc[k] for k in range(3))
    assert (a.median_s, a.nnz, a.fill, a.machine, a.file) == (3, 5, 1, "x", str(file)) and 2 <= a.low_s <= 3 <= a.high_s <= 4
    assert b.median_s == 1 and b.low_s != b.low_s and c.median_s != c.median_s and c.status == "timeout"


def test_records_have_the_fields_of_the_header_of_their_run(tmp_path):
    header = {"schema": 2, "kind": "run_header", "run_id": "r", "git": {"sha": "d"}, "host": "g", "cpu": "c", "machine": {"id": "y"},
              "mpi": {"ranks": 2}}
    line = {k: v for k, v in record().items() if k not in ("git", "host")} | {
        "schema": 2, "run_id": "r", "machine": {"after": {}}, "mpi": {"rank_phases_s": []}}
    frame = testbed.read(write(tmp_path / "a.jsonl", header, line))
    assert frame[["commit", "machine", "cpu", "ranks", "line"]].values.tolist() == [["d", "y", "c", 2, 2]]
    with pytest.raises(gsofa.InvalidInput, match="a.jsonl:1: no line before it is the run_header of r"):
        testbed.read(write(tmp_path / "a.jsonl", line))


def test_a_broken_line_is_named(tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text(json.dumps(record()) + "\n{")
    with pytest.raises(gsofa.InvalidInput, match="a.jsonl:2"):
        testbed.read(file)


def test_compare_gives_the_ratio_of_each_common_case(tmp_path):
    before = testbed.read(write(tmp_path / "a.jsonl", record(samples=(2, 2, 2)), record("cpu_b", (1, 1)), record("cpu_once", (1,))))
    after = testbed.read(write(tmp_path / "b.jsonl", record(samples=(1, 1, 1)), record("cpu_b", (3, 5), machine="y"),
                               record("cpu_new", (1, 1)), record("cpu_once", (2,))))
    found = testbed.compare(before, after).set_index("variant")
    assert found.index.tolist() == ["cpu_a", "cpu_b", "cpu_once"]
    assert found.ratio.tolist() == [0.5, 4, 2] and found.one_machine.tolist() == [True, False, True]
    assert (found.low["cpu_a"], found.high["cpu_a"]) == (0.5, 0.5) and 3 <= found.low["cpu_b"] <= 4 <= found.high["cpu_b"] <= 5
    assert found.low["cpu_once"] != found.low["cpu_once"]


def test_copies_of_a_virtual_machine_are_not_one(tmp_path):
    """They have one id, on processors of several kinds."""
    sides = [testbed.read(write(tmp_path / f"{cpu}.jsonl", record() | {"cpu": cpu})) for cpu in ("AMD EPYC", "Intel(R) Xeon(R)")]
    assert not testbed.compare(*sides).one_machine.any() and testbed.compare(sides[0], sides[0]).one_machine.all()


def test_runs_are_appended_to_records_alone(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("my notes\n")
    with pytest.raises(gsofa.InvalidInput, match="notes.txt: its first line is not a record"):
        testbed.run("cpu_a", "m", out=file, root=tmp_path)
    assert file.read_text() == "my notes\n"


@pytest.fixture
def built():
    try:
        return testbed.program(ROOT)
    except gsofa.Unavailable as e:
        pytest.skip(str(e))


def test_run(built, tmp_path):
    kept = tmp_path / "kept.jsonl"
    matrix = ROOT / "experiments" / "matrices" / "worked_example.mtx"
    frame = testbed.run(["cpu_fill1", "cpu_bitmap_panels"], str(matrix), order="natural", repeat=2, out=kept, root=ROOT)
    assert sorted(frame["variant"]) == ["cpu_bitmap_panels", "cpu_fill1"] and set(frame["status"]) == {"pass"}
    assert set(frame["fill"]) == {13} and len(testbed.read(kept)) == 2
    with pytest.raises(gsofa.InvalidInput, match="cpu_fil"):
        testbed.run("cpu_fil", str(matrix), root=ROOT)


def test_a_tree_without_a_program_is_unavailable(tmp_path, monkeypatch):
    monkeypatch.delenv("GSOFA", raising=False)
    with pytest.raises(gsofa.Unavailable, match="testbed build"):
        testbed.run("cpu_a", "m", root=tmp_path)
    assert os.environ.get("GSOFA") is None
