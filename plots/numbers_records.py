"""Rows of committed records, and the forms in which documents print what follows from them (numbers_table.py)."""

import csv
import math
from statistics import median

import numpy

import records

RECORDS = records.ROOT / "experiments" / "records"
RIVALS = RECORDS / "2026-11-30_h200_campaign_a1"
RANKS = RECORDS / "2026-11-30_h200_campaign_b"
DEFAULT = 60  # most columns of SuperLU_DIST's relaxed supernodes


def cell(text):
    """An integer, a number or the text."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


class Row(dict):
    """A row of a table, with its cells as attributes."""
    __getattr__ = dict.__getitem__


class Rows(list):
    """Rows of a table; rows.column is an array of its numbers, or the list of its texts."""

    def __getattr__(self, column):
        values = [row[column] for row in self]
        return numpy.array(values, dtype=float) if all(isinstance(v, (int, float)) for v in values) else values

    def where(self, **values):
        return self.that(lambda row: all(row[k] == v for k, v in values.items()))

    def that(self, condition):
        return Rows(filter(condition, self))

    def each(self, *columns):
        """{values of the columns: rows}, in the order of the table; the value itself of one column."""
        found = {}
        for row in self:
            found.setdefault(row[columns[0]] if len(columns) == 1 else tuple(row[c] for c in columns), Rows()).append(row)
        return found

    def plus(self, **columns):
        """The rows, with columns that functions compute from each."""
        for row in self:
            row.update({name: function(row) for name, function in columns.items()})
        return self

    def pivot(self, key, column, take):
        """For each value of `key` its first row, with what `take` makes of the rows of each value of `column`."""
        return Rows(Row({**rows[0], **{str(k): take(of) for k, of in rows.each(column).items()}}) for rows in self.each(key).values())

    def ratios(self, over, under, column):
        """After pivot(): ratios of a column, of the rows that have both."""
        return numpy.array([r[over][column] / r[under][column] for r in self if over in r and under in r])


def only(rows):
    """The row, if there is one."""
    if len(rows) != 1:
        raise records.Refused(f"{len(rows)} rows, not one: {rows[:2]}")
    return rows[0]


def medians(rows):
    """A row of the medians of the columns of numbers; its other cells are those of the first row."""
    columns = {c: getattr(rows, c) for c in rows[0]}
    return Row({c: v[0] if isinstance(v, list) else median(v) for c, v in columns.items()})


def table(path):
    """Rows of a CSV in experiments/records."""
    with (RECORDS / path).open(encoding="utf-8", newline="") as file:
        return Rows(Row({k: cell(v) for k, v in row.items()}) for row in csv.DictReader(file))


def orders(path):
    """Rows of a file of lines of `gsofa order`; the fastest sample is the time."""
    return Rows(Row(r["result"], matrix=r["matrix"]["name"], n=r["matrix"]["n"], order=r["order"], seconds=min(r["samples_s"]), line=r)
                for r in records.read_orders([RECORDS / path]))


def rivals(file, variant, folder=RIVALS, **options):
    """{matrix: its run} of the records of rivals, of real matrices that count."""
    return {r["matrix"]["name"]: r for r in records.read_runs([folder / f"{file}.jsonl"]) if r["variant"] == variant and
            r["matrix"]["n"] >= 1000 and records.kind(r["matrix"]) in records.REAL and all(r["options"].get(k, v) == v for k, v in options.items())}


def seconds(run, *more):
    """Seconds of the median sample, with the other times of each sample that `more` names; of a run that was ended its limit."""
    return records.limit_of(run) if run["status"] == "timeout" else median(map(sum, zip(run["samples_s"], *(run[k] for k in more))))


def over(slow, fast, large=False):
    """Geometric mean of the times of {matrix: run} over {matrix: seconds}; large: of 10,000 rows or more."""
    return mean([seconds(slow[m]) / fast[m] for m in fast if m in slow and (not large or slow[m]["matrix"]["n"] >= 10000)])


def by_default(variant="gpu_bitmap_panels"):
    """How many times as fast as symbfact as SuperLU_DIST's users run it a variant is, on real matrices."""
    ours = {m: seconds(r) for m, r in rivals("ranks_1", variant, RANKS).items()}
    return digits(over(rivals("ranks_1", "peer_superlu_dist", RANKS, relax=DEFAULT), ours))


def digits(value, count=2):
    """A number with at least so many significant digits, and no exponent."""
    places = max(0, count - 1 - math.floor(math.log10(abs(value)) + 1e-12)) if value else 0
    return f"{float(f'{value:.{count - 1}e}'):,.{places}f}" if abs(value) < 10 ** count else f"{value:,.0f}"


def e(value, places=2):
    """1.39e5"""
    return f"{value:.{places}e}".replace("e+0", "e").replace("e+", "e")


def one_digit_up(value):
    """A small number, rounded up to one digit."""
    power = math.floor(math.log10(value))
    return f"{math.ceil(value / 10 ** power)}e{power}"


def mean(values):
    """The geometric mean of numbers; for rows of numbers, the mean of each column."""
    return numpy.exp(numpy.mean(numpy.log(list(values)), axis=0))


def span(values, form=".1f"):
    """'least to most'."""
    return f"{format(min(values), form)} to {format(max(values), form)}"


def mean_and_span(values, form=".1f", how=mean):
    """'mean (least to most)', of one value the value; how: which mean."""
    return f"{format(how(values), form)} ({span(values, form)})" if len(values) > 1 else format(values[0], form)


def spread(values):
    """The same with two digits each."""
    return "{} ({} to {})".format(*(digits(f(values)) for f in (mean, min, max)))


def each(values, form):
    """'1.8, 2.1'"""
    return ", ".join(format(v, form) for v in values)
