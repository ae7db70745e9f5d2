#!/usr/bin/env python3
"""Hostile testing of the built programs for a given time; README.md says what is done.

Exit status 1 if anything failed; the failures are then saved in a folder that is named at the end.
"""

import argparse
import os
import shutil
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from attack_parts import AttackParts  # noqa: E402
from fuzz_part import FuzzPart  # noqa: E402
from kill_part import KillPart  # noqa: E402
from programs import MOST_SAVED, ROOT, Programs  # noqa: E402
from starve_part import StarvePart  # noqa: E402

SHARES = {"fuzz": 0.2, "oracle": 0.2, "kill": 0.2, "memory": 0.1, "disk": 0.1, "superlu": 0.1, "python": 0.1}


class Soak(FuzzPart, AttackParts, KillPart, StarvePart, Programs):
    """All parts."""

    def run_parts(self, parts, seconds):
        total = sum(SHARES[p] for p in parts)
        actions = {"fuzz": self.fuzz, "oracle": self.compare_with_oracle, "kill": self.kill,
                   "memory": self.memory, "disk": self.disk, "superlu": self.attack_superlu,
                   "python": self.python}
        spent = {}
        try:
            for part in parts:
                begin = time.monotonic()
                print(f"soak: {part}, {seconds * SHARES[part] / total:.0f} s", file=sys.stderr,
                      flush=True)
                actions[part](seconds * SHARES[part] / total)
                spent[part] = time.monotonic() - begin
        finally:
            shutil.rmtree(self.work, ignore_errors=True)
        self.print_summary(spent)
        return 1 if self.failures else 0

    def print_summary(self, spent):
        print(f"\n{'part':<8} {'what':<24} {'runs':>10} {'per minute':>11} {'failures':>9}")
        for (part, what), (runs, failures) in self.counts.items():
            rate = f"{60 * runs / spent[part]:.0f}" if spent.get(part) and part != "fuzz" else ""
            print(f"{part:<8} {what:<24} {runs:>10} {rate:>11} {failures:>9}")
        for part, seconds in spent.items():
            runs = sum(entry[0] for key, entry in self.counts.items() if key[0] == part)
            print(f"{part:<8} {'in all':<24} {runs:>10} {60 * runs / seconds:>11.0f} "
                  f"{self.failed(part):>9}")
        for place, message, command in self.failures:
            print(f"\n{message}\n  saved in {place}\n  again by {command}")
        more = {kind: n - MOST_SAVED for kind, n in self.alike.items() if n > MOST_SAVED}
        for kind, n in more.items():
            print(f"\n{n} more like this: {kind}")
        print(f"\nseed {self.seed}: {sum(self.alike.values())} failures of {len(self.alike)} kinds"
              + (f", saved in {self.saved}" if self.failures else ""))


def main():
    parser = argparse.ArgumentParser(prog="testbed soak", description="Hostile testing for some time.")
    parser.add_argument("minutes", nargs="?", type=float, default=10.0, help="default: 10")
    parser.add_argument("--seconds", type=float, help="instead of minutes")
    parser.add_argument("--seed", type=int, default=int(time.time()) // 60,
                        help="of all random numbers; default: from the clock")
    parser.add_argument("--only", action="append", choices=list(SHARES),
                        help="this part, may be repeated; default: all")
    parser.add_argument("--case", type=int, help="one case of kill, memory or disk again")
    parser.add_argument("--target", action="append", help="of fuzz only this reader, may be repeated")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "asan",
                        help="folder of the build; default: build/asan")
    parser.add_argument("--libfuzzer", type=Path, help="gsofa_fuzz built with libFuzzer")
    parser.add_argument("--python", type=Path,
                        help="interpreter with the package gsofa; default: BUILD/python_package/bin/python, if it is there")
    parser.add_argument("--out", type=Path, help="folder for failures")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="fuzz targets at once")
    parser.add_argument("--parse-only", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    seconds = options.seconds if options.seconds is not None else 60 * options.minutes
    if not (seconds > 0 and options.seed >= 0 and options.jobs > 0):
        parser.error("a time, a seed or a number of jobs is negative or 0")
    if options.case is not None and (len(options.only or ()) != 1
                                     or options.only[0] in ("fuzz", "oracle", "superlu", "python")):
        parser.error("--case needs --only kill, memory or disk")
    if options.parse_only:
        return 0
    parts = [p for p in SHARES if options.only is None or p in options.only]
    print(f"soak: seed {options.seed}", file=sys.stderr)
    return Soak(options).run_parts(parts, seconds)


if __name__ == "__main__":
    sys.exit(main())
