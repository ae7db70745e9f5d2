"""Compares the times of two files or folders of records, case by case: B over A, below 1 where B is faster.

A case is a variant with its settings on a matrix. The interval (95 %) draws the samples of both again; kinds of matrices have geometric
means over their cases. Exit status 1 if a case of B is slower by more than the tolerance, and its interval lies above 1; 2 if no case is
in both; runs on several machines or under load are named.
"""

import argparse
import statistics
import sys
from pathlib import Path

import compare
import records
import records_ratios as ratios


def share(text):
    """0.05 of "5%" or "0.05"."""
    value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    if not 0 <= value < float("inf"):
        raise ValueError
    return value


def ratios_of(a, b):
    """{(series, matrix): (Value of B over A, kind of the matrix)} of the cases in both, and the names of those in one alone."""
    found, alone, of_a = {}, [], {id(r) for r in a}
    for key, runs in compare.grouped([*a, *b]).items():
        first, second = ([r for r in runs if (id(r) in of_a) == is_a] for is_a in (True, False))
        if not first or not second:
            alone.append(f"{compare.shown(key[0])} on {key[1]}")
            continue
        ratio = ratios.over(*(compare.Case(records.of_last(side)).time for side in (second, first)))
        if ratio:
            found[key] = ratio, records.kind(runs[-1]["matrix"])
    return found, alone


def is_slower(ratio, tolerance):
    """Whether the ratio is above the tolerance beyond what its samples leave open."""
    low = (ratio.interval() or (ratio.number, 0))[0]
    return ratio.bound >= 0 and ratio.number > 1 + tolerance and low > 1


def line(ratio, name, note=""):
    low, high = ratio.interval() or (ratio.number, ratio.number)
    return f"{ {1: '>=', -1: '<=', 0: ''}[ratio.bound]:>2}{ratio.number:8.3f}  {low:8.3f} {high:8.3f}  {name}{note}"


def warnings(side, runs):
    """What the times of one side may owe to their machine."""
    machines = {records.machine(r) for r in runs}
    if len(machines) > 1:
        yield f"{side}: runs of {len(machines)} machines"
    yield from (f"{side}: {text}" for text in records.load_of(runs))


def main():
    p = argparse.ArgumentParser(prog="./testbed compare", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--tolerance", type=share, default=0.05, metavar="SHARE", help="as 5%% or 0.05, the default")
    p.add_argument("a", type=Path, metavar="A")
    p.add_argument("b", type=Path, metavar="B")
    args = p.parse_args()
    try:
        a, b = (compare.timed(records.read_runs([side])) for side in (args.a, args.b))
    except (records.Absent, records.Refused, OSError) as e:
        print(f"compare: {e}", file=sys.stderr)
        return 2
    found, alone = ratios_of(a, b)
    if not found:
        print(f"compare: no case with times is in both {args.a} and {args.b}", file=sys.stderr)
        return 2
    for warning in (*warnings("A", a), *warnings("B", b)):
        print(f"compare: {warning}", file=sys.stderr)
    print("  B over A     low     high  case")
    slower = 0
    for (series, matrix), (ratio, _) in sorted(found.items(), key=lambda item: -item[1][0].number):
        late = is_slower(ratio, args.tolerance)
        slower += late
        print(line(ratio, f"{compare.shown(series)} on {matrix}", "  slower" if late else ""))
    for kind in sorted({kind for _, kind in found.values()}):
        mine = [ratio.number for ratio, its in found.values() if its == kind]
        print(f"  {statistics.geometric_mean(mine):8.3f}                     {kind}: geometric mean of {len(mine)}")
    if alone:
        print(f"compare: in one of them alone: {records.few(sorted(alone), 5)}", file=sys.stderr)
    print(f"{slower} of {len(found)} cases are slower by more than {args.tolerance:.0%}")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
