#!/usr/bin/env python3
"""Tests of rerun.py and origins.py, on the committed records too. $GSOFA names the program; exit status 77 without the history of the repository."""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import json_lines
import origins

HERE = pathlib.Path(__file__).resolve().parent
GSOFA = pathlib.Path(os.environ.get("GSOFA") or HERE.parent / "build" / "release" / "gsofa").absolute()
SKIPPED = 77


class Origins(unittest.TestCase):
    """The command line of a record can be run again at its commit (origins.py), or exceptions.tsv says why the record is kept."""

    def test_command_lines_name_what_their_commit_has(self):
        faults = collections.Counter()
        try:
            for path in json_lines.files_below(HERE / "records"):
                for record in json_lines.read(path):
                    found = (origins.fault(record), origins.unlisted(record)) if "argv" in record else ()
                    faults.update((path.relative_to(HERE / "records").as_posix(), fault) for fault in found if fault)
        except origins.NoHistory as e:
            self.skipTest(str(e))
        head, *rows = (row.split("\t") for row in (HERE / "records" / "exceptions.tsv").read_text().splitlines())
        self.assertEqual(head, ["file", "reason", "records", "read by"])
        self.assertEqual([row[:3] for row in rows], sorted([*key, str(n)] for key, n in faults.items()))
        self.assertTrue(all(row[3] for row in rows))

    def test_faults_are_found(self):
        def fault(*argv, sha="HEAD"):
            return origins.fault({"git": {"sha": sha}, "argv": ["gsofa", *argv]})
        try:
            self.assertEqual(fault("experiment", "experiments/growth/spec.toml", "--group=paper", "--out", "a/b.jsonl"), "")
        except origins.NoHistory as e:
            self.skipTest(str(e))
        self.assertIn("group 'none'", fault("experiment", "experiments/growth/spec.toml", "--group", "none"))
        self.assertIn("spec results/a.toml is absent", fault("experiment", "results/a.toml"))
        self.assertEqual(fault("run", "--matrix", "elsewhere/a.mtx.gz", "--variant", "cpu_fill1", "--out", "b/c.jsonl"), "")
        self.assertEqual(fault("run", "gen:grid5:nx=3", "--order", "experiments/datasets.toml"), "")
        self.assertIn("file orders/a.perm is absent", fault("run", "a.mtx", "--order", "orders/a.perm"))
        self.assertIn("lacks commit ffff", fault("run", sha="f" * 40))
        matrix = {"name": "a", "stand_in": False, "sha256": "0" * 64, "source": "a.mtx"}
        self.assertEqual([bool(origins.unlisted({"matrix": matrix | {"name": name}})) for name in ("a", "gen:grid5:nx=3")], [True, False])


class Rerun(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.file = self.folder / "records.jsonl"

    def record(self, *words, command="run"):
        done = subprocess.run([GSOFA, command, *words, "--out", self.file], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        record = list(json_lines.read(self.file))[-1]
        return json.loads(json.dumps(record))

    def write(self, record):
        self.file.write_text(json.dumps(record) + "\n")

    def call(self, *words, record=None):
        done = subprocess.run([sys.executable, HERE / "rerun.py", record or self.file, "--build", GSOFA.parent, *words],
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    def cannot(self, reason, record):
        self.write(record)
        code, out, err = self.call()
        self.assertEqual((code, out), (2, ""), err)
        self.assertEqual(len(err.splitlines()), 1, err)
        self.assertIn(f"{self.file}:1: cannot be run again here: {reason}", err)

    def test_a_run_of_a_bundled_matrix_and_planted_results(self):
        record = self.record("--matrix", "west2021", "--variant", "cpu_bitmap_panels", "--order", "amd", "--repeat", "2",
                             "--threads", "1", "--chunk-size", "64")
        kept = self.folder / "kept.jsonl"
        code, out, err = self.call("--out", kept)
        self.assertEqual(code, 0, out + err)
        self.assertRegex(out, r"west2021 cpu_bitmap_panels: equal nnz_l, nnz_u, fill, supernodes, digest; .* of the recorded time$")
        (again,) = json_lines.read(kept)
        self.assertEqual([again[k] for k in ("options", "chunk_size", "threads", "result")],
                         [record[k] for k in ("options", "chunk_size", "threads", "result")])
        for key, value in (("digest", "0" * 16), ("nnz_l", 3), ("supernodes", 1)):
            self.write(record | {"result": record["result"] | {key: value}})
            code, out, _ = self.call()
            self.assertEqual(code, 1)
            self.assertIn(f"{key} is {record['result'][key]}, recorded {value}", out)

    def test_an_order(self):
        record = self.record("--matrix", "west2021", "--order", "amd", "--shuffle", "3", command="order")
        self.assertEqual(self.call()[0], 0)
        self.write(record | {"result": record["result"] | {"flops": 1.0}})
        self.assertEqual(self.call()[0], 1)
        self.cannot(f"the order is by {record['library']}, the recorded order by Eigen 3", record | {"library": "Eigen 3"})

    def test_the_input_of_the_caller_is_left_alone(self):
        self.record("--matrix", "gen:grid5:nx=4", "--variant", "cpu_fill1", "--repeat", "1")
        program = self.folder / "gsofa"
        program.write_text("#!/bin/sh\ncat\nexit 1\n")
        program.chmod(0o755)
        words = [sys.executable, HERE / "rerun.py", self.file, "--build", self.folder]
        done = subprocess.run(["sh", "-c", '"$@"; cat', "sh", *words], input="rest", capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout, "rest", done.stderr)

    def test_what_cannot_be_run(self):
        record = self.record("--matrix", "gen:grid5:nx=4", "--variant", "cpu_fill1", "--repeat", "1")
        spec = ["gsofa", "experiment", "experiments/growth/spec.toml", "--group", "paper"]
        self.write(record | {"argv": spec})
        self.assertEqual(self.call()[0], 0)
        for reason, change in (
                ("group 'absent' of experiments/growth/spec.toml is absent", {"argv": [*spec[:-1], "absent"]}),
                ("spec experiments/absent.toml is absent", {"argv": [*spec[:2], "experiments/absent.toml"]}),
                ("file orders/absent.perm is absent", {"argv": ["gsofa", "run", "--order", "orders/absent.perm"]}),
                ("the repository lacks commit", {"git": {"sha": "f" * 40, "dirty": False}}),
                ("no file of matrix absent", {"matrix": record["matrix"] | {"name": "absent", "source": "absent.mtx"}}),
                ("the file at hand is another one", {"matrix": record["matrix"] | {"sha256": "0" * 64}}),
                ("the order differs", {"ordering": record["ordering"] | {"digest": "0" * 16}}),
                (f"the order is by {record['ordering']['library'] or 'the program itself'}, the recorded order by METIS 4",
                 {"ordering": record["ordering"] | {"digest": "0" * 16, "library": "METIS 4"}}),
                ("it has no result: timeout", {"result": {}, "status": "timeout"}),
                ("unknown variant 'gpu_absent'", {"variant": "gpu_absent"}),
                ("neither a run nor an order", {"samples_s": None, "kind": "sequence"})):
            with self.subTest(reason):
                changed = record | change
                self.cannot(reason, {k: v for k, v in changed.items() if v is not None})

    def test_lines_and_matrices_are_chosen(self):
        self.record("--matrix", "gen:grid5:nx=4", "gen:grid5:nx=5", "--variant", "cpu_fill1,cpu_fill2", "--repeat", "1")
        self.assertEqual(len(self.call()[1].splitlines()), 4)
        self.assertEqual(len(self.call("--matrix", "gen:grid5:nx=5")[1].splitlines()), 2)
        self.assertIn(":3: gen:grid5:nx=4 cpu_fill2: equal", self.call(record=f"{self.file}:3")[1])
        code, _, err = self.call(record=f"{self.file}:9")
        self.assertEqual((code, err), (2, f"rerun: error: {self.file}:9: no such record\n"))


if __name__ == "__main__":
    try:
        has_history = origins.has_commit("HEAD")
    except OSError:
        has_history = False
    if not has_history:
        print("skipped: no history of the repository")
        sys.exit(SKIPPED)
    unittest.main()
