#!/usr/bin/env python3
"""What each claim of paper/claims.toml needs: hardware, time and command, as Markdown tables of README.md.

  needs.py            prints the tables
  needs.py --write    puts them into README.md, between its two marks
  needs.py --check    exit status 1 if README.md has others

Hardware follows from the devices of the variants that a claim compares, which the records state, and from the settings and
leaves of its expression; time is the sum of the timed runs on record that it reads. Exit status 2 if the claims or the
records cannot be used.
"""

import argparse
import os
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "paper"), str(ROOT / "plots")]

import claims  # noqa: E402
import records  # noqa: E402
from terminal_text import printable  # noqa: E402

README = HERE / "README.md"
BEGIN, END = "<!-- needs.py -->", "<!-- end of needs.py -->"


def compares(claim, measured):
    """The runs on record that an expression can read: timed ones of its variants."""
    return [run for _, run in measured.runs if run["variant"] in claim.expression.variants and run["samples_s"]]


def hardware(claim, devices):
    """What a claim needs, in words. devices: of each variant on record."""
    if claim.elsewhere:
        return claim.elsewhere
    if claim.test:
        return "any machine"
    expression = claim.expression
    text = " ".join([expression.text, *map(str, expression.used.values())])
    words = []
    gpus = [int(n) for n in re.findall(r"gpus_per_rank=(\d+)", text)]
    used = {devices.get(v, v.partition("_")[0]) for v in expression.variants}
    if gpus and max(gpus) > 1:
        words.append(f"{max(gpus)} NVIDIA GPUs of one host")
    elif used & {"gpu", "mpi"}:
        words.append("2 NVIDIA GPUs of one host" if "mpi" in used else "an NVIDIA GPU")
    if "peer_superlu_dist_parallel" in expression.variants:
        words.append("SuperLU_DIST on up to 16 ranks")
    elif "peer" in used:
        words.append("the peer's library")
    if "profile" in expression.leaves:
        words.append("Nsight Compute")
    return ", ".join(words) or "any machine"


def command(item, mine):
    """Commands that measure these claims of an item again."""
    if all(c.elsewhere for c in mine):
        return "-"
    if all(c.test for c in mine):
        return "`./testbed test`"
    leaves = set().union(*(c.expression.leaves for c in mine if c.expression))
    if leaves == {"simulated"}:
        return "[scaling_simulator](../../experiments/scaling_simulator/README.md)"
    if "profile" in leaves:
        return f"`experiments/measure.py run OUT {item} --group profile`"
    only = f" --only {item}" if (ROOT / "experiments" / item / "spec.toml").exists() else ""
    return f"`./testbed reproduce --group paper{only}`"


def duration(seconds):
    """Seconds in words; "-" of none."""
    if not seconds:
        return "-"
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s" if seconds >= 1 else "under 1 s"


def tables(board):
    """The Markdown tables."""
    devices = {}
    for name in board.sources:
        for _, run in board.measured(name).runs:
            devices[run["variant"]] = run["device"]
    grouped, items = {}, []
    for j in board.judged:
        c = j.claim
        items.append(c.item)
        grouped.setdefault((c.item, hardware(c, devices)), []).append(j)
    lines = ["| item | claims | needs | timed runs on record | command | expected |", "|---|---|---|---|---|---|"]
    for item in dict.fromkeys(items):
        for (name, needs), mine in grouped.items():
            if name != item:
                continue
            runs = {run.place: run for j in mine if j.claim.measure
                    for run in compares(j.claim, board.measured(j.claim.records))}
            counts = {}
            for j in mine:
                counts[j.verdict] = counts.get(j.verdict, 0) + 1
            expected = ", ".join(f"{counts[v]} {v}" for v in claims.VERDICTS if v in counts)
            lines.append(f"| {item} | {len(mine)} | {needs} | {duration(sum(sum(r['samples_s']) for r in runs.values()))} | "
                         f"{command(item, [j.claim for j in mine])} | {expected} |")
    needed = {}
    for (_, needs), mine in grouped.items():
        needed[needs] = needed.get(needs, 0) + len(mine)
    lines += ["", "| hardware | claims |", "|---|---|"]
    lines += [f"| {needs} | {count} |" for needs, count in sorted(needed.items(), key=lambda x: (-x[1], x[0]))]
    lines.append(f"| all | {len(board.judged)} |")
    return "\n".join(lines)


def filled(text, made):
    """The text of README.md with these tables; Refused without its marks."""
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise records.Refused(f"{README}: not one {BEGIN} before one {END}")
    head, tail = text.split(BEGIN)[0], text.split(END)[1]
    return f"{head}{BEGIN}\n\n{made}\n\n{END}{tail}"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    how = p.add_mutually_exclusive_group()
    how.add_argument("--write", action="store_true", help="put the tables into README.md")
    how.add_argument("--check", action="store_true", help="fail if README.md has others")
    args = p.parse_args()
    try:
        made = tables(claims.Board())
        if not (args.write or args.check):
            print(made)
            return 0
        before = README.read_text(encoding="utf-8")
        after = filled(before, made)
        if args.write:
            new = README.with_suffix(".new")
            new.write_text(after, encoding="utf-8")
            os.replace(new, README)
    except (records.Refused, OSError) as e:
        print(f"needs.py: error: {printable(e)}", file=sys.stderr)
        return 2
    if args.check and before != after:
        print("needs.py: error: README.md is not what the claims and records say; needs.py --write", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
