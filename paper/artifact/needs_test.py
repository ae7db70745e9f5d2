"""Tests of the artifact page: its tables are what claims and records say, and the container runs what the README shows. Exit
status 77 without numpy, which claims need."""

import contextlib
import io
import re
import sys
import unittest
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SKIPPED = 77
sys.path.insert(0, str(HERE))

try:
    import needs
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(SKIPPED)


class Tables(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.board = needs.claims.Board()
        cls.made = needs.tables(cls.board)

    def claim(self, name):
        return next(j.claim for j in self.board.judged if j.claim.id == name)

    def test_the_page_has_them(self):
        text = needs.README.read_text(encoding="utf-8")
        self.assertEqual(text, needs.filled(text, self.made), "python3 paper/artifact/needs.py --write brings it up to date")

    def test_every_claim_is_counted_once(self):
        first, second = self.made.split("\n\n")
        counts = [int(re.match(r"\| [^|]+ \| (\d+) \|", line)[1]) for line in first.splitlines()[2:]]
        self.assertEqual(sum(counts), len(self.board.judged))
        by_hardware = [int(line.split("|")[2]) for line in second.splitlines()[2:]]
        self.assertEqual(sum(by_hardware[:-1]), by_hardware[-1])
        self.assertEqual(by_hardware[-1], len(self.board.judged))

    def test_hardware(self):
        devices = {"gpu_maxid": "gpu", "mpi_maxid": "mpi", "peer_superlu_dist_parallel": "peer", "cpu_bitmap_panels": "cpu"}
        found = {j.claim.item: needs.hardware(j.claim, devices) for j in self.board.judged if j.claim.measure}
        self.assertEqual(found["fig13_throughput"], "an NVIDIA GPU, Nsight Compute")
        self.assertEqual(found["fig18_page_faults"], "2 NVIDIA GPUs of one host")
        self.assertEqual(needs.hardware(self.claim("fig21.128"), devices), "2 NVIDIA GPUs of one host")
        self.assertEqual(needs.hardware(self.claim("fig21.on_36.128"), devices), "any machine", "simulated")
        self.assertEqual(found["table1_datasets"], "any machine")
        self.assertEqual(found["fig12_superlu"], "an NVIDIA GPU, SuperLU_DIST on up to 16 ranks")
        self.assertEqual(needs.hardware(self.claim("fig12.six_nodes.ahead"), devices), self.claim("fig12.six_nodes.ahead").elsewhere)

    def test_a_page_without_marks_is_refused(self):
        for text in ("", needs.BEGIN, f"{needs.END} {needs.BEGIN}", f"{needs.BEGIN} {needs.BEGIN} {needs.END}"):
            with self.assertRaises(needs.records.Refused):
                needs.filled(text, "x")
        self.assertEqual(needs.filled(f"a {needs.BEGIN} old {needs.END} b", "new"), f"a {needs.BEGIN}\n\nnew\n\n{needs.END} b")

    def test_check_fails_on_another_page(self):
        err = io.StringIO()
        with (mock.patch.object(needs, "tables", lambda board: "other"), mock.patch.object(needs.claims, "Board"),
              mock.patch.object(sys, "argv", ["needs.py", "--check"]), contextlib.redirect_stderr(err)):
            self.assertEqual(needs.main(), 1)
        self.assertEqual(err.getvalue().count("\n"), 1)


class Container(unittest.TestCase):
    def test_it_runs_the_commands_of_the_readme(self):
        shown = (ROOT / "README.md").read_text(encoding="utf-8").split("```console\n")[1].split("```")[0].replace("\\\n", " ")
        commands = [" ".join(line.split("#")[0].split())[2:] for line in shown.splitlines() if line.startswith("$ ")]
        text = (HERE / "Containerfile").read_text(encoding="utf-8")
        run = [" ".join(line.removeprefix("RUN ").split()) for line in text.splitlines() if line.startswith("RUN ./testbed gsofa")]
        self.assertEqual(len(commands), 2)
        self.assertEqual(run, commands)


if __name__ == "__main__":
    unittest.main()
