"""Tests of the study of regret with the programs in $GSOFA_BUILD. Exit status 77 without them or SciPy."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

DRIVER = Path(__file__).with_name("regret.py")
BUILD = Path(os.environ.get("GSOFA_BUILD", ""))
PROGRAMS = ["splu", "cholmod", *(["superlu_dist"] if (BUILD / "superlu_dist_solve").exists() else [])]
try:
    import scipy  # noqa: F401
    if not (BUILD / "cholmod_solve").is_file():
        raise ImportError("no cholmod_solve in $GSOFA_BUILD")
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(77)


class Regret(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.inputs, self.out = (Path(folder.name) / name for name in ("inputs.tsv", "x.jsonl"))

    def run_driver(self, text, *words):
        self.inputs.write_text(text)
        return subprocess.run([sys.executable, str(DRIVER), "--build", BUILD, "--out", self.out, "--programs", ",".join(PROGRAMS),
                               *words, self.inputs], capture_output=True, text=True, check=False)

    def test_lines(self):
        """Each program in our orders and in its own; a file that has the lines gets none again."""
        for _ in range(2):
            done = self.run_driver("mesh\tgen:triangles:nx=20\n", "--order", "amd", "--order", "amf", "--order", "natural")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = [json.loads(line) for line in self.out.read_text().splitlines()]
        own = {"splu": 2, "cholmod": 3, "superlu_dist": 2}
        self.assertEqual(len(lines), sum(3 + own[p] for p in PROGRAMS))
        for program in PROGRAMS:
            mine = {line["order"]: line for line in lines if line["program"] == program}
            self.assertLess(mine["amd"]["operations"], mine["natural"]["operations"])
            self.assertTrue(all(line[f"{step}_cpu_s"] >= 0 for line in mine.values() for step in ("order", "analysis", "factor", "solve")))
            # Each factors in the order that it was given; SuperLU_DIST does not tell the entries of L.
            self.assertLess(mine["amd"]["nnz_l"], mine["natural"]["nnz_l"])

    @unittest.skipUnless("superlu_dist" in PROGRAMS, "no superlu_dist_solve")
    def test_a_deep_tree_overflows_no_stack(self):
        done = self.run_driver("chain\tgen:space_time_kkt:states=8,controls=2,elements=2000,points=1,coupling=full\n",
                               "--programs", "superlu_dist", "--order", "amd")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_refuses(self):
        done = self.run_driver("real\tabsent\n")
        self.assertEqual((done.returncode, done.stderr), (1, "regret.py: absent: no file in a --folder\n"))
        done = self.run_driver("mesh\tgen:triangles:nx=0\n", "--order", "amd")
        self.assertEqual(done.returncode, 1)


if __name__ == "__main__":
    unittest.main()
