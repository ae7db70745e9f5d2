#!/usr/bin/env python3
"""Tests of the sequences and of their measurement, with a package that records its calls. Netgen is not needed. Exit
status 77 without scipy."""
import contextlib
import io
import json
import pathlib
import sys
import tempfile
import types
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

try:
    import numpy
    import scipy.io
    import scipy.sparse
    import scipy.spatial
    import changes
    import measure
except (ImportError, SystemExit) as e:
    print(f"skipped: {e}")
    sys.exit(77)

import records_test


class Package:
    """In place of gsofa: an analyzer adapts from its second pattern on, with three operations for two of a new order."""

    def __init__(self):
        self.asked = []

    def Analyzer(self, device, threads):
        calls = []

        def update(a, previous=None):
            calls.append(a)
            self.asked.append(("update" if len(calls) > 1 else "new", threads, device, None if previous is None else len(previous)))
            done = types.SimpleNamespace(kind="moved" if len(calls) > 1 else "new_order", compared=False, rows_changed=2, vertices_moved=1)
            return types.SimpleNamespace(seconds={"order": 0.5}, col_order=len(calls) > 1, update=done, order="amf")
        return types.SimpleNamespace(update=update)

    def estimate(self, _, order, threads):
        return types.SimpleNamespace(flops={True: 3, False: 2}.get(order, 6))


class Sequences(unittest.TestCase):
    def test_the_sequences_of_the_table_are_made_again(self):
        known = measure.recorded()
        for name in ("switching_add32", "switching_circuit_2", "limits_grid"):
            steps = [(measure.sorted_rows(a), previous) for a, previous in measure.sequences()[name][2]()]
            self.assertEqual(measure.sha256(steps), known[name], name)
        made = measure.sequences(pathlib.Path("none"), pathlib.Path("none"))
        self.assertLessEqual(set(made), set(known))

class Changes(unittest.TestCase):
    def test_rewired(self):
        patterns = [a.tocsr() for a, _ in changes.rewired(n=500, dim=2, share=0.02, steps=2)]
        for before, after in zip(patterns, patterns[1:]):
            self.assertEqual((after != after.T).nnz, 0)
            rows = numpy.unique((before.astype(bool) != after.astype(bool)).nonzero()[0])
            self.assertTrue(10 <= rows.size <= 40, rows.size)  # 10 vertices, with an old and a new neighbour of each

    def test_switching_keeps_a_transversal(self):
        random = numpy.random.default_rng(5)
        pattern = scipy.sparse.random(40, 40, 0.2, format="csr", random_state=random.integers(1 << 30)) + scipy.sparse.identity(40)
        patterns = [a.tocsr() for a, _ in changes.switching(pattern, share=0.2, steps=3)]
        self.assertTrue(all(scipy.sparse.csgraph.structural_rank(a) == 40 for a in patterns))
        whole = pattern.toarray() != 0
        self.assertTrue(all(not (a.toarray() != 0)[~whole].any() for a in patterns))
        self.assertGreater((patterns[1] != patterns[2]).nnz, 0)

    def test_dropped_rows_are_those_that_emptied_ones_leave(self):
        emptied, dropped = ([(a.toarray() != 0, p) for a, p in changes.limits(4, steps=4, dropped=d)] for d in (False, True))
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


class Measurement(unittest.TestCase):
    def test_a_row(self):
        """The first pattern does not count; CPU seconds of one thread; the worst ratio of operations. A step that is ordered anew at
        once did not adapt the order."""
        step = {"n": 2000, "rows_changed": 20, "compared": False, "change": "moved", "update_cpu_s": 0.002, "update_operations": 3, "new_cpu_s": 0.5,
                "new_operations": 2, "metis_cpu_s": 0.25, "metis_operations": 6}
        anew = step | {"change": "new_order", "update_cpu_s": 0.6, "update_operations": 2}
        line = {"sequence": {"name": "a"}, "threads": 1, "device": "cpu", "steps": [step | {"update_cpu_s": 9}, step, anew]}
        self.assertEqual(measure.row(line), ("a", "1 thread", "2,000", "1.00%", "1 of 2", "2", "301", "500", "250", "", "1.250 (1.500)", "1",
                                           "0.417"))

    def test_both_analyses_take_turns_and_see_all_patterns(self):
        package = Package()
        found = measure.measure(package, [(measure.sorted_rows(a), p) for a, p in changes.limits(4, steps=3, dropped=True)], 2, "cpu", ["amd"])
        n = [s["n"] for s in found]
        self.assertEqual([a[0] for a in package.asked], ["new", "new", "new", "update", "update", "new", "new", "update"])
        self.assertEqual([a[3] for a in package.asked if a[0] == "update"], n[1:])
        self.assertEqual({a[1:3] for a in package.asked}, {(2, "cpu")})
        self.assertEqual([(s["change"], s["update_operations"], s["new_operations"], s["amd_operations"]) for s in found],
                         [("new_order", 2, 2, 6)] + [("moved", 3, 2, 6)] * 3)

    def test_a_record_of_files(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        for k in (1, 2):
            scipy.io.mmwrite(folder / f"{k}.mtx", scipy.sparse.identity(4) * k)
        program = folder / "gsofa"
        program.write_text(f"#!/bin/sh\necho '{json.dumps(records_test.GOOD_ORDER)}'\n")
        program.chmod(0o755)
        with contextlib.redirect_stdout(io.StringIO()) as said:
            words = [str(folder), str(folder / "out.jsonl"), "--threads", "1,2", "--from", "mine", *map(str, sorted(folder.glob("*.mtx")))]
            self.assertEqual(measure.main(words, Package()), 0)
        one, two = (json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines())
        self.assertEqual(records_test.problems(one, {}), [])
        self.assertEqual((one["sequence"]["source"], one["threads"], two["threads"]), ("files:1.mtx,2.mtx", 1, 2))
        self.assertEqual([s["nnz"] for s in one["steps"]], [4, 4])
        self.assertIn("metis_operations", one["steps"][1])
        self.assertNotIn("metis_operations", two["steps"][1])
        self.assertIn("| mine | 2 threads | 4 |", said.getvalue())


if __name__ == "__main__":
    sys.exit(unittest.main())
