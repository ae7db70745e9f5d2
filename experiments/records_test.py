"""Tests of the records under experiments/records/: each verified, each with its provenance.

$GSOFA_RECORDS names another folder; with $GSOFA, the built program, the digest of bcsstk18 is computed
again. Exit status 77 if there are no records.
"""

import collections
import copy
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import json_lines

HERE = Path(__file__).resolve().parent
RECORDS = Path(os.environ.get("GSOFA_RECORDS") or HERE / "records")
INPUTS = HERE / "gpu_single" / "inputs.tsv"
GSOFA = os.environ.get("GSOFA", "")
SKIPPED = 77

TRUSTED = json_lines.TRUSTED


def known_sha256():
    """{matrix: sha256 of its files, with and without values}, of the inputs of the GPU runs."""
    known = collections.defaultdict(set)
    for line in INPUTS.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            name, source, _, sha256, spec = line.split("\t")
            known[spec if source == "generated" else name].add(sha256)
    return known


def problems(record, known):
    """What is wrong with one record taken by itself. schema_test.py checks its form."""
    git = record["git"]
    found = ["made by an unknown or changed tree"] if git["sha"] == "unknown" or git["dirty"] else []
    if record.get("kind") == "order":
        return found + order_problems(record)
    return found if record.get("kind") == "sequence" else found + run_problems(record, known)


def run_problems(record, known):
    """What is wrong with a line of a run."""
    found = []
    mpi = record["mpi"]
    if mpi["ranks"] > 1:
        if not record["counting"] and len(mpi.get("rank_phases_s", [])) != mpi["ranks"]:
            found.append("mpi.rank_phases_s does not have the phases of every rank")
        if not mpi.get("library"):
            found.append("mpi.library is empty in a job of several ranks")
        if sum(int(r) for r in mpi["map"].split(",") if r.isdigit()) != mpi["ranks"]:
            found.append("mpi.map does not add up to mpi.ranks")
    on_gpu = record["device"] == "gpu"
    if on_gpu and not record["gpus"]:
        found.append("gpus is empty, but the variant ran on a GPU")
    if on_gpu and not record["build"]["nvcc"]:
        found.append("build.nvcc is empty, but the variant ran on a GPU")
    if on_gpu and record["mem"]["device_peak"] <= 0 and record["status"] != "timeout":  # a run that is stopped reports none
        found.append("mem.device_peak is not positive, but the variant ran on a GPU")
    matrix, ordering = record["matrix"], record["ordering"]
    if matrix["nnz"] <= 0:
        found.append("matrix.nnz is not positive")
    expected = known.get(matrix["name"])
    if expected and not matrix["stand_in"] and matrix["sha256"] not in expected:
        found.append(f"matrix.sha256 is not that of {matrix['name']} in {INPUTS.name}")
    if ordering["col"] in ("metis", "amd", "colamd") and not ordering["library"]:
        found.append("ordering.library is empty")
    return found + outcome_problems(record)


def order_problems(record):
    """What is wrong with a line of `gsofa order`."""
    found = []
    if record["status"] != "pass" or not record["samples_s"]:
        found.append(f"status is {record['status']} with {len(record['samples_s'])} samples")
    result = record["result"]
    if result["fill"] != result["nnz_l"] + result["nnz_u"] - record["matrix"]["nnz_prepared"]:
        found.append("result.fill is not nnz_l + nnz_u - nnz_prepared")
    return found


def outcome_problems(record):
    found = []
    status, result = record["status"], record["result"]
    may_be_unverified = record["device"] == "peer" or record["variant"] == TRUSTED
    # A time limit says nothing against the runs before it, which were verified one by one.
    ran_long = (status == "timeout" and record["samples_s"] and
                record["reason"].startswith("passed its limit of "))
    # One that no run was within bounds the time from below.
    bound = (status == "timeout" and not record["samples_s"] and record.get("trials", {}).get("timeout_s", 0) > 0 and
             record["reason"].startswith("passed its limit of "))
    if bound:
        return []
    if status != "pass" and not ran_long and not (status == "unverified" and may_be_unverified):
        found.append(f"status is {status} ({record['reason']})")
    absent = [name for name in ("nnz_l", "nnz_u", "fill") if name not in result]
    if absent:
        return [*found, *(f"result.{name} is absent" for name in absent)]
    if result["fill"] != result["nnz_l"] + result["nnz_u"] - record["matrix"]["nnz_prepared"]:
        found.append("result.fill is not nnz_l + nnz_u - nnz_prepared")
    if "digest" not in result and record["device"] != "peer":
        found.append("result.digest is absent")
    samples = record["samples_s"]
    if record["counting"]:
        if samples:
            found.append("samples_s of the counting build")
        if not record["counters"]:
            found.append("counters of the counting build are empty")
        return found
    if not samples:
        return [*found, "samples_s is empty"]
    total = sum(record["phases_s"].values())
    if not any(abs(total - s) <= 0.01 * s + 1e-6 for s in samples):
        found.append(f"phases_s sums to {total:.6g} s, no sample within 1 %")
    return found


def problems_across(records):
    """What is wrong with (place, record) pairs taken together: one pattern has one fill. A variant that finds an order of its
    own, a phase of its time, is compared with itself, of the same sources."""
    found = []
    exact = [(w, r) for w, r in records if r["device"] != "peer" and "digest" in r["result"]]
    groups = collections.defaultdict(list)
    for where, r in exact:
        own = f"{r['variant']} {r['git']['sha']}" if "order" in r["phases_s"] else ""
        groups[r["matrix"]["name"], r["ordering"]["digest"], own].append((where, r))
    for (matrix, _, _), members in groups.items():
        for what, key in (("digest", lambda r: r["result"]["digest"]),
                          ("nnz_l", lambda r: r["result"]["nnz_l"]),
                          ("nnz_u", lambda r: r["result"]["nnz_u"])):
            found += disagreement(matrix, what, members, key)
        chunks = collections.defaultdict(list)
        for where, r in members:
            if "supernodes" in r["result"]:
                chunks[r["chunk_size"]].append((where, r))
        for part in chunks.values():
            found += disagreement(matrix, "supernodes", part, lambda r: r["result"]["supernodes"])
        passed = any(r["status"] == "pass" for _, r in members)
        for where, r in members:
            if r["status"] == "unverified" and not passed:
                found.append(f"{where}: unverified, and no other variant agrees on {matrix}")
    return found


def disagreement(matrix, what, members, key):
    where, first = members[0]
    return [f"{other}: {what} of {r['variant']} on {matrix} is {key(r)}; {first['variant']} has "
            f"{key(first)} ({where})" for other, r in members[1:] if key(r) != key(first)]


def read_lines(path, folder, found):
    """(place, record) of every line of a file; what is no JSON object joins `found`."""
    def sound():
        with json_lines.opened(path) as file:
            for number, line in enumerate(file.read().splitlines(), 1):
                try:
                    yield json_lines.parse(line, f"{path.relative_to(folder)}:{number}")
                except json_lines.BadLine as e:
                    found.append(str(e))
    try:
        yield from ((line.place, line) for line in json_lines.joined(sound()))
    except json_lines.BadLine as e:
        found.append(str(e))


def read_folder(folder):
    """(records as (place, record), problems of reading) of every file of records below a folder."""
    records, found = [], []
    for path in json_lines.files_below(folder):
        if path.name == "profile.jsonl" or path.name.startswith("regret"):  # no records
            continue
        records += read_lines(path, folder, found)
        if not path.stat().st_size:
            found.append(f"{path.name}: is empty")
    return records, found


def faults(records, unreadable):
    """All problems of what read_folder() returned."""
    found = [*unreadable]
    known = known_sha256()
    sound = []
    for where, r in records:
        try:
            wrong = problems(r, known)
        except json_lines.BadLine as e:
            found.append(str(e))
            continue
        found += [f"{where}: {w}" for w in wrong]
        if not wrong and "variant" in r:
            sound.append((where, r))
    return found + problems_across(sound)


def check_folder(folder):
    """(number of records, problems) of a folder of records."""
    records, unreadable = read_folder(folder)
    return len(records), faults(records, unreadable)


class CommittedRecords(unittest.TestCase):
    """The records of the repository."""

    @classmethod
    def setUpClass(cls):
        cls.records, cls.unreadable = read_folder(RECORDS)
        if not cls.records and not cls.unreadable:
            raise unittest.SkipTest(f"no records under {RECORDS}")

    def test_all_verified_with_provenance(self):
        found = faults(self.records, self.unreadable)
        self.assertEqual(found, [], "\n".join(found[:40]))
        self.assertGreater(len(self.records), 0)

    def test_the_readme_has_every_folder(self):
        readme = (HERE / "records" / "README.md").read_text()
        folders = {f.name for f in (HERE / "records").iterdir() if f.is_dir()}
        named = set(re.findall(r"`(\d{4}-\d\d-\d\d_\w+)`", readme))
        hosts = {f for f in folders if f.endswith("_host") and "those with `_host`" in readme}
        self.assertEqual((sorted(folders - named - hosts), sorted(named - folders)), ([], []))

    def test_the_program_trusts_the_same_variant(self):
        if not GSOFA:
            self.skipTest("GSOFA does not name the program")
        done = subprocess.run([GSOFA, "list", "--json"], capture_output=True, text=True, timeout=60)
        self.assertEqual([v["name"] for v in json.loads(done.stdout) if v["trusted"]], [TRUSTED])

    def test_digest_of_bcsstk18_computed_again(self):
        recorded = [(w, r) for w, r in self.records
                    if "kind" not in r and r["matrix"]["name"] == "bcsstk18" and "digest" in r["result"]]
        if not recorded:
            self.skipTest("no record of bcsstk18")
        if not GSOFA:
            self.skipTest("GSOFA does not name the program")
        done = subprocess.run(
            [GSOFA, "run", "--json", "--matrix", "bcsstk18", "--order", "metis", "--variant", TRUSTED, "--want", "digest",
             "--verify", "none", "--repeat", "1", "--warmup", "0"],
            capture_output=True, text=True, timeout=600)
        if done.returncode == 3:
            self.skipTest(done.stderr.strip())
        self.assertEqual(done.returncode, 0, done.stderr)
        (mine,) = json_lines.lines_of(done.stdout, GSOFA)
        same = [(w, r) for w, r in recorded
                if r["ordering"]["digest"] == mine["ordering"]["digest"] and r["options"].get("relax", 1) == 1
                and "order" not in r["phases_s"]]
        if not same:
            self.skipTest("bcsstk18 is ordered otherwise here than in the records")
        for where, r in same:
            for key in ("digest", "nnz_l", "nnz_u"):
                self.assertEqual(r["result"][key], mine["result"][key], f"{where}: {key}")


GOOD = {
    "schema": 1, "run_id": "20260101T000000Z-00000001", "time_utc": "2026-01-01T00:00:00Z",
    "argv": ["gsofa", "run"], "experiment": "", "git": {"sha": "0123456789" * 4, "dirty": False},
    "build": {"version": "0.1.0", "compiler": "GNU 13.3.0", "nvcc": "13.0.88", "flags": "-O3",
              "arch": "x86_64", "type": "Release"},
    "host": "host", "cpu": "cpu",
    "gpus": [{"index": 0, "name": "NVIDIA H200", "memory_bytes": 1, "compute_capability": "9.0",
              "driver": "13.0", "runtime": "13.0"}],
    "mpi": {"ranks": 1, "map": ""},
    "matrix": {"name": "made_up", "n": 3, "nnz": 6, "nnz_prepared": 6, "diagonal_added": 0,
               "sha256": "ab" * 32, "source": "made_up.mtx", "stand_in": False},
    "ordering": {"row": "kept", "col": "metis", "library": "METIS 5.1.0", "seed": -1,
                 "postordered": True, "digest": "0123456789abcdef", "seconds": 0.1},
    "variant": "gpu_maxid", "device": "gpu", "options": {"line_9_5": False}, "threads": 1,
    "chunk_size": 128, "wants": ["counts", "digest"], "counting": False,
    "verify": {"mode": "digest", "seconds": 0.1}, "status": "pass", "reason": "",
    "samples_s": [0.002, 0.001, 0.003], "phases_s": {"traverse": 0.0015, "init": 0.0005},
    "result": {"nnz_l": 2, "nnz_u": 5, "fill": 1, "supernodes": 2, "digest": "00000000000000aa"},
    "mem": {"device_peak": 4096, "predicted": {"fill": 4096}, "host_peak": 0}, "counters": {},
}

GOOD_ORDER = {key: GOOD[key] for key in ("schema", "run_id", "time_utc", "argv", "git", "build", "host", "cpu", "gpus", "threads",
                                          "status", "reason", "samples_s", "matrix")} | {
    "machine": {"id": "ab" * 8, "microcode": "", "threads_usable": 2, "threads_online": 2, "before": {}, "after": {}},
    "kind": "order", "match": "kept", "order": "amd", "library": "", "seed": -1, "shuffle": 3,
    "result": {"nnz_l": 2, "nnz_u": 5, "fill": 1, "flops": 6.0, "height": 3},
    "tree": {"nodes": 3, "largest_separator": 1, "largest_child": 0.5}}


HEADER = {key: GOOD[key] for key in ("run_id", "argv", "experiment", "git", "build", "host", "cpu", "gpus", "mpi")} | {
    "schema": 2, "kind": json_lines.HEADER,
    "machine": {"id": "ab" * 8, "microcode": "", "threads_usable": 2, "threads_online": 2}}
LINE = {key: value for key, value in GOOD.items() if key not in HEADER} | {
    "schema": 2, "run_id": GOOD["run_id"], "machine": {"before": {}, "after": {}}, "mpi": {"rank_phases_s": []},
    "matrix": GOOD["matrix"] | {"kind": "real"}}


GOOD_STEP = {"n": 3, "nnz": 6, "rows_changed": 1, "vertices_moved": 0, "change": "kept", "compared": False,
             "method": "amf"} | dict.fromkeys(("update_s", "update_cpu_s", "update_order_s", "update_operations", "new_s", "new_cpu_s",
                                               "new_order_s", "new_operations"), 0.5)
GOOD_SEQUENCE = {key: GOOD_ORDER[key] for key in ("schema", "run_id", "time_utc", "argv", "git", "build", "host", "cpu", "gpus",
                                                  "threads", "machine")} | {
    "device": "cpu", "kind": "sequence", "steps": [GOOD_STEP, GOOD_STEP],
    "sequence": {"name": "a", "kind": "contact", "source": "b", "sha256": "ab" * 32}}


def changed(path, value=None, base=GOOD):
    """A copy of `base` with one field set, or removed if value is None."""
    record = copy.deepcopy(base)
    *folders, last = path.split(".")
    place = record
    for f in folders:
        place = place[f]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return record


class TheTestItself(unittest.TestCase):
    """Made-up records: good ones are accepted, every fault is found."""

    def found_in(self, *lines, pack=False):
        with tempfile.TemporaryDirectory() as folder:
            data = "".join((x if isinstance(x, str) else json.dumps(x)) + "\n" for x in lines).encode()
            (Path(folder) / ("a.jsonl.gz" if pack else "a.jsonl")).write_bytes(gzip.compress(data) if pack else data)
            return check_folder(Path(folder))

    def assert_accepted(self, *lines):
        self.assertEqual(self.found_in(*lines), (len(lines), []))

    def assert_rejected(self, mention, *lines):
        _, found = self.found_in(*lines)
        self.assertTrue(any(mention in f for f in found), f"no '{mention}' in {found}")

    def test_good_records(self):
        other = changed("variant", "cpu_fill2", changed("device", "cpu"))
        counting = changed("counting", True, changed("samples_s", [], changed(
            "phases_s", {}, changed("counters", {"edges_traversed": 12}))))
        trusted = changed("status", "unverified", changed("variant", TRUSTED, other))
        peer = changed("status", "unverified", changed("device", "peer", changed(
            "result", {"nnz_l": 3, "nnz_u": 5, "fill": 2})))
        reordered = changed("ordering.digest", "f" * 16, changed("result.digest", "1" * 16))
        ran_long = changed("status", "timeout", changed("reason", "passed its limit of 10 s"))
        orders_itself = changed("variant", "gpu_full_analysis", changed("result.digest", "2" * 16, changed(
            "phases_s", {"order": 0.0015, "traverse": 0.0005})))
        self.assert_accepted(GOOD, other, counting, trusted, peer, reordered, ran_long, orders_itself)
        self.assert_rejected("digest of gpu_full_analysis", orders_itself, changed("result.digest", "3" * 16, orders_itself))

    def test_lines_with_a_header(self):
        for pack in (False, True):
            self.assertEqual(self.found_in(HEADER, LINE, changed("threads", 1, LINE), HEADER, pack=pack), (2, []))
        self.assert_rejected("run_header of", LINE)
        self.assert_rejected("run_header of", HEADER, changed("run_id", "other", LINE))
        self.assert_rejected("changed tree", changed("git.dirty", True, HEADER), LINE)

    def test_lines_of_orders(self):
        self.assert_accepted(GOOD_ORDER, GOOD, changed("order", "metis", GOOD_ORDER))
        for mention, path, value in (("changed tree", "git.dirty", True), ("status is fail", "status", "fail"),
                                     ("with 0 samples", "samples_s", []), ("result.fill", "result.fill", 2)):
            with self.subTest(mention):
                self.assert_rejected(mention, changed(path, value, GOOD_ORDER))

    def test_lines_of_sequences(self):
        self.assert_accepted(GOOD_SEQUENCE)
        self.assert_rejected("changed tree", changed("git.dirty", True, GOOD_SEQUENCE))

    def test_wrong_values(self):
        for mention, path, value in (
                ("unknown", "git.sha", "unknown"),
                ("changed tree", "git.dirty", True),
                ("gpus is empty", "gpus", []),
                ("build.nvcc", "build.nvcc", ""),
                ("device_peak", "mem.device_peak", 0),
                ("matrix.nnz", "matrix.nnz", 0),
                ("library", "ordering.library", ""),
                ("status is unverified", "status", "unverified"),
                ("status is fail", "status", "fail"),
                ("status is timeout", "status", "timeout"),  # without the reason
                ("fill", "result.fill", 2),
                ("digest is absent", "result.digest", None),
                ("samples_s is empty", "samples_s", []),
                ("phases_s sums", "phases_s", {"traverse": 0.001, "init": 0.0005}),
                ("samples_s of the counting build", "counting", True)):
            with self.subTest(path=path, value=value):
                self.assert_rejected(mention, changed(path, value))

    def test_jobs_of_several_ranks(self):
        job = changed("mpi", {"ranks": 3, "map": "2,1", "nodes": 2, "library": "Open MPI v4.1.4",
                              "rank_phases_s": [{"traverse": 0.002}] * 3},
                      changed("device", "mpi", changed("variant", "mpi_maxid_cpu")))
        self.assert_accepted(changed("derived", {"chunks": 3}, job))
        for mention, path, value in (
                ("rank_phases_s", "mpi.rank_phases_s", [{}]),
                ("rank_phases_s", "mpi.rank_phases_s", None),
                ("library", "mpi.library", ""),
                ("map", "mpi.map", "2")):
            with self.subTest(path=path, value=value):
                self.assert_rejected(mention, changed(path, value, job))

    def test_known_matrix_with_another_file(self):
        self.assert_rejected("matrix.sha256", changed("matrix.name", "bcsstk18"))

    def test_disagreement(self):
        other = changed("variant", "cpu_fill2", changed("device", "cpu"))
        for key, value in (("digest", "00000000000000ab"), ("supernodes", 3)):
            self.assert_rejected(key, GOOD, changed("result." + key, value, other))
        # The same total with other parts.
        self.assert_rejected("nnz_l", GOOD, changed("result.nnz_l", 3, changed(
            "result.nnz_u", 4, other)))

    def test_trusted_variant_needs_a_witness(self):
        trusted = changed("status", "unverified", changed("variant", TRUSTED, changed("device", "cpu")))
        self.assert_rejected("no other variant agrees", trusted)

    def test_unreadable_lines(self):
        self.assert_rejected("not JSON", GOOD, json.dumps(GOOD)[:-5])
        self.assert_rejected("not JSON", GOOD, "")
        self.assert_rejected("not a JSON object", "[]")
        self.assert_rejected("is empty")

    def test_no_records_is_no_pass(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, __file__, "CommittedRecords"], capture_output=True,
                                  text=True, env={**os.environ, "GSOFA_RECORDS": folder})
        self.assertEqual(done.returncode, SKIPPED, done.stderr)
        self.assertIn("skipped: no records", done.stdout)


def main():
    program = unittest.main(exit=False)
    if not program.result.wasSuccessful():
        return 1
    for test, reason in program.result.skipped:
        print(f"skipped: {reason}")
    # Nothing recorded is not the same as everything verified.
    records, unreadable = read_folder(RECORDS)
    return 0 if records or unreadable else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
