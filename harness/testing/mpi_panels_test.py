"""mpi_bitmap_panels under mpirun, its kernels on the emulator. Exit status 77 where that is impossible.

$GSOFA_EMULATED names the program.
"""

import os
import subprocess
import sys
import unittest

from cli_support import records_of
from mpi_distributed_test import LIMIT, OK, RANKS, SKIPPED, mpirun, on_ranks

GSOFA = os.environ.get("GSOFA_EMULATED", "gsofa_emulated")
WANTS = ("--want", "counts", "--want", "digest", "--want", "supernodes")
# Unsymmetric and symmetric ones, one with low symmetry, and a numbering that is no postorder.
MATRICES = ("gen:grid7:nx=9,drop=0.3", "gen:grid7:nx=8", "gen:dg:nx=3", "gen:dissected:nx=9,interleaved=1")


def arguments(matrix, variant, *more):
    return ["run", "--matrix", matrix, "--variant", variant, "--json", "--verify", "oracle", "--repeat", "2",
            "--warmup", "0", *WANTS, *more]


class PanelsTest(unittest.TestCase):
    def record(self, done):
        self.assertEqual(done.returncode, OK, done.stderr)
        (record,) = records_of(done.stdout)
        self.assertEqual(record["status"], "pass")
        return record

    def test_any_number_of_ranks_gives_what_one_gpu_gives(self):
        with_top = 0
        for matrix in MATRICES:
            alone = self.record(subprocess.run([GSOFA, *arguments(matrix, "gpu_bitmap_panels")], capture_output=True,
                                               text=True, timeout=LIMIT))
            for ranks in RANKS:
                with self.subTest(matrix=matrix, ranks=ranks):
                    record = self.record(on_ranks(ranks, GSOFA, *arguments(matrix, "mpi_bitmap_panels")))
                    self.assertEqual(record["result"], alone["result"])
                    self.assertEqual(record["derived"]["gpus"], ranks)
                    self.assertEqual(record["derived"]["alone"], 0)
                    with_top += record["derived"]["top_panels"] > 0
        self.assertGreater(with_top, len(MATRICES) * 2)

    def test_rank_0_does_what_the_budget_does_not_admit(self):
        # A part takes more than a mebibyte beside A.
        budget = ("--set", "memory_budget_mb=1", "--set", "panel_width=1")
        record = self.record(on_ranks(2, GSOFA, *arguments("gen:grid7:nx=10,oneway=1", "mpi_bitmap_panels", *budget)))
        self.assertEqual(record["derived"]["alone"], 1)


if __name__ == "__main__":
    if mpirun() is None:
        print("skipped: no mpirun")
        sys.exit(SKIPPED)
    unittest.main()
