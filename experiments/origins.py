"""Where a record comes from: the command line that made it, and whether this command line can be run again. Standard library
only; needs git and the history of the repository."""
import functools
import pathlib
import re
import subprocess

import suites
from specs import read_tables

ROOT = pathlib.Path(__file__).resolve().parent.parent
MATRIX_FILES = (".mtx", ".mtx.gz", ".bin")  # a matrix outside the tree is known by its sha256
OUTPUTS = ("--out", "--pattern-out", "--checkpoint", "--prepared", "--real", "--fem", "--kkt")


FIRST = "3aa9a4a49b40032442ec3117b064d4ba1d5041d1"  # commit of the oldest records


class NoHistory(Exception):
    """The repository at hand lacks its history."""


@functools.cache
def listed():
    """sha256 of all matrices that a list of experiments has."""
    folder = ROOT / "experiments"
    lists = (path.read_text(encoding="utf-8") for path in [*folder.rglob("*.tsv"), *folder.glob("suites/*.toml"), *folder.glob("*.lock.toml")])
    return frozenset(re.findall(r"\b[0-9a-f]{64}\b", " ".join(lists)))


def unlisted(record):
    """Why nobody can find the matrix of a record; "" if it is generated, in the tree, or in a list with its sha256."""
    matrix = record.get("matrix")
    found = not matrix or matrix["name"].startswith("gen:") or matrix["stand_in"] or matrix["sha256"] in listed() \
        or (ROOT / matrix["source"]).is_file()
    return "" if found else "no list has the sha256 of its matrix"


@functools.cache
def has_commit(sha):
    done = subprocess.run(["git", "-C", ROOT, "cat-file", "-e", f"{sha}^{{commit}}"], capture_output=True, check=False)
    return done.returncode == 0


@functools.cache
def text_of(sha, path):
    """A file of a commit; None if the commit lacks it."""
    done = subprocess.run(["git", "-C", ROOT, "show", f"{sha}:{path}"], capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else None


def value_of(argv, option, default=None):
    """The word after an option, or the rest of OPTION=VALUE."""
    for k, word in enumerate(argv):
        if word == option and k + 1 < len(argv):
            return argv[k + 1]
        if word.startswith(option + "="):
            return word[len(option) + 1:]
    return default


@functools.cache
def cases_of(sha, spec, group):
    """The [[case]] tables of a group of a spec as it is in a commit; None if the commit lacks the spec."""
    text = text_of(sha, spec)
    if text is None:
        return None
    return [c for c in read_tables(text.decode("utf-8")) if group in c.get("groups", ())]


def fault(record):
    """Why the command line of a record cannot be run again, in a few words; "" if it can: its commit has the spec and the group,
    or every file, that it names. Throws NoHistory."""
    sha, argv = record["git"]["sha"], record["argv"]
    if not has_commit(FIRST):
        raise NoHistory("the repository lacks its history")
    if not has_commit(sha):
        return f"the repository lacks commit {sha[:12]}"
    command = argv[1] if len(argv) > 1 else ""
    if command == "experiment":
        spec = next((w for w in argv[2:] if w.endswith(".toml")), "")
        group = value_of(argv, "--group", "smoke")
        cases = cases_of(sha, spec, group)
        if cases is None:
            return f"spec {spec} is absent at commit {sha[:12]}"
        return "" if cases else f"group '{group}' of {spec} is absent at commit {sha[:12]}"
    known = suites.of_collection()
    for before, word in zip(argv[1:], argv[2:]):
        is_file = "/" in word and word not in known and not word.startswith(("-", "gen:", "{")) and before not in OUTPUTS
        if is_file and not word.endswith(MATRIX_FILES) and text_of(sha, word) is None:
            return f"file {word} is absent at commit {sha[:12]}"
    return ""
