#!/usr/bin/env python3
"""Which committed records are of variants whose sources changed since.

  stale.py [--records FOLDER]

Prints a line for each file of records, commit and variant of which a source differs between that commit and the tree:
those that register it, the headers and kernels beside them, and variants/device and variants/support. The committed
list is records/stale.tsv; records_test.py fails where it is not what this prints. A line does not say that a time
changed: comments count too. Exit status 2 without the history of the repository. Python 3.11, standard library only.
"""
import argparse
import functools
import pathlib
import re
import subprocess
import sys

import json_lines

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
SHARED = ("variants/device", "variants/support")
SOURCE = {".cpp", ".cu", ".cuh", ".hpp"}


class NoHistory(Exception):
    """A commit that records name is not in the repository at hand."""


@functools.cache
def registered():
    """{variant: folder of the file that registers it}."""
    found = {}
    for file in sorted((ROOT / "variants").rglob("*")):
        if file.suffix in SOURCE and not file.name.endswith("_test.cpp"):
            for name in re.findall(r'"((?:cpu|gpu|mpi|peer)_\w+)"', file.read_text(encoding="utf-8")):
                found.setdefault(name, file.parent.relative_to(ROOT).as_posix())
    return found


@functools.cache
def changed_since(commit):
    """Sources of variants that differ from a commit, tests aside."""
    done = subprocess.run(["git", "-C", ROOT, "diff", "--name-only", commit, "--", "variants"], capture_output=True, text=True,
                          check=False)
    if done.returncode:
        raise NoHistory(f"{commit}: {done.stderr.strip().splitlines()[0] if done.stderr else 'git failed'}")
    return [f for f in done.stdout.splitlines() if pathlib.Path(f).suffix in SOURCE and not f.endswith("_test.cpp")]


def sources_changed(commit, variant):
    """How many sources of a variant differ from a commit; -1 for one that is no longer registered."""
    folder = registered().get(variant)
    if folder is None:
        return -1
    return sum(1 for f in changed_since(commit) if f.startswith((folder + "/", *(s + "/" for s in SHARED))))


def stale(folder):
    """Lines (file, commit, variant, records, sources that changed), sorted."""
    counts = {}
    for path in sorted(folder.rglob("*.jsonl")):
        for line in json_lines.read(path):
            if "variant" not in line or "simulated" in line:
                continue
            commit = line["commit"] if "dram_gb_per_s" in line else line["git"]["sha"]
            key = path.relative_to(folder).as_posix(), commit, line["variant"]
            counts[key] = counts.get(key, 0) + 1
    lines = []
    for (file, commit, variant), count in sorted(counts.items()):
        changed = sources_changed(commit, variant)
        if changed:
            lines.append((file, commit[:12], variant, str(count), "no longer a variant" if changed < 0 else str(changed)))
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=pathlib.Path, default=HERE / "records", metavar="FOLDER")
    args = parser.parse_args()
    try:
        lines = stale(args.records)
    except (NoHistory, json_lines.BadLine, OSError) as e:
        print(f"stale: error: {e}", file=sys.stderr)
        return 2
    print("\t".join(("file", "commit", "variant", "records", "changed sources")))
    for line in lines:
        print("\t".join(line))
    return 0


if __name__ == "__main__":
    sys.exit(main())
