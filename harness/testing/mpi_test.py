"""Runs the peers of SuperLU_DIST under mpirun. Exit status 77 where that is impossible."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from cli_support import records_of

GSOFA = os.environ.get("GSOFA", "gsofa")
SEQUENTIAL = "peer_superlu_dist"
PARALLEL = "peer_superlu_dist_parallel"
TRUSTED = "cpu_gilbert_peierls"
MATRICES = Path(__file__).resolve().parents[2] / "experiments" / "matrices"
BUNDLED = ("bcsstk18", "circuit_2", "g7jac040sc", "lhr02", "orani678", "sherman5")
SMALL = "gen:grid5:nx=12,ny=11"
SKIPPED = 77
LIMIT = 200  # seconds


def launcher(ranks):
    command = [shutil.which("mpirun"), "-np", str(ranks)]
    version = subprocess.run([command[0], "--version"], capture_output=True, text=True).stdout
    if "Open MPI" in version:
        command += ["--oversubscribe", "--bind-to", "none"]
        if os.geteuid() == 0:
            command.append("--allow-run-as-root")
    return command


def records(matrix, *variants, launch=(), more=()):
    done = subprocess.run(
        [*launch, GSOFA, "run", "--matrix", matrix, "--repeat", "2", "--warmup", "0", "--json", *more,
         *(word for v in variants for word in ("--variant", v))],
        capture_output=True, text=True, timeout=LIMIT)
    if done.returncode != 0:
        raise AssertionError(f"ended with {done.returncode}: {done.stderr}")
    return records_of(done.stdout)


def totals(record):
    return record["result"]["nnz_l"], record["result"]["nnz_u"]


class SequentialTest(unittest.TestCase):
    def test_under_mpirun(self):
        (record,) = records(SMALL, SEQUENTIAL, launch=launcher(1))
        # The peer may report a superset of the fill, which leaves it unverified.
        self.assertIn(record["status"], ("pass", "unverified"), record["reason"])
        self.assertEqual(record["mpi"]["ranks"], 1)

    def test_ranks_write_no_colours(self):
        """stdout of a rank looks like a terminal under Open MPI 4."""
        done = subprocess.run([*launcher(1), GSOFA, "run", SMALL, "--variant", "cpu_fill1"], capture_output=True, text=True,
                              timeout=LIMIT, env=os.environ | {"TERM": "xterm"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("pass", done.stdout)
        self.assertNotIn("\x1b", done.stdout)


class ParallelTest(unittest.TestCase):
    def check(self, record, fill, most, symbolic_ranks):
        self.assertEqual(record["status"], "unverified", record["reason"])
        self.assertEqual(record["derived"]["symbolic_ranks"], symbolic_ranks)
        for found, least, greatest in zip(totals(record), fill, most):
            self.assertGreaterEqual(found, least)
            self.assertLessEqual(found, greatest)

    def test_between_the_fill_and_the_sequential_totals(self):
        for name in BUNDLED:
            matrix = str(MATRICES / f"{name}.mtx.gz")
            fill, most = map(totals, records(matrix, TRUSTED, SEQUENTIAL))
            # These totals are compared here.
            alone = ("--verify", "none")
            with self.subTest(matrix=name, ranks="without mpirun"):
                (record,) = records(matrix, PARALLEL, more=alone)
                self.check(record, fill, most, 1)
            for ranks, symbolic in ((1, 1), (2, 2), (3, 2), (4, 4)):
                with self.subTest(matrix=name, ranks=ranks):
                    (record,) = records(matrix, PARALLEL, launch=launcher(ranks), more=alone)
                    self.assertEqual(record["mpi"]["ranks"], ranks)
                    self.check(record, fill, most, symbolic)

    def test_an_order_that_is_no_postorder(self):
        natural = ("--match", "none", "--order", "natural")
        fill, most = map(totals, records(SMALL, TRUSTED, SEQUENTIAL, more=natural))
        for ranks in (1, 4):
            (record,) = records(SMALL, PARALLEL, launch=launcher(ranks), more=natural)
            # The etree of a grid in natural order is a path but for its first vertices.
            self.check(record, fill, most, record["derived"]["symbolic_ranks"])

    def test_prepared_file_on_sixteen_ranks(self):
        # Rank 0 reads the file, whose arrays take more than a megabyte; the others get copies.
        with tempfile.TemporaryDirectory() as folder:
            prepared = str(Path(folder) / "grid.bin")
            subprocess.run([GSOFA, "prepare", "--matrix", "gen:grid5:nx=260,ny=260", "--out",
                            prepared], check=True, capture_output=True, timeout=LIMIT)
            fill, most = map(totals, records(prepared, TRUSTED, SEQUENTIAL))
            (record,) = records(prepared, PARALLEL, launch=launcher(16), more=("--verify", "none"))
            self.check(record, fill, most, 16)

    def test_small_patterns_on_eight_ranks(self):
        done = subprocess.run([*launcher(8), GSOFA, "check", "--suite", "small", "--patterns", "60",
                               "--variant", PARALLEL], capture_output=True, text=True, timeout=LIMIT)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


def main():
    variants = json.loads(subprocess.run([GSOFA, "list", "--json"], check=True, capture_output=True,
                                         text=True).stdout)
    for name in (SEQUENTIAL, PARALLEL):
        peer = next((v for v in variants if v["name"] == name), None)
        reason = f"no variant {name}" if peer is None else peer.get("reason")
        if peer is None or not peer["available"]:
            print(f"skipped: {reason}")
            return SKIPPED
    if shutil.which("mpirun") is None:
        print("skipped: no mpirun")
        return SKIPPED
    # Launchers keep files of their own there, and names of sockets have a limit: a short path.
    own = tempfile.TemporaryDirectory(prefix="mpi", dir="/tmp")
    os.environ["TMPDIR"] = own.name
    return 0 if unittest.main(exit=False, verbosity=2).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
