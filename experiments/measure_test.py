#!/usr/bin/env python3
"""Tests of measure.py with a made-up program, and with the real one if the environment variable GSOFA names it."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
import unittest
from unittest import mock

import measure
from specs import read_tables

HERE = pathlib.Path(__file__).resolve().parent
KINDS = {"gpu_a": "gpu", "gpu_b": "gpu", "cpu_a": "cpu", "peer_a": "peer", "mpi_a": "mpi", "planted_gpu": "gpu"}

# The program that stands for gsofa: it notes when it runs and on what, and behaves as the file `behaviour` says.
PROGRAM = '''#!{python}
import json, os, pathlib, sys, time
here = pathlib.Path(__file__).resolve().parent
words = sys.argv[1:]
behaviour = json.loads((here / "behaviour").read_text())
if words == ["--version"]:
    print(behaviour.get("version", "gsofa 0 (" + 40 * "a" + ")"))
    sys.exit()
if words[0] == "list":
    print(json.dumps([dict(name=n, device=k, available=n not in behaviour.get("absent", []), reason="none here",
                           multithreaded=k == "mpi", planted="wrong" if n.startswith("planted") else None)
                      for n, k in {kinds}.items()]))
    sys.exit()
after = lambda word: words[words.index(word) + 1]
what = after("--variant") if words[0] == "check" else after("--matrix")
begin = time.time()
if words[0] == "experiment":
    with open(after("--out"), "a") as f:
        name = after("--device") + "_a"
        status = behaviour.get("status", {{}}).get(what, "pass")
        f.write(json.dumps(dict(matrix=dict(name=what), ordering=dict(digest="d"), variant=name, device=after("--device"), options={{}},
                                threads=1, chunk_size=128, asked=[], counting=False, mpi=dict(ranks=1), status=status,
                                reason="a reason", verify=dict(mode="digest"), samples_s=[1.0])) + "\\n")
        f.flush()
        if what in behaviour.get("endless", []):
            f.write('{{"cut":')
            f.flush()
            time.sleep(60)
elif words[0] == "prepare":
    pathlib.Path(after("--out")).write_text("prepared")
else:
    print("text\\n" + what + " pass 1 2 3\\nend")
time.sleep(behaviour.get("seconds", 0))
print(behaviour.get("said", ""))
with open(here / "ran", "a") as f:
    f.write(json.dumps([words[0], what, begin, time.time(), os.environ.get("CUDA_VISIBLE_DEVICES"),
                        sorted(os.sched_getaffinity(0))]) + "\\n")
sys.exit(behaviour.get("exit", {{}}).get(what, 0) if words[0] != "prepare" else 0)
'''


class Expand(unittest.TestCase):
    def test_words_of_kinds(self):
        kinds = {word: list(measure.expand([word], {})) for word in measure.MATRIX_KINDS}
        self.assertEqual(sorted(sum(kinds.values(), [])), sorted(measure.expand(["@bundled"], {})))
        self.assertIn("elasticity2_plate_small", kinds["@fem"])
        self.assertIn("bcsstk18", kinds["@real"])
        with tempfile.TemporaryDirectory() as folder:
            for name in ("a.mtx.gz", "b.txt"):
                (pathlib.Path(folder) / name).touch()
            found = list(measure.expand(["@kkt", "gen:dense:n=3"], {"@kkt": pathlib.Path(folder)}))
            self.assertEqual(found, [f"{folder}/a.mtx.gz", "gen:dense:n=3"])


class Measure(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        experiments = self.root / "experiments"
        (experiments / "study").mkdir(parents=True)
        for name in ("measure.py", "job_queue.py", "json_lines.py", "specs.py", "terminal_text.py", "verified_runs.py",
                     "datasets.toml"):
            shutil.copy(HERE / name, experiments)
        self.study = experiments / "study"
        self.spec('matrices = ["m1", "m2", "m3", "m4"]\nvariants = ["gpu_a", "cpu_a"]')
        (self.root / "build").mkdir()
        for name in ("gsofa", "gsofa_counting"):
            program = self.root / "build" / name
            program.write_text(PROGRAM.format(python=sys.executable, kinds=KINDS))
            program.chmod(0o755)
        self.behave()
        self.out = self.root / "out"

    def spec(self, *cases):
        text = "".join(f'[[case]]\ngroups = ["smoke"]\n{c}\n' for c in cases)
        (self.study / "spec.toml").write_text(text)

    def commands(self, text):
        (self.study / "commands.toml").write_text(text)

    def behave(self, **how):
        (self.root / "build" / "behaviour").write_text(json.dumps(how))

    def command(self, action, *words):
        return [sys.executable, self.root / "experiments" / "measure.py", action, self.out, "--build", self.root / "build",
                "--prepared", self.root / "prepared", *words]

    def call(self, action, *words, code=0, gpus="0,1"):
        done = subprocess.run([*self.command(action, *words), "--gpus", gpus], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def refused(self, text, *words, **how):
        done = self.call(*words, code=2, **how)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("measure: error: "), done.stderr)
        self.assertIn(text, done.stderr)

    def ran(self):
        file = self.root / "build" / "ran"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def lines(self, name):
        return [json.loads(line) for line in (self.out / name).read_text().splitlines()]

    def test_every_job_has_gpus_and_cores_of_its_own(self):
        self.behave(seconds=0.15)
        text = self.call("run", "study").stdout
        ran = self.ran()
        self.assertEqual(sum(r[0] == "prepare" for r in ran), 4)
        timed = [r for r in ran if r[0] == "experiment"]
        self.assertEqual(len(timed), 8)
        cores = os.sched_getaffinity(0)
        for a in ran:
            for b in ran:
                if a is not b and a[2] < b[3] and b[2] < a[3]:
                    self.assertFalse(set(a[5]) & set(b[5]), (a, b))
                    if a[0] == b[0] == "experiment" and len(cores) > 2:
                        self.assertTrue(a[4] != b[4] or a[4] == "0", (a, b))
        if len(cores) > 2:
            self.assertEqual({r[4] for r in timed}, {"0", "1"})
        checked = {r[1]: r[3] for r in ran if r[0] == "check"}
        self.assertEqual(set(checked), {"gpu_a", "cpu_a"})
        self.assertLess(min(checked.values()), min(r[2] for r in timed))
        self.assertEqual(len(self.lines("records.jsonl")), 8)
        self.assertIn("records: 8 pass", text)
        self.assertIn("check.small.check.gpu_a", (self.out / "checks.txt").read_text())

    def test_what_passed_is_left_out_later(self):
        self.behave(exit={"m3": 1})
        text = self.call("run", "study", code=1).stdout
        self.assertIn("study.m3.gpu: failed, exit status 1", text)
        before = len(self.ran())
        self.behave()
        self.call("run", "study")
        self.assertEqual([r[1] for r in self.ran()[before:]], ["m3", "m3"])
        self.call("run", "study")
        self.assertEqual(len(self.ran()), before + 2)
        self.assertEqual(len(self.lines("jobs.jsonl")), 4 + 2 + 8)

    def test_nothing_is_timed_that_did_not_pass_its_check(self):
        self.behave(exit={"gpu_a": 1})
        text = self.call("run", "study", code=1).stdout
        self.assertIn("study.m1.gpu: not begun: check.small.check.gpu_a did not pass", text)
        self.assertEqual({r["device"] for r in self.lines("records.jsonl")}, {"cpu"})
        before = len(self.ran())
        self.call("run", "study", "--check", "none")
        self.assertEqual(len(self.ran()), before + 4)

    def test_records_decide(self):
        for status, device, code in (("pass", "gpu", 0), ("timeout", "gpu", 0), ("unverified", "gpu", 1), ("fail", "gpu", 1),
                                     ("unverified", "peer", 0), ("oom", "gpu", 1), ("skipped", "gpu", 0)):
            self.out = self.root / f"{status}_{device}"
            self.spec(f'matrices = ["m1"]\nvariants = ["{device}_a"]')
            self.behave(status={"m1": status}, exit={"m1": 4})
            text = self.call("run", "study", code=code).stdout
            self.assertEqual(f"m1 {device}_a: {status}: a reason" in text, code == 1, text)
        # What is mended counts no more.
        self.out = self.root / "fail_gpu"
        self.spec('matrices = ["m1"]\nvariants = ["gpu_a"]')
        self.behave()
        self.call("run", "study")

    def test_the_time_limit_keeps_what_was_found(self):
        self.behave(endless=["m2"])
        begin = time.monotonic()
        self.call("run", "study", "--check", "none", "--seconds", "3", code=1)
        self.assertLess(time.monotonic() - begin, 20)
        verdicts = {j["name"]: j["verdict"] for j in self.lines("jobs.jsonl")}
        self.assertEqual(verdicts["study.m2.gpu"], "out of time")
        self.assertIn("m2", {r["matrix"]["name"] for r in self.lines("records.jsonl")})  # whole lines
        part = self.out / "parts" / "records.jsonl" / "study.m2.gpu.jsonl"
        self.assertTrue(part.read_text().endswith('{"cut":'))

    def test_alone_one_job_has_all_matrices_and_the_machine(self):
        self.behave(seconds=0.1)
        folder = self.root / "files"
        folder.mkdir()
        (folder / "f.mtx").touch()
        self.spec('matrices = ["m1", "@kkt"]\nvariants = ["gpu_a", "cpu_a"]\nthreads = 1')
        tables = self.study / "spec.toml"
        tables.write_text(tables.read_text() + tables.read_text().replace("smoke", "more"))
        self.call("run", "study", "--check", "none", "--alone", "--group", "smoke", "--group", "more", "--matrix", "m1", "--matrix", "files/f.mtx",
                  "--device", "cpu", "--kkt", folder)
        *prepared, one, other = self.ran()
        self.assertEqual(sorted(r[:2] for r in prepared), [["prepare", "files/f.mtx"], ["prepare", "m1"]])
        self.assertGreaterEqual(other[2], one[3])
        self.assertEqual([(j["name"], j["cores"]) for j in self.lines("jobs.jsonl")][2:], [(f"study.{g}", one[5]) for g in ("smoke", "more")])
        self.assertEqual(len(one[5]), 1)
        self.call("run", "study", "--group", "smoke", "--group", "more", code=2)

    def test_alone_a_program_of_several_gpus_has_cores_for_their_threads(self):
        self.spec('matrices = ["m1"]\nvariants = ["gpu_a"]\nthreads = 1\ngpus = 2')
        args = measure.parse(list(map(str, self.command("run", "study", "--check", "none", "--alone")[2:])))
        with mock.patch.object(measure, "HERE", self.root / "experiments"):
            plan = measure.Plan(args, measure.Machine(["0", "1"], list(range(32))))
            plan.add_study("study", "smoke")
        self.assertEqual((plan.jobs["study.smoke"].gpus, plan.jobs["study.smoke"].cores), (2, 16))

    def test_a_program_that_its_limit_ended_has_not_passed(self):
        self.spec('matrices = ["m1"]\nvariants = ["gpu_a"]')
        self.behave(exit={"m1": 4}, said="[1/2] m1 gpu_a: timeout (ignored its limit of 1 s; the program was ended)")
        self.assertIn("another call goes on behind it", self.call("run", "study", "--check", "none", code=1).stdout)

    def test_a_signal_ends_the_jobs(self):
        self.behave(endless=["m1"])
        with subprocess.Popen([*self.command("run", "study", "--check", "none"), "--gpus", "0"], stdout=subprocess.PIPE) as process:
            limit = time.monotonic() + 30
            while not (self.out / "parts" / "records.jsonl" / "study.m1.gpu.jsonl").exists() and time.monotonic() < limit:
                time.sleep(0.05)
            self.refused("in use by another process", "run", "study")
            process.send_signal(signal.SIGINT)
            self.assertIn(b"study.m1.gpu: interrupted", process.communicate(timeout=30)[0])
            self.assertEqual(process.returncode, 1)

    def test_checks(self):
        self.call("check", "--suite", "full", "--rotate", "2")
        self.assertEqual({r[1] for r in self.ran()}, {"gpu_a", "gpu_b", "planted_gpu"})
        text = (self.out / "checks.txt").read_text()
        self.assertEqual(text.count("passed"), 3)
        self.assertIn("gpu_b pass 1 2 3", text)
        text = self.call("check", "--dry-run", "--tool", "memcheck", "--tool", "racecheck", "--variant", "*_b").stdout
        self.assertEqual([line.split(":")[0] for line in text.splitlines()],
                         ["check.small.memcheck.gpu_b", "check.small.racecheck.gpu_b"])
        self.assertIn("1 GPUs", text)
        self.assertIn("compute-sanitizer --tool racecheck --error-exitcode 86", text)
        self.behave(absent=["gpu_b"])
        self.refused("gpu_b is unavailable: none here", "check")
        self.refused("no such variant", "check", "--variant", "x*")

    def test_what_the_machine_lacks_is_left_out(self):
        self.spec('matrices = ["m1"]\nvariants = ["gpu_a", "cpu_a"]', 'matrices = ["m1"]\nvariants = ["mpi_a"]\ngpus = 3')
        text = self.call("run", "study", "--check", "none").stdout
        self.assertIn("left out, for lack of a device or library: study: mpi_a", text)
        self.assertEqual(sum(r[0] == "experiment" for r in self.ran()), 2)
        self.behave(absent=["gpu_a", "gpu_b"])
        self.out = self.root / "cpu"
        self.assertIn("study: gpu_a", self.call("run", "study", "--check", "none", gpus="").stdout)

    def test_commands(self):
        (self.root / "build" / "files").write_text("build/gsofa*\n")
        self.commands('''[[command]]
name = "rows"
groups = ["other"]
each = {a = [1, 2], file = ["@build/files"]}
argv = ["sh", "-c", "exit 3"]
exit = [3]
[[command]]
name = "one"
groups = ["other"]
gpus = 1
each = {a = [1, 2]}
argv = ["sh", "-c", "echo {a} >{log}"]
then = ["sh", "-c", "echo head; cat {log}; echo $X"]
to = "all.csv"
environment = {X = "x"}
after = ["rows"]
''')
        self.call("run", "study", "--group", "other")
        self.assertEqual((self.out / "all.csv").read_text(), "head\n1\nx\n2\nx\n")
        self.assertEqual(len(self.lines("jobs.jsonl")), 6)
        self.commands('[[command]]\nname = "absent"\ngroups = ["other"]\nargv = ["no_such_program"]\n')
        text = self.call("run", "study", "--group", "other", code=1).stdout
        self.assertIn("study.absent: failed, exit status 127", text)
        for wrong, reason in (('argv = ["x"]\nmost = 1', "unknown key most"), ("", "argv"), ('argv = ["{x}"]', "'x'")):
            self.commands(f'[[command]]\nname = "wrong"\ngroups = ["other"]\n{wrong}\n')
            self.refused(reason, "run", "study", "--group", "other")

    def test_commands_that_record_orders(self):
        """An order that failed fails its job; one that is unavailable does so unless the command allows status 3."""
        def order(name, status="pass"):
            return json.dumps({"kind": "order", "matrix": {"name": "m"}, "order": name, "seed": -1, "status": status, "reason": "no tree"})
        for status, more, verdict in (("pass", "", "passed"), ("pass", "exit 3", "passed"), ("pass", "exit 1", "failed"),
                                      ("fail", "", "failed")):
            file = self.root / "lines"
            file.write_text(order("amd") + "\n" + order("metis", status) + "\n")
            self.commands(f"""[[command]]
name = "orders"
groups = ["other"]
argv = ["sh", "-c", "cp {file} {{part}}; {more}"]
to = "orders.jsonl"
exit = [0, 3]
cores = 0
""")
            text = self.call("run", "study", "--group", "other", code=int(verdict == "failed")).stdout
            self.assertEqual(self.lines("jobs.jsonl")[0]["verdict"], verdict)
            self.assertEqual(len(self.lines("orders.jsonl")), 2)
        self.assertIn("m metis: fail: no tree", text)
        self.assertIn(f"{len(os.sched_getaffinity(0))} cores", self.call("run", "study", "--group", "other", "--dry-run").stdout)

    def test_another_machine_of_the_same_name_needs_another_folder(self):
        self.call("prepare", "study")
        jobs = self.out / "jobs.jsonl"
        lines = [json.loads(line) for line in jobs.read_text().splitlines()]
        self.assertRegex(lines[-1]["version"], r" on .* \([0-9a-f]{16}\)$")
        jobs.write_text("".join(json.dumps(line | {"version": line["version"][:-3] + "zz)"}) + "\n" for line in lines))
        self.refused("results of another program or machine", "prepare", "study")

    def test_faults_are_one_line(self):
        self.refused("there is no study 'absent'", "run", "absent")
        self.refused("neither cases nor commands in group 'paper'", "run", "study", "--group", "paper")
        self.call("run", "study", "--check", "none")
        self.behave(version="gsofa 1")
        self.refused("name another folder", "run", "study")
        (self.study / "spec.toml").write_text("[[case")
        self.refused("study/spec.toml: ", "run", "study")
        (self.root / "build" / "gsofa").unlink()
        self.refused("No such file", "check")

    def test_prepare_fills_the_folder_only(self):
        self.call("prepare", "study", gpus="")
        self.assertEqual(sorted(f.name for f in (self.root / "prepared").iterdir()), [f"m{k}.metis.bin" for k in (1, 2, 3, 4)])
        self.assertEqual({r[0] for r in self.ran()}, {"prepare"})

    def test_help(self):
        for words in ([], ["build"], ["check"], ["prepare"], ["run"]):
            done = subprocess.run([sys.executable, HERE / "measure.py", *words, "--help"], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("cmake -S . -B", self.call("build", "--dry-run").stdout)

    def test_committed_studies_make_jobs(self):
        """Every group of every study can be planned."""
        shutil.copytree(HERE / "regret", self.root / "experiments" / "regret")
        for file in sorted(HERE.glob("*/spec.toml")):
            (self.root / "experiments" / file.parent.name).mkdir()
            tables = read_tables(file.read_text())
            for name in ("spec.toml", "commands.toml", "inputs.txt", "profiled.txt"):
                if not (file.parent / name).exists():
                    continue
                shutil.copy(file.parent / name, self.root / "experiments" / file.parent.name)
                if name == "commands.toml":
                    tables += tomllib.loads((file.parent / name).read_text()).get("command", [])
            for group in sorted({g for t in tables for g in t["groups"]}):
                with self.subTest(study=file.parent.name, group=group):
                    self.call("run", file.parent.name, "--group", group, "--dry-run", gpus="0,1,2,3")

    def test_commands_of_studies_name_the_order_of_a_matrix(self):
        """The default order of the program is no constant: a study that had METIS's would go on with another."""
        for path in sorted(HERE.glob("*/commands.toml")):
            for command in tomllib.loads(path.read_text(encoding="utf-8"))["command"]:
                argv = command["argv"]
                if not {"{gsofa}", "{counting}"} & set(argv) or not {"run", "prepare"} & set(argv) or "--matrix" not in argv:
                    continue
                file = argv[argv.index("--matrix") + 1]
                ordered = file == "{prepared}" or any(name.endswith(".bin") for name in command.get("each", {}).get(file.strip("{}"), []))
                self.assertTrue(ordered or "--order" in argv, f"{path}: {command['name']}")

    @unittest.skipUnless("GSOFA" in os.environ, "GSOFA names no program")
    def test_real_program(self):
        """The names of prepared files are those that the program reads, and its records are joined and judged."""
        self.spec('matrices = ["gen:grid5:nx=9"]\norders = ["natural"]\nvariants = ["cpu_fill1", "cpu_fill2"]\nseed = 3\n'
                  'repeat = 1\nwarmup = 0\nmatch = "none"')
        build = pathlib.Path(os.environ["GSOFA"]).resolve().parent
        text = self.call("run", "study", "--check", "none", "--build", build, gpus="").stdout
        if "cannot read TOML" in text:
            self.skipTest("a build without toml++")
        self.assertIn("records: 2 pass", text)
        logs = self.out / "logs"
        self.assertEqual(len(list(logs.glob("prepare.*"))), 1)
        for file in logs.iterdir():
            self.assertNotIn("prepared again", file.read_text())
        self.assertEqual(len(list((self.root / "prepared").iterdir())), 1)


if __name__ == "__main__":
    unittest.main()
