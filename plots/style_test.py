"""Tests of what figures refuse and write. Exit status 77 without matplotlib."""

import contextlib
import io
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

PLOTS = Path(__file__).resolve().parent
RECORDS = PLOTS.parent / "experiments" / "records"
SIMULATED = PLOTS.parent / "experiments" / "scaling_simulator" / "simulated.jsonl"
SKIPPED = 77
sys.path.insert(0, str(PLOTS))

try:
    import fig04_frontier_size
    import headline
    import style
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(SKIPPED)

import records
import records_example as example


def record(**changes):
    return example.run(**{"experiment": "fig04_frontier_size", "variant": "cpu_maxid", "counting": True,
                          "series": {"frontier_size": [0, 1, 2.5, 4]}} | changes)


class FigureTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(style.plt.close, "all")
        self.folder = Path(folder.name)

    def draw(self, *lines, args=()):
        """Exit status and standard error of the script of Figure 4."""
        path = example.write(self.folder / "records.jsonl", *lines)
        command = ["fig04_frontier_size.py", "--records", str(path), "--out", str(self.folder / "out"), *args]
        err = io.StringIO()
        with mock.patch.object(sys, "argv", command), contextlib.redirect_stderr(err):
            return style.main(fig04_frontier_size.draw, ""), err.getvalue()

    def test_writes_pdf_png_and_csv(self):
        code, err = self.draw(record())
        self.assertEqual(code, 0, err)
        names = sorted(p.suffix for p in (self.folder / "out").iterdir())
        self.assertEqual(names, [".csv", ".pdf", ".png"])
        rows = (self.folder / "out" / "fig04_frontier_size.csv").read_text().splitlines()
        self.assertEqual(len(rows), 5)
        self.assertEqual(rows[3].split(",")[:4], ["bcsstk18", "cpu_maxid", "2", "2.5"])

    def test_refuses_unverified_rows_unless_told(self):
        code, err = self.draw(record(status="unverified", reason="no truth"))
        self.assertEqual(code, 2)
        self.assertIn("no truth", err)
        self.assertFalse((self.folder / "out").exists())
        code, err = self.draw(record(status="unverified"), args=["--allow-unverified"])
        self.assertEqual(code, 0, err)

    def test_refuses_failed_rows_always(self):
        self.assertEqual(self.draw(record(status="fail"), args=["--allow-unverified"])[0], 2)

    def test_refuses_mixed_machines_unless_told(self):
        other = record(host="c", matrix="twotone")
        code, err = self.draw(record(), other)
        self.assertEqual(code, 2)
        self.assertIn("several machines", err)
        self.assertEqual(self.draw(record(), other, args=["--allow-mixed"])[0], 0)

    def test_nothing_to_draw(self):
        self.assertEqual(self.draw(record(experiment="other"))[0], 3)
        self.assertEqual(self.draw()[0], 3)

    def test_refuses_what_is_not_a_record(self):
        lacking = record()
        del lacking["matrix"]["stand_in"]
        for bad in ("{not json", "[]", "{}", record(schema=99), record(status=1), record(series=[1]), lacking):
            code, err = self.draw(record(), bad)
            self.assertEqual(code, 2)
            self.assertRegex(err, r"\A[^\n]*records\.jsonl:2: [^\n]*\n\Z")

    def test_as_a_program(self):
        done = subprocess.run([sys.executable, PLOTS / "fig04_frontier_size.py", "--records", "/no/such", "--out",
                               self.folder / "out"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr, "fig04_frontier_size.py: error: /no/such: no such file or folder\n")


class Settings(unittest.TestCase):
    def test_runs_that_differ_in_a_setting_that_no_figure_names(self):
        """They are refused, never averaged or chosen from."""
        with tempfile.TemporaryDirectory() as folder:
            lines = [example.run(matrix="twotone", variant=v, options={"concurrent_sources": 0, "memory_budget_mb": b, "x": x})
                     for v, b, x in (("gpu_maxid", 1024, 1), ("gpu_maxid_no_dynamic_allocation", 1024, 1),
                                     ("gpu_maxid", 0, 1), ("gpu_maxid", 1024, 2))]
            path = example.write(Path(folder) / "records.jsonl", *lines)
            with self.assertRaisesRegex(records.Refused, r"differ in x \(1, 2\)"):
                style.draw_figure("fig15_dynamic_allocation", [path], Path(folder))
            example.write(path, *lines[:3])
            with contextlib.redirect_stderr(io.StringIO()):
                style.draw_figure("fig15_dynamic_allocation", [path], Path(folder))
            rows = (Path(folder) / "fig15_dynamic_allocation.csv").read_text()
            self.assertIn("fixed over dynamic,TT,1,", rows)


class CommittedRecords(unittest.TestCase):
    """Every figure of committed records is drawn from them, with points in its CSV. Those of the report: paper/report_test."""

    def draw(self, name, records):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
            self.assertTrue(style.draw_figure(name, [records], Path(folder)))
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

    def test_headline_is_that_of_the_committed_records(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
            style.draw_figure("headline", headline.COMMITTED, Path(folder))
            self.assertEqual((Path(folder) / "headline.csv").read_text(), (PLOTS / "headline.csv").read_text())
            self.assertLess((Path(folder) / "headline.png").stat().st_size, 100000)

    def test_simulated_scaling(self):
        self.draw("scaling_simulated", SIMULATED)

    def test_every_script_is_a_figure_or_says_that_it_is_none(self):
        for path in PLOTS.glob("*.py"):
            self.assertEqual(path.stem in style.figures(), bool(re.search(r"^def draw\(", path.read_text(), re.M)), path)


if __name__ == "__main__":
    unittest.main()
