"""Quantities of the paper's figures: one number for each matrix and host, aggregates by kind of matrix, 95 % intervals.

A Case selects runs: a variant, its settings, the timed or the counting build. A quantity is a function of one number per case,
all from one host, such as the ratio of two times. The value of a matrix is the median over the hosts that measured it. Intervals
draw hosts first, with replacement and alike for all matrices of the same hosts, then the matrices of an aggregate, then the runs
of each case. A run that passed its time limit counts with its limit, and makes the value a bound.
"""

import dataclasses
import functools
import statistics
import zlib
from pathlib import Path

import numpy

import records

REPLICATES = 999
LEAST = 3  # samples of a case that are drawn again
LEAST_ROWS = 1000  # of a matrix; times of smaller ones are those of launches and calls
NUMBERS = {"mean": numpy.mean, "median": numpy.median, "geometric mean": lambda x, axis=None: numpy.exp(numpy.mean(numpy.log(x), axis))}


@dataclasses.dataclass(frozen=True)
class Case:
    """Runs of a variant, or of several variants, which must all have run on a host. of: "time" in seconds, "bare" (without the digests
    of rows), or a function of a run. fewest: if runs differ in settings that are not named, the setting with the smallest number counts;
    otherwise such runs are refused."""

    variant: str | tuple
    of: object = "bare"
    counting: bool = False
    fewest: bool = False
    settings: tuple = ()

    def variants(self):
        return (self.variant,) if isinstance(self.variant, str) else self.variant

    def takes(self, run):
        if run["variant"] not in self.variants() or run["counting"] != self.counting:
            return False
        mine = records.settings(run)
        return all(records.as_text(mine.get(k)) == records.as_text(v) for k, v in self.settings)

    def numbers(self, runs):
        """Samples of the runs."""
        if not isinstance(self.of, str):
            return [x for r in runs if (x := self.of(r)) is not None]
        return [s - (r["phases_s"].get("compact", 0) if self.of == "bare" else 0) for r in runs for s in r["samples_s"]]


def case(variant, of="bare", counting=False, fewest=False, **settings):
    """A Case with named settings."""
    return Case(variant, of, counting, fewest, tuple(settings.items()))


@dataclasses.dataclass
class Value:
    """Of one matrix: values[0] and its replicates. bound: 1 if it is at least that, -1 if at most."""

    values: object
    kind: str
    hosts: int
    bound: int = 0

    @property
    def number(self):
        return float(self.values[0])

    def interval(self):
        return interval(self.values)


@dataclasses.dataclass
class Quantity:
    """Values by matrix."""

    each: dict

    def of_kind(self, kind):
        """{matrix: Value} of a kind; "real" without the original, which is a kind by itself."""
        return {m: v for m, v in self.each.items() if v.kind == kind}

    def over(self, kinds, how="geometric mean"):
        """(number, interval or None, bound, matrices) of an aggregate over kinds; the interval is infinite where a bound leaves it open."""
        mine = [v for v in self.each.values() if v.kind in kinds]
        if not mine:
            return None
        values, count = numpy.stack([v.values for v in mine]), len(mine)
        drawn = numpy.random.default_rng(count).integers(count, size=(count, REPLICATES))
        again = NUMBERS[how](values[drawn, numpy.arange(1, 1 + REPLICATES)], axis=0)
        bounds = {v.bound for v in mine} - {0}
        low, high = interval(numpy.append(numpy.nan, again)) or (None, None)
        if low is not None:  # a bound leaves one end open
            low, high = -numpy.inf if -1 in bounds else low, numpy.inf if 1 in bounds else high
        bound = bounds.pop() if len(bounds) == 1 else 0
        return float(NUMBERS[how](values[:, 0])), None if low is None else (low, high), bound, count


def of_samples(samples, name):
    """Value of the samples of one case."""
    return Value(replicates(tuple(samples), name), "", 1)


def at_least(number):
    """Value of a run that was ended after `number` seconds."""
    return Value(numpy.full(1 + REPLICATES, float(number)), "", 1, 1)


def over(a, b):
    """Value of a over b; None if their bounds say nothing together."""
    bounds = {a.bound, -b.bound} - {0}
    return Value(a.values / b.values, a.kind, a.hosts, *bounds) if len(bounds) < 2 else None


def interval(values):
    """(low, high) of 95 % of the replicates; None if they are all alike."""
    if numpy.all(values[1:] == values[1]):
        return None
    low, high = numpy.percentile(values[1:], (2.5, 97.5))
    return (float(low), float(high)) if low < high else None


@functools.lru_cache(maxsize=None)
def replicates(samples, name):
    """The lower median and what it would be, had the samples been drawn again; alike for the same name."""
    values = numpy.full(1 + REPLICATES, float(statistics.median_low(samples)))
    if len(samples) >= LEAST:
        draw = numpy.random.default_rng(zlib.crc32(name.encode()))
        values[1:] = numpy.sort(draw.choice(samples, (REPLICATES, len(samples))), axis=1)[:, (len(samples) - 1) // 2]
    values.flags.writeable = False
    return values


def commits_of(runs):
    return {r["git"]["sha"][:7] for r in runs}


def over_hosts(of_host):
    """Median over hosts, hosts drawn again; of_host: {host: values}."""
    names, values = zip(*sorted(of_host.items(), key=lambda item: str(item[0])))
    count = len(values)
    drawn = numpy.random.default_rng(zlib.crc32(str(names).encode())).integers(count, size=(count, REPLICATES))
    stack = numpy.stack(values)
    again = numpy.median(stack[drawn, numpy.arange(1, 1 + REPLICATES)], axis=0)
    return numpy.append(numpy.median(stack[:, 0]), again)


class Table:
    """All usable runs, profiles and simulated schedules of a figure's records. Stand-ins that were replaced are left out."""

    def __init__(self, args):
        self.sources = [*args.records, *args.population]
        runs, self.profiles, self.schedules = records.read(self.sources)
        runs = [r for r in runs if r["matrix"]["n"] >= LEAST_ROWS and "pattern" not in r["wants"] and
                not records.is_replaced(r)]
        self.runs = records.accept(runs, "take" if args.allow_unverified else "leave out", mixed=True)
        self.late = [r for r in runs if r["status"] == "timeout"]
        self.unverified = sum(r["status"] == "unverified" for r in runs) - sum(r["status"] == "unverified" for r in self.runs)
        self.matrix = {r["matrix"]["name"]: r["matrix"] for r in self.runs + self.late}
        self.hosts, self.commits, self.counted = set(), set(), set()  # that the quantities so far rest on; counted: commits of edges

    def kind(self, name, stand_in=False):
        """Kind of a matrix by its name or its abbreviation in the paper."""
        if (abbr := records.abbreviation(name)) and name not in self.matrix:
            return "stand-in" if "file" not in records.datasets()[abbr] else "original"
        return records.kind(self.matrix.get(name, {"name": name, "stand_in": stand_in}))

    def by_host(self, case):
        """{(matrix, host): (values, bound, commits)}."""
        groups, late = {}, {}
        for r in self.runs:
            if case.takes(r) and (r["samples_s"] or case.counting):
                groups.setdefault((r["matrix"]["name"], records.machine(r)), []).append(r)
        for r in self.late:
            if case.takes(r) and case.of in ("time", "bare"):
                late.setdefault((r["matrix"]["name"], records.machine(r)), []).append(r)
        found = {key: (numpy.full(1 + REPLICATES, float(max(map(records.limit_of, those)))), 1, commits_of(those)) for key, those in late.items()}
        for key, those in groups.items():
            those = records.of_last(those)
            if {r["variant"] for r in those} != set(case.variants()):
                continue
            if values := self.of_settings(case, key, those):
                found[key] = (numpy.min(values, axis=0), 0, commits_of(those))
        return found

    def of_settings(self, case, key, runs):
        """Replicates of each setting that the runs of a case differ in."""
        several = {}
        for r in runs:
            settings = {"variant": r["variant"], **records.settings(r)}
            several.setdefault(tuple((k, records.as_text(v)) for k, v in sorted(settings.items())), []).append(r)
        if len(several) > 1 and not case.fewest:
            names = sorted({k for pairs in zip(*several) for k, _ in pairs if len(set(pairs)) > 1})
            raise records.Refused(f"{runs[-1].place}: runs of {case.variant} on {key[0]} differ in {', '.join(names)}: name it")
        return [replicates(tuple(numbers), f"{key[0]} {case.variant} {setting}") for setting, those in several.items()
                if (numbers := case.numbers(those))]

    def quantity(self, function, *cases):
        """Quantity of function(number of each case); it must grow with the first number and fall with the others."""
        found = [self.by_host(c) for c in cases]
        by_matrix = {}
        for key in found[0]:
            if all(key in f for f in found):
                bounds = {f[key][1] * (-1 if k else 1) for k, f in enumerate(found)} - {0}
                if len(bounds) < 2:
                    self.hosts.add(key[1])
                    self.commits.update(*(f[key][2] for f in found))
                    by_matrix.setdefault(key[0], {})[key[1]] = (function(*(f[key][0] for f in found)), *bounds)
        each = {}
        for name, hosts in by_matrix.items():
            bounds = {b for _, *of in hosts.values() for b in of}
            each[name] = Value(over_hosts({h: v for h, (v, *_) in hosts.items()}), self.kind(name), len(hosts), *bounds)
        return Quantity(each)

    def ratio(self, over, under):
        """Quantity of the number of one case over that of another."""
        return self.quantity(lambda a, b: a / b, over, under)

    def simulated(self, function, *cases):
        """The same of makespans of simulated schedules without batch barriers; a case names keys of their lines."""
        found = []
        for wanted in cases:
            found.append({line["matrix"]: line for line in self.schedules if not line["batch_barrier"] and line["n"] >= LEAST_ROWS and
                          all(records.as_text(line.get(k)) == records.as_text(v) for k, v in wanted.items())})
        each = {}
        for name, line in found[0].items():
            if all(name in f and f[name]["n"] == line["n"] for f in found):
                number = function(*(f[name]["makespan_s"] for f in found))
                self.counted.add(line.get("work_commit", "")[:7])
                each[name] = Value(numpy.full(1 + REPLICATES, float(number)), self.kind(name, line.get("stand_in", False)), 1)
        return Quantity(each)

    def profile(self, key, variant="gpu_maxid"):
        """Quantity of a key of complete profiles: all launches of a run were measured. A folder of records is a host."""
        found = {}
        for line in self.profiles:
            if line["variant"] == variant and line.get("complete") and key in line:
                host = Path(line.place).parent.name
                found.setdefault(line["matrix"], {}).setdefault(host, []).append(line[key])
                self.hosts.add(host)
                self.commits.add(line.get("commit", "")[:7])
        return Quantity({m: Value(over_hosts({h: replicates(tuple(x), m) for h, x in hosts.items()}), self.kind(m), len(hosts))
                         for m, hosts in found.items()})

    def origin(self):
        """How many hosts and which commits the quantities so far rest on, for a caption."""
        def of(commits):
            return f"commit{'s' * (len(commits) > 1)} {records.few(sorted(commits), 6)}"
        hosts = len(self.hosts)
        return "; ".join([f"{hosts} host{'s' * (hosts > 1)}, {of(self.commits)}"] * bool(hosts) +
                         [f"simulated: edges counted on one core, {of(self.counted)}"] * bool(self.counted))
