"""Three bodies, two plates and their irregular meshes."""
import dataclasses
import functools
import itertools

import numpy


@dataclasses.dataclass(frozen=True)
class Mesh:
    """points: coordinates, one row per vertex. cells: vertices of each triangle or tetrahedron, ascending."""
    points: numpy.ndarray
    cells: numpy.ndarray

    @property
    def dim(self):
        return self.points.shape[1]

    @functools.cached_property
    def edges(self):
        """(edges, edges_of_cell): the vertex pairs i < j, and the numbers of each cell's edges."""
        return self._faces_of(2)

    @functools.cached_property
    def facets(self):
        """(facets, facets_of_cell): vertices of the edges of triangles or of the faces of tetrahedra."""
        return self._faces_of(self.dim)

    def _faces_of(self, corners):
        choices = list(itertools.combinations(range(self.cells.shape[1]), corners))
        every = self.cells[:, choices].reshape(-1, corners)
        unique, number = numpy.unique(every, axis=0, return_inverse=True)
        return unique, number.reshape(len(self.cells), len(choices))


def block_with_holes(occ):
    body = occ.Box((0, 0, 0), (2, 1.5, 1))
    for x, y, r in ((0.4, 0.4, 0.18), (1.1, 0.9, 0.27), (1.6, 0.35, 0.13), (0.35, 1.1, 0.1), (1.65, 1.15, 0.09)):
        body -= occ.Cylinder((x, y, -1), occ.Z, r=r, h=3)
    body -= occ.Cylinder((-1, 0.75, 0.5), occ.X, r=0.12, h=4)
    return body - occ.Sphere((1.2, 0.2, 0.8), 0.3)


def bracket(occ):
    body = occ.Box((0, 0, 0), (2, 1, 0.2)) + occ.Box((0, 0, 0), (0.2, 1, 1.6))
    body += occ.Cylinder((1.4, 0.5, 0), occ.Z, r=0.33, h=0.7) + occ.Cylinder((0, 0.5, 1.1), occ.X, r=0.3, h=0.5)
    body -= occ.Cylinder((1.4, 0.5, -1), occ.Z, r=0.22, h=3) + occ.Cylinder((-1, 0.5, 1.1), occ.X, r=0.17, h=3)
    for x, y in ((0.6, 0.2), (0.6, 0.8), (1.85, 0.15), (1.85, 0.85)):
        body -= occ.Cylinder((x, y, -1), occ.Z, r=0.07, h=3)
    return body


def gear(occ):
    body = occ.Cylinder((0, 0, 0), occ.Z, r=1, h=0.3) + occ.Cylinder((0, 0, 0), occ.Z, r=0.45, h=0.8)
    for tooth in range(11):
        body += occ.Box((0.9, -0.12, 0), (1.25, 0.12, 0.3)).Rotate(occ.Axis((0, 0, 0), occ.Z), 360 / 11 * tooth)
    body -= occ.Cylinder((0, 0, -1), occ.Z, r=0.28, h=3)
    for hole in range(5):
        body -= occ.Cylinder((0.7, 0, -1), occ.Z, r=0.13, h=3).Rotate(occ.Axis((0, 0, 0), occ.Z), 72 * hole + 10)
    return body


def plate(csg):
    face = csg.Rectangle((0, 0), (3, 2))
    for x, y, r in ((0.6, 0.5, 0.25), (1.6, 1.2, 0.4), (2.5, 0.4, 0.2), (0.5, 1.5, 0.15), (2.6, 1.6, 0.1)):
        face -= csg.Circle((x, y), r)
    return face


def channel(csg):
    """A channel with an inclined wing and two small cylinders in its wake."""
    upper = [(x, 0.6 * (0.2969 * x ** 0.5 - 0.126 * x - 0.3516 * x ** 2 + 0.2843 * x ** 3 - 0.1036 * x ** 4))
             for x in (0, 0.01, 0.03, 0.07, 0.13, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)]
    outline = [(x, -y) for x, y in upper] + upper[-2:0:-1]
    wing = csg.Solid2d([(0.8 + 0.97 * x + 0.24 * y, 0.9 - 0.24 * x + 0.97 * y) for x, y in outline])
    return csg.Rectangle((0, 0), (5, 1.5)) - wing - csg.Circle((2.4, 0.55), 0.07) - csg.Circle((2.8, 1), 0.05)


SOLIDS = {make.__name__: make for make in (block_with_holes, bracket, gear)}
PLANES = {make.__name__: make for make in (plate, channel)}


def mesh(body, cells, stretch=1):
    """About `cells` triangles or tetrahedra (up to twice as many where holes are small) of a body.

    With `stretch` cells are that many times longer along z than across: the body is compressed, meshed and
    extended again, as meshes for anisotropic diffusion are.
    """
    from netgen import geom2d, occ
    if body in PLANES:
        geometry = geom2d.CSG2d()
        geometry.Add(PLANES[body](geom2d))
        made = geometry.GenerateMesh(maxh=(14 / cells) ** 0.5)
        points, elements = made.Coordinates().copy(), made.Elements2D()
    else:
        shape = SOLIDS[body](occ)
        if stretch != 1:
            shape = occ.gp_GTrsf(mat=[1, 0, 0, 0, 1, 0, 0, 0, 1 / stretch])(shape)
        made = occ.OCCGeometry(shape).GenerateMesh(maxh=(4 * shape.mass / cells) ** (1 / 3), optsteps3d=2)
        points, elements = made.Coordinates() * [1, 1, stretch], made.Elements3D()
    corners = 3 if body in PLANES else 4
    cells = numpy.sort(elements.NumPy()["nodes"][:, :corners].astype(numpy.int64) - 1, axis=1)
    return Mesh(points, cells)
