"""Tests of the run of all experiments: with stand-ins for the programs, and with the programs of $GSOFA_BUILD, a build folder."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "plots")]

import json_lines
import records_example as example
import reproduce

REGISTRY = [{"name": "cpu_a", "available": True, "options": [{"name": "block"}]},
            {"name": "gpu_b", "available": False, "options": []}]
# Appends what the folder of the spec holds as lines.jsonl to --out, and ends with the status in its file code.
GSOFA = """#!/usr/bin/env python3
import json, sys, time
from pathlib import Path
if sys.argv[1] == "list":
    print(json.dumps({registry}))
    sys.exit()
folder = Path(sys.argv[2]).parent
print("table of cases")
if (folder / "slow").exists():
    time.sleep(60)
with open(sys.argv[sys.argv.index("--out") + 1], "a") as out:
    out.write((folder / "lines.jsonl").read_text())
if (folder / "fault").exists():
    print("gsofa: error: " + (folder / "fault").read_text(), file=sys.stderr)
    sys.exit(4)
"""


def skipped(reason):
    return example.run(status="skipped", reason=reason, variant="gpu_b", samples_s=[], phases_s={}, result={})


class ReproduceTest(unittest.TestCase):
    def setUp(self):
        self.root = Path(self.enterContext(tempfile.TemporaryDirectory()))
        program = self.root / "build" / "gsofa"
        program.parent.mkdir()
        program.write_text(GSOFA.replace("{registry}", repr(REGISTRY)))
        program.chmod(0o755)
        self.out = self.root / "results" / "one"

    def spec(self, name, *lines, text='matrices = ["BC"]'):
        folder = self.root / name
        folder.mkdir()
        (folder / "spec.toml").write_text(f'name = "{name}"\n[[case]]\ngroups = ["smoke"]\n{text}\n')
        example.write(folder / "lines.jsonl", *lines)
        return folder / "spec.toml"

    def command(self, *specs):
        return [sys.executable, HERE / "reproduce.py", "--build", self.root / "build", "--out", self.out, "--group", "smoke",
                *specs]

    def reproduce(self, *specs):
        done = subprocess.run(list(map(str, self.command(*specs))), capture_output=True, text=True, timeout=120)
        return done.returncode, done.stdout, done.stderr

    def test_a_line_for_each_experiment_then_totals_and_paths(self):
        no_gpu = "no usable CUDA device"
        code, out, err = self.reproduce(
            self.spec("first", example.run(), skipped(no_gpu), skipped(no_gpu), skipped("needs 2 GPUs")),
            self.spec("second", example.run(), example.run(status="unverified", device="peer", reason="reports 3 entries more")))
        self.assertEqual((code, err), (0, ""), out)
        lines = out.splitlines()
        self.assertEqual(lines[0], "2 experiments of group smoke, about 4 cases, 2 of which this machine cannot run")
        self.assertRegex(lines[1], r"\Atime: about 1 s by the \d+ s that \d+ cases took on \w.*\Z")
        self.assertRegex(lines[2], r"\A  1/2 first +4 cases  1 pass, 3 skipped, 0 failed; [\d.]+ s\Z")
        self.assertRegex(lines[3], r"\A  2/2 second +2 cases  1 pass, 0 skipped, 0 failed, 1 unverified; [\d.]+ s\Z")
        self.assertRegex(out, r"\ntotal of group smoke, 2 experiments: 2 pass, 3 skipped, 0 failed, 1 unverified in \d+ s\n"
                              r"skipped: +2  no usable CUDA device\nskipped: +1  needs 2 GPUs\n"
                              r"unverified: +1  reports … entries more\n")
        self.assertEqual(out.count(no_gpu), 1)
        self.assertIn("figures drawn: compare", out)
        for name in ("records.jsonl", "figures", "log.txt", "index.html"):
            self.assertIn(f" {self.out / name}\n", out)
            self.assertTrue((self.out / name).exists())
        self.assertIn("table of cases\n", (self.out / "log.txt").read_text())
        self.assertNotIn("table of cases", out)

    def test_a_failed_case_and_a_program_that_ends_with_an_error(self):
        spec = self.spec("first", example.run(status="fail", reason="row 3"))
        (spec.parent / "fault").write_text("disk full")
        code, out, err = self.reproduce(spec)
        self.assertEqual(code, 1)
        self.assertRegex(out, r"first +1 case  0 pass, 0 skipped, 1 failed; .*\n +gsofa: error: disk full\n")
        self.assertRegex(out, r"\nfail: +1  row …\n")
        self.assertEqual(err, f"reproduce: error: some cases failed: {self.out / 'log.txt'} has their tables\n")

    def test_bad_specs_are_one_line_before_anything_runs(self):
        good, bad = self.spec("good", example.run()), self.spec("bad", text="matrices = [")
        for spec, why in ((bad, "bad/spec.toml: "), (self.root / "none.toml", "No such file"),
                          (self.spec("other", text='matrices = ["BC"]\ngroups = ["paper"]'), "")):
            code, out, err = self.reproduce(good, spec)
            self.assertEqual((code, out), (2, ""))
            self.assertRegex(err, rf"\Areproduce: error: [^\n]*{why}[^\n]*\n\Z")
        self.assertFalse((self.out / "records.jsonl").exists())

    def test_the_duration_of_the_last_call_is_known(self):
        for name, total in (("one", "total of group smoke, 1 experiment: 1 pass in 7 s"),
                            ("two", "total of group paper, 1 experiment: 1 pass in 9 s")):
            (self.root / "results" / name).mkdir(parents=True)
            (self.root / "results" / name / "log.txt").write_text(f"$ a program\n{total}\n")
        self.out = self.root / "results" / "three"
        for group, experiments, seconds in (("smoke", 1, 7), ("paper", 1, 9), ("smoke", 2, None)):
            self.assertEqual(reproduce.last_duration(self.out, group, experiments), seconds)
        self.assertIn("\ntime: the last call for as many of this group took 7 s\n", self.reproduce(self.spec("first", example.run()))[1])

    def test_an_interrupt_ends_the_program_and_names_the_log(self):
        spec = self.spec("first", example.run())
        (spec.parent / "slow").touch()
        child = subprocess.Popen(list(map(str, self.command(spec))), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        log = self.out / "log.txt"
        deadline = time.monotonic() + 60
        while not (log.exists() and "$ " in log.read_text()) and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.3)
        os.kill(child.pid, signal.SIGINT)
        out, _ = child.communicate(timeout=30)
        self.assertEqual(child.returncode, 130)
        self.assertTrue(out.endswith(f"interrupted; log: {log}\n"), out)

    def test_how_many_cases_are_expected(self):
        registry = {v["name"]: v for v in REGISTRY}
        for case, count in (({"matrices": ["BC"]}, (2, 1)),
                            ({"matrices": ["BC", "TT"], "orders": ["metis", "amd"], "variants": ["cpu_a"]}, (4, 0)),
                            ({"matrices": ["BC"], "options": ["block=1,2,3"], "chunk_sizes": [1, 2]}, (8, 2)),
                            ({"matrices": ["@bundled"], "variants": ["gpu_b"], "options": ["gpu_b.block=1,2"]},
                             (reproduce.bundled("@bundled"),) * 2)):
            self.assertEqual(reproduce.expected([case], registry), count, case)
        self.assertGreater(reproduce.bundled("@fem"), 1)
        self.assertEqual(reproduce.bundled("@bundled"), sum(map(reproduce.bundled, ("@real", "@fem", "@kkt"))))


BUILD = os.environ.get("GSOFA_BUILD", "")


def smoke_specs():
    """As `./testbed reproduce` takes them: the experiment `reproduce` first."""
    first = HERE / "reproduce" / "spec.toml"
    others = [p for p in sorted(HERE.glob("*/spec.toml")) if p != first and
              re.search(r'^groups = .*"smoke"', p.read_text(), re.M)]
    return [first, *others]


@unittest.skipUnless(BUILD, "GSOFA_BUILD names no build")
class RealPrograms(unittest.TestCase):
    """What `./testbed reproduce` does after its build, once, with nothing replaced."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.out, cls.specs = Path(folder.name) / "results", smoke_specs()
        cls.done = subprocess.run([sys.executable, HERE / "reproduce.py", "--build", BUILD, "--out", cls.out, "--group", "smoke",
                                   "--numeric", *cls.specs], capture_output=True, text=True, timeout=500)
        cls.records = list(json_lines.read(cls.out / "records.jsonl"))

    def test_it_ends_well(self):
        self.assertEqual((self.done.returncode, self.done.stderr), (0, ""), self.done.stdout)
        self.assertNotIn("cannot be drawn", self.done.stdout)
        self.assertRegex(self.done.stdout, r"\nfigures drawn: headline, .*compare\n")

    def test_every_experiment_ran(self):
        self.assertGreater(len(self.specs), 20)
        ran = {r["experiment"] for r in self.records}
        absent = re.findall(r"left out: cases of several ranks, for want of mpirun: (.*)", self.done.stdout)
        self.assertEqual({p.parent.name for p in self.specs} - ran - set(", ".join(absent).split(", ")), set())

    def test_no_case_failed(self):
        bad = [(r["variant"], r["matrix"]["name"], r["status"], r["reason"]) for r in self.records
               if r["status"] not in ("pass", "skipped", "unverified")]
        self.assertEqual(bad, [])

    def test_the_page_shows_every_figure_and_what_a_newcomer_wants(self):
        page = (self.out / "index.html").read_text()
        drawn = re.search(r"\nfigures drawn: (.*)\n", self.done.stdout)[1].split(", ")
        self.assertEqual(re.findall(r'<figure id="(\w+)"><img class="figure inverted" src="data:image/png;base64,[A-Za-z0-9+/=]{1000,}"', page), drawn)
        for name in drawn:
            for kind in ("png", "pdf", "csv"):
                self.assertGreater((self.out / "figures" / f"{name}.{kind}").stat().st_size, 50, f"{name}.{kind}")
        first = page[page.index("<h1>"):page.index("<figure")]
        self.assertRegex(first, r"All \d+ variants whose results could be verified agree on \d+ matrices and \d+ generated patterns\.")
        cell = r'<td class="n"[^>]*>%s</td>'
        self.assertRegex(first, r">bcsstk18</td><td[^>]*>\w+</td>(" + cell % r"[\d.,]+" + "){3}" + cell % "11,948" + cell % "1,129,226")
        self.assertIn(">980,136</td><td", first)
        self.assertGreater(first[first.index("What the paper says"):].count("<tr>"), 2)

    def test_every_bundled_matrix_is_run(self):
        names = {r["matrix"]["name"] for r in self.records if r["experiment"] == "reproduce"}
        self.assertEqual(len(names), reproduce.bundled("@bundled"))


if __name__ == "__main__":
    unittest.main()
