#!/usr/bin/env python3
"""Tests of patterns.py and of the writer of make.py on meshes of two cells; Netgen is not needed."""
import gzip
import pathlib
import sys
import tempfile
import unittest

try:
    import numpy
    import scipy.io
    import make
    import meshes
    import patterns
except (ImportError, SystemExit) as e:
    print(f"skipped: {e}")
    sys.exit(77)


def two_tetrahedra():
    """They share the face 1, 2, 3 in the plane x + y + z = 1."""
    return meshes.Mesh(numpy.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]], float),
                       numpy.array([[0, 1, 2, 3], [1, 2, 3, 4]]))


def two_triangles():
    """They share the edge 1, 2 of the unit square."""
    return meshes.Mesh(numpy.array([[0, 0], [1, 0], [0, 1], [1, 1]], float), numpy.array([[0, 1, 2], [1, 2, 3]]))


class Patterns(unittest.TestCase):
    def test_unknowns_of_elements(self):
        mesh = two_tetrahedra()
        self.assertEqual((len(mesh.edges[0]), len(mesh.facets[0])), (9, 7))
        for layout, unknowns in (({"vertex": 1}, 5), ({"vertex": 1, "edge": 1}, 14), ({"edge": 2, "face": 2}, 32)):
            cells = patterns.incidence(mesh, clamped=False, **layout)
            pattern = patterns.coupled(cells, cells)
            self.assertEqual(pattern.shape, (unknowns, unknowns))
            self.assertEqual(abs(pattern - pattern.T).nnz, 0)
            # Each cell couples its unknowns, and both couple those of the common face.
            each = cells.getnnz(axis=1)
            both = (cells.getnnz(axis=0) == 2).sum()
            self.assertEqual(pattern.nnz, sum(each ** 2) - both ** 2)

    def test_clamped_unknowns_are_left_out(self):
        # Vertices 0, 2 and 3 have x = 0, and with them three edges and a face.
        self.assertEqual(patterns.incidence(two_tetrahedra(), vertex=1, edge=1, face=1).shape, (2, 2 + 6 + 6))

    def test_discontinuous_elements_see_upwind(self):
        for mesh, sizes in ((two_triangles(), (3, 6)), (two_tetrahedra(), (4, 10))):
            for order, size in enumerate(sizes, 1):
                pattern = patterns.discontinuous(mesh, order, patterns.downstream).toarray() != 0
                block = numpy.kron([[1, 0], [1, 1]], numpy.ones((size, size))) != 0
                self.assertTrue((pattern == block).all())
                self.assertTrue((patterns.discontinuous(mesh, order).toarray() != 0).all())

    def test_upwind_nodes(self):
        # The wind (1, 0.35) blows along 0 -> 1 and 2 -> 3; its cosine with the other edges of the square is 0.33.
        pattern = patterns.upwind_nodes(two_triangles(), patterns.downstream).toarray() != 0
        self.assertTrue(pattern[1, 0] and not pattern[0, 1] and pattern[3, 2] and not pattern[2, 3])
        self.assertTrue(pattern[2, 0] and pattern[0, 2])
        everywhere = patterns.upwind_nodes(two_triangles(), patterns.downstream, crosswind=1)
        self.assertEqual(everywhere.nnz, 4 + 2 * 5)

    def test_coupled_fields(self):
        mesh = two_tetrahedra()
        one = patterns.thermoelasticity(mesh).toarray() != 0
        self.assertEqual(one.shape, (8, 8))
        self.assertFalse(one[:2, 2:].any())
        self.assertTrue(one[2:, :2].any())
        stokes = patterns.taylor_hood(mesh, stabilized=False).toarray()
        self.assertFalse(stokes[-5:, -5:].any())
        self.assertEqual(abs(stokes - stokes.T).max(), 0)
        self.assertTrue((patterns.taylor_hood(mesh).diagonal() != 0).all())

    def test_contact_joins_both_bodies(self):
        lower = two_tetrahedra()
        # The top of the lower body has the three vertices that a multiplier needs.
        lower = meshes.Mesh(numpy.vstack([lower.points, [[0.9, 0.9, 1]]]), lower.cells)
        upper = meshes.Mesh(lower.points[:5] + [0, 0, 1], lower.cells)
        pattern = patterns.contact(lower, upper)
        self.assertEqual(abs(pattern - pattern.T).nnz, 0)
        multipliers = pattern.shape[0] - 3 * (6 + 5)
        self.assertGreater(multipliers, 0)
        self.assertEqual(set(pattern[-multipliers:].getnnz(axis=1)), {1 + 3 + 9})


class Writer(unittest.TestCase):
    def read(self, pattern):
        text, symmetry = make.text_of(pattern)
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "a.mtx.gz"
            make.write(text, file)
            self.assertEqual([f.name for f in file.parent.iterdir()], ["a.mtx.gz"])
            first = file.read_bytes()
            make.write(text, file)
            self.assertEqual(file.read_bytes(), first)
            with gzip.open(file) as f:
                return scipy.io.mmread(f), text.decode(), symmetry

    def test_symmetric(self):
        pattern = patterns.elasticity(two_tetrahedra(), 1)
        again, text, symmetry = self.read(pattern)
        self.assertIn("pattern symmetric", text)
        self.assertEqual(symmetry, 1)
        self.assertEqual(((again != 0) != (pattern != 0)).nnz, 0)

    def test_unsymmetric(self):
        pattern = patterns.upwind_nodes(two_triangles(), patterns.downstream)
        again, text, symmetry = self.read(pattern)
        self.assertIn("pattern general", text)
        off = pattern.toarray() != 0
        numpy.fill_diagonal(off, False)
        self.assertAlmostEqual(symmetry, (off & off.T).sum() / off.sum())
        self.assertEqual(((again != 0) != (pattern != 0)).nnz, 0)


class Table(unittest.TestCase):
    def test_made_matrices_are_those_of_the_table(self):
        self.assertEqual({name.removesuffix("_small").removesuffix("_0.05") for name in make.recorded()}, set(make.TABLE))
        self.assertEqual([name for name in make.recorded() if name.endswith("_small")], [f"{name}_small" for name in make.SMALL])


if __name__ == "__main__":
    sys.exit(unittest.main())
