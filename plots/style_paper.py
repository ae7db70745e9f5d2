"""What the figures of the paper's items share: measurements by matrix, the paper's own values, bars with both."""

import records
import style
from style import plt

SMALL = ("BB", "BC", "EP", "G7", "LH", "MK", "RM")
LARGE = ("AU", "DI", "HM", "PR", "ST", "TT")
ALL = SMALL + LARGE
# Cases that several figures show. All sources that fit in all memory of the GPU:
MAXID = ("gpu_maxid", {"concurrent_sources": 0, "memory_budget_mb": 0})
# One process; how many GPUs and which schedule is named where it is drawn:
DISTRIBUTED = {"ranks": 1, "chunk_size": 128, "concurrent_sources": 0, "sharing": "peer"}
# The digests of rows are a large part of their time, and only verification needs them.
WITHOUT_DIGESTS = ("gpu_maxid", "gpu_fill2_naive")


class Paper:
    """Statements of the paper, from paper/claims.toml."""

    def __init__(self):
        self.claims = records.read_toml(records.ROOT / "paper" / "claims.toml")["claim"]

    def series(self, item, name):
        """Values by matrix."""
        return {c["matrix"]: c["paper"] for c in self.claims
                if c["item"] == item and c.get("series") == name}

    def value(self, claim):
        """The value of one claim by its id."""
        return next(c["paper"] for c in self.claims if c["id"] == claim)


class Measured(records.Measured):
    """Runs of one build on the 13 matrices, verified unless told otherwise."""

    def __init__(self, args, counting=False):
        super().__init__(args.records, counting=counting, unverified="take" if args.allow_unverified else "refuse",
                         mixed=args.allow_mixed)

    def time(self, matrix, variant, **how):
        """Lower median in seconds, or None; of the maxId search and fill2 on the GPU without the digests of rows
        (bare() of the claims)."""
        r = self.find(matrix, variant, **how)
        if not r:
            return None
        return records.bare_seconds(r) if variant.startswith(WITHOUT_DIGESTS) else records.seconds(r)

    def if_known(self, variant, **case):
        """Those of the settings that runs of a variant have: records made before an option was there do not name it."""
        known = {k for _, r in self.runs if r["variant"] == variant for k in records.settings(r)}
        return {k: v for k, v in case.items() if k in known}

    def ratio(self, matrices, over, under):
        """{matrix: time(over) / time(under)} where both were measured; over, under: (variant, settings)."""
        out = {}
        for m in matrices:
            a, b = self.time(m, over[0], **over[1]), self.time(m, under[0], **under[1])
            if a and b:
                out[m] = a / b
        return out

    def label(self, matrix):
        """Abbreviation, with an asterisk for a stand-in."""
        return matrix + ("*" if any(m == matrix for m, _ in self.runs) and self.is_stand_in(matrix) else "")

    def need(self, something):
        """Absent, if there is nothing to draw."""
        if not something:
            raise records.Absent(f"{records.named(self.sources)}: no records for it")


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
        stated = (paper[k] if k < len(paper) else None) or {}
        points = [(x, stated[m]) for x, m in zip(at, matrices) if m in stated]
        if points:
            axis.plot([x for x, _ in points], [v for _, v in points], "D", color="black",
                      markerfacecolor="white", markersize=5, linestyle="none",
                      label=None if labelled else "paper")
            labelled = True
        for m in matrices:
            if m in values or m in stated:
                rows.append((name, m, f"{values[m]:.6g}" if m in values else "",
                             stated.get(m, "")))
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
