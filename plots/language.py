"""The expressions that figures draw: what they mean over the records (paper.toml has definitions and sets)."""

import ast
import dataclasses
import inspect
import math
import operator
import statistics

import estimate
import records
from estimate import Aggregate

DEEPEST = 20  # definitions within definitions


class Choice:
    """CHOICE(SET, E): matrices, as text; it stands alone."""

    def argmin(values):
        """The matrix with the smallest value; the first of several."""
        return min(values, key=lambda m: values[m].number)

    def argmax(values):
        """The matrix with the largest value; the first of several."""
        return max(values, key=lambda m: values[m].number)

    def which(values):
        """The matrices where the comparison E holds, joined by commas, or "none"."""
        return ",".join(m for m, holds in values.items() if holds.number) or "none"


class Leaf:
    """LEAF(WORD, ..., SETTING=WORD, ...): what was measured on one matrix; nothing where it was not.

    V is a variant. Settings select its runs: options of the variant, threads, chunk_size and ranks. The runs of a case at
    one commit on one machine are taken together; of several commits the last counts, of several machines the last that has
    everything that the expression needs of the matrix from three samples of each case, else from two, else from one. A
    setting in which the selected runs differ, on whatever matrices, must be named.
    """

    def time(m, matrix, V, /, **settings):
        """Lower median of the samples, seconds; at least its limit where a run passed that."""
        return timed(m, matrix, V, settings, lambda run: run["samples_s"])

    def bare(m, matrix, V, /, **settings):
        """The same without the phase compact, the digests of rows that only verification needs."""
        return timed(m, matrix, V, settings, lambda run: [s - run["phases_s"].get("compact", 0) for s in run["samples_s"]])

    def fastest(m, matrix, V, /, **settings):
        """time() of the fastest of all settings that are not named; had the runs been drawn again, another may be."""
        cases = m.cases(matrix, V, **settings)
        return estimate.least([estimate.of_samples(run["samples_s"], records.case_name(run)) for run in cases])

    def phase(m, matrix, NAME, V, /, **settings):
        """Seconds of a phase; 0 if it was not entered. A record has the phases of one run, the median: each record of a case
        is one sample. An error if no run of any variant entered it."""
        if m.whole.runs and not m.whole.has_phase(NAME):
            raise records.Refused(f"no run has a phase '{NAME}'")
        runs = m.each(matrix, V, **settings)
        found = [number_at(run["phases_s"], NAME, 0) for run in runs]
        return estimate.of_samples(found, records.case_name(runs[-1])) if runs else None

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
        """nnz_l, nnz_u, fill, which no setting changes; supernodes."""
        run = m.find(matrix, V, alike=NAME == "supernodes", **settings)
        return run and number_at(run["result"], NAME)

    def derived(m, matrix, NAME, V, /, **settings):
        """What the variant reports of its own plan: spilled_entries, ..."""
        run = m.find(matrix, V, **settings)
        return run and number_at(run.get("derived", {}), NAME)

    def counter(m, matrix, NAME, V, /, **settings):
        """A work counter of the counting build: the lower median of its runs. On a GPU threads race, and a count that is not
        fixed by the plan of memory differs from run to run."""
        found = [number_at(run["counters"], NAME) for run in m.counted(matrix, V, **settings)]
        return of_races(found, matrix, "cpu" if NAME in PLANNED else V, NAME, settings)

    def series_max(m, matrix, NAME, V, /, **settings):
        """Largest value over the sources, of the counting build; the lower median of its runs, likewise."""
        return series_stat(m, matrix, NAME, V, settings, "most")

    def series_min(m, matrix, NAME, V, /, **settings):
        """Smallest positive value over the sources, likewise."""
        return series_stat(m, matrix, NAME, V, settings, "least_positive")

    def series_rank(m, matrix, NAME, V, /, **settings):
        """Spearman's correlation of the values with the source, likewise."""
        return series_stat(m, matrix, NAME, V, settings, "rank_correlation")

    def matrix(m, matrix, NAME, /):
        """n, nnz of what was measured; paper.order, paper.nnz, paper.symmetry, paper.fill_ratio: what the paper says."""
        if NAME.startswith("paper."):
            return number_at(records.datasets().get(matrix, {}), NAME.removeprefix("paper."))
        run = next((r for abbr, r in m.runs if abbr == matrix), None)
        return run and number_at(run["matrix"], NAME)

    def profile(m, matrix, NAME, V, /):
        """Throughput by ncu: dram_gb_per_s, l2_gb_per_s, dram_percent and l2_percent of the peak of each; copy_gb_per_s of a
        copy on the same GPU. The lower median of the profiles of one machine."""
        found = [number_at(line, NAME) for line in m.whole.profiles.get((matrix, V), ())]
        return of_races(found, matrix, V, NAME, {})

    def simulated(m, matrix, /, **settings):
        """Seconds of the scheduling simulator (gpus=, schedule=), of the largest member of the family of the matrix's
        stand-in."""
        line = m.whole.simulated(matrix, **settings)
        return line and line["makespan_s"]


PLANNED = ("queue_capacity_VC",)  # counters that no race changes


def is_planned(leaf, words):
    """True of what the order and the entries of a matrix decide by our own plan of memory: nothing was measured."""
    return (leaf == "matrix" or (leaf == "mem" and words[0].split(".")[0] in ("device", "predicted")) or
            (leaf == "counter" and words[0] in PLANNED))


def timed(m, matrix, variant, settings, samples_of):
    run = m.find(matrix, variant, **settings)
    if run:
        return estimate.of_samples(samples_of(run), records.case_name(run))
    limit = m.limit(matrix, variant, **settings)
    return limit and estimate.at_least(limit)


def functions_of(family):
    """{name: function} of Aggregate, Choice or Leaf."""
    return {name: f for name, f in vars(family).items() if inspect.isfunction(f)}


def number_at(table, key, otherwise=None):
    value = table.get(key, otherwise)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def of_races(found, matrix, variant, what, settings):
    """The lower median of what several runs found, as uncertain as that; on a processor it is the same in each. None entries
    are left out."""
    found = [v for v in found if v is not None]
    if not found or variant.startswith("cpu"):
        return found[-1] if found else None
    return estimate.of_samples(found, f"{matrix} {variant} {what} {sorted(settings.items())}")


def series_stat(m, matrix, name, variant, settings, stat):
    """Of the series themselves where records have them, else of their statistics."""
    of_values = {"most": max, "least_positive": lambda v: min((x for x in v if x > 0), default=None),
                 "rank_correlation": rank_correlation}[stat]
    series = [run["series"].get(name) for run in m.counted(matrix, variant, series=True, **settings)]
    found = [of_values(values) for values in series if values]
    found = found or [number_at(run.get("series_stats", {}).get(name, {}), stat)
                      for run in m.counted(matrix, variant, **settings)]
    return of_races(found, matrix, variant, f"{name} {stat}", settings)


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


OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}
FALLING = {ast.Sub, ast.Div}  # in their second operand
COMPARISONS = {ast.Lt: operator.lt, ast.Gt: operator.gt, ast.LtE: operator.le, ast.GtE: operator.ge}
AGGREGATES, CHOICES, LEAVES = map(functions_of, (Aggregate, Choice, Leaf))


@dataclasses.dataclass
class Value:
    """What an expression comes to. value: a number, text (matrices), or None if not even one matrix was measured."""

    value: float | str | None = None
    interval: tuple | None = None  # of a number; None if a case on which it rests has too few samples
    bound: int = 0  # 1: at least `value`, -1: at most
    asked: list = dataclasses.field(default_factory=list)  # matrices that its sets name
    measured: list = dataclasses.field(default_factory=list)  # those that it rests on
    possible: list = dataclasses.field(default_factory=list)  # of text: what it may also be, had the runs been drawn again
    machines: dict = dataclasses.field(default_factory=dict)  # by matrix: the records.OneMachine whose runs were taken
    each: dict = dataclasses.field(default_factory=dict)  # by matrix: the number that the outermost aggregate or choice was given


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
        self.variants, self.leaves, self.used = set(), set(), {}
        self.planned = True  # is_planned() of all leaves
        self.named_settings = set()  # (variant, setting)
        self.root = None  # name and set of the outermost aggregate or choice, if the expression is one
        try:
            body = ast.parse(self.text, mode="eval").body
        except SyntaxError as e:
            raise self.refusal(e.offset or 1, e.msg) from e
        except (ValueError, RecursionError, MemoryError) as e:
            raise self.refusal(1, str(e) or "nested too deeply") from e
        name = getattr(body.func, "id", "") if isinstance(body, ast.Call) else ""
        chooses = depth == 0 and name in CHOICES
        if chooses or name in AGGREGATES:
            self.root = name
        try:
            self.run = self.over(body, CHOICES, True) if chooses else self.compiled(body, inside, depth == 0)
        except RecursionError as e:
            raise self.refusal(1, "nested too deeply") from e
        self.of_a_set = bool(self.root) and self.root_set in self.sets
        self.of_a_population = self.of_a_set and not chooses

    root_set = ""  # the set that the outermost aggregate or choice names, "" if it lists matrices

    def evaluate(self, measured, population=()):
        """Its Value by records.Measured; population: matrices that replace every named set; the interval then
        covers what other such matrices would have given, too. Refused names the expression."""
        found = Value()
        context = (measured, found, tuple(population))
        try:
            result = self.run(context, None)
        except (records.Refused, ValueError) as e:
            raise records.Refused(f"expression '{self.text}': {e}") from e
        if isinstance(result, estimate.Estimate):
            found.value, found.interval, found.bound = result.number, result.interval(), result.bound
        else:
            found.value = result
        return found

    def of_matrix(self, measured, matrix):
        """What the outermost aggregate is given of one matrix, or None."""
        return on_one_machine(self.inner, (measured, Value(), (matrix,)), matrix)

    def refusal(self, column, why):
        return records.Refused(f"expression '{self.text}', column {column}: {why}")

    def fail(self, node, why):
        raise self.refusal(node.col_offset + 1, why)

    # Each of the following returns a function (context, matrix or None) -> Estimate, text or None.

    def compiled(self, node, inside, outermost=False):
        match node:
            case ast.Constant(value=v) if type(v) in (int, float):
                constant = estimate.exact(v)
                return lambda context, matrix: constant
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                zero = estimate.exact(0)
                return self.arithmetic(ast.Sub, lambda *_: zero, self.compiled(operand, inside))
            case ast.BinOp(left=a, op=op, right=b) if type(op) in OPERATORS:
                return self.arithmetic(type(op), self.compiled(a, inside), self.compiled(b, inside))
            case ast.Compare(left=a, ops=[op], comparators=[b]) if type(op) in COMPARISONS:
                return self.comparison(type(op), self.compiled(a, inside), self.compiled(b, inside))
            case ast.Name(id=name):
                return self.defined(node, name, inside)
            case ast.Call(func=ast.Name(id=name)) if name in AGGREGATES:
                return self.over(node, AGGREGATES, outermost)
            case ast.Call(func=ast.Name(id=name)) if name in CHOICES:
                self.fail(node, f"{name}() stands alone: it gives matrices")
            case ast.Call(func=ast.Name(id=name)) if name in LEAVES:
                return self.leaf(node, name, inside)
            case ast.Call(func=ast.Name(id=name)):
                self.fail(node, f"there is no function {name}()")
        self.fail(node, f"'{ast.unparse(node)}' is not allowed here")

    @staticmethod
    def arithmetic(op, left, right):
        def run(context, matrix):
            a, b = left(context, matrix), right(context, matrix)
            return None if a is None or b is None else estimate.combined(OPERATORS[op], a, b, op in FALLING)
        return run

    @staticmethod
    def comparison(op, left, right):
        def run(context, matrix):
            a, b = left(context, matrix), right(context, matrix)
            return None if a is None or b is None else estimate.compared(COMPARISONS[op], a, b, op in (ast.Gt, ast.GtE))
        return run

    def defined(self, node, name, inside):
        if name not in self.definitions:
            self.fail(node, f"nothing is defined as '{name}'")
        if self.depth >= DEEPEST:
            self.fail(node, "definitions that name each other")
        inner = Expression(self.definitions[name], self.definitions, self.sets, self.depth + 1, inside)
        self.variants |= inner.variants
        self.leaves |= inner.leaves
        self.planned &= inner.planned
        self.named_settings |= inner.named_settings
        self.used |= inner.used | {name: inner.text}
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

    def over(self, node, family, outermost=False):
        name = node.func.id
        if len(node.args) != 2 or node.keywords:
            self.fail(node, f"{name}() needs a set of matrices and an expression")
        matrices, inner = self.matrices(node.args[0]), self.compiled(node.args[1], inside=True)
        if name == "at" and len(matrices) != 1:
            self.fail(node, "at() needs one matrix")
        named = node.args[0].id if isinstance(node.args[0], ast.Name) and node.args[0].id in self.sets else ""
        if outermost:
            self.root_set = named
            self.inner = inner

        def run(context, _):
            _, value, population = context
            found = {}
            for matrix in population if named and population else matrices:
                if matrix not in value.asked:
                    value.asked.append(matrix)
                number = on_one_machine(inner, context, matrix)
                if number is not None:
                    found[matrix] = number
                    if matrix not in value.measured:
                        value.measured.append(matrix)
            if outermost:
                value.each = found
            if not found:
                return None
            if family is CHOICES:
                value.possible = possible(name, found)
                return family[name](found)
            return estimate.aggregated(family[name], list(found.values()), len(matrices) if named and population else 0)
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
        self.planned &= is_planned(name, words)
        if "V" in bound.arguments:
            self.variants.add(bound.arguments["V"])
            self.named_settings |= {(bound.arguments["V"], name) for name in settings}

        def run(context, matrix):
            found = function(context[0], matrix, *words, **settings)
            if found is None or isinstance(found, estimate.Estimate):
                return found
            return estimate.exact(found) if math.isfinite(found) else None
        return run


def on_one_machine(inner, context, matrix):
    """What inner comes to on the last machine that measured all of it three times, else twice, else once; or None."""
    measured, value, population = context
    best = None
    for machine in measured.on(matrix):
        found = inner((machine, value, population), matrix)
        if found is None:
            continue
        rank = 0 if found.interval() is None else 1 if found.few else 2
        if best is None or rank > best[0]:
            best = rank, machine, found
    if best is None:
        return None
    _, value.machines[matrix], found = best
    return found


def possible(name, found):
    """What a choice may come to had the runs been drawn again: of argmin and argmax the matrices whose value may be the
    extreme one, of which those that may hold beyond those that do, and those that do but may not. [] if it is certain."""
    if name == "which":
        return [m for m, e in found.items() if e.interval() is None or e.interval()[0] != e.interval()[1]]
    sign = 1 if name == "argmax" else -1
    best = CHOICES[name](found)
    intervals = {m: e.interval() or (-math.inf, math.inf) for m, e in found.items()}
    reach = {m: sorted(sign * x for x in i) for m, i in intervals.items()}
    return [m for m in found if m != best and reach[m][1] >= reach[best][0]]


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
