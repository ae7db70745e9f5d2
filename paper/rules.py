"""The rules by which a claim is judged: what claims.py prints, and the numbers and words in them."""

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
# What a verdict rests on: columns of the score.
BASES = ("originals", "stand-ins", "simulated", "test", "identity", "nothing")
