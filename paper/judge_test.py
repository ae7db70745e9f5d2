"""Tests of submissions: their files, the words of their claims, and the command on programs that work, fail, hang and write rubbish. GSOFA
names the program."""

import contextlib
import io
import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "plots")]

import judge
import records
import rules
import submissions

LINE = {"schema": 2, "run_id": "r", "kind": "order", "host": "h", "cpu": "c", "gpus": [], "machine": {"id": "a" * 16}, "match": "kept",
        "git": {"sha": "0" * 40, "dirty": False}, "status": "pass", "reason": "", "samples_s": [1.0], "modelled_s": {"core": 1.0, "gpu": 1.0}}
MATRICES = {"epb0": 1794, "rajat19": 1157}  # bundled ones, with their rows
REVERSED = """#!/bin/sh
awk '!/^%/ { for (k = $1; k > 0; k--) print k; exit }' "$1" >"$2"
echo "time_s: 0.5"
"""


def line(matrix, order, entries, status="pass", seconds=1.0):
    return LINE | {"matrix": {"name": f"m{matrix}", "n": 20000, "sha256": f"{matrix:064}", "kind": "real", "stand_in": False},
                                  "order": order, "samples_s": [seconds] if status == "pass" else [], "status": status,
                                  "result": {"nnz_l": entries, "nnz_u": 0, "flops": float(entries), "height": 5}}


def lines(entries):
    """Twelve matrices in the orders of METIS, AMD and a submission."""
    return [one for k in range(12) for one in (line(k, "metis", 100), line(k, "amd", 100), line(k, "exec:x", entries(k)))]


def words(found, **claim):
    one = submissions.Submission(Path("x"), "x", claim=({"says": "it", **(claim if "quantity" in claim else {"quantity": "entries", "under": "amd"} | claim)},))
    return [s["word"] for s in submissions.judged(one, found)]


class Claims(unittest.TestCase):
    def test_a_ratio_holds_in_size_or_in_direction_or_not(self):
        for entries, word in ((131, rules.SIZE), (190, rules.DIRECTION), (70, rules.NOT)):
            self.assertEqual(words(lines(lambda k: entries + k % 3), paper=1.3), [word], entries)

    def test_a_bound_holds_on_every_matrix_or_does_not_hold_in_size(self):
        self.assertEqual(words(lines(lambda k: 109), at_most=1.1), [rules.SIZE])
        self.assertEqual(words(lines(lambda k: 200 if k == 3 else 109), at_most=1.1), [rules.DIRECTION])
        self.assertEqual(words(lines(lambda k: 200 if k < 11 else 109), at_most=1.1), [rules.NOT])

    def test_an_order_that_failed_breaks_a_bound(self):
        self.assertEqual(words(lines(lambda k: 100) + [line(3, "exec:x", 100, "error")], at_most=1.1), [rules.DIRECTION])

    def test_few_matrices_and_other_hardware_test_nothing(self):
        self.assertEqual(words(lines(lambda k: 109)[:9], at_most=1.1), [rules.UNTESTED])
        self.assertEqual(words(lines(lambda k: 109), at_most=1.1, untested="64 threads"), [rules.UNTESTED])

    def test_a_speedup_is_the_time_of_the_base_over_that_of_the_submission(self):
        faster = [line(k, order, 9, seconds=s + k / 100) for k in range(12) for order, s in (("amd", 4.0), ("exec:x", 1.0))]
        self.assertEqual(words(faster, quantity="time", over="amd", paper=3.9), [rules.SIZE])


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def write(self, toml, script=None, order=None):
        (self.folder / "submission.toml").write_text(toml)
        if script:
            (self.folder / "run.sh").write_text(script)
            (self.folder / "run.sh").chmod(0o755)
        for name, text in (order or {}).items():
            (self.folder / "orders").mkdir(exist_ok=True)
            (self.folder / "orders" / name).write_text(text)


class Files(Folder):
    def test_faults_of_a_submission_have_one_line(self):
        for toml, mention in (("", "no 'name'"), ("name = 1", "'name'"), ("name = 'x'\ncolour = 'red'", "'colour'"), ("name =", "Invalid"),
                              ("name = 'x'", "neither run.sh nor orders/"), ("name = 'x'\n[[claim]]\nsays = 'y'", "'quantity'"),
                              ("name = 'x'\n[[claim]]\nsays = 'y'\nquantity = 'time'\nover = 'amd'\nat_most = 2", "needs 'under'")):
            self.write(toml)
            with self.assertRaisesRegex(records.Refused, mention) as caught:
                submissions.read(self.folder)
            self.assertNotIn("\n", str(caught.exception))


@unittest.skipUnless(os.environ.get("GSOFA"), "GSOFA does not name the program")
class Programs(Folder):
    def judged(self, *more):
        """(exit status, rows of matrices, all that was printed) on the bundled MATRICES."""
        found = submissions.suites.load(submissions.SUITE)
        few = submissions.suites.Suite(found.name, 1, tuple(m for m in found.matrices if m.name in MATRICES))
        out = io.StringIO()
        with mock.patch.object(submissions.suites, "load", lambda name: few), contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            code = judge.main([str(self.folder), "--gsofa", os.environ["GSOFA"], *more])
        return code, [row for row in out.getvalue().splitlines() if row.split(" ")[0] in MATRICES], out.getvalue()

    def test_a_program_gets_a_verified_row_for_each_matrix(self):
        self.write("name = 'reversed'", REVERSED)
        code, rows, said = self.judged("--out", str(self.folder / "mine.jsonl"))
        self.assertEqual((code, [row.split()[-2:] for row in rows]), (0, [["0.500", "yes"]] * 2), said)
        self.assertEqual(len(submissions.cases_of(submissions.read_orders(self.folder / "mine.jsonl"))), 2)

    def test_a_text_file_is_an_order(self):
        self.write("name = 'by hand'", order={"epb0.txt": "\n".join(map(str, range(MATRICES["epb0"])))})
        code, rows, said = self.judged()
        self.assertEqual((code, len(rows), rows[0].endswith("yes")), (0, 1, True), said)
        self.assertIn("1 of 2 matrices are not here or have no order: rajat19", said)

    def test_a_program_that_fails_costs_its_matrix_one_row(self):
        large = "head -c 3000000 /dev/zero >big; sleep 9"
        for script, mention in (("exit 3", "status 3"), ("sleep 60", "limit time_s=2"), ("echo rubbish >$2", "'rubbish'"), (large, "wrote 1 MB"),
                                ("yes 1 | head -9999 >$2", "permutation.txt"), ("kill -11 $$", "signal 11")):
            self.write("name = 'x'\nlimits = 'time_s=2 output_mb=1'", f"#!/bin/sh\nif grep -q '^{MATRICES['epb0']} ' $1; then\n{script}\nexit 0; fi\n"
                       + REVERSED)
            code, rows, said = self.judged()
            self.assertEqual((code, len(rows), rows[1].endswith("yes")), (4, 2, True), said)
            self.assertIn(mention, rows[0])

    def test_a_program_that_is_missing_cannot_be_tested(self):
        self.write("name = 'x'\ncommand = 'no_such_program {matrix} {permutation}'")
        code, rows, said = self.judged()
        self.assertEqual((code, rows), (3, []), said)
        self.assertIn(rules.UNTESTED, said)


class Committed(unittest.TestCase):
    def test_verdicts_are_what_the_records_say(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            judge.main(["--verdicts"])
        self.assertEqual((submissions.FOLDER / "verdicts.txt").read_text(encoding="utf-8"), out.getvalue(), "./testbed judge --verdicts")


def main():
    program = unittest.main(exit=False)
    return 1 if not program.result.wasSuccessful() else 77 if program.result.skipped else 0


if __name__ == "__main__":
    sys.exit(main())
