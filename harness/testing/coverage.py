#!/usr/bin/env python3
"""Lines of variants/ and harness/library that the test programs execute, by file, into results/coverage.tsv.

  coverage.py [--build FOLDER] [--out TABLE] [--no-run]

Builds the preset coverage (GCC; GPU kernels on the emulator), runs the test programs of it, and reads the counts by gcov.
--no-run reads the counts of the last run. Lines are those that GCC compiled in any object; a line is covered if any test
program executed it in any object. Prints the files with most lines that no test executes. Exit status 1 if a test fails (the
table is not written), 2 if there is no gcov or no count.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FOLDERS = ("variants/", "harness/library/")
PROGRAMS = ("harness/gsofa_tests", "harness/gsofa_emulated_tests", "harness/library/gsofa_library_tests",
            "harness/library/gsofa_library_emulated_tests", "harness/library/gsofa_dlopen_tests",
            "harness/library/gsofa_out_of_memory_tests")


class Fault(Exception):
    """A message for the user, with the exit status."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


def call(*words, **options):
    print("+", *words, flush=True)
    if subprocess.run([str(w) for w in words], check=False, **options).returncode:
        raise Fault(1, f"{words[0]} failed; no table is written")


def run_programs(build):
    """Builds and runs the test programs, two at a time, with counts from zero."""
    if not (build / "build.ninja").exists():
        call("cmake", "--preset", "coverage", "-B", build, cwd=ROOT)
    call("cmake", "--build", build, "--target", *(p.rpartition("/")[2] for p in PROGRAMS))
    for old in build.rglob("*.gcda"):
        old.unlink()
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(call, build / p, cwd=folder) for p in PROGRAMS]:
            done.result()


def counts_of(notes, gcov):
    """The counts of one object: a list of (file, [(line, count)])."""
    data = notes.with_suffix(".gcda")
    done = subprocess.run([gcov, "--json-format", "--stdout", data if data.exists() else notes], capture_output=True, text=True,
                          check=False, cwd=notes.parent)
    found = []
    for text in done.stdout.splitlines():
        for file in json.loads(text)["files"] if text.startswith("{") else ():
            found.append((file["file"], [(line["line_number"], line["count"]) for line in file["lines"]]))
    return found


def collect(build, root=ROOT, folders=FOLDERS, gcov="gcov"):
    """{file: {line: count}} of the sources of `folders` in `root`, tests excluded. A line that several objects have is
    covered where one of them is."""
    files = {}
    notes = sorted(build.rglob("*.gcno"))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for counts in pool.map(lambda path: counts_of(path, gcov), notes):
            for name, lines in counts:
                path = os.path.relpath(os.path.join(build, name), root)
                if path.startswith(folders) and not path.endswith(("_test.cpp", "_tests.hpp")):
                    known = files.setdefault(path, {})
                    for line, count in lines:
                        known[line] = max(known.get(line, 0), count)
    if not any(count for lines in files.values() for count in lines.values()):
        raise Fault(2, f"{build} has no counts: build the preset coverage with GCC, and run its tests")
    return files


def table(files):
    """[(file, lines, covered)], by name."""
    return [(name, len(lines), sum(1 for count in lines.values() if count)) for name, lines in sorted(files.items())]


def percent(covered, lines):
    return f"{100 * covered / lines:.1f}"


def write(rows, out):
    text = "file\tlines\tcovered\tpercent\n"
    text += "".join(f"{name}\t{lines}\t{covered}\t{percent(covered, lines)}\n" for name, lines, covered in rows if lines)
    temporary = out.with_name(out.name + ".new")
    temporary.parent.mkdir(parents=True, exist_ok=True)
    temporary.write_text(text)
    temporary.replace(out)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "coverage")
    p.add_argument("--out", type=pathlib.Path, default=ROOT / "results" / "coverage.tsv")
    p.add_argument("--no-run", action="store_true")
    args = p.parse_args()
    build = args.build.resolve()
    try:
        if not args.no_run:
            run_programs(build)
        rows = table(collect(build))
        write(rows, args.out)
    except (Fault, OSError) as e:
        print(f"coverage.py: {e}", file=sys.stderr)
        return getattr(e, "status", 2)
    for folder in FOLDERS:
        mine = [row for row in rows if row[0].startswith(folder)]
        lines, covered = sum(row[1] for row in mine), sum(row[2] for row in mine)
        print(f"{folder}: {covered} of {lines} lines, {percent(covered, max(lines, 1))} %")
    print("most lines that no test executes:")
    for name, lines, covered in sorted(rows, key=lambda row: row[2] - row[1])[:15]:
        print(f"  {lines - covered:5} of {lines:5}  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
