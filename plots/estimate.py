"""Measured numbers with what is not certain of them: replicates of a bootstrap, and bounds where a run passed its limit."""

import functools
import math
import statistics
import zlib

import numpy

REPLICATES = 999
CONFIDENCE = 0.95
LEAST = 3  # samples: the bootstrap of two is no more than the two


def student_quantiles():
    """Equidistant quantiles of Student's t of one degree of freedom, REPLICATES of them, symmetric to 0: those that interval()
    picks are the ones of CONFIDENCE."""
    tail = (1 - CONFIDENCE) / 2
    middle = (REPLICATES - 1) // 2
    step = (0.5 - tail) / (middle - round(tail * (REPLICATES - 1)))
    return numpy.tan(math.pi * step * (numpy.arange(REPLICATES) - middle))


class Estimate:
    """values[0] is the number itself; the others are what it would be, had the runs been drawn again. bound: 1 if the number
    is at least that, -1 if at most, 0 if it is that. few: it rests on a case of fewer than LEAST samples."""

    def __init__(self, values, bound=0, few=False):
        self.values, self.bound, self.few = values, bound, few

    @property
    def number(self):
        return float(self.values[0])

    def interval(self):
        """(low, high) of CONFIDENCE, infinite at the open end of a bound; None if a case was measured once."""
        rest = self.values[1:]
        if not numpy.all(numpy.isfinite(rest)):
            return None
        last = len(rest) - 1
        tail = round((1 - CONFIDENCE) / 2 * last)
        low, high = numpy.partition(rest, (tail, last - tail))[[tail, last - tail]]
        return (min(float(low), self.number) if self.bound >= 0 else -numpy.inf,
                max(float(high), self.number) if self.bound <= 0 else numpy.inf)


def exact(number):
    """A number that no repetition changes: a size, a constant, a count without races."""
    return Estimate(numpy.full(1 + REPLICATES, float(number)))


def at_least(number):
    """A lower bound: the time of a run that was ended after `number` seconds."""
    return Estimate(numpy.full(1 + REPLICATES, float(number)), 1)


def of_samples(samples, name):
    """Lower median of samples, with replicates drawn from them with replacement where there are LEAST; of two samples the
    mean of their logarithms, with student_quantiles() in a random order as replicates. name: of the case; equal names draw
    alike."""
    return Estimate(replicates(tuple(map(float, samples)), name), few=len(samples) < LEAST)


@functools.lru_cache(maxsize=None)
def replicates(samples, name):
    """The values of of_samples(), the same array for the same samples and name."""
    samples = numpy.sort(numpy.array(samples))
    values = numpy.full(1 + REPLICATES, numpy.nan)
    values[0] = statistics.median_low(samples)
    k = len(samples)
    draw = numpy.random.default_rng(zlib.crc32(name.encode()))
    if k >= LEAST:
        values[1:] = samples[numpy.sort(draw.integers(k, size=(REPLICATES, k)), axis=1)[:, (k - 1) // 2]]
    elif k == 2 and samples[0] == samples[1]:
        values[:] = samples[0]
    elif k == 2 and samples[0] > 0:
        # The standard error of the mean of two numbers is half of their difference.
        low, high = numpy.log(samples)
        values[0] = math.exp((low + high) / 2)
        values[1:] = numpy.exp((low + high + numpy.clip(draw.permutation(student_quantiles()) * (high - low), -500, 500)) / 2)
    values.flags.writeable = False
    return values


def least(estimates):
    """The smallest of what was measured alike; None of nothing. The choice is drawn again with the runs. What has
    one sample counts as it is, unless it is the smallest."""
    best = min(estimates, key=lambda e: e.number, default=None)
    if best is None or best.interval() is None:
        return best
    values = [numpy.where(numpy.isnan(e.values), e.number, e.values) for e in estimates]
    return Estimate(numpy.min(values, axis=0), few=best.few)


def combined(function, a, b, turned):
    """function(a, b) where the result grows with a and, unless `turned`, with b; None if it is not finite, or if bounds
    of a and b say nothing together. The bounded numbers of records are positive."""
    bounds = {a.bound, -b.bound if turned else b.bound} - {0}
    if len(bounds) > 1:
        return None
    with numpy.errstate(all="ignore"):
        values = numpy.asarray(function(a.values, b.values), dtype=float)
    return Estimate(values, *bounds, few=a.few or b.few) if numpy.isfinite(values[0]) else None


def compared(function, a, b, above):
    """1 where function(a, b) holds and 0 elsewhere. above: it can only hold sooner as a grows. None where a bound leaves it
    open."""
    result = combined(function, a, b, True)
    if result is None:
        return None
    result.values[numpy.isnan(a.values) | numpy.isnan(b.values)] = numpy.nan
    if result.bound:
        certain = result.number == (1 if (result.bound > 0) == above else 0)
        return Estimate(result.values, few=result.few) if certain else None
    return result


class Aggregate:
    """AGGREGATE(SET, E): one number from the values of E on the matrices of SET where E was measured."""

    def mean(values):
        """Arithmetic mean."""
        return numpy.mean(values, axis=0)

    def geomean(values):
        """Geometric mean; an error unless all values are positive."""
        if numpy.any(values <= 0):
            raise ValueError("geomean() of numbers that are not all positive")
        return numpy.exp(numpy.mean(numpy.log(values), axis=0))

    def median(values):
        """Median, the mean of the middle two of an even number."""
        return numpy.median(values, axis=0)

    def min(values):
        """Smallest value; over one of the sets as uncertain as on the matrix that has it. Over real matrices the median of
        the smallest of as many matrices as the set has, drawn with replacement."""
        return numpy.min(values, axis=0)

    def max(values):
        """Largest value, likewise."""
        return numpy.max(values, axis=0)

    def sum(values):
        """Sum."""
        return numpy.sum(values, axis=0)

    def at(values):
        """The value on the one matrix that SET names."""
        return values[0]

    def fraction(values):
        """Share of the matrices where the comparison E holds."""
        return numpy.mean(values, axis=0)


EXTREMES = ((Aggregate.min, 1, numpy.argmin), (Aggregate.max, -1, numpy.argmax))


def aggregated(function, estimates, size=0):
    """An Aggregate of estimates; size: of the set in whose place they stand as a population, of which the interval says also
    what other matrices of the kind would have given. None if their bounds say nothing together."""
    values = numpy.stack([e.values for e in estimates])
    bounds = {e.bound for e in estimates} - {0}
    for extreme, bound, pick in EXTREMES:
        # A bound beyond the extreme does not touch it.
        if function is extreme and bounds == {bound} and not estimates[int(pick(values[:, 0]))].bound:
            bounds = set()
    if len(bounds) > 1:
        return None
    extreme = next((pick for f, _, pick in EXTREMES if f is function), None)
    if extreme and not size:
        # The largest of noisy numbers lies above 1 although none does: its interval is that of the matrix that has it.
        return Estimate(values[int(extreme(values[:, 0]))], *bounds)
    if not size or len(estimates) == 1:
        return Estimate(function(values), *bounds)
    # The more matrices, the further out the extreme of them: one of a set is compared with those of as many.
    count = size if extreme else len(estimates)
    drawn = numpy.random.default_rng(len(estimates)).integers(len(estimates), size=(count, REPLICATES))
    again = function(values[drawn, numpy.arange(1, 1 + REPLICATES)])
    number = numpy.median(function(values[drawn, 0])) if extreme else function(values[:, 0])
    return Estimate(numpy.append(number, again), *bounds)
