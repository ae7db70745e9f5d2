"""Tests of the figure of sequences on made-up records."""

import contextlib
import io
import tempfile
import unittest
from pathlib import Path

import records
import records_example as example
import sequences
import style

style.FORMATS = ("png",)


def line(name, *seconds, threads=1, device="cpu", changed=10, more=()):
    """A record whose steps take so many seconds; the CPU seconds are twice as many, and a new order takes one second."""
    steps = [{"n": 1000, "rows_changed": changed, "compared": s > 0.002, "change": "moved", "update_s": s, "update_cpu_s": 2 * s,
              "update_operations": 3 + k, "new_s": 1, "new_cpu_s": 1, "new_operations": 4} | dict(more) for k, s in enumerate(seconds)]
    about = {"name": name, "kind": "contact" if name == "contact" else "rewired"}
    return {"schema": 1, "kind": "sequence", "sequence": about, "threads": threads, "device": device, "steps": steps}


class Sequences(unittest.TestCase):
    def test_points(self):
        """The first pattern does not count; one thread counts by CPU seconds; the largest ratio of operations is kept. Steps with a
        comparison are left out of the adapted ones."""
        metis = {"metis_s": 3, "metis_cpu_s": 2, "metis_operations": 8}
        got = sequences.points_of([line("rewired2_1", 9, 0.001, 0.003, more=metis), line("contact", 1, 1),
                                   line("rewired2_1", 9, 0.001, threads=16), line("rewired2_1", 9, 0.001, device="gpu")])
        self.assertEqual(got, [("rewired2_1", 0.01, "update", 1, 4, 1.25), ("rewired2_1", 0.01, "update, adapted", 1, 2, 1),
                               ("rewired2_1", 0.01, "new order", 1, 1000, 1), ("rewired2_1", 0.01, "METIS", 1, 2000, 2),
                               *(("rewired2_1", 0.01, f"update{where}", threads, 1, 1)
                                 for where, threads in (("", 16), (", adapted", 16), (", GPU", 1), (", GPU, adapted", 1)))])

    def test_the_files(self):
        with tempfile.TemporaryDirectory() as folder:
            file, table, out = (Path(folder) / name for name in ("x.jsonl", "peers.csv", "out"))
            example.write(file, line("rewired2_1", 1, 0.002), line("rewired2_5", 1, 0.004, changed=50), line("rewired3_1", 1, 0.004))
            table.write_text("sequence,step,parth_cpu_s\nrewired2_1,0,9\nrewired2_1,1,0.25\nother,1,3\n")
            with contextlib.redirect_stderr(io.StringIO()):
                style.draw_figure("sequences", [file, table], out)
            rows = (out / "sequences.csv").read_text().splitlines()
            self.assertEqual(len(rows), 1 + 2 * 3 + 1 + 1)
            self.assertIn("rewired2_1,0.010000,Parth,1,250,", rows)
            self.assertIn("rewired2_5,0.050000,update,1,8,1.0000", rows)
            example.write(file, line("contact", 1, 1))
            with self.assertRaises(records.Absent):
                style.draw_figure("sequences", [file], out)


if __name__ == "__main__":
    unittest.main()
