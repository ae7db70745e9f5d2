#!/usr/bin/env python3
"""Scoreboard: every statement of the paper against the records.

claims.toml says what is measured and what the paper states; RULES below how that is judged. Both were frozen on 22 November
2026, after a first set of measurements of 21 November and before those of 22 November (frozen.txt has a digest of each claim,
frozen_rules.txt the rules of then). evidence.toml has what came after:
which records count, the verdict that each claim got, why it differs, and every change of the judgement since, with its time
and the claims that it touched.
"""

import argparse
import collections
import dataclasses
import hashlib
import json
import math
import os
import re
import shutil
import sys
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "plots"))

import records  # noqa: E402
import junit  # noqa: E402
from estimate import CONFIDENCE  # noqa: E402
from language import Expression, Value, documentation  # noqa: E402
from terminal_text import printable  # noqa: E402

ROOT = HERE.parent
OK, DIFFERS, BAD_INPUT, FAILED = 0, 1, 2, 4

RULES = """\
A claim is of one kind. What it measures has an interval of 95 %: percentiles of 999 bootstrap replicates, for which every
run's median is taken again of samples drawn with replacement. Of two samples it is Student's, of their logarithms: their mean
and 12.7 times half of their difference to either side. A case that was measured once has no interval, and a claim that rests
on it is undecided. A record has the phases of one run: a phase has as many samples as the case has records.

  ratio     times as fast, as large, as many; without any effect it is 1
  gain      percent more or less; without any effect it is 0
  correlation  a coefficient of correlation; without any effect it is 0, and below 0.1 it has none (Cohen 1988)
  size      how large something is, a share of the time or a usage in percent: no value is without effect
  about     what is set against a number that nobody measured: no difference (1), linear scaling, a formula
  portion   the share of the matrices on which something holds
  every     something holds on each matrix
  named     on which matrix, or matrices
  test      a test case decides; it counts in a run of the tests that has it

The direction of a ratio, a gain or a correlation holds if its interval lies wholly on the paper's side of 1, 0 or 0.1; of a
size, if its interval lies within a third and three times the paper's; of a portion, if its interval lies on the paper's side
of 1/2. Of what is about a number, the interval must lie within a quarter of that number, and nearer to it than to the one
that the statement denies. The value is close if it differs from the paper's by at most a quarter of the paper's effect
(ratio: its distance from 1; gain and size: all of it) and, of a portion, by at most 0.1. Its effect is of the paper's
magnitude if it is at least a third of the paper's and at most three times that; of a value known only to lie beyond a bound,
what is known of it.

The largest or smallest value over one of the paper's sets, where the paper gives its number, states a bound: on no matrix is
there more, or less. Its direction holds if its interval does not pass the bound by more than a quarter of the paper's effect,
and has at least a third of that effect on the paper's side.

  reproduced      the direction holds and, where the paper gives a number, the value is close; every matrix has the property;
                  the same matrices are named; what is about a number is; the test passed
  shape only      the direction holds and the effect is of the paper's magnitude, the value differs, or is known only to
                  lie beyond a bound; more than half of the matrices have the property
  direction only  the direction holds, the effect is not of the paper's magnitude
  undecided       the interval contains values on both sides; another choice of matrices is within the intervals
  not reproduced  otherwise
  incomplete      a matrix of the set was neither measured nor bounded by a run that passed its limit; no other verdict is
                  given for any mean, extreme, portion or choice over the set

What was simulated, or measured on a stand-in for a matrix that the claim is about, is at best "shape only". What follows from
how the stand-ins were made or from our own plan of memory is counted by itself, as an identity: no measurement could have
given anything else. Mean, median, extreme and portion over one of the paper's sets are evaluated again over all real matrices
that were measured, by the same rule; the interval then takes the matrices as a sample too, and an extreme is that of as many
real matrices as the set has, the median of 999 such draws.
"""
TOLERANCE, PORTION, FACTOR = 0.25, 0.1, 3
LARGE = 10_000  # rows; the paper's smallest matrix has 11,948
NUMERIC = {"ratio": 1, "gain": 0, "correlation": 0}  # kind: its value without any effect
SMALL = {"ratio": 0, "gain": 0, "correlation": 0.1}  # kind: the largest distance from that which is no effect either
KINDS = (*NUMERIC, "size", "about", "portion", "every", "named", "test")

VERDICTS = REPRODUCED, SHAPE_ONLY, DIRECTION_ONLY, UNDECIDED, NOT_REPRODUCED, INCOMPLETE, NOT_RUN, ELSEWHERE = (
    "reproduced", "shape only", "direction only", "undecided", "not reproduced", "incomplete", "not run here",
    "needs other hardware")
WEIGHED = VERDICTS[:5]  # those of a value
WIDE, WIDEST, ID = 140, 180, 36  # columns from which a claim stands in one line, from which its id follows, and of that
COLOURS = {REPRODUCED: "32", SHAPE_ONLY: "33", DIRECTION_ONLY: "35", UNDECIDED: "33", NOT_REPRODUCED: "31", INCOMPLETE: "2",
           NOT_RUN: "2", ELSEWHERE: "2", "bold": "1"}  # of a terminal
# What a verdict rests on: columns of the score.
BASES = ("originals", "stand-ins", "simulated", "test", "identity", "nothing")


@dataclasses.dataclass
class Claim:
    """A statement of the paper with the measurement that answers it; the head of claims.toml says what each key is."""

    id: str
    item: str
    says: str
    kind: str
    paper: float | str
    where: str = ""
    unit: str = ""
    matrix: str = ""
    series: str = ""
    records: str = "paper"
    measure: str = ""
    test: str = ""
    elsewhere: str = ""
    expects: str = ""
    note: str = ""
    there: str = ""
    by_construction: str = ""
    denied: float | None = None
    expression: Expression | None = None
    expression_there: Expression | None = None  # over real matrices

    def digest(self, rules=RULES):
        """16 digits of what decides its verdict."""
        used = sorted((self.expression.used | self.expression_there.used).items()) if self.expression else []
        parts = [rules, TOLERANCE, PORTION, FACTOR, self.id, self.kind, self.paper, self.records, self.measure, self.test,
                 self.elsewhere, self.expects, self.there, used, *filter(None, (self.by_construction, self.denied))]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


TEXTS = ("id", "item", "says", "kind", "where", "unit", "matrix", "series", "records", "measure", "test", "elsewhere", "expects",
         "there", "note", "by_construction")
TYPES = {key: str for key in TEXTS} | {"paper": (int, float, str), "denied": (int, float)}
TYPE_NAMES = {str: "a string", (int, float, str): "a number or a string", (int, float): "a number"}
SIDES = ("above", "below")


class TomlFile:
    """A TOML file whose faults are named with their line."""

    def __init__(self, path):
        self.path = Path(path)
        self.content = records.read_toml(self.path)
        self.lines = self.path.read_text(encoding="utf-8").splitlines()

    def place(self, header, k=0, key=None):
        """FILE:LINE of the k-th table with a header, or of a key of it, as far as it can be found in the text: tomllib does
        not keep lines."""
        starts = [n for n, line in enumerate(self.lines, 1) if line.split("#")[0].strip() == header]
        if k >= len(starts):
            return str(self.path)
        line = starts[k]
        for n, text in enumerate(self.lines[line:], line + 1):
            if text.startswith("["):
                break
            if key and re.match(rf"{re.escape(key)}\s*=", text):
                return f"{self.path}:{n}"
        return f"{self.path}:{line}"

    def refusal(self, why, header="", k=0, key=None):
        return records.Refused(f"{self.place(header, k, key)}: {why}")

    def table(self, name, kind, needed=True):
        """[name] with strings or with lists of strings."""
        table = self.content.get(name, None if needed else {})
        if not isinstance(table, dict):
            raise self.refusal(f"no table [{name}]")
        for key, value in table.items():
            if not isinstance(value, kind) or (kind is list and not all(isinstance(v, str) for v in value)):
                raise self.refusal(f"'{key}' is not {'an array of strings' if kind is list else 'a string'}",
                                   f"[{name}]", 0, key)
        return table

    def tables(self, name, needed=()):
        """[[name]]; `needed`: keys that each must have as strings."""
        tables = self.content.get(name, [])
        if not isinstance(tables, list) or not all(isinstance(t, dict) for t in tables):
            raise self.refusal(f"'{name}' is not an array of tables")
        for k, table in enumerate(tables):
            for key in needed:
                if not isinstance(table.get(key), str) or not table[key]:
                    raise self.refusal(f"[[{name}]] without '{key}'", f"[[{name}]]", k)
        return tables


class ClaimFile(TomlFile):
    """What claims.toml holds. Refused names the file, the line and the reason of the first fault."""

    def __init__(self, path=HERE / "claims.toml"):
        super().__init__(path)
        self.sets = self.table("sets", list)
        if "all" not in self.sets:
            raise self.refusal("[sets] without 'all'", "[sets]")
        self.definitions = self.table("define", str)
        self.claims = [self.claim(k, t) for k, t in enumerate(self.tables("claim"))]
        twice = [c for c, n in collections.Counter(c.id for c in self.claims).items() if n > 1]
        if twice:
            raise self.refusal(f"a second claim '{twice[0]}'")
        self.findings = self.tables("finding", ("where", "says"))

    def parsed(self, text, where, claim=""):
        try:
            return Expression(text, self.definitions, self.sets)
        except records.Refused as e:
            raise records.Refused(f"{where}: {claim}{': ' if claim else ''}{e}") from e

    def claim(self, k, table):
        def refuse(why, key=None):
            return self.refusal(why, "[[claim]]", k, key)

        for key, value in table.items():
            if key not in TYPES:
                raise refuse(f"unknown key '{key}'", key)
            if not isinstance(value, TYPES[key]) or isinstance(value, bool):
                raise refuse(f"'{key}' is not {TYPE_NAMES[TYPES[key]]}", key)
        for key in ("paper", "id", "item", "says", "kind"):
            if table.get(key, "") == "":
                raise refuse(f"[[claim]] without '{key}'")
        # Lines that were broken begin with blanks.
        c = Claim(**{key: value.lstrip(" \n") if isinstance(value, str) else value for key, value in table.items()})
        if not isinstance(c.paper, str):
            c.paper = float(c.paper)
        if c.kind not in KINDS:
            raise refuse(f"{c.id}: kind '{c.kind}' is none of {', '.join(KINDS)}", "kind")
        if sum(1 for way in (c.measure, c.test, c.elsewhere) if way) != 1:
            raise refuse(f"{c.id}: needs one of 'measure', 'test' and 'elsewhere'")
        if (c.kind == "test") != bool(c.test) and not c.elsewhere:
            raise refuse(f"{c.id}: kind 'test' and the key 'test' go together", "kind")
        word = c.kind in NUMERIC and isinstance(c.paper, str)
        if word != bool(c.expects) or (word and c.expects not in SIDES):
            raise refuse(f"{c.id}: 'expects' is above or below, of a ratio, gain or correlation without a number in the paper", "expects")
        if c.denied is not None and c.kind != "about":
            raise refuse(f"{c.id}: 'denied' is of the kind 'about'", "denied")
        if c.kind in ("size", "about", "portion") and isinstance(c.paper, str) and c.measure:
            raise refuse(f"{c.id}: a {c.kind} needs the paper's number", "paper")
        if c.measure:
            c.expression = c.expression_there = self.parsed(c.measure, self.place("[[claim]]", k, "measure"), c.id)
            if c.there:
                c.expression_there = self.parsed(c.there, self.place("[[claim]]", k, "there"), c.id)
                if c.expression_there.root != c.expression.root:
                    raise refuse(f"{c.id}: 'there' has another aggregate than 'measure'", "there")
            if ("series_rank" in c.expression.leaves) != (c.kind == "correlation"):
                raise refuse(f"{c.id}: kind 'correlation' and series_rank() go together", "kind")
            if c.expression.leaves and c.expression.planned and not c.by_construction:
                raise refuse(f"{c.id}: it rests on the plan of memory alone, and 'by_construction' does not say so", "measure")
        elif c.there or c.by_construction:
            key = "there" if c.there else "by_construction"
            raise refuse(f"{c.id}: '{key}' without 'measure'", key)
        return c


class Evidence(TomlFile):
    """What evidence.toml holds."""

    def __init__(self, claims, path=HERE / "evidence.toml"):
        super().__init__(path)
        self.records = self.table("records", list)
        self.population = self.table("population", list, needed=False)
        self.tests = self.table("tests", list, needed=False).get("runs", [])
        self.numbers = {name: claims.parsed(text, self.place("[numbers]", 0, name))
                        for name, text in self.table("numbers", str, needed=False).items()}
        known = {c.id for c in claims.claims}
        self.stated = {}
        for k, v in enumerate(self.tables("verdict", ("id", "verdict"))):
            if v["id"] not in known or v["id"] in self.stated:
                raise self.refusal(f"'{v['id']}' is no claim, or has two verdicts", "[[verdict]]", k)
            self.stated[v["id"]] = v
        self.changes = self.tables("change", ("time_utc", "reason"))
        for k, change in enumerate(self.changes):
            if not isinstance(change.get("claims"), list) or not all(isinstance(c, str) for c in change["claims"]):
                raise self.refusal("[[change]] without the array 'claims'", "[[change]]", k)
        for c in claims.claims:
            if c.records not in self.records and c.measure:
                raise self.refusal(f"{c.id}: [records] has no '{c.records}'", "[records]")

    def times_of(self, name):
        """When the judgement of a claim was changed, or came out otherwise by a change of the rules."""
        return [change["time_utc"] for change in self.changes if name in change["claims"]]


def judgement(file):
    """16 digits of how all claims of a ClaimFile are judged."""
    return hashlib.sha256(" ".join(f"{c.id} {c.digest()}" for c in file.claims).encode()).hexdigest()[:16]


def read_frozen(path):
    """{claim: digest} of frozen.txt."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
        return dict(line.split() for line in lines if line and not line.startswith("#"))
    except (OSError, ValueError) as e:
        raise records.Refused(f"{path}: {getattr(e, 'strerror', None) or 'expected lines CLAIM DIGEST'}") from e


@dataclasses.dataclass
class Judged:
    """A claim with what was measured. reason: why it is undecided, incomplete or not run; tested: the run of the tests;
    over: the Value over the population, with its verdict."""

    claim: Claim
    verdict: str = NOT_RUN
    value: Value = dataclasses.field(default_factory=Value)
    stand_ins: int = 0  # of the matrices that it rests on
    basis: str = "nothing"
    reason: str = ""
    tested: str = ""
    over: Value | None = None
    over_verdict: str = ""
    large: Value | None = None  # over the real matrices of LARGE rows and more
    missing: list = dataclasses.field(default_factory=list)  # real matrices that it was not measured on
    older: list = dataclasses.field(default_factory=list)  # matrices whose records are older than its judgement
    changed: list = dataclasses.field(default_factory=list)  # times of the changes that touched it
    why: str = ""

    def measured_text(self):
        return "(test)" if self.claim.test else shown(self.value)

    def matrices_text(self):
        """"12/13, 11 stand-in"."""
        if self.value.value is None:
            return ""
        return (f"{len(self.value.measured)}/{len(self.value.asked)}" +
                (f", {self.stand_ins} stand-in" if self.stand_ins else "") +
                (", simulated" if self.basis == "simulated" else ""))

    def as_json(self):
        c = self.claim
        out = {"id": c.id, "item": c.item, "where": c.where, "says": c.says, "kind": c.kind, "paper": c.paper, "unit": c.unit,
               "matrix": c.matrix, "series": c.series, "measured": self.value.value, "interval": interval_json(self.value),
               "verdict": self.verdict, "basis": self.basis, "matrices": self.value.measured, "asked": self.value.asked,
               "possible": self.value.possible, "stand_ins": self.stand_ins, "test": c.test, "tested": self.tested,
               "population": self.population_json(), "by_construction": c.by_construction,
               "changed": self.changed, "older": self.older, "reason": self.reason, "why": self.why, "note": c.note}
        return {key: value for key, value in out.items() if value is not None}

    def population_json(self):
        if not self.over or not self.over.each:
            return None
        numbers = sorted(e.number for e in self.over.each.values())
        return {"verdict": self.over_verdict, "value": self.over.value, "interval": interval_json(self.over),
                "matrices": len(numbers), "missing": self.missing,
                "share": sum(numbers) / len(numbers) if set(numbers) <= {0, 1} else None,
                "large": self.large and {"value": self.large.value, "interval": interval_json(self.large),
                                         "matrices": len(self.large.measured)}, **dict(zip(("least", "quartile", "median", "upper_quartile", "most"),
                                                     quartiles(numbers)))}


def quartiles(numbers):
    """Least, quartile, median, upper quartile and most of sorted numbers."""
    def at(q):
        x = q * (len(numbers) - 1)
        k = min(int(x), len(numbers) - 2) if len(numbers) > 1 else 0
        return numbers[k] if len(numbers) == 1 else numbers[k] + (x - k) * (numbers[k + 1] - numbers[k])
    return [at(q) for q in (0, 0.25, 0.5, 0.75, 1)]


def interval_json(value):
    """[low, high]; null for an open end."""
    return value.interval and [x if math.isfinite(x) else None for x in value.interval]


def shown(value):
    """A Value as text: 3.25 [3.1, 3.3], >= 7, BB,BC."""
    if value.value is None:
        return "-"
    if isinstance(value.value, str):
        return value.value
    sign = {1: ">= ", -1: "<= ", 0: ""}[value.bound]
    interval = ""
    if value.interval and value.interval[0] != value.interval[1] and not value.bound:
        interval = " [{:.4g}, {:.4g}]".format(*value.interval)
    return f"{sign}{value.value:.4g}{interval}"


def number_text(number):
    return number if isinstance(number, str) else f"{number:.4g}"


def states_bound(claim):
    """True of the largest or smallest value over one of the paper's sets, with the paper's number."""
    e = claim.expression
    return bool(e) and e.root in ("min", "max") and e.of_a_set and claim.kind != "about" and not isinstance(claim.paper, str)


def bounded(claim):
    """accepted() of what states_bound()."""
    none = NUMERIC.get(claim.kind, 0)
    effect = claim.paper - none
    at_most = (claim.expression.root == "max") == (effect > 0)  # of the effect
    ends = (effect / FACTOR, (1 + TOLERANCE) * effect) if at_most else ((1 - TOLERANCE) * effect, math.copysign(math.inf, effect))
    return sorted(none + end for end in ends)


def accepted(claim):
    """(least, most) of the values with the direction that the paper states, by RULES."""
    paper, kind = claim.paper, claim.kind
    if states_bound(claim):
        return bounded(claim)
    if kind in NUMERIC:
        none, small = NUMERIC[kind], SMALL[kind]
        up = claim.expects == "above" if claim.expects else paper > none
        return (beyond(none + small, math.inf), math.inf) if up else (-math.inf, beyond(none - small, -math.inf))
    if kind == "portion":
        return (beyond(0.5, math.inf), math.inf) if paper > 0.5 else (-math.inf, beyond(0.5, -math.inf))
    if kind == "size":
        return sorted((paper / FACTOR, paper * FACTOR))
    reach = TOLERANCE * abs(paper)
    if claim.denied is not None:
        reach = min(reach, abs(claim.denied - paper) / 2)
    return paper - reach, paper + reach


def beyond(limit, direction):
    """The first number beyond an open limit."""
    return math.nextafter(limit, direction)


def is_close(claim, number):
    """True if the value is the paper's, by RULES; of a word every value with the direction is."""
    if isinstance(claim.paper, str) or claim.kind == "about":
        return True
    tolerance = PORTION if claim.kind == "portion" else TOLERANCE * abs(claim.paper - NUMERIC.get(claim.kind, 0))
    return abs(number - claim.paper) <= tolerance


def has_magnitude(claim, number):
    """True unless the effect is less than a third or more than three times the paper's, where both are numbers."""
    if isinstance(claim.paper, str) or claim.kind not in ("ratio", "gain", "size"):
        return True
    none = NUMERIC.get(claim.kind, 0)
    effect, paper = abs(number - none), abs(claim.paper - none)
    return paper <= FACTOR * effect and effect <= FACTOR * paper


def verdict_on_number(claim, value):
    """(verdict, reason) on a Value that is a number, by RULES."""
    if value.interval is None:
        return UNDECIDED, "a case was measured once: no interval"
    low, high = value.interval
    if claim.kind == "every":
        if low >= 1:
            return REPRODUCED, ""
        if high >= 1:
            return UNDECIDED, "some matrices may or may not"
        return (SHAPE_ONLY if low > 0.5 else NOT_REPRODUCED), ""
    least, most = accepted(claim)
    if high < least or low > most:
        return NOT_REPRODUCED, ""
    if low < least or high > most:
        return UNDECIDED, f"the interval [{low:.3g}, {high:.3g}] leaves it open"
    if is_close(claim, value.value) and (not value.bound or isinstance(claim.paper, str)):
        return REPRODUCED, ""
    return (SHAPE_ONLY if has_magnitude(claim, value.value) else DIRECTION_ONLY), ""


def verdict_on_names(claim, value):
    """(verdict, reason) on a Value that is text."""
    if not isinstance(claim.paper, str) or claim.kind != "named":
        raise records.Refused("the measure gives matrices, the claim is not of the kind 'named'")
    if "which" == claim.expression.root:
        found, stated = set(value.value.split(",")) - {"none"}, set(claim.paper.split(",")) - {"none"}
        open_ = found ^ stated
        if open_ and open_ <= set(value.possible):
            return UNDECIDED, f"open: {', '.join(sorted(open_))}"
        return (REPRODUCED if not open_ else NOT_REPRODUCED), ""
    if value.possible and claim.paper in (value.value, *value.possible):
        return UNDECIDED, f"may also be {', '.join(value.possible)}"
    return (REPRODUCED if value.value == claim.paper else NOT_REPRODUCED), ""


def verdict_on(claim, value):
    missing = [m for m in value.asked if m not in value.measured]
    if missing:
        return INCOMPLETE, f"not measured on {', '.join(missing)}"
    return (verdict_on_names if isinstance(value.value, str) else verdict_on_number)(claim, value)


def judge(claim, measured, tests=(), population=None):
    """The verdict on a claim by records.Measured and, if a test case answers it, by the first run of the tests that has
    the case. population: records.Measured of real matrices. Refused names the claim."""
    if claim.elsewhere:
        return Judged(claim, ELSEWHERE, reason=claim.elsewhere)
    if claim.test:
        run = next((t for t in tests if claim.test in t.cases), None)
        if run is None:
            return Judged(claim, reason="no run of its test is on record")
        passed = run.cases[claim.test]
        return Judged(claim, REPRODUCED if passed else NOT_REPRODUCED, tested=run.origin(), basis="test",
                      reason="" if passed else f"its test failed ({run.origin()})")
    e = claim.expression
    try:
        j = Judged(claim, value=e.evaluate(measured))
        j.stand_ins = sum(map(measured.is_stand_in, j.value.measured))
        if j.value.value is None:
            absent = sorted(v for v in e.variants if not measured.has_variant(v))
            unknown = sorted(text for text in measured.unknown if any(f" {v} " in text for v in e.variants))
            j.reason = f"no records of {', '.join(absent)}" if absent else "; ".join(unknown) or "no records"
        else:
            j.basis = ("simulated" if "simulated" in e.leaves else "identity" if claim.by_construction or not j.value.asked else
                       "stand-ins" if j.stand_ins else "originals")
            j.verdict, j.reason = verdict_on(claim, j.value)
            about_stand_ins = j.stand_ins and (claim.kind == "named" or not e.of_a_set)
            if j.verdict == REPRODUCED and (about_stand_ins or j.basis == "simulated"):
                j.verdict = SHAPE_ONLY
                j.reason = "simulated" if j.basis == "simulated" else "a stand-in for the matrix that the claim is about"
        names = population.matrices() if population else ()
        if names and e.root and "simulated" not in e.leaves:
            judge_population(j, population, names)
    except records.Refused as fault:
        raise records.Refused(f"{claim.id}: {fault}") from fault
    return j


def judge_population(j, population, names):
    """Its value on every real matrix and, of an aggregate over a set, the verdict over them."""
    e = j.claim.expression_there
    if e.of_a_set:
        j.over = e.evaluate(population, names)
        # Of two GPUs the study has the larger matrices only; others lack what its time did not suffice for.
        j.missing = [m for m in j.over.asked if m not in j.over.measured]
        if e.of_a_population and isinstance(j.over.value, float):
            j.over_verdict = verdict_on_number(j.claim, j.over)[0]
            large = population.matrices(LARGE)
            j.large = e.evaluate(population, large) if large else None
        return
    j.over = Value()
    for name in names:
        found = e.of_matrix(population, name)
        if found is not None:
            j.over.each[name] = found


class Board:
    """All claims of a file, judged.

    item: only claims of this experiment, or of these. given: {name: files and folders} instead of those that [records] names. tests: a
    JUnit file of ctest instead of those of this tree and of [tests].
    """

    def __init__(self, file=HERE / "claims.toml", item="", given=None, tests=None, evidence=None, frozen=None):
        given = given or {}
        self.file = ClaimFile(file)
        self.evidence = Evidence(self.file, evidence or self.file.path.parent / "evidence.toml")
        frozen = Path(frozen or self.file.path.parent / "frozen.txt")
        self.frozen = read_frozen(frozen)
        rules = frozen.with_name("frozen_rules.txt")
        self.frozen_rules = rules.read_text(encoding="utf-8") if rules.exists() else RULES
        for name in given:
            if name not in self.evidence.records:
                raise records.Refused(f"--records {name}=...: expected NAME=PATH with a NAME of [records]")
        self.sources = {name: given.get(name) or [ROOT / p for p in paths] for name, paths in self.evidence.records.items()}
        items = [item] if isinstance(item, str) else list(item)
        known = list(dict.fromkeys(c.item for c in self.file.claims))
        for name in filter(None, items):
            if name not in known:
                raise records.Refused(f"no claim belongs to '{name}'; there are {', '.join(known)}")
        claims = [c for c in self.file.claims if not any(items) or c.item in items]
        if not claims:
            raise records.Refused("there are no claims")
        if tests:
            self.tests = [junit.TestRun(tests)]
        else:
            self.tests = junit.of_this_tree(ROOT) + [junit.TestRun(ROOT / p) for p in self.evidence.tests]
        self.read = {}
        self.fixed_at = self.evidence.content.get("judgement", {}).get("fixed_at", "")
        self.judged = [self.judge(c) for c in claims]

    def judge(self, claim):
        measured = self.measured(claim.records) if claim.measure else None
        population = self.population(claim.records) if claim.measure else None
        try:
            j = judge(claim, measured, self.tests, population)
        except records.Refused as e:
            raise records.Refused(f"{self.file.path}: {e}") from e
        if measured and j.verdict in WEIGHED:
            j.changed = self.evidence.times_of(claim.id)
            fixed_at = max([self.fixed_at, *j.changed])
            j.older = [m for m in j.value.measured if j.value.machines[m].older(m, fixed_at)]
        j.why = " ".join(self.evidence.stated.get(claim.id, {}).get("why", "").split())
        return j

    def measured(self, name):
        """records.Measured of one entry of [records]."""
        if name not in self.read:
            self.read[name] = records.Measured(self.sources[name])
        return self.read[name]

    def population(self, name):
        """records.Measured of one entry of [population], or None."""
        if name not in self.evidence.population:
            return None
        key = f"population {name}"
        if key not in self.read:
            self.read[key] = records.Measured([ROOT / p for p in self.evidence.population[name]], population=True)
        return self.read[key]

    def numbers(self):
        """[numbers], evaluated over the records "paper"."""
        out = []
        for name, expression in sorted(self.evidence.numbers.items()):
            v = expression.evaluate(self.measured("paper"))
            line = {"number": name, "matrices": len(v.measured)}
            out.append(line | {"value": v.value} if isinstance(v.value, float) else line)
        return out

    def score(self):
        """{verdict: {basis: claims}}, and {verdict: claims} over the population, without those that our own plan of memory
        decides there too."""
        bases = collections.defaultdict(collections.Counter)
        for j in self.judged:
            bases[j.verdict][j.basis] += 1
        return bases, collections.Counter(j.over_verdict for j in self.judged
                                          if j.over_verdict and not j.claim.expression.planned)

    def older(self):
        """How many claims were judged at least partly on records that are older than the last change of their judgement."""
        return sum(1 for j in self.judged if j.older)

    def changed(self):
        """[(claim, what)] of those that are not judged as was frozen, whatever became of the rules; what: changed, new or
        dropped."""
        now = {c.id: c.digest(self.frozen_rules) for c in self.file.claims}
        gone = [(name, "dropped") for name in self.frozen if name not in now]
        return gone + [(name, "changed" if name in self.frozen else "new") for name, digest in now.items()
                       if self.frozen.get(name) != digest]

    def problems(self):
        """Lines that say where evidence.toml states another verdict than the records, or gives no reason where they differ,
        and which changes of the judgement it does not own up to."""
        found = []
        for j in self.judged:
            stated = self.evidence.stated.get(j.claim.id, {})
            for key, verdict, text in (("verdict", j.verdict, j.reason if j.claim.test and j.reason else j.measured_text()),
                                       ("population", j.over_verdict, shown(j.over) if j.over else "-")):
                if stated.get(key, "") != verdict:
                    found.append(f"{j.claim.id}: evidence.toml states the {key} '{stated.get(key, '')}', the records say "
                                 f"'{verdict}' ({text})")
            if not j.why and j.verdict in (SHAPE_ONLY, DIRECTION_ONLY, NOT_REPRODUCED):
                found.append(f"{j.claim.id} has no reason why it differs")
        owned = {c for change in self.evidence.changes for c in change["claims"]}
        changed = dict(self.changed())
        found += [f"{name} was {what} since the judgement was frozen, and no [[change]] says why"
                  for name, what in changed.items() if name not in owned]
        known = {c.id for c in self.file.claims} | set(self.frozen)
        found += [f"[[change]] names '{name}', which is no claim" for name in sorted(owned - known)]
        last = self.evidence.changes[-1].get("judgement", "") if self.evidence.changes else ""
        if (changed or self.frozen_rules != RULES) and last != judgement(self.file):
            found.append(f"rules or claims are not those of the last [[change]]: one with judgement = \"{judgement(self.file)}\" "
                         "has to say what was changed, why, and which claims it touched")
        return found

    def text(self, width=WIDE, colour=False):
        """Statements with verdicts, the verdicts by kind, and where the measurements come from; lines of so many columns."""
        lines, item = [], ""
        if width >= WIDE:
            lines = [f"  {'verdict':<20}{'the paper says':<{statement_room(width)}} {'paper':>19}  {'here':<24} "
                     f"{'on real matrices':<21}{'claim' if width >= WIDEST else ''}"]
        for j in self.judged:
            if j.claim.item != item:
                item = j.claim.item
                lines += [""] * bool(lines) + [painted(printable(item), "bold", colour)]
            lines += statement(j, width, colour)
        bases, over = self.score()
        shown_bases = [b for b in BASES if any(counts[b] for counts in bases.values())]
        cell = max(len(b) for b in (*shown_bases, "population")) + 2
        cell = min(cell, max(5, (width - 28) // (len(shown_bases) + 1)))
        lines += ["", f"{len(self.judged)} claims", f"{'':<21}{'all':>5}" +
                  "".join(f"{b[:cell - 1]:>{cell}}" for b in (*shown_bases, "population"))]
        for verdict in VERDICTS:
            if bases[verdict] or over[verdict]:
                counts = [bases[verdict][b] or "" for b in shown_bases] + [over[verdict] or ""]
                lines.append(painted(f"{verdict:<21}", verdict, colour) + f"{sum(bases[verdict].values()):>5}" +
                             "".join(f"{n:>{cell}}" for n in counts))
        ends = [f"records '{name}': {self.measured(name).machine()}" for name in sorted(self.sources)
                if self.measured(name).runs]
        ends += [f"population '{name}': {len(self.population(name).matrices())} matrices, {self.population(name).machine()}"
                 for name in sorted(self.evidence.population)]
        ends += [f"tests: {origin}" for origin in dict.fromkeys(j.tested for j in self.judged if j.tested)]
        changed = self.changed()
        touched = sum(1 for j in self.judged if j.changed)
        ends.append(f"judgement: {len(changed)} claims changed, dropped or new since it was frozen; changes of claims, rules and the "
                    f"selection of records touched {touched}; {self.older()} rest at least partly on records that are older than "
                    "the last change of their judgement")
        lines += [""] + [line for text in ends for line in textwrap.wrap(printable(text), width, subsequent_indent="  ")]
        return "\n".join(line.rstrip() for line in lines) + "\n"


def shortened(text, width):
    """Text in so many columns, cut at a word with an ellipsis."""
    text = printable(" ".join(text.split()))
    if len(text) <= width:
        return text
    cut = text[:max(1, width - 1)]
    return (cut.rsplit(" ", 1)[0] if " " in cut[width // 2:] else cut) + "…"


def painted(text, verdict, colour):
    """Text in the colour of a verdict; without colour as it is."""
    return f"\x1b[{COLOURS[verdict]}m{text}\x1b[0m" if colour and verdict in COLOURS else text


def statement(j, width, colour):
    """Lines of one claim: verdict, what the paper says, its number and the one measured; in two lines where there is little
    room. The id follows where there is room for it."""
    verdict = painted(f"{j.verdict:<20}", j.verdict, colour)
    unit = f" {j.claim.unit}" if j.claim.unit and not isinstance(j.claim.paper, str) else ""
    there = f"real matrices: {j.over_verdict}" if j.over_verdict else ""
    if width < WIDE:
        room = max(12, width - 22)
        numbers = f"paper {number_text(j.claim.paper)}{unit}, here {j.measured_text()}"
        return [f"  {verdict}{shortened(j.claim.says, room)}",
                *(f"{'':22}{line}" for line in textwrap.wrap(printable("; ".join(filter(None, (numbers, there)))), room))]
    numbers = f"{shortened(number_text(j.claim.paper) + unit, 19):>19}  {shortened(j.measured_text(), 24):<24}"
    name = shortened(j.claim.id, ID) if width >= WIDEST else ""
    room = statement_room(width)
    return [f"  {verdict}{shortened(j.claim.says, room):<{room}} {numbers} {j.over_verdict:<21}{name}"]


def statement_room(width):
    """Columns for what the paper says where a claim stands in one line."""
    return width - 22 - 47 - 22 - (ID if width >= WIDEST else 0)


def json_text(board):
    """One JSON line for each claim, then for each of [numbers]."""
    lines = [j.as_json() for j in board.judged] + board.numbers()
    return "".join(json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n" for line in lines)


def stated_text(board):
    """The [[verdict]] tables that the records give, with the reasons that are known."""
    out = []
    for j in board.judged:
        out.append(f'[[verdict]]\nid = "{j.claim.id}"\nverdict = "{j.verdict}"')
        if j.over_verdict:
            out.append(f'population = "{j.over_verdict}"')
        if j.why:
            out.append(f"why = {json.dumps(j.why, ensure_ascii=False)}")
        out.append("")
    return "\n".join(out)


def on_terminal(board):
    """The text in the columns of the terminal, or of COLUMNS, in colour where it is one and NO_COLOR is not set."""
    terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size((WIDEST, 24)).columns if terminal or os.environ.get("COLUMNS") else WIDEST
    colour = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return board.text(max(60, width), colour)


class Parser(argparse.ArgumentParser):
    """An error is one line."""

    def error(self, message):
        raise records.Refused(message)


def main(arguments=None):
    """Exit status: 0, 1 if --check finds a verdict that is not what the records say, 2 for bad input."""
    p = Parser(prog="claims", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
               epilog="The rules:\n\n" + RULES + "\nThe language of `measure` in claims.toml:\n\n" + documentation())
    p.add_argument("--claims", metavar="FILE.toml", default=HERE / "claims.toml",
                   help="default: paper/claims.toml; evidence.toml and frozen.txt are those beside it")
    p.add_argument("--item", "--only", metavar="NAME", action="append", default=[],
                   help="only claims of this experiment; may be repeated")
    p.add_argument("--records", metavar="NAME=PATH", nargs="+", action="extend", default=[],
                   help="other records than those that evidence.toml names; may be repeated")
    p.add_argument("--tests", metavar="FILE.xml", help="JUnit file of ctest; default: build/*/tests.xml of this commit, "
                   "then the committed run that evidence.toml names")
    how = p.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="one JSON line each")
    how.add_argument("--stated", action="store_true", help="the [[verdict]] tables of evidence.toml as the records have them")
    how.add_argument("--freeze", action="store_true", help="the lines of frozen.txt: a digest of how each claim is judged")
    p.add_argument("--check", action="store_true", help="fail if a stated verdict is not what the records say")
    try:
        args = p.parse_args(arguments)
        given = collections.defaultdict(list)
        for text in args.records:
            name, _, path = text.partition("=")
            given[name].append(path)
        if args.freeze:
            text = "".join(f"{c.id} {c.digest()}\n" for c in ClaimFile(args.claims).claims)
        else:
            board = Board(args.claims, args.item, given, args.tests)
            text = json_text(board) if args.json else stated_text(board) if args.stated else on_terminal(board)
    except records.Refused as e:
        print(f"claims: error: {printable(e)}", file=sys.stderr)
        return BAD_INPUT
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError:
        print("claims: error: standard output: cannot write", file=sys.stderr)
        return FAILED
    problems = board.problems() if args.check else []
    for line in problems:
        print(printable(line), file=sys.stderr)
    return DIFFERS if problems else OK


if __name__ == "__main__":
    sys.exit(main())
