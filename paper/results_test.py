"""Tests of the page of results."""

import contextlib
import io
import re
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "plots"), str(HERE.parent / "experiments")]

import records_example as example
import results
import stale

results.style.FORMATS = ("png",)
results.style.plt.rcParams["savefig.dpi"] = 60  # of figures that nobody sees

FRONTIER = {"variant": "gpu_maxid", "counting": True, "samples_s": [], "options": {"concurrent_sources": 1024},
            "series": {"frontier_size": [0, 1, 2.5, 4]}}


NAMES = ("bcsstk18", "gen:channel:nx=40,ny=20,nz=8,coupling=full,oneway=0.3", "gen:grid5:nx=5", "gen:grid7:nx=8",
         "gen:grid7:nx=8,drop=0.3", "gen:circuit:n=9", "gen:grid27:m=3", "a$b$c_1", "x^2_{$y")


def any_record(variant, matrix, **changes):
    """A run of any variant on any input, as the program writes it."""
    stand_in = not matrix.startswith("gen:") and matrix != "bcsstk18"
    device = {"gpu": "gpu", "peer": "peer"}.get(variant.partition("_")[0], "cpu")
    options = {"sharing": "peer", "concurrent_sources": 0, "schedule": "block"} if variant.startswith("mpi_maxid") else {}
    return example.run(**{"variant": variant, "device": device, "options": options, "derived": {"workers_per_node": 1},
                          "experiment": "reproduce",
                          "matrix": {"name": matrix, "n": 1100 + len(matrix), "nnz": 30, "stand_in": stand_in, "sha256": matrix}} | changes)


class EveryRecord(unittest.TestCase):
    """No record that a run of the experiments can make keeps a figure from being drawn or left alone."""

    def test_every_variant_on_every_kind_of_input(self):
        variants = sorted(stale.registered())
        self.assertGreater(len(variants), 20)
        skipped = [any_record(v, m, status="skipped", reason="no GPU", samples_s=[], phases_s={}, result={})
                   for v in variants for m in NAMES[:3]]
        failed = [any_record(v, m, status=s, reason="row 3") for v, s in zip(variants, ("fail", "error", "crash", "mismatch") * 20)
                  for m in NAMES]
        well = [any_record(v, m) for v in variants for m in NAMES]
        cpu = [r for r in well if r["variant"].startswith(("cpu", "peer"))]
        memory = {"device_peak": 9, "device": {"arena": 6, "matrix": 3},
                  "predicted": dict.fromkeys(("fill", "maxid", "paper_6VC", "queues_and_trackers"), 8)}
        gpu = [any_record(v, m, samples_s=[s, 2 * s], mem=memory,
                          options={"concurrent_sources": c, "memory_budget_mb": b, "queue_share": 1, "window": 2048})
               for m, s in (("bcsstk18", 3), ("pre2", 4)) for v in variants if v.startswith(("gpu_maxid", "gpu_fill2"))
               for c, b in (((0, 0), (1024, 0), (0, 16384), (0, 1024)) if v == "gpu_maxid" else
                            ((1024, 0),) if v == "gpu_maxid_no_range_reuse" else ((0, 0),))]
        counting = [any_record(v, "bcsstk18", counting=True, samples_s=[]) for v in variants]
        bare = {"phases_s": {}, "mem": {"device_peak": 0, "device": {}, "predicted": {}}}
        for title, lines in (("no GPU, failed", cpu[::3] + skipped + failed),
                             ("generated", [r | bare for r in well[::2] if r["matrix"]["name"].startswith("gen:")]),
                             ("mixed", skipped + failed[::3] + well[::4] + counting), ("one run", well[:1]),
                             ("a GPU, one matrix", gpu[:len(gpu) // 2] + cpu[::len(NAMES)]),
                             ("a GPU", gpu + failed[::3]),
                             ("all failed", failed)):
            with self.subTest(title), tempfile.TemporaryDirectory() as folder:
                path = example.write(Path(folder) / "x.jsonl", *lines)
                drawn, _, refused = results.draw_all([path], Path(folder) / "figures")
                self.assertEqual(refused, {})
                self.assertEqual(bool(drawn), title != "all failed")


class ResultsTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def make(self, *lines):
        """Exit status, standard error and the page."""
        path = example.write(self.folder / "records.jsonl", *lines)
        page, err = self.folder / "index.html", io.StringIO()
        command = ["results.py", "--records", path, "--figures", self.folder / "figures", "--page", page]
        with mock.patch.object(sys, "argv", list(map(str, command))), contextlib.redirect_stderr(err):
            code = results.main()
        return code, err.getvalue(), re.sub(' data-label="[^"]*"', "", page.read_text()) if page.exists() else None

    def test_page_with_figures_and_cases(self):
        code, err, page = self.make(
            example.run(**FRONTIER), example.run(matrix="twotone", options={"sources_per_range": 1}), example.run(),
            example.run(status="fail", reason="<wrong>"),
            example.run(status="skipped", variant="gpu_maxid", samples_s=[], phases_s={}, result={},
                        reason="no CUDA device"))
        self.assertEqual(code, 0, err)
        self.assertIn("figures drawn: fig04_frontier_size, compare\n", err)
        self.assertRegex(err, r"\nnot drawn, \d+: no records for it \(\d+: ablations to table3_queues\); [^\n]*no family in several sizes")
        self.assertNotIn("records.jsonl has", err)
        self.assertIn("<figcaption>Figure 4 of the paper: average frontier size", page)
        self.assertEqual(len(re.findall(r' src="data:image/png;base64,[A-Za-z0-9+/=]{1000,}"', page)), 2)
        self.assertNotRegex(page, r'(src|href)="(?!data:|#)')
        self.assertIn("1 fail, 3 pass, 1 skipped", page)
        self.assertIn('<td>twotone*</td><td class="n">11,948</td><td>cpu_fill2_parallel</td><td>sources_per_range=1</td>'
                      '<td class="n">4000</td><td class="n">20</td><td class="v good">pass</td>', page)
        self.assertIn('<td class="v bad">fail</td><td>&lt;wrong&gt;</td>', page)
        self.assertIn('<td class="n">counters</td>', page)
        self.assertIn("<tr><td>gpu_maxid</td><td>no CUDA device</td></tr>", page)

    def test_the_page_begins_with_agreement_the_fastest_and_the_papers_statements(self):
        def run(variant, seconds, **changes):
            return any_record(variant, "bcsstk18", samples_s=[seconds], **changes)
        lines = [run("cpu_a", 2e-3), run("cpu_b", 1e-3, verify={"mode": "certificate"}), run("peer_superlu_dist", 5e-3),
                 run("cpu_c", 1e-4, status="error", reason="no memory"),
                 run("gpu_d", 1e-5, status="skipped", reason="no GPU", result={})]
        code, err, page = self.make(*lines)
        first = page[page.index("<h1>"):page.index('<h2 id="figures">')]
        self.assertEqual(code, 0, err)
        for text in ('<p class="said bad">3 of 4 variants pass every case on 1 matrix.</p>', "<p>Failed: cpu_c on bcsstk18 (error: no memory).</p>",
                     "1 variant (no GPU)", '<td>bcsstk18</td><td>cpu_b</td><td class="n">1</td><td class="n">5</td><td class="n">5</td>',
                     "further statements need a GPU"):
            self.assertIn(text, first)
        self.assertIn("left out: cpu_c on bcsstk18 (error)\n", err)
        self.assertIn('<p class="said good">All 3 variants whose results could be verified agree on 1 matrix.</p>',
                      self.make(*lines[:3])[2])
        other = run("cpu_b", 1e-3, result={"fill": 21, "nnz_l": 21, "nnz_u": 30})
        self.assertIn("Different results: bcsstk18, entries of L and U: 20 and 30 by cpu_a; 21 and 30 by cpu_b.", self.make(
            lines[0], other)[2])
        self.assertIn("No result was verified.", self.make(lines[3])[2])
        metis, amd = (any_record("cpu_bitmap_panels", "bcsstk18", ordering={"col": col, "digest": col},
                                 result={"fill": fill, "nnz_l": 1, "nnz_u": fill}) for col, fill in (("metis", 25), ("amd", 77)))
        for r in (metis, amd):
            r["matrix"] = {"name": "bcsstk18", "n": 1100, "nnz": 30, "stand_in": False, "sha256": ""}
        page = self.make(metis, amd)[2]
        self.assertIn("<td>bcsstk18 gets 980,136 fill-ins</td><td>980,136</td><td>original 25, n = 1</td>",
                      re.sub(' class="n"', "", page))

    def test_nothing_to_draw_still_gives_a_page(self):
        code, err, page = self.make()
        self.assertEqual(code, 3)
        self.assertIn("figures drawn: none", err)
        self.assertIn("None could be drawn", page)

    def test_a_refused_figure_does_not_keep_the_others(self):
        lines = [example.run(**FRONTIER), any_record("cpu_fill1", "gen:grid7:nx=8", status="unverified", reason="no truth", experiment="growth")]
        code, err, page = self.make(*lines)
        self.assertEqual(code, 1)
        self.assertIn("figures drawn: fig04_frontier_size, compare\n", err)
        self.assertRegex(err, "error: .*growth_fits.* cannot be drawn: .*no truth")
        self.assertEqual(err.count("no truth"), 1)
        self.assertIn("no truth", page)

    def test_a_record_without_a_key_is_named_and_other_figures_are_drawn(self):
        lacking = example.run()
        del lacking["ordering"]
        code, err, page = self.make(example.run(**FRONTIER), lacking)
        self.assertEqual(code, 1)
        self.assertIn("figures drawn: fig04_frontier_size", err)
        self.assertRegex(err, r"error: .*compare.* cannot be drawn: [^\n]*records\.jsonl:2: 'ordering' is missing\n")

    def test_a_baseline_that_is_not_there_is_one_line(self):
        path, err = example.write(self.folder / "records.jsonl", example.run()), io.StringIO()
        command = ["results.py", "--records", path, "--figures", self.folder / "figures", "--baseline", "cpu_other"]
        with mock.patch.object(sys, "argv", list(map(str, command))), contextlib.redirect_stderr(err):
            self.assertEqual(results.main(), 2)
        self.assertRegex(err.getvalue(), r"\Aresults\.py: error: no timed run of the baseline 'cpu_other'[^\n]*\n\Z")

    def test_cases_beside_committed_ones(self):
        def place(runs):
            path = example.write(self.folder / "2026_h200" / "x.jsonl", *runs)
            return results.records.read_runs([path])
        (self.folder / "2026_h200").mkdir()
        here = place([example.run(samples_s=[0.002]), example.run(matrix="twotone"), example.run(variant="cpu_other"),
                      example.run(options={"sources_per_range": 4}), example.run(threads=2)])
        there = place([example.run(samples_s=[0.004]), example.run(samples_s=[0.008], git={"sha": "1" * 40, "dirty": False}),
                       example.run(status="fail", samples_s=[0.001]), example.run(variant="cpu_third")])
        rows = results.beside_committed(here, there)
        self.assertEqual(rows, [("bcsstk18", "11,948", "cpu_fill2_parallel", "sources_per_range=16, threads=1", "2", "8", "0.25",
                                 "2026_h200")])
        self.assertEqual(results.beside_committed(there[2:3], there), [])

    def test_committed_records_have_runs_on_a_gpu(self):
        self.assertTrue(any(r["gpus"] and r["device"] == "gpu" for r in results.committed_runs()))

    def test_bad_records_are_one_line(self):
        code, err, page = self.make("no record")
        self.assertEqual((code, page), (2, None))
        self.assertRegex(err, r"\Aresults\.py: error: [^\n]*records\.jsonl:1: [^\n]*\n\Z")


if __name__ == "__main__":
    unittest.main()
