"""Tests of what users type and see: selections, files, refusals, terminals."""

import gzip
import hashlib
import json
import os
import shlex
import signal
import subprocess
import sys
import tarfile
import unittest
import zipfile
from pathlib import Path

from cli_support import (GSOFA, OK, BAD_INPUT, UNAVAILABLE, SMALL, SINGULAR, RECTANGULAR, TRUNCATED, OUT_OF_RANGE,
                         call, on_terminal, records_of, CliTest)


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
        self.assertRegex(text, r"\[2/2\] gen:grid5:nx=100,ny=100 cpu_fill2: run \d+ of 400, [0-9.]+ s, .* left")

    def test_an_interrupt_shows_what_is_done_and_the_command_for_the_rest(self):
        out = self.folder / "records.jsonl"
        text, status = on_terminal(*self.LONG, "--out", out, columns=200, interrupt_at=b"cpu_fill2: ")
        self.assertEqual(status, -signal.SIGINT, text)
        self.assertEqual([r["variant"] for r in records_of(out.read_text())], ["cpu_bitmap_panels"])
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
        self.assertEqual([r["order"] for r in records_of(done.stdout)], ["natural", "amd"])

    def test_the_same_words_in_experiments(self):
        if "cannot read TOML" in call("run", "--matrix", "no_such").stderr:
            self.skipTest("built without toml++")
        spec = self.write("spec.toml", '[[case]]\ngroups = ["smoke"]\nmatrices = ["gen:grid5:nx=4", "gen:grid5:nx=5"]\n'
                          'variants = ["cpu_fill?,cpu_maxid"]\nrepeat = 1\nwarmup = 0\n')

        def found(*args):
            done = call("experiment", "--json", spec, *args)
            self.assertEqual(done.returncode, OK, done.stderr)
            return [(r["matrix"]["n"], r["variant"]) for r in records_of(done.stdout)]

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
        self.assertEqual([r["matrix"]["name"] for r in records_of(done.stdout)], ["small"])
        self.assertEqual(len([line for line in done.stderr.splitlines() if line.startswith("gsofa: error: ")]), 1)

    def test_nearest_names(self):
        self.assert_refused(BAD_INPUT, "run", "--varaint", "cpu_fill1", self.small,
                            mention=["unknown option '--varaint'; did you mean '--variant'?"])
        self.assert_refused(BAD_INPUT, "check", "--suit=full", mention=["'--suit'; did you mean '--suite'?"])
        if "cannot read TOML" not in call("run", "no_such").stderr:
            self.assert_refused(BAD_INPUT, "run", "bcstk18", mention=["(did you mean 'bcsstk18'?)"])


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

    def test_order_zero_by_every_variant(self):
        path = self.write("zero.mtx", self.OTHERS["zero.mtx"])
        done = call("run", "--json", "--repeat", "1", "--matrix", path)
        self.assertEqual(done.returncode, OK, done.stderr)
        ran = [r for r in records_of(done.stdout) if r["status"] != "skipped"]
        self.assertGreater(len(ran), 4)
        for record in ran:
            self.assertIn(record["status"], ("pass", "unverified"), record)
            self.assertEqual((record["result"]["nnz_l"], record["result"]["nnz_u"]), (0, 0), record)
        done = call("check", "--matrix", path, "-v", "cpu_*")
        self.assertEqual(done.returncode, OK, done.stderr)

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
                matrix = records_of(done.stdout)[0]["matrix"]
                self.assertEqual((matrix["name"], matrix["source"], matrix["n"]), ("stdin", "-", 3))
                self.assertEqual(matrix["sha256"], hashlib.sha256(SMALL.encode()).hexdigest())
        done = subprocess.run([GSOFA, "info", "--matrix", "-"], input=b"hello", capture_output=True, text=False)
        self.assertEqual(done.returncode, BAD_INPUT)
        self.assertIn(b"/dev/stdin:1: no %%MatrixMarket banner", done.stderr)


class BadInputTest(CliTest):
    def test_outputs_without_a_name(self):
        run = ("run", "--matrix", self.small, "--variant", "cpu_fill1")
        for args in ((*run, "--out", ""), (*run, "--out", "-"), (*run, "--pattern-out", ""),
                     ("prepare", "--matrix", self.small, "--out", ""), ("order", "--matrix", self.small, "--out", "")):
            with self.subTest(args):
                self.assert_refused(BAD_INPUT, *args, mention=["out"])

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
        prepared = str(self.folder / "p")
        self.marked("prepare", self.NAME, *fast, "-o", prepared)
        self.marked("run", prepared, *run[6:])
        self.assertIn("stand-in", self.marked("judge", "order", self.NAME, "amd", "--match", "none").stdout)
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


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    for test, reason in result.skipped:
        print(f"skipped: {test}: {reason}")
    sys.exit(not result.wasSuccessful())
