"""Runs of the tests as claims read them: the JUnit file of ctest, which `./testbed test` writes to build/PRESET/tests.xml.

An entry of ctest is a file of test cases; its output lists each case that ran ("0.000012 s: NAME", from
`gsofa_tests --duration`). The output of the entry build/version names the commit.
"""

import re
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import records

CASE = re.compile(r"^\d+\.\d+ s: (.+)$", re.MULTILINE)
VERSION = re.compile(r"^gsofa \S+ \(([0-9a-f]{40})(, changed)?", re.MULTILINE)


class TestRun:
    """One run of ctest. commit: "" if the file does not say it; changed: the tree differed from it; cases: for each test
    case that ran, whether its entry passed."""

    def __init__(self, path):
        """Refused if the file cannot be read or is no JUnit file."""
        self.path = Path(path)
        try:
            root = ElementTree.parse(self.path).getroot()
        except OSError as e:
            raise records.Refused(f"{path}: {e.strerror}") from e
        except ElementTree.ParseError as e:
            raise records.Refused(f"{path}:{e.position[0]}: not XML: {e}") from e
        if root.tag != "testsuite":
            raise records.Refused(f"{path}: not a JUnit file of ctest: <{root.tag}> instead of <testsuite>")
        self.host = root.get("hostname", "")
        self.time = root.get("timestamp", "")
        self.commit, self.changed = "", False
        self.cases = {}
        for entry in root.iter("testcase"):
            output = entry.findtext("system-out") or ""
            if entry.get("name") == "build/version" and (version := VERSION.search(output)):
                self.commit, self.changed = version[1], bool(version[2])
            if entry.get("status") in ("run", "fail"):
                for case in CASE.findall(output):
                    self.cases[case] = self.cases.get(case, True) and entry.get("status") == "run"

    def origin(self):
        """"commit 1b617f9 on vm, 2026-11-22T06:09:02"."""
        commit = f"commit {self.commit[:7]}{' (changed)' if self.changed else ''}" if self.commit else "an unknown commit"
        return f"{commit} on {self.host or 'an unknown host'}, {self.time or 'at an unknown time'}"


def head(root):
    """The commit that is checked out, "" outside of a repository."""
    try:
        done = subprocess.run(["git", "-C", root, "rev-parse", "HEAD"], capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def of_this_tree(root):
    """Runs in build/*/tests.xml of the commit that is checked out, made without changes, the newest first. Files that
    cannot be read, as after an interruption, are left out."""
    runs = []
    commit = head(root)
    for path in sorted(Path(root).glob("build/*/tests.xml"), key=lambda p: p.stat().st_mtime, reverse=True):
        try:
            run = TestRun(path)
        except records.Refused:
            continue
        if commit and run.commit == commit and not run.changed:
            runs.append(run)
    return runs
