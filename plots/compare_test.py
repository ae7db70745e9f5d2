"""Tests of the comparison of any records."""

import contextlib
import csv
import io
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
import compare
import records_example as example
import style

style.FORMATS = ("png",)
style.plt.rcParams["savefig.dpi"] = 60  # of figures that nobody sees


def run(variant, samples, matrix="bcsstk18", **changes):
    return example.run(variant=variant, samples_s=samples, matrix=matrix, **changes)


def late(variant, limit, matrix="bcsstk18"):
    return run(variant, [], matrix, status="timeout", reason=f"passed its limit of {limit} s", result={}, phases_s={})


class CompareTest(unittest.TestCase):
    def setUp(self):
        self.addCleanup(style.plt.close, "all")
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def draw(self, *lines, args=()):
        """(exit status, standard error, rows of the CSV, the figure)"""
        path = example.write(self.folder / "records.jsonl", *lines)
        command = ["compare.py", "--records", str(path), "--out", str(self.folder / "out"), *args]
        err = io.StringIO()
        with mock.patch.object(sys, "argv", command), contextlib.redirect_stderr(err):
            code = style.main(compare.draw, "", compare.add_options)
        figure = style.plt.gcf() if code == 0 else None
        if code:
            return code, err.getvalue(), [], None
        with open(self.folder / "out" / "compare.csv", encoding="utf-8") as f:
            return code, err.getvalue(), list(csv.DictReader(f)), figure

    def marks(self, figure, gid):
        return [a for part in figure.subfigs for axis in part.axes for a in axis.get_children() if a.get_gid() == gid]

    def texts(self, figure):
        return "\n".join([t.get_text() for part in figure.subfigs for t in part.texts] +
                         [t for part in figure.subfigs for a in part.axes for t in
                          (a.get_xlabel(), a.get_title(), *(x.get_text() for x in a.get_yticklabels()))])

    def test_one_variant_on_one_matrix(self):
        code, err, rows, figure = self.draw(run("cpu_mine", [0.002, 0.004, 0.003]))
        self.assertEqual(code, 0, err)
        self.assertEqual([(r["variant"], r["median_s"], r["fastest_s"], r["slowest_s"]) for r in rows],
                         [("cpu_mine", "0.003", "0.002", "0.004")])
        self.assertEqual(len(figure.subfigs[0].axes), 1)
        self.assertIn("time of a run, ms", self.texts(figure))
        spread, = self.marks(figure, "spread")
        self.assertEqual([round(x, 9) for x in spread.get_xdata()], [2, 4])

    def test_ratios_are_to_the_known_baseline_or_to_the_one_that_is_named(self):
        lines = [run("cpu_mine", [1, 1, 1]), run("cpu_maxid", [4, 4, 4]), run("cpu_mine", [2], "a"), run("cpu_mine", [2], "b")]
        ratio = {r["variant"]: r["ratio"] for r in self.draw(*lines)[2] if r["matrix"] == "bcsstk18"}
        self.assertEqual(ratio, {"cpu_mine": "0.25", "cpu_maxid": "1"})
        rows = self.draw(*lines, args=["--baseline", "cpu_mine"])[2]
        self.assertEqual({r["ratio"] for r in rows if r["variant"] == "cpu_maxid"}, {"4"})
        code, err, *_ = self.draw(*lines, args=["--baseline", "cpu_other"])
        self.assertEqual(code, 2)
        self.assertRegex(err, r"\A[^\n]*no timed run of the baseline 'cpu_other'; there are cpu_maxid, cpu_mine\n\Z")

    def test_without_a_known_baseline_the_variant_on_most_matrices(self):
        rows = self.draw(run("cpu_a", [1]), run("cpu_b", [2]), run("cpu_b", [2], "twotone"))[2]
        self.assertEqual({r["baseline"] for r in rows}, {"cpu_b"})

    def test_a_run_that_passed_its_limit_is_a_bound(self):
        code, err, rows, figure = self.draw(run("cpu_maxid", [2, 2, 2]), late("cpu_mine", 10), late("cpu_other", 5, "twotone"),
                                            run("cpu_mine", [3, 3], "twotone"), late("cpu_maxid", 6, "twotone"))
        self.assertEqual(code, 0, err)
        found = {(r["variant"], r["matrix"]): (r["median_s"], r["bound"], r["ratio"]) for r in rows}
        self.assertEqual(found["cpu_mine", "bcsstk18"], ("10", "at least", "5"))
        self.assertEqual(found["cpu_mine", "twotone*"], ("3", "at most", "0.5"))
        self.assertEqual(found["cpu_other", "twotone*"], ("5", "at least", ""))
        self.assertEqual(len(self.marks(figure, "bound")), 5)
        self.assertIn("limit passed", self.texts(figure))

    def test_what_failed_or_was_skipped_is_named(self):
        code, err, rows, figure = self.draw(run("cpu_a", [1, 2, 3]), run("cpu_b", [], status="fail", reason="row 3 differs"),
                                            run("gpu_c", [], status="skipped", reason="no usable CUDA device"))
        self.assertEqual((code, {r["variant"] for r in rows}), (0, {"cpu_a"}))
        for line in ("left out: cpu_b on bcsstk18 (fail)", "skipped: 1 variant (gpu_c): no usable CUDA device"):
            self.assertIn(f"compare.py: {line}\n", err.replace(sys.argv[0], "compare.py"))
            self.assertIn(line, " ".join(figure.subfigs[-1]._supxlabel.get_text().split()))

    def test_names_are_drawn_literally(self):
        for name in ("a$b$c", "$\\frac{$", "x_1^2"):
            with self.subTest(name):
                code, err, _, figure = self.draw(run("cpu_a", [1, 2], name), run("cpu_b", [2e-5, 3e4], name))
                self.assertEqual(code, 0, err)
                self.assertIn(name, self.texts(figure))
                self.assertEqual([t for t in figure.findobj(style.plt.Text) if t.get_parse_math()], [])
                self.assertNotIn("mathdefault", self.texts(figure))

    def test_settings_that_differ_on_a_matrix_are_series_of_their_own(self):
        rows = self.draw(run("cpu_mine", [1], options={"block": 1, "x": 1}), run("cpu_mine", [2], options={"block": 2, "x": 1}),
                         run("cpu_mine", [3], "twotone", options={"block": 1, "x": 2}))[2]
        self.assertEqual(sorted((r["matrix"], r["settings"]) for r in rows),
                         [("bcsstk18", "block=1"), ("bcsstk18", "block=2"), ("twotone*", "block=1")])

    def test_thirty_and_more_variants_on_a_hundred_matrices(self):
        lines = [run(f"cpu_v{v}", [1e-3 * (v + 1)] * 2, f"m{m}") for v in range(6) for m in range(100)]
        lines += [run(f"cpu_w{v}", [1e-3]) for v in range(30)]
        code, err, rows, figure = self.draw(*lines)
        self.assertEqual((code, len(rows)), (0, 630), err)
        text = self.texts(figure)
        self.assertIn("6 of 36 variants", text)
        self.assertIn("96 of 101 matrices", text)
        self.assertEqual(len(self.marks(figure, "each")), 500)

    def test_several_machines_have_a_panel_each(self):
        code, err, rows, figure = self.draw(run("cpu_mine", [1]), run("cpu_mine", [2], host="other"))
        self.assertEqual((code, len(rows), len(figure.subfigs)), (0, 2, 2), err)
        alike = [run("cpu_mine", [k], machine={"id": f"id{k}"}) for k in (1, 2)]
        self.assertEqual([r["machine"] for r in self.draw(*alike)[2]], ["c, host h, machine id1", "c, host h, machine id2"])

    def test_what_nothing_verified_is_hollow_and_what_failed_is_left_out(self):
        code, err, rows, figure = self.draw(run("cpu_mine", [1], status="unverified"), run("cpu_wrong", [1], status="fail"),
                                            run("cpu_maxid", [1]))
        self.assertEqual([r["variant"] for r in rows], ["cpu_maxid", "cpu_mine"], err)
        self.assertEqual(sorted(p.get_markerfacecolor() == "white" for p in self.marks(figure, "value")), [False, True, True])
        self.assertIn("hollow: unverified", self.texts(figure))

    def test_without_times_there_is_nothing_to_draw(self):
        code, err, *_ = self.draw(run("cpu_mine", [], counting=True), run("cpu_mine", [], status="skipped"))
        self.assertEqual(code, 3)
        self.assertIn("no run with times", err)


if __name__ == "__main__":
    unittest.main()
