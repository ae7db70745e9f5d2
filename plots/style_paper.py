"""What the figures of the paper's items share: measurements by matrix, the paper's own values, bars with both."""

import statistics
import sys
import tomllib
from pathlib import Path

import style
from style import json_lines, plt

ROOT = Path(__file__).resolve().parent.parent
SMALL = ("BB", "BC", "EP", "G7", "LH", "MK", "RM")
LARGE = ("AU", "DI", "HM", "PR", "ST", "TT")
ALL = SMALL + LARGE
# An option that a figure does not name has this value; others may have any.
DEFAULTS = {"concurrent_sources": 0, "memory_budget_mb": 0, "queue_entries": 0,
            "blocks_per_cluster": 4, "cluster_positions": 2048, "warp_positions": 128}
DEFAULTS_OF = {"cpu_bitmap_panels": {"memory_budget_mb": 4096}, "gpu_maxid_tuned": {"queue_entries": 1024},
               "gpu_fill2_bitparallel": {"queue_entries": 1024}}
UNVERIFIABLE = ("cpu_gilbert_peierls",)  # its digests are what the others are compared with


def read_toml(path):
    with open(path, "rb") as f:
        return tomllib.load(f)


class Paper:
    """Statements of the paper, from paper/claims.toml."""

    def __init__(self):
        self.claims = read_toml(ROOT / "paper" / "claims.toml")["claim"]

    def series(self, item, name):
        """Values by matrix."""
        return {c["matrix"]: c["paper"] for c in self.claims
                if c["item"] == item and c.get("series") == name}

    def value(self, claim):
        """The value of one claim by its id."""
        return next(c["paper"] for c in self.claims if c["id"] == claim)


class Measured:
    """Records of the 13 matrices by abbreviation; Refused if they are of several machines."""

    def __init__(self, args, counting=False):
        known = {m["name"]: m["abbr"]
                 for m in read_toml(ROOT / "experiments" / "datasets.toml")["matrix"]}
        self.profiles = {}
        self.records = []
        self.source = args.records
        usable = []
        for path in args.records if isinstance(args.records, list) else [args.records]:
            for r in json_lines.read(path):
                if "dram_gb_per_s" in r:
                    self.profiles[r["matrix"]] = r
                elif r.get("schema") == style.SCHEMA and r["matrix"]["name"] in known:
                    if r["counting"] != counting or r["status"] == "skipped":
                        continue
                    if r["variant"] in UNVERIFIABLE or r["device"] == "peer":
                        self.records.append((known[r["matrix"]["name"]], r))
                    elif "pattern" not in r["wants"]:
                        usable.append(r)
        for r in style.accept(usable, args):
            self.records.append((known[r["matrix"]["name"]], r))

    def find(self, matrix, variant, chunk_size=128, ranks=1, **options):
        """The last record of a case, or None."""
        wanted = DEFAULTS | DEFAULTS_OF.get(variant, {}) | options
        found = None
        for m, r in self.records:
            if (m == matrix and r["variant"] == variant and r["chunk_size"] == chunk_size and
                    r["mpi"]["ranks"] == ranks and (r["samples_s"] or r["counting"]) and
                    all(v == wanted.get(k, v) for k, v in r["options"].items())):
                found = r
        return found

    def time(self, matrix, variant, **how):
        """Lower median in seconds, or None; of the maxId search and fill2 on the GPU without the digests of rows, which
        verification alone needs (bare() of the claims)."""
        r = self.find(matrix, variant, **how)
        if not r:
            return None
        digests = r["phases_s"].get("compact", 0) if variant.startswith(("gpu_maxid", "gpu_fill2_naive")) else 0
        return statistics.median_low(r["samples_s"]) - digests

    def ratio(self, matrices, over, under):
        """{matrix: time(over) / time(under)} where both were measured; over, under: (variant, options)."""
        out = {}
        for m in matrices:
            a, b = self.time(m, over[0], **over[1]), self.time(m, under[0], **under[1])
            if a and b:
                out[m] = a / b
        return out

    def label(self, matrix):
        """Abbreviation, with an asterisk for a stand-in."""
        for m, r in self.records:
            if m == matrix:
                return matrix + ("*" if r["matrix"]["stand_in"] else "")
        return matrix

    def need(self, something):
        """Absent, if there is nothing to draw."""
        if not something:
            raise style.Absent(f"{self.source} has no records for it")


def bars(axis, measured, matrices, series, paper=(), log=False, line=None, label=""):
    """Grouped bars by matrix; paper: for each series {matrix: value} of hollow diamonds, or None.
    Returns rows (series, matrix, value, paper's value) for the CSV."""
    width = 0.8 / max(1, len(series))
    rows = []
    labelled = False
    for k, (name, values) in enumerate(series):
        at = [x + (k - (len(series) - 1) / 2) * width for x in range(len(matrices))]
        xs = [x for x, m in zip(at, matrices) if m in values]
        axis.bar(xs, [values[m] for m in matrices if m in values], width * 0.92,
                 color=style.GREYS[(k + 1) % 4] if k else "#d9d9d9", edgecolor="black",
                 linewidth=0.6, hatch=style.HATCHES[k % len(style.HATCHES)], label=name)
        told = (paper[k] if k < len(paper) else None) or {}
        points = [(x, told[m]) for x, m in zip(at, matrices) if m in told]
        if points:
            axis.plot([x for x, _ in points], [v for _, v in points], "D", color="black",
                      markerfacecolor="white", markersize=5, linestyle="none",
                      label=None if labelled else "paper")
            labelled = True
        for m in matrices:
            if m in values or m in told:
                rows.append((name, m, f"{values[m]:.6g}" if m in values else "",
                             told.get(m, "")))
    for x, m in enumerate(matrices):
        if not any(m in values for _, values in series):
            axis.annotate("not run", (x, 0.02), xycoords=("data", "axes fraction"), rotation=90, fontsize=6,
                          ha="center", color=style.GREYS[1])
    if line is not None:
        axis.axhline(line, color="black", linewidth=0.8)
    if log:
        axis.set_yscale("log")
    axis.set_xlim(-0.6, len(matrices) - 0.4)
    axis.set_xticks(range(len(matrices)), [measured.label(m) for m in matrices])
    axis.set_ylabel(label)
    return rows


def mean_line(axis, value, text, x):
    """The paper's average as a hollow marker at the right edge."""
    axis.set_xlim(right=max(axis.get_xlim()[1], x + 0.7))
    axis.plot([x], [value], "D", color="black", markerfacecolor="white", markersize=6,
              linestyle="none")
    axis.annotate(text, (x, value), xytext=(0, 7), textcoords="offset points", fontsize=7,
                  ha="center")


def legend(axis, **how):
    """Above the axes, where no marker of the paper can be taken for one of the legend."""
    axis.legend(**({"fontsize": 7, "ncols": 4, "loc": "lower left", "bbox_to_anchor": (0, 1)} | how))


def figure(columns=1, height=2.9, width=6.6):
    """One row of axes."""
    fig, axes = plt.subplots(1, columns, figsize=(width, height), squeeze=False,
                             layout="constrained")
    return fig, axes[0]


HEADER = ("series", "matrix", "measured", "paper")


def main(draw, description):
    """As style.main, with any number of record files."""
    p = style.parser(description)
    for action in p._actions:
        if action.dest == "records":
            action.nargs = "+"
    args = p.parse_args()
    try:
        draw(args)
    except style.Absent as e:
        print(f"{Path(sys.argv[0]).name}: nothing to draw: {e}", file=sys.stderr)
        return 3
    except style.Refused as e:
        print(f"{Path(sys.argv[0]).name}: error: {e}", file=sys.stderr)
        return 2
    return 0
