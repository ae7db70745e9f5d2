"""The testbed from Python: run its variants, read its records, compare two sets of them.

Needs pandas, and to run variants the program `gsofa` of a source tree: `./testbed build` makes it.
"""
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile

import numpy as np

from .errors import InternalError, InvalidInput, Unavailable, needed

pd = needed("pandas", "testbed")

REPLICATES = 999
CONFIDENCE = 95  # percent


def program(root=None):
    """Path of the program gsofa: of the environment variable GSOFA, of the source tree `root`, of one that holds the working
    directory, or on PATH."""
    named = os.environ.get("GSOFA")
    if named:
        return named
    here = pathlib.Path.cwd()
    for folder in [pathlib.Path(root)] if root else [here, *here.parents]:
        built = [p for p in folder.glob("build/*/gsofa") if os.access(p, os.X_OK) and p.is_file()]
        if built and (folder / "variants").is_dir():
            return str(max(built, key=lambda p: p.stat().st_mtime))
    found = shutil.which("gsofa")
    if found and not root:
        return found
    raise Unavailable("no program gsofa: ./testbed build in the source tree makes it; name the tree by root= or the program by "
                      "the environment variable GSOFA")


def run(variants, matrices, *, order="metis", repeat=5, threads=1, options=(), timeout=0, out=None, root=None):
    """Runs variants on matrices, verified, and returns the runs as read() does.

    variants, matrices: a name or a list of names as `gsofa run` takes them. options: words such as "gpu_maxid.queue_share=5".
    out: a file of records (.jsonl) that is appended to; else they are not kept. A run that fails is a row with its status.
    """
    names = [variants] if isinstance(variants, str) else list(variants)
    if not names:
        raise InvalidInput("variants: none are named")
    if out is not None:
        refuse_other_text(out)
    exe = program(root)
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "records.jsonl"
        for matrix in [matrices] if isinstance(matrices, (str, os.PathLike)) else matrices:
            words = [exe, "run", "--matrix", os.fspath(matrix), "--order", order, "--repeat", str(repeat), "--threads",
                     str(threads), "--timeout", str(timeout), "--out", str(file)]
            for name in names:
                words += ["--variant", name]
            for option in options:
                words += ["--set", option]
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            if done.returncode == 2:
                raise InvalidInput(last_line(done.stderr))
            if done.returncode < 0:
                raise InternalError(f"{exe} was ended by signal {-done.returncode}")
        if not file.exists():
            raise Unavailable(last_line(done.stderr))
        lines = file.read_text(encoding="utf-8")
        if out is not None:
            with open(out, "a", encoding="utf-8") as kept:
                kept.write(lines)
        return read(file)


def refuse_other_text(path):
    """InvalidInput if a file begins with something else than a record, which the program refuses to append to as well."""
    if os.path.isfile(path):
        with open(path, "rb") as file:
            begin = file.read(1 << 16).strip()
        if begin and not begin.startswith(b'{"schema":'):
            raise InvalidInput(f"{path}: its first line is not a record, so nothing is appended to it")


def last_line(text):
    """What a program said last, without its name."""
    lines = text.strip().splitlines() or ["it said nothing"]
    return lines[-1].removeprefix("gsofa: ").removeprefix("error: ")


def read(*paths):
    """The runs of files of records (.jsonl) or of folders that hold some, a row each: matrix, stand_in, n, nnz, variant, device,
    options, threads, ranks, status, reason, median_s with the ends of its interval low_s and high_s, samples_s, fill, nnz_l, nnz_u,
    machine, cpu, commit, time_utc, file, line. The interval: percentiles of 95 % of bootstrap replicates of the median; none of a
    run that was not repeated."""
    rows = []
    for path in map(pathlib.Path, paths):
        for file in sorted(path.glob("*.jsonl")) if path.is_dir() else [path]:
            headers = {}  # of the runs of the file, by run_id: fields that all records of a run share
            with open(file, encoding="utf-8") as text:
                for number, line in enumerate(text, 1):
                    try:
                        record = json.loads(line)
                    except ValueError:
                        raise InvalidInput(f"{file}:{number}: not a line of JSON") from None
                    if not isinstance(record, dict):
                        continue
                    if record.get("kind") == "run_header":
                        headers[record["run_id"]] = record
                    elif isinstance(record.get("variant"), str) and "samples_s" in record:
                        if "git" not in record:
                            record = with_header(headers.get(record["run_id"]), record, f"{file}:{number}")
                        rows.append(row_of(record, file, number))
    frame = pd.DataFrame(rows, columns=COLUMNS)
    return frame


def with_header(header, record, place):
    """A record with the fields of the header of its run."""
    if header is None:
        raise InvalidInput(f"{place}: no line before it is the run_header of {record['run_id']}")
    both = {key: header[key] | record[key] for key in ("machine", "mpi") if key in header and key in record}
    return header | record | both


COLUMNS = ("matrix", "stand_in", "n", "nnz", "variant", "device", "options", "threads", "ranks", "status", "reason", "median_s",
           "low_s", "high_s", "samples_s", "fill", "nnz_l", "nnz_u", "machine", "cpu", "commit", "time_utc", "file", "line")


def row_of(r, file, number):
    """A record as a row of read()."""
    samples = [float(s) for s in r["samples_s"]]
    low, high = interval(np.median(resampled(samples), axis=1)) if len(samples) > 1 else (np.nan, np.nan)
    matrix, result = r["matrix"], r.get("result", {})
    return (matrix["name"], matrix.get("stand_in", False), matrix["n"], matrix["nnz_prepared"], r["variant"], r["device"],
            json.dumps(r["options"], sort_keys=True), r["threads"], r["mpi"]["ranks"], r["status"], r["reason"],
            statistics.median(samples) if samples else np.nan, low, high, tuple(samples), result.get("fill"),
            result.get("nnz_l"), result.get("nnz_u"), r.get("machine", {}).get("id") or r["host"], r.get("cpu", ""),
            r["git"]["sha"], r["time_utc"], str(file), number)


def resampled(samples):
    """REPLICATES x k: samples drawn again with replacement, alike for equal samples."""
    samples = np.asarray(samples, dtype=float)
    rng = np.random.default_rng(samples.size)
    return samples[rng.integers(samples.size, size=(REPLICATES, samples.size))]


def interval(values):
    """The middle CONFIDENCE percent."""
    tail = (100 - CONFIDENCE) / 2
    return tuple(float(x) for x in np.percentile(values, (tail, 100 - tail)))


CASE = ["matrix", "variant", "options", "threads", "ranks"]


def compare(before, after, by=CASE):
    """Times of `after` over those of `before`, a row for each case that both have, with the interval of the ratio; < 1 is
    faster. Samples of the runs of one case are taken together. Compare runs of one machine only: the column one_machine says
    whether."""
    by = list(by)
    sides = []
    for frame in (before, after):
        timed = frame[frame["median_s"].notna()]
        sides.append({key: (sum(map(list, group["samples_s"]), []), set(zip(group["machine"], group["cpu"])))
                      for key, group in timed.groupby(by, sort=True)})
    rows = []
    for key, (old, old_machines) in sides[0].items():
        if key not in sides[1]:
            continue
        new, new_machines = sides[1][key]
        low, high = np.nan, np.nan
        if min(len(old), len(new)) > 1:
            # Drawn independently of each other.
            draws = resampled(old), np.flip(resampled(new), axis=0)
            low, high = interval(np.median(draws[1], axis=1) / np.median(draws[0], axis=1))
        rows.append((*(key if isinstance(key, tuple) else (key,)), statistics.median(old), statistics.median(new),
                     statistics.median(new) / statistics.median(old), low, high, len(old_machines | new_machines) == 1))
    return pd.DataFrame(rows, columns=[*by, "before_s", "after_s", "ratio", "low", "high", "one_machine"])
