"""What all figures share: records in, PDF + PNG + CSV out, one look that survives grey printing."""

import argparse
import csv
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

sys.path.append(str(Path(__file__).resolve().parent.parent / "experiments"))
import json_lines

# Told apart by lightness alone, darkest first.
GREYS = ("#000000", "#595959", "#8c8c8c", "#bfbfbf")
HATCHES = ("", "///", "...", "xxx", "\\\\\\", "+++")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

SCHEMA = 1

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


class Refused(Exception):
    """The records do not allow the figure; the text says why."""


class Absent(Exception):
    """There are no records for the figure at all."""


def parser(description):
    """Options that every figure has."""
    p = argparse.ArgumentParser(description=description)
    p.add_argument("--records", required=True, type=Path, help="records, JSON Lines")
    p.add_argument("--out", required=True, type=Path, help="folder for the PDF, PNG and CSV")
    p.add_argument("--allow-unverified", action="store_true", help="draw unverified results too")
    p.add_argument("--allow-mixed", action="store_true", help="draw several machines in one figure")
    return p


def read_records(path):
    """All records of a file."""
    records = list(json_lines.read(path))
    for record in records:
        if record.get("schema") != SCHEMA:
            raise Refused(f"{record.place}: schema {record.get('schema')!r}, this reads {SCHEMA}")
    return records


def machine(record):
    """What must agree for two records to be from the same machine; a run may see some of its GPUs only."""
    return (record["host"], record["cpu"], frozenset(g["name"] for g in record["gpus"]))


def accept(records, args):
    """The records that may be drawn; Refused if they are unverified or from several machines."""
    usable = []
    for r in records:
        if r["status"] == "pass" or (r["status"] == "unverified" and args.allow_unverified):
            usable.append(r)
        elif r["status"] == "unverified":
            raise Refused(
                f"{r['variant']} on {r['matrix']['name']} is unverified ({r['reason']}); "
                "--allow-unverified draws it"
            )
    if len({machine(r) for r in usable}) > 1 and not args.allow_mixed:
        raise Refused("the records are from several machines; --allow-mixed draws them")
    return usable


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
    # A fixed date keeps the PDF the same for the same records.
    figure.savefig(folder / f"{name}.pdf", metadata={"CreationDate": None})
    figure.savefig(folder / f"{name}.png")
    with open(folder / f"{name}.csv", "w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
    print(f"{folder / name}.pdf, .png, .csv", file=sys.stderr)


def main(draw, description):
    """Runs draw(args) and reports a refusal as one line. Returns the exit status: 0 drawn, 2
    refused, 3 nothing to draw."""
    args = parser(description).parse_args()
    try:
        draw(args)
    except Absent as e:
        print(f"{Path(sys.argv[0]).name}: nothing to draw: {e}", file=sys.stderr)
        return 3
    except (Refused, json_lines.BadLine) as e:
        print(f"{Path(sys.argv[0]).name}: error: {e}", file=sys.stderr)
        return 2
    return 0
