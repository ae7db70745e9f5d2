"""Tests of the figure of regrets on made-up records. Exit status 77 without matplotlib."""

import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

try:
    import regret
    import style
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(77)

import records
import records_example as example

style.FORMATS = ("png",)


def line(order, order_s, factor_s, **more):
    seconds = {"order_s": order_s, "analysis_s": 1, "factor_s": factor_s, "solve_s": 1}
    return {"kind": "regret", "matrix": "a", "family": "real", "program": "splu", "threads": 1, "order": order, **seconds} | more


class Regret(unittest.TestCase):
    def test_totals(self):
        """Analysis and order happen once, the solve each time; a further factorization may take another time."""
        self.assertEqual(regret.total(line("amd", 3, 4), 10), 3 + 1 + 10 * (4 + 1))
        self.assertEqual(regret.total(line("amd", 3, 4, refactor_s=2), 3), 3 + 1 + 4 + 2 * 2 + 3)
        self.assertEqual(regret.name_of(line("automatic:kind=a,factorizations=10", 3, 4), 10), "automatic")
        self.assertEqual(regret.name_of(line("automatic:kind=a,factorizations=10", 3, 4), 1), "automatic:kind=a,factorizations=10")

    def test_regrets(self):
        """Of the least total on the same input, large and small inputs apart; `automatic` counts by what it made for the number."""
        lines = [line("amd", 1, 7), line("automatic:factorizations=1", 11, 7), line("automatic:factorizations=10", 1, 1),
                 line("amd", 0, 0, matrix="c", analysis_s=0, solve_s=0), line("amd", 0, 0, matrix="b", analysis_s=0, solve_s=0.01), line("amd", 1, 1, program="cholmod")]
        found = regret.regrets(lines)
        self.assertEqual(found["splu", 1, 1, "real", True], {"amd": [10 / 4], "automatic": [5], "automatic:factorizations=10": [1]})
        self.assertEqual(found["splu", 1, 10, "real", True],
                         {"amd": [82 / 22, 1], "automatic": [1], "automatic:factorizations=1": [92 / 22]})
        self.assertEqual(found["splu", 1, 1, "real", False], {"amd": [1]})
        self.assertEqual(found["cholmod", 1, 1, "real", True], {"amd": [1]})

    def test_the_files(self):
        with tempfile.TemporaryDirectory() as folder:
            file, out = Path(folder) / "x.jsonl", Path(folder) / "out"
            example.write(file, line("amd", 1, 7), line("automatic", 11, 7), line("amd", 1, 8, matrix="b"), line("automatic", 1, 8, matrix="b"))
            with contextlib.redirect_stderr(io.StringIO()):
                style.draw_figure("regret", [file], out)
            rows = (out / "regret.csv").read_text().splitlines()
            self.assertIn("splu,1,1,real,>= 20 ms,automatic,2,1.414,2.00", rows)
            self.assertEqual(len(rows), 1 + 3 * 2)
            example.write(file, {"kind": "order"})
            with self.assertRaises(records.Absent):
                style.draw_figure("regret", [file], out)


if __name__ == "__main__":
    unittest.main()
