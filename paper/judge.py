#!/usr/bin/env python3
"""Judges the order of another program on the matrices of a suite, and the claims of its paper.

The program of FOLDER orders each matrix; `gsofa judge order` verifies the order and counts what it costs, next to METIS and AMD on
the same machine. A row has the operations over those of METIS, of AMD and of the best known order, the height of the elimination tree, and the
seconds of the process and as the program reports them. A program that fails costs its matrix one row. experiments/submissions/README.md
explains FOLDER. The word of a claim follows from the rules of `./testbed claims --help`.

Exit status: 0 all orders are verified, 2 bad input, 3 the program is missing, 4 an order is wrong or was not computed.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1] / "plots")]

import records  # noqa: E402
import rules  # noqa: E402
import submissions  # noqa: E402
from terminal_text import printable  # noqa: E402

OK, BAD_INPUT, MISSING, FAILED = 0, 2, 3, 4
ROW = "{:<26} {:<16} {:>7} {:>7} {:>7} {:>8} {:>9} {:>10}  {}"
HEAD = ("matrix", "family", "/ METIS", "/ AMD", "/ best", "height", "process s", "reported s", "verified")


def relative(path):
    """A path as the program's records name it: from the root of the tree if it is inside."""
    return Path(path).relative_to(submissions.ROOT) if Path(path).is_relative_to(submissions.ROOT) else path


def judge(gsofa, where, order, threads, out):
    """The Case of one matrix, whose records are appended to `out`; or a str, why there is none."""
    before = len(submissions.read_orders(out)) if out.exists() else 0
    done = subprocess.run([gsofa, "judge", "order", relative(where), order, "--against", ",".join(submissions.BASES), "--threads", threads, "--out", out],
                          cwd=submissions.ROOT, capture_output=True, encoding="utf-8", errors="replace", check=False)
    found = submissions.cases_of(submissions.read_orders(out)[before:]) if out.exists() else {}
    said = done.stderr.strip().splitlines() or [f"gsofa ends with status {done.returncode}"]
    return next(iter(found.values()), said[-1].removeprefix("gsofa: error: "))


def row(matrix, case):
    """The cells of a matrix."""
    if isinstance(case, str) or not case.verified:
        return (matrix.name, matrix.family, *6 * ("-",), "no: " + (case if isinstance(case, str) else case.line["reason"]))
    phases = case.line.get("phases_s", {})
    ratios = ("-" if r is None else f"{r:.3f}" for r in map(case.ratio, (*submissions.BASES, submissions.BEST)))
    return (matrix.name, matrix.family, *ratios, f"{case.value(submissions.MINE, 'height'):,}",
            *(f"{phases[k]:.3f}" if k in phases else "-" for k in ("process", "reported")), "yes")


def say(cells):
    print(printable(ROW.format(*cells)), flush=True)


def run(submission, args, out):
    """Judges every matrix that is here; returns the exit status."""
    chosen, code, absent = submissions.suites.load(submission.suite).select(args.size), OK, []
    say(HEAD)
    for matrix in chosen:
        where, order = matrix.locate(), submission.order_of(matrix)
        if where is None or order is None:
            absent.append(matrix.name)
            continue
        case = judge(args.gsofa, where, order, str(args.threads), out)
        if not isinstance(case, str) and "ends with status 127" in case.line["reason"]:
            print(printable(f"{rules.UNTESTED}: {case.line['reason']}"))
            return MISSING
        code = OK if code == OK and not isinstance(case, str) and case.verified else FAILED
        say(row(matrix, case))
    if absent:
        print(f"{len(absent)} of {len(chosen)} matrices are not here or have no order: {', '.join(absent[:6])}{', ...' if len(absent) > 6 else ''}")
    if len(absent) == len(chosen):
        raise records.Refused(f"{submission.folder}: no matrix of size {args.size} of {submission.suite} can be ordered")
    return code


def print_claims(rows):
    for name, says, number, here, word, reason in rows:
        print(printable(f"{name}: {says}: {number}; here {here}: {word}{f' ({reason})' if reason else ''}"))


def main(arguments=None):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder", nargs="?", type=Path, help="folder with submission.toml and run.sh or orders/")
    p.add_argument("--size", default="S", help="sizes of the suite's matrices: S, M, L or several (default: S)")
    p.add_argument("--threads", type=int, default=1, help="what {threads} stands for (default: 1)")
    p.add_argument("--out", type=Path, metavar="FILE.jsonl", help="append the records; ./testbed site --with FILE.jsonl shows them")
    p.add_argument("--verdicts", action="store_true", help="only print the claims of all committed submissions, from their records")
    p.add_argument("--gsofa", default="gsofa", help=argparse.SUPPRESS)
    args = p.parse_args(arguments)
    try:
        if args.verdicts:
            for s in submissions.committed():
                print_claims(submissions.rows_of(s, s.records()))
            return OK
        if args.folder is None:
            p.error("a folder is needed")
        submission = submissions.read(args.folder)
        with tempfile.TemporaryDirectory() as folder:
            out = (args.out or Path(folder) / "records.jsonl").resolve()
            code = run(submission, args, out)
            print_claims(submissions.rows_of(submission, submissions.read_orders(out)) if out.exists() and code != MISSING else [])
        if args.out:
            print(f"records: {args.out}; on the board: ./testbed site --with {args.out}")
        return code
    except (records.Refused, OSError, ValueError) as e:
        print(f"judge: error: {printable(e)}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("judge: interrupted; the records of the finished matrices are kept", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
