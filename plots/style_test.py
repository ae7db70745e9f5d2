"""Tests of what figures refuse and write. Exit status 77 without matplotlib."""

import contextlib
import csv
import importlib
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
    import all_orders
    import fig04_frontier_size
    import headline
    import orderings
    import style
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(SKIPPED)

import records
import records_example as example
import records_readme

style.FORMATS = ("png",)
WORDS = dict(zip("123456789", "one two three four five six seven eight nine".split()))


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
        with mock.patch.object(style, "FORMATS", ("pdf", "png")):
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
            self.assertIn("fixed over dynamic,TT,1,0.578947,1.72727,,1.1,paper\n", rows)


MAXID = {"concurrent_sources": 0, "memory_budget_mb": 0}


class Dots(unittest.TestCase):
    """What a figure of matrices shows beside its values: intervals, bounds, what is missing, real matrices."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(style.plt.close, "all")
        self.folder = Path(folder.name)

    def draw(self, name, lines, population=()):
        """The rows of the CSV as dictionaries, and the axes."""
        files = {"--records": lines} | ({"--population": population} if population else {})
        command = ["--out", str(self.folder)]
        for option, content in files.items():
            command += [option, str(example.write(self.folder / f"{option[2:]}.jsonl", *content))]
        # Rows and axes are looked at, not the files: CommittedRecords looks at those.
        with contextlib.redirect_stderr(io.StringIO()), mock.patch.object(style.plt.Figure, "savefig"):
            importlib.import_module(name).draw(style.parser("").parse_args(command))
        with open(self.folder / f"{name}.csv", encoding="utf-8", newline="") as f:
            return list(csv.DictReader(f)), style.plt.gcf().axes

    @staticmethod
    def pair(matrix="bcsstk18", seconds=(6, 6.5, 7), **fill2):
        """A run of gpu_maxid that takes a second, and one of fill2 on the GPU."""
        maxid = example.run(matrix=matrix, variant="gpu_maxid", options=MAXID, samples_s=[1.25, 1.25, 1.25])
        return [maxid, example.run(**{"matrix": matrix, "variant": "gpu_fill2_naive", "samples_s": list(seconds)} | fill2)]

    @staticmethod
    def marks(axes, name):
        """Marks of a kind in all axes."""
        return [a for axis in axes for a in (*axis.lines, *axis.texts) if a.get_gid() == name]

    def test_intervals_and_the_papers_values(self):
        rows, axes = self.draw("fig10_fill2", self.pair() + self.pair("rma10", (6,)))
        by = {(r["series"], r["matrix"]): r for r in rows}
        bc, rm = by["fill2, one GPU", "BC"], by["fill2, one GPU", "RM"]
        self.assertEqual((float(bc["measured"]), float(bc["low"]), float(bc["high"])), (6.25, 5.75, 6.75))
        self.assertEqual((rm["measured"], rm["low"], rm["paper"], rm["set"]), ("5.75", "", "30.41", "paper"))
        self.assertEqual(by["fill2, one GPU", "mean"]["paper"], "13.01")
        self.assertEqual(float(by["fill2, one GPU", "mean"]["measured"]), 6)
        self.assertEqual(len(self.marks(axes, "interval")), 1)
        self.assertEqual(len(self.marks(axes, "few")), 2, "RM, and the mean that rests on it")

    def test_a_stand_in_is_hollow(self):
        _, axes = self.draw("fig10_fill2", self.pair() + self.pair("rma10"))
        self.assertEqual([m.get_markerfacecolor() for m in self.marks(axes, "value")][:2], ["#1b2a6b", "white"])

    def test_a_run_that_passed_its_limit_is_an_arrow(self):
        late = {"status": "timeout", "samples_s": [], "trials": {"timeout_s": 20}}
        rows, axes = self.draw("fig10_fill2", self.pair() + self.pair("twotone", **late))
        found = next(r for r in rows if r["matrix"] == "TT")
        self.assertEqual((found["measured"], found["bound"], found["high"]), ("20", "at least", ""))
        self.assertEqual(len(self.marks(axes, "bound")), 2, "TT and the mean")

    def test_what_was_not_measured_is_marked(self):
        _, axes = self.draw("fig10_fill2", self.pair())
        self.assertEqual(len(self.marks(axes, "missing")), 13, "12 matrices, and BC on threads")

    def test_real_matrices_stand_beside(self):
        def real(name, seconds):
            return self.pair({"name": name, "n": 7, "nnz": 30, "stand_in": False}, seconds)
        rows, axes = self.draw("fig10_fill2", self.pair(), real("a", (2, 2, 2)) + real("b", (4, 4, 4)) + real("c", (9, 9, 9)))
        self.assertEqual([r["matrix"] for r in rows if r["set"] == "real"], ["a", "b", "c"])
        self.assertEqual(len(self.marks(axes, "real")), 3)
        median, = self.marks(axes, "median")
        self.assertEqual(list(median.get_ydata()), [3.75, 3.75])
        self.assertEqual(len(self.marks(axes, "quartile")), 2)
        self.assertEqual(len(axes), 2)

    def test_small_gains_of_both_signs_are_told_apart(self):
        how = {"concurrent_sources": 1024}
        def gain(matrix, percent):
            return [example.run(matrix=matrix, variant=v, options=how, samples_s=[s] * 3)
                    for v, s in (("gpu_maxid", 1.25), ("gpu_maxid_no_range_reuse", 1.25 + percent / 100))]
        real = [gain({"name": str(x), "n": 7, "nnz": 30, "stand_in": False}, x) for x in (-1, 0.5, 1)]
        _, axes = self.draw("fig14_maxid_init", gain("bcsstk18", 3), sum(real, []))
        axis = axes[0]
        height = axis.transData.transform
        least, most = axis.get_ylim()
        self.assertTrue(least < -1 and most > 50, "the paper's largest gain is 50 %")
        self.assertGreater(height((0, 2))[1] - height((0, 0))[1], height((0, 50))[1] - height((0, 20))[1])
        self.assertAlmostEqual(height((0, 2))[1] - height((0, 0))[1], height((0, 4))[1] - height((0, 2))[1], delta=1e-6)
        self.assertLessEqual({0, 2, 5, 10, 20, 50}, set(axis.get_yticks()))

    def test_shares_of_a_peak_begin_at_none(self):
        profiles = [{"matrix": m, "variant": "gpu_maxid", "dram_gb_per_s": 1, "dram_percent": d, "l2_percent": 2 * d}
                    for m, d in (("BC", 0.5), ("EP", 2))]
        _, axes = self.draw("fig13_throughput", profiles)
        least, most = axes[0].get_ylim()
        self.assertTrue(-0.05 * most < least < 0, least)

    def test_ablations_over_both(self):
        def runs(matrix):
            return [example.run(matrix=matrix, variant=v, options=MAXID, samples_s=[s] * 3)
                    for v, s in (("gpu_maxid", 1.25), ("gpu_maxid_line95", 2.25))]
        rows, axes = self.draw("ablations", runs("bcsstk18"), runs({"name": "a", "n": 7, "nnz": 30, "stand_in": False}))
        self.assertEqual([(r["series"], r["matrix"], float(r["measured"]), r["set"]) for r in rows],
                         [("line 9.5 on", "BC", 2, "paper"), ("line 9.5 on", "a", 2, "real"),
                          ("line 9.5 on", "geometric mean", 2, "paper"), ("line 9.5 on", "geometric mean", 2, "real")])
        self.assertEqual((len(self.marks(axes, "value")), len(self.marks(axes, "real"))), (1, 1))

    def test_frontiers_of_real_matrices(self):
        how = {"variant": "gpu_maxid", "counting": True, "samples_s": [], "options": {"concurrent_sources": 1024},
               "series_stats": {"frontier_size": {"most": 8, "least_positive": 2, "rank_correlation": 0.5}}}
        rows, axes = self.draw("fig04_frontier_size", [record(), example.run(**how)],
                               [example.run(matrix={"name": "a", "n": 7, "nnz": 30, "stand_in": False}, **how)])
        self.assertEqual([r["frontier_size"] for r in rows if r["matrix"] == "a"], ["0.5", "4"])
        self.assertEqual(len(axes), 3)

    def test_frontiers_are_those_that_the_claims_are_judged_by(self):
        gpu = record(variant="gpu_maxid", options={"concurrent_sources": 1024}, series={"frontier_size": [1, 7]})
        old = record(matrix=example.RUN["matrix"] | {"name": "twotone", "stand_in": True, "source": "gen:harmonic:nodes=3"})
        rows, _ = self.draw("fig04_frontier_size", [gpu, record(), old])
        self.assertEqual([(r["matrix"], r["variant"], r["frontier_size"]) for r in rows],
                         [("bcsstk18", "gpu_maxid", "1"), ("bcsstk18", "gpu_maxid", "7")])
        rows, _ = self.draw("fig04_frontier_size", [record(), old])
        self.assertEqual({(r["matrix"], r["variant"]) for r in rows}, {("bcsstk18", "cpu_maxid")})

    def test_no_line_crosses_a_number_of_gpus_that_was_not_measured(self):
        def scaled(matrix, *gpus):
            return [example.run(matrix=matrix, variant="mpi_maxid", samples_s=[4 / g] * 3, options={
                "gpus_per_rank": g, "schedule": "dynamic", "concurrent_sources": 0, "sharing": "peer"}) for g in gpus]
        for matrix, gpus, lines in (("stomach", (1, 4), 0), ("stomach", (1, 2, 4), 2)):
            _, axes = self.draw("fig19_scaling", scaled(matrix, *gpus))
            joined = [a for a in axes[0].lines if list(a.get_xdata()) in ([1, 2], [2, 4], [1, 4]) and a.get_color() != style.GREYS[3]]
            self.assertEqual(len(joined), lines, gpus)

    def test_bars_of_budgets_are_of_the_runs_that_the_values_rest_on(self):
        def within(machine, budget, seconds, samples):
            return example.run(matrix="twotone", variant="gpu_maxid", samples_s=[seconds] * samples, machine={"id": machine},
                               options={"concurrent_sources": 0, "memory_budget_mb": budget}, phases_s={"traverse": seconds})
        rows, _ = self.draw("fig16_memory_budget", [within("a", 16384, 2, 3), within("a", 1024, 3, 3), within("b", 16384, 1, 1),
                                                    within("b", 1024, 9, 1)])
        by = {(r["series"], r["matrix"]): float(r["measured"]) for r in rows if r["measured"]}
        self.assertEqual((by["1 GB", "TT"], by["fill-in detection, 1 GB", "TT"]), (1.5, 1.5))

    def test_budgets_without_and_with_a_share_for_queues(self):
        """Runs from before there was a choice are not drawn beside others."""
        lines = [example.run(matrix="twotone", variant="gpu_maxid", samples_s=[s] * 3,
                             options={"concurrent_sources": 0, "memory_budget_mb": b} | share)
                 for share in ({}, {"queue_share": 1}) for b, s in ((16384, 1.25), (5120, 1.25), (1024, 2.25))]
        for given, count in ((lines[:3], 1), (lines, 1)):
            rows, _ = self.draw("fig16_memory_budget", given)
            self.assertEqual([float(r["measured"]) for r in rows if (r["series"], r["matrix"]) == ("1 GB", "TT")], [2] * count)

    def test_without_the_rival_figure_12_says_so(self):
        with self.assertRaisesRegex(records.Absent, "peer_superlu_dist_parallel"):
            self.draw("fig12_superlu", self.pair())

    def test_no_ticks_are_alike(self):
        self.draw("fig10_fill2", self.pair())
        for axis in style.plt.gcf().axes:
            axis.figure.draw_without_rendering()
            texts = [t.get_text() for t in axis.get_yticklabels() if t.get_text()]
            self.assertEqual(len(texts), len(set(texts)))


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
            self.assertEqual((Path(folder) / "headline_means.csv").read_text(), (PLOTS / "headline_means.csv").read_text())

    def test_the_numbers_of_the_readme_are_those_of_the_records(self):
        """Its table is the one that is printed, and every number before its second heading is in it or in what follows it."""
        readme = (PLOTS.parent / "README.md").read_text()
        table, beside = records_readme.table(), records_readme.beside()
        self.assertIn("\n".join(["", *table, ""]), readme)
        number = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?(?![\w])")
        known = set(number.findall(" ".join([*table, *beside.values()])))
        prose = re.sub(r"!?\[.*?\]\(.*?\)", "", readme.partition("\n## ")[0])
        self.assertGreater(len(number.findall(prose)), 5)
        self.assertEqual([x for x in number.findall(prose) if x not in known], [])
        said = re.search(r"On (\w+) of the smallest matrices `symbfact` is faster", " ".join(prose.split()))
        self.assertIn(said and said[1], (beside["slower"], WORDS.get(beside["slower"])))

    def test_a_headline_needs_several_inputs(self):
        def lines(matrices):
            return [example.run(matrix={"name": m, "n": 500, "nnz": 30, "stand_in": False}, variant=v, device=d)
                    for m in matrices for v, d in ((headline.BASE.variant, "peer"), ("cpu_bitmap_panels", "cpu"))]
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
            path = example.write(Path(folder) / "x.jsonl", *lines("a"))
            with self.assertRaisesRegex(records.Absent, "fewer than 3 matrices"):
                style.draw_figure("headline", [path], Path(folder))
            style.draw_figure("headline", [example.write(path, *lines("abc"))], Path(folder))

    def test_simulated_scaling(self):
        self.draw("scaling_simulated", SIMULATED)

    def test_every_script_is_a_figure_or_says_that_it_is_none(self):
        for path in PLOTS.glob("*.py"):
            self.assertEqual(path.stem in style.figures(), bool(re.search(r"^def draw\(", path.read_text(), re.M)), path)


class Orders(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name) / "x.jsonl"
        self.out = Path(folder.name) / "out"

    @staticmethod
    def line(order, flops=8.0, matrix="epb3", status="pass", machine="a", threads=1, seconds=(2.0,)):
        return {"schema": 1, "kind": "order", "order": order, "status": status, "threads": threads, "samples_s": list(seconds),
                "machine": {"id": machine}, "matrix": {"name": matrix, "n": 9, "nnz": 3, "stand_in": False},
                "result": {"nnz_l": 3, "nnz_u": 7, "fill": 7, "flops": flops, "height": 5}}

    def cases(self, *lines):
        return orderings.cases([example.write(self.file, *lines)])

    def test_they_are_no_runs(self):
        example.write(self.file, self.line("amd"), example.run(), self.line("metis", status="fail"))
        self.assertEqual(len(records.read_runs([self.file])), 1)
        self.assertEqual([r["order"] for r in records.read_orders([self.file])], ["amd"])

    def test_ratios_are_over_metis(self):
        found = self.cases(self.line("metis"), self.line("amd", 4.0, seconds=(9.0, 1.0, 3.0)), self.line("natural"))["a", ""]
        self.assertEqual(set(found), {"metis", "amd"})
        self.assertEqual(orderings.ratios(found["amd"]["epb3"], found["metis"]["epb3"]), (1.5, 1, 0.5, 1))

    def test_machines_are_not_mixed(self):
        found = self.cases(self.line("metis"), self.line("amd", machine="b"), self.line("amd", 4.0))
        self.assertEqual({m: set(orders) for m, orders in found.items()}, {("a", ""): {"metis", "amd"}, ("b", ""): {"amd"}})
        self.assertEqual(orderings.name_of(found["a", ""]), "processor")

    def test_copies_of_a_virtual_machine_are_not_mixed(self):
        """They have one id, on processors of several kinds."""
        found = self.cases(self.line("metis") | {"cpu": "AMD"}, self.line("amd") | {"cpu": "Intel"})
        self.assertEqual({m: set(orders) for m, orders in found.items()}, {("a", "AMD"): {"metis"}, ("a", "Intel"): {"amd"}})

    def test_refusals(self):
        with self.assertRaisesRegex(records.Refused, "different numbers of threads"):
            self.cases(self.line("amd"), self.line("amd", matrix="wang3", threads=2))

    def test_the_figure(self):
        example.write(self.file, *(self.line(o, f, m) for m in ("a", "b") for o, f in (("metis", 8.0), ("amd", 2.0))))
        with contextlib.redirect_stderr(io.StringIO()):
            style.draw_figure("orderings", [self.file], self.out)
        rows = (self.out / "orderings.csv").read_text().splitlines()
        self.assertEqual(len(rows), 4)
        self.assertEqual(rows[3], "a,,amd,geometric mean,,,,1,1,0.25,1")
        example.write(self.file, self.line("metis"))
        with self.assertRaises(records.Absent):
            style.draw_figure("orderings", [self.file], self.out)


class AllOrders(unittest.TestCase):
    """A figure from a table of ratios."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name) / "x.csv"
        self.out = Path(folder.name) / "out"

    def write(self, *lines):
        self.file.write_text("\n".join(("input,order,threads,time_over_metis,operations_over_metis", *lines)) + "\n")

    def test_means_are_geometric_and_ours_last(self):
        self.write("a,gpu_nested_dissection,8,0.1,0.5", "a,scotch,1,2,1", "b,scotch,1,0.5,4")
        with contextlib.redirect_stderr(io.StringIO()):
            style.draw_figure("all_orders", [self.file], self.out)
        rows = (self.out / "all_orders.csv").read_text().splitlines()
        self.assertEqual(rows[1:], ["scotch,1,2,2,1", "gpu_nested_dissection,8,1,0.5,0.1"])

    def test_refusals(self):
        self.write("a,scotch,1,2,1", "a,scotch,1,2,1")
        with self.assertRaisesRegex(records.Refused, "names a twice for scotch"):
            all_orders.series_of([self.file])
        self.write(*(f"a,order{k},1,1,1" for k in range(9)))
        with self.assertRaisesRegex(records.Refused, "9 orders, at most 8"):
            all_orders.series_of([self.file])
        self.write()
        for text in (self.file.read_text(), "", '{"schema": 1}\n'):
            self.file.write_text(text)
            with self.assertRaises(records.Absent):
                all_orders.series_of([self.file])


if __name__ == "__main__":
    unittest.main()
