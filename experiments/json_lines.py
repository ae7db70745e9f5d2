"""Records and other JSON Lines, read so that every fault names its file and line. Standard library only."""
import gzip
import json
import math
import zlib

NUMBER = (int, float)
NUMBERS = [NUMBER]
# What a field must be if a line has it; a list is of one type.
TYPES = {
    "schema": int, "run_id": str, "experiment": str, "host": str, "cpu": str, "gpus": [dict], "variant": str,
    "device": str, "threads": int, "chunk_size": int, "wants": [str], "counting": bool, "status": str,
    "reason": str, "samples_s": NUMBERS, "kind": str, "simulated": bool, "git.sha": str,
    "git.dirty": bool, "mpi.ranks": int, "matrix.name": str, "matrix.n": int, "matrix.nnz": int,
    "matrix.stand_in": bool, "ordering.col": str, "ordering.digest": str, "result.nnz_l": int,
    "result.nnz_u": int, "result.fill": int, "schedule": str, "batch_barrier": bool, "nodes": int,
    "gpus_per_node": int, "n": int, "makespan_s": NUMBER, "speedup": NUMBER, "dram_gb_per_s": NUMBER,
    "l2_gb_per_s": NUMBER, "copy_gb_per_s": NUMBER, "dram_percent": NUMBER, "l2_percent": NUMBER,
    "predicted_work": NUMBERS, "series": {"*": NUMBERS}, "phases_s": {"*": NUMBER},
    "counters": {"*": NUMBER}, "derived": {"*": NUMBER}, "options": {"*": (bool, int, str)},
    "bytes_per_s": NUMBER, "gpu": str, "machine.id": str, "machine.threads_usable": int, "trials.timeout_s": NUMBER,
    "series_stats": {"*": {"*": NUMBER}}, "mem.device": {"*": NUMBER}, "mem.predicted": {"*": NUMBER},
}
# A line of simulate.py and one of profile.jsonl name their matrix; a simulated one counts its GPUs.
TYPES_OF_NAMED = {"matrix": str, "gpus": int}
WORDS = {str: "a string", bool: "true or false", int: "an integer", NUMBER: "a number", dict: "an object"}

SCHEMAS = (1, 2)  # versions of the record format; lines of version 2 have headers
HEADER = "run_header"
PARTLY_SHARED = {"machine", "mpi"}  # a header has some of their fields, each line has the others

# The variant with whose digests other results are compared, so that beyond the oracles it cannot pass by itself.
TRUSTED = "cpu_gilbert_peierls"


class BadLine(Exception):
    """A file or one of its lines cannot be used; the message is one line."""


class Object(dict):
    """A JSON object that knows its place: a key that it lacks is a BadLine."""

    def __init__(self, pairs, place):
        super().__init__(pairs)
        self.place = place

    def __missing__(self, key):
        raise BadLine(f"{self.place}: '{key}' is missing")


def is_a(value, kind):
    if isinstance(kind, list):
        return isinstance(value, list) and all(is_a(v, kind[0]) for v in value)
    if isinstance(kind, dict):
        return isinstance(value, dict) and all(is_a(v, kind["*"]) for v in value.values())
    if isinstance(value, bool):  # no number
        return kind is bool or (isinstance(kind, tuple) and bool in kind)
    return isinstance(value, kind)


def words(kind):
    if isinstance(kind, list):
        return "an array, each item " + words(kind[0])
    if isinstance(kind, dict):
        return "an object, each value " + words(kind["*"])
    return WORDS.get(kind, "a plain value")


def check_types(line):
    named = isinstance(line.get("matrix"), str) and ("simulated" in line or "schema" not in line)
    for name, kind in (TYPES | TYPES_OF_NAMED if named else TYPES).items():
        *outer, key = name.split(".")
        value = line
        for part in outer:
            if named and part == "matrix":
                value = {}
            value = value.get(part, {})
            if not isinstance(value, dict):
                raise BadLine(f"{line.place}: '{part}' is not an object")
        if key in value and not is_a(value[key], kind):
            raise BadLine(f"{line.place}: '{name}' is not {words(kind)}")


def finite(text):
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is no number of JSON")
    return value


def parse(data, place):
    """The object that the bytes of a line hold."""
    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=lambda pairs: Object(pairs, place),
                           parse_float=finite, parse_constant=finite)
    except json.JSONDecodeError as e:
        raise BadLine(f"{place}: not JSON from column {e.colno} on: {e.msg}") from e
    except (ValueError, RecursionError) as e:
        raise BadLine(f"{place}: not JSON: {e}") from e
    if not isinstance(value, Object):
        raise BadLine(f"{place}: not a JSON object")
    check_types(value)
    return value


def load(path):
    """The object that is the whole of a file."""
    try:
        with open(path, "rb") as f:
            return parse(f.read(), str(path))
    except OSError as e:
        raise BadLine(f"{path}: {e.strerror}") from e


def joined(lines):
    """Lines of records, each with the fields of the header of its run (harness/record/run_header.hpp), and without the headers
    themselves. Lines that have all their fields, and lines that are no records, are as they were."""
    headers = {}
    for line in lines:
        run = line.get("run_id")
        if line.get("kind") == HEADER:
            headers[run] = line
        elif "git" in line or line.get("schema") != SCHEMAS[-1]:
            yield line
        elif run not in headers:
            raise BadLine(f"{line.place}: no line before it is the {HEADER} of {run}")
        else:
            yield with_header(headers[run], line)


def with_header(header, line):
    """One record of a line and the header of its run."""
    record = Object({**header, **line}, line.place)
    if "kind" not in line:
        del record["kind"]
    for key in PARTLY_SHARED & line.keys() & header.keys():
        record[key] = Object({**header[key], **line[key]}, line.place)
    return record


def lines_of(data, name):
    """The records in bytes or text, such as what a program printed with --json; `name` names their places."""
    data = data.encode() if isinstance(data, str) else data
    return joined(parse(line, f"{name}:{number}") for number, line in enumerate(data.splitlines(), 1) if line.strip())


def load_of(runs):
    """A list with a sentence on the most loaded machine before a case began; empty if no load was above the number of cores."""
    found = [(m["before"]["load"], m["threads_online"]) for r in runs if "threads_online" in (m := r.get("machine", {}))]
    load, cores = max(found, default=(0, 1), key=lambda pair: pair[0] / pair[1])
    return [f"the machine was loaded: load {load:.1f} on {cores} cores"] if load > cores else []


def files_below(folder):
    """All files of records below a folder, compressed ones too."""
    return sorted([*folder.rglob("*.jsonl"), *folder.rglob("*.jsonl.gz")])


def opened(path):
    """A file for reading bytes; NAME.gz is decompressed."""
    return gzip.open(path) if str(path).endswith(".gz") else open(path, "rb")


def read(path):
    """The objects of a file (NAME.gz is compressed), in order; each has its place, "file:line". Records are joined()."""
    try:
        with opened(path) as lines:
            yield from joined(parse(line, f"{path}:{number}") for number, line in enumerate(lines, 1) if line.strip())
    except (OSError, EOFError, zlib.error) as e:
        raise BadLine(f"{path}: {getattr(e, 'strerror', None) or e}") from e
