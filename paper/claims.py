#!/usr/bin/env python3
"""Scoreboard: every statement of the paper against the records."""

import argparse
import ast
import collections
import dataclasses
import inspect
import json
import math
import operator
import re
import statistics
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "plots"))

import records  # noqa: E402
import junit  # noqa: E402

ROOT = HERE.parent
OK, DIFFERS, BAD_INPUT, FAILED = 0, 1, 2, 4
DEEPEST = 20  # definitions within definitions


class Aggregate:
    """AGGREGATE(SET, E): one number from the values of E on the matrices of SET where E was measured."""

    def mean(values):
        """Arithmetic mean."""
        return statistics.fmean(values)

    def geomean(values):
        """Geometric mean; an error unless all values are positive."""
        if min(values) <= 0:
            raise records.Refused("geomean() of numbers that are not all positive")
        return statistics.geometric_mean(values)

    def median(values):
        """Median, the mean of the middle two of an even number."""
        return statistics.median(values)

    def min(values):
        """Smallest value."""
        return min(values)

    def max(values):
        """Largest value."""
        return max(values)

    def sum(values):
        """Sum."""
        return math.fsum(values)

    def at(values):
        """The value on the one matrix that SET names."""
        return values[0]

    def fraction(values):
        """Share of the matrices where the comparison E holds."""
        return statistics.fmean(values)


class Choice:
    """CHOICE(SET, E): matrices, as text; it stands alone."""

    def argmin(values):
        """The matrix with the smallest value; the first of several."""
        return min(values, key=values.get)

    def argmax(values):
        """The matrix with the largest value; the first of several."""
        return max(values, key=values.get)

    def which(values):
        """The matrices where the comparison E holds, joined by commas, or "none"."""
        return ",".join(m for m, holds in values.items() if holds) or "none"


class Leaf:
    """LEAF(WORD, ..., SETTING=WORD, ...): what was measured on one matrix; nothing where it was not.

    V is a variant. Settings select its runs: options of the variant, threads, chunk_size and ranks. Of several runs of a
    case the last counts. A setting in which the selected runs differ, on whatever matrices, must be named.
    """

    def time(m, matrix, V, /, **settings):
        """Lower median of the samples, seconds."""
        run = m.find(matrix, V, **settings)
        return run and records.seconds(run)

    def bare(m, matrix, V, /, **settings):
        """The same without the phase compact, the digests of rows that only verification needs."""
        run = m.find(matrix, V, **settings)
        return run and records.bare_seconds(run)

    def phase(m, matrix, NAME, V, /, **settings):
        """Seconds of a phase in the median run; 0 if it was not entered. An error if no run of any variant entered it."""
        if m.runs and not m.has_phase(NAME):
            raise records.Refused(f"no run has a phase '{NAME}'")
        run = m.find(matrix, V, **settings)
        return run and number_at(run["phases_s"], NAME, 0)

    def mem(m, matrix, NAME, V, /, **settings):
        """Bytes: device_peak, host_peak, device.NAME, predicted.NAME."""
        run = m.find(matrix, V, **settings)
        *groups, name = NAME.split(".")
        memory = run and run["mem"]
        for group in groups if run else ():
            if not isinstance(memory.get(group), dict):
                raise records.Refused(f"there is no '{NAME}' in mem")
            memory = memory[group]
        return run and number_at(memory, name)

    def result(m, matrix, NAME, V, /, **settings):
        """nnz_l, nnz_u, fill, supernodes."""
        run = m.find(matrix, V, **settings)
        return run and number_at(run["result"], NAME)

    def counter(m, matrix, NAME, V, /, **settings):
        """A work counter of the counting build."""
        run = m.find(matrix, V, counting=True, **settings)
        return run and number_at(run["counters"], NAME)

    def series_max(m, matrix, NAME, V, /, **settings):
        """Largest value over the sources, of the counting build."""
        return max(series(m, matrix, NAME, V, settings), default=None)

    def series_min(m, matrix, NAME, V, /, **settings):
        """Smallest positive value over the sources, of the counting build."""
        return min((v for v in series(m, matrix, NAME, V, settings) if v > 0), default=None)

    def series_rank(m, matrix, NAME, V, /, **settings):
        """Spearman's correlation of the values with the source, of the counting build."""
        return rank_correlation(series(m, matrix, NAME, V, settings))

    def matrix(m, matrix, NAME, /):
        """n, nnz of what was measured; paper.order, paper.nnz, paper.symmetry, paper.fill_ratio: what the paper says."""
        if NAME.startswith("paper."):
            return number_at(records.datasets().get(matrix, {}), NAME.removeprefix("paper."))
        run = next((r for abbr, r in m.runs if abbr == matrix), None)
        return run and number_at(run["matrix"], NAME)

    def profile(m, matrix, NAME, V, /):
        """Throughput by ncu: dram_gb_per_s, l2_gb_per_s; copy_gb_per_s of a copy on the same GPU."""
        line = m.profiles.get((matrix, V))
        return line and number_at(line, NAME)

    def simulated(m, matrix, /, **settings):
        """Seconds of the scheduling simulator (gpus=, schedule=), of the largest member of the family of the matrix's
        stand-in."""
        line = m.simulated(matrix, **settings)
        return line and line["makespan_s"]


def functions_of(family):
    """{name: function} of Aggregate, Choice or Leaf."""
    return {name: f for name, f in vars(family).items() if inspect.isfunction(f)}


def number_at(table, key, otherwise=None):
    value = table.get(key, otherwise)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def series(m, matrix, name, variant, settings):
    run = m.find(matrix, variant, counting=True, series=True, **settings)
    return run["series"].get(name, []) if run else []


def rank_correlation(values):
    """Spearman's correlation of values with 0, 1, ...; None if all are equal."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    begin = 0
    while begin < len(order):
        end = begin
        while end < len(order) and values[order[end]] == values[order[begin]]:
            end += 1
        for k in order[begin:end]:
            ranks[k] = (begin + end - 1) / 2
        begin = end
    return statistics.correlation(range(len(values)), ranks) if len(set(ranks)) > 1 else None


OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
             ast.Lt: operator.lt, ast.Gt: operator.gt, ast.LtE: operator.le, ast.GtE: operator.ge}
AGGREGATES, CHOICES, LEAVES = map(functions_of, (Aggregate, Choice, Leaf))


@dataclasses.dataclass
class Value:
    """What an expression comes to. value: a number, text (matrices), or None if not even one matrix was measured."""

    value: float | str | None = None
    asked: list = dataclasses.field(default_factory=list)  # matrices that its sets name
    measured: list = dataclasses.field(default_factory=list)  # those that it rests on


class Expression:
    """An expression over measurements in Python's syntax:

      numbers, + - * /, parentheses, one comparison < > <= >=;
      AGGREGATE(SET, E) and CHOICE(SET, E); SET: the name of a set, one matrix, or {A, B}; a matrix on which E was not
      measured, or is infinite, is left out;
      LEAF(WORD, ..., SETTING=WORD, ...) within an aggregate or a choice;
      the name of a definition.
    """

    def __init__(self, text, definitions, sets, depth=0, inside=False):
        """definitions: expressions by name; sets: matrices by name, `all` among them. Refused names the expression and the
        column of a fault. depth and inside (an aggregate) are those of a definition within an expression."""
        self.text = " ".join(text.split())
        self.definitions, self.sets, self.depth = definitions, sets, depth
        self.variants, self.leaves = set(), set()
        try:
            body = ast.parse(self.text, mode="eval").body
        except SyntaxError as e:
            raise self.refusal(e.offset or 1, e.msg) from e
        except (ValueError, RecursionError, MemoryError) as e:
            raise self.refusal(1, str(e) or "nested too deeply") from e
        chooses = depth == 0 and isinstance(body, ast.Call) and getattr(body.func, "id", "") in CHOICES
        try:
            self.run = self.over(body, CHOICES) if chooses else self.compiled(body, inside)
        except RecursionError as e:
            raise self.refusal(1, "nested too deeply") from e

    def evaluate(self, measured):
        """Its Value by records.Measured; Refused names the expression."""
        value = Value()
        try:
            value.value = self.run(measured, value, None)
        except records.Refused as e:
            raise records.Refused(f"expression '{self.text}': {e}") from e
        return value

    def refusal(self, column, why):
        return records.Refused(f"expression '{self.text}', column {column}: {why}")

    def fail(self, node, why):
        raise self.refusal(node.col_offset + 1, why)

    # Each of the following returns a function (measured, Value, matrix or None) -> number or None.

    def compiled(self, node, inside):
        match node:
            case ast.Constant(value=v) if type(v) in (int, float):
                return lambda measured, value, matrix: v
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.arithmetic(operator.sub, lambda *_: 0, self.compiled(operand, inside))
            case ast.BinOp(left=a, op=op, right=b) if type(op) in OPERATORS:
                return self.arithmetic(OPERATORS[type(op)], self.compiled(a, inside), self.compiled(b, inside))
            case ast.Compare(left=a, ops=[op], comparators=[b]) if type(op) in OPERATORS:
                return self.arithmetic(OPERATORS[type(op)], self.compiled(a, inside), self.compiled(b, inside))
            case ast.Name(id=name):
                return self.defined(node, name, inside)
            case ast.Call(func=ast.Name(id=name)) if name in AGGREGATES:
                return self.over(node, AGGREGATES)
            case ast.Call(func=ast.Name(id=name)) if name in CHOICES:
                self.fail(node, f"{name}() stands alone: it gives matrices")
            case ast.Call(func=ast.Name(id=name)) if name in LEAVES:
                return self.leaf(node, name, inside)
            case ast.Call(func=ast.Name(id=name)):
                self.fail(node, f"there is no function {name}()")
        self.fail(node, f"'{ast.unparse(node)}' is not allowed here")

    @staticmethod
    def arithmetic(function, left, right):
        def run(measured, value, matrix):
            a, b = left(measured, value, matrix), right(measured, value, matrix)
            if a is None or b is None:
                return None
            try:
                result = float(function(a, b))
            except (ZeroDivisionError, OverflowError):
                return None
            return result if math.isfinite(result) else None
        return run

    def defined(self, node, name, inside):
        if name not in self.definitions:
            self.fail(node, f"nothing is defined as '{name}'")
        if self.depth >= DEEPEST:
            self.fail(node, "definitions that name each other")
        inner = Expression(self.definitions[name], self.definitions, self.sets, self.depth + 1, inside)
        self.variants |= inner.variants
        self.leaves |= inner.leaves
        return inner.run

    def matrices(self, node):
        names = [self.word(e) for e in node.elts] if isinstance(node, (ast.Set, ast.List, ast.Tuple)) else None
        if names is None:
            name = self.word(node)
            names = self.sets.get(name, [name])
        for name in names:
            if name not in self.sets["all"]:
                self.fail(node, f"no matrix or set is named '{name}'")
        return list(dict.fromkeys(names))

    def over(self, node, family):
        name = node.func.id
        if len(node.args) != 2 or node.keywords:
            self.fail(node, f"{name}() needs a set of matrices and an expression")
        matrices, inner = self.matrices(node.args[0]), self.compiled(node.args[1], inside=True)
        if name == "at" and len(matrices) != 1:
            self.fail(node, "at() needs one matrix")

        def run(measured, value, _):
            found = {}
            for matrix in matrices:
                if matrix not in value.asked:
                    value.asked.append(matrix)
                number = inner(measured, value, matrix)
                if number is not None:
                    found[matrix] = number
                    if matrix not in value.measured:
                        value.measured.append(matrix)
            if not found:
                return None
            return family[name](found if family is CHOICES else list(found.values()))
        return run

    def word(self, node):
        """A name, perhaps dotted, or a constant, as text."""
        match node:
            case ast.Name(id=name):
                return name
            case ast.Attribute(value=value, attr=name):
                return f"{self.word(value)}.{name}"
            case ast.Constant(value=v) if isinstance(v, (bool, int, float, str)):
                return records.as_text(v)
        self.fail(node, f"expected a word, not '{ast.unparse(node)}'")

    def leaf(self, node, name, inside):
        if not inside:
            self.fail(node, f"{name}() stands outside of every set of matrices")
        words = [self.word(a) for a in node.args]
        if any(k.arg is None for k in node.keywords):
            self.fail(node, "** is not allowed")
        settings = {k.arg: self.word(k.value) for k in node.keywords}
        function = LEAVES[name]
        try:
            bound = inspect.signature(function).bind(None, None, *words, **settings)
        except TypeError as e:
            self.fail(node, f"{name}(): {e}")
        self.leaves.add(name)
        if "V" in bound.arguments:
            self.variants.add(bound.arguments["V"])
        return lambda measured, value, matrix: function(measured, matrix, *words, **settings)


@dataclasses.dataclass
class Claim:
    """A statement of the paper with the measurement that answers it; the head of claims.toml says what each key is."""

    id: str
    item: str
    says: str
    paper: float | str
    where: str = ""
    unit: str = ""
    matrix: str = ""
    series: str = ""
    records: str = "paper"
    measure: str = ""
    test: str = ""
    not_testable: str = ""
    shape: str = ""
    tolerance: float = 0
    baseline: float = 0
    not_comparable: str = ""
    by_construction: bool = False
    verdict: str = ""
    why: str = ""
    note: str = ""
    expression: Expression | None = None


NUMBER = (int, float)
TEXTS = ("id", "item", "where", "says", "unit", "matrix", "series", "records", "measure", "test", "not_testable", "shape",
         "not_comparable", "verdict", "why", "note")
TYPES = {key: str for key in TEXTS} | {"paper": (int, float, str), "tolerance": NUMBER,
                                       "baseline": NUMBER, "by_construction": bool}
KINDS = {str: "a string", NUMBER: "a number", bool: "true or false", (int, float, str): "a number or a string"}
SHAPE = re.compile(r"(>|<|>=|<=|=) (-?[0-9.]+(?:e-?[0-9]+)?)")


def has_shape(value, shape):
    """True if a value satisfies a shape such as "> 1" or "= 13"; Refused if it is none."""
    match = SHAPE.fullmatch(shape)
    try:
        bound = float(match[2]) if match else math.nan
    except ValueError:
        bound = math.nan
    if math.isnan(bound):
        raise records.Refused(f"shape '{shape}': expected one of > < >= <= = and a number, as in '> 1'")
    if match[1] == "=":
        return abs(value - bound) <= 1e-9 * max(1, abs(bound))
    return {">": operator.gt, "<": operator.lt, ">=": operator.ge, "<=": operator.le}[match[1]](value, bound)


class ClaimFile:
    """What claims.toml holds. Refused names the file, the line and the reason of the first fault."""

    def __init__(self, path=HERE / "claims.toml"):
        self.path = Path(path)
        self.content = records.read_toml(self.path)
        self.lines = self.path.read_text(encoding="utf-8").splitlines()
        self.records = self.table("records", list)
        self.sets = self.table("sets", list)
        if "all" not in self.sets:
            raise self.refusal("[sets] without 'all'", "[sets]")
        self.definitions = self.table("define", str)
        self.numbers = {name: self.parsed(text, self.place("[numbers]", 0, name))
                        for name, text in self.table("numbers", str, needed=False).items()}
        self.tests = self.table("tests", list, needed=False).get("runs", [])
        self.claims = [self.claim(k, t) for k, t in enumerate(self.tables("claim"))]
        twice = [c for c, n in collections.Counter(c.id for c in self.claims).items() if n > 1]
        if twice:
            raise self.refusal(f"a second claim '{twice[0]}'")
        self.findings = self.tables("finding")

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

    def tables(self, name):
        tables = self.content.get(name, [])
        if not isinstance(tables, list) or not all(isinstance(t, dict) for t in tables):
            raise self.refusal(f"'{name}' is not an array of tables")
        return tables

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
            if not isinstance(value, TYPES[key]) or (isinstance(value, bool) and TYPES[key] is not bool):
                raise refuse(f"'{key}' is not {KINDS[TYPES[key]]}", key)
        for key in ("paper", "id", "item", "says"):
            if table.get(key, "") == "":
                raise refuse(f"[[claim]] without '{key}'")
        # Lines that were broken begin with blanks.
        c = Claim(**{key: value.lstrip(" \n") if isinstance(value, str) else value for key, value in table.items()})
        if not isinstance(c.paper, str):
            c.paper = float(c.paper)
        if sum(1 for way in (c.measure, c.test, c.not_testable) if way) != 1:
            raise refuse(f"{c.id}: needs one of 'measure', 'test' and 'not_testable'")
        if c.records not in self.records:
            raise refuse(f"{c.id}: [records] has no '{c.records}'", "records")
        if c.shape:
            try:
                has_shape(0, c.shape)
            except records.Refused as e:
                raise refuse(f"{c.id}: {e}", "shape") from e
        if c.measure:
            c.expression = self.parsed(c.measure, self.place("[[claim]]", k, "measure"), c.id)
        return c


REPRODUCED, SHAPE_ONLY, NOT_REPRODUCED, NOT_TESTABLE, NOT_RUN, UNJUDGED = VERDICTS = (
    "reproduced", "shape only", "not reproduced", "not testable here", "not run here", "unjudged")


@dataclasses.dataclass
class Judged:
    """A claim with what was measured. reason: why it is not testable, not run or unjudged; tested: the run of the tests."""

    claim: Claim
    verdict: str = UNJUDGED
    value: Value = dataclasses.field(default_factory=Value)
    stand_ins: int = 0  # of the matrices that it rests on
    simulated: bool = False
    reason: str = ""
    tested: str = ""

    def measured_text(self):
        if self.claim.test:
            return "(test)"
        return "-" if self.value.value is None else shown(self.value.value)

    def basis(self):
        """"12/13, 11 stand-in"."""
        if self.value.value is None:
            return ""
        return (f"{len(self.value.measured)}/{len(self.value.asked)}" +
                (f", {self.stand_ins} stand-in" if self.stand_ins else "") + (", simulated" if self.simulated else ""))

    def as_json(self):
        c = self.claim
        out = {"id": c.id, "item": c.item, "where": c.where, "says": c.says, "paper": c.paper, "unit": c.unit,
               "matrix": c.matrix, "series": c.series, "measured": self.value.value, "verdict": self.verdict,
               "matrices": self.value.measured, "asked": self.value.asked, "stand_ins": self.stand_ins,
               "simulated": self.simulated, "test": c.test, "tested": self.tested, "why": c.why or self.reason,
               "note": c.note}
        return {key: value for key, value in out.items() if value is not None}


def shown(value):
    return value if isinstance(value, str) else f"{value:.4g}"


def judge(claim, measured, tests=()):
    """The verdict on a claim by records.Measured and, if a test case answers it, by the first run of the tests that has
    the case. Refused names the claim."""
    if claim.not_testable:
        return Judged(claim, NOT_TESTABLE, reason=claim.not_testable)
    if claim.test:
        run = next((t for t in tests if claim.test in t.cases), None)
        if run is None:
            return Judged(claim, NOT_RUN, reason="no run of its test is on record")
        passed = run.cases[claim.test]
        return Judged(claim, REPRODUCED if passed else NOT_REPRODUCED, tested=run.origin(),
                      reason="" if passed else f"its test failed ({run.origin()})")
    try:
        j = Judged(claim, value=claim.expression.evaluate(measured), simulated="simulated" in claim.expression.leaves)
        j.stand_ins = sum(map(measured.is_stand_in, j.value.measured))
        if j.value.value is None:
            unknown = sorted(v for v in claim.expression.variants if not measured.has_variant(v))
            j.reason = f"no records of {', '.join(unknown)}" if unknown else "no records"
        elif claim.not_comparable:
            j.verdict, j.reason = NOT_TESTABLE, claim.not_comparable
        elif claim.by_construction and j.stand_ins:
            j.verdict, j.reason = NOT_TESTABLE, "the stand-in was made to have this value"
        elif isinstance(j.value.value, str):
            judge_text(j)
        else:
            judge_number(j)
    except records.Refused as e:
        raise records.Refused(f"{claim.id}: {e}") from e
    return j


def judge_text(j):
    if not isinstance(j.claim.paper, str):
        raise records.Refused("the measure gives matrices, paper a number")
    missing = [m for m in j.value.asked if m not in j.value.measured]
    if missing:
        j.verdict, j.reason = NOT_TESTABLE, f"not measured on {', '.join(missing)}"
    else:
        j.verdict = REPRODUCED if j.value.value == j.claim.paper else NOT_REPRODUCED


def judge_number(j):
    c, value = j.claim, j.value.value
    shaped = not c.shape or has_shape(value, c.shape)
    if isinstance(c.paper, str):
        if not c.shape:
            raise records.Refused("neither a number nor a shape")
        j.verdict = REPRODUCED if shaped else NOT_REPRODUCED
    else:
        close = abs(value - c.paper) <= c.tolerance * abs(c.paper - c.baseline) + 1e-12
        j.verdict = NOT_REPRODUCED if not shaped else REPRODUCED if close else SHAPE_ONLY


def check_stated(judged):
    """Lines that say where the file states another verdict than the records, or gives no reason where they differ."""
    problems = []
    for j in judged:
        if j.verdict == UNJUDGED:
            problems.append(f"{j.claim.id} is unjudged: {j.reason}")
        elif j.claim.verdict != j.verdict:
            problems.append(f"{j.claim.id} is stated as '{j.claim.verdict}', the records say '{j.verdict}' "
                            f"({j.reason if j.claim.test and j.reason else j.measured_text()})")
        elif not j.claim.why and j.verdict in (SHAPE_ONLY, NOT_REPRODUCED):
            problems.append(f"{j.claim.id} has no reason why it differs")
    return problems


class Board:
    """All claims of a file, judged.

    item: only claims of this experiment. given: {name: files and folders} instead of those that [records] names. tests: a
    JUnit file of ctest instead of those of this tree and of [tests].
    """

    def __init__(self, file=HERE / "claims.toml", item="", given=None, tests=None):
        given = given or {}
        self.file = ClaimFile(file)
        for name in given:
            if name not in self.file.records:
                raise records.Refused(f"--records {name}=...: expected NAME=PATH with a NAME of [records]")
        self.sources = {name: given.get(name) or [ROOT / p for p in paths] for name, paths in self.file.records.items()}
        claims = [c for c in self.file.claims if not item or c.item == item]
        if not claims:
            raise records.Refused(f"no claim belongs to '{item}'")
        if tests:
            self.tests = [junit.TestRun(tests)]
        else:
            self.tests = junit.of_this_tree(ROOT) + [junit.TestRun(ROOT / p) for p in self.file.tests]
        self.read = {}
        self.judged = [self.judge(c) for c in claims]

    def judge(self, claim):
        measured = self.measured(claim.records) if claim.measure else None
        try:
            return judge(claim, measured, self.tests)
        except records.Refused as e:
            raise records.Refused(f"{self.file.path}: {e}") from e

    def measured(self, name):
        """records.Measured of one entry of [records]."""
        if name not in self.read:
            self.read[name] = records.Measured(self.sources[name])
        return self.read[name]

    def numbers(self):
        """[numbers], evaluated over the records "paper"."""
        out = []
        for name, expression in sorted(self.file.numbers.items()):
            v = expression.evaluate(self.measured("paper"))
            line = {"number": name, "matrices": len(v.measured)}
            out.append(line | {"value": v.value} if isinstance(v.value, float) else line)
        return out

    def text(self):
        """The table, the verdicts by kind, and where the measurements come from."""
        rows = [("claim", "paper", "here", "unit", "verdict", "matrices")]
        rows += [(j.claim.id, shown(j.claim.paper), j.measured_text(), j.claim.unit, j.verdict, j.basis())
                 for j in self.judged]
        width = [max(len(row[c]) for row in rows) for c in range(len(rows[0]))]
        rows = [[printable(cell) for cell in row] for row in rows]
        lines = ["  ".join(f"{cell:{'>' if c in (1, 2) else '<'}{width[c]}}" for c, cell in enumerate(row)).rstrip()
                 for row in rows]
        lines += ["", f"{len(self.judged)} claims"]
        for verdict in VERDICTS:
            of = [j for j in self.judged if j.verdict == verdict]
            simulated = sum(1 for j in of if j.simulated)
            stand_ins = sum(1 for j in of if j.stand_ins and not j.simulated)
            if of:
                lines.append(f"{verdict:<18} {len(of):>4}: {len(of) - simulated - stand_ins} without stand-ins, "
                             f"{stand_ins} with, {simulated} simulated")
        lines += [f"records '{name}': {self.measured(name).machine()}" for name in sorted(self.sources)]
        lines += [f"tests: {origin}" for origin in dict.fromkeys(j.tested for j in self.judged if j.tested)]
        return "\n".join(lines) + "\n"


def printable(text):
    """Control characters of what files hold do not reach the terminal."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", "?", str(text))


def json_text(board):
    """One JSON line for each claim, then for each of [numbers]."""
    lines = [j.as_json() for j in board.judged] + board.numbers()
    return "".join(json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n" for line in lines)


class Parser(argparse.ArgumentParser):
    """An error is one line."""

    def error(self, message):
        raise records.Refused(message)


def documentation():
    """The language, from the docstrings above."""
    parts = [inspect.getdoc(Expression)]
    for family in (Aggregate, Choice, Leaf):
        parts.append(inspect.getdoc(family))
        for name, f in functions_of(family).items():
            words = [p.name for p in inspect.signature(f).parameters.values() if p.name.isupper()]
            what = " ".join(inspect.getdoc(f).split())
            parts.append(f"  {name}({', '.join(words)}): {what}" if family is Leaf else f"  {name}: {what}")
    return "\n".join(parts)


def main(arguments=None):
    """Exit status: 0, 1 if --check finds a verdict that is not what the records say, 2 for bad input."""
    p = Parser(prog="claims", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
               epilog="The language of `measure` in claims.toml:\n\n" + documentation())
    p.add_argument("--claims", metavar="FILE.toml", default=HERE / "claims.toml", help="default: paper/claims.toml")
    p.add_argument("--item", metavar="NAME", default="", help="only claims of this experiment")
    p.add_argument("--records", metavar="NAME=PATH", nargs="+", action="extend", default=[],
                   help="other records than those that the file names; may be repeated")
    p.add_argument("--tests", metavar="FILE.xml", help="JUnit file of ctest; default: build/*/tests.xml of this commit, "
                   "then the committed run that the file names")
    p.add_argument("--json", action="store_true", help="one JSON line each")
    p.add_argument("--check", action="store_true", help="fail if a stated verdict is not what the records say")
    try:
        args = p.parse_args(arguments)
        given = collections.defaultdict(list)
        for text in args.records:
            name, _, path = text.partition("=")
            given[name].append(path)
        board = Board(args.claims, args.item, given, args.tests)
        text = json_text(board) if args.json else board.text()
    except records.Refused as e:
        print(f"claims: error: {printable(e)}", file=sys.stderr)
        return BAD_INPUT
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError:
        print("claims: error: standard output: cannot write", file=sys.stderr)
        return FAILED
    problems = check_stated(board.judged) if args.check else []
    for line in problems:
        print(printable(line), file=sys.stderr)
    return DIFFERS if problems else OK


if __name__ == "__main__":
    sys.exit(main())
