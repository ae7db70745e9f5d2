"""Tests of the claims: their language, the reading of claims.toml, verdicts, and the command on the committed records."""

import contextlib
import io
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT / "plots")]

import claims  # noqa: E402
import junit  # noqa: E402
import records  # noqa: E402
import records_example as example  # noqa: E402

SETS = {"all": ["BB", "BC", "TT"], "small": ["BB", "BC"], "large": ["TT"]}
COMMITTED = claims.ClaimFile()


class ClaimsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def measured(self, *runs):
        return records.Measured([example.write(self.folder / "records.jsonl", *runs)])

    def times(self):
        """time(x) of BB, BC: 1, 4; of TT nothing. time(y) is 2 everywhere; with k=7 it is 7."""
        y = {"variant": "y", "samples_s": [2], "options": {"k": 1}}
        return self.measured(example.run(matrix="BB", variant="x", samples_s=[1]),
                             example.run(matrix="BC", variant="x", samples_s=[4]),
                             *(example.run(matrix=m, **y) for m in SETS["all"]),
                             example.run(matrix="BB", variant="z", samples_s=[7], options={"k": 7}))

    def value(self, text, **definitions):
        return claims.Expression(text, definitions, SETS).evaluate(self.times())

    def assert_refused(self, call, *mention):
        with self.assertRaises(records.Refused) as raised:
            call()
        for text in mention:
            self.assertIn(text, str(raised.exception))
        self.assertNotIn("\n", str(raised.exception))


class Language(ClaimsTest):
    def test_arithmetic_and_aggregates(self):
        for text, expected in (("1 + 2 * 3 - 4 / 2", 5), ("(1 + 2) * 3", 9), ("-2 * 3", -6), ("2 < 3", 1), ("3 <= 2", 0),
                               ("mean(all, time(x))", 2.5), ("geomean(all, time(x))", 2), ("median(all, time(x))", 2.5),
                               ("min(all, time(x)) + max(all, time(x)) + sum(small, time(x))", 10),
                               ("at(BC, time(x) / time(y))", 2), ("fraction(all, time(x) > time(y))", 0.5),
                               ("max({BB, TT}, time(z, k=7))", 7), ("mean(all, time(x) / max(all, time(x)))", 0.625)):
            with self.subTest(text):
                self.assertAlmostEqual(self.value(text).value, expected, places=12)

    def test_choices_give_matrices(self):
        for text, expected in (("argmin(all, time(x))", "BB"), ("argmax(all, time(x))", "BC"),
                               ("argmax(all, time(y))", "BB"), ("which(all, time(x) <= 4)", "BB,BC"),
                               ("which(all, time(x) < 1)", "none")):
            self.assertEqual(self.value(text).value, expected, text)

    def test_definitions(self):
        self.assertEqual(self.value("2 * half", half="one / 2", one="1").value, 1)
        self.assertEqual(self.value("mean(small, t / 2)", t="time(x)").value, 1.25)
        self.assertEqual(self.value("2 * sum_", sum_="1 + 1").value, 4)

    def test_matrices_without_a_measurement_are_left_out(self):
        v = self.value("mean(all, time(x))")
        self.assertEqual((v.asked, v.measured), (["BB", "BC", "TT"], ["BB", "BC"]))
        for text in ("at(TT, time(x))", "mean(large, time(x)) + 1", "argmax(large, time(x))", "at(BB, 1 / (time(x) - 1))",
                     "at(BB, 1e308 * 10 * time(x))", "at(BB, time(nothing))"):
            self.assertIsNone(self.value(text).value, text)

    def test_faults_name_expression_and_column(self):
        for text, *mention in (("mean(all, time(x)", "column 5"), ("mean(none, time(x))", "'none'", "column 6"),
                               ("time(x)", "outside"), ("1 + argmax(all, time(x))", "stands alone", "column 5"),
                               ("nothing", "'nothing'"), ("loop", "each other"), ("1 1", "column 3"), ("", "column 1"),
                               ("mean(all)", "a set of matrices"), ("mean(all, 1, 2)", "a set"), ("mean(all, e=1)", "a set"),
                               ("at(small, time(x))", "one matrix"), ("mean(all, time())", "time()", "'V'"),
                               ("mean(all, profile(a, b, c=1))", "profile()"), ("mean(all, wrong(x))", "no function wrong()"),
                               ("mean(all, time(1 + 1))", "expected a word"), ("mean(all, time(**x))", "**"),
                               ("1 < 2 < 3", "not allowed"), ("1 ** 2", "not allowed"), ("'text'", "not allowed"),
                               ("[1][0]", "not allowed"), ("__import__('os')", "no function"), ("(lambda: 1)()", "not allowed"),
                               ("1 if 2 else 3", "not allowed"), ("True", "not allowed"), ("x.y", "not allowed"),
                               ("(" * 5000 + "1" + ")" * 5000, "expression"), ("1 +" * 50000 + "1", "expression"),
                               ("\0", "column 1")):
            with self.subTest(text[:40]):
                self.assert_refused(lambda: self.value(text, loop="loop"), f"expression '{text[:40]}", *mention)

    def test_faults_of_values_name_the_expression(self):
        for text, mention in (("geomean(small, time(x) - time(y))", "positive"),
                              ("at(BB, phase(travers, x))", "no run has a phase 'travers'"),
                              ("at(BB, mem(nothing.arena, x))", "'nothing.arena'"),
                              ("at(BB, time(x, no_such=1))", "no run of x has a setting 'no_such'")):
            self.assert_refused(lambda: self.value(text), f"expression '{text}'", mention)

    def test_leaves(self):
        counted = example.run(counting=True, samples_s=[], series={"frontier_size": [0, 1, 2, 6]})
        m = self.measured(example.run(), counted, example.run(matrix="twotone", status="fail"),
                          example.run(variant="other", phases_s={"init": 1}),
                          {"matrix": "BC", "variant": "gpu_maxid", "dram_gb_per_s": 1, "l2_gb_per_s": 2.5,
                           "copy_gb_per_s": 4})
        v = "cpu_fill2_parallel"
        for leaf, expected in ((f"time({v})", 4), (f"time({v}, threads=1, sources_per_range=16)", 4),
                               (f"time({v}, chunk_size=64)", None), ("time(cpu_fill2)", None), (f"bare({v})", 3.75),
                               (f"phase(traverse, {v})", 1.5), (f"phase(init, {v})", 0), (f"mem(device.arena, {v})", 6),
                               (f"mem(device_peak, {v})", 5), (f"mem(host_peak, {v})", None), (f"result(fill, {v})", 20),
                               (f"result(supernodes, {v})", None), (f"counter(levels, {v})", 3),
                               (f"series_max(frontier_size, {v})", 6), (f"series_min(frontier_size, {v})", 1),
                               (f"series_rank(frontier_size, {v})", 1), (f"series_rank(nothing, {v})", None),
                               ("matrix(n)", 10), ("matrix(paper.fill_ratio)", 6.52), ("matrix(paper.nothing)", None),
                               ("profile(l2_gb_per_s, gpu_maxid)", 2.5), ("profile(l2_gb_per_s, gpu_fill2)", None)):
            with self.subTest(leaf):
                found = claims.Expression(f"at(BC, {leaf})", {}, {"all": ["BC", "TT"]}).evaluate(m).value
                self.assertEqual(found if expected is None else round(found, 12), expected)
        self.assertIsNone(claims.Expression(f"at(TT, time({v}))", {}, {"all": ["TT"]}).evaluate(m).value)

    def test_rank_correlation(self):
        self.assertEqual(claims.rank_correlation([3, 2, 1]), -1)
        self.assertIsNone(claims.rank_correlation([1, 1, 1]))
        self.assertIsNone(claims.rank_correlation([]))
        self.assertAlmostEqual(claims.rank_correlation([1, 1, 2]), 0.866025403784)

    def test_every_function_is_documented(self):
        for name, function in (claims.AGGREGATES | claims.CHOICES | claims.LEAVES).items():
            self.assertTrue(function.__doc__, name)
            self.assertRegex(claims.documentation(), rf"(?m)^  {name}\b.*: ")


class Verdicts(ClaimsTest):
    def judge(self, tests=(), original=True, **keys):
        keys = {"id": "x", "item": "text", "says": "s", "paper": 4.0, "unit": ""} | keys
        c = claims.Claim(**keys)
        c.expression = claims.Expression(c.measure, {}, SETS) if c.measure else None
        m = self.times()
        m.is_stand_in = lambda _: not original
        return claims.judge(c, m, tests)

    def test_shapes(self):
        for value, shape, holds in ((2, "> 1", True), (1, "> 1", False), (1, ">= 1", True), (-1, "< 0", True),
                                    (1, "<= 0.5", False), (13, "= 13", True), (12, "= 13", False), (1, "> -1e-3", True)):
            self.assertEqual(claims.has_shape(value, shape), holds, shape)
        for bad in ("", ">", "> x", "~ 1", "> 1 2", "> nan", "> 1.2.3"):
            self.assert_refused(lambda: claims.has_shape(1, bad), f"shape '{bad}'")

    def test_numbers(self):
        four = {"measure": "at(BC, time(x))", "shape": "> 1"}
        self.assertEqual(self.judge(**four).verdict, claims.REPRODUCED)
        self.assertEqual(self.judge(**four, paper=5.0).verdict, claims.SHAPE_ONLY)
        self.assertEqual(self.judge(**four, paper=5.0, tolerance=0.25).verdict, claims.REPRODUCED)
        self.assertEqual(self.judge(**four | {"shape": "< 1"}, paper=5.0, tolerance=0.25).verdict, claims.NOT_REPRODUCED)
        self.assertEqual(self.judge(**four, paper="faster").verdict, claims.REPRODUCED)
        self.assertEqual(self.judge(**four | {"shape": "< 1"}, paper="faster").verdict, claims.NOT_REPRODUCED)
        self.assert_refused(lambda: self.judge(measure="1 + 1", paper="faster"), "x: ", "neither a number nor a shape")

    def test_tolerance_is_of_the_effect(self):
        gain = {"measure": "at(BB, time(x))", "shape": ">= 1", "paper": 1.2, "tolerance": 0.25}
        self.assertEqual(self.judge(**gain).verdict, claims.REPRODUCED)
        self.assertEqual(self.judge(**gain, baseline=1).verdict, claims.SHAPE_ONLY)
        j = self.judge(**gain, not_comparable="other machines")
        self.assertEqual((j.verdict, j.value.value, j.reason), (claims.NOT_TESTABLE, 1, "other machines"))

    def test_stand_ins(self):
        c = {"measure": "at(BC, time(x))", "shape": "> 1"}
        self.assertEqual(self.judge(**c, original=False).stand_ins, 1)
        self.assertEqual(self.judge(**c, by_construction=True).verdict, claims.REPRODUCED)
        self.assertEqual(self.judge(**c, by_construction=True, original=False).verdict, claims.NOT_TESTABLE)

    def test_matrices(self):
        self.assertEqual(self.judge(measure="argmax(all, time(x))", paper="BC").reason, "not measured on TT")
        self.assertEqual(self.judge(measure="argmax(small, time(x))", paper="BC").verdict, claims.REPRODUCED)
        self.assertEqual(self.judge(measure="argmax(small, time(x))", paper="BB").verdict, claims.NOT_REPRODUCED)
        self.assert_refused(lambda: self.judge(measure="argmax(small, time(x))", paper=3.0), "x: ", "matrices")

    def test_unjudged_and_not_testable(self):
        self.assertEqual(self.judge(measure="at(TT, time(x))").reason, "no records")
        self.assertEqual(self.judge(measure="at(TT, time(no_such))").reason, "no records of no_such")
        j = self.judge(not_testable="44 nodes")
        self.assertEqual((j.verdict, j.reason), (claims.NOT_TESTABLE, "44 nodes"))

    def test_tests_count_only_where_they_ran(self):
        text = ('<testsuite hostname="h" timestamp="t">'
                '<testcase name="a" status="run"><system-out>0.1 s: good\n</system-out></testcase>'
                '<testcase name="b" status="fail"><system-out>0.1 s: bad\n</system-out></testcase></testsuite>')
        run = junit.TestRun(self.write("tests.xml", text))
        self.assertEqual(self.judge(test="good").verdict, claims.NOT_RUN)
        self.assertEqual(self.judge(test="good", tests=[run]).verdict, claims.REPRODUCED)
        self.assertIn("an unknown commit on h", self.judge(test="good", tests=[run]).tested)
        self.assertEqual(self.judge(test="bad", tests=[run]).verdict, claims.NOT_REPRODUCED)
        j = self.judge(test="other", tests=[run], verdict="reproduced")
        self.assertEqual(j.verdict, claims.NOT_RUN)
        self.assertIn("'not run here'", claims.check_stated([j])[0])

    def test_stated_verdicts(self):
        good = {"measure": "at(BC, time(x))", "shape": "> 1"}
        for keys, problem in ((good | {"verdict": "reproduced"}, None), (good, "is stated as ''"),
                              (good | {"paper": 5.0, "verdict": "shape only"}, "no reason"),
                              (good | {"paper": 5.0, "verdict": "shape only", "why": "w"}, None),
                              ({"measure": "at(TT, time(x))"}, "unjudged: no records")):
            found = claims.check_stated([self.judge(**keys)])
            self.assertEqual(len(found), problem is not None, keys)
            self.assertIn(problem or "", "".join(found))


HEAD = '[records]\npaper = ["p"]\n[sets]\nall = ["BC"]\n[define]\nt = "time(x)"\n'
CLAIM = HEAD + '[[claim]]\nid = "a"\nitem = "text"\nsays = "s"\npaper = 1\n'


class File(ClaimsTest):
    def read(self, text):
        return claims.ClaimFile(self.write("c.toml", text))

    def test_what_it_holds(self):
        file = self.read(CLAIM + 'says2 = 1\n'.replace("says2 = 1", 'measure = """\\\n  at(BC, \\\n  t)"""') +
                         '[[finding]]\nid = "f"\nwhere = "w"\nsays = "s"\n')
        (c,) = file.claims
        self.assertEqual((c.paper, c.records, c.measure, c.expression.variants), (1.0, "paper", "at(BC, t)", {"x"}))
        self.assertEqual(len(file.findings), 1)

    def test_faults_name_file_and_line(self):
        for text, line, mention in (("a = [", 1, "Invalid"), ("a = 1\nb\n", 2, ""), ("x = 1\n", None, "no table [records]"),
                                    ('[records]\n\npaper = 3\n[sets]\n[define]\n', 3, "'paper' is not an array of strings"),
                                    ('[records]\n[sets]\n[define]\n', 2, "[sets] without 'all'"),
                                    ('[records]\n[sets]\nall = ["A"]\n[define]\n[[claim]]\nid = "a"\n', 5, "'paper'"),
                                    (CLAIM, 7, "needs one of"), (CLAIM + 'test = "t"\nmeasure = "1"\n', 7, "needs one of"),
                                    (CLAIM + 'test = "t"\nwhat = 1\n', 13, "unknown key 'what'"),
                                    (CLAIM + 'test = 1\n', 12, "'test' is not a string"),
                                    (CLAIM + 'test = "t"\ntolerance = "x"\n', 13, "'tolerance' is not a number"),
                                    (CLAIM + 'test = "t"\nby_construction = 1\n', 13, "not true or false"),
                                    (CLAIM + 'test = "t"\nrecords = "other"\n', 13, "[records] has no 'other'"),
                                    (CLAIM + 'measure = "1"\nshape = "~ 1"\n', 13, "a: shape '~ 1'"),
                                    (CLAIM + 'measure = "at(BB, t)"\n', 12, "a: expression 'at(BB, t)', column 4: "),
                                    (CLAIM + 'measure = "at(BC, u)"\n', 12, "nothing is defined as 'u'"),
                                    (CLAIM + 'test = "t"\n' + CLAIM[len(HEAD):] + 'test = "t"\n', None, "a second claim 'a'"),
                                    (HEAD + '[numbers]\nn = "at(BC, u)"\n', 8, "'u'"), (HEAD + "[claim]\n", None, "array")):
            with self.subTest(mention=mention):
                path = self.folder / "c.toml"
                self.assert_refused(lambda: self.read(text), f"{path}:{line}: " if line else f"{path}: ", mention)

    def test_items_are_experiments(self):
        self.assertGreater(len(COMMITTED.claims), 60)
        for c in COMMITTED.claims:
            self.assertTrue((ROOT / "experiments" / c.item / "spec.toml").exists() or
                            c.item in ("text", "worked_example", "fig08_supernodes"), c.id)

    def test_tests_that_claims_name_exist(self):
        sources = "".join(p.read_text(errors="replace") for d in ("reference", "variants", "common", "harness")
                          for p in (ROOT / d).rglob("*_test.cpp"))
        for c in COMMITTED.claims:
            if c.test:
                self.assertIn(f'TEST_CASE("{c.test}"', sources, c.id)


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
                                    (["--claims", self.write("c.toml", HEAD.replace("all", "some"))], "c.toml:3: ")):
            with self.subTest(arguments):
                self.assert_one_line(arguments, *mention)

    def test_control_characters_are_not_printed(self):
        self.assert_one_line(["--item", "no\x1b[31m\nsuch"], "no?[31m?such")
        toml = self.write("c.toml", CLAIM.replace('id = "a"', r'id = "a\u001b[31m"') + 'not_testable = "n"\n')
        code, out, err = self.call("--claims", toml, "--records", f"paper={self.folder}", "--check")
        self.assertEqual(code, 1)
        self.assertIn("a?[31m", out)
        self.assertNotIn("\x1b", out + err)

    def test_committed_verdicts_are_those_of_the_records(self):
        code, out, err = self.call("--json", "--check")
        self.assertEqual((code, err), (0, ""))
        lines = [json.loads(line) for line in out.splitlines()]
        judged = [line for line in lines if "number" not in line]
        self.assertEqual([c["id"] for c in judged], [c.id for c in COMMITTED.claims])
        for line in lines:
            self.assertNotEqual(line.get("verdict"), claims.UNJUDGED, line)
            self.assertTrue("number" not in line or "value" in line, line)
        for c in judged:
            self.assertEqual(bool(c["test"]), bool(c["tested"]), c["id"])

    def test_a_false_verdict_is_noticed(self):
        text = (HERE / "claims.toml").read_text()
        changed = self.write("changed.toml", text.replace('verdict = "not reproduced"', 'verdict = "reproduced"', 1))
        item = next(c.item for c in COMMITTED.claims if c.verdict == "not reproduced")
        code, _, err = self.call("--check", "--claims", changed, "--item", item)
        self.assertEqual(code, 1)
        self.assertIn("is stated as 'reproduced'", err)

    def test_the_table_of_one_item(self):
        code, out, _ = self.call("--item", "fig17_schedules")
        self.assertEqual(code, 0)
        self.assertRegex(out, r"(?m)^claim +paper +here +unit +verdict +matrices$")
        self.assertRegex(out, r"(?m)^fig17\.inter\.mean +[0-9.]+ +[0-9.]+ ")
        self.assertRegex(out, r"(?m)^records 'scaling': 4 x NVIDIA H200, ")

    def test_tests_of_another_file(self):
        empty = self.write("t.xml", "<testsuite/>")
        code, out, err = self.call("--item", "worked_example", "--tests", empty, "--check")
        self.assertEqual(code, 1)
        self.assertIn("not run here", out)
        self.assertIn("is stated as 'reproduced', the records say 'not run here'", err)

    def test_as_a_program(self):
        done = subprocess.run([sys.executable, HERE / "claims.py", "--help"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("geomean", done.stdout)
        if Path("/dev/full").exists():
            with open("/dev/full", "w") as full:
                done = subprocess.run([sys.executable, HERE / "claims.py", "--item", "text"], stdout=full,
                                      stderr=subprocess.PIPE, text=True)
            self.assertEqual((done.returncode, done.stderr), (4, "claims: error: standard output: cannot write\n"))


if __name__ == "__main__":
    unittest.main()
