"""Tests of ratios.py on made-up records."""

import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path

import ratios


def record(matrix, variant, ms, **other):
    return {"matrix": {"name": matrix}, "variant": variant, "device": variant[:3], "counting": False, "wants": ["counts", "digest"],
            "samples_s": [1e-3 * t for t in ms], "status": "pass", "reason": "", "threads": 1, "options": {}, "mpi": {"ranks": 1}, "chunk_size": 128, "gpus": [{"name": "NVIDIA H200"}],
            "cpu": "cpu", "host": "host", "git": {"sha": "a" * 40, "dirty": False}, "result": {"nnz_l": 3, "nnz_u": 4},
            "counters": {"edges_traversed": 100}} | other


class Ratios(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name) / "records.jsonl"

    def call(self, *lines, args=(), code=0):
        self.file.write_text("".join(json.dumps(r) + "\n" for r in lines))
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
            self.assertEqual(ratios.main([str(self.file), *args]), code)
        return out.getvalue() + err.getvalue()

    def test_medians_and_geometric_means(self):
        text = self.call(record("a", "gpu_maxid", [6.1, 1, 100]), record("b", "gpu_maxid", [10]), record("a", "fill2", [24.4]),
                         record("b", "fill2", [10]), record("b", "naive", [], status="timeout"), args=["--over", "gpu_maxid"])
        self.assertIn("NVIDIA H200, cpu, host, aaaaaaaaaaaa\n", text)
        for line in ("| ms | a | b | / gpu_maxid | of |", "| gpu_maxid | 6.10 | 10.0 | 1.00 | 2 |", "| fill2 | 24.4 | 10.0 | 2.00 | 2 |",
                     "| naive |  | timeout | - | 0 |", "4 pass, 1 timeout"):
            self.assertIn(line + "\n", text)

    def test_which_records_count(self):
        text = self.call(record("a", "x", [9]), record("a", "x", [5]), record("a", "x", [7], wants=["pattern"]),
                         record("a", "y", [4]), record("a", "y", [2], threads=2), args=["--over", "y, threads=2"])
        self.assertIn("| x | 5.00 | 2.50 | 1 |", text)
        self.assertIn("| y, threads=1 | 4.00 | 2.00 | 1 |", text)

    def test_other_quantities_and_a_table_as_base(self):
        line = record("a", "x", [8])
        self.assertIn("| x | 7.00 | - | 0 |", self.call(line, args=["--of", "entries"]))
        self.assertIn("| x | 100 | - | 0 |", self.call(line, args=["--of", "counters.edges_traversed"]))
        base = self.file.with_suffix(".csv")
        base.write_text("matrix,their_ms\na,16\n")
        self.assertIn("| x | 8.00 | 0.500 | 1 |", self.call(line, args=["--over", f"{base}:their_ms"]))

    def test_refuted_results_have_no_time(self):
        text = self.call(record("a", "x", [5], status="fail", reason="row 3"), code=1)
        self.assertIn("| x | fail | - | 0 |", text)
        self.assertIn("a x: fail: row 3", text)

    def test_several_machines(self):
        lines = record("a", "x", [5]), record("a", "y", [9], host="other")
        self.assertIn("--mixed", self.call(*lines, code=2))
        self.assertIn("1.80", self.call(*lines, args=["--mixed", "--over", "x"]))

    def test_lines_that_are_no_records(self):
        for bad in ("{", "[]", '{"status": 3}'):
            self.file.write_text(bad + "\n")
            with self.assertRaisesRegex(ratios.json_lines.BadLine, f"{self.file}:1: "):
                ratios.main([str(self.file)])


if __name__ == "__main__":
    unittest.main()
