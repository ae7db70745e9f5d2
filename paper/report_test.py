"""Builds the report from the committed records and looks at what came out. Exit status 77 without matplotlib.

$GSOFA names the built program.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
GSOFA = os.environ.get("GSOFA", "gsofa")
SKIPPED = 77


def find_python():
    for python in (sys.executable, "python3", "/usr/bin/python3"):
        if shutil.which(python) and subprocess.run(
            [python, "-c", "import matplotlib, tomllib"], capture_output=True
        ).returncode == 0:
            return python
    return None


PYTHON = find_python()


class ReportTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        out = Path(cls.folder.name)
        claims = subprocess.run([GSOFA, "claims", "--json", "--check"], capture_output=True, text=True)
        cls.verdicts = claims
        (out / "claims.jsonl").write_text(claims.stdout)
        cls.built = subprocess.run(
            [PYTHON, HERE / "build.py", "--claims", out / "claims.jsonl", "--out", out, "--no-pdf"],
            capture_output=True, text=True)
        cls.out = out

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def claims(self):
        return [r for r in map(json.loads, self.verdicts.stdout.splitlines()) if "number" not in r]

    def test_stated_verdicts_are_those_of_the_records(self):
        self.assertEqual(self.verdicts.returncode, 0, self.verdicts.stderr)

    def test_every_claim_is_judged_and_stands_in_the_report(self):
        page = (self.out / "report.html").read_text()
        claims = self.claims()
        self.assertGreater(len(claims), 60)
        items = set(re.findall(r"\{\{claims (\w+)\}\}", (HERE / "report.md").read_text()))
        for c in claims:
            self.assertNotEqual(c["verdict"], "unjudged", c["id"])
            self.assertIn(c["item"], items, c["id"])
        self.assertNotIn("{{", page)

    def test_both_forms_have_every_figure(self):
        self.assertEqual(self.built.returncode, 0, self.built.stderr)
        names = re.findall(r"\{\{figure (\w+)", (HERE / "report.md").read_text())
        self.assertGreater(len(names), 15)
        html, tex = (self.out / "report.html").read_text(), (self.out / "report.tex").read_text()
        for name in names:
            self.assertIn(f"{name}.png", html)
            self.assertIn(f"{name}.pdf", tex)
            for kind in ("png", "pdf", "csv"):
                self.assertGreater((self.out / f"{name}.{kind}").stat().st_size, 50, f"{name}.{kind}")

    def test_tests_that_claims_name_exist(self):
        sources = "".join(p.read_text(errors="replace") for d in ("reference", "variants", "common", "harness")
                          for p in (ROOT / d).rglob("*_test.cpp"))
        sources += "".join(p.read_text() for p in (ROOT / "variants").rglob("emulated_test.cpp"))
        for c in self.claims():
            if c["test"]:
                self.assertIn(f'TEST_CASE("{c["test"]}"', sources, c["id"])

    def test_a_false_verdict_is_noticed(self):
        text = (HERE / "claims.toml").read_text()
        changed = text.replace('verdict = "not reproduced"', 'verdict = "reproduced"', 1)
        self.assertNotEqual(text, changed)
        file = self.out / "changed.toml"
        file.write_text(changed)
        done = subprocess.run([GSOFA, "claims", "--check", "--claims", file], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("is stated as 'reproduced'", done.stderr)


if __name__ == "__main__":
    if PYTHON is None:
        print("skipped: no Python with matplotlib and tomllib")
        sys.exit(SKIPPED)
    no_toml = subprocess.run([GSOFA, "claims"], capture_output=True, text=True)
    if "cannot read TOML" in no_toml.stderr:
        print("skipped: the program was built without toml++")
        sys.exit(SKIPPED)
    unittest.main()
