"""Patterns of finite-element matrices from a mesh alone.

Two unknowns of continuous elements are coupled if a cell holds both. Unknowns of discontinuous elements are coupled
inside a cell, and across a face in the direction in which information travels. A pattern is a scipy CSR matrix whose
entry (i, j) says that equation i contains unknown j.
"""
import math

import numpy
import scipy.sparse
import scipy.spatial


def square(count, rows, columns):
    """A count x count pattern with the given entries."""
    return scipy.sparse.csr_matrix((numpy.ones(len(rows), numpy.int32), (rows, columns)), shape=(count, count))


def incidence(mesh, vertex=0, edge=0, face=0, clamped=True):
    """Cells by unknowns: 1 where the cell holds the unknown.

    vertex, edge, face: unknowns of each. (1, 0, 0) is P1, (1, 1, 0) P2, (1, 2, 1) P3 of tetrahedra, (0, 1, 0) the first
    and (0, 2, 2) the second edge element. Unknowns are numbered in that order. If clamped, those on the plane x = min (a
    Dirichlet condition) are left out.
    """
    kinds = ((vertex, lambda: (numpy.arange(len(mesh.points))[:, None], mesh.cells)), (edge, lambda: mesh.edges),
             (face, lambda: mesh.facets))
    fixed = clamped & (mesh.points[:, 0] < mesh.points[:, 0].min() + 1e-9)
    parts = []
    for unknowns, entities in kinds:
        if unknowns == 0:
            continue
        vertices, of_cell = entities()
        free = ~fixed[vertices].all(axis=1)
        kept = free[of_cell]
        cell, _ = numpy.nonzero(kept)
        number = (numpy.cumsum(free) - 1)[of_cell[kept]]
        one = scipy.sparse.csr_matrix((numpy.ones(len(cell), numpy.int32), (cell, number)), shape=(len(of_cell), free.sum()))
        parts.append(scipy.sparse.kron(one, numpy.ones((1, unknowns), numpy.int32)))
    return scipy.sparse.hstack(parts, format="csr")


def coupled(test, trial):
    """Equations of `test` by unknowns of `trial`, both given by their incidence."""
    return (test.T @ trial).tocsr()


def components(pattern, count):
    """Every unknown becomes a vector with `count` components, all of which are coupled."""
    return scipy.sparse.kron(pattern, numpy.ones((count, count), numpy.int32), format="csr")


def blocks(rows):
    """A pattern from its blocks; None is a zero block."""
    return scipy.sparse.bmat(rows, format="csr")


def swirl(points):
    """A wind that turns about the middle of the body and leaves along its last axis; one row per point."""
    middle = (points.max(axis=0) + points.min(axis=0)) / 2
    wind = numpy.zeros_like(points)
    wind[:, 0], wind[:, 1] = -(points[:, 1] - middle[1]), points[:, 0] - middle[0]
    if points.shape[1] == 3:
        wind[:, 2] = 0.4
    return wind


def vortices(points):
    """A divergence-free wind of vortices of alternating sense, about half a unit wide, that all drift along x."""
    wind = numpy.zeros_like(points)
    x, y = 2 * numpy.pi * points[:, 0], 2 * numpy.pi * points[:, 1]
    wind[:, 0], wind[:, 1] = numpy.sin(x) * numpy.cos(y) + 0.3, -numpy.cos(x) * numpy.sin(y)
    if points.shape[1] == 3:
        wind[:, 2] = 0.2 * numpy.cos(x)
    return wind


def downstream(points):
    """A straight wind: no closed streamlines, so that an upwind discretization has no cycles."""
    return numpy.broadcast_to([1, 0.35, 0.2][:points.shape[1]], points.shape)


def upwind_nodes(mesh, wind, crosswind=0.43):
    """Convection by P1 elements with streamline upwinding: an edge i -> j along the wind gives the entry (j, i).

    An edge whose cosine with the wind is at most `crosswind` gives both entries: diffusion across the wind is kept.
    Isotropic meshes then have 2 * crosswind / (1 + crosswind) of their entries in pairs, 0.6 by default.
    """
    tail, head = mesh.edges[0].T
    direction = mesh.points[head] - mesh.points[tail]
    along = wind((mesh.points[head] + mesh.points[tail]) / 2)
    cosine = (direction * along).sum(axis=1)
    limit = crosswind * numpy.linalg.norm(direction, axis=1) * numpy.linalg.norm(along, axis=1)
    forward, backward = cosine >= -limit, cosine <= limit
    vertices = numpy.arange(len(mesh.points))
    i = numpy.concatenate([vertices, head[forward], tail[backward]])
    j = numpy.concatenate([vertices, tail[forward], head[backward]])
    return square(len(vertices), i, j)


def discontinuous(mesh, order, wind=None):
    """Discontinuous elements with a modal basis: full blocks of cells.

    With a wind a cell has the block of a neighbour if the wind blows from there through some part of their face;
    without one (interior penalty) both cells have the block of the other.
    """
    facets, of_cell = mesh.facets
    cell = numpy.repeat(numpy.arange(len(of_cell)), of_cell.shape[1])
    by_facet = numpy.argsort(of_cell.ravel(), kind="stable")
    sorted_facets = of_cell.ravel()[by_facet]
    shared = numpy.flatnonzero(sorted_facets[1:] == sorted_facets[:-1])
    first, second = cell[by_facet[shared]], cell[by_facet[shared + 1]]
    forward = backward = numpy.ones(len(shared), bool)
    if wind is not None:
        corners = mesh.points[facets[sorted_facets[shared]]]
        side = corners[:, 1:] - corners[:, :1]
        normal = (numpy.stack([-side[:, 0, 1], side[:, 0, 0]], axis=1) if mesh.dim == 2
                  else numpy.cross(side[:, 0], side[:, 1]))
        apex = mesh.points[mesh.cells[first]].mean(axis=1)
        normal *= numpy.sign(((corners[:, 0] - apex) * normal).sum(axis=1))[:, None]  # from `first` to `second`
        flux = numpy.stack([(wind(corners[:, k]) * normal).sum(axis=1) for k in range(mesh.dim)], axis=1)
        tiny = 1e-9 * numpy.abs(flux).max()
        forward, backward = flux.max(axis=1) > tiny, flux.min(axis=1) < -tiny
    cells = numpy.arange(len(mesh.cells))
    i = numpy.concatenate([cells, second[forward], first[backward]])
    j = numpy.concatenate([cells, first[forward], second[backward]])
    return components(square(len(cells), i, j), math.comb(order + mesh.dim, order))


def elasticity(mesh, order):
    layout = {1: {"vertex": 1}, 2: {"vertex": 1, "edge": 1}}[order]
    cells = incidence(mesh, **layout)
    return components(coupled(cells, cells), mesh.dim)


def edge_elements(mesh, order):
    cells = incidence(mesh, edge=order, face=2 if order == 2 else 0)
    return coupled(cells, cells)


def diffusion(mesh, order):
    layout = {1: {"vertex": 1}, 2: {"vertex": 1, "edge": 1}, 3: {"vertex": 1, "edge": 2, "face": 1}}[order]
    cells = incidence(mesh, **layout)
    return coupled(cells, cells)


def taylor_hood(mesh, stabilized=True):
    """Velocity P2, pressure P1. The diagonal of the pressure is zero unless stabilized."""
    velocity, pressure = incidence(mesh, vertex=1, edge=1), incidence(mesh, vertex=1, clamped=False)
    every = numpy.ones((1, mesh.dim), numpy.int32)
    gradient = scipy.sparse.kron(coupled(velocity, pressure), every.T)
    return blocks([[components(coupled(velocity, velocity), mesh.dim), gradient],
                   [gradient.T, scipy.sparse.identity(pressure.shape[1], numpy.int32) if stabilized else None]])


def thermoelasticity(mesh):
    """Temperature acts on the displacement and not the other way: the matrix is reducible."""
    field = incidence(mesh, vertex=1)
    one = coupled(field, field)
    three = numpy.ones((mesh.dim, 1), numpy.int32)
    return blocks([[one, None], [scipy.sparse.kron(one, three), components(one, mesh.dim)]])


def three_fields(mesh, wind):
    """Potential, convected temperature and displacement of a heated conductor.

    The temperature sets the conductivity and the potential heats (both ways); the displacement follows the
    temperature, and acts on nothing except, by contact, on the potential of one vertex in eight.
    """
    field = incidence(mesh, vertex=1, clamped=False)
    one = coupled(field, field)
    convected = upwind_nodes(mesh, wind)
    three = numpy.ones((mesh.dim, 1), numpy.int32)
    chosen = scipy.sparse.diags((numpy.arange(one.shape[0]) % 8 == 0).astype(numpy.int32), dtype=numpy.int32)
    return blocks([[one, one, scipy.sparse.kron(chosen, three.T)], [one, convected, None],
                   [None, scipy.sparse.kron(one, three), components(one, mesh.dim)]])


def contact(lower, upper):
    """Two elastic bodies, the second moved onto the first one's top; a multiplier per touching vertex of the second.

    A multiplier holds the displacements of its vertex and of the three nearest vertices on the other side.
    """
    top, bottom = lower.points[:, 2].max(), upper.points[:, 2].min()
    master = numpy.flatnonzero(lower.points[:, 2] > top - 1e-9)
    slave = numpy.flatnonzero(upper.points[:, 2] < bottom + 1e-9)
    near = scipy.spatial.cKDTree(lower.points[master, :2]).query(upper.points[slave, :2], k=3)
    touching = near[0][:, 0] < 0.1
    slave, near = slave[touching], master[near[1][touching]]
    row = numpy.arange(len(slave))
    bodies = [coupled(m, m) for m in (incidence(b, vertex=1, clamped=False) for b in (lower, upper))]

    def constraint(rows, vertices, count):
        one = scipy.sparse.csr_matrix((numpy.ones(len(rows), numpy.int32), (rows, vertices)), shape=(len(slave), count))
        return scipy.sparse.kron(one, numpy.ones((1, 3), numpy.int32))

    on_lower = constraint(numpy.repeat(row, 3), near.ravel(), len(lower.points))
    on_upper = constraint(row, slave, len(upper.points))
    return blocks([[components(bodies[0], 3), None, on_lower.T], [None, components(bodies[1], 3), on_upper.T],
                   [on_lower, on_upper, scipy.sparse.identity(len(slave), numpy.int32)]])
