"""Tests of the study of orders by kinds on made-up records."""

import contextlib
import io
import tempfile
import unittest
from pathlib import Path

import order_kinds
import records
import records_example as example
import style

style.FORMATS = ("png",)


def line(order, flops, matrix="a", shuffle=0, source="inputs/real/a.mtx.gz", machine="m", seconds=2.0, threads=1, nnz=3):
    return {"schema": 1, "kind": "order", "order": order, "status": "pass", "threads": threads, "samples_s": [seconds],
            "machine": {"id": machine}, "cpu": "c", "shuffle": shuffle,
            "matrix": {"name": matrix, "n": 9, "nnz": nnz, "stand_in": False, "source": source},
            "result": {"nnz_l": 3, "nnz_u": 7, "fill": 7, "flops": flops, "height": 5}}


class Kinds(unittest.TestCase):
    def kind(self, table=(), **how):
        return order_kinds.kind_of(line("amd", 1, **how), dict(table))

    def test_the_table_comes_first(self):
        self.assertEqual(self.kind(), "real")
        self.assertEqual(self.kind([("a", "circuit")], source="x/fem/a.mtx"), "circuit")
        self.assertEqual(self.kind(source="x/fem/a.mtx"), "finite elements")
        self.assertEqual(self.kind(source="x/kkt/a.mtx.gz"), "power grid")
        self.assertEqual(self.kind(matrix="gen:grid5:nx=9", source="gen:grid5:nx=9"), "generated")

    def test_tables(self):
        self.assertEqual(set(order_kinds.read_table(order_kinds.TABLE).values()), {"circuit"})
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "kinds.tsv"
            path.write_text("name\tkind\na\tsquare\n")
            with self.assertRaisesRegex(records.Refused, "kinds.tsv: unknown kind 'square', known: real, "):
                order_kinds.read_table(path)


class Study(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name) / "x.jsonl"
        self.out = Path(folder.name) / "out"

    def inputs(self, *lines):
        return order_kinds.inputs_of([example.write(self.file, *lines)], {})

    def test_ratios_are_of_medians_over_the_least_anchor(self):
        """Numberings of an anchor count by their median: its luckiest numbering is no anchor."""
        ((a, b), left_out) = self.inputs(
            *(line("metis", f, shuffle=s) for s, f in enumerate((90, 100, 140))),
            *(line("amd", f, shuffle=s) for s, f in enumerate((50, 200, 300))),
            line("tournament", 80), line("natural", 1),
            line("metis", 10, "b"), line("amd", 5, "b"), line("tournament", 10, "b"))
        self.assertEqual((left_out, a.least(order_kinds.ANCHORS), b.least(order_kinds.ANCHORS)), ([], 100, 5))
        self.assertEqual(a.spread("metis"), (0.9, 1.4))
        self.assertIsNone(a.spread("tournament"))
        got = order_kinds.summary([a, b], "tournament")
        self.assertAlmostEqual(got.pop("mean"), (0.8 * 2) ** 0.5)
        self.assertEqual(got, {"order": "tournament", "inputs": 2, "near": 0.5, "worst": 2, "worst input": "b", "worst over better": 2,
                               "time": 1, "threads": [1], "spread": None})
        amd = order_kinds.summary([a, b], "amd")
        self.assertEqual((amd["worst"], amd["worst input"], amd["spread"]), (2, "a", (0.25, 1.5, 1.5)))

    def test_times_are_of_one_machine(self):
        """The fastest record of an order counts, on the last machine that also has METIS."""
        ((a,), _) = self.inputs(line("metis", 4, seconds=6), line("metis", 4, seconds=4),
                                line("amd", 4, seconds=1), line("amd", 4, seconds=2),
                                line("metis", 4, machine="gpu", seconds=8), line("tournament", 3, machine="gpu", seconds=2, threads=16),
                                line("scotch", 4, machine="other"))
        self.assertEqual([a.time(o) for o in ("amd", "tournament", "scotch")], [(0.25, 1), (0.25, 16), None])

    def test_what_is_left_out(self):
        """An input without a record of an anchor that others have has no virtual best to compare with."""
        inputs, left_out = self.inputs(line("metis", 4), line("amd", 4), line("metis", 4, "b"), line("metis", 0, "c"),
                                       line("amd", 0, "c"))
        self.assertEqual(([i.name for i in inputs], left_out), (["a"], ["b", "c"]))
        with self.assertRaises(records.Absent):
            self.inputs(line("natural", 4))
        with self.assertRaisesRegex(records.Refused, "another matrix is named a too"):
            self.inputs(line("metis", 4), line("amd", 4, nnz=4))

    def test_the_last_record_of_a_numbering_counts(self):
        self.assertEqual(self.inputs(line("metis", 4), line("metis", 6))[0][0].operations("metis"), 6)

    def test_the_files(self):
        grid = {"matrix": "gen:grid5:nx=9", "source": "gen:grid5:nx=9"}
        example.write(self.file, line("metis", 8), line("amd", 16), line("automatic", 4, threads=16, seconds=0.5),
                      line("metis", 8, **grid), line("amd", 8, shuffle=1, **grid), line("amd", 16, shuffle=2, **grid), line("metis", 3, "b"))
        with contextlib.redirect_stderr(io.StringIO()):
            style.draw_figure("order_kinds", [self.file], self.out)
        rows = (self.out / "order_kinds.csv").read_text().splitlines()
        self.assertEqual(rows[3:5], ["real,a,9,metis,1,8,1,1,,,1,1", "generated,gen:grid5:nx=9,9,amd,2,12,1.5,1.5,0.666667,1.33333,1,1"])
        text = (self.out / "order_kinds.md").read_text()
        self.assertIn("| order | real (1) | generated (1) | worst | ", text)
        self.assertIn("| `metis` | 1.000 | 1.000 | 1.00 | 1 |  |\n| `amd` | 2.000 | 1.500 | 2.00 | 2 | 1.33 |\n", text)
        self.assertIn("**real** (1)\n", text)
        self.assertIn("| `automatic`, 16 threads | 0.500 | 100% | 0.50 a | 0.5 | 0.25 |  |\n", text)
        self.assertIn("| `amd` | 1.500 | 0% | 1.50 gen:grid5:nx=9 | 1.5 | 1 | 0.667, 1.333 (1.33) |\n", text)

    def test_a_profile(self):
        """The share of inputs within a factor of the virtual best rises by one input at the factor of each."""
        inputs, _ = self.inputs(*(line("metis", 10, m) for m in "ab"), line("automatic", 9, "a"), line("automatic", 15, "b"))
        _, axis = style.plt.subplots()
        self.addCleanup(style.plt.close, "all")
        self.assertEqual(order_kinds.profile(axis, inputs, (1,)), {"automatic": [0.9, 1.5], "metis": [1, 1]})
        self.assertEqual(axis.lines[0].get_xydata().tolist(), [[0.5, 0], [0.9, 0.5], [1.5, 1], [4, 1]])
        self.assertEqual([one.get_linestyle() for one in axis.lines[:2]], ["-", "--"])


if __name__ == "__main__":
    unittest.main()
