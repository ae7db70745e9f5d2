"""Tests of the built programs as a user meets them. $GSOFA and $GSOFA_COUNTING name them."""

import fcntl
import gzip
import hashlib
import json
import os
import pty
import resource
import select
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tarfile
import tempfile
import termios
import time
import unittest
import xml.etree.ElementTree
import zipfile
from pathlib import Path

GSOFA = os.environ.get("GSOFA", "gsofa")
ROOT = Path(__file__).resolve().parents[2]
GSOFA_COUNTING = os.environ.get("GSOFA_COUNTING", "gsofa_counting")

OK, FAILED, BAD_INPUT, UNAVAILABLE, RUN_FAILED = 0, 1, 2, 3, 4

# Rows {0,2}, {0,1}, {1,2}: eliminating 0 fills (1,2).
SMALL = "%%MatrixMarket matrix coordinate pattern general\n3 3 6\n1 1\n1 3\n2 1\n2 2\n3 2\n3 3\n"
NO_DIAGONAL = "%%MatrixMarket matrix coordinate pattern general\n3 3 4\n1 2\n2 3\n3 1\n1 1\n"
SINGULAR = "%%MatrixMarket matrix coordinate pattern general\n3 3 3\n1 1\n2 1\n3 1\n"
RECTANGULAR = "%%MatrixMarket matrix coordinate pattern general\n2 3 2\n1 1\n2 2\n"
TRUNCATED = "%%MatrixMarket matrix coordinate pattern general\n3 3 6\n1 1\n1 3\n"
OUT_OF_RANGE = "%%MatrixMarket matrix coordinate pattern general\n3 3 1\n4 1\n"


def call(*args, program=GSOFA, cwd=None):
    return subprocess.run([program, *args], capture_output=True, text=True, errors="replace",
                          timeout=300, cwd=cwd)


def on_terminal(*args, columns=80, interrupt_at=None, environment=None):
    """What a program shows on a terminal, and its status; Ctrl-C once the text `interrupt_at` is there."""
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    running = subprocess.Popen([GSOFA, *args], stdin=side, stdout=side, stderr=side, start_new_session=True,
                               env=os.environ | {"TERM": "xterm"} | (environment or {}))
    os.close(side)
    shown = b""
    deadline = time.monotonic() + 120
    try:
        while time.monotonic() < deadline:
            if not select.select([main], [], [], 0.1)[0]:
                continue
            try:
                part = os.read(main, 1 << 16)
            except OSError:  # no process has the other side any more
                break
            if not part:
                break
            shown += part
            if interrupt_at and interrupt_at in shown:
                interrupt_at = None
                os.killpg(running.pid, signal.SIGINT)
        return shown.decode().replace("\r\n", "\n"), running.wait(timeout=10)
    finally:
        os.close(main)
        if running.poll() is None:
            running.kill()
            running.wait()


def file_size_limit(size):
    """To be run in a child: files of its program cannot grow past `size` bytes, as on a full disk."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def worked_example():
    """The file that holds the pattern of reference/worked_example."""
    root = os.environ.get("GSOFA_ROOT") or Path(__file__).resolve().parents[2]
    return Path(root) / "experiments" / "matrices" / "worked_example.mtx"


class CliTest(unittest.TestCase):
    def need_matching(self):
        """Skips a test that needs a build with SuiteSparse BTF."""
        info = json.loads(call("info", "--json", "--no-fill", "--matrix", self.small).stdout)
        if "left_out" in info:
            self.skipTest(info["left_out"])

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = Path(self._folder.name)
        self.small = self.write("small.mtx", SMALL)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def records(self, *args, code=OK, program=GSOFA):
        done = call("run", "--json", *args, program=program)
        self.assertEqual(done.returncode, code, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def assert_refused(self, code, *args, mention=()):
        done = call(*args)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stdout, "")
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertTrue(lines[0].startswith("gsofa: error: "), lines[0])
        for text in mention:
            self.assertIn(text, lines[0])


class ListTest(CliTest):
    def test_json_is_an_array_of_objects_with_names(self):
        done = call("list", "--json")
        self.assertEqual(done.returncode, OK)
        variants = json.loads(done.stdout)
        names = [v["name"] for v in variants]
        self.assertIn("cpu_gilbert_peierls", names)
        self.assertFalse([n for n in names if n.startswith("planted_")])
        for v in variants:
            for key in ("device", "summary", "citation", "gives", "options", "available", "reason"):
                self.assertIn(key, v)
            self.assertEqual(v["available"], v["reason"] == "")
            for o in v["options"]:
                self.assertIn(o["type"], ("bool", "int", "choice"))
                self.assertIn("default", o)

    def test_the_readme_counts_the_variants(self):
        devices = [v["device"] for v in json.loads(call("list", "--json").stdout)]
        cpu, gpu, mpi, peers = (devices.count(d) for d in ("cpu", "gpu", "mpi", "peer"))
        self.assertIn(f"{cpu + gpu + mpi} variants ({cpu} on processors, {gpu} on a GPU, {mpi} for MPI) and {peers} peers",
                      " ".join((ROOT / "README.md").read_text().split()))

    def test_planted_ones_are_listed_on_request(self):
        planted = [v for v in json.loads(call("list", "--json", "--planted").stdout) if v["planted"]]
        self.assertGreaterEqual(len(planted), 7)

    def test_orders_are_listed_on_request(self):
        orders = {o["name"]: o for o in json.loads(call("list", "--orders", "--json").stdout)}
        self.assertIn("metis", orders)
        self.assertFalse([n for n in orders if n.startswith("planted_")])
        self.assertEqual(orders["gpu_nested_dissection"]["same_as"], "cpu_nested_dissection")
        done = call("list", "--orders", "-v")
        self.assertEqual(done.returncode, OK)
        self.assertIn("cpu_nested_dissection:leaf_order=120", done.stdout)

    def test_text_is_a_line_for_each_variant(self):
        names = [v["name"] for v in json.loads(call("list", "--json").stdout)]
        lines = call("list").stdout.splitlines()
        self.assertEqual([line.split()[0] for line in lines[1:len(names) + 1]], names)
        lacking = lines[len(names) + 1:]
        for line in lacking:
            self.assertTrue(line.startswith("unavailable here: "), line)
        orders = [o["name"] for o in json.loads(call("list", "--orders", "--json").stdout)]
        lines = call("list", "--orders").stdout.splitlines()
        self.assertEqual([line.split()[0] for line in lines[1:len(orders) + 1]], orders)

    def test_verbose_text_shows_options(self):
        done = call("list", "--verbose")
        self.assertEqual(done.returncode, OK)
        self.assertIn("cpu_maxid", done.stdout)
        self.assertIn("--set ", done.stdout)


    def test_all_about_one(self):
        """`list NAME` has what `list -v` has of it, and a word may select several, or name an order."""
        lines = call("list", "-v").stdout.splitlines()
        begin = next(k for k, line in enumerate(lines) if line.startswith("cpu_maxid  ["))
        end = next((k for k in range(begin + 1, len(lines)) if lines[k][0] != " "), len(lines))
        done = call("list", "cpu_maxid")
        self.assertEqual((done.returncode, done.stdout.splitlines()), (OK, lines[begin:end]))
        for text in ("[cpu, threads]", "source: ", "gives: counts, digest", "--set line_9_5=false  (bool, true|false) ",
                     "concurrent_sources=0  (int, 0..1048576) "):
            self.assertIn(text, done.stdout)
        (one,) = json.loads(call("list", "cpu_maxid", "--json").stdout)
        self.assertEqual(one, next(v for v in json.loads(call("list", "--json").stdout) if v["name"] == "cpu_maxid"))
        names = [v["name"] for v in json.loads(call("list", "cpu_fill*,amd", "planted_over_fill", "--json").stdout)]
        self.assertEqual((names[0], names[-2:]), ("cpu_fill1", ["planted_over_fill", "amd"]))
        self.assertIn("computed by: METIS", call("list", "--orders", "metis").stdout)
        for words in (["cpu_maxod"], ["cpu_fill1", "cpu_maxod"], ["cpu_maxod", "--json"]):
            self.assert_refused(BAD_INPUT, "list", *words, mention=["'cpu_maxod'", "did you mean 'cpu_maxid'?"])
        self.assert_refused(BAD_INPUT, "list", "--orders", "metsi", mention=["'metsi'", "did you mean 'metis'?"])
        self.assertIn("NAME", call("list", "--help").stdout)


class HelpTest(CliTest):
    def test_help_of_every_subcommand(self):
        done = call("--help")
        self.assertEqual(done.returncode, OK)
        for name in ("list", "run", "check", "prepare", "info", "experiment"):
            self.assertIn(name, done.stdout)
            part = call(name, "--help")
            self.assertEqual((part.returncode, part.stderr), (OK, ""))
            self.assertIn("Usage", part.stdout)

    def test_info_help_names_the_generators(self):
        text = call("info", "--help").stdout
        for name in ("grid7", "elasticity3d", "circuit", "nx=.."):
            self.assertIn(name, text)

    def test_run_help_names_the_variants(self):
        text = call("run", "--help").stdout
        for v in json.loads(call("list", "--json").stdout):
            self.assertIn(v["name"], text)

    def test_version(self):
        done = call("--version")
        self.assertEqual(done.returncode, OK)
        self.assertTrue(done.stdout.startswith("gsofa "))
        self.assertIn("counting", call("--version", program=GSOFA_COUNTING).stdout)


class RunTest(CliTest):
    def test_worked_example_as_it_is(self):
        path = worked_example()
        if not path.exists():
            self.skipTest(f"{path} is absent")
        records = self.records("--matrix", str(path), "--match", "none", "--order", "natural")
        judged = [r for r in records if r["status"] != "skipped"]
        self.assertGreaterEqual(len(judged), 6)
        exact = {v["name"] for v in json.loads(call("list", "--json").stdout) if v["exact"]}
        for r in judged:
            self.assertEqual(r["verify"]["mode"], "oracle")
            if r["variant"] in exact or r["status"] != "unverified":
                self.assertEqual(r["status"], "pass", r["variant"])
            else:
                self.assertRegex(r["reason"], "superset|totals only")
        digests = {r["result"]["digest"] for r in judged if r["status"] == "pass"}
        self.assertEqual(len(digests), 1)

    def test_counts_of_a_known_matrix(self):
        for r in self.records("--matrix", self.small, "--match", "none", "--order", "natural"):
            if r["status"] in ("skipped", "unverified"):  # a peer that reports a superset
                continue
            self.assertEqual(r["result"]["nnz_l"], 2)
            self.assertEqual(r["result"]["nnz_u"], 5)
            self.assertEqual(r["result"]["fill"], 1)
            self.assertEqual(r["matrix"]["n"], 3)
            self.assertEqual(r["matrix"]["nnz"], 6)
            self.assertEqual(len(r["samples_s"]), 3)
            self.assertAlmostEqual(sum(r["phases_s"].values()), sorted(r["samples_s"])[1], delta=1e-6)

    def test_interleaved_cases_take_turns_and_have_one_record_each(self):
        arguments = ("--matrix", self.small, "--variant", "cpu_fill2", "--variant", "cpu_maxid", "--repeat", "4")
        plain, turns = self.records(*arguments), self.records(*arguments, "--interleave")
        self.assertEqual(sorted(r["variant"] for r in turns), ["cpu_fill2", "cpu_maxid"])
        for r in turns:
            self.assertEqual(r["status"], "pass")
            self.assertEqual(len(r["samples_s"]), 4)
            self.assertTrue(r["trials"]["interleaved"])
            self.assertEqual(r["trials"]["repeat"], 4)
            self.assertAlmostEqual(sum(r["phases_s"].values()), sorted(r["samples_s"])[1], delta=1e-6)
        self.assertFalse(plain[0]["trials"]["interleaved"])
        self.assertEqual(plain[0]["result"], turns[0]["result"])

    def test_samples_are_of_new_patterns_and_the_first_of_the_process_is_marked(self):
        arguments = ("--matrix", self.small, "--variant", "cpu_fill2", "--variant", "cpu_maxid", "--repeat", "2")
        for more, marked in ((("--warmup", "0"), [True, False]), (("--warmup", "0", "--interleave"), [True, False]),
                             ((), [False, False])):
            trials = [r["trials"] for r in self.records(*arguments, *more)]
            self.assertEqual([t["first_in_process"] for t in trials], marked, more)
            self.assertEqual({t["sampling"] for t in trials}, {"new_pattern"})

    def test_no_matching_adds_the_diagonal_and_says_so(self):
        path = self.write("open.mtx", NO_DIAGONAL)
        (r,) = self.records("--matrix", path, "--match", "none", "--order", "natural",
                            "--variant", "cpu_fill2")
        self.assertEqual(r["matrix"]["diagonal_added"], 2)
        self.assertEqual(r["matrix"]["nnz"], 4)
        self.assertEqual(r["matrix"]["nnz_prepared"], 6)
        self.assertEqual(r["ordering"]["row"], "none")
        self.assertEqual(r["result"]["fill"], 1)

    def test_a_singular_matrix_runs_without_matching(self):
        path = self.write("singular.mtx", SINGULAR)
        for r in self.records("--matrix", path, "--match", "none"):
            self.assertIn(r["status"], ("pass", "skipped", "unverified"))

    def test_table_on_stdout_progress_on_stderr(self):
        done = call("run", "--matrix", self.small, "--variant", "cpu_fill1")
        self.assertEqual(done.returncode, OK)
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 2)
        self.assertTrue(lines[0].startswith("variant"))
        self.assertIn("pass", lines[1])
        self.assertIn("[1/1]", done.stderr)

    def test_options_of_variants(self):
        (r,) = self.records("--matrix", self.small, "--variant", "cpu_maxid",
                            "--set", "line_9_5=true", "--set", "cpu_maxid.range_reuse=false")
        self.assertIs(r["options"]["line_9_5"], True)
        self.assertIs(r["options"]["range_reuse"], False)
        self.assertIs(r["options"]["bubble_removal"], True)

    def test_the_default_of_an_option_by_minus_one(self):
        """One case, with the value that is recorded without the option."""
        args = ("--matrix", self.small, "--variant", "cpu_bitmap_panels", "--repeat", "1")
        plain, asked = (self.records(*args, *more)[0] for more in ([], ["--set", "memory_budget_mb=-1,4096"]))
        self.assertEqual(plain["options"], asked["options"])
        self.assertEqual(asked["options"]["memory_budget_mb"], 4096)

    def test_no_number_of_threads_is_all(self):
        args = ("--matrix", self.small, "--variant", "cpu_maxid", "--repeat", "1")
        plain, asked = (self.records(*args, *more)[0] for more in ([], ["--threads", "0"]))
        self.assertEqual(plain["threads"], asked["threads"])
        self.assertGreaterEqual(asked["threads"], 1)

    def test_out_appends_whole_lines(self):
        out = self.folder / "deep" / "records.jsonl"
        args = ("--matrix", self.small, "--variant", "cpu_fill1", "--out", str(out))
        first = self.records(*args)
        self.records(*args)
        lines = out.read_text().splitlines()
        self.assertEqual(len(lines), 2)
        self.assertEqual(json.loads(lines[0]), first[0])

    def test_resume_leaves_out_what_is_recorded(self):
        out = str(self.folder / "records.jsonl")
        args = ("--matrix", self.small, "--variant", "cpu_fill1", "--out", out, "--resume")
        self.assertEqual(len(self.records(*args)), 1)
        self.assertEqual(len(self.records(*args)), 0)
        self.assertEqual(len(self.records(*args, "--chunk-size", "2")), 1)

    def test_records_are_appended_to_records_alone(self):
        spec = self.write("spec.toml", '[[case]]\ngroups = ["smoke"]\nmatrices = ["gen:grid5:nx=3"]\nvariants = ["cpu_fill1"]\n')
        for text in ("a log\n", SMALL, '{"name": "x"}\n', "\x7fELF"):
            file = self.write("other", text)
            for command in (["run", self.small], ["run", self.small, self.small + ".no"], ["order", self.small], ["experiment", spec]):
                self.assert_refused(BAD_INPUT, *command, "--out", file,
                                    mention=[".no"] if command[-1].endswith(".no") else [f"{file}:1: not a record"])
            self.assert_refused(BAD_INPUT, "prepare", self.small, "-o", str(self.folder / "p"), "--predicted-work", file,
                                mention=[f"{file}:1: not a record"])
            self.assertEqual(Path(file).read_text(), text)
        self.assertFalse((self.folder / "p").exists())

    def test_a_folder_that_cannot_be_made_is_named_with_the_reason(self):
        below = f"{self.small}/below"
        why = [f"{below}: cannot create the folder: Not a directory"]
        run = ("run", self.small, "--variant", "cpu_fill1")
        self.assert_refused(BAD_INPUT, *run, "--out", f"{below}/r.jsonl", mention=why)
        self.assert_refused(BAD_INPUT, *run, "--pattern-out", below, mention=why)
        spec = self.write("spec.toml", '[[case]]\ngroups = ["smoke"]\nmatrices = ["gen:grid5:nx=3"]\nvariants = ["cpu_fill1"]\n')
        self.assert_refused(BAD_INPUT, "experiment", spec, "--prepared", below, mention=why)

    def test_patterns_are_written(self):
        out = self.folder / "patterns"
        self.records("--matrix", self.small, "--match", "none", "--order", "natural", "--variant",
                     "cpu_fill2", "--pattern-out", str(out))
        upper = [l for l in (out / "small.cpu_fill2.U.mtx").read_text().splitlines() if l[0] != "%"]
        lower = [l for l in (out / "small.cpu_fill2.L.mtx").read_text().splitlines() if l[0] != "%"]
        self.assertEqual(upper, ["3 3 5", "1 1", "1 3", "2 2", "2 3", "3 3"])
        self.assertEqual(lower, ["3 3 2", "2 1", "3 2"])

    def test_permutations_lie_beside_the_patterns(self):
        """L+U holds the rows and columns of the matrix that the permutations name."""
        out = self.folder / "factors"
        matrix = self.write("m.mtx", NO_DIAGONAL.replace("3 3 4\n", "3 3 5\n") + "3 3\n")
        self.need_matching()
        self.records(matrix, "--order", "amd", "--variant", "cpu_fill2", "--pattern-out", f"{out}.gz")
        self.assertEqual(sorted(f.name for f in out.iterdir()), ["m.col_order.perm", "m.cpu_fill2.L.mtx.gz",
                                                                 "m.cpu_fill2.U.mtx.gz", "m.row_order.perm"])

        def numbers(name):
            with (gzip.open if name.endswith(".gz") else open)(out / name, "rt") as lines:
                return [[int(x) for x in line.split()] for line in lines if line[0] != "%"]

        rows, columns = ([k for k, in numbers(f"m.{part}_order.perm")] for part in ("row", "col"))
        self.assertEqual((sorted(rows), sorted(columns)), ([0, 1, 2], [0, 1, 2]))
        filled = {(rows[i - 1], columns[j - 1]) for part in "LU" for i, j in numbers(f"m.cpu_fill2.{part}.mtx.gz")[1:]}
        entries = {(0, 1), (1, 2), (2, 0), (0, 0), (2, 2)}
        self.assertLessEqual(entries, filled)
        # The order of the columns is read by --order.
        (r,) = self.records(matrix, "--order", str(out / "m.col_order.perm"), "--variant", "cpu_fill2")
        self.assertEqual(r["ordering"]["col"], "file")

    def test_where_no_thread_starts(self):
        """The stack of a new thread would take more than the address space: every start is refused."""
        def run(*args):
            return subprocess.run([GSOFA, *args], capture_output=True, text=True, timeout=300, preexec_fn=lambda: resource.setrlimit(
                resource.RLIMIT_STACK, (1 << 50, resource.RLIM_INFINITY)))
        if resource.getrlimit(resource.RLIMIT_STACK)[1] != resource.RLIM_INFINITY:
            self.skipTest("the size of stacks is limited here")
        done = run("run", self.small, "--variant", "cpu_maxid,cpu_fill1", "--json")
        self.assertEqual(done.returncode, OK, done.stderr)
        self.assertEqual([json.loads(line)["threads"] for line in done.stdout.splitlines()], [1, 1])
        self.assertEqual(run("prepare", self.small, "-o", str(self.folder / "p")).returncode, OK)
        done = run("run", self.small, "--variant", "cpu_maxid", "--threads", "8", "--json")
        self.assertEqual((done.returncode, json.loads(done.stdout)["reason"]),
                         (RUN_FAILED, "cannot start 3 threads: Resource temporarily unavailable"))
        # A variant is not to blame.
        for args in (["run", self.small, "--variant", "cpu_fill1", "--timeout", "60"], ["check", "--variant", "cpu_fill1"]):
            done = run(*args)
            self.assertEqual((done.returncode, done.stderr), (RUN_FAILED, "gsofa: error: cannot start the thread that enforces the "
                                                              "time limit: Resource temporarily unavailable\n"))

    def test_generated_matrix(self):
        for r in self.records("--matrix", "gen:grid5:nx=5,ny=4", "--variant", "cpu_fill1"):
            self.assertEqual(r["status"], "pass")
            self.assertEqual(r["matrix"]["n"], 20)

    def test_planted_variants_fail(self):
        matrix = "gen:grid5:nx=6,ny=5"
        planted = [v["name"] for v in json.loads(call("list", "--json", "--planted").stdout)
                   if v["planted"]]
        self.assertTrue(planted)
        for name in ("planted_duplicate", "planted_lost_diagonal", "planted_missing_fill",
                     "planted_over_fill", "planted_unsorted_row"):
            self.assertIn(name, planted)
            for mode in ("oracle", "certificate"):
                (r,) = self.records("--matrix", matrix, "--match", "none", "--order", "natural",
                                    "--variant", name, "--verify", mode, "--want", "pattern",
                                    code=FAILED)
                self.assertEqual(r["status"], "fail", name)
                self.assertNotEqual(r["reason"], "")

    def test_unverified_says_so(self):
        (r,) = self.records("--matrix", self.small, "--variant", "cpu_fill1", "--verify", "none")
        self.assertEqual(r["status"], "unverified")

    def test_timeout(self):
        (r,) = self.records("--matrix", "gen:grid5:nx=300,ny=300", "--order", "natural", "--variant",
                            "cpu_fill2", "--timeout", "0.01", "--verify", "none", code=RUN_FAILED)
        self.assertEqual(r["status"], "timeout")
        self.assertEqual(r["samples_s"], [])

    def test_json_is_nothing_but_records(self):
        done = call("run", "--json", "--matrix", self.small, "--repeat", "1")
        self.assertEqual(done.returncode, OK)
        for line in done.stdout.splitlines():
            self.assertEqual(json.loads(line)["schema"], 1)


    def test_a_name_that_is_not_utf8(self):
        path = os.fsencode(self.folder) + b"/w\xff.mtx"
        with open(path, "w") as out:
            out.write(SMALL)
        (r,) = self.records("--matrix", path, "--variant", "cpu_fill1")
        self.assertEqual(r["matrix"]["name"], "w\ufffd")
        self.assertEqual(json.loads(call("info", "--json", "--matrix", path).stdout)["nnz"], 6)

    def test_results_that_cannot_be_printed_are_no_success(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        with open("/dev/full", "w") as full:
            done = subprocess.run([GSOFA, "list"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, RUN_FAILED)
        self.assertEqual(done.stderr, "gsofa: error: standard output: cannot write: No space left on device\n")

    def test_a_full_disk_leaves_whole_records(self):
        out = self.folder / "records.jsonl"
        args = ("run", "--json", "--matrix", self.small, "--variant", "cpu_fill1", "--out", str(out))
        self.assertEqual(call(*args).returncode, OK)
        whole = out.read_text()
        done = subprocess.run([GSOFA, *args], capture_output=True, text=True,
                              preexec_fn=file_size_limit(len(whole) + 100))
        self.assertEqual(done.returncode, RUN_FAILED, done.stderr)
        errors = [line for line in done.stderr.splitlines() if "error" in line]
        self.assertEqual(len(errors), 1, done.stderr)
        self.assertTrue(errors[0].startswith(f"gsofa: error: {out}: the record cannot be written: "), errors)
        self.assertEqual(out.read_text(), whole)
        if os.path.exists("/dev/full"):
            done = call(*args[:-1], "/dev/full")
            self.assertEqual(done.returncode, RUN_FAILED, done.stderr)
            self.assertIn("/dev/full", done.stderr)

    def test_a_record_that_is_cut_off_is_dropped_by_resume_only(self):
        out = self.folder / "records.jsonl"
        args = ("--matrix", self.small, "--variant", "cpu_fill1", "--out", str(out))
        self.records(*args)
        whole = out.read_text()
        torn = whole + whole[:300]
        out.write_text(torn)
        self.assert_refused(BAD_INPUT, "run", *args, mention=[str(out), "cut off", "--resume"])
        self.assertEqual(out.read_text(), torn)
        done = call("run", *args, "--variant", "cpu_fill2", "--resume")
        self.assertEqual(done.returncode, OK, done.stderr)
        self.assertIn(f"{out}: its last line was cut off and is dropped, 300 bytes\n", done.stderr)
        lines = out.read_text().splitlines(keepends=True)
        self.assertEqual(lines[0], whole)
        self.assertEqual([json.loads(line)["variant"] for line in lines], ["cpu_fill1", "cpu_fill2"])
        # A file that is not of records stays as it is.
        out.write_text("notes")
        self.assert_refused(BAD_INPUT, "run", *args, "--resume", mention=[str(out)])
        self.assertEqual(out.read_text(), "notes")

    def test_closed_standard_descriptors_are_no_files(self):
        if not os.path.isdir("/proc/self/fd"):
            self.skipTest("no /proc")
        words = [GSOFA, "run", "--matrix", "gen:grid5:nx=300", "--order", "natural", "--variant", "cpu_fill2",
                 "--verify", "none", "--repeat", "1000", "--timeout", "60"]
        running = subprocess.Popen(["sh", "-c", 'exec "$0" "$@" <&- >&- 2>&-', *words])
        self.addCleanup(running.wait)
        self.addCleanup(running.kill)

        def open_at(descriptor):
            try:
                return os.readlink(f"/proc/{running.pid}/fd/{descriptor}")
            except OSError:
                return ""

        deadline = time.monotonic() + 30
        while [open_at(d) for d in range(3)] != ["/dev/null"] * 3 and time.monotonic() < deadline:
            self.assertIsNone(running.poll())
            time.sleep(0.01)
        self.assertEqual([open_at(d) for d in range(3)], ["/dev/null"] * 3)
        # What is written to a closed standard output is lost, which is no success.
        done = subprocess.run(["sh", "-c", 'exec "$0" "$@" >&-', GSOFA, "list"], stderr=subprocess.PIPE, text=True)
        self.assertEqual((done.returncode, done.stderr), (RUN_FAILED, "gsofa: error: standard output: cannot write: Bad file descriptor\n"))

    def test_a_checkpoint_folder_keeps_the_files_of_others(self):
        args = ("--matrix", self.small, "--variant", "mpi_maxid_cpu", "--repeat", "1", "--checkpoint",
                str(self.folder / "checkpoint"))
        place = self.folder / "checkpoint" / "mpi_maxid_cpu"
        place.mkdir(parents=True)
        (place / "notes.chunks").write_text("notes")
        self.records(*args)
        (place / "rank00000.chunks").write_text("notes")
        for more in ([], ["--resume"]):
            (record,) = self.records(*args, *more, code=RUN_FAILED)
            self.assertIn(f"{place / 'rank00000.chunks'}: is no checkpoint", record["reason"])
        self.assertEqual({f.name: f.read_text() for f in place.iterdir()},
                         {"notes.chunks": "notes", "rank00000.chunks": "notes"})

    def test_an_order_file_needs_no_suffix(self):
        (self.folder / "order").write_text("2\n1\n0\n")
        done = call("run", "--json", "--matrix", self.small, "--order", "order", "--variant",
                    "cpu_fill1", cwd=self.folder)
        self.assertEqual(json.loads(done.stdout)["ordering"]["col"], "file", done.stderr)


class CountingTest(CliTest):
    def test_work_does_not_depend_on_threads(self):
        # Within a level the order of updates may save or cost a few visits, no more.
        counters = [self.records("--matrix", "gen:grid5:nx=20", "--variant", "cpu_maxid",
                                 "--threads", threads, program=GSOFA_COUNTING)[0]["counters"]
                    for threads in ("1", "3")]
        self.assertGreater(counters[0]["revisits"], 100)
        for key in ("revisits", "frontiers", "edges_traversed"):
            self.assertAlmostEqual(counters[1][key], counters[0][key], delta=counters[0][key] / 5)

    def test_counters_without_times(self):
        (r,) = self.records("--matrix", self.small, "--variant", "cpu_maxid", "--series",
                            program=GSOFA_COUNTING)
        self.assertIs(r["counting"], True)
        self.assertEqual(r["samples_s"], [])
        self.assertTrue(r["counters"])
        self.assertEqual(len(r["series"]["frontier_size"]), 3)
        self.assertTrue(all(isinstance(v, int) for v in r["counters"].values()))

    def test_the_timed_build_counts_nothing(self):
        self.assert_refused(BAD_INPUT, "run", "--matrix", self.small, "--series",
                            mention=["--series", "gsofa_counting"])
        (r,) = self.records("--matrix", self.small, "--variant", "cpu_maxid")
        self.assertIs(r["counting"], False)
        self.assertEqual(r["counters"], {})


class ExperimentTest(CliTest):
    def setUp(self):
        super().setUp()
        if "cannot read TOML" in call("run", "--matrix", "no_such").stderr:
            self.skipTest("built without toml++")

    def spec(self, *cases):
        text = 'name = "x"\n'
        for c in cases:
            text += '[[case]]\ngroups = ["paper"]\nrepeat = 1\nwarmup = 0\n' + "".join(
                f"{k} = {json.dumps(v)}\n" for k, v in c.items())
        return self.write("spec.toml", text)

    def run_spec(self, spec, *args):
        out = self.folder / "out.jsonl"
        done = call("experiment", spec, "--group", "paper", "--out", str(out), *args)
        records = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
        return done, records

    def test_a_matrix_is_prepared_once(self):
        spec = self.spec({"matrices": ["gen:grid5:nx=9"], "orders": ["natural"],
                          "variants": ["cpu_fill1"]})
        kept = self.folder / "kept"
        for _ in range(2):
            done, records = self.run_spec(spec, "--prepared", str(kept))
            self.assertEqual(done.returncode, OK, done.stderr)
        self.assertEqual(len(list(kept.iterdir())), 1)
        self.assertEqual(len({r["ordering"]["digest"] for r in records}), 1)
        self.assertEqual(len(records), 2)

    def kept_run(self, *cases):
        done, records = self.run_spec(self.spec(*cases), "--prepared", str(self.folder / "kept"))
        self.assertEqual(done.returncode, OK, done.stderr)
        return done.stderr, records

    def test_a_matrix_is_prepared_again_when_its_source_changed(self):
        case = {"matrices": [self.small], "orders": ["natural"], "variants": ["cpu_fill1"]}
        self.kept_run(case)
        self.write("small.mtx", SMALL.replace("3 3 6\n", "3 3 7\n") + "1 2\n")
        said, records = self.kept_run(case)
        self.assertEqual([r["matrix"]["nnz"] for r in records], [6, 7])
        self.assertEqual(len({r["matrix"]["sha256"] for r in records}), 2)
        self.assertIn("made from another source: prepared again\n", said)
        said, records = self.kept_run(case)
        self.assertEqual(records[2]["matrix"]["nnz"], 7)
        self.assertNotIn("prepared again", said)
        # An order file is a source too.
        order = self.write("x.perm", "0 1 2\n")
        case["orders"] = [order]
        self.kept_run(case)
        self.write("x.perm", "2 1 0\n")
        said, records = self.kept_run(case)
        self.assertIn("made from another permutation: prepared again\n", said)
        self.assertNotEqual(*[r["ordering"]["digest"] for r in records[-2:]])

    def test_names_that_are_alike_are_kept_apart(self):
        (self.folder / "a").mkdir()
        places = [self.write("a/b.mtx", SMALL), self.write("a_b.mtx", NO_DIAGONAL)]
        case = {"matrices": places, "orders": ["natural"], "variants": ["cpu_fill1"], "match": "none"}
        for _ in range(2):
            said, records = self.kept_run(case)
            self.assertNotIn("prepared again", said)
        self.assertEqual([r["matrix"]["nnz"] for r in records], [6, 4, 6, 4])

    def test_what_the_machine_lacks_is_skipped(self):
        spec = self.spec(
            {"matrices": ["gen:grid5:nx=9"], "orders": ["natural"], "variants": ["cpu_fill1"]},
            {"matrices": ["gen:grid5:nx=9"], "orders": ["natural"], "variants": ["cpu_fill2"],
             "gpus": 1000},
            {"matrices": ["gen:grid5:nx=9"], "orders": ["natural"], "variants": ["cpu_fill2"],
             "ranks": 7})
        done, records = self.run_spec(spec)
        self.assertEqual(done.returncode, OK, done.stderr)
        self.assertEqual([r["variant"] for r in records], ["cpu_fill1"])
        self.assertIn("needs 1000 GPUs", done.stdout)
        self.assertIn("1 pass, 1 skipped", done.stderr)

    def test_a_skipped_case_is_recorded_once(self):
        lacking = [v["name"] for v in json.loads(call("list", "--json").stdout) if not v["available"] and not v["orders"]]
        if not lacking:
            self.skipTest("everything is available here")
        spec = self.write("spec.toml", '[[case]]\ngroups = ["smoke"]\nmatrices = ["gen:grid5:nx=3"]\n'
                          f'variants = ["cpu_fill1", "{lacking[0]}"]\n')
        out = self.folder / "r.jsonl"
        for _ in range(3):
            self.assertEqual(call("experiment", spec, "--out", str(out), "--resume").returncode, OK)
        self.assertEqual(sorted(json.loads(line)["status"] for line in out.read_text().splitlines()), ["pass", "skipped"])

    def test_parts_of_a_spec(self):
        spec = self.spec({"matrices": ["gen:grid5:nx=8", "gen:grid5:nx=9"], "orders": ["natural"],
                          "variants": ["cpu_fill1"]})
        done, records = self.run_spec(spec, "--matrix", "gen:grid5:nx=9")
        self.assertEqual([r["matrix"]["n"] for r in records], [81], done.stderr)
        done, records = self.run_spec(spec, "--device", "gpu")
        self.assertEqual(len(records), 1, done.stderr)
        self.assert_refused(BAD_INPUT, "experiment", spec, "--device", "abacus")

    def test_a_folder_of_real_matrices(self):
        """What no one can factor and what is too small are left out, and said so."""
        folder = self.folder / "real"
        folder.mkdir()
        two = "%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 1\n2 2\n"
        for name, text in (("good.mtx", SMALL), ("singular.mtx", SINGULAR), ("two.mtx", two), ("notes.txt", "x")):
            (folder / name).write_text(text)
        spec = self.write("real.toml", '[[case]]\ngroups = ["paper"]\nmatrices = ["@real"]\nleast_order = 3\n'
                          'variants = ["cpu_fill2"]\nchunk_sizes = [64, 128]\nrepeat = 2\ninterleave = true\n')
        out = self.folder / "real.jsonl"
        done = call("experiment", spec, "--group", "paper", "--real", str(folder), "--out", str(out))
        self.assertEqual(done.returncode, OK, done.stderr)
        records = [json.loads(line) for line in out.read_text().splitlines()]
        self.assertEqual(sorted((r["matrix"]["name"], r["chunk_size"], len(r["samples_s"])) for r in records),
                         [("good", 64, 2), ("good", 128, 2)])
        self.assertRegex(done.stderr, r"singular.mtx: left out: .*singular")
        self.assertRegex(done.stderr, r"two.mtx: left out: has 2 rows, fewer than 3")
        self.assert_refused(BAD_INPUT, "experiment", spec, "--group", "paper", "--real", str(self.folder / "absent"))


class OrderTest(CliTest):
    def orders(self, *args, code=OK):
        done = call("order", "--json", *args)
        self.assertEqual(done.returncode, code, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_all_orders_side_by_side(self):
        out = self.folder / "orders.jsonl"
        found = {r["order"]: r for r in self.orders("--matrix", "gen:grid5:nx=20,ny=20", "--repeat", "2", "--out", out)}
        self.assertTrue({"amd", "best_of", "colamd", "natural"} <= set(found))
        self.assertFalse([name for name in found if name.startswith("planted_")])
        for r in (r for r in found.values() if r["status"] != "skipped"):
            self.assertEqual((r["kind"], r["status"], len(r["samples_s"])), ("order", "pass", 2), r)
            self.assertGreaterEqual(r["result"]["flops"], found["best_of"]["result"]["flops"])
        self.assertEqual(found["natural"]["result"]["height"], 400)
        kept = [json.loads(line) for line in out.read_text().splitlines()]
        self.assertEqual([r["order"] for r in kept], [r["order"] for r in found.values() if r["status"] != "skipped"])
        run = self.records("--matrix", "gen:grid5:nx=20,ny=20", "--order", "amd", "--variant", "cpu_fill1")
        self.assertEqual([run[0]["result"][k] for k in ("nnz_l", "nnz_u", "fill")],
                         [found["amd"]["result"][k] for k in ("nnz_l", "nnz_u", "fill")])

    def test_a_list_with_options_and_a_file(self):
        order = self.write("three.perm", "2 1 0\n")
        found = self.orders("--matrix", self.small, "--match", "none", "--order", f"amd,{order},natural")
        self.assertEqual([(r["order"], r["status"]) for r in found], [("amd", "pass"), (order, "pass"), ("natural", "pass")])
        self.assertRegex(found[2]["result"].pop("digest"), "^[0-9a-f]{16}$")
        self.assertEqual(found[2]["result"], {"nnz_l": 2, "nnz_u": 5, "fill": 1, "flops": 6.0, "height": 3})

    def test_the_table(self):
        done = call("order", "--matrix", self.small, "--match", "none", "--order", "amd")
        self.assertEqual(done.returncode, OK, done.stderr)
        self.assertIn("nnz(L+U)", done.stdout.splitlines()[0])
        self.assertRegex(done.stdout.splitlines()[1], r"^amd +pass +[0-9.]+ +")

    def test_a_wrong_order_fails(self):
        found = self.orders("--matrix", "gen:grid5:nx=5,ny=5", "--order", "planted_order_crossing_edge", code=FAILED)
        self.assertIn("crosses a separator", found[0]["reason"])

    def test_refusals(self):
        small = ("order", "--match", "none", "--matrix", self.small, "--order")
        self.assert_refused(BAD_INPUT, *small, "amb", mention=["unknown order 'amb'; did you mean 'amd'?"])
        self.assert_refused(BAD_INPUT, *small, "amd:tries=2", mention=["order amd: unknown option 'tries'"])
        rectangular, singular = self.write("r.mtx", RECTANGULAR), self.write("s.mtx", SINGULAR)
        self.assert_refused(BAD_INPUT, "order", "--matrix", rectangular, mention=["2 x 3"])
        self.need_matching()
        self.assert_refused(BAD_INPUT, "order", "--matrix", singular, mention=["structural rank 1 of 3"])
        prepared = self.folder / "p.bin"
        self.assertEqual(call("prepare", "--matrix", self.small, "--match", "none", "--out", prepared).returncode, OK)
        self.assert_refused(BAD_INPUT, "order", "--matrix", prepared, mention=["ordered already"])

    def test_another_metis_in_the_process_changes_no_order(self):
        """The fake METIS has wider indices, and aborts where METIS's own functions call each other through it."""
        other = {"LD_PRELOAD": os.environ.get("GSOFA_FAKE_METIS", "")}
        if not other["LD_PRELOAD"]:
            self.skipTest("no METIS in this build")
        matrix = ("--matrix", "gen:grid5:nx=30,ny=30", "--order", "metis")
        for args in (("order", *matrix, "--json"), ("run", *matrix, "--variant", "cpu_fill2", "--json")):
            found = []
            for environment in ({}, other):
                done = subprocess.run([GSOFA, *args], capture_output=True, text=True, timeout=300,
                                      env=os.environ | environment)
                self.assertEqual(done.returncode, OK, done.stderr)
                found.append(json.loads(done.stdout)["result"])
            self.assertEqual(*found)

    def test_metis_says_that_a_limit_of_file_sizes_keeps_it_out(self):
        """METIS is copied into a file in memory, which the limit bounds too."""
        if not os.environ.get("GSOFA_FAKE_METIS", ""):
            self.skipTest("no METIS in this build")
        matrix = ("-m", "gen:grid5:nx=9,ny=9", "--order", "metis")
        for args in (("run", *matrix, "-v", "cpu_fill2"), ("order", *matrix)):
            done = subprocess.run([GSOFA, *args], capture_output=True, text=True, timeout=300, preexec_fn=file_size_limit(4096))
            self.assertEqual(done.returncode, UNAVAILABLE, done.stderr)
            self.assertRegex(done.stderr, r"METIS cannot be loaded from .*RLIMIT_FSIZE")

    def test_checks_reject_what_is_planted(self):
        done = call("check", "--order", "amd", "--order", "planted_order_lost_vertex", "--patterns", "20")
        self.assertEqual(done.returncode, OK, done.stderr)
        self.assertIn("order amd: pass, ", done.stdout)
        self.assertIn("order planted_order_lost_vertex: rejected: ", done.stdout)


class ShowTest(CliTest):
    def test_a_picture_of_every_kind(self):
        for kind, begin in ((".svg", b"<svg"), (".html", b"<!doctype html>"), (".png", b"\x89PNG")):
            file = self.folder / f"a{kind}"
            done = call("show", worked_example(), "--order", "natural", "-o", file)
            self.assertEqual((done.returncode, done.stderr), (OK, ""))
            self.assertRegex(done.stdout, r"natural +31 +22 +22 +13 +78 +8\n")
            self.assertTrue(file.read_bytes().startswith(begin), kind)
        self.assertIn(b"fill-ins 13, 0.42 times A", (self.folder / "a.svg").read_bytes())

    def test_orders_side_by_side(self):
        file = self.folder / "two.svg"
        done = call("show", "gen:grid5:nx=20,ny=20", "--order", "natural,amd", "-o", file)
        self.assertEqual(done.returncode, OK, done.stderr)
        self.assertEqual(file.read_text().count("<image "), 2)

    def test_trees_and_profiles(self):
        file = self.folder / "tree.svg"
        done = call("show", "gen:grid5:nx=30,ny=30", "--order", "natural,metis", "--what", "tree", "-o", file)
        self.assertEqual((done.returncode, done.stderr), (OK, ""))
        text = file.read_text()
        xml.etree.ElementTree.fromstring(text)
        self.assertIn("elimination tree, natural: height 900<", text)
        self.assertIn("900 columns<", text)
        self.assertNotIn("left out", text)
        page = self.folder / "profiles.html"
        done = call("show", "gen:grid5:nx=30,ny=30", "--what", "profiles", "-o", page)
        self.assertEqual((done.returncode, done.stderr), (OK, ""))
        for words in ("entries by pivot, metis", "column of L", "operations done"):
            self.assertIn(words, page.read_text())

    def test_a_prepared_matrix_is_drawn_in_its_order(self):
        prepared, out = str(self.folder / "p.gsofa"), self.folder / "x.svg"
        self.assertEqual(call("prepare", self.small, "--match", "none", "--order", "amd", "-o", prepared).returncode, OK)
        for what in ("fill", "tree", "profiles"):
            done = call("show", prepared, "-o", str(out), "--what", what)
            self.assertEqual(done.returncode, OK, done.stderr)
            self.assertEqual(done.stdout.splitlines()[1].split()[:2], ["amd", "6"])
            text = out.read_text()
            self.assertEqual("small, prepared: order 3" in text, what == "fill")
        out.unlink()
        self.assert_refused(BAD_INPUT, "show", prepared, "-o", str(out), "--order", "amd", mention=["is prepared already"])
        self.assertFalse(out.exists())

    def test_bad_input_leaves_no_picture(self):
        for args in (("bcsstk18", "-o", "a.png", "--what", "tree"), ("bcsstk18", "-o", "a.svg", "--what", "trees"),
                     ("bcsstk18", "-o", "a.svg", "--what", "profiles", "--order", "natural,amd,natural"),
                     ("bcsstk18", "-o", "a.txt"), ("bcsstk18", "-o", "a.svg", "--order", "metiss"),
                     ("absent.mtx", "-o", "a.svg"), ("bcsstk18", "-o", "a.svg", "--order", "natural,amd,natural,amd,natural")):
            self.assert_refused(BAD_INPUT, "show", *(self.folder / a if a.startswith("a.") else a for a in args))
            self.assertEqual(list(self.folder.glob("a.*")), [])


class PrepareTest(CliTest):
    def test_prepared_file_gives_the_same_result(self):
        binary = str(self.folder / "small.bin")
        done = call("prepare", "--matrix", self.small, "--out", binary)
        self.assertEqual(done.returncode, OK, done.stderr)
        (direct,) = self.records("--matrix", self.small, "--variant", "cpu_fill1")
        (cached,) = self.records("--matrix", binary, "--variant", "cpu_fill1")
        for key in ("matrix", "ordering", "result"):
            self.assertEqual(direct[key] | {"seconds": 0}, cached[key] | {"seconds": 0})

    def test_an_order_written_is_an_order_read(self):
        order = str(self.folder / "small.perm")
        binary = str(self.folder / "small.bin")
        done = call("prepare", "--matrix", self.small, "--out", binary, "--order", "amd",
                    "--order-out", order)
        self.assertEqual(done.returncode, OK, done.stderr)
        again = call("prepare", "--matrix", self.small, "--out", binary, "--order", order)
        self.assertEqual(again.returncode, OK, again.stderr)
        digest = done.stdout.split()[-1]
        self.assertEqual(again.stdout.split()[-1], digest)
        self.assert_refused(BAD_INPUT, "prepare", "--matrix", self.small, "--out", binary,
                            "--order-out", str(self.folder / "none" / "small.perm"),
                            mention=["small.perm"])

    def test_a_killed_run_leaves_no_part_for_ever(self):
        binary = str(self.folder / "small.bin")
        args = ("prepare", "--matrix", "gen:grid5:nx=600", "--order", "natural", "--out", binary)

        def parts():
            return [f.name for f in self.folder.iterdir() if "part" in f.name]

        done = subprocess.run([GSOFA, *args], capture_output=True, text=True, preexec_fn=file_size_limit(1 << 20))
        self.assertEqual(done.returncode, BAD_INPUT, done.stderr)
        self.assertEqual(parts(), [])
        (self.folder / ".small.bin.gsofa-part-1-0").write_text("of a process that was killed")
        done = call(*args)
        self.assertEqual(done.returncode, OK, done.stderr)
        self.assertEqual(parts(), [])

    def test_prepared_file_refuses_another_order(self):
        binary = str(self.folder / "small.bin")
        call("prepare", "--matrix", self.small, "--out", binary)
        self.assert_refused(BAD_INPUT, "run", "--matrix", binary, "--order", "amd",
                            mention=[binary, "prepared"])

    def test_info(self):
        done = call("info", "--matrix", self.small, "--json", "--order", "natural")
        self.assertEqual(done.returncode, OK, done.stderr)
        info = json.loads(done.stdout)
        self.assertEqual((info["n_rows"], info["nnz"], info["fill"]), (3, 6, 1))
        self.assertEqual(info["structural_symmetry"], 0)
        self.need_matching()
        self.assertEqual(info["structural_rank"], 3)
        self.assertEqual((info["btf_blocks"], info["btf_largest"]), (1, 3))
        self.assertIn("structural rank", call("info", "--matrix", self.small).stdout)

    def test_info_of_a_singular_matrix(self):
        self.need_matching()
        done = call("info", "--matrix", self.write("singular.mtx", SINGULAR))
        self.assertEqual(done.returncode, OK, done.stderr)
        self.assertIn("singular", done.stdout)


class WidthTest(CliTest):
    TABLE = ("--variant", "cpu_fill1,cpu_bitmap_panels", "--repeat", "1")

    def table(self, text):
        lines = text.splitlines()
        begin = next(k for k, line in enumerate(lines) if line.startswith("variant"))
        return lines[begin:]

    def test_columns_limit_what_is_piped(self):
        for columns in (60, 80, 100):
            done = subprocess.run([GSOFA, "run", self.small, *self.TABLE], capture_output=True, text=True,
                                  env=os.environ | {"COLUMNS": str(columns)})
            self.assertEqual(done.returncode, OK, done.stderr)
            self.assertLessEqual(max(map(len, done.stdout.splitlines())), columns, done.stdout)
            self.assertIn("median ms", done.stdout)
        text = subprocess.run([GSOFA, "list"], capture_output=True, text=True, env=os.environ | {"COLUMNS": "60"}).stdout
        rows = [line for line in text.splitlines() if not line.startswith("unavailable here")]
        self.assertLessEqual(max(map(len, rows)), 60)

    def test_a_pipe_without_columns_gets_everything(self):
        environment = {k: v for k, v in os.environ.items() if k != "COLUMNS"}
        done = subprocess.run([GSOFA, "run", self.small, *self.TABLE], capture_output=True, text=True, env=environment)
        for title in ("median ms", "min ms", "nnz_l", "nnz_u", "fill", "supernodes", "note"):
            self.assertIn(title, done.stdout.splitlines()[0])
        self.assertNotIn("\x1b", done.stdout)

    def test_ranks_of_a_job_write_no_colours(self):
        """Launchers give each rank a terminal of its own."""
        for variable in ("OMPI_COMM_WORLD_RANK", "PMI_RANK"):
            text, code = on_terminal("run", self.small, "--variant", "cpu_fill1", environment={variable: "0"})
            self.assertEqual(code, OK)
            self.assertIn("pass", text)
            self.assertNotIn("\x1b", text)

    def test_a_terminal_has_its_width_and_colours(self):
        text, status = on_terminal("run", self.small, *self.TABLE, columns=66)
        self.assertEqual(status, OK, text)
        self.assertIn("\x1b[32mpass\x1b[0m", text)
        rows = self.table(text.replace("\x1b[32m", "").replace("\x1b[0m", ""))
        self.assertLessEqual(max(map(len, rows)), 66, text)
        self.assertIn("(no room for ", text)
        text, status = on_terminal("run", self.small, *self.TABLE, environment={"NO_COLOR": "1"})
        self.assertNotIn("\x1b[32m", text)


class ProgressTest(CliTest):
    # Its second case takes more than two seconds on any machine.
    LONG = ("run", "gen:grid5:nx=100,ny=100", "--order", "natural", "--variant", "cpu_bitmap_panels,cpu_fill2",
            "--repeat", "200", "--verify", "none")

    def test_a_long_case_says_how_far_it_is(self):
        text, status = on_terminal(*self.LONG, columns=120, interrupt_at=b"cpu_fill2: run ")
        self.assertEqual(status, -signal.SIGINT, text)
        self.assertRegex(text, r"\[2/2\] gen:grid5:nx=100,ny=100 cpu_fill2: run \d+ of 201, [0-9.]+ s, .* left")

    def test_an_interrupt_shows_what_is_done_and_the_command_for_the_rest(self):
        out = self.folder / "records.jsonl"
        text, status = on_terminal(*self.LONG, "--out", out, columns=200, interrupt_at=b"cpu_fill2: ")
        self.assertEqual(status, -signal.SIGINT, text)
        self.assertEqual([json.loads(line)["variant"] for line in out.read_text().splitlines()], ["cpu_bitmap_panels"])
        self.assertRegex(text, r"cpu_bitmap_panels +\S*unverified")
        self.assertIn("interrupted, 1 of 2 cases done; the rest: ", text)
        rest = shlex.split(text.split("the rest: ")[1].splitlines()[0])
        self.assertEqual(rest, [GSOFA, *map(str, self.LONG), "--out", str(out), "--resume"])

    def test_an_interrupted_check_names_the_variants_that_are_left(self):
        text, status = on_terminal("check", "--variant", "cpu_fill1,cpu_maxid,mpi_maxid_cpu", "--jobs", "1", "--suite", "full",
                                   "--patterns", "2000", "--save", self.folder, columns=200, interrupt_at=b": cpu_fill1 ")
        self.assertEqual(status, -signal.SIGINT, text)
        self.assertRegex(text, r"\[0/3\] variants, [0-9.]+ s.*: cpu_fill1 (\d+/|on matrices)")
        rest = shlex.split(text.split("the rest: ")[1].splitlines()[0])
        self.assertEqual(rest, [GSOFA, "check", "--jobs", "1", "--suite", "full", "--patterns", "2000", "--save",
                                str(self.folder), "--variant", "cpu_fill1,cpu_maxid,mpi_maxid_cpu"])

    def test_nothing_is_rewritten_where_errors_are_no_terminal(self):
        done = call("run", "gen:grid5:nx=100,ny=100", "--order", "natural", "--variant", "cpu_fill2", "--repeat", "8",
                    "--verify", "none")
        self.assertEqual(done.returncode, OK, done.stderr)
        self.assertNotIn("\r", done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1)


class SelectionTest(CliTest):
    GRIDS = ("gen:grid5:nx=4", "gen:grid5:nx=5")

    def variants_of(self, *words):
        return sorted({r["variant"] for r in self.records(self.small, "--repeat", "1", *words) if r["status"] != "skipped"})

    def test_matrices_by_position_and_by_option(self):
        for args in (self.GRIDS, ("--matrix", self.GRIDS[0], "--matrix", self.GRIDS[1]),
                     (self.GRIDS[0], "-m", self.GRIDS[1])):
            found = self.records(*args, "--variant", "cpu_fill1", "--repeat", "1")
            self.assertEqual([r["matrix"]["n"] for r in found], [16, 25])
        found = self.records("--variant", "cpu_fill1", *self.GRIDS, "--repeat", "1")
        self.assertEqual(len(found), 2)

    def test_words_for_variants(self):
        self.assertEqual(self.variants_of("--variant", "cpu_fill?,cpu_maxid"), ["cpu_fill1", "cpu_fill2", "cpu_maxid"])
        cpu = [v["name"] for v in json.loads(call("list", "--json").stdout) if v["device"] == "cpu"]
        self.assertEqual(self.variants_of("--variant", "cpu"), cpu)
        self.assertEqual(self.variants_of("--variant", "cpu_*"), cpu)
        self.assertEqual(self.variants_of("--variant", "all"), self.variants_of())

    def test_the_same_words_in_check_and_order(self):
        done = call("check", "--variant", "cpu_fill?", "--patterns", "2", "--matrix", self.small)
        self.assertEqual(done.returncode, OK, done.stderr)
        self.assertEqual([line.split()[0] for line in done.stdout.splitlines()[1:3]], ["cpu_fill1", "cpu_fill2"])
        done = call("check", "--order", "nat*,amd", "--patterns", "2", "--matrix", self.small)
        self.assertIn("order natural: pass", done.stdout)
        self.assertIn("order amd: pass", done.stdout)
        done = call("order", "--json", "--match", "none", self.small, "--order", "nat*,amd")
        self.assertEqual([json.loads(line)["order"] for line in done.stdout.splitlines()], ["natural", "amd"])

    def test_the_same_words_in_experiments(self):
        if "cannot read TOML" in call("run", "--matrix", "no_such").stderr:
            self.skipTest("built without toml++")
        spec = self.write("spec.toml", '[[case]]\ngroups = ["smoke"]\nmatrices = ["gen:grid5:nx=4", "gen:grid5:nx=5"]\n'
                          'variants = ["cpu_fill?,cpu_maxid"]\nrepeat = 1\nwarmup = 0\n')

        def found(*args):
            done = call("experiment", "--json", spec, *args)
            self.assertEqual(done.returncode, OK, done.stderr)
            return [(r["matrix"]["n"], r["variant"]) for r in map(json.loads, done.stdout.splitlines())]

        self.assertEqual(len(found()), 6)
        self.assertEqual(found("--variant", "cpu_fill*", "--matrix", "*nx=5"), [(25, "cpu_fill1"), (25, "cpu_fill2")])
        self.assert_refused(BAD_INPUT, "experiment", spec, "--matrix", "gen:grid5:nx=6", mention=["did you mean 'gen:grid5:nx="])
        self.assert_refused(BAD_INPUT, "experiment", spec, "--variant", "cpu_fil1", mention=["did you mean 'cpu_fill1'"])

    def test_what_no_word_selects_is_refused_before_anything_runs(self):
        self.assert_refused(BAD_INPUT, "run", self.GRIDS[0], "no_such.mtx", mention=["no_such.mtx: no such file"])
        self.assert_refused(BAD_INPUT, "run", self.small, "cpu_fill1", mention=["is a variant", "--variant cpu_fill1"])
        self.assert_refused(BAD_INPUT, "run", self.small, "--want", "counts", "digest", mention=["--want digest"])
        self.assert_refused(BAD_INPUT, "run", self.small, "--variant", "tpu_*", mention=["no variant matches 'tpu_*'"])

    def test_one_matrix_that_cannot_be_prepared_stops_no_other(self):
        bad = self.write("rectangular.mtx", RECTANGULAR)
        done = call("run", "--json", bad, self.small, "--variant", "cpu_fill1")
        self.assertEqual(done.returncode, BAD_INPUT)
        self.assertEqual([json.loads(line)["matrix"]["name"] for line in done.stdout.splitlines()], ["small"])
        self.assertEqual(len([line for line in done.stderr.splitlines() if line.startswith("gsofa: error: ")]), 1)

    def test_nearest_names(self):
        self.assert_refused(BAD_INPUT, "run", "--varaint", "cpu_fill1", self.small,
                            mention=["unknown option '--varaint'; did you mean '--variant'?"])
        self.assert_refused(BAD_INPUT, "check", "--suit=full", mention=["'--suit'; did you mean '--suite'?"])
        if "cannot read TOML" not in call("run", "no_such").stderr:
            self.assert_refused(BAD_INPUT, "run", "bcstk18", mention=["(did you mean 'bcsstk18'?)"])


class DescriptionTest(CliTest):
    def complete(self, *words):
        """What bash offers for the last of the words."""
        script = self.write("gsofa.bash", call("completion", "bash").stdout)
        done = subprocess.run(["bash", "-c", 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _gsofa; '
                               'printf "%s\\n" "${COMPREPLY[@]}"', script, "gsofa", *words],
                              capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_completion_in_bash(self):
        self.assertEqual(self.complete("exp"), ["experiment"])
        self.assertEqual(self.complete("run", "--warm"), ["--warmup"])
        self.assertEqual(self.complete("run", "--variant", "cpu_maxid,cpu_gil"), ["cpu_maxid,cpu_gilbert_peierls"])
        self.assertEqual(self.complete("run", "--match", ""), ["auto", "none"])
        self.assertEqual(self.complete("info", "--matrix", "sma"), ["small.mtx"])
        self.assertEqual(self.complete("man", "inf"), ["info"])

    def test_commands_of_the_program_are_complete(self):
        text = call("--help").stdout.split("Subcommands:")[1]
        self.assertEqual(self.complete(""), [line.split()[0] for line in text.splitlines() if line.startswith("  ")
                                            and not line.startswith("   ")])

    def test_man_pages_are_roff_without_warnings(self):
        for command in ("", "run", "check", "order", "experiment"):
            done = call("man", *filter(None, [command]))
            self.assertEqual(done.returncode, OK, done.stderr)
            self.assertTrue(done.stdout.startswith(".TH GSOFA"))
            if shutil.which("groff"):
                shown = subprocess.run(["groff", "-man", "-Tutf8", "-ww"], input=done.stdout, capture_output=True, text=True)
                self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        self.assert_refused(BAD_INPUT, "man", "rn", mention=["unknown command 'rn' (did you mean 'run'?)"])
        self.assert_refused(BAD_INPUT, "completion", "tcsh", mention=["bash, zsh, fish"])


class ReadingTest(CliTest):
    """Files that other programs write, through every command that reads a matrix."""

    BOEING = ("A title                                                                 KEY     \n"
              "             3             1             1             1             0\n"
              "RUA                        3             3             4             0\n"
              "(4I3)           (4I3)           (4F5.1)             \n  1  3  4  5\n  1  3  2  3\n  4.0  1.0  nan  4.0\n")
    OTHERS = {
        "repeated.mtx": SMALL.replace("3 3 6\n", "3 3 7\n") + "3 3\n",
        "mark.mtx": "\ufeff" + SMALL,
        "old_mac.mtx": SMALL.replace("\n", "\r"),
        "one_percent.mtx": SMALL[1:],
        "values.mtx": "%%MatrixMarket matrix coordinate unsigned-integer spd\n3 3 4\n1 1 1e+16\n2 2 nan\n3 3 1\n3 1 1\n",
        "array.mtx": "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n",
        "g3.rua": BOEING,
        "zero.mtx": "%%MatrixMarket matrix coordinate real general\n0 0 0\n",
    }

    def test_members_of_archives_have_names_in_any_locale(self):
        path = self.folder / "names.zip"
        for members in (["gr\u00f6\u00dfe/gr\u00f6\u00dfe.mtx"], ["\u00e9/\u00e9.mtx", "b/b.mtx"]):
            with zipfile.ZipFile(path, "w") as archive:
                for name in members:
                    archive.writestr(name, SMALL)
            done = subprocess.run([GSOFA, "info", "--json", "--matrix", path], capture_output=True, text=True, timeout=300,
                                  env=os.environ | {"LC_ALL": "C"})
            if "libarchive" in done.stderr:
                self.skipTest("this build lacks libarchive")
            # Of several matrices none is taken.
            self.assertEqual(done.returncode, OK if len(members) == 1 else BAD_INPUT, done.stderr)

    def test_every_command_reads_what_others_write(self):
        for name, text in self.OTHERS.items():
            with self.subTest(name):
                path, prepared = self.write(name, text), str(self.folder / f"{name}.bin")
                n = self.records("--matrix", path, "-v", "cpu_fill2")[0]["matrix"]["n"]
                self.assertEqual(n, {"zero.mtx": 0, "array.mtx": 2}.get(name, 3))
                info = json.loads(call("info", "--json", "--matrix", path).stdout)
                self.assertEqual((info["n_rows"], info["name"]), (n, name.split(".")[0]))
                for words in (["prepare", "--matrix", path, "--out", prepared], ["order", "--order", "amd", "--matrix", path],
                              ["run", "--matrix", prepared, "-v", "cpu_maxid"]):
                    done = call(*words)
                    self.assertEqual(done.returncode, OK, (words, done.stderr))
                if name != "zero.mtx":
                    done = call("show", path, "--order", "natural", "-o", str(self.folder / "p.svg"))
                    self.assertEqual(done.returncode, OK, done.stderr)

    def test_order_zero_by_every_variant(self):
        path = self.write("zero.mtx", self.OTHERS["zero.mtx"])
        done = call("run", "--json", "--repeat", "1", "--matrix", path)
        self.assertEqual(done.returncode, OK, done.stderr)
        ran = [r for r in map(json.loads, done.stdout.splitlines()) if r["status"] != "skipped"]
        self.assertGreater(len(ran), 4)
        for record in ran:
            self.assertIn(record["status"], ("pass", "unverified"), record)
            self.assertEqual((record["result"]["nnz_l"], record["result"]["nnz_u"]), (0, 0), record)
        done = call("check", "--matrix", path, "-v", "cpu_*")
        self.assertEqual(done.returncode, OK, done.stderr)
        self.assert_refused(BAD_INPUT, "show", path, "-o", str(self.folder / "p.svg"), mention=["the order is 0"])

    def test_standard_input(self):
        archive = self.folder / "small.tar.gz"
        with tarfile.open(archive, "w:gz") as tar:
            tar.add(self.small, "small/small.mtx")
        done = call("info", "--json", str(archive))
        read = "lacks libarchive" not in done.stderr  # it is optional
        if read:
            self.assertEqual(json.loads(done.stdout)["name"], "small")
        for data in (SMALL.encode(), gzip.compress(SMALL.encode()), *([archive.read_bytes()] if read else [])):
            for words in (["--matrix", "-"], ["-"]):
                done = subprocess.run([GSOFA, "run", "--json", "-v", "cpu_fill2", *words], input=data, capture_output=True)
                self.assertEqual(done.returncode, OK, done.stderr)
                matrix = json.loads(done.stdout)["matrix"]
                self.assertEqual((matrix["name"], matrix["source"], matrix["n"]), ("stdin", "-", 3))
                self.assertEqual(matrix["sha256"], hashlib.sha256(SMALL.encode()).hexdigest())
        done = subprocess.run([GSOFA, "info", "--matrix", "-"], input=b"hello", capture_output=True, text=False)
        self.assertEqual(done.returncode, BAD_INPUT)
        self.assertIn(b"/dev/stdin:1: no %%MatrixMarket banner", done.stderr)


class BadInputTest(CliTest):
    def test_outputs_without_a_name(self):
        run = ("run", "--matrix", self.small, "--variant", "cpu_fill1")
        for args in ((*run, "--out", ""), (*run, "--out", "-"), (*run, "--pattern-out", ""), (*run, "--checkpoint", ""),
                     ("prepare", "--matrix", self.small, "--out", ""), ("order", "--matrix", self.small, "--out", ""),
                     ("show", self.small, "--out", "")):
            with self.subTest(args):
                self.assert_refused(BAD_INPUT, *args, mention=["out" if args[-2] != "--checkpoint" else "checkpoint"])

    def test_matrices(self):
        for name, text, mention in (
            ("rectangular.mtx", RECTANGULAR, ("square",)),
            ("truncated.mtx", TRUNCATED, ()),
            ("range.mtx", OUT_OF_RANGE, (":3",)),
            ("text.mtx", "hello\n", (":1",)),
            ("empty.mtx", "", ()),
        ):
            with self.subTest(name):
                self.assert_refused(BAD_INPUT, "run", "--matrix", self.write(name, text),
                                    mention=[name, *mention])

    def test_a_singular_matrix(self):
        self.need_matching()
        self.assert_refused(BAD_INPUT, "run", "--matrix", self.write("singular.mtx", SINGULAR),
                            mention=["singular.mtx", "rank"])

    def test_files(self):
        missing = str(self.folder / "missing.mtx")
        self.assert_refused(BAD_INPUT, "run", "--matrix", missing, mention=[missing])
        self.assert_refused(BAD_INPUT, "run", "--matrix", str(self.folder))
        self.assert_refused(BAD_INPUT, "info", "--matrix", missing, mention=[missing])
        self.assert_refused(BAD_INPUT, "check", "--prepared", missing, mention=[missing])
        self.assert_refused(BAD_INPUT, "prepare", "--matrix", missing, "--out", "x")
        no_toml = "cannot read TOML" in call("run", "--matrix", "no_such").stderr
        self.assert_refused(UNAVAILABLE if no_toml else BAD_INPUT, "experiment",
                            str(self.folder / "spec.toml"), mention=["spec.toml"])
        self.assert_refused(BAD_INPUT, "run", "--matrix", "gen:no_such_family",
                            mention=["no_such_family"])
        self.assert_refused(BAD_INPUT, "run", "--matrix", self.small, "--order",
                            str(self.folder / "no.perm"))
        self.assert_refused(BAD_INPUT, "run", "--matrix", self.small, "--out", "/proc/no/file")
        for order, mention in ((str(self.folder), "is a directory"), ("/dev/zero", "longer than"),
                               ("/proc/self/mem", "cannot read")):
            self.assert_refused(BAD_INPUT, "run", "--matrix", self.small, "--match", "none", "--order", order,
                                mention=[order, mention])

    def test_options(self):
        run = ("run", "--matrix", self.small)
        self.assert_refused(BAD_INPUT, *run, "--variant", "cpu_fil1", mention=["cpu_fill1"])
        self.assert_refused(BAD_INPUT, *run, "--set", "no_such=1", mention=["no_such"])
        self.assert_refused(BAD_INPUT, *run, "--variant", "cpu_maxid", "--set", "line_9_5=perhaps",
                            mention=["line_9_5", "perhaps"])
        self.assert_refused(BAD_INPUT, *run, "--want", "everything")
        self.assert_refused(BAD_INPUT, *run, "--verify", "maybe")
        self.assert_refused(BAD_INPUT, *run, "--match", "maybe")
        self.assert_refused(BAD_INPUT, *run, "--order", "alphabetical")
        self.assert_refused(BAD_INPUT, *run, "--repeat", "0")
        self.assert_refused(BAD_INPUT, *run, "--threads", "-1")
        self.assert_refused(BAD_INPUT, *run, "--chunk-size", "-1")
        self.assert_refused(BAD_INPUT, *run, "--no-such-option")
        for seconds in ("nan", "-nan", "inf", "-1", "1e300", "soon", ""):
            self.assert_refused(BAD_INPUT, *run, "--timeout", seconds, mention=["--timeout"])
        maxid = (*run, "--variant", "cpu_maxid")
        self.assert_refused(BAD_INPUT, *maxid, *64 * ("--set", "line_9_5=true,false"),
                            mention=["more than 10000 cases"])
        self.assert_refused(BAD_INPUT, *maxid, *64 * ("--set", "k=a,b"), mention=["'k'"])
        self.assert_refused(BAD_INPUT, *run, "--resume", mention=["--out"])
        self.assert_refused(BAD_INPUT, "run")
        self.assert_refused(BAD_INPUT, mention=["a command is missing", "list, run, "])
        self.assert_refused(BAD_INPUT, "nosuch", mention=["unknown command 'nosuch'", "list, run, "])
        self.assert_refused(BAD_INPUT, "chek", mention=["'chek' (did you mean 'check'?); "])
        self.assert_refused(BAD_INPUT, "--nosuch", mention=["'--nosuch'", "list, run, "])
        self.assert_refused(BAD_INPUT, "check", "--suite", "huge")
        self.assert_refused(BAD_INPUT, "check", "--variant", "cpu_fil1")

    def test_unavailable_variant(self):
        for v in json.loads(call("list", "--json").stdout):
            if not v["available"]:
                self.assert_refused(UNAVAILABLE, "run", "--matrix", self.small, "--variant",
                                    v["name"], mention=[v["name"]])

    def test_specs(self):
        if "cannot read TOML" in call("run", "--matrix", "no_such").stderr:
            self.skipTest("built without toml++")
        head = '[[case]]\ngroups = ["smoke"]\nmatrices = '
        for text, mention in ((head + "[}\n", ":3: "),
                              (head + '["a"]\nvariants = ["cpu_fil1"]\n', ":1: unknown variant"),
                              (head + '["a"]\noptions = ["no_such=1"]\n', ":1: --set no_such=1"),
                              (head + "3\n", ":3: 'matrices' is not an array")):
            self.assert_refused(BAD_INPUT, "experiment", self.write("spec.toml", text),
                                mention=["spec.toml" + mention])

    def test_records(self):
        out = self.write("records.jsonl", '\n{"schema": 1, "status": "pass"}\n')
        resume = ("run", "--matrix", self.small, "--out", out, "--resume")
        self.assert_refused(BAD_INPUT, *resume, mention=["records.jsonl:2: not a record: 'git.sha'"])
        for line in ("{", "[]", "null", "3", '{"schema": "1"}', "[" * 100000):
            self.write("records.jsonl", line + "\n")
            self.assert_refused(BAD_INPUT, *resume, mention=["records.jsonl:1: not "])


class StandInTest(CliTest):
    """What prints the name of a stand-in says that it is one."""

    NAME = "epb2"  # the smallest

    def setUp(self):
        super().setUp()
        info = call("info", self.NAME, "--json", "--no-fill")
        if info.returncode != OK or not json.loads(info.stdout)["stand_in"]:
            self.skipTest(f"{self.NAME} is here")

    def marked(self, *args, code=OK):
        done = call(*args)
        self.assertEqual(done.returncode, code, done.stderr)
        text = done.stdout + done.stderr
        self.assertIn(f"{self.NAME} (stand-in)", text)
        bare = text.replace(f"{self.NAME} (stand-in)", "").replace(str(self.folder), "")
        self.assertNotIn(self.NAME, bare)
        return done

    def test_commands(self):
        fast = ("--match", "none", "--order", "amd")
        run = ("run", self.NAME, *fast, "--variant", "cpu_bitmap_panels", "--verify", "none", "--repeat", "1", "--warmup", "0")
        self.assertIn("stand-in", self.marked(*run).stdout)
        self.assertIn("stand-in", self.marked(*run, "west2021").stdout)
        self.assertIn("stand-in", self.marked("order", self.NAME, *fast).stdout)
        self.marked("info", self.NAME, "--no-fill")
        prepared, picture = str(self.folder / "p"), str(self.folder / "x.svg")
        self.marked("prepare", self.NAME, *fast, "-o", prepared)
        self.marked("run", prepared, *run[6:])
        for matrix in (prepared, self.NAME):
            self.marked("show", matrix, "-o", picture, *(fast if matrix == self.NAME else ()))
            self.assertIn(f"{self.NAME} (stand-in)", Path(picture).read_text())
        folder = self.folder / "factors"
        self.marked(*run, "--pattern-out", str(folder))
        for file in folder.iterdir():
            head = [line for line in file.read_text()[:1000].splitlines() if line.startswith("%") and self.NAME in line]
            self.assertTrue(head and all(f"{self.NAME} (stand-in)" in line for line in head), file.name)
        self.assertTrue(self.records(*run[1:])[0]["matrix"]["stand_in"])

    def test_unknown_names(self):
        known = call("info", "no_such_matrix").stderr.partition("the datasets are ")[2].split(", ")
        self.assertEqual(len(known), len(set(known)))
        self.assertIn("bcsstk18", known)


class TerminalTest(CliTest):
    """Escapes for a terminal in what a user or a file gives are not passed on."""

    BELL = "\x1b]0;title\x07\x1b[31mred\x9b0m\u202egnp\u2066\u200b\ufeff"

    def printed(self, *args):
        done = subprocess.run([GSOFA, *args], capture_output=True, timeout=300)
        text = (done.stdout + done.stderr).decode()
        self.assertFalse([c for c in text if not c.isprintable() and c != "\n"], repr(text))
        self.assertIn("\\x1b[31mred", text)
        return done.returncode

    def test_bad_options(self):
        for args in (["run", "--matrix", self.BELL], ["run", "--matrix", "a.mtx" + self.BELL],
                     ["run", "--matrix", self.small, "--variant", self.BELL],
                     ["run", "--matrix", self.small, "--set", self.BELL + "=1"],
                     ["run", "--matrix", self.small, "--order", self.BELL],
                     ["run", "--matrix", self.small, "--timeout", self.BELL],
                     ["experiment", "no" + self.BELL], [self.BELL], ["--" + self.BELL]):
            self.assertEqual(self.printed(*args), BAD_INPUT)

    def test_names_of_matrices(self):
        path = self.write(f"x{self.BELL.replace('/', '')}.mtx", SMALL)
        self.assertEqual(self.printed("run", "--matrix", path, "--variant", "cpu_fill1"), OK)
        self.assertEqual(self.printed("info", "--matrix", path), OK)
        binary = str(self.folder / "small.bin")
        self.assertEqual(self.printed("prepare", "--matrix", path, "--out", binary), OK)
        self.assertEqual(self.printed("run", "--matrix", binary, "--variant", "cpu_fill1"), OK)

    def test_specs_and_records(self):
        name = json.dumps(self.BELL)
        spec = self.write("spec.toml", f"name = {name}\n[[case]]\ngroups = [{name}]\n"
                          f"matrices = [{json.dumps('gen:grid5:nx=3')}]\nvariants = ['cpu_fill1']\n")
        if "cannot read TOML" in call("experiment", spec).stderr:
            self.skipTest("built without toml++")
        self.assertEqual(self.printed("experiment", spec, "--group", self.BELL), OK)
        self.assertEqual(self.printed("experiment", spec, "--group", self.BELL + "x"), BAD_INPUT)
        spec = self.write("spec.toml", f"{name} = 1\n")
        self.assertEqual(self.printed("experiment", spec), BAD_INPUT)


class CheckTest(CliTest):
    def test_one_variant(self):
        done = call("check", "--variant", "cpu_fill2", "--variant", "planted_over_fill", "--save",
                    str(self.folder / "save"))
        self.assertEqual(done.returncode, OK, done.stderr)
        self.assertIn("cpu_fill2", done.stdout)
        self.assertIn("planted_over_fill: rejected", done.stdout)
        self.assertFalse((self.folder / "save").exists())


class ClaimsTest(CliTest):
    def test_claims_name_variants_and_options_of_the_program(self):
        sys.path[:0] = [str(ROOT / "paper"), str(ROOT / "plots")]
        try:
            import claims
        except ModuleNotFoundError as e:
            self.skipTest(str(e))
        options = {v["name"]: {o["name"] for o in v["options"]} | {"threads", "chunk_size", "ranks"}
                   for v in json.loads(call("list", "--json").stdout)}
        named = set()
        for c in claims.ClaimFile().claims:
            for e in filter(None, (c.expression, c.expression_there)):
                named |= e.named_settings
                self.assertLessEqual(e.variants, set(options), c.id)
                for variant, setting in e.named_settings:
                    self.assertIn(setting, options[variant], c.id)
        self.assertGreater(len(named), 10)


if __name__ == "__main__":
    sys.exit(unittest.main())
