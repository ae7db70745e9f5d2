"""What all figures share: records in, PDF + PNG + CSV out, one look that survives grey printing."""

import argparse
import csv
import importlib
import re
import sys
import textwrap
from pathlib import Path

try:
    import matplotlib
except ModuleNotFoundError as e:
    sys.exit(f"plots: error: {sys.executable} has no {e.name}: apt-get install python3-matplotlib, then /usr/bin/python3")

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib import ticker

import records
from terminal_text import printable

FORMATS = ("pdf", "png")  # tests that look at neither draw PNG alone, or nothing
LOAD = []  # what save() says of the load of the machines
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
        # A $ in the name of a matrix is a dollar sign.
        "text.parse_math": False,
    }
)


def parser(description, records=None, out=None):
    """Options that every figure has; records, out: their defaults, without which they must be given."""
    p = argparse.ArgumentParser(description=description)
    p.add_argument("--records", required=not records, default=records, type=Path, nargs="+",
                   help="files and folders of records, JSON Lines")
    p.add_argument("--population", default=[], type=Path, nargs="*",
                   help="records of real matrices, which some figures show next to the paper's matrices")
    p.add_argument("--out", required=not out, default=out, type=Path, help="folder for the PDF, PNG and CSV")
    p.add_argument("--allow-unverified", action="store_true", help="draw unverified results too")
    p.add_argument("--allow-mixed", action="store_true", help="draw several machines in one figure")
    return p


def accept(runs, args):
    """The runs that may be drawn; Refused if they are unverified or from several machines."""
    return records.accept(runs, "take" if args.allow_unverified else "refuse", args.allow_mixed)


def short(value):
    """Three digits, without an exponent."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


RAISED = str.maketrans("0123456789-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁻")


def power(exponent):
    """10 to an integer power, without mathtext."""
    return "10" + str(exponent).translate(RAISED)


class Literal(ticker.Formatter):
    """Ticks of a formatter that writes mathtext, as plain text."""

    def __init__(self, formatter):
        self.formatter = formatter

    def set_axis(self, axis):
        self.formatter.set_axis(axis)

    def set_locs(self, locs):
        self.formatter.set_locs(locs)

    def __call__(self, value, position=None):
        text = re.sub(r"10\^\{([-−\d]+)\}", lambda found: power(found[1]), self.formatter(value, position))
        return re.sub(r"\$|\\mathdefault|[{}]", "", text.replace(r"\times", "×"))


def without_mathtext(figure):
    """Gives ticks that would need mathtext plain text."""
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            for get, put in ((axis.get_major_formatter, axis.set_major_formatter),
                             (axis.get_minor_formatter, axis.set_minor_formatter)):
                if isinstance(get(), ticker.LogFormatterMathtext):
                    put(Literal(get()))


def row_of_axes(columns=1, height=2.9, width=6.6):
    """(figure, axes) in one row."""
    fig, axes = plt.subplots(1, columns, figsize=(width, height), squeeze=False, layout="constrained")
    return fig, axes[0]


def caption(figure, lines, width=110):
    """Small lines under a figure: what it leaves out."""
    if lines:
        figure.supxlabel("\n".join(textwrap.fill(text, width) for text in lines), fontsize=6.5, x=0.01, ha="left",
                         color="#606060")


def write_table(path, header, rows):
    """A CSV file."""
    with open(path, "w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def save(figure, folder, name, header, rows):
    """Writes name.pdf, name.png and name.csv (the plotted points) into folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for text in LOAD:
        figure.text(0.01, -0.01, text, fontsize=6.5, va="top", color="#606060")
    if FORMATS:
        without_mathtext(figure)
        # The layout is found once: by itself each file would take it twice.
        figure.get_layout_engine().execute(figure)
        figure.set_layout_engine("none")
        box = figure.get_tightbbox().padded(plt.rcParams["savefig.pad_inches"])
    for kind in FORMATS:
        # A fixed date keeps the PDF the same for the same records.
        figure.savefig(folder / f"{name}.{kind}", bbox_inches=box, metadata={"CreationDate": None} if kind == "pdf" else None)
    write_table(folder / f"{name}.csv", header, rows)
    print(f"{folder / name}.{', .'.join(FORMATS)}, .csv", file=sys.stderr)


def figures():
    """Names of all figures: the scripts next to this one."""
    return sorted(p.stem for p in Path(__file__).resolve().parent.glob("*.py")
                  if not p.stem.startswith(("style", "records", "numbers")) and not p.stem.endswith("_test"))


def note_load(sources):
    """After this call, the pictures of save() say whether a machine of these records was loaded."""
    LOAD[:] = records.load_of(records.read_runs(path for path in sources if Path(path).suffix != ".csv"))


def draw_figure(name, sources, out, population=(), **options):
    """Draws the figure plots/NAME.py from files of records into a folder, in this process, and returns its description;
    raises Absent, Refused or what the script itself raises. options: of the script's own."""
    script = importlib.import_module(name)
    args = parser("").parse_args(["--records", *map(str, sources), "--population", *map(str, population), "--out", str(out)])
    vars(args).update(options)
    note_load(args.records)
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
        note_load(args.records)
        draw(args)
        for line in (*LOAD, *records.left_out(args.records)):
            print(f"{Path(sys.argv[0]).name}: {line}", file=sys.stderr)
    except records.Absent as e:
        print(f"{Path(sys.argv[0]).name}: nothing to draw: {printable(e)}", file=sys.stderr)
        return 3
    except records.Refused as e:
        print(f"{Path(sys.argv[0]).name}: error: {printable(e)}", file=sys.stderr)
        return 2
    return 0
