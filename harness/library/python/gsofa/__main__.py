"""python -m gsofa show MATRIX: pictures of a matrix, its fill, its elimination tree and its profiles."""
import argparse
import pathlib
import sys
import unicodedata

from . import analyze, errors, read, version
from ._arguments import ORDERS


def printable(text):
    """A question mark in place of what a terminal obeys or hides: control and format characters."""
    return "".join("?" if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") else c for c in text)


def name_of(path):
    """The name of a matrix: its file's without the endings of formats and compressions."""
    name = pathlib.Path(path).name
    for ending in (".gz", ".xz", ".bz2", ".zst", ".Z", ".lz", ".tar", ".tgz", ".zip",
                   ".mtx", ".npz", ".rua", ".rsa", ".pua", ".psa", ".cua", ".csa", ".rb"):
        name = name.removesuffix(ending) or name
    return name


def cells_of(text):
    """A number of cells."""
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 8192:
        raise argparse.ArgumentTypeError(f"{text} is not a number in 1..8192")
    return int(text)


def parser():
    p = argparse.ArgumentParser(prog="python -m gsofa show", description=__doc__.split(": ", 1)[1].capitalize())
    p.add_argument("matrix", help="file: Matrix Market, Harwell-Boeing or .npz, also compressed or in a .tar or .zip")
    p.add_argument("--order", default="automatic", metavar="NAME[,NAME]",
                   help=f"one of {', '.join(ORDERS)}; two are drawn side by side (default: automatic)")
    p.add_argument("--what", choices=("fill", "tree", "profiles", "pattern"), default="fill", help="default: fill")
    p.add_argument("--cells", type=cells_of, default=0, help="cells in each direction of a pattern (default: 480)")
    p.add_argument("-o", "--out", metavar="FILE", help="picture .png, .svg, .pdf or .html (default: MATRIX.png here)")
    p.add_argument("--version", action="version", version=f"gsofa {version()}")
    return p


def show(arguments):
    p = parser()
    args = p.parse_args(arguments)
    try:
        from . import pictures
    except ImportError as e:
        p.exit(3, f"gsofa show: error: {printable(str(e))}\n")
    name = name_of(args.matrix)
    out = args.out or f"{name}.png"
    cells = args.cells or pictures.CELLS
    try:
        a = read(args.matrix)
        if a.shape[0] == 0:
            raise errors.InvalidInput(f"{args.matrix}: the order is 0, so there is nothing to draw")
        if args.what == "pattern":
            pictures.pattern(a, cells=cells, path=out)
        else:
            names = args.order.split(",")
            if len(names) > 2 or (len(names) == 2 and args.what != "fill"):
                raise errors.InvalidInput("--order: two orders are compared by their fill alone")
            found = [analyze(a, o) for o in names]
            if len(found) == 2:
                pictures.compare(*found, cells=cells, path=out)
            elif args.what == "fill":
                pictures.spy(found[0], cells=cells, path=out)
            else:
                getattr(pictures, args.what)(found[0], path=out)
            for s in found:
                print(f"{printable(name)}: {s.order}: {s.nnz:,} entries of L + U, {s.fill:,} fill-ins, {s.flops:.3g} operations, "
                      f"tree of height {s.height:,}")
    except (errors.GsofaError, OverflowError, OSError, ValueError) as e:
        text = " ".join(str(e).split()) or type(e).__name__
        text = text if isinstance(e, (errors.GsofaError, OSError)) else f"{args.matrix}: {text}"
        p.exit(2, f"gsofa show: error: {printable(text)}\n")
    print(printable(f"{out} written"))
    return 0


def main():
    if len(sys.argv) > 1 and sys.argv[1] == "show":
        return show(sys.argv[2:])
    print(f"usage: python -m gsofa show MATRIX [--order NAME] [-o FILE]; gsofa {version()}", file=sys.stderr)
    return 0 if sys.argv[1:] in (["-h"], ["--help"]) else 2


if __name__ == "__main__":
    sys.exit(main())
