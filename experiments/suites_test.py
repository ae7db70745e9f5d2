#!/usr/bin/env python3
"""Tests of suites.py and of the suites themselves; no network. GSOFA: the program that generates matrices."""
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import tomllib
import unittest
from unittest import mock

import json_lines
import suites

# A suite is frozen: another list of matrices is another version.
FROZEN = {"orders-2026": (1, "2bdcc8c93a692a35"), "paper": (1, "6d3668267600c361"), "symbolic-2026": (1, "e444a77bdcb15231")}


def facts(matrix):
    """(order, entries, sha256) of a matrix as the program reads or generates it."""
    done = subprocess.run([os.environ["GSOFA"], "info", "--json", "--no-fill", "--match", "none", "--matrix", matrix.locate()],
                          capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    return found["n_rows"], found["nnz"], found["sha256"]


def order(matrix, file):
    """What an order costs, by the program."""
    done = subprocess.run([os.environ["GSOFA"], "order", "--matrix", matrix.locate(), "--order", file, "--json"], capture_output=True,
                          check=True)
    return next(json_lines.lines_of(done.stdout, "gsofa"))["result"]


class Suites(unittest.TestCase):
    def test_suites_are_frozen(self):
        for name in suites.names():
            suite = tomllib.loads((suites.SUITES / f"{name}.toml").read_text(encoding="utf-8"))
            digest = hashlib.sha256(json.dumps(suite["matrices"]).encode()).hexdigest()
            self.assertEqual((suite["version"], digest[:16]), FROZEN.get(name), name)

    def test_names_and_sources_are_unique(self):
        for name in suites.names():
            matrices = suites.load(name).matrices
            self.assertEqual(len({m.name for m in matrices}), len(matrices))
            self.assertEqual(len({m.source for m in matrices}), len(matrices))

    def test_the_size_of_a_matrix_follows_from_its_order(self):
        for m in (m for name in suites.names() for m in suites.load(name).matrices):
            self.assertEqual(m.size, "S" if m.n <= 20_000 else "M" if m.n <= 200_000 else "L", m.name)

    def test_every_family_has_a_small_matrix_without_the_network(self):
        for name in ("orders-2026", "symbolic-2026"):
            suite = suites.load(name)
            for family in {m.family for m in suite.matrices}:
                self.assertTrue(any(not m.is_fetched() for m in suite.select("S", [family])), f"{name}: {family}")

    def test_bundled_and_generated_matrices_are_what_the_suites_say(self):
        for m in {m for name in suites.names() for m in suites.load(name).select("S") if not m.is_fetched()}:
            self.assertEqual(facts(m), (m.n, m.nnz, m.sha256), m.name)

    def test_a_fetched_matrix_is_in_the_cache_in_the_old_folder_or_bundled(self):
        big, small = (next(m for m in suites.load("paper").matrices if m.name == name) for name in ("bbmat", "bcsstk18"))
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, GSOFA_MATRICES=folder):
            self.assertIsNone(big.locate())
            self.assertTrue(small.locate().endswith("experiments/matrices/bcsstk18.mtx.gz"))
            file = pathlib.Path(folder) / "Simon" / "bbmat.mtx.gz"
            file.parent.mkdir()
            file.touch()
            self.assertEqual(big.locate(), str(file))

    def test_stored_orders_have_the_operations_of_their_table(self):
        best = suites.SUITES / "best"
        known = {m.sha256: m for m in suites.load("orders-2026").matrices}
        rows = [line.split("\t") for line in (best / "best.tsv").read_text().splitlines()[1:]]
        self.assertEqual([row[0] for row in rows], [known[row[1]].name for row in rows])
        self.assertLess(sum(f.stat().st_size for f in best.iterdir()), 5 << 20)
        for name, sha256, operations, *_ in rows:
            self.assertEqual((best / f"{name}.perm.gz").is_file(), known[sha256].n <= 20_000, name)
            if known[sha256].size == "S" and known[sha256].locate():
                self.assertEqual(order(known[sha256], best / f"{name}.perm.gz")["flops"], float(operations), name)

    def test_improve_keeps_the_order_with_the_fewest_operations(self):
        with tempfile.TemporaryDirectory() as folder:
            table = pathlib.Path(folder) / "best.tsv"
            table.write_text("name\tsha256\toperations\torder\tseed\n")
            for words in (["--order", "natural"], ["--order", "amd", "--order", "natural", "--order", "nix"]):
                done = subprocess.run([sys.executable, suites.SUITES / "improve.py", "--gsofa", os.environ["GSOFA"], "--folder", folder,
                                       "--seeds", "1", *words, "epb0"], capture_output=True, text=True, check=True)
                self.assertEqual(done.stdout.count("\n"), 1)
                row = table.read_text().splitlines()[1].split("\t")
                self.assertEqual(row[3], words[1])
            epb0 = next(m for m in suites.load("orders-2026").matrices if m.name == "epb0")
            self.assertEqual(order(epb0, pathlib.Path(folder) / "epb0.perm.gz")["flops"], float(row[2]))

    def test_an_unknown_suite_is_named(self):
        with self.assertRaisesRegex(ValueError, "no suite is named 'nix'; the suites are orders-2026, paper, symbolic-2026"):
            suites.load("nix")


if __name__ == "__main__":
    unittest.main()
