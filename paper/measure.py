"""What a statement measures: the values by matrix and host, combined, with the interval of rules.py."""

import collections
import dataclasses
import math
import statistics
import sys
import warnings
import zlib
from pathlib import Path

import numpy

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "plots"))

import records  # noqa: E402
import rules  # noqa: E402

DRAWS = 1 + rules.REPLICATES  # the number itself, then what it would be, had hosts, matrices and runs been drawn again


def median(values, axis):
    """numpy.nanmedian, which takes long for a few values along an axis of many."""
    values = numpy.sort(values, axis=axis)  # NaN last
    count = numpy.sum(~numpy.isnan(values), axis=axis, keepdims=True)
    low, high = (numpy.take_along_axis(values, k, axis) for k in (numpy.maximum(count - 1, 0) // 2, count // 2))
    return numpy.squeeze((low + high) / 2, axis=axis)


COMBINE = {
    "mean": numpy.nanmean, "median": median,
    **dict.fromkeys(("share", "all"), lambda values, axis: numpy.nanmean(numpy.where(numpy.isnan(values), values, values > 1), axis=axis)),
    "geometric mean": lambda values, axis: numpy.exp(numpy.nanmean(numpy.log(values), axis=axis)),
}
FINISHED = ("pass", "fail", "error")  # statuses that say whether a result is right
OURS = ("gpu_maxid", "mpi_maxid", "gpu_bitmap_panels")  # beginnings of names: a run without a result counts as its limit

# Quantities of one run, each a list of samples. A counting build has no times, the other no counters.


def counter(run, name):
    return run["counters"].get(name)


def ratio(a, b, factor=1):
    return None if a is None or not b else factor * a / b


def bare_share(run):
    """Of the median run's time, which the phases are of, the share without the digests of rows: only verification needs them."""
    return records.bare_seconds(run) / records.seconds(run) if run["samples_s"] else 1


FORMULAS = {
    "time": lambda r: r["samples_s"],
    "bare": lambda r: [s * bare_share(r) for s in r["samples_s"]],
    "verified": lambda r: [float(r["status"] == "pass")],
    "fill": lambda r: [r["result"].get("fill")],
    "fill_ratio": lambda r: [ratio(r["result"].get("fill"), r["matrix"]["nnz"])],
    "page_faults": lambda r: [None if counter(r, "gpu_page_faults") is None else 1 + counter(r, "gpu_page_faults")],
    "queue_average": lambda r: [ratio(ratio(counter(r, "queue_entries_sum"), counter(r, "levels")),
                                      counter(r, "queue_capacity_VC"), 100)],
    "queue_peak": lambda r: [ratio(counter(r, "queue_peak"), counter(r, "queue_capacity_VC"), 100)],
    "frontier_rank": lambda r: [frontier(r).get("rank_correlation")],  # Spearman, of the sources' frontiers with their numbers
    "frontier_range": lambda r: [ratio(frontier(r).get("most"), frontier(r).get("least_positive"))],
}
COUNTED = ("page_faults", "queue_average", "queue_peak", "frontier_rank", "frontier_range")
EXACT = ("verified", "fill", "fill_ratio")  # no repetition changes them
OF_LINES = ("profile", "simulated")  # quantities of other lines: profile:NAME, simulated
SIMULATOR = "simulator"  # in the place of a host
PAIR = "bcsstk18", records.datasets()["BC"]["stand_in"]  # the only original and its stand-in


def frontier(run):
    return run.get("series_stats", {}).get("frontier_size", {})


@dataclasses.dataclass
class Found:
    """What a statement comes to on the matrices of a kind. bound: 1 at least, -1 at most, 2 either, as runs were ended."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    n: int = 0
    hosts: int = 0
    noise: float = 0
    bound: int = 0
    left_out: int = 0  # matrices where both cases were ended, and, of shares, those without a direction; of verified results, ended runs
    each: dict = dataclasses.field(default_factory=dict)  # value by matrix

    def as_json(self):
        def plain(x):
            return float(f"{x:.5g}") if math.isfinite(x) else None
        return {"value": plain(self.value), "interval": [plain(self.low), plain(self.high)], "matrices": self.n,
                "hosts": self.hosts, "bound": self.bound, "left_out": self.left_out}


@dataclasses.dataclass
class Case:
    """Replicates of a case on one matrix and host; high is infinite where a run was ended."""

    low: numpy.ndarray
    high: numpy.ndarray
    spread: float = 0
    once: bool = False


def median_case(samples, name):
    """Lower median of the samples, with replicates drawn with replacement."""
    if len(set(samples)) == 1:
        values = numpy.full(DRAWS, float(samples[0]))
        return Case(values, values, 0, len(samples) == 1)
    samples = numpy.sort(numpy.array(samples, dtype=float))
    draw = numpy.random.default_rng(zlib.crc32(name.encode()))
    drawn = numpy.sort(draw.integers(len(samples), size=(rules.REPLICATES, len(samples))), axis=1)[:, (len(samples) - 1) // 2]
    values = numpy.append(statistics.median_low(samples), samples[drawn])
    q1, _, q3 = statistics.quantiles(samples, method="inclusive")
    return Case(values, values, (q3 - q1) / abs(values[0]) if values[0] else 0)


def counts(run):
    """True of a run with a result, of one that was ended at its limit, and of one of ours that has no right result."""
    return records.is_usable(run) or run["status"] == "timeout" or \
        run["status"] in ("oom", "fail", "error", "unverified") and run["variant"].startswith(OURS)


def variants_of(side):
    """The variants of a side. If there are several, all must have run on the host, and the fastest counts."""
    return [side["variant"]] if isinstance(side["variant"], str) else side["variant"]


def canonical(name):
    """The name of a matrix of the paper for its abbreviation; another name as it is."""
    return records.datasets().get(records.abbreviation(name), {}).get("name", name)


def kind_of(matrix):
    """One of rules.KINDS, of the `matrix` of a record."""
    if matrix["stand_in"] or any(matrix["name"] == entry.get("stand_in") for entry in records.datasets().values()):
        return "stand-in"
    return "original" if canonical(matrix["name"]) == "bcsstk18" else matrix.get("kind") or records.kind(matrix)


class Measured:
    """The runs, profiles and simulated schedules of records."""

    def __init__(self, sources):
        self.runs, self.profiles, self.simulated = records.read(sources)
        self.known = {}  # cases() of (side, quantity): several statements have the same sides
        self.kinds, self.large = {}, set()  # of matrices; large: those with rules.LARGE_ORDER rows or more
        self.by_variant = collections.defaultdict(list)
        for r in self.runs:
            if "pattern" in r["wants"] or records.is_replaced(r):
                continue
            self.kinds[canonical(r["matrix"]["name"])] = rules.SMALL if r["matrix"]["n"] < rules.LEAST_ORDER else kind_of(r["matrix"])
            if r["matrix"]["n"] >= rules.LARGE_ORDER:
                self.large.add(canonical(r["matrix"]["name"]))
            self.by_variant[r["variant"]].append((r, {k: records.as_text(v) for k, v in records.settings(r).items()}))

    def lines(self, side, quantity):
        """{(host, matrix, commit, digest): [value]} of profiles or simulated schedules."""
        name, found = quantity.partition(":")[2], collections.defaultdict(list)
        for p in self.profiles if name else ():
            if p.get("complete") and p["variant"] == side["variant"] and name in p:
                found[Path(p.place).parent.name, canonical(p["matrix"]), p.get("commit", ""), ""].append(p[name])
        for s in () if name else self.simulated:
            if s["n"] >= rules.LEAST_ORDER and not s["batch_barrier"] and \
                    all(records.as_text(s.get(k)) == records.as_text(v) for k, v in side.items()):
                matrix = canonical(s["matrix"])
                self.kinds.setdefault(matrix, kind_of({"name": s["matrix"], "stand_in": s.get("stand_in", True)}))
                found[SIMULATOR, matrix, "", s.get("ordering_digest", "")] = [s["makespan_s"]]
        return found

    def cases_once(self, side, quantity):
        """The same as cases(), found once for all statements."""
        if (name := f"{side} {quantity}") not in self.known:
            self.known[name] = self.cases(side, quantity)
        return self.known[name]

    def cases(self, side, quantity):
        """{(host, matrix, commit, digest): Case} of one side of a statement. Refused if its runs differ in a setting that the
        statement does not name."""
        if quantity.partition(":")[0] in OF_LINES:
            return {key: median_case(values, str(key)) for key, values in self.lines(side, quantity).items()}
        best = side.get("best_of", [])
        named = {k: records.as_text(v) for k, v in side.items() if k not in ("variant", "best_of")}
        several = len(variants_of(side)) > 1  # a setting that one of them lacks selects runs of the others
        groups, differ = collections.defaultdict(lambda: collections.defaultdict(list)), collections.defaultdict(set)
        for r, settings in (of for variant in variants_of(side) for of in self.by_variant[variant]):
            if r["counting"] != (quantity in COUNTED) and quantity not in EXACT or \
                    any(settings.get(k, v if several else None) != v for k, v in named.items()):
                continue
            if not (counts(r) or quantity == "verified" and r["status"] in FINISHED):
                continue
            key = records.machine(r), canonical(r["matrix"]["name"]), r["git"]["sha"], r["ordering"]["digest"]
            groups[key][" ".join((r["variant"], *(settings.get(k, "") for k in best))) if best else ""].append(r)
            for k, v in settings.items():
                differ[key[0], k].add(v)
        unnamed = dict.fromkeys(k for (_, k), v in differ.items() if len(v) > 1 and k not in best and quantity not in EXACT)
        if unnamed:
            raise records.Refused(f"runs of {' and '.join(variants_of(side))} on one host differ in {', '.join(unnamed)}")
        complete = {key: of for key, of in groups.items()
                    if {r["variant"] for runs in of.values() for r in runs} == set(variants_of(side))}
        return {key: case for key, of in complete.items() if (case := self.case(of, quantity, f"{key} {side}"))}

    @staticmethod
    def case(of, quantity, name):
        """The fastest of {setting: runs}: one setting unless the side says best_of."""
        cases = []
        for setting, runs in of.items():
            fresh = [r for r in runs if r.get("trials", {}).get("sampling")] or runs
            limits = [limit for r in runs if not records.is_usable(r) and (limit := records.limit_of(r))]
            if quantity == "verified":
                samples = [min((x for r in runs if r["status"] in FINISHED for x in FORMULAS[quantity](r)), default=None)]
            else:
                samples = [x for r in fresh if records.is_usable(r) for x in FORMULAS[quantity](r)]
            samples = [x for x in samples if x is not None]
            if limits and quantity in ("time", "bare"):
                cases.append(Case(numpy.full(DRAWS, min(limits)), numpy.full(DRAWS, math.inf)))
            elif samples:
                cases.append(median_case(samples, name + setting))
            elif quantity == "verified":
                cases.append(Case(numpy.zeros(DRAWS), numpy.full(DRAWS, math.inf)))
        if not cases:
            return None
        low, high = (numpy.min([getattr(c, end) for c in cases], axis=0) for end in ("low", "high"))
        return Case(low, high, statistics.median(c.spread for c in cases), all(c.once for c in cases))

    def values(self, statement):
        """{(host, matrix): Case}: of each host the last commit and order of a matrix that has both sides."""
        over = self.cases_once(statement["over"], statement["quantity"])
        if "under" not in statement:
            return {key[:2]: case for key, case in over.items()}
        under, out = self.cases_once(statement["under"], statement["quantity"]), {}
        for key in (key for key in over if key in under):
            a, b = over[key], under[key]
            with numpy.errstate(all="ignore"):
                low, high = a.low / b.high, a.high / b.low
            if not numpy.isnan(low).any() and not numpy.isnan(high).any():
                out[key[:2]] = Case(low, high, statistics.median((a.spread, b.spread)), a.once and b.once)
        return out


def directed(cases):
    """Whether the ratio of a matrix is on one side of 1 on all hosts, by more than the spread of the runs."""
    return all(c.low[0] > math.exp(c.spread) for c in cases) or all(c.high[0] < math.exp(-c.spread) for c in cases)


def combined(statement, values, matrices, widen=1.0):
    """Found of the values on some matrices. widen: factor of the interval to both sides."""
    mine = {key: c for key, c in values.items() if key[1] in matrices}
    ended = {key for key, c in mine.items() if c.low[0] == 0 and math.isinf(c.high[0])}
    if statement.get("combine") in ("share", "all") and statement["quantity"] != "verified":
        level = {key for key in mine if not directed([c for (_, m), c in mine.items() if m == key[1]])}
        ended |= level if statement["combine"] == "share" else set()
        mine |= {key: Case(numpy.ones(DRAWS), numpy.ones(DRAWS)) for key in level}  # no gain, where the paper says all
    mine = {key: c for key, c in mine.items() if key not in ended}
    hosts, names = ([*dict.fromkeys(key[k] for key in sorted(mine, key=str))] for k in (0, 1))
    if not mine:
        return Found(left_out=len({m for _, m in ended}))
    low, high = numpy.full((2, len(hosts), len(names), DRAWS), math.nan)
    for (host, name), case in mine.items():
        low[hosts.index(host), names.index(name)], high[hosts.index(host), names.index(name)] = case.low, case.high
    each = {name: statistics.median(c.low[0] or c.high[0] for (_, m), c in mine.items() if m == name) for name in names}
    combine = statement.get("combine", "median")
    if statement["quantity"] == "verified":
        combine = "mean"  # of 1 where all results are right, 0 elsewhere
    draw = numpy.random.default_rng(zlib.crc32(statement["id"].encode()))
    drawn = [draw.integers(k, size=(rules.REPLICATES, k)) for k in (len(hosts), len(names))]
    (first, lows), (last, highs) = (replicates(x, COMBINE[combine], drawn) for x in (low, high))
    ends = numpy.array([1 - rules.CONFIDENCE, 1 + rules.CONFIDENCE]) / 2
    once = len(mine) == 1 and all(c.once for c in mine.values()) and statement["quantity"] not in EXACT
    bottom, top = (math.nan, math.nan) if once else (percentile(lows, ends[0]), percentile(highs, ends[1]))
    value = first if first == last or math.isinf(last) else last
    noise = 0 if statement.get("effect", "ratio") != "ratio" else statistics.median(c.spread for c in mine.values())
    bound = (2 if first < value else 1) if last > value else -1 if first < value else 0
    return Found(float(value), bottom / widen, top * widen, len(names), len(set(hosts) - {SIMULATOR}), noise, bound,
                 len({m for _, m in ended} - set(names)), each)


def pair_factor(statement, values):
    """By how much stand-ins widen an interval: what bcsstk18 and its stand-in differ by, at least rules.PAIR."""
    each = combined(statement, values, PAIR).each.values()
    return max(rules.PAIR, max(each) / min(each)) if len(each) == 2 and min(each) > 0 else rules.PAIR


def replicates(values, aggregate, drawn):
    """(the number, its replicates) of values[host, matrix, draw]: hosts are drawn first, then matrices."""
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)  # a matrix that no drawn host measured keeps the median of its hosts
        rows = numpy.arange(rules.REPLICATES)[:, None]
        of_hosts = numpy.moveaxis(values[..., 1:], 2, 0)[rows, drawn[0]]
        of_drawn = median(of_hosts, axis=1)
        of_drawn = numpy.where(numpy.isnan(of_drawn), median(values[..., 1:], axis=0).T, of_drawn)
        of_matrices = of_drawn[rows, drawn[1]]
        return float(aggregate(median(values[..., 0], axis=0), axis=0)), aggregate(of_matrices, axis=1)


def percentile(values, share):
    """Of replicates, an actual one; those without a value are left out."""
    values = numpy.sort(values[~numpy.isnan(values)])
    return float(values[round(share * (len(values) - 1))]) if len(values) else math.nan
