#!/usr/bin/env python3
"""Measures analyzer.update() on sequences of patterns, next to new orders at every step.

    python3 run.py BUILD OUT.jsonl FOLDER_OR_FILE... [--threads 1,16] [--devices cpu,gpu] [--anchors metis,amd]

BUILD is a build folder with the program sequence_times. Appends one record for each sequence, number of threads and device;
README.md describes the fields. Anchors are computed on the host. On a GPU the patterns are in device memory, with the last of
the numbers of threads for the host. Needs numpy and scipy.
"""
import argparse
import json
import pathlib
import subprocess
import sys

try:
    import numpy
    import sequence
except ImportError as e:
    sys.exit(f"run.py: {e}: pip install numpy scipy")


def files_of(sources):
    """The files themselves, and all sequences of the folders, by name; of files with the same name the first."""
    found = {}
    for source in sources:
        inside = sorted(source.glob(f"*{sequence.SUFFIX}")) if source.is_dir() else [source]
        if not inside:
            sys.exit(f"run.py: {source}: no sequence (*{sequence.SUFFIX})")
        found = {file.name: file for file in inside} | found
    return list(found.values())


def feed(patterns, stream):
    """Writes the patterns as sequence_times reads them."""
    for row_ptr, col_idx, previous in patterns:
        previous = numpy.empty(0, numpy.int32) if previous is None else previous
        head = numpy.array([row_ptr.size - 1, col_idx.size, previous.size], numpy.int64)
        for part in head, row_ptr, col_idx, previous:
            stream.write(part.tobytes())


def measure(program, file, threads, device, anchors):
    """The record of one sequence, as text; ends the program if it cannot be had."""
    made = sequence.Sequence(file)
    about = {key: made.about[key] for key in ("name", "kind", "source")} | {"sha256": sequence.sha256(made)}
    command = [program, json.dumps(about), str(threads), device, *anchors]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        try:
            feed(made, running.stdin)
            running.stdin.close()
        except BrokenPipeError:
            pass  # the program says why
        text = running.stdout.read()
    if running.returncode:
        sys.exit(f"run.py: {file}: {program} ended with status {running.returncode}")
    return text.decode()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, help="build folder, or the program sequence_times itself")
    parser.add_argument("out", type=pathlib.Path, help="file that the records are appended to")
    parser.add_argument("sources", type=pathlib.Path, nargs="+", help="sequences, and folders of sequences")
    parser.add_argument("--threads", default="1", help="numbers of host threads (default: 1)")
    parser.add_argument("--devices", default="cpu", help="cpu, gpu or both (default: cpu)")
    parser.add_argument("--anchors", default="metis,amd", help="other orders of every step (default: metis,amd); '' for none")
    args = parser.parse_args()
    program = args.build / "sequence_times" if args.build.is_dir() else args.build
    threads, anchors = args.threads.split(","), [a for a in args.anchors.split(",") if a]
    cases = [(t, "cpu") for t in threads if "cpu" in args.devices] + [(threads[-1], "gpu")] * ("gpu" in args.devices)
    for file in files_of(args.sources):
        for k, (count, device) in enumerate(cases):
            line = measure(program, file, count, device, anchors if k == 0 else [])
            with open(args.out, "a", encoding="utf-8") as out:
                out.write(line)
            steps = json.loads(line)["steps"][1:]
            mean = 1e3 * sum(s["update_s"] for s in steps) / max(1, len(steps))
            print(f"{file.name}: {count} threads, {device}: {mean:.2f} ms per step", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
