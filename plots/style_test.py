"""Tests of what figures refuse and write. Exit status 77 without matplotlib."""

import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PLOTS = Path(__file__).resolve().parent
SCRIPT = PLOTS / "fig04_frontier_size.py"
RECORDS = PLOTS.parent / "experiments" / "records"
SIMULATED = PLOTS.parent / "experiments" / "scaling_simulator" / "simulated.jsonl"
SKIPPED = 77


def find_python():
    for python in (sys.executable, "python3", "/usr/bin/python3"):
        if shutil.which(python) and subprocess.run(
            [python, "-c", "import matplotlib"], capture_output=True
        ).returncode == 0:
            return python
    return None


PYTHON = find_python()


def record(**changes):
    r = {
        "schema": 1,
        "experiment": "fig04_frontier_size",
        "host": "a",
        "cpu": "b",
        "gpus": [],
        "variant": "cpu_maxid",
        "status": "pass",
        "reason": "",
        "matrix": {"name": "m", "stand_in": False},
        "ordering": {"col": "metis"},
        "series": {"frontier_size": [0, 1, 2.5, 4]},
    }
    return r | changes


class FigureTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def draw(self, *records, args=()):
        path = self.folder / "records.jsonl"
        path.write_text("".join(r if isinstance(r, str) else json.dumps(r) + "\n" for r in records))
        return subprocess.run(
            [PYTHON, str(SCRIPT), "--records", str(path), "--out", str(self.folder / "out"), *args],
            capture_output=True, text=True)

    def test_writes_pdf_png_and_csv(self):
        done = self.draw(record())
        self.assertEqual(done.returncode, 0, done.stderr)
        names = sorted(p.suffix for p in (self.folder / "out").iterdir())
        self.assertEqual(names, [".csv", ".pdf", ".png"])
        rows = (self.folder / "out" / "fig04_frontier_size.csv").read_text().splitlines()
        self.assertEqual(len(rows), 5)
        self.assertEqual(rows[3].split(",")[:4], ["m", "cpu_maxid", "2", "2.5"])

    def test_refuses_unverified_rows_unless_told(self):
        done = self.draw(record(status="unverified", reason="no truth"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("no truth", done.stderr)
        self.assertFalse((self.folder / "out").exists())
        done = self.draw(record(status="unverified"), args=["--allow-unverified"])
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_refuses_failed_rows_always(self):
        self.assertEqual(self.draw(record(status="fail"), args=["--allow-unverified"]).returncode, 2)

    def test_refuses_mixed_machines_unless_told(self):
        other = record(host="c", matrix={"name": "n", "stand_in": True})
        done = self.draw(record(), other)
        self.assertEqual(done.returncode, 2)
        self.assertIn("several machines", done.stderr)
        self.assertEqual(self.draw(record(), other, args=["--allow-mixed"]).returncode, 0)

    def test_nothing_to_draw(self):
        self.assertEqual(self.draw(record(experiment="other")).returncode, 3)
        self.assertEqual(self.draw().returncode, 3)

    def test_refuses_what_is_not_a_record(self):
        lacking = record()
        del lacking["matrix"]["stand_in"]
        for bad in ("{not json\n", "[]\n", record(schema=99), record(status=1), record(series=[1]),
                    lacking):
            done = self.draw(record(), bad)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("records.jsonl:2: ", done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)


class CommittedRecords(unittest.TestCase):
    """Every figure of committed records is drawn from them, with points in its CSV."""

    def draw(self, name, records):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [PYTHON, str(PLOTS / f"{name}.py"), "--records", str(records), "--out", folder],
                capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            rows = (Path(folder) / f"{name}.csv").read_text().splitlines()
            self.assertGreater(len(rows), 1)
            self.assertGreater((Path(folder) / f"{name}.png").stat().st_size, 10000)

    def test_one_gpu(self):
        for session in sorted(RECORDS.glob("*/records.jsonl")):
            with self.subTest(session=session.parent.name):
                self.draw("gpu_single_times", session)
                self.draw("gpu_single_phases", session)

    def test_scaling(self):
        for session in sorted(RECORDS.glob("*/scaling.jsonl")):
            with self.subTest(session=session.parent.name):
                self.draw("scaling_measured", session)
                self.draw("scaling_choices", session)

    def test_panels(self):
        for session in sorted(RECORDS.glob("*/panels.jsonl")):
            with self.subTest(session=session.parent.name):
                self.draw("panels", session)

    def test_simulated_scaling(self):
        self.draw("scaling_simulated", SIMULATED)


if __name__ == "__main__":
    if PYTHON is None:
        print("skipped: no Python with matplotlib")
        sys.exit(SKIPPED)
    sys.exit(unittest.main())
