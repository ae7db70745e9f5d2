"""Tests of the judgement: every word of the rules, the intervals, and what the committed records say."""

import contextlib
import io
import json
import re
import math
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT / "plots")]

import claims
import measure
import records
import records_example as example
import rules

X, Y = {"variant": "x"}, {"variant": "y"}
FASTER = {"id": "s", "says": "x takes longer", "direction": "above", "combine": "geometric mean", "quantity": "time",
          "over": X, "under": Y}
TWICE = {**FASTER, "paper": 2}
del TWICE["direction"]


def found(value, low, high, n=10, noise=0, bound=0):
    return measure.Found(value, low, high, n, 1, noise, bound)


def run(name, variant, *samples, host="h", n=5000, stand_in=False, **changes):
    return example.run(matrix={"name": name, "n": n, "nnz": 30, "stand_in": stand_in, "source": ""}, variant=variant,
                       samples_s=list(samples), phases_s={}, machine={"id": host}, **{"options": {}} | changes)


def pair(name, ratio, spread=0.01, **changes):
    """x takes `ratio` times as long as y."""
    return [run(name, "x", *(ratio * (1 + k * spread) for k in (-1, 0, 1)), **changes),
            run(name, "y", *(1 + k * spread for k in (-1, 0, 1)), **changes)]


class Words(unittest.TestCase):
    def word(self, value, low, high, paper=None, side="above", **how):
        kind = {k: how.pop(k) for k in ("effect", "every", "least") if k in how}
        return rules.word(found(value, low, high, **how), paper, side, **kind)[0]

    def test_numbers(self):
        for value, low, high, paper, word in (
                (13, 10, 16, 13, rules.SIZE), (12, 11.5, 12.5, 13, rules.SIZE), (3, 2.7, 3.4, 33, rules.DIRECTION),
                (20, 8, 40, 13, rules.DIRECTION),  # contains the paper's value, but is wider than a factor of 2
                (0.5, 0.4, 0.6, 13, rules.NOT), (1, 0.9, 1.2, 13, rules.NOT), (3, 0.9, 14, 13, rules.UNTESTED),
                (1.006, 1.002, 1.009, 1.14, rules.NOT),  # tight around no effect
                (1.03, 1.02, 1.045, 1.04, rules.SIZE), (0.8, 0.7, 0.9, 0.833, rules.SIZE), (1.2, 1.1, 1.3, 0.833, rules.NOT)):
            self.assertEqual(self.word(value, low, high, paper), word, (value, low, high, paper))

    def test_a_bound_is_no_size(self):
        self.assertEqual(self.word(12, 10, math.inf, 13, bound=1), rules.DIRECTION)

    def test_statements_in_words(self):
        self.assertEqual(self.word(2, 1.8, 2.2), rules.DIRECTION)
        self.assertEqual(self.word(2, 1.8, 2.2, side="below"), rules.NOT)
        self.assertEqual(self.word(1.1, 0.9, 1.3), rules.UNTESTED)
        self.assertEqual(self.word(1.001, 0.99, 1.02), rules.NOT)
        self.assertEqual(self.word(1.08, 1.01, 1.15, noise=0.1), rules.UNTESTED, "within the noise")
        self.assertEqual(self.word(1.08, 1.01, 1.15, 1.1, noise=0.1), rules.UNTESTED, "a number, too, needs a direction")
        self.assertEqual(self.word(2, 1.8, 2.2, n=9), rules.UNTESTED)
        self.assertEqual(self.word(0.17, 0.12, 0.27, effect="correlation"), rules.DIRECTION)
        self.assertEqual(self.word(0.17, 0.05, 0.27, effect="correlation"), rules.UNTESTED)

    def test_sizes_shares_and_all(self):
        for value, low, high, word in ((43, 40, 46, rules.SIZE), (10, 8, 12, rules.NOT), (40, 20, 80, rules.UNTESTED)):
            self.assertEqual(self.word(value, low, high, 43, effect="size"), word)
        self.assertEqual(self.word(0.95, 0.9, 0.97, 0.92, effect="share"), rules.SIZE)
        for value, word in ((1, rules.SIZE), (0.9, rules.DIRECTION)):
            self.assertEqual(self.word(value, 0.8, 1, 1, effect="share", every=True), word)

    def test_too_little(self):
        self.assertEqual(rules.word(None, 2, None), (rules.UNTESTED, "not measured"))
        self.assertEqual(self.word(2, 2, 2, 2, n=1), rules.UNTESTED)
        self.assertEqual(self.word(2, 1.9, 2.1, 2, n=1, least=1), rules.SIZE)
        self.assertEqual(self.word(2, math.nan, math.nan, 2, n=1, least=1), rules.UNTESTED)

    def test_a_question_has_the_weakest_word(self):
        self.assertEqual(rules.weakest([rules.SIZE, rules.UNTESTED, rules.DIRECTION]), rules.DIRECTION)
        self.assertEqual(rules.weakest([rules.SIZE, rules.NOT]), rules.NOT)
        self.assertEqual(rules.weakest([rules.UNTESTED]), rules.UNTESTED)


class JudgeTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def judge(self, lines, *statements):
        """The statements, judged on these records."""
        path = example.write(self.folder / "r.jsonl", *lines)
        for name, text in (("q.toml", "question = []\n"), ("c.toml", "claim = []\n")):
            (self.folder / name).write_text(text)
        judge = claims.Judge({"judgement": [path], "simulator": [path]}, self.folder / "q.toml", self.folder / "c.toml")
        return [judge.statement(s, "here") for s in statements]

    def test_a_ratio_by_kind(self):
        lines = [r for k in range(12) for r in pair(f"m{k}", 2)] + pair("bcsstk18", 3) + pair("gen:grid5:nx=9", 7)
        lines += pair("small", 100, n=500)
        s, = self.judge(lines, TWICE)
        real = s["kinds"]["real"]
        self.assertEqual((s["word"], real.n, real.hosts), (rules.SIZE, 13, 1))
        self.assertAlmostEqual(real.value, 2 * 1.5 ** (1 / 13), 3)
        self.assertTrue(1.98 < real.low < real.value < real.high < 2.4)
        self.assertEqual({k: f.n for k, f in s["kinds"].items()}, {"original": 1, "real": 13, "generated": 1, rules.SMALL: 1})

    def test_times_without_digests(self):
        r = run("m", "x", 1, 2, 4) | {"phases_s": {"compact": 1.5}}
        self.assertEqual(measure.FORMULAS["bare"](r), [0.25, 0.5, 1])

    def test_hosts_that_disagree_widen(self):
        agreeing = [r for k in range(12) for h in "ab" for r in pair(f"m{k}", 2, host=h)]
        differing = [r for k in range(12) for h, ratio in (("a", 1.5), ("b", 3)) for r in pair(f"m{k}", ratio, host=h)]
        (one,), (two,) = self.judge(agreeing, TWICE), self.judge(differing, TWICE)
        one, two = one["kinds"]["real"], two["kinds"]["real"]
        self.assertEqual((one.hosts, two.hosts), (2, 2))
        self.assertLess(one.high / one.low, 1.1)
        self.assertTrue(two.low < 1.6 and two.high > 2.8, (two.low, two.high))

    def test_a_matrix_that_no_drawn_host_measured_keeps_its_value(self):
        lines = [r for k in range(12) for h in "ab" for r in pair(f"m{k}", 2, host=h)]
        lines += [r for k in range(3) for r in pair(f"m{k}", 2, host="c")]
        lines += [r for k in range(12, 40) for r in pair(f"m{k}", 8, host="a")]
        s, = self.judge(lines, TWICE | {"combine": "median"})
        self.assertEqual((s["kinds"]["real"].n, s["kinds"]["real"].hosts), (40, 3))
        self.assertGreater(s["kinds"]["real"].low, 7)

    def test_both_sides_are_of_one_host_commit_and_order(self):
        x, y = pair("m", 2)
        for other in (run("m", "y", 1, host="other"), y | {"git": {"sha": "1" * 40, "dirty": False}},
                      y | {"ordering": {"col": "amd", "digest": "e"}}):
            self.assertEqual(self.judge([x, other], TWICE)[0]["kinds"], {})

    def test_a_run_that_was_ended_is_a_bound(self):
        late = [run(f"m{k}", "x", status="timeout", reason="limit of 10 s") for k in range(12)]
        s, = self.judge(late + [run(f"m{k}", "y", 1, 1, 1) for k in range(12)], TWICE)
        self.assertEqual((s["kinds"]["real"].bound, s["word"]), (1, rules.DIRECTION))
        self.assertEqual(claims.value_text(s["kinds"]["real"], s), "at least 10.0 (from 10.0)")
        s, = self.judge(late + [run(f"m{k}", "y", status="timeout", reason="limit of 10 s") for k in range(12)], TWICE)
        self.assertEqual(s["reason"], "not measured")
        some = late[:2] + [r for k in range(2, 12) for r in pair(f"m{k}", 2)] + [run(f"m{k}", "y", 1, 1, 1) for k in range(2)]
        s, = self.judge(some, TWICE | {"combine": "median"})
        self.assertEqual((s["kinds"]["real"].bound, s["word"]), (0, rules.SIZE), "a median of which the bound is no part")

    def test_ours_without_a_result_counts_as_its_limit(self):
        good = [run(f"m{k}", v, 1, 1, 1) for k in range(12) for v in ("gpu_maxid", "peer")]
        sides = {"over": {"variant": "gpu_maxid"}, "under": {"variant": "peer"}}
        trials = {"timeout_s": 10}
        for status in ("timeout", "oom", "error", "unverified"):
            s, = self.judge([*good, run("m0", "gpu_maxid", status=status, trials=trials)], TWICE | sides)
            self.assertEqual((s["kinds"]["real"].bound, s["kinds"]["real"].each["m0"]), (1, 10), status)
        rival = [r for r in good if (r["variant"], r["matrix"]["name"]) != ("peer", "m0")]
        s, = self.judge([*rival, run("m0", "peer", status="error", trials=trials)], TWICE | sides)
        self.assertEqual(s["kinds"]["real"].n, 11)

    def test_large_matrices_are_judged_as_well(self):
        for large, word in ((10, rules.DIRECTION), (9, rules.SIZE)):
            s, = self.judge([r for k in range(60) for r in pair(f"m{k}", 1.3 if k < large else 2.1, n=20000 if k < large else 5000)],
                            TWICE)
            self.assertEqual((s["word"], s["kinds"][rules.LARGE].n), (word, large))

    def test_a_matrix_without_a_direction_is_in_no_share(self):
        lines = [r for k in range(14) for h in "ab" for r in pair(f"m{k}", 1.001 if k < 2 else 0.5 if (k, h) == (2, "a") else 2, host=h)]
        for combine, n, left_out in (("share", 11, 3), ("all", 14, 0)):
            s, = self.judge(lines, TWICE | {"paper": 1, "effect": "share", "combine": combine})
            found = s["kinds"]["real"]
            self.assertEqual((found.value * found.n, found.n, found.left_out), (11, n, left_out))

    def test_named_matrices(self):
        stand_in = pair("BB", 2, stand_in=True) + pair("EP", 2, stand_in=True)
        s, t = self.judge(stand_in + pair("bcsstk18", 2), TWICE | {"named": ["BB"]}, TWICE | {"matrix": "bcsstk18"})
        self.assertEqual((s["word"], s["reason"]), (rules.UNTESTED, claims.WITHOUT))
        self.assertEqual((t["word"], list(t["kinds"])), (rules.SIZE, ["original"]))
        made = s["kinds"]["stand-in"]
        self.assertLess(made.low, 2 / 2.2)
        self.assertGreater(made.high, 2 * 2.2)

    def test_the_pair_widens_by_what_it_differs(self):
        spec = records.datasets()["BC"]["stand_in"]
        for ratio, widen in ((8, 4), (3, rules.PAIR)):
            s, = self.judge(pair("bcsstk18", 2) + pair(spec, ratio, spread=0), TWICE)
            self.assertAlmostEqual(s["kinds"]["stand-in"].high, ratio * widen)
        for name, stated, kind in ((spec, "generated", "stand-in"), ("bcsstk18", "real", "original"), ("m", "power grid", "power grid")):
            self.assertEqual(measure.kind_of({"name": name, "stand_in": False, "kind": stated}), kind)
        self.assertEqual(measure.kind_of({"name": "m", "stand_in": False}), "real")

    def test_the_fastest_of_a_setting(self):
        lines = []
        for k in range(12):
            lines.append(run(f"m{k}", "x", 2, 2, 2))
            lines += [run(f"m{k}", "y", t, t, t, mpi={"ranks": ranks}) for ranks, t in ((2, 4), (4, 1), (8, 3))]
        s, t = self.judge(lines, TWICE | {"under": Y | {"best_of": ["ranks"]}}, TWICE)
        self.assertEqual((s["kinds"]["real"].value, s["word"]), (2, rules.SIZE))
        self.assertEqual((t["word"], t["reason"]), (rules.UNTESTED, "runs of y on one host differ in ranks"))

    def test_the_fastest_of_several_variants(self):
        lines = [run(f"m{k}", v, t, t, t) for k in range(14) for v, t in (("x", 2), ("y", 4), ("z", 1)) if (k, v) < (12, "y")]
        s, = self.judge(lines, TWICE | {"under": {"variant": ["y", "z"], "best_of": ["ranks"]}})
        self.assertEqual((s["kinds"]["real"].value, s["kinds"]["real"].n), (2, 12))

    def test_a_setting_selects_runs_of_the_variants_that_have_it(self):
        lines = [run(f"m{k}", v, t, t, t, options=options) for k in range(12) for v, t, options in (
            ("x", 2, {}), ("y", 1, {"relax": 1}), ("y", 0.5, {"relax": 60}), ("z", 4, {}))]
        s, = self.judge(lines, TWICE | {"under": {"variant": ["y", "z"], "best_of": ["ranks", "relax"]}})
        self.assertEqual((s["kinds"]["real"].value, s["kinds"]["real"].n), (4, 12))
        s, = self.judge(lines, TWICE | {"under": {"variant": ["y", "z"], "best_of": ["ranks"], "relax": 1}})
        self.assertEqual((s["kinds"]["real"].value, s["kinds"]["real"].n), (2, 12))

    def test_verified_results(self):
        exact = {"id": "e", "says": "exact", "paper": 1, "effect": "share", "combine": "all", "quantity": "verified", "over": X}
        lines = [run(f"m{k}", "x", 1) for k in range(12)] + [run("m12", "x", status="skipped"), run("m13", "x", status="timeout")]
        s, = self.judge(lines, exact)
        self.assertEqual((s["word"], claims.value_text(s["kinds"]["real"], s)), (rules.SIZE, "12 of 12"))
        s, = self.judge(lines + [run("m3", "x", status="fail")], exact)
        self.assertEqual((s["word"], claims.value_text(s["kinds"]["real"], s)), (rules.DIRECTION, "11 of 12 (0.750 to 1)"))

    def test_lines_of_profiles_and_simulated_schedules(self):
        profiles = [{"matrix": f"m{k}", "variant": "gpu_maxid", "dram_gb_per_s": 1, "dram_percent": p, "complete": whole}
                    for k in range(12) for p, whole in ((43, True), (9, False))]
        simulated = [{"simulated": True, "matrix": f"m{k}", "stand_in": False, "n": 5000, "gpus": g, "batch_barrier": False,
                      "makespan_s": t} for k in range(12) for g, t in ((6, 4.0), (264, 2.0))]
        percent = {"id": "p", "says": "p", "paper": 43, "effect": "size", "combine": "mean", "quantity": "profile:dram_percent",
                   "over": {"variant": "gpu_maxid"}}
        scaled = {"id": "q", "says": "q", "paper": 2, "untested": "simulated", "records": "simulator", "combine": "mean", "quantity": "simulated",
                  "over": {"gpus": 6}, "under": {"gpus": 264}}
        s, t = self.judge(profiles + simulated, percent, scaled)
        self.assertEqual((s["word"], s["kinds"]["real"].value), (rules.SIZE, 43))
        self.assertEqual((t["kinds"]["real"].low, t["kinds"]["real"].high, t["kinds"]["real"].hosts), (2, 2, 0))

    def test_statements_that_say_nothing_are_refused(self):
        for change, mention in (({"quantity": "no"}, "no quantity 'no'"), ({"quantity": "simulated"}, "a simulated value has no verdict"), ({"paper": 2}, "either"),
                                ({"color": 1}, "unknown key 'color'"), ({"effect": "no"}, "no such effect"), ({"combine": "no"}, "no such combination"),
                                ({"under": {"best_of": "ranks"}}, "'best_of' is no list")):
            with self.assertRaisesRegex(records.Refused, f"here: statement 's': .*{mention}"):
                claims.checked(FASTER | change, "here")
        for key in ("over", "quantity", "says"):
            with self.assertRaises(records.Refused):
                claims.checked({k: v for k, v in FASTER.items() if k != key}, "here")


class Committed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.judged = claims.Judge()

    def call(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with (contextlib.redirect_stdout(out), contextlib.redirect_stderr(err),
              mock.patch.object(claims, "Judge", return_value=self.judged)):
            code = claims.main(list(arguments))
        return code, out.getvalue(), err.getvalue()

    def test_answers_are_those_of_the_records(self):
        code, _, err = self.call("--check")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(len(claims.printed("table")), 10)
        with mock.patch.object(claims, "answers_text", lambda judge: "other"):
            self.assertEqual(self.call("--check")[0], 1)

    def test_ten_questions_with_distinct_statements(self):
        self.assertEqual([q["id"] for q in self.judged.questions], list(range(1, 11)))
        statements = [s for q in self.judged.questions for s in q["statements"]] + self.judged.appendix
        self.assertEqual(len({s["id"] for s in statements}), len(statements))
        self.assertGreater(len(self.judged.appendix), 35)
        for c in self.judged.appendix:
            self.assertTrue(c["item"] == "text" or (ROOT / "experiments" / c["item"] / "spec.toml").exists(), c["id"])

    def test_text(self):
        code, out, _ = self.call()
        self.assertEqual(code, 0)
        rows = [re.split("  +", line) for line in out.splitlines()[1:11]]
        self.assertEqual([int(cells[0].split()[0]) for cells in rows], list(range(1, 11)))
        self.assertEqual([cells[-1] for cells in rows], [q["word"] for q in self.judged.questions])
        self.assertIn("Questions that do not hold: 9; by their numbers alone: 8, 9.", out)
        everything = self.call("--kinds")[1]
        for q in self.judged.questions:
            self.assertIn(q["text"], everything)
        self.assertNotIn("\x1b", out)
        self.assertIn("Value ranges", self.call("--question", "9")[1])
        self.assertNotIn("fill2", self.call("--question", "9")[1])
        out = self.call("--item", "fig10_fill2")[1]
        self.assertIn("2. Is the search faster", out)
        self.assertIn("Least on ST", out)
        self.assertIn("980,136", self.call("--appendix")[1])
        everything = json.loads(self.call("--json")[1])
        self.assertEqual(len(everything["questions"]), 10)

    def test_refusals_are_one_line(self):
        missing = io.StringIO()
        with contextlib.redirect_stderr(missing):
            code = claims.main(["--records", "/no/such"])
        for (code, _, err), mention in ((self.call("--question", "11"), "no question 11"), (self.call("--item", "fig"), "nothing belongs to 'fig'"),
                                        ((code, "", missing.getvalue()), "/no/such")):
            self.assertEqual(code, 2)
            self.assertRegex(err, rf"\Aclaims: error: [^\n]*{mention}[^\n]*\n\Z")

    def test_as_a_program(self):
        done = subprocess.run([sys.executable, HERE / "claims.py", "--help"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for text in ("percentiles of 999", *rules.WORDS):
            self.assertIn(text, done.stdout)
        if Path("/dev/full").exists():
            with open("/dev/full", "w") as full:
                few = ROOT / "experiments/records/2026-11-25_h200_proof"
                done = subprocess.run([sys.executable, HERE / "claims.py", "--records", few], stdout=full, stderr=subprocess.PIPE, text=True)
            self.assertEqual((done.returncode, done.stderr), (4, "claims: error: standard output: cannot read or write\n"))


if __name__ == "__main__":
    unittest.main()
