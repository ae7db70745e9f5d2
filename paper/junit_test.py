"""Tests of how runs of the tests are read."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "plots")]

import claims  # noqa: E402
import junit  # noqa: E402
import records  # noqa: E402

SHA = "0123456789" * 4
HEAD = '<?xml version="1.0"?><testsuite name="x" hostname="vm" timestamp="2026-11-22T06:00:00">'


def entry(name, status, output):
    return f'<testcase name="{name}" classname="{name}" status="{status}"><system-out>{output}\n</system-out></testcase>'


def version(commit=SHA, changed=""):
    return entry("build/version", "run", f"gsofa 0.1.0 ({commit}{changed}, GNU 12.2.0, Release)")


class JunitTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def read(self, text, name="tests.xml"):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return junit.TestRun(path)

    def test_cases_of_entries(self):
        run = self.read(HEAD + version() + entry("a", "run", "x\n0.000012 s: one\n1.5 s: two, of many") +
                        entry("b", "fail", "0.1 s: three") + entry("c", "notrun", "0.1 s: four") +
                        entry("d", "run", "took 0.1 s: five\n0.1 s: three") + "</testsuite>")
        self.assertEqual(run.cases, {"one": True, "two, of many": True, "three": False})
        self.assertEqual((run.commit, run.changed), (SHA, False))
        self.assertEqual(run.origin(), "commit 0123456 on vm, 2026-11-22T06:00:00")

    def test_where_it_comes_from(self):
        self.assertTrue(self.read(HEAD + version(changed=", changed") + "</testsuite>").changed)
        run = self.read("<testsuite/>")
        self.assertEqual((run.commit, run.cases), ("", {}))
        self.assertEqual(run.origin(), "an unknown commit on an unknown host, at an unknown time")

    def test_faults_are_one_line(self):
        for text, mention in (("", ":1: not XML"), (HEAD + "\n<testcase>", ":2: not XML"), ("<html/>", "<html>")):
            with self.assertRaises(records.Refused) as raised:
                self.read(text)
            self.assertIn(f"{self.folder / 'tests.xml'}", str(raised.exception))
            self.assertIn(mention, str(raised.exception))
        with self.assertRaises(records.Refused):
            junit.TestRun(self.folder / "none.xml")

    def test_only_clean_runs_of_the_commit_fit_the_tree(self):
        def git(*arguments):
            subprocess.run(["git", "-C", self.folder, "-c", "user.name=a", "-c", "user.email=a@b", *arguments], check=True,
                           capture_output=True, env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull})
        self.assertEqual(junit.of_this_tree(self.folder), [])
        git("init")
        git("commit", "--allow-empty", "-m", "x")
        head = junit.head(self.folder)
        self.assertEqual(len(head), 40)
        for k, (name, commit, changed) in enumerate((("old", head, ""), ("other", SHA, ""), ("new", head, ""),
                                                     ("changed", head, ", changed"))):
            run = self.read(HEAD + version(commit, changed) + "</testsuite>", f"build/{name}/tests.xml")
            os.utime(run.path, (k, k))
        self.read("<testsuite/>", "build/unknown/tests.xml")
        (self.folder / "build/old/tests.xml").with_name("tests.xml.part").write_text("")
        (self.folder / "build/cut").mkdir()
        (self.folder / "build/cut/tests.xml").write_text(HEAD)
        self.assertEqual([r.path.parent.name for r in junit.of_this_tree(self.folder)], ["new", "old"])

    def test_committed_runs_say_where_they_come_from(self):
        for place in claims.Evidence(claims.ClaimFile()).tests:
            run = junit.TestRun(HERE.parent / place)
            self.assertTrue(run.commit and run.host and run.time and not run.changed, place)


if __name__ == "__main__":
    unittest.main()
