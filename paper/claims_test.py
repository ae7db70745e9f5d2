"""Tests of the files of claims and of the command on the committed records."""

import contextlib
import functools
import io
import json
import os
import re
import subprocess
import sys
import tomllib
import unittest
from pathlib import Path
from unittest import mock


HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE)]

from claims_fixture import ROOT, ClaimsTest  # noqa: E402
import claims  # noqa: E402
import records_example as example  # noqa: E402

COMMITTED = claims.ClaimFile()
CLAIMS = '[sets]\nall = ["BC"]\n[define]\nt = "time(x)"\n'
CLAIM = CLAIMS + '[[claim]]\nid = "a"\nitem = "text"\nsays = "s"\npaper = 1\nkind = "test"\n'
EVIDENCE = '[records]\npaper = ["p"]\n'


class File(ClaimsTest):
    def read(self, text):
        return claims.ClaimFile(self.write("c.toml", text))

    def test_what_it_holds(self):
        file = self.read(CLAIM.replace("test", "ratio") + 'measure = """\\\n  at(BC, \\\n  t)"""\n[[finding]]\nwhere = "w"\nsays = "s"\n')
        (c,) = file.claims
        self.assertEqual((c.paper, c.records, c.measure, c.expression.variants), (1.0, "paper", "at(BC, t)", {"x"}))
        self.assertEqual(len(file.findings), 1)

    def test_faults_name_file_and_line(self):
        for text, line, mention in (("a = [", 1, "Invalid"), ("a = 1\nb\n", 2, ""), ("x = 1\n", None, "no table [sets]"),
                                    ('[sets]\n\nall = 3\n[define]\n', 3, "'all' is not an array of strings"),
                                    ('[sets]\n[define]\n', 1, "[sets] without 'all'"),
                                    ('[sets]\nall = ["A"]\n[define]\n[[claim]]\nid = "a"\n', 4, "'paper'"),
                                    (CLAIM, 5, "needs one of"), (CLAIM + 'test = "t"\nmeasure = "1"\n', 5, "needs one of"),
                                    (CLAIM + 'test = "t"\nwhat = 1\n', 12, "unknown key 'what'"),
                                    (CLAIM + 'test = 1\n', 11, "'test' is not a string"),
                                    (CLAIM + 'measure = "1"\n', 10, "go together"),
                                    (CLAIM.replace('"test"', '"taste"') + 'test = "t"\n', 10, "kind 'taste' is none of ratio, gain"),
                                    (CLAIM.replace('"test"', '"ratio"') + 'measure = "1"\nexpects = "above"\n', 12, "'expects' is"),
                                    (CLAIM.replace('"test"', '"ratio"').replace("= 1", '= "f"') + 'measure = "1"\n', 5, "'expects' is"),
                                    (CLAIM.replace('"test"', '"size"').replace("= 1", '= "f"') + 'measure = "1"\n', 9, "needs the paper's number"),
                                    (CLAIM.replace('"test"', '"size"') + 'measure = "at(BB, t)"\n', 11, "a: expression 'at(BB, t)', column 4: "),
                                    (CLAIM.replace('"test"', '"size"') + 'measure = "at(BC, u)"\n', 11, "nothing is defined as 'u'"),
                                    (CLAIM.replace('"test"', '"size"') + 'measure = "at(BC, t)"\nthere = "mean(all, t)"\n', 12, "another aggregate"),
                                    (CLAIM.replace('"test"', '"size"') + 'measure = "at(BC, matrix(n))"\n', 11, "the plan of memory alone"),
                                    (CLAIM.replace('"test"', '"size"') + 'measure = "at(BC, series_rank(f, x))"\n', 10, "go together"),
                                    (CLAIM.replace('"test"', '"correlation"') + 'measure = "at(BC, t)"\n', 10, "go together"),
                                    (CLAIM.replace('"test"', '"size"') + 'measure = "at(BC, t)"\ndenied = 2\n', 12, "'denied' is of"),
                                    (CLAIM + 'test = "t"\nby_construction = "so"\n', 12, "without 'measure'"),
                                    (CLAIM + 'test = "t"\n' + CLAIM[len(CLAIMS):] + 'test = "t"\n', None, "a second claim 'a'"),
                                    (CLAIMS + "[claim]\n", None, "array"), (CLAIMS + "[[finding]]\n", 5, "without 'where'")):
            with self.subTest(mention=mention):
                path = self.folder / "c.toml"
                self.assert_refused(lambda: self.read(text), f"{path}:{line}: " if line else f"{path}: ", mention)

    def test_faults_of_the_evidence(self):
        file = self.read(CLAIM + 'test = "t"\n')
        for text, line, mention in (("", None, "no table [records]"), (EVIDENCE + '[numbers]\nn = "at(BC, u)"\n', 4, "'u'"),
                                    (EVIDENCE + '[[verdict]]\nid = "b"\nverdict = "v"\n', 3, "'b' is no claim"),
                                    (EVIDENCE + '[[verdict]]\nid = "a"\n', 3, "without 'verdict'"),
                                    (EVIDENCE + '[[change]]\ntime_utc = "t"\nreason = "r"\n', 3, "the array 'claims'")):
            with self.subTest(mention=mention):
                path = self.write("e.toml", text)
                self.assert_refused(lambda: claims.Evidence(file, path), f"{path}:{line}: " if line else f"{path}: ", mention)

    def test_items_are_experiments(self):
        self.assertGreater(len(COMMITTED.claims), 60)
        for c in COMMITTED.claims:
            self.assertTrue((ROOT / "experiments" / c.item / "spec.toml").exists() or
                            c.item in ("text", "worked_example", "fig08_supernodes", "supplement"), c.id)

    def test_tests_that_claims_name_exist(self):
        sources = "".join(p.read_text(errors="replace") for d in ("reference", "variants", "common", "harness")
                          for p in (ROOT / d).rglob("*_test.cpp"))
        for c in COMMITTED.claims:
            if c.test:
                self.assertIn(f'TEST_CASE("{c.test}"', sources, c.id)


class Frozen(ClaimsTest):
    def board(self, claim=CLAIM + 'test = "t"\n', evidence=EVIDENCE, frozen=None):
        file = self.write("claims.toml", claim)
        if frozen is None:
            frozen = "".join(f"{c.id} {c.digest()}\n" for c in claims.ClaimFile(file).claims)
        self.write("frozen.txt", frozen)
        self.write("evidence.toml", evidence)
        return claims.Board(file, given={"paper": [self.folder]}, tests=self.write("t.xml", "<testsuite/>"))

    def test_a_change_needs_a_reason(self):
        stated = EVIDENCE + '[[verdict]]\nid = "a"\nverdict = "not run here"\n'
        frozen = (self.folder / "frozen.txt")
        self.assertEqual(self.board(evidence=stated).problems(), [])
        same = frozen.read_text()
        changed = CLAIM.replace("paper = 1", "paper = 2") + 'test = "t"\n'
        board = self.board(changed, stated, same)
        self.assertEqual(board.changed(), [("a", "changed")])
        self.assertIn("no [[change]] says why", board.problems()[0])

        def owned(names='"a"', digest=claims.judgement(board.file)):
            return stated + f'[[change]]\ntime_utc = "t"\nclaims = [{names}]\nreason = "r"\njudgement = "{digest}"\n'
        self.assertEqual(self.board(changed, owned(), same).problems(), [])
        self.assertIn("'b', which is no claim", self.board(changed, owned('"a", "b"'), same).problems()[0])
        self.assertIn("are not those of the last [[change]]", self.board(changed, owned(digest="0"), same).problems()[0])
        again = changed.replace("paper = 2", "paper = 3")
        self.assertIn("are not those of the last [[change]]", self.board(again, owned(), same).problems()[0])
        self.assertIn("a was new", self.board(evidence=stated, frozen="").problems()[0])
        self.assertIn("b was dropped", self.board(evidence=stated, frozen=same + "b 0\n").problems()[0])

    def test_a_change_of_the_rules_needs_a_reason(self):
        stated = EVIDENCE + '[[verdict]]\nid = "a"\nverdict = "not run here"\n'
        self.board(evidence=stated)
        old = "other rules"
        frozen = "".join(f"{c.id} {c.digest(old)}\n" for c in claims.ClaimFile(self.folder / "claims.toml").claims)
        self.write("frozen_rules.txt", old)
        board = self.board(evidence=stated, frozen=frozen)
        self.assertEqual(board.changed(), [])
        self.assertIn("rules or claims are not those of the last [[change]]", board.problems()[0])

    def test_records_count_as_older_if_the_judgement_was_changed_after_them(self):
        claim = CLAIM.replace('"test"', '"size"') + 'measure = "at(BC, t)"\n'
        example.write(self.folder / "r.jsonl", example.run(variant="x", time_utc="2026-02-02T00:00:00Z"))
        file = self.write("claims.toml", claim)
        self.write("frozen.txt", "")
        evidence = EVIDENCE.replace('"p"', json.dumps(str(self.folder / "r.jsonl"))) + '[judgement]\nfixed_at = "2026-02-01T00:00:00Z"\n'
        for moment, older in (("2026-02-01T12:00:00Z", []), ("2026-02-03T00:00:00Z", ["BC"])):
            self.write("evidence.toml", evidence + f'[[change]]\ntime_utc = "{moment}"\nclaims = ["a"]\nreason = "r"\n')
            (j,) = claims.Board(file, tests=self.write("t.xml", "<testsuite/>")).judged
            self.assertEqual((j.older, j.changed), (older, [moment]))

    def test_rules_definitions_and_direction_count_words_do_not(self):
        def digest(text):
            return self.read_one(text).digest()
        base = CLAIM.replace('"test"', '"ratio"') + 'measure = "at(BC, t)"\n'
        self.assertEqual(digest(base), digest(base.replace('says = "s"', 'says = "other"')))
        for old, new in (("time(x)", "time(y)"), ("paper = 1", "paper = 2"), ("ratio", "size"), ("at(BC", "max(all")):
            self.assertNotEqual(digest(base), digest(base.replace(old, new)), new)

    def read_one(self, text):
        return claims.ClaimFile(self.write("one.toml", text)).claims[0]

    def test_records_that_are_older_than_the_judgement_are_named(self):
        claim = CLAIM.replace('"test"', '"size"') + 'measure = "at(BC, t)"\n'
        evidence = EVIDENCE.replace('"p"', json.dumps(str(self.folder / "r.jsonl"))) + '[judgement]\nfixed_at = "2026-02-01T00:00:00Z"\n'
        for moment, older in (("2026-01-31T00:00:00Z", ["BC"]), ("2026-02-02T00:00:00Z", [])):
            example.write(self.folder / "r.jsonl", example.run(variant="x", time_utc=moment))
            file = self.write("claims.toml", claim)
            self.write("evidence.toml", evidence)
            self.write("frozen.txt", "")
            (j,) = claims.Board(file, tests=self.write("t.xml", "<testsuite/>")).judged
            self.assertEqual(j.older, older)

    def test_a_wrong_verdict_and_a_missing_reason_are_noticed(self):
        problems = self.board(evidence=EVIDENCE + '[[verdict]]\nid = "a"\nverdict = "reproduced"\n').problems()
        self.assertEqual(len(problems), 1)
        self.assertIn("states the verdict 'reproduced', the records say 'not run here'", problems[0])


@functools.cache
def committed_board():
    """All committed claims, judged once for all tests."""
    return claims.Board()


class Command(ClaimsTest):
    @staticmethod
    def call(*arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = claims.main([str(a) for a in arguments])
        return code, out.getvalue(), err.getvalue()

    def assert_one_line(self, arguments, *mention):
        code, out, err = self.call(*arguments)
        self.assertEqual((code, out), (2, ""))
        self.assertRegex(err, r"\Aclaims: error: [^\n]*\n\Z")
        for text in mention:
            self.assertIn(text, err)

    def test_refusals(self):
        no_json = self.write("no.jsonl", "{}\nno\n")
        for arguments, *mention in ((["--claims", self.folder / "no.toml"], "no.toml"), (["--item", "no_such"], "no_such"),
                                    (["--records", "no_such=x"], "no_such"), (["--records", "paper=/no/such"], "/no/such"),
                                    (["--records", f"paper={no_json}"], f"{no_json}:1: "), (["--bogus"], "--bogus"),
                                    (["--tests", "/no/such.xml"], "/no/such.xml"), (["--records"], "--records"),
                                    (["--claims", self.write("c.toml", CLAIMS.replace("all", "some"))], "c.toml:1: "),
                                    (["--json", "--stated"], "not allowed with")):
            with self.subTest(arguments):
                self.assert_one_line(arguments, *mention)

    def test_control_characters_are_not_printed(self):
        self.assert_one_line(["--item", "no\x1b[31m\nsuch"], "no?[31m?such")
        toml = self.write("claims.toml", CLAIM.replace('id = "a"', r'id = "a\u001b[31m"') + 'test = "n"\n')
        self.write("evidence.toml", EVIDENCE)
        self.write("frozen.txt", "")
        code, out, err = self.call("--claims", toml, "--records", f"paper={self.folder}", "--check")
        self.assertEqual(code, 1)
        self.assertIn("a?[31m", out)
        self.assertNotIn("\x1b", out + err)

    def test_committed_verdicts_are_those_of_the_records(self):
        with mock.patch.object(claims, "Board", return_value=committed_board()):
            code, out, err = self.call("--json", "--check")
        self.assertEqual((code, err), (0, ""))
        lines = [json.loads(line) for line in out.splitlines()]
        judged = [line for line in lines if "number" not in line]
        self.assertEqual([c["id"] for c in judged], [c.id for c in COMMITTED.claims])
        for line in lines:
            self.assertTrue("number" not in line or "value" in line, line)
        for c in judged:
            self.assertEqual(bool(c["tested"]), bool(c["test"]) and c["verdict"] != claims.NOT_RUN, c["id"])

    def test_the_judgement_is_the_frozen_one_or_owned_up_to(self):
        board = committed_board()
        owned = {c for change in board.evidence.changes for c in change["claims"]}
        self.assertLessEqual({name for name, _ in board.changed()}, owned)
        self.assertNotEqual(board.frozen_rules, claims.RULES)
        self.assertTrue(all(re.fullmatch(r"[0-9-]{10}T[0-9:]{8}Z", c["time_utc"]) for c in board.evidence.changes))
        times = [c["time_utc"] for c in board.evidence.changes]
        self.assertEqual(times, sorted(times))
        code, out, _ = self.call("--freeze")
        self.assertEqual((code, len(out.splitlines())), (0, len(COMMITTED.claims)))

    def test_stated_tables_can_be_read_again(self):
        with mock.patch.object(claims, "Board", return_value=committed_board()):
            code, out, _ = self.call("--stated")
        self.assertEqual(code, 0)
        stated = {v["id"]: v for v in tomllib.loads(out)["verdict"]}
        self.assertEqual(stated, claims.Evidence(COMMITTED).stated)

    def test_statements_of_one_item(self):
        with mock.patch.dict(os.environ, {"COLUMNS": "190"}):
            code, out, _ = self.call("--item", "fig17_schedules")
        self.assertEqual(code, 0)
        self.assertRegex(out, r"\A  verdict +the paper says +paper  here +on real matrices +claim\n\nfig17_schedules\n")
        self.assertRegex(out, r"(?m)^  [a-z ]+ Interleaving over nodes gains 4\.3 times at most +4\.3 x  [0-9.]+ .* fig17\.inter\.max$")
        self.assertRegex(out, r"(?m)^records 'paper': .*NVIDIA H200, ")

    def test_no_line_is_wider_than_the_terminal(self):
        board = claims.Board(item=("fig17_schedules", "fig05_memory", "worked_example"))
        for width in (60, 80, 139, 140, 179, 180, 250):
            text = board.text(width)
            self.assertLessEqual(max(map(len, text.splitlines())), width, width)
            self.assertNotIn("\x1b", text)
            for j in board.judged:
                self.assertIn(j.claim.says.split()[0], text)
                self.assertEqual(j.claim.id in text, width >= 180, j.claim.id)
        self.assertIn("…", board.text(60))
        self.assertEqual(re.sub(r"\x1b\[\d+m", "", board.text(80, True)), board.text(80))

    def test_colour_needs_a_terminal_and_leave(self):
        class Terminal(io.StringIO):
            def isatty(self):
                return True
        board = claims.Board(item="fig17_schedules")
        for stream, variables, coloured in ((Terminal(), {}, True), (Terminal(), {"NO_COLOR": "1"}, False),
                                            (Terminal(), {"TERM": "dumb"}, False), (io.StringIO(), {}, False)):
            with mock.patch.dict(os.environ, {"NO_COLOR": "", "TERM": "xterm"} | variables), mock.patch.object(sys, "stdout", stream):
                self.assertEqual("\x1b[32mreproduced" in claims.on_terminal(board), coloured, variables)

    def test_items_may_be_several_and_an_unknown_one_names_those_there_are(self):
        code, out, _ = self.call("--item", "fig17_schedules", "--only", "worked_example", "--json")
        items = {json.loads(line).get("item") for line in out.splitlines()} - {None}
        self.assertEqual((code, items), (0, {"fig17_schedules", "worked_example"}))
        self.assert_one_line(["--only", "fig17"], "no claim belongs to 'fig17'; there are ", "fig17_schedules")

    def test_tests_of_another_file(self):
        empty = self.write("t.xml", "<testsuite/>")
        code, out, err = self.call("--item", "worked_example", "--tests", empty, "--check")
        self.assertEqual(code, 1)
        self.assertIn("not run here", out)
        self.assertIn("states the verdict 'reproduced', the records say 'not run here'", err)

    def test_as_a_program(self):
        done = subprocess.run([sys.executable, HERE / "claims.py", "--help"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for text in ("geomean", "bootstrap", "undecided"):
            self.assertIn(text, done.stdout)
        if Path("/dev/full").exists():
            with open("/dev/full", "w") as full:
                done = subprocess.run([sys.executable, HERE / "claims.py", "--item", "text"], stdout=full,
                                      stderr=subprocess.PIPE, text=True)
            self.assertEqual((done.returncode, done.stderr), (4, "claims: error: standard output: cannot write\n"))


if __name__ == "__main__":
    unittest.main()
