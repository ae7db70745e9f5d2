#!/usr/bin/env python3
"""Counts lines of code that are neither blank nor comment, by language and top-level folder.

    harness/testing/count_lines.py [REVISION]

Counts the files that git tracks (of the working tree, or of REVISION), except experiments/records: C, C++, CUDA,
Fortran, Python (without docstrings), CMake, TOML and Bash. A file whose name says that it tests is in a column of its own.
"""
import ast
import collections
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LANGUAGES = {".c": "C++", ".h": "C++", ".cpp": "C++", ".hpp": "C++", ".cu": "C++", ".cuh": "C++", ".f90": "Fortran",
             ".py": "Python", ".cmake": "CMake", ".toml": "TOML", ".sh": "Bash"}
TEST = re.compile(r"(^|/)(test_[^/]*|[^/]*_tests?(_[^/]*)?\.[^/]*|conftest\.py|testing/.*|tests/.*)$")
C_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
HASH_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'[^\'\n]*\'|(?:^|(?<=\s))#[^\n]*', re.S)


def language(name, text):
    """Of a file: its language, or None for files that are not counted."""
    if Path(name).name == "CMakeLists.txt":
        return "CMake"
    if text.startswith(("#!/usr/bin/env bash", "#!/bin/bash", "#!/bin/sh")):
        return "Bash"
    return LANGUAGES.get(Path(name).suffix)


def without(pattern, comment, text):
    """`text` without the matches of `pattern` that begin as a comment; line ends stay."""
    return pattern.sub(lambda m: "\n" * m[0].count("\n") if m[0].startswith(comment) else m[0], text)


def python_lines(text):
    """Lines of Python that have more than a comment and belong to no docstring."""
    lines = [re.sub(r"^\s*#.*", "", line) for line in text.split("\n")]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            for i in range(node.lineno - 1, node.end_lineno):
                lines[i] = ""
    return lines


def code_lines(kind, text):
    """The number of lines of `text`, in the language `kind`, that are code."""
    if kind == "Python":
        lines = python_lines(text)
    elif kind == "C++":
        lines = without(C_TOKEN, ("//", "/*"), text).split("\n")
    else:
        lines = [re.sub(r"^\s*!.*", "", line) if kind == "Fortran" else line for line in
                 (text if kind == "Fortran" else without(HASH_TOKEN, "#", text)).split("\n")]
    return sum(1 for line in lines if line.strip())


def git(*arguments):
    return subprocess.run(["git", "-C", ROOT, *arguments], check=True, capture_output=True).stdout.decode("utf-8", "replace")


revision = sys.argv[1] if len(sys.argv) > 1 else None
count = collections.Counter()
for name in (git("ls-tree", "-r", "--name-only", revision) if revision else git("ls-files")).splitlines():
    if not name.startswith("experiments/records/") and (revision or (ROOT / name).is_file()):
        text = git("show", f"{revision}:{name}") if revision else (ROOT / name).read_text(errors="replace")
        if kind := language(name, text):
            for row in (kind, name.split("/")[0] if "/" in name else "(top level)", "all"):
                count[row, bool(TEST.search(name))] += code_lines(kind, text)
print(f"{'':14} {'code':>8} {'tests':>8} {'both':>8}")
for row in sorted({row for row, _ in count}, key=lambda r: (r == "all", r in LANGUAGES.values() or r == "Fortran", r)):
    code, tests = count[row, False], count[row, True]
    print(f"{row:14} {code:8,} {tests:8,} {code + tests:8,}")
