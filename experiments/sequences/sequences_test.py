#!/usr/bin/env python3
"""Tests of the sequences, their files and their measurement; with $GSOFA_SEQUENCE_TIMES also of the program. Netgen is not
needed. Exit status 77 without scipy."""
import contextlib
import io
import json
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

try:
    import numpy
    import scipy.sparse
    import scipy.spatial
    import changes
    import make
    import run
    import sequence
    import table
except (ImportError, SystemExit) as e:
    print(f"skipped: {e}")
    sys.exit(77)

import records_test

PROGRAM = os.environ.get("GSOFA_SEQUENCE_TIMES", "")


def random_pattern(random, n, symmetric):
    a = scipy.sparse.random(n, n, 0.2, format="csr", random_state=random.integers(1 << 30)) + scipy.sparse.identity(n)
    return a + a.T if symmetric else a


def dense(row_ptr, col_idx):
    n = row_ptr.size - 1
    return scipy.sparse.csr_matrix((numpy.ones(col_idx.size), col_idx, row_ptr), shape=(n, n)).toarray() != 0


class Files(unittest.TestCase):
    def setUp(self):
        self.file = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / f"x{sequence.SUFFIX}"

    def test_patterns_return_as_they_were_written(self):
        random = numpy.random.default_rng(3)
        for symmetric, components in ((True, 1), (False, 1), (True, 3)):
            steps = [(random_pattern(random, 9, symmetric), None), (random_pattern(random, 9, symmetric), None)]
            for n in 12, 7:
                previous = numpy.where(random.random(n) < 0.3, -1, random.permutation(20)[:n])
                steps.append((random_pattern(random, n, symmetric), numpy.where(previous < steps[-1][0].shape[0], previous, -1)))
            about = {"name": "x", "kind": "k", "source": "s", "symmetric": symmetric, "components": components}
            sequence.write(self.file, about, steps)
            read = list(sequence.Sequence(self.file))
            self.assertEqual(len(read), len(steps))
            for (pattern, previous), (row_ptr, col_idx, again) in zip(steps, read):
                block = numpy.ones((components, components))
                self.assertTrue((dense(row_ptr, col_idx) == numpy.kron(pattern.toarray() != 0, block)).all())
                if previous is None:
                    self.assertIsNone(again)
                else:
                    expected = [p * components + k if p >= 0 else -1 for p in previous for k in range(components)]
                    self.assertEqual(again.tolist(), expected)

    def test_what_is_no_sequence(self):
        self.file.write_bytes(b"nothing")
        with self.assertRaisesRegex(SystemExit, "no sequence of patterns"):
            sequence.Sequence(self.file)

    def test_bundled_sequences_are_those_of_the_table(self):
        known = make.recorded()
        bundled = sorted((HERE / "bundled").glob(f"*{sequence.SUFFIX}"))
        self.assertGreater(len(bundled), 0)
        for file in bundled:
            made = sequence.Sequence(file)
            self.assertEqual(sequence.sha256(made), known[made.about["name"]]["sha256"], file.name)


class Changes(unittest.TestCase):
    def test_rewired(self):
        patterns = [a.tocsr() for a, _ in changes.rewired(n=500, dim=2, share=0.02, steps=2)]
        for before, after in zip(patterns, patterns[1:]):
            self.assertEqual((after != after.T).nnz, 0)
            rows = numpy.unique((before.astype(bool) != after.astype(bool)).nonzero()[0])
            self.assertTrue(10 <= rows.size <= 40, rows.size)  # 10 vertices, with an old and a new neighbour of each

    def test_switching_keeps_a_transversal(self):
        random = numpy.random.default_rng(5)
        pattern = random_pattern(random, 40, False)
        patterns = [a.tocsr() for a, _ in changes.switching(pattern, share=0.2, steps=3)]
        self.assertTrue(all(scipy.sparse.csgraph.structural_rank(a) == 40 for a in patterns))
        whole = pattern.toarray() != 0
        self.assertTrue(all(not (a.toarray() != 0)[~whole].any() for a in patterns))
        self.assertGreater((patterns[1] != patterns[2]).nnz, 0)

    def test_dropped_rows_are_those_that_emptied_ones_leave(self):
        emptied, dropped = ([(a.toarray() != 0, p) for a, p in make.limits(4, steps=4, dropped=d)] for d in (False, True))
        for (whole, _), (part, _) in zip(emptied, dropped):
            self.assertEqual(part.sum() + whole.shape[0] - part.shape[0], whole.sum())
        for (before, _), (part, previous) in zip(dropped, dropped[1:]):
            kept = numpy.flatnonzero(previous >= 0)
            self.assertTrue((numpy.diff(previous[kept]) > 0).all())
            self.assertTrue((part[numpy.ix_(kept, kept)] == before[numpy.ix_(previous[kept], previous[kept])]).all())

    def test_contact_moves(self):
        grid = numpy.stack(numpy.meshgrid(*[numpy.linspace(0, 1, 7)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
        cells = scipy.spatial.Delaunay(grid + 1e-3 * numpy.random.default_rng(1).random(grid.shape)).simplices
        lower = changes.meshes.Mesh(grid, cells)
        upper = changes.meshes.Mesh(grid * [0.5, 0.5, 1], cells)
        patterns = [a.tocsr() for a, _ in changes.sliding_contact(lower, upper, 4)]
        across = [a[:343, 343:].nnz for a in patterns]
        self.assertTrue(all(across), across)
        self.assertTrue(all((a != b).nnz for a, b in zip(patterns, patterns[1:])))


class Table(unittest.TestCase):
    def test_a_row(self):
        """The first pattern does not count; CPU seconds of one thread; the worst ratio of operations. A step that is ordered anew at
        once did not adapt the order."""
        step = {"n": 2000, "rows_changed": 20, "compared": False, "change": "moved", "update_cpu_s": 0.002, "update_operations": 3, "new_cpu_s": 0.5,
                "new_operations": 2, "metis_cpu_s": 0.25, "metis_operations": 6}
        anew = step | {"change": "new_order", "update_cpu_s": 0.6, "update_operations": 2}
        line = {"sequence": {"name": "a"}, "threads": 1, "device": "cpu", "steps": [step | {"update_cpu_s": 9}, step, anew]}
        self.assertEqual(table.row(line), ("a", "1 thread", "2,000", "1.00%", "1 of 2", "2", "301", "500", "250", "", "1.250 (1.500)", "1",
                                           "0.417"))


@unittest.skipUnless(PROGRAM, "GSOFA_SEQUENCE_TIMES does not name the program")
class Measurement(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_a_record(self):
        out = self.folder / "out.jsonl"
        make.write(self.folder, "limits", "interior point", "limits:5", 1, True, lambda: make.limits(5, steps=3, dropped=True))
        arguments = ["run.py", PROGRAM, str(out), str(self.folder), "--threads", "1,2", "--anchors", "amd"]
        with mock.patch.object(sys, "argv", arguments), contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(run.main(), 0)
        one, two = (json.loads(line) for line in out.read_text().splitlines())
        one["git"]["dirty"] = False  # not what is tested
        self.assertEqual(records_test.problems(one, {}), [])
        self.assertEqual((one["sequence"]["name"], one["threads"], two["threads"]), ("limits", 1, 2))
        self.assertEqual([s["change"] for s in one["steps"]][0], "new_order")
        self.assertGreater(one["steps"][1]["rows_changed"], 0)
        self.assertGreater(one["steps"][1]["amd_operations"], 0)
        for key in "n", "nnz", "update_operations", "new_operations", "rows_changed":
            self.assertEqual([s[key] for s in one["steps"]], [s[key] for s in two["steps"]])

    def test_faults(self):
        file = self.folder / f"x{sequence.SUFFIX}"
        about = {"name": "x", "kind": "k", "source": "s", "symmetric": False, "components": 1}
        singular = scipy.sparse.csr_matrix(numpy.array([[1, 1], [0, 0]]))
        sequence.write(file, about, [(singular, None)])
        with self.assertRaisesRegex(SystemExit, "ended with status 1"):
            run.measure(PROGRAM, file, 1, "cpu", [])
        with self.assertRaisesRegex(SystemExit, "no sequence"):
            run.files_of([HERE.parent / "records"])


if __name__ == "__main__":
    sys.exit(unittest.main())
