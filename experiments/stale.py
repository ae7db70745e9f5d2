#!/usr/bin/env python3
"""Which committed records are of variants whose own code changed since.

  stale.py [--records FOLDER]

Prints a line for each file of records, commit and variant whose own sources differ between that commit and the tree in more
than comments, white space, texts and the calls that ask whether a run should stop (they also report its progress). Its own are, in the folder of its family: the file that registers it, the headers that this
file includes, and the sources whose first header of the family is one of them; a variant on a processor is not compiled from .cu. What families share
(variants/device, variants/support, common) is not counted: a change there touches every variant and rarely its time. The
committed list is records/stale.tsv; stale_test.py fails where it is not what this prints. A line does not say that a time
changed. Exit status 2 without the history of the repository. Python 3.11, standard library only.
"""
import argparse
import functools
import pathlib
import re
import subprocess
import sys

import json_lines
from terminal_text import printable

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
SOURCE = {".cpp", ".cu", ".cuh", ".hpp"}
HEADER = {".cuh", ".hpp"}
REGISTERS = re.compile(r"\bGSOFA_REGISTER_VARIANTS?\(")
INCLUDES = re.compile(r'^\s*#\s*include\s+"(variants/[^"]+)"', re.M)
STOPS = re.compile(r"\bcontext\.check_deadline\([^;]*\);")
NOT_CODE = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.S)


class NoHistory(Exception):
    """A commit that records name is not in the repository at hand."""


@functools.cache
def sources():
    """{path from the root: text} of all sources of variants, tests aside."""
    return {f.relative_to(ROOT).as_posix(): f.read_text(encoding="utf-8") for f in sorted((ROOT / "variants").rglob("*"))
            if f.suffix in SOURCE and not f.stem.endswith("_test")}


@functools.cache
def registered():
    """{variant: the file that registers it}: of the files that register a variant the one of its name, or one that names it."""
    found = {}
    for file, text in sources().items():
        if REGISTERS.search(text):
            for name in re.findall(r'"((?:cpu|gpu|mpi|peer)_\w+)"', text):
                if pathlib.Path(file).stem == name or f'.name = "{name}"' in text:
                    found[name] = file
                else:
                    found.setdefault(name, file)
    return found


@functools.cache
def own_sources(variant):
    """What a variant is compiled from within its family, as far as its includes say."""
    first = registered()[variant]
    family = "/".join(first.split("/")[:2]) + "/"
    mine, waiting = set(), [first]

    def includes(file):
        return [f for f in INCLUDES.findall(sources()[file]) if f.startswith(family) and f in sources()]
    while waiting:
        file = waiting.pop()
        if file in mine:
            continue
        mine.add(file)
        waiting += includes(file)
        if pathlib.Path(file).suffix in HEADER:
            waiting += [f for f, text in sources().items() if f.startswith(family) and includes(f)[:1] == [file] and
                        pathlib.Path(f).suffix in {".cpp", pathlib.Path(first).suffix} and not REGISTERS.search(text)]
    return frozenset(mine)


def code_of(text):
    """The text without what does not change what a run does: comments, white space, texts, calls of STOPS. Names of options
    and variants are texts too: records name them, and a renamed one is another."""
    return "".join(STOPS.sub(" ", NOT_CODE.sub(lambda m: '""' if m[0].startswith('"') else " ", text)).split())


@functools.cache
def code_now(file):
    return code_of(sources().get(file, ""))


def git(*arguments):
    done = subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoHistory(f"{arguments}: {done.stderr.strip().splitlines()[0] if done.stderr else 'git failed'}")
    return done.stdout


@functools.cache
def changed_since(commit):
    """Sources of variants whose code differs from a commit, tests aside."""
    differ = [f for f in git("diff", "--name-only", "--no-renames", commit, "--", "variants").splitlines() if f in sources()]
    before = set(git("ls-tree", "-r", "--name-only", commit, "--", "variants").splitlines())
    return [f for f in differ if f not in before or code_of(git("show", f"{commit}:{f}")) != code_now(f)]


def sources_changed(commit, variant):
    """How many of its own sources of a variant differ from a commit; -1 for one that is no longer registered."""
    if variant not in registered():
        return -1
    return len(own_sources(variant) & set(changed_since(commit)))


def stale(folder):
    """Lines (file, commit, variant, records, sources that changed), sorted."""
    counts = {}
    for path in json_lines.files_below(folder):
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
        print(f"stale: error: {printable(e)}", file=sys.stderr)
        return 2
    print("\t".join(("file", "commit", "variant", "records", "changed sources")))
    for line in lines:
        print("\t".join(map(printable, line)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
