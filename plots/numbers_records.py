"""Selects and combines rows of committed records, for numbers_*.py, which recompute the numbers that documents print.

A document's function yields texts. A text that begins with '|' is a row of a table: its first cell and its numbers must be in the
document. Any other text is a part of a sentence: its numbers, each with the word behind it, must be there in this order."""

import csv
import gzip
import json
import math
import re
import statistics

import records

RECORDS = records.ROOT / "experiments" / "records"
DOCUMENTS = {}  # document: function that yields its texts
FACTS = {}      # document: first lines of its tables that hold sizes and limits, no measurements


def document(path, *facts):
    """Registers the function of a document; facts: header lines of tables without measurements."""
    def register(function):
        DOCUMENTS[path], FACTS[path] = function, facts
        return function
    return register


class Rows(list):
    """Rows of a table, {column: text}."""

    def where(self, **values):
        """The rows that have these values; a list or tuple: one of its values."""
        def fits(row, name, value):
            return row[name] in map(str, value) if isinstance(value, (list, tuple)) else row[name] == str(value)
        return Rows(r for r in self if all(fits(r, *v) for v in values.items()))

    def only(self, **values):
        """The one row that has these values."""
        found = self.where(**values)
        if len(found) != 1:
            raise records.Refused(f"{len(found)} rows have {values}, not one")
        return found[0]

    def numbers(self, *columns):
        """For each row, the sum of its columns."""
        return [sum(float(r[c]) for c in columns) for r in self]

    def each(self, *columns):
        """{values of the columns (of one column: its value): rows}, in the order of the table."""
        found = {}
        for row in self:
            found.setdefault(row[columns[0]] if len(columns) == 1 else tuple(row[c] for c in columns), Rows()).append(row)
        return found


def table(path):
    """Rows of a CSV in experiments/records."""
    with (RECORDS / path).open(encoding="utf-8", newline="") as file:
        return Rows(csv.DictReader(file))


def lines(path):
    """Objects of a file of JSON Lines in experiments/records, as they are."""
    name = RECORDS / path
    with (gzip.open if name.suffix == ".gz" else open)(name, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def number(row, *columns):
    """The sum of columns of a row."""
    return Rows([row]).numbers(*columns)[0]


def digits(value, count=2):
    """A number with at least so many significant digits, and no exponent."""
    places = max(0, count - 1 - math.floor(math.log10(abs(value)) + 1e-12)) if value else 0
    return f"{float(f'{value:.{count - 1}e}'):,.{places}f}" if abs(value) < 10 ** count else f"{value:,.0f}"


def one_digit_up(value):
    """A small number, rounded up to one digit."""
    power = math.floor(math.log10(value))
    return f"{math.ceil(value / 10 ** power)}e{power}"


def mean(values):
    return statistics.geometric_mean(values)


def span(values, form="{:.1f}"):
    """'least to most'."""
    return f"{form.format(min(values))} to {form.format(max(values))}"


def mean_and_span(values, form="{:.1f}", how=mean):
    """'mean (least to most)'; how: which mean."""
    values = list(values)
    return f"{form.format(how(values))} ({span(values, form)})"


def row(*cells):
    return "| " + " | ".join(map(str, cells)) + " |"


def squeezed(text):
    return re.sub(r"\s+", " ", text)
