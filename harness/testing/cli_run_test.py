"""Tests of `gsofa run` and `gsofa experiment`: cases, records, outputs."""

import gzip
import json
import os
import resource
import subprocess
import sys
import time
import unittest
from pathlib import Path

from cli_support import (GSOFA, GSOFA_COUNTING, ROOT, OK, FAILED, BAD_INPUT, RUN_FAILED, SMALL, NO_DIAGONAL, SINGULAR,
                         call, records_of, worked_example, CliTest)


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

    def test_each_sample_follows_another_pattern_and_the_first_of_the_process_is_marked(self):
        arguments = ("--matrix", self.small, "--variant", "cpu_fill2", "--variant", "cpu_maxid", "--repeat", "2")
        for more, first in ((("--warmup", "0"), "cpu_fill2"), (("--warmup", "0", "--interleave"), "cpu_fill2"), ((), None)):
            for r in self.records(*arguments, *more):
                self.assertEqual(r["trials"]["first_in_process"], r["variant"] == first, more)
                self.assertEqual(r["trials"]["sampling"], "other_pattern")
                self.assertEqual([len(r[k]) for k in ("samples_s", "prepare_s", "collect_s")], [2] * 3)

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
        out = self.folder / "records.jsonl"
        done = call("run", "--matrix", self.small, "--variant", "cpu_fill1", "--out", str(out))
        self.assertEqual(done.returncode, OK)
        lines, machine = done.stdout.splitlines(), records_of(out.read_text())[0]["machine"]
        load, cores = machine["before"]["load"], machine["threads_online"]
        self.assertEqual(lines[2:], [f"the machine was loaded: load {load:.1f} on {cores} cores"] if load > cores else [])
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

    def test_until_the_interval_of_the_median_is_narrow(self):
        args = ("--matrix", self.small, "--variant", "cpu_fill1")
        done = call("run", "--json", *args, "--until", "90%")
        (r,) = records_of(done.stdout)
        self.assertEqual(r["trials"]["until"], 0.9)
        self.assertEqual("after 101 runs the 95 % interval of the median reaches" in done.stderr, len(r["samples_s"]) == 101)
        self.assertIn(len(r["samples_s"]), range(6, 102))
        for wrong in ("5", "%", "0%", "101%", "nan%"):
            self.assert_refused(BAD_INPUT, "run", *args, "--until", wrong, mention=["percentage"])
        self.assert_refused(BAD_INPUT, "run", *args, "--until", "5%", "--interleave", mention=["--interleave", "--until"])

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
        self.assertEqual(len(out.read_text().splitlines()), 4)  # two runs with one record each
        kept = records_of(out.read_text())
        self.assertEqual((len(kept), kept[0]), (2, first[0]))

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
        self.assertEqual([r["threads"] for r in records_of(done.stdout)], [1, 1])
        self.assertEqual(run("prepare", self.small, "-o", str(self.folder / "p")).returncode, OK)
        done = run("run", self.small, "--variant", "cpu_maxid", "--threads", "8", "--json")
        self.assertEqual((done.returncode, records_of(done.stdout)[0]["reason"]),
                         (RUN_FAILED, "cannot start 3 threads: the system allows fewer"))
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
        header, *lines = map(json.loads, done.stdout.splitlines())
        self.assertEqual((header["schema"], header["kind"], header["mpi"]["ranks"]), (2, "run_header", 1))
        for line in lines:
            self.assertEqual((line["schema"], line["run_id"]), (2, header["run_id"]))
            self.assertEqual(line.keys() & {"argv", "git", "build", "host", "cpu", "gpus", "kind"}, set())
            self.assertEqual(line["machine"].keys(), {"before", "after"})

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
        self.assertEqual("".join(lines[:2]), whole)
        self.assertEqual([r["variant"] for r in records_of("".join(lines))], ["cpu_fill1", "cpu_fill2"])
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

    def test_an_order_file_needs_no_suffix(self):
        (self.folder / "order").write_text("2\n1\n0\n")
        done = call("run", "--json", "--matrix", self.small, "--order", "order", "--variant",
                    "cpu_fill1", cwd=self.folder)
        self.assertEqual(records_of(done.stdout)[0]["ordering"]["col"], "file", done.stderr)


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
        records = records_of(out.read_text()) if out.exists() else []
        return done, records

    def test_a_matrix_is_prepared_once_for_a_source(self):
        spec = self.spec({"matrices": [self.small], "orders": ["natural"], "variants": ["cpu_fill1"]})
        kept = self.folder / "kept"
        for _ in range(2):
            done, records = self.run_spec(spec, "--prepared", str(kept))
            self.assertEqual((done.returncode, "prepared again" in done.stderr), (OK, False), done.stderr)
        self.write("small.mtx", SMALL.replace("3 3 6\n", "3 3 7\n") + "1 2\n")
        done, records = self.run_spec(spec, "--prepared", str(kept))
        self.assertIn("made from another source: prepared again\n", done.stderr)
        self.assertEqual([r["matrix"]["nnz"] for r in records], [6, 6, 7])
        self.assertEqual(len(list(kept.iterdir())), 1)

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
        self.assertEqual(sorted(r["status"] for r in records_of(out.read_text())), ["pass", "skipped"])

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
        records = records_of(out.read_text())
        self.assertEqual(sorted((r["matrix"]["name"], r["chunk_size"], len(r["samples_s"])) for r in records),
                         [("good", 64, 2), ("good", 128, 2)])
        self.assertEqual({r["matrix"]["kind"] for r in records}, {"real"})
        self.assertRegex(done.stderr, r"singular.mtx: left out: .*singular")
        self.assertRegex(done.stderr, r"two.mtx: left out: has 2 rows, fewer than 3")
        self.assert_refused(BAD_INPUT, "experiment", spec, "--group", "paper", "--real", str(self.folder / "absent"))

    def test_records_name_the_kind_of_the_matrix(self):
        folder, kept = self.folder / "fem", str(self.folder / "kept")
        folder.mkdir()
        (folder / "mesh.mtx").write_text(SMALL)
        (folder / "renamed.mtx.gz").write_bytes((ROOT / "experiments" / "matrices" / "bcsstk18.mtx.gz").read_bytes())
        spec = self.write("kinds.toml", '[[case]]\ngroups = ["smoke"]\nmatrices = ["@fem", "gen:grid5:nx=3", "gen:kkt:buses=9"]\n'
                          'variants = ["cpu_bitmap_panels"]\nrepeat = 1\nwarmup = 0\nverify = "none"\n')
        for _ in range(2):  # the second time from prepared files
            done = call("experiment", spec, "--fem", str(folder), "--prepared", kept, "--json")
            self.assertEqual({r["matrix"]["name"]: r["matrix"]["kind"] for r in records_of(done.stdout)},
                             {"mesh": "finite elements", "renamed": "finite elements",
                              "gen:grid5:nx=3": "generated", "gen:kkt:buses=9": "power grid"}, done.stderr)


if __name__ == "__main__":
    sys.exit(unittest.main())
