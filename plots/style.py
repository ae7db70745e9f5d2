"""What all figures share: records in, PDF + PNG + CSV out, one look that survives grey printing."""

import argparse
import csv
import importlib
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import records

# Told apart by lightness alone, darkest first.
GREYS = ("#000000", "#595959", "#8c8c8c", "#bfbfbf")
HATCHES = ("", "///", "...", "xxx", "\\\\\\", "+++")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

plt.rcParams.update(
    {
        "figure.dpi": 100,
        "savefig.dpi": 200,
        "savefig.bbox": "tight",
        "font.size": 9,
        "axes.titlesize": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "axes.grid": True,
        "grid.color": "#e0e0e0",
        "grid.linewidth": 0.6,
        "legend.frameon": False,
        "lines.linewidth": 1.2,
        "pdf.fonttype": 42,
    }
)


def parser(description, records=None, out=None):
    """Options that every figure has; records, out: their defaults, without which they must be given."""
    p = argparse.ArgumentParser(description=description)
    p.add_argument("--records", required=not records, default=records, type=Path, nargs="+",
                   help="files and folders of records, JSON Lines")
    p.add_argument("--population", default=[], type=Path, nargs="*",
                   help="the same of real matrices, which some figures show beside the paper's")
    p.add_argument("--out", required=not out, default=out, type=Path, help="folder for the PDF, PNG and CSV")
    p.add_argument("--allow-unverified", action="store_true", help="draw unverified results too")
    p.add_argument("--allow-mixed", action="store_true", help="draw several machines in one figure")
    return p


def accept(runs, args):
    """The runs that may be drawn; Refused if they are unverified or from several machines."""
    return records.accept(runs, "take" if args.allow_unverified else "refuse", args.allow_mixed)


def matrix_label(record):
    """Name of the matrix, with what the reader must know of it."""
    marks = []
    if record["matrix"]["stand_in"]:
        marks.append("stand-in")
    if record.get("simulated"):
        marks.append("simulated")
    if record["status"] != "pass":
        marks.append("unverified")
    name = record["matrix"]["name"]
    return f"{name} ({', '.join(marks)})" if marks else name


def short(value):
    """Three digits, without an exponent."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def save(figure, folder, name, header, rows):
    """Writes name.pdf, name.png and name.csv (the plotted points) into folder."""
    folder.mkdir(parents=True, exist_ok=True)
    # The layout is found once: by itself each file would take it twice.
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    box = figure.get_tightbbox().padded(plt.rcParams["savefig.pad_inches"])
    # A fixed date keeps the PDF the same for the same records.
    figure.savefig(folder / f"{name}.pdf", bbox_inches=box, metadata={"CreationDate": None})
    figure.savefig(folder / f"{name}.png", bbox_inches=box)
    with open(folder / f"{name}.csv", "w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
    print(f"{folder / name}.pdf, .png, .csv", file=sys.stderr)


def figures():
    """Names of all figures: the scripts beside this one."""
    return sorted(p.stem for p in Path(__file__).resolve().parent.glob("*.py")
                  if not p.stem.startswith(("style", "records")) and not p.stem.endswith("_test"))


def draw_figure(name, sources, out, population=(), **options):
    """Draws the figure plots/NAME.py from files of records into a folder, in this process, and returns its description;
    raises Absent, Refused or what the script itself raises. options: of the script's own."""
    script = importlib.import_module(name)
    args = parser("").parse_args(["--records", *map(str, sources), "--population", *map(str, population), "--out", str(out)])
    vars(args).update(options)
    try:
        script.draw(args)
    finally:
        plt.close("all")
    return " ".join(script.__doc__.split())


def main(draw, description, add_options=None, **defaults):
    """Runs draw(args) and reports a refusal as one line. Returns the exit status: 0 drawn, 2
    refused, 3 nothing to draw. add_options: gives the parser more options; defaults: of parser()."""
    p = parser(description, **defaults)
    if add_options:
        add_options(p)
    args = p.parse_args()
    try:
        draw(args)
    except records.Absent as e:
        print(f"{Path(sys.argv[0]).name}: nothing to draw: {e}", file=sys.stderr)
        return 3
    except records.Refused as e:
        print(f"{Path(sys.argv[0]).name}: error: {e}", file=sys.stderr)
        return 2
    return 0
