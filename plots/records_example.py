"""Records for the tests of everything that reads them."""

import copy
import json

RUN = {
    "schema": 1, "experiment": "", "git": {"sha": "0" * 40, "dirty": False}, "host": "h", "cpu": "c", "gpus": [],
    "mpi": {"ranks": 1}, "matrix": {"name": "bcsstk18", "n": 11948, "nnz": 30, "stand_in": False},
    "ordering": {"col": "metis", "digest": "d"}, "variant": "cpu_fill2_parallel", "device": "cpu",
    "options": {"sources_per_range": 16}, "threads": 1, "chunk_size": 128, "wants": ["counts"], "counting": False,
    "status": "pass", "reason": "", "samples_s": [3, 5, 4], "phases_s": {"traverse": 1.5, "compact": 0.25},
    "mem": {"device_peak": 5, "device": {"arena": 6}, "predicted": {}}, "result": {"fill": 20, "nnz_l": 20, "nnz_u": 30},
    "counters": {"levels": 3}}


def run(**changes):
    """A run that passed, with other values; matrix: its name or the complete object; options: added to the default options."""
    r = copy.deepcopy(RUN)
    if isinstance(changes.get("matrix"), str):
        changes["matrix"] = RUN["matrix"] | {"name": changes["matrix"], "stand_in": changes["matrix"] != "bcsstk18"}
    if "options" in changes:
        changes["options"] = RUN["options"] | changes["options"]
    return r | changes


def write(path, *lines):
    """A file of records; a string is written as it is. Returns the path."""
    path.write_text("".join((x if isinstance(x, str) else json.dumps(x)) + "\n" for x in lines))
    return path
