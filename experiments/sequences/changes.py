"""Sequences of patterns that change as those of solvers do. Each function yields (scipy pattern, previous or None) of each step.

Nothing here depends on anything but the arguments: equal versions of numpy, scipy and Netgen make equal sequences.
"""
import pathlib
import sys
import tempfile

import numpy
import scipy.sparse
import scipy.spatial

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "matrices" / "fem"))

import meshes
import patterns


def symmetric(count, rows, columns):
    """A symmetric pattern with a full diagonal and the given pairs."""
    every = numpy.arange(count)
    return patterns.square(count, numpy.concatenate([rows, columns, every]), numpy.concatenate([columns, rows, every]))


def along_a_curve(points):
    """The points in the order of the cells of a grid along a Morton curve: neighbours get near numbers, as mesh generators
    number them."""
    cell = ((points - points.min(axis=0)) / (numpy.ptp(points, axis=0).max() + 1e-12) * 1023).astype(numpy.int64)
    code = sum(((cell[:, d] >> bit) & 1) << (bit * points.shape[1] + d) for d in range(points.shape[1]) for bit in range(10))
    return points[numpy.argsort(code, kind="stable")]


def edges_of(cells):
    """The vertex pairs i < j of cells, each once."""
    corners = cells.shape[1]
    pairs = numpy.sort(numpy.concatenate([cells[:, [a, b]] for a in range(corners) for b in range(a)]), axis=1)
    return numpy.unique(pairs, axis=0)


def rewired(n, dim, share, steps, seed=1):
    """An irregular mesh of n vertices in the unit square or cube. In each step a share of the vertices lose the edge to one
    neighbour and get an edge to one of the 30 nearest vertices; changes accumulate."""
    random = numpy.random.default_rng(seed)
    points = along_a_curve(random.random((n, dim)))
    edges = edges_of(scipy.spatial.Delaunay(points).simplices)
    keys = edges[:, 0].astype(numpy.int64) * n + edges[:, 1]
    near = scipy.spatial.cKDTree(points).query(points, k=31)[1][:, 1:]
    yield symmetric(n, keys // n, keys % n), None
    for _ in range(steps):
        chosen = random.choice(n, max(1, round(share * n)), replace=False)
        incident = keys[numpy.isin(keys // n, chosen) | numpy.isin(keys % n, chosen)]
        incident = random.permutation(incident)
        # One edge of each chosen vertex: the first in a random order at which it is an end.
        ends = numpy.concatenate([incident // n, incident % n])
        vertex, first = numpy.unique(ends, return_index=True)
        lost = incident[first[numpy.isin(vertex, chosen)] % len(incident)]
        to = near[chosen, random.integers(near.shape[1], size=len(chosen))]
        got = numpy.minimum(chosen, to) * numpy.int64(n) + numpy.maximum(chosen, to)
        keys = numpy.union1d(numpy.setdiff1d(keys, lost), got)
        yield symmetric(n, keys // n, keys % n), None


def sliding_contact(lower, upper, steps):
    """Two elastic bodies, of which the second slides over the top of the first. A vertex of its lower face that is inside a
    moving disc is coupled with the three nearest vertices of the first body by a penalty, and these with each other. One
    vertex stands for its displacement."""
    ground = numpy.flatnonzero(lower.points[:, 2] > lower.points[:, 2].max() - 1e-9)
    sole = numpy.flatnonzero(upper.points[:, 2] < upper.points[:, 2].min() + 1e-9)
    tree = scipy.spatial.cKDTree(lower.points[ground, :2])
    n = len(lower.points) + len(upper.points)
    edges = numpy.concatenate([edges_of(lower.cells), edges_of(upper.cells) + len(lower.points)])
    foot = upper.points[sole, :2] - upper.points[sole, :2].mean(axis=0)
    reach = 0.6 * numpy.linalg.norm(foot, axis=1).max()
    span = numpy.ptp(lower.points[ground, :2], axis=0)
    for step in range(steps + 1):
        middle = lower.points[ground, :2].min(axis=0) + span * [0.35 + 0.3 * step / steps, 0.5]
        touching = numpy.linalg.norm(foot - [reach * 0.4 * numpy.sin(step / 3), 0], axis=1) < reach
        distance, near = tree.query(foot[touching] + middle, k=3)
        close = distance[:, 0] < 0.1
        held = numpy.column_stack([sole[touching][close] + len(lower.points), ground[near[close]]])
        pairs = numpy.concatenate([edges, edges_of(held)])
        yield symmetric(n, pairs[:, 0], pairs[:, 1]), None


def two_bodies(cells, steps):
    """sliding_contact() of a gear on a block with holes, each with about `cells` tetrahedra, and three unknowns for each vertex,
    all coupled with those of its neighbours. Needs Netgen."""
    for vertices, _ in sliding_contact(meshes.mesh("block_with_holes", cells), meshes.mesh("gear", cells), steps):
        yield scipy.sparse.kron(vertices, numpy.ones((3, 3), numpy.int8)), None


def refined(body, cells, levels, steps):
    """P1 elements on a mesh that is refined around a point which moves through the body: in each step the cells within a
    radius that halves from level to level are bisected, beginning with the same coarse mesh. Vertices are recognized by their
    coordinates. Needs NGSolve."""
    import ngsolve
    from netgen import geom2d, occ
    if body in meshes.PLANES:
        geometry = geom2d.CSG2d()
        geometry.Add(meshes.PLANES[body](geom2d))
        made = geometry.GenerateMesh(maxh=(14 / cells) ** 0.5)
    else:
        shape = meshes.SOLIDS[body](occ)
        made = occ.OCCGeometry(shape).GenerateMesh(maxh=(4 * shape.mass / cells) ** (1 / 3), optsteps3d=2)
    with tempfile.NamedTemporaryFile(suffix=".vol") as coarse:
        made.Save(coarse.name)
        low, high = made.Coordinates().min(axis=0), made.Coordinates().max(axis=0)
        known = {}
        for step in range(steps + 1):
            mesh = ngsolve.Mesh(coarse.name)
            centre = low + (high - low) * numpy.array([0.35 + 0.1 * step / steps, 0.25, 0.25])[:len(low)]
            for level in range(levels):
                refine_within(mesh, centre, 0.06 * numpy.linalg.norm(high - low) / 2 ** level)
            elements = mesh.ngmesh.Elements2D() if mesh.dim == 2 else mesh.ngmesh.Elements3D()
            used, vertices = numpy.unique(elements.NumPy()["nodes"][:, :mesh.dim + 1] - 1, return_inverse=True)
            edges = edges_of(vertices.reshape(-1, mesh.dim + 1))
            places = [tuple(p) for p in numpy.round(mesh.ngmesh.Coordinates()[used], 9)]
            previous = numpy.array([known.pop(p, -1) for p in places]) if step else None
            known = {p: k for k, p in enumerate(places)}
            yield symmetric(len(places), edges[:, 0], edges[:, 1]), previous


def refine_within(mesh, centre, radius):
    """Bisects the cells with a corner in the ball."""
    inside = numpy.linalg.norm(mesh.ngmesh.Coordinates() - centre[:mesh.dim], axis=1) < radius
    for cell in mesh.Elements():
        mesh.SetRefinementFlag(cell, any(inside[v.nr] for v in cell.vertices))
    mesh.Refine()


def switching(pattern, share, steps, seed=1):
    """Time steps of a circuit. A device is a pair of nodes with an entry (i, j), (j, i) or both; its entries are there while it
    conducts. Before the first step a tenth of the devices are off; each step switches a share of them. Entries of one
    zero-free transversal stay."""
    random = numpy.random.default_rng(seed)
    n = pattern.shape[0]
    pattern = pattern.tocsr()
    pattern.data = numpy.ones(pattern.nnz, numpy.int32)
    fixed = scipy.sparse.csgraph.maximum_bipartite_matching(pattern, perm_type="column")
    pattern = pattern.tocoo()
    pair = numpy.minimum(pattern.row, pattern.col).astype(numpy.int64) * n + numpy.maximum(pattern.row, pattern.col)
    stays = (pattern.row == pattern.col) | (fixed[pattern.row] == pattern.col)
    devices = numpy.setdiff1d(pair, pair[stays])
    device = numpy.searchsorted(devices, pair)
    device[stays] = len(devices)  # always on
    on = numpy.append(random.random(len(devices)) >= 0.1, True)
    for step in range(steps + 1):
        if step:
            switched = random.choice(len(devices), max(1, round(share * len(devices))), replace=False)
            on[switched] = ~on[switched]
        kept = on[device]
        yield patterns.square(n, pattern.row[kept], pattern.col[kept]), None


def active_set(pattern, steps, dropped, share=0.05, seed=1):
    """Steps of an interior-point method on a symmetric KKT pattern. A row with at most three off-diagonal entries is the
    multiplier or slack of a limit and may become inactive: half of them are at the beginning. In step k a share / k of them
    change. dropped: inactive rows leave the matrix, and n changes; else they keep their diagonal only."""
    random = numpy.random.default_rng(seed)
    n = pattern.shape[0]
    pattern = pattern.tocoo()
    off = pattern.row != pattern.col
    limits = numpy.flatnonzero(numpy.bincount(pattern.row[off], minlength=n) <= 3)
    active = numpy.ones(n, bool)
    active[limits] = random.random(len(limits)) < 0.5
    before = None
    for step in range(steps + 1):
        if step:
            changed = random.choice(limits, max(1, round(share / step * len(limits))), replace=False)
            active[changed] = ~active[changed]
        kept = ~off | (active[pattern.row] & active[pattern.col])
        now = patterns.square(n, pattern.row[kept], pattern.col[kept]).tocsr()
        if not dropped:
            yield now, None
            continue
        number = numpy.where(active, numpy.cumsum(active) - 1, -1)
        yield now[active][:, active], None if before is None else before[active]
        before = number


def limits(nx, **options):
    """active_set() for potentials on a grid of nx x nx and a limit on the flow of each edge."""
    at = numpy.arange(nx * nx).reshape(nx, nx)
    edges = numpy.concatenate([numpy.stack(pair, axis=-1).reshape(-1, 2)
                               for pair in ((at[1:], at[:-1]), (at[:, 1:], at[:, :-1]))])
    row = nx * nx + numpy.arange(len(edges))
    i, j = numpy.concatenate([edges, numpy.column_stack([row, edges[:, 0]]), numpy.column_stack([row, edges[:, 1]])]).T
    return active_set(symmetric(nx * nx + len(edges), i, j), **options)
