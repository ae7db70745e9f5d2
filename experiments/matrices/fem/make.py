#!/usr/bin/env python3
"""Makes the patterns of finite-element matrices on irregular meshes, as Matrix Market files.

    python3 make.py FOLDER                                  every matrix of the table
    python3 make.py FOLDER --only 'dg*' --scale 0.05        some, on meshes with a twentieth of the cells, as NAME_0.05
    python3 make.py . --small                               the small ones that this folder holds

Netgen makes the meshes (pip install ngsolve scipy). Equal versions of Netgen make equal files; made.tsv in this folder
has their sizes and sha256, and a file that differs from it is reported as an error.
"""
import argparse
import csv
import dataclasses
import fnmatch
import gzip
import hashlib
import importlib.metadata
import io
import os
import pathlib
import sys
import typing

try:
    import numpy
    import scipy.io
except ImportError as e:
    sys.exit(f"make.py: {e}: pip install ngsolve scipy")

import meshes
import patterns

HERE = pathlib.Path(__file__).resolve().parent
SMALL = ("convection_bracket", "dg1_vortices_plate", "elasticity2_plate")
SMALL_SCALE = 0.01


@dataclasses.dataclass
class Matrix:
    """problem: for the table. make: a function of patterns.py, called with a mesh of each body and `options`."""
    problem: str
    make: typing.Callable
    bodies: tuple
    cells: int  # requested of each mesh, see meshes.mesh
    options: dict = dataclasses.field(default_factory=dict)
    stretch: float = 1

    def pattern(self, scale):
        return self.make(*(meshes.mesh(body, self.cells * scale, self.stretch) for body in self.bodies), **self.options)


BLOCK, BRACKET, GEAR, PLATE, CHANNEL = (("block_with_holes",), ("bracket",), ("gear",), ("plate",), ("channel",))
TABLE = {
    "elasticity1_bracket": Matrix("elasticity, P1", patterns.elasticity, BRACKET, 150_000, {"order": 1}),
    "elasticity1_gear": Matrix("elasticity, P1", patterns.elasticity, GEAR, 220_000, {"order": 1}),
    "elasticity2_block": Matrix("elasticity, P2", patterns.elasticity, BLOCK, 30_000, {"order": 2}),
    "elasticity2_plate": Matrix("elasticity, P2", patterns.elasticity, PLATE, 55_000, {"order": 2}),
    "edge1_block": Matrix("edge elements, first order", patterns.edge_elements, BLOCK, 150_000, {"order": 1}),
    "edge2_gear": Matrix("edge elements, second order", patterns.edge_elements, GEAR, 30_000, {"order": 2}),
    "diffusion1_block": Matrix("anisotropic diffusion, P1", patterns.diffusion, BLOCK, 400_000, {"order": 1}, stretch=3),
    "diffusion3_bracket": Matrix("anisotropic diffusion, P3", patterns.diffusion, BRACKET, 15_000, {"order": 3}, stretch=2),
    "stokes_channel": Matrix("Stokes, Taylor-Hood, zero pressure block", patterns.taylor_hood, CHANNEL, 45_000,
                             {"stabilized": False}),
    "stokes_block": Matrix("Stokes, Taylor-Hood, stabilized", patterns.taylor_hood, BLOCK, 30_000),
    "convection_bracket": Matrix("convection, upwinded P1", patterns.upwind_nodes, BRACKET, 500_000, {"wind": patterns.swirl}),
    "convection_channel": Matrix("convection, upwinded P1", patterns.upwind_nodes, CHANNEL, 400_000,
                                 {"wind": patterns.vortices}),
    "dg1_vortices_plate": Matrix("convection, DG of order 1", patterns.discontinuous, PLATE, 90_000,
                                 {"order": 1, "wind": patterns.vortices}),
    "dg2_swirl_channel": Matrix("convection, DG of order 2", patterns.discontinuous, CHANNEL, 40_000,
                                {"order": 2, "wind": patterns.swirl}),
    "dg1_swirl_gear": Matrix("convection, DG of order 1", patterns.discontinuous, GEAR, 50_000,
                             {"order": 1, "wind": patterns.swirl}),
    "dg2_vortices_block": Matrix("convection, DG of order 2", patterns.discontinuous, BLOCK, 20_000,
                                 {"order": 2, "wind": patterns.vortices}),
    "dg1_downstream_bracket": Matrix("convection without vortices, DG of order 1", patterns.discontinuous, BRACKET, 50_000,
                                     {"order": 1, "wind": patterns.downstream}),
    "penalty1_bracket": Matrix("diffusion, interior penalty of order 1", patterns.discontinuous, BRACKET, 40_000, {"order": 1}),
    "thermoelastic_gear": Matrix("temperature acts on displacement, P1", patterns.thermoelasticity, GEAR, 200_000),
    "fields_block": Matrix("potential, temperature, displacement, P1", patterns.three_fields, BLOCK, 150_000,
                           {"wind": patterns.swirl}),
    "contact_block_gear": Matrix("contact of elastic bodies, multipliers", patterns.contact, BLOCK + GEAR, 100_000),
    "elasticity2_plate_large": Matrix("elasticity, P2", patterns.elasticity, PLATE, 350_000, {"order": 2}),
    "dg1_swirl_gear_large": Matrix("convection, DG of order 1", patterns.discontinuous, GEAR, 250_000,
                                   {"order": 1, "wind": patterns.swirl}),
}


def text_of(pattern):
    """(Matrix Market text, symmetry): the lower triangle of a symmetric pattern. Symmetry is the share of the entries off
    the diagonal that have a mirror image."""
    pattern = pattern.tocsr()
    pattern.sort_indices()
    pattern.data = numpy.ones(pattern.nnz, numpy.int8)
    alone = abs(pattern - pattern.T).count_nonzero() / 2
    symmetry = 1 - alone / max(1, pattern.nnz - numpy.count_nonzero(pattern.diagonal()))
    text = io.BytesIO()
    scipy.io.mmwrite(text, pattern, field="pattern", symmetry="general" if alone else "symmetric")
    return text.getvalue(), symmetry


def write(text, file):
    """A gzip file that does not depend on the clock and appears whole or not at all."""
    part = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with open(part, "wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as out:
            out.write(text)
        os.replace(part, file)
    finally:
        part.unlink(missing_ok=True)


def recorded():
    """{name: its row of made.tsv}"""
    with open(HERE / "made.tsv", encoding="utf-8", newline="") as f:
        return {row["name"]: row for row in csv.DictReader((line for line in f if line[0] != "#"), delimiter="\t")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="receives NAME.mtx.gz; files that are there are made again")
    parser.add_argument("--only", metavar="PATTERN", default="*", help="only matrices whose name matches, such as 'dg*'")
    parser.add_argument("--scale", type=float, default=1, help="factor of the number of cells (default: 1)")
    parser.add_argument("--small", action="store_true", help=f"make {', '.join(SMALL)} at scale {SMALL_SCALE}, as NAME_small")
    args = parser.parse_args()
    try:
        version = importlib.metadata.version("netgen-mesher")
    except importlib.metadata.PackageNotFoundError:
        sys.exit("make.py: no mesh generator: pip install ngsolve")
    scale, suffix = (SMALL_SCALE, "_small") if args.small else (args.scale, "" if args.scale == 1 else f"_{args.scale:g}")
    known, differs = recorded(), False
    args.folder.mkdir(parents=True, exist_ok=True)
    for name in fnmatch.filter(SMALL if args.small else TABLE, args.only):
        pattern = TABLE[name].pattern(scale)
        text, symmetry = text_of(pattern)
        name, sha256 = name + suffix, hashlib.sha256(text).hexdigest()
        write(text, args.folder / f"{name}.mtx.gz")
        print(name, TABLE[name.removesuffix(suffix)].problem, pattern.shape[0], pattern.nnz, f"{symmetry:.3f}", version, sha256,
              sep="\t", flush=True)
        row = known.get(name)
        if row and row["netgen"] == version and row["sha256"] != sha256:
            print(f"make.py: {name}: made.tsv has sha256 {row['sha256']} for Netgen {version}", file=sys.stderr)
            differs = True
    return int(differs)


if __name__ == "__main__":
    sys.exit(main())
