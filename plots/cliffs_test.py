"""Tests of the figure of cliffs on made-up tables."""

import contextlib
import csv
import io
import tempfile
import unittest
from pathlib import Path

import cliffs
import records
import style

style.FORMATS = ("png",)
PANEL = {"input": "gen:grid7:nx=36", "family": "grid7", "n": 46656, "gpu_ms": 2, "core_ms": 12}
ORDER = {"input": "gen:dg:nx=9", "family": "dg", "n": 17496, "metis": 10, "amd": 8, "automatic": 12}


class Figure(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def table(self, name, columns, *rows):
        path = self.folder / name
        style.write_table(path, columns, [[row.get(c, "") for c in columns] for row in rows])
        return path

    def panels(self, *rows):
        return self.table("panels.csv", cliffs.study.PANELS, *rows)

    def orders(self, *rows):
        return self.table("orders.csv", cliffs.study.OPERATIONS, *rows)

    def draw(self, *files):
        with contextlib.redirect_stderr(io.StringIO()):
            style.draw_figure("cliffs", files, self.folder / "out")
        self.assertGreater((self.folder / "out" / "cliffs.png").stat().st_size, 10_000)
        with open(self.folder / "out" / "cliffs.csv", newline="") as f:
            return [tuple(r.values()) for r in csv.DictReader(f)]

    def test_draws_what_there_is(self):
        left, right = ("one core / GPU", "grid7", "gen:grid7:nx=36", "46656", "6"), (
            "operations: automatic / better of METIS and AMD", "dg", "gen:dg:nx=9", "17496", "1.5")
        self.assertEqual(self.draw(self.orders(ORDER), self.panels(PANEL)), [left, right])
        self.assertEqual(self.draw(self.panels(PANEL)), [left])
        self.assertEqual(self.draw(self.orders(ORDER, ORDER | {"input": "gen:diagonal:n=9", "metis": 0, "amd": 0})), [right])

    def test_refuses(self):
        with self.assertRaisesRegex(records.Absent, "no table of the study of cliffs"):
            cliffs.tables([self.table("other.csv", ("input", "n"), PANEL), self.panels()])
        with self.assertRaisesRegex(records.Refused, "panels.csv names gen:grid7:nx=36 twice"):
            cliffs.tables([self.panels(PANEL, PANEL)])


if __name__ == "__main__":
    unittest.main()
