"""What the figures of the paper's items share: the paper's own values (paper.toml), and measurements by expressions
(language.py)."""

import functools
from pathlib import Path

import language
import records
import style
import style_dots as dots
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


@functools.cache
def stated():
    return records.read_toml(Path(__file__).with_name("paper.toml"))


@functools.cache
def expression(text):
    """An expression with the definitions and sets of paper.toml."""
    return language.Expression(text, stated()["define"], stated()["sets"])


class Paper:
    """What the paper prints, from paper.toml."""

    def series(self, item, name):
        """Values by matrix."""
        return stated()["series"].get(item, {}).get(name, {})

    def value(self, name):
        """One value."""
        return stated()["value"][name]


class Measured(records.Measured):
    """Runs on the 13 matrices, verified unless the options say otherwise, and the runs on real matrices, if any were given."""

    def __init__(self, args):
        super().__init__(args.records, unverified="take" if args.allow_unverified else "refuse", mixed=args.allow_mixed)
        self.real = records.Measured(args.population, mixed=args.allow_mixed, population=True) if args.population else None
        self.names = self.real.matrices() if self.real else []

    def over(self, measure):
        """language.Value of an aggregate over a set of the 13."""
        return expression(measure).evaluate(self)

    def over_real(self, measure):
        """The same over the real matrices, or None."""
        return expression(measure).evaluate(self.real, self.names) if self.names else None

    def series(self, label, measure, paper=None, mean=None, there=None):
        """style_dots.Series of an aggregate; there: its form for real matrices, "" if there is none."""
        real = self.over_real(measure if there is None else there) if there != "" else None
        return dots.Series(label, self.over(measure), paper or {}, mean, real if real and real.each else None)

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

    def label(self, matrix):
        """Abbreviation, with an asterisk for a stand-in."""
        return matrix + ("*" if any(m == matrix for m, _ in self.runs) and self.is_stand_in(matrix) else "")

    def need(self, something):
        """Absent, if there is nothing to draw."""
        if not something:
            raise records.Absent(f"{records.named(self.sources)}: no records for it")


def queue_shares(measured):
    """[(label, setting)] of the shares of the memory for queues that budgets were run with, that of the claims first; one
    without a setting where all were made before there was a choice."""
    known = {r["options"].get("queue_share") for m, r in measured.runs if m in LARGE and r["variant"] == "gpu_maxid" and
             r["options"].get("memory_budget_mb")}
    return [(f"queues {s} %" if s is not None else "", f", queue_share={s}" if s is not None else "")
            for s in sorted(known - {None}) or sorted(known)]


def compared(args, measured, name, series, matrices=ALL, height=2.7, **how):
    """A figure of one panel: dots by matrix with their aggregate and, where there are real matrices, a strip of them."""
    measured.need(any(s.value.each for s in series))
    fig, panel = dots.panels(1, strips=strips(series), height=height)
    style.save(fig, args.out, name, dots.HEADER, both(measured, panel[0], series, matrices, **how))


def strips(*groups):
    """How many series of real matrices the widest strip has."""
    return max(sum(s.real is not None for s in series) for series in groups)


def both(measured, panel, series, matrices=ALL, log=True, **how):
    """dots() and strip() of a panel; rows for the CSV."""
    axis, beside, room = panel
    rows = dots.dots(axis, measured, matrices, series, large=LARGE, log=log, **how)
    if beside and any(s.real for s in series):
        rows += dots.strip(beside, series, room)
    elif beside:
        beside.remove()
    return rows


def legend(axis, **how):
    """Above the axes, where no marker of the paper can be taken for one of the legend."""
    axis.legend(**({"fontsize": 7, "ncols": 4, "loc": "lower left", "bbox_to_anchor": (0, 1)} | how))


def figure(columns=1, height=2.9, width=6.6):
    """One row of axes."""
    fig, axes = plt.subplots(1, columns, figsize=(width, height), squeeze=False,
                             layout="constrained")
    return fig, axes[0]
