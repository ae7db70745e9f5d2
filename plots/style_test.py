"""Tests of what figures refuse and write."""

import contextlib
import csv
import importlib
import io
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

PLOTS = Path(__file__).resolve().parent
import fig04_frontier_size
import headline
import orderings
import records
import records_example as example
import records_readme
import records_readmes
import style

style.FORMATS = ("png",)


def record(**changes):
    return example.run(**{"variant": "gpu_maxid", "device": "gpu", "counting": True, "samples_s": [], "options": {"concurrent_sources": 1024},
                          "series": {"frontier_size": [0, 1, 2.5, 4]},
                          "series_stats": {"frontier_size": {"most": 4, "least_positive": 1, "rank_correlation": 0.5}}} | changes)


class FigureTest(unittest.TestCase):
    def setUp(self):
        self.addCleanup(style.plt.close, "all")
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

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
        self.assertEqual(names, [".csv", ".md", ".pdf", ".png"])
        rows = (self.folder / "out" / "fig04_frontier_size.csv").read_text().splitlines()
        self.assertEqual(len(rows), 1 + 4 + 2 * 3 + 2, "sources, two panels of a value with two aggregates, two values of the paper")
        self.assertEqual(rows[3].split(",")[:5], ["sources", "", "bcsstk18", "2", "2.5"])

    def test_leaves_unverified_runs_out_unless_told(self):
        code, err = self.draw(record(status="unverified", reason="no truth"))
        self.assertEqual(code, 3)
        self.assertFalse((self.folder / "out").exists())
        code, err = self.draw(record(status="unverified"), args=["--allow-unverified"])
        self.assertEqual(code, 0, err)

    def test_says_that_the_machine_was_loaded(self):
        for load, said in ((9.94, ["the machine was loaded: load 9.9 on 2 cores"]), (2, [])):
            code, err = self.draw(record(machine={"id": "a", "threads_online": 2, "before": {"load": load}}))
            self.assertEqual((code, "load 9.9 on 2 cores" in err), (0, bool(said)))
            self.assertEqual([t.get_text() for t in style.plt.gcf().texts if "loaded" in t.get_text()], said)

    def test_leaves_failed_runs_out_always(self):
        self.assertEqual(self.draw(record(status="fail"), args=["--allow-unverified"])[0], 3)

    def test_nothing_to_draw(self):
        self.assertEqual(self.draw(record(variant="cpu_maxid"))[0], 3)
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
            lines = [example.run(variant=v, options=MAXID | {"x": x})
                     for v, x in (("gpu_maxid", 1), ("gpu_fill2_naive", 1), ("gpu_maxid", 2))]
            path = example.write(Path(folder) / "records.jsonl", *lines)
            with self.assertRaisesRegex(records.Refused, "differ in x: name it"):
                style.draw_figure("fig10_fill2", [path], Path(folder))
            example.write(path, *lines[:2])
            with contextlib.redirect_stderr(io.StringIO()):
                style.draw_figure("fig10_fill2", [path], Path(folder))
            self.assertIn("fill2 on one GPU,original,bcsstk18,1,1,", (Path(folder) / "fig10_fill2.csv").read_text())


MAXID = {"concurrent_sources": 0, "memory_budget_mb": 0}


class Kinds(unittest.TestCase):
    """What a figure by kind of matrix shows."""

    def setUp(self):
        self.addCleanup(style.plt.close, "all")
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def draw(self, name, *lines):
        """The rows of the CSV as dictionaries, and the axes."""
        path = example.write(self.folder / "x.jsonl", *lines)
        # Rows and axes are looked at, not the files: CommittedRecords looks at those.
        with contextlib.redirect_stderr(io.StringIO()), mock.patch.object(style.plt.Figure, "savefig"):
            importlib.import_module(name).draw(style.parser("").parse_args(["--records", str(path), "--out", str(self.folder)]))
        with open(self.folder / f"{name}.csv", encoding="utf-8", newline="") as f:
            return list(csv.DictReader(f)), style.plt.gcf().axes

    @staticmethod
    def real(name):
        return {"name": name, "n": 7000, "nnz": 30, "stand_in": False}

    @staticmethod
    def pair(matrix="bcsstk18", seconds=(6, 6.5, 7), **fill2):
        """A run of gpu_maxid that takes a second, and one of fill2 on the GPU."""
        maxid = example.run(matrix=matrix, variant="gpu_maxid", options=MAXID, samples_s=[1.25, 1.25, 1.25])
        return [maxid, example.run(**{"matrix": matrix, "variant": "gpu_fill2_naive", "samples_s": list(seconds)} | fill2)]

    @staticmethod
    def marks(axes, name):
        """Marks of a kind in all axes."""
        return [a for axis in axes for a in (*axis.lines, *axis.texts) if a.get_gid() == name]

    def test_real_kinds_lead_and_stand_ins_are_hollow(self):
        rows, axes = self.draw("fig10_fill2", *self.pair("rma10"), *self.pair(), *self.pair(self.real("a"), (2, 2, 2)),
                               *self.pair(self.real("b"), (4, 4, 4)))
        self.assertEqual([(r["kind"], r["matrix"], float(r["value"])) for r in rows
                          if r["kind"] != "the paper"],
                         [("original", "bcsstk18", 6.25), ("original", "mean", 6.25), ("real", "a", 1.75), ("real", "b", 3.75),
                          ("real", "mean", 2.75), ("stand-in", "rma10", 6.25), ("stand-in", "mean", 6.25),
                          ("all real", "mean", 3.91667)])
        self.assertEqual((float(rows[0]["low"]), float(rows[0]["high"])), (5.75, 6.75))
        self.assertEqual([m.get_markerfacecolor() for m in self.marks(axes, "mean")], ["#000000", "#0072b2", "white"])
        self.assertEqual([t.get_text() for t in axes[0].get_xticklabels()], ["the paper", "original\nn = 1", "real\nn = 2", "stand-in\nn = 1"])
        self.assertEqual(len(self.marks(axes, "paper")), 3)

    def test_a_run_that_passed_its_limit_is_a_bound(self):
        late = {"status": "timeout", "samples_s": [], "trials": {"timeout_s": 20}}
        rows, axes = self.draw("fig10_fill2", *self.pair(), *self.pair(self.real("a"), **late))
        self.assertEqual([(r["value"], r["bound"]) for r in rows if r["kind"] == "real"], [("20", "at least")] * 2)
        _, axes = self.draw("fig10_fill2", *self.pair(self.real("b")), *self.pair(self.real("a"), **late))
        self.assertEqual([m.get_marker() for m in self.marks(axes, "value")], ["o", "$↑$"])

    def test_the_caption_names_hosts_commits_and_what_is_left_out(self):
        other = [run | {"machine": {"id": "b"}} for run in self.pair()]
        self.draw("fig10_fill2", *self.pair(), *other, *self.pair(self.real("a"), status="unverified"))
        text = " ".join(" ".join(t.get_text() for t in style.plt.gcf().texts).split())
        self.assertIn("Records: 2 hosts, commit 0000000.", text)
        self.assertIn("Runs left out because nothing verified them: 1.", text)

    def test_gains_beyond_the_axis_are_counted_at_its_edge(self):
        def gain(matrix, percent):
            return [example.run(matrix=self.real(matrix), variant=v, options=MAXID | {"concurrent_sources": 1024}, samples_s=[s] * 3)
                    for v, s in (("gpu_maxid", 1.25), ("gpu_maxid_no_range_reuse", 1.25 + percent / 100))]
        _, axes = self.draw("fig14_maxid_init", *gain("a", 1), *gain("b", 2), *gain("c", 40), *gain("d", 50), *gain("e", -9))
        self.assertEqual(sorted(t.get_text() for t in self.marks(axes, "beyond")), ["▴ 2, to 50.0", "▾ −9.00"])
        self.assertEqual((sum(len(m.get_xdata()) for m in self.marks(axes, "value")), axes[0].get_yscale()), (2, "linear"))

    def test_efficiency_is_speed_up_over_the_ideal(self):
        lines = [example.run(matrix=self.real("a"), variant="mpi_maxid", samples_s=[s] * 3, phases_s={}, options=
                             {"gpus_per_rank": g, "schedule": "intra_node", "concurrent_sources": 0, "sharing": "peer"})
                 for g, s in ((1, 8.0), (2, 5.0))]
        rows, _ = self.draw("fig19_scaling", *lines)
        self.assertEqual([(r["panel"][:6], float(r["value"])) for r in rows if r["matrix"] == "a"], [("2 GPUs", 80)])

    def test_growth_has_a_series_for_each_family_and_medians_of_warm_runs(self):
        """Orders of one size do not replace each other, and a matrix with two names is a point."""
        def run(name, n, samples, **more):
            return example.run(matrix={"name": name, "n": n, "nnz": 30, "stand_in": False, "sha256": more.pop("sha256", name)},
                               variant="gpu_bitmap_panels", wants=["digest"], samples_s=samples, **more)
        grids = [run(f"gen:{g}:nx={k}", k ** 3, [k, k, k]) for g in ("grid7", "dissected") for k in (20, 30, 40)]
        first = run("gen:grid7:nx=50", 50 ** 3, [9, 1, 1], trials={"first_in_process": True})
        again = run("gen:grid7:nx=50,seed=1", 50 ** 3, [1, 1], sha256="gen:grid7:nx=50")
        rows, _ = self.draw("growth", *grids, first, again, run("gen:grid7:nx=60", 60 ** 3, [1]),
                            run("gen:grid7:nx=70", 70 ** 3, [9, 1], trials={"first_in_process": True}))
        self.assertEqual([(r["family"], int(r["n"]), float(r["ms"])) for r in rows],
                         [("7-point", k ** 3, 1e3 * k) for k in (20, 30, 40)] + [("7-point", 50 ** 3, 1e3)] +
                         [("dissected", k ** 3, 1e3 * k) for k in (20, 30, 40)])

    def test_complete_profiles_alone(self):
        profiles = [{"matrix": m, "variant": "gpu_maxid", "gpu": "NVIDIA X", "dram_gb_per_s": 9, "copy_gb_per_s": 40, "dram_percent": d, "complete": c}
                    for m, d, c in (("BC", 0.5, True), ("EP", 2, False))]
        rows, _ = self.draw("fig13_throughput", *profiles)
        self.assertEqual([(r["panel"], r["value"]) for r in rows if r["kind"] == "original" and r["matrix"] != "mean"],
                         [("DRAM, GB/s", "9"), ("DRAM, percent of its peak", "0.5")])
        with self.assertRaisesRegex(records.Absent, "no complete profiles"):
            self.draw("fig13_throughput", profiles[1])

    def test_ablations(self):
        def runs(matrix, seconds):
            return [example.run(matrix=matrix, variant=v, options=MAXID, samples_s=[s] * 3)
                    for v, s in (("gpu_maxid", 1.25), ("gpu_maxid_line95", seconds))]
        rows, axes = self.draw("ablations", *runs("rma10", 3.25), *runs(self.real("a"), 2.25))
        self.assertEqual([(r["panel"], r["kind"], r["matrix"], float(r["value"])) for r in rows],
                         [("line 9.5 on", "real", "a", 2), ("line 9.5 on", "real", "geometric mean", 2),
                          ("line 9.5 on", "stand-in", "rma10", 3), ("line 9.5 on", "stand-in", "geometric mean", 3),
                          ("line 9.5 on", "all real", "geometric mean", 2)])
        self.assertIn("2.00 (1)", [t.get_text() for t in axes[0].texts])

    def test_the_readme_says_what_real_matrices_have(self):
        self.draw("fig10_fill2", *self.pair("rma10"), *self.pair(self.real("a"), (2, 2.5, 2.5)), *self.pair(self.real("b"), (4, 4, 4)))
        answer, table, _ = (self.folder / "fig10_fill2.md").read_text().split("\n\n")
        self.assertEqual(answer.replace("\n", " "), "**Answer.** On real matrices fill2 takes 3.00 (1.8 to 3.8) times as long as `gpu_maxid` on "
                         "the same GPU and (not measured) times as long on 16 threads.")
        self.assertEqual(table.splitlines()[::2], ["|  | the paper | real | stand-in |",
                                                   "| fill2 on one GPU (mean) | 13.0 (mean); 30.4; 3.7 | 3.00 (1.8 to 3.8) | 6.25 (5.8 to 6.8) |"])
        self.assertEqual(table.splitlines()[3], "| number of matrices |  | 2 | 1 |")

    def test_without_the_rival_figure_12_says_so(self):
        with self.assertRaisesRegex(records.Absent, "peer_superlu_dist_parallel"):
            self.draw("fig12_superlu", *self.pair())

    def test_no_ticks_are_alike(self):
        self.draw("fig10_fill2", *self.pair())
        for axis in style.plt.gcf().axes:
            axis.figure.draw_without_rendering()
            texts = [t.get_text() for t in axis.get_yticklabels() if t.get_text()]
            self.assertEqual(len(texts), len(set(texts)))


class CommittedRecords(unittest.TestCase):
    """The figures of READMEs are drawn from committed records. Those of the report: paper/report_test."""

    def test_headline_is_that_of_the_committed_records(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
            style.draw_figure("headline", headline.COMMITTED, Path(folder))
            self.assertEqual((Path(folder) / "headline.csv").read_text(), (PLOTS / "headline.csv").read_text())
            self.assertLess((Path(folder) / "headline.png").stat().st_size, 100000)
            self.assertEqual((Path(folder) / "headline_means.csv").read_text(), (PLOTS / "headline_means.csv").read_text())

    def test_the_numbers_of_the_readme_are_those_of_the_records(self):
        """Its table is the one that is printed, and every number before its second heading is in it or in what is printed after it."""
        readme = (PLOTS.parent / "README.md").read_text()
        table, beside = records_readme.table(), records_readme.beside()
        results = readme.partition("\n## Results")[2].partition("\n## ")[0]
        self.assertEqual([line for line in results.splitlines() if line.startswith("|")], table)
        prose = re.sub(r"!?\[.*?\]\(.*?\)", "", readme.partition("\n## ")[0])
        self.assert_known(prose, [*table, *beside.values()])
        prose, results = (" ".join(text.split()) for text in (prose, results))
        self.assertIn(f"{beside['interval']})", prose)
        for said in (*(beside[what] for what in ("orders", "more", "slower")), f"METIS on one core takes {beside['order']} times as long"):
            self.assertIn(said, results)

    def assert_known(self, prose, printed):
        """Every number of a text is in one of the printed texts."""
        number = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?(?![\w])")
        known, found = ([float(x.replace(",", "")) for x in number.findall(text)] for text in (" ".join(printed), prose))
        self.assertGreater(len(found), 3)
        self.assertEqual([x for x in found if x not in known], [])

    def test_the_readme_answers_as_the_judge_does(self):
        answers = PLOTS.parent / "paper" / "answers.json"
        answers = json.loads(answers.read_text())
        rows = [answers["count"], *(" ".join(row) for row in answers["table"])]
        section = (PLOTS.parent / "README.md").read_text().partition("\n## Does the paper hold?")[2].partition("\n## ")[0]
        self.assertIn(answers["count"], section)
        self.assert_known(re.sub(r"!?\[.*?\]\(.*?\)", "", section), rows)
        page = (PLOTS.parent / "paper" / "README.md").read_text().splitlines()
        self.assertEqual([line for line in page if re.match(r"\| \d+ ", line)], [f"| {' | '.join(row)} |" for row in answers["table"]])

    @mock.patch.object(style, "FORMATS", ())
    def test_the_readmes_of_the_papers_figures_are_those_of_the_records(self):
        self.assertGreater(len(records_readmes.names()), 15)
        for name in records_readmes.names():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
                try:
                    text = records_readmes.readme(name, Path(folder))
                except records.Absent:
                    continue
                self.assertEqual((records_readmes.EXPERIMENTS / name / "README.md").read_text(), text)

    def test_a_headline_needs_several_inputs(self):
        def lines(matrices):
            return [example.run(matrix={"name": m, "n": 5000, "nnz": 30, "stand_in": False}, variant=v, device=d)
                    for m in matrices for v, d in ((headline.BASE.variant, "peer"), ("cpu_bitmap_panels", "cpu"))]
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
            path = example.write(Path(folder) / "x.jsonl", *lines("a"))
            with self.assertRaisesRegex(records.Absent, "fewer than 3 matrices"):
                style.draw_figure("headline", [path], Path(folder))
            style.draw_figure("headline", [example.write(path, *lines("abc"))], Path(folder))

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


if __name__ == "__main__":
    unittest.main()
