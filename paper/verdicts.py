"""A claim and what was measured: the verdict by the rules of rules.py."""

import dataclasses
import math
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "plots"))

import records  # noqa: E402
from claim_files import Claim  # noqa: E402
from language import Value  # noqa: E402
from rules import (DIRECTION_ONLY, ELSEWHERE, FACTOR, INCOMPLETE, LARGE, NOT_REPRODUCED, NOT_RUN, NUMERIC, PORTION,  # noqa: E402
                   REPRODUCED, SHAPE_ONLY, SMALL, TOLERANCE, UNDECIDED)


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
