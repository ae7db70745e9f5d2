"""The rules of the judgement: the text that is printed, and the same as code. First written on 27 November 2026 before the records
that they judge (experiments/judgement), and changed several times after these were read: LOG.md has what and why."""

import math

RULES = """\
A question of the paper has one or more statements. A statement compares a quantity of two cases, matrix by matrix, on one host
at one commit with one order of the matrix: a ratio of medians, where 1 is no effect. Some statements are a rank correlation (no
effect: 0.1), a share of the matrices (no effect: 1/2) or a size, which has no value without effect.
The values of the matrices are combined as the paper combines them. Matrices with fewer than 1,000 rows are a kind of
their own: their times are those of a call.

Kinds of matrices: original (bcsstk18), real, finite elements, power grid, circuit, space x time, generated, n < 1,000, stand-in. The
verdict rests on real matrices, the original among them. The other kinds are shown next to it, stand-ins last. Circuits and
space x time are of generators; older records count them as generated.

Interval: 95 %, percentiles of 999 replicates. Each replicate draws hosts with replacement, then matrices of the kind, then the
runs of each case. On several hosts the value of a matrix is the median of the hosts; a matrix that no drawn host measured keeps
the median of all its hosts. A run that was ended at its limit counts as its limit, and the end of the interval that it leaves
open is open. So does a run of gpu_maxid, mpi_maxid or gpu_bitmap_panels, and of their ablations, that ran out of memory, failed or could
not be verified. If runs of a setting passed and others were ended, the setting counts as ended. A matrix where both cases were ended is
left out; "every result is verified" is said of runs that ended by themselves.

  holds in size        it holds in direction, and the value differs from the paper's by at most a quarter of the paper's effect
                       (its distance from no effect), or the interval contains the paper's value and the effects at its ends
                       are within a factor of 2 of each other. "All" also needs every matrix.
  holds in direction   the interval lies entirely on the paper's side of no effect, and is not tight around it
  does not hold        the interval excludes the paper's side; or it excludes the paper's value, and contains no effect or is
                       tight around it: both ends within 5 % of no effect
  cannot be tested here   fewer than 10 real matrices; or the interval contains both no effect and the paper's value; or the
                       statement needs other hardware, another matrix, or records that do not exist

A size has no direction: it holds in size if the interval contains the paper's value and its ends are within a factor of 2 of
each other, or if the interval lies within a quarter of the paper's value. It does not hold if the interval excludes the paper's
value. A ratio holds in direction only above the noise: |log ratio| must exceed the median over the matrices of the relative spread
(interquartile range over median) of the runs on one host. On one matrix, a ratio has a direction only if all hosts that measured it
are on one side of 1 by more than the spread of their runs. A share leaves out a matrix without a direction; "on every matrix" counts
it as no gain. A statement in words ("faster") does not hold if its interval is tight around no effect. If its interval is wider and
contains no effect, or if a ratio is within the noise, it cannot be tested.

If a statement has ten or more real matrices with 10,000 rows or more, as the paper's matrices have, these are judged as well, and the
word of the statement is the lower of the two words.

The word of a question is the weakest of its statements, in the order holds in size, holds in direction, does not hold. A
statement that cannot be tested counts only if none can be tested.

A statement about a named matrix has no verdict on a stand-in: it cannot be tested without the matrix. bcsstk18 and its
stand-in, the only such pair, have differed by factors of {pair:g} to 3.0: an interval of stand-ins is widened by a factor of
{pair:g}, or by what the pair differs in the statement if that is more. Simulated values are shown
and have no verdict. Two GPUs of one host stand for the six of a node only where two schedules of the search are compared. A ratio
of several GPUs to the processors of another program cannot be tested with another number of GPUs and other processors. One GPU is no
test of a statement about six, nor of one about 44 nodes. A size (GB/s, %) depends on the hardware and has no verdict on other hardware.
"""
SMALL = "n < 1,000"  # of any kind
KINDS = ("original", "real", "finite elements", "power grid", "circuit", "space x time", "generated", SMALL, "stand-in")
JUDGED, LARGE = "real", "real, n >= 10,000"  # with the original
LARGE_ORDER = 10000
WORDS = SIZE, DIRECTION, NOT, UNTESTED = ("holds in size", "holds in direction", "does not hold", "cannot be tested here")
REPLICATES, CONFIDENCE = 999, 0.95
LEAST_ORDER, LEAST_MATRICES = 1000, 10
QUARTER, FACTOR, TIGHT = 0.25, 2, 0.05
PAIR = 2.3  # least of the ratios of work in which bcsstk18 and its stand-in have differed (2.3 to 3.0)
EFFECTS = {"ratio": 1, "correlation": 0.1, "share": 0.5, "size": None}  # each with its value of no effect


def text():
    return RULES.format(pair=PAIR)


def word(found, paper, side, effect="ratio", every=False, least=LEAST_MATRICES):
    """(word, reason) of a measure.Found. paper: the paper's number or None; side: "above" or "below" no effect, which follows
    from the number where there is one; every: of a share, whether the paper says all; least: matrices that are needed."""
    if found is None or found.n < least:
        few = "not measured" if found is None or not found.n else f"{found.n} of at least {least} matrices"
        return UNTESTED, few
    low, high, none = found.low, found.high, EFFECTS[effect]
    if math.isnan(low) or math.isnan(high):
        return UNTESTED, "a case was measured once"
    if none is None:
        return word_of_size(found, paper)
    above = side == "above" if paper is None else paper > none
    on_side = low > none if above else high < none
    contains_none = low <= none <= high
    contains_paper = paper is not None and low <= paper <= high
    close = paper is not None and not found.bound and abs(found.value - paper) <= QUARTER * abs(paper - none)
    if max(abs(low - none), abs(high - none)) <= TIGHT and not contains_paper and not (close and on_side):
        return NOT, "the interval is tight around no effect"
    if on_side:
        if found.noise and abs(math.log(found.value)) <= found.noise:
            return UNTESTED, "the effect is within the noise of the runs"
        near, far = sorted((abs(low - none), abs(high - none)))
        in_size = found.value == 1 if every else close or (contains_paper and far <= FACTOR * near)
        return (SIZE if in_size else DIRECTION), ""
    if not contains_none:
        return NOT, "the interval excludes the paper's side"
    if paper is None:
        return UNTESTED, "the interval contains no effect"
    if not contains_paper:
        return NOT, "the interval contains no effect and excludes the paper's value"
    return UNTESTED, "the interval contains both no effect and the paper's value"


def word_of_size(found, paper):
    if found.low <= paper <= found.high and found.high <= FACTOR * found.low:
        return SIZE, ""
    if max(abs(found.low - paper), abs(found.high - paper)) <= QUARTER * abs(paper):
        return SIZE, ""
    if not found.low <= paper <= found.high:
        return NOT, "the interval excludes the paper's value"
    return UNTESTED, "the interval is wider than a factor of 2"


def weakest(words):
    """The lowest of the words that can be tested: of a question by its statements, of a statement by its groups of matrices."""
    return max((w for w in words if w != UNTESTED), key=WORDS.index, default=UNTESTED)
