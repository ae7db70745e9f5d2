"""Tests of the claims: their language, the reading of claims.toml, verdicts, and the command on the committed records."""

import contextlib
import io
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path
from unittest import mock

import numpy

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT / "plots")]

import claims  # noqa: E402
import estimate  # noqa: E402
import junit  # noqa: E402
import language  # noqa: E402
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
        return language.Expression(text, definitions, SETS).evaluate(self.times())

    def assert_refused(self, call, *mention):
        with self.assertRaises(records.Refused) as raised:
            call()
        for text in mention:
            self.assertIn(text, str(raised.exception))
        self.assertNotIn("\n", str(raised.exception))


class Estimates(unittest.TestCase):
    def test_of_samples(self):
        e = estimate.of_samples([3, 1, 2, 9, 2.5], "case")
        self.assertEqual(e.number, 2.5)
        low, high = e.interval()
        self.assertTrue(1 <= low <= 2.5 <= high <= 9)
        self.assertEqual(e.interval(), estimate.of_samples([9, 1, 2, 3, 2.5], "case").interval())
        self.assertNotEqual(list(e.values), list(estimate.of_samples([3, 1, 2, 9, 2.5], "other").values))
        self.assertEqual(estimate.of_samples([1, 2, 3], "three").interval(), (1, 3))
        self.assertEqual(estimate.exact(5).interval(), (5, 5))
        self.assertIsNone(estimate.of_samples([1], "once").interval())

    def test_two_samples_have_no_interval(self):
        steady = estimate.of_samples([5, 5, 5], "steady")
        self.assertIsNone(estimate.combined(numpy.divide, steady, estimate.of_samples([4], "once"), True).interval())

    def test_two_samples(self):
        """Student's interval of their logarithms, 12.706 times half of their difference, whatever order the case draws."""
        for name in ("two", "another case", "a third"):
            e = estimate.of_samples([1.02, 1.0], name)
            self.assertAlmostEqual(e.number, math.sqrt(1.02))
            low, high = e.interval()
            half = 12.7062 * math.log(1.02) / 2
            self.assertAlmostEqual(math.log(high / e.number), half, delta=1e-5 * half)
            self.assertAlmostEqual(math.log(low / e.number), -half, delta=1e-5 * half)
        a, b = (estimate.of_samples([1.02, 1.0], name) for name in ("a", "b"))
        self.assertNotEqual(list(a.values), list(b.values))
        self.assertEqual(sorted(a.values[1:]), sorted(b.values[1:]))
        self.assertLess(abs(numpy.corrcoef(numpy.arange(estimate.REPLICATES), numpy.argsort(a.values[1:]))[0, 1]), 0.1)
        low, high = estimate.combined(numpy.divide, a, b, True).interval()
        self.assertTrue(low < a.interval()[0] and high > a.interval()[1], (low, high))  # of two uncertain numbers
        self.assertEqual(estimate.of_samples([7, 7], "equal").interval(), (7, 7))
        self.assertEqual(estimate.of_samples([0, 0], "none").interval(), (0, 0))
        self.assertIsNone(estimate.of_samples([0, 1], "zero").interval())
        self.assertLess(estimate.of_samples([1, 100], "far").interval()[0], 1e-9)

    def test_the_interval_covers_the_median(self):
        """Of 200 sets of nine normal samples, 95 % intervals of the median cover the true one in about 95 %."""
        random = numpy.random.default_rng(1)
        covered = 0
        for k in range(200):
            low, high = estimate.of_samples(random.normal(10, 1, 9), str(k)).interval()
            covered += low <= 10 <= high
        self.assertTrue(180 <= covered <= 200, covered)

    def test_bounds(self):
        five, late = estimate.exact(5), estimate.at_least(20)
        ratio = estimate.combined(numpy.divide, late, five, True)
        self.assertEqual((ratio.number, ratio.bound, ratio.interval()), (4, 1, (4, math.inf)))
        self.assertEqual(estimate.combined(numpy.divide, five, late, True).bound, -1)
        self.assertIsNone(estimate.combined(numpy.divide, late, late, True))
        self.assertEqual(estimate.compared(numpy.greater, late, five, True).number, 1)
        self.assertEqual(estimate.compared(numpy.less, late, five, False).number, 0)
        self.assertIsNone(estimate.compared(numpy.greater, late, estimate.exact(50), True))
        for function, bound, number in ((estimate.Aggregate.mean, 1, 12.5), (estimate.Aggregate.max, 1, 20),
                                        (estimate.Aggregate.min, 0, 5), (estimate.Aggregate.median, 1, 12.5)):
            e = estimate.aggregated(function, [five, late])
            self.assertEqual((e.bound, e.number), (bound, number))
        self.assertIsNone(estimate.aggregated(estimate.Aggregate.mean, [late, estimate.Estimate(late.values, -1)]))

    def test_matrices_as_a_sample(self):
        several = [estimate.exact(x) for x in range(10)]
        self.assertEqual(estimate.aggregated(estimate.Aggregate.mean, several).interval(), (4.5, 4.5))
        low, high = estimate.aggregated(estimate.Aggregate.mean, several, 3).interval()
        self.assertTrue(2 < low < 3.5 and 5.5 < high < 7, (low, high))

    def test_an_extreme_of_a_population_is_that_of_as_many_as_the_set_has(self):
        several = [estimate.exact(x) for x in range(100)]
        self.assertEqual(estimate.aggregated(estimate.Aggregate.max, several).number, 99)
        e = estimate.aggregated(estimate.Aggregate.max, several, 3)
        self.assertTrue(75 < e.number < 85, e.number)
        self.assertTrue(20 < e.interval()[0] < 40 and e.interval()[1] == 99, e.interval())
        self.assertLess(estimate.aggregated(estimate.Aggregate.min, several, 13).number, 10)
        self.assertEqual(estimate.aggregated(estimate.Aggregate.mean, several, 3).number, 49.5)


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

    def test_a_ratio_is_of_the_last_machine_that_measured_all_of_it(self):
        def run(machine, variant, seconds, matrix="BB"):
            return example.run(matrix=matrix, variant=variant, samples_s=[seconds], machine={"id": machine})
        m = self.measured(run("a", "x", 8), run("a", "y", 2), run("b", "x", 30), run("b", "y", 5), run("c", "x", 70),
                          run("c", "z", 9), run("a", "x", 3, "BC"), run("b", "y", 1, "BC"))

        def value(text):
            return language.Expression(text, {}, SETS).evaluate(m)
        found = value("mean(small, time(x) / time(y))")
        self.assertEqual((found.value, found.measured), (6, ["BB"]))
        self.assertEqual(found.machines["BB"].runs[0][1]["machine"]["id"], "b")
        self.assertEqual(value("at(BB, time(x) / time(z))").value, 70 / 9)
        self.assertEqual(value("at(BB, time(x))").value, 70)
        self.assertIsNone(value("at(BB, time(z) / time(y))").value)

    def test_a_machine_on_which_nothing_was_repeated_counts_where_no_other_has_it(self):
        def run(machine, variant, *seconds):
            return example.run(matrix="BB", variant=variant, samples_s=list(seconds), machine={"id": machine})
        m = self.measured(run("a", "x", 8, 8, 8), run("a", "y", 2, 2, 2), run("b", "x", 30, 30), run("b", "y", 5, 5), run("b", "z", 10),
                          run("c", "x", 9, 9, 9))
        for text, expected, machine in (("at(BB, time(x) / time(y))", 4, "a"), ("at(BB, time(x) / time(z))", 3, "b"),
                                        ("at(BB, time(x))", 9, "c")):
            found = language.Expression(text, {}, SETS).evaluate(m)
            self.assertEqual((found.value, found.machines["BB"].runs[0][1]["machine"]["id"]), (expected, machine), text)

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
                              ("at(BB, mem(nothing.arena, x))", "'nothing.arena'")):
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
                found = language.Expression(f"at(BC, {leaf})", {}, {"all": ["BC", "TT"]}).evaluate(m).value
                self.assertEqual(found if expected is None else round(found, 12), expected)
        self.assertIsNone(language.Expression(f"at(TT, time({v}))", {}, {"all": ["TT"]}).evaluate(m).value)

    def test_a_setting_that_no_run_has_selects_nothing(self):
        m = self.times()
        self.assertIsNone(language.Expression("at(BB, time(x, no_such=1))", {}, SETS).evaluate(m).value)
        self.assertEqual(m.unknown, {"no run of x has a setting 'no_such'"})

    def test_intervals_and_bounds(self):
        m = self.measured(example.run(matrix="BB", variant="x", samples_s=[1, 2, 3]),
                          example.run(matrix="BB", variant="y", samples_s=[4, 4, 4]),
                          example.run(matrix="BC", variant="x", status="timeout", samples_s=[], trials={"timeout_s": 60}),
                          example.run(matrix="BC", variant="y", samples_s=[5, 5, 5]))

        def value(text):
            return language.Expression(text, {}, SETS).evaluate(m)
        self.assertEqual(value("at(BB, time(y) / time(x))").interval, (4 / 3, 4))
        v = value("mean(small, time(x) / time(y))")
        self.assertEqual((v.value, v.bound, v.interval[1], v.measured), ((0.5 + 12) / 2, 1, math.inf, ["BB", "BC"]))
        self.assertEqual(value("argmax(small, time(x) / time(y))").value, "BC")
        self.assertEqual(value("argmax(small, time(x) / time(y))").possible, [])
        self.assertEqual(value("which(small, time(x) > 2)").possible, ["BB"])
        self.assertEqual(value("min(small, time(x))").bound, 0)

    def test_the_choice_of_the_fastest_is_drawn_again_with_the_runs(self):
        steady = estimate.of_samples([4.0, 4.1, 4.0, 4.2, 4.1, 4.0, 4.1], "steady")
        racing = estimate.of_samples([3.5, 62, 3.4, 59, 3.6, 3.5, 61], "racing")
        found = estimate.least([steady, racing])
        self.assertEqual(found.number, 3.6)
        self.assertGreater(racing.interval()[1], 50)
        self.assertLessEqual(found.interval()[1], 4.2)
        self.assertIsNone(estimate.least([estimate.of_samples([2], "once"), steady]).interval())
        self.assertIsNotNone(estimate.least([estimate.of_samples([9], "once"), steady]).interval())
        self.assertIsNone(estimate.least([]))

    def test_the_largest_of_noisy_numbers_is_as_uncertain_as_its_own_matrix(self):
        noisy = [estimate.of_samples([0.9, 0.95, 1, 1.05, 1.1 + k / 1000], f"{k}") for k in range(40)]
        low, high = estimate.aggregated(estimate.Aggregate.max, noisy).interval()
        self.assertLess(low, 1)
        self.assertGreater(high, 1)

    def test_the_fastest_of_all_settings(self):
        m = self.measured(*(example.run(variant="x", samples_s=[t, t], options={"k": k}) for k, t in ((1, 5), (2, 3), (3, 9))))
        self.assertEqual(language.Expression("at(BC, fastest(x))", {}, SETS).evaluate(m).value, 3)
        self.assertEqual(language.Expression("at(BC, fastest(x, k=3))", {}, SETS).evaluate(m).value, 9)
        self.assert_refused(lambda: language.Expression("at(BC, time(x))", {}, SETS).evaluate(m), "name it")

    def test_no_setting_changes_the_fill(self):
        m = self.measured(*(example.run(variant="x", options={"k": k}) for k in (1, 2)))
        self.assertEqual(language.Expression("at(BC, result(fill, x))", {}, SETS).evaluate(m).value, 20)
        self.assert_refused(lambda: language.Expression("at(BC, result(supernodes, x))", {}, SETS).evaluate(m), "name it")

    def test_over_a_population(self):
        real = [{"name": f"m{k}", "n": k, "nnz": 30, "stand_in": False} for k in (1, 2, 3)]
        runs = [example.run(matrix=m, variant="x", samples_s=[m["n"]] * 3) for m in real]
        m = records.Measured([example.write(self.folder / "r.jsonl", *runs)], population=True)
        e = language.Expression("mean(small, time(x) / max(all, time(x)))", {}, SETS)
        v = e.evaluate(m, m.matrices())
        self.assertAlmostEqual(v.value, 2 / 3)
        self.assertEqual({k: x.number for k, x in v.each.items()}, {"m1": 1 / 3, "m2": 2 / 3, "m3": 1})
        self.assertTrue(v.interval[0] < 2 / 3 < v.interval[1])
        self.assertTrue(e.of_a_population)
        self.assertFalse(language.Expression("at(BC, time(x))", {}, SETS).of_a_population)
        self.assertFalse(language.Expression("argmax(all, time(x))", {}, SETS).of_a_population)

    def test_statistics_of_a_series_stand_for_it(self):
        m = self.measured(example.run(counting=True, samples_s=[], variant="x",
                                      series_stats={"f": {"most": 9, "least_positive": 2, "rank_correlation": 0.5}}))
        for leaf, expected in (("series_max(f, x)", 9), ("series_min(f, x)", 2), ("series_rank(f, x)", 0.5), ("series_max(g, x)", None)):
            self.assertEqual(language.Expression(f"at(BC, {leaf})", {}, SETS).evaluate(m).value, expected)

    def test_counts_of_racing_threads_are_samples(self):
        def count(**how):
            return example.run(counting=True, samples_s=[], **how)
        m = self.measured(*(count(variant="gpu_x", counters={"levels": n, "queue_capacity_VC": 7}) for n in (5, 3, 4)),
                          count(variant="gpu_once", counters={"levels": 5}), count(variant="cpu_x", counters={"levels": 5}))
        for leaf, value, interval in (("counter(levels, gpu_x)", 4, (3, 5)), ("counter(queue_capacity_VC, gpu_x)", 7, (7, 7)),
                                      ("counter(levels, gpu_once)", 5, None), ("counter(levels, cpu_x)", 5, (5, 5))):
            v = language.Expression(f"at(BC, {leaf})", {}, SETS).evaluate(m)
            self.assertEqual((v.value, v.interval), (value, interval), leaf)

    def test_frontiers_and_profiles_of_racing_threads_are_samples(self):
        def count(most, variant="gpu_x", **how):
            return example.run(counting=True, samples_s=[], variant=variant, series_stats={"f": {"most": most}}, **how)
        profile = {"matrix": "BC", "variant": "gpu_x", "l2_gb_per_s": 2, "copy_gb_per_s": 4}
        m = self.measured(count(5), count(3), count(4), count(7, "gpu_once"), count(7, "cpu_x"), count(9, "cpu_x"),
                          *(count(0, "gpu_whole", series={"f": f}) for f in ([1, 6], [8, 2], [6, 0])),
                          profile | {"dram_gb_per_s": 3}, profile | {"dram_gb_per_s": 1}, profile | {"dram_gb_per_s": 2},
                          profile | {"dram_gb_per_s": 1, "variant": "gpu_once"})
        for leaf, value, interval in (("series_max(f, gpu_x)", 4, (3, 5)), ("series_max(f, gpu_once)", 7, None),
                                      ("series_max(f, cpu_x)", 9, (9, 9)), ("series_max(f, gpu_whole)", 6, (6, 8)),
                                      ("profile(dram_gb_per_s, gpu_x)", 2, (1, 3)),
                                      ("profile(dram_gb_per_s, gpu_once)", 1, None)):
            v = language.Expression(f"at(BC, {leaf})", {}, SETS).evaluate(m)
            self.assertEqual((v.value, v.interval), (value, interval), leaf)

    def test_rank_correlation(self):
        self.assertEqual(language.rank_correlation([3, 2, 1]), -1)
        self.assertIsNone(language.rank_correlation([1, 1, 1]))
        self.assertIsNone(language.rank_correlation([]))
        self.assertAlmostEqual(language.rank_correlation([1, 1, 2]), 0.866025403784)

    def test_a_phase_has_a_sample_for_each_record(self):
        def run(seconds, variant="x"):
            return example.run(variant=variant, samples_s=[4, 4, 4], phases_s={"init": seconds, "compact": 0.25})
        m = self.measured(run(1), run(3), run(2), run(1, "alone"))
        for leaf, value, interval in (("phase(init, x)", 2, (1, 3)), ("phase(init, alone)", 1, None), ("phase(spill, x)", 0, (0, 0))):
            with mock.patch.object(records.Measured, "has_phase", lambda *_: True):
                v = language.Expression(f"at(BC, {leaf})", {}, SETS).evaluate(m)
            self.assertEqual((v.value, v.interval), (value, interval), leaf)

    def test_what_the_plan_of_memory_decides_alone_is_told(self):
        for text, planned in (("mean(all, mem(predicted.fill, x) / matrix(n))", True), ("at(BC, mem(device.arena, x) / size)", True),
                              ("at(BC, counter(queue_capacity_VC, x))", True), ("at(BC, mem(device_peak, x))", False),
                              ("at(BC, mem(host_peak, x))", False), ("at(BC, result(fill, x) / matrix(nnz))", False),
                              ("mean(all, mem(predicted.fill, x) / seconds)", False)):
            e = language.Expression(text, {"size": "mem(device.matrix, x)", "seconds": "time(x)"}, SETS)
            self.assertEqual(e.planned, planned, text)

    def test_every_function_is_documented(self):
        for name, function in (language.AGGREGATES | language.CHOICES | language.LEAVES).items():
            self.assertTrue(function.__doc__, name)
            self.assertRegex(language.documentation(), rf"(?m)^  {name}\b.*: ")


class Verdicts(ClaimsTest):
    def judge(self, tests=(), original=True, population=None, measured=None, **keys):
        keys = {"id": "x", "item": "text", "says": "s", "paper": 4.0, "kind": "ratio", "unit": ""} | keys
        c = claims.Claim(**keys)
        if c.measure:
            c.expression = c.expression_there = language.Expression(c.measure, {}, SETS)
        m = measured or self.repeated()
        m.is_stand_in = lambda _: not original
        return claims.judge(c, m, tests, population)

    def repeated(self):
        """time(x) of BB, BC: 1, 4 and of BC about 4; time(u) is about 1 on both; TT was not measured."""
        return self.measured(example.run(matrix="BB", variant="x", samples_s=[1] * 7),
                             example.run(matrix="BC", variant="x", samples_s=[4, 4, 4.1, 3.9, 4, 4, 4]),
                             *(example.run(matrix=m, variant="u", samples_s=[0.9, 1, 1.1, 1, 0.95, 1.05, 1]) for m in SETS["small"]),
                             example.run(matrix="BB", variant="once", samples_s=[2]))

    def verdict(self, measure, kind="ratio", paper=4.0, **keys):
        return self.judge(measure=measure, kind=kind, paper=paper, **keys).verdict

    def test_ratios(self):
        self.assertEqual(self.verdict("at(BC, time(x))"), claims.REPRODUCED)
        self.assertEqual(self.verdict("at(BC, time(x))", paper=4.9), claims.REPRODUCED)
        self.assertEqual(self.verdict("at(BC, time(x))", paper=6.0), claims.SHAPE_ONLY)
        self.assertEqual(self.verdict("at(BC, time(x))", paper=0.5), claims.NOT_REPRODUCED)
        self.assertEqual(self.verdict("at(BC, 1 / time(x))", paper=0.3), claims.REPRODUCED)
        self.assertEqual(self.verdict("at(BC, time(u))", paper=1.2), claims.UNDECIDED)
        self.assertEqual(self.verdict("at(BB, time(once))", paper=2.0), claims.UNDECIDED)
        self.assertEqual(self.judge(measure="at(BB, time(once))", paper=2.0).reason, "a case was measured once: no interval")

    def test_an_effect_beyond_a_third_or_three_times_the_papers_is_direction_alone(self):
        for measure, kind, paper, verdict in (
                ("2 + 0", "ratio", 4.0, claims.SHAPE_ONLY), ("1.99 + 0", "ratio", 4.0, claims.DIRECTION_ONLY),
                ("10 + 0", "ratio", 4.0, claims.SHAPE_ONLY), ("10.1 + 0", "ratio", 4.0, claims.DIRECTION_ONLY),
                ("0.9 + 0", "ratio", 0.8, claims.SHAPE_ONLY), ("0.95 + 0", "ratio", 0.8, claims.DIRECTION_ONLY),
                ("0.2 + 0", "ratio", 0.8, claims.DIRECTION_ONLY), ("5 + 0", "gain", 14.0, claims.SHAPE_ONLY),
                ("4 + 0", "gain", 14.0, claims.DIRECTION_ONLY), ("-50 + 0", "gain", -14.0, claims.DIRECTION_ONLY),
                ("min(small, 10 * time(x))", "size", 3.0, claims.DIRECTION_ONLY), ("min(small, 9 * time(x))", "size", 3.0, claims.SHAPE_ONLY)):
            self.assertEqual(self.verdict(measure, kind, paper), verdict, (measure, kind, paper))
        self.assertEqual(self.verdict("at(BC, time(x))", "ratio", 1.5, original=False), claims.DIRECTION_ONLY)
        self.assertEqual(self.verdict("at(BC, time(x))", paper="faster", expects="above", original=False), claims.SHAPE_ONLY)
        m = self.measured(example.run(variant="x", status="timeout", samples_s=[], trials={"timeout_s": 4}))
        for paper, verdict in ((10.0, claims.SHAPE_ONLY), (10.1, claims.DIRECTION_ONLY), (1.9, claims.DIRECTION_ONLY)):
            self.assertEqual(self.judge(measure="at(BC, time(x))", paper=paper, measured=m).verdict, verdict, paper)

    def test_directions_without_a_number(self):
        for measure, expects, verdict in (("at(BC, time(x))", "above", claims.REPRODUCED), ("at(BC, time(x))", "below", claims.NOT_REPRODUCED),
                                          ("at(BC, time(u))", "above", claims.UNDECIDED), ("1 / 2", "below", claims.REPRODUCED)):
            self.assertEqual(self.verdict(measure, paper="faster", expects=expects), verdict)

    def test_gains_and_sizes(self):
        self.assertEqual(self.verdict("at(BC, time(x))", "gain", 3.5), claims.REPRODUCED)
        self.assertEqual(self.verdict("at(BC, -time(x))", "gain", -4.6), claims.REPRODUCED)
        self.assertEqual(self.verdict("at(BC, -time(x))", "gain", 4.6), claims.NOT_REPRODUCED)
        self.assertEqual(self.verdict("at(BC, time(x))", "size", 3.3), claims.REPRODUCED)
        self.assertEqual(self.verdict("at(BC, time(x))", "size", 9), claims.SHAPE_ONLY)
        self.assertEqual(self.verdict("at(BC, time(x))", "size", 13), claims.NOT_REPRODUCED)
        self.assertEqual(self.verdict("at(BB, time(u))", "size", 3), claims.UNDECIDED)

    def test_correlations_have_a_size(self):
        for value, expects, verdict in ((0.03, "above", claims.NOT_REPRODUCED), (0.1, "above", claims.NOT_REPRODUCED),
                                        (0.11, "above", claims.REPRODUCED), (-0.5, "above", claims.NOT_REPRODUCED),
                                        (-0.5, "below", claims.REPRODUCED), (-0.05, "below", claims.NOT_REPRODUCED)):
            self.assertEqual(self.verdict(f"{value} + 0", "correlation", "grows", expects=expects), verdict, value)
        self.assertEqual(self.verdict("at(BC, time(u) - 0.9)", "correlation", "grows", expects="above"), claims.UNDECIDED)

    def test_what_is_about_a_number_lies_within_a_quarter_of_it(self):
        for value, paper, denied, verdict in ((24.6, 33.0, None, claims.NOT_REPRODUCED), (24.8, 33.0, None, claims.REPRODUCED),
                                              (99, 33.0, None, claims.NOT_REPRODUCED), (1.2, 1.0, None, claims.REPRODUCED),
                                              (1.2, 1.0, 1.333, claims.NOT_REPRODUCED), (1.1, 1.0, 1.333, claims.REPRODUCED),
                                              (0.7, 1.0, 1.333, claims.NOT_REPRODUCED)):
            self.assertEqual(self.verdict(f"{value} + 0", "about", paper, denied=denied), verdict, (value, paper, denied))
        self.assertEqual(self.verdict("at(BC, time(u))", "about", 0.8), claims.UNDECIDED)
        self.assertEqual(self.verdict("at(BC, time(u))", "about", 1.0), claims.REPRODUCED)
        self.assertEqual(self.verdict("at(BC, time(u))", "about", 1.0, original=False), claims.SHAPE_ONLY)

    def test_an_extreme_states_a_bound(self):
        for measure, kind, paper, verdict in (
                ("max(small, time(x))", "ratio", 4.5, claims.REPRODUCED), ("max(small, time(x))", "ratio", 3.6, claims.REPRODUCED),
                ("max(small, time(x))", "ratio", 8.0, claims.SHAPE_ONLY), ("max(small, time(x))", "ratio", 12.0, claims.NOT_REPRODUCED),
                ("max(small, time(x))", "ratio", 2.0, claims.NOT_REPRODUCED),
                ("min(small, 2 * time(x))", "ratio", 1.01, claims.DIRECTION_ONLY), ("min(small, 2 * time(x))", "ratio", 1.5, claims.SHAPE_ONLY), ("min(small, 2 * time(x))", "ratio", 3.0, claims.NOT_REPRODUCED),
                ("min(small, -time(x))", "gain", -4.6, claims.REPRODUCED), ("min(small, -time(x))", "gain", -1.5, claims.NOT_REPRODUCED),
                ("min(small, -time(x))", "gain", -10.0, claims.SHAPE_ONLY), ("min(small, -time(x))", "gain", 4.6, claims.NOT_REPRODUCED),
                ("max(small, time(u) - 1)", "gain", 5.5, claims.NOT_REPRODUCED), ("max(small, time(u))", "size", 3.0, claims.UNDECIDED),
                ("at(BC, time(x))", "ratio", 2.0, claims.SHAPE_ONLY), ("max({BB, BC}, time(x))", "ratio", 2.0, claims.SHAPE_ONLY)):
            self.assertEqual(self.verdict(measure, kind, paper), verdict, (measure, paper))
        m = self.measured(example.run(variant="x", matrix="BB", status="timeout", samples_s=[], trials={"timeout_s": 4}),
                          example.run(variant="x", samples_s=[3, 3, 3]))
        self.assertEqual(self.judge(measure="max(small, time(x))", paper=8.0, measured=m).verdict, claims.UNDECIDED)
        self.assertEqual(self.judge(measure="max(small, time(x))", paper="slower", expects="above", measured=m).verdict, claims.REPRODUCED)

    def test_what_was_simulated_is_shape_at_best(self):
        line = {"simulated": True, "matrix": "bcsstk18", "n": 9, "batch_barrier": False, "gpus": 6, "makespan_s": 4}
        m = self.measured(line, line | {"gpus": 12, "makespan_s": 1})
        j = self.judge(measure="at(BC, simulated(gpus=6) / simulated(gpus=12))", paper=4.0, measured=m)
        self.assertEqual((j.verdict, j.reason, j.basis), (claims.SHAPE_ONLY, "simulated", "simulated"))
        j = self.judge(measure="at(BC, simulated(gpus=6) / simulated(gpus=12))", paper=40.0, measured=m)
        self.assertEqual((j.verdict, j.basis), (claims.DIRECTION_ONLY, "simulated"))

    def test_what_holds_by_construction_is_an_identity(self):
        j = self.judge(measure="at(BC, time(x))", by_construction="it was made so")
        self.assertEqual((j.verdict, j.basis, j.as_json()["by_construction"]), (claims.REPRODUCED, "identity", "it was made so"))

    def test_portions(self):
        self.assertEqual(self.verdict("fraction(small, time(x) > 0.5)", "portion", 0.92), claims.REPRODUCED)
        self.assertEqual(self.verdict("fraction(small, time(x) > 0.5)", "portion", 0.77), claims.SHAPE_ONLY)
        self.assertEqual(self.verdict("fraction(small, time(x) > 2)", "portion", 0.92), claims.NOT_REPRODUCED)
        self.assertEqual(self.verdict("fraction(small, time(u) >= 1)", "portion", 0.92), claims.UNDECIDED)
        self.assertEqual(self.verdict("fraction(small, time(x) > 0.5)", "every", "all"), claims.REPRODUCED)
        self.assertEqual(self.verdict("fraction(small, time(x) > 2)", "every", "all"), claims.NOT_REPRODUCED)
        self.assertEqual(self.verdict("fraction(small, time(u) > 0.95)", "every", "all"), claims.UNDECIDED)

    def test_a_bound_is_no_value(self):
        m = self.measured(example.run(variant="x", status="timeout", samples_s=[], trials={"timeout_s": 4}))
        for paper, verdict in ((4.0, claims.SHAPE_ONLY), (0.5, claims.NOT_REPRODUCED)):
            self.assertEqual(self.judge(measure="at(BC, time(x))", paper=paper, measured=m).verdict, verdict)

    def test_what_a_stand_in_shows_of_its_matrix_is_shape_at_best(self):
        self.assertEqual(self.verdict("at(BC, time(x))", original=False), claims.SHAPE_ONLY)
        self.assertEqual(self.verdict("argmax(small, time(x))", "named", "BC", original=False), claims.SHAPE_ONLY)
        self.assertEqual(self.verdict("mean(small, time(x))", paper=2.5, original=False), claims.REPRODUCED)
        self.assertEqual(self.judge(measure="mean(small, time(x))", paper=2.5, original=False).basis, "stand-ins")
        self.assertEqual(self.judge(measure="at(BC, time(x))").basis, "originals")
        self.assertEqual(self.judge(measure="6144 / 128", paper=48.0, kind="size").basis, "identity")

    def test_one_rule_for_incomplete_sets(self):
        for measure, kind, paper in (("argmax(all, time(x))", "named", "BC"), ("which(all, time(x) > 2)", "named", "BC"),
                                     ("mean(all, time(x))", "ratio", 2.5), ("min(all, time(x))", "ratio", 1.0),
                                     ("max(all, time(x))", "size", 4.0), ("fraction(all, time(x) > 2)", "portion", 0.6)):
            j = self.judge(measure=measure, kind=kind, paper=paper)
            self.assertEqual((j.verdict, j.reason), (claims.INCOMPLETE, "not measured on TT"), measure)

    def test_matrices(self):
        for measure, paper, verdict in (("argmax(small, time(x))", "BC", claims.REPRODUCED), ("argmax(small, time(x))", "BB", claims.NOT_REPRODUCED),
                                        ("argmax(small, time(u))", "BB", claims.UNDECIDED), ("argmin(small, time(u))", "BC", claims.UNDECIDED),
                                        ("which(small, time(x) > 2)", "BC", claims.REPRODUCED), ("which(small, time(x) > 2)", "BB", claims.NOT_REPRODUCED),
                                        ("which(small, time(u) > 1)", "BB,BC", claims.UNDECIDED), ("which(small, time(x) > 9)", "none", claims.REPRODUCED)):
            self.assertEqual(self.verdict(measure, "named", paper), verdict, (measure, paper))
        self.assert_refused(lambda: self.judge(measure="argmax(small, time(x))", paper=3.0), "x: ", "matrices")

    def test_what_was_not_run(self):
        self.assertEqual(self.judge(measure="at(TT, time(x))").reason, "no records")
        self.assertEqual(self.judge(measure="at(TT, time(no_such))").reason, "no records of no_such")
        self.assertEqual(self.judge(measure="at(BB, time(x, no=1))").reason, "no run of x has a setting 'no'")
        j = self.judge(elsewhere="44 nodes")
        self.assertEqual((j.verdict, j.reason), (claims.ELSEWHERE, "44 nodes"))

    def test_tests_count_only_where_they_ran(self):
        text = ('<testsuite hostname="h" timestamp="t">'
                '<testcase name="a" status="run"><system-out>0.1 s: good\n</system-out></testcase>'
                '<testcase name="b" status="fail"><system-out>0.1 s: bad\n</system-out></testcase></testsuite>')
        run = junit.TestRun(self.write("tests.xml", text))
        self.assertEqual(self.judge(kind="test", test="good").verdict, claims.NOT_RUN)
        self.assertEqual(self.judge(kind="test", test="good", tests=[run]).verdict, claims.REPRODUCED)
        self.assertIn("an unknown commit on h", self.judge(kind="test", test="good", tests=[run]).tested)
        self.assertEqual(self.judge(kind="test", test="bad", tests=[run]).verdict, claims.NOT_REPRODUCED)
        self.assertEqual(self.judge(kind="test", test="other", tests=[run]).verdict, claims.NOT_RUN)

    def test_the_population_is_judged_by_the_same_rule(self):
        real = [{"name": f"m{k}", "n": k, "nnz": 30, "stand_in": False} for k in range(2, 12)]
        m = records.Measured([example.write(self.folder / "p.jsonl", *(example.run(matrix=r, variant="x", samples_s=[r["n"]] * 7)
                                                                        for r in real))], population=True)
        j = self.judge(measure="mean(small, time(x))", paper=2.5, population=m)
        self.assertEqual((j.verdict, j.over_verdict, j.over.value), (claims.REPRODUCED, claims.DIRECTION_ONLY, 6.5))
        p = j.population_json()
        self.assertEqual([p[k] for k in ("matrices", "least", "quartile", "median", "upper_quartile", "most")], [10, 2, 4.25, 6.5, 8.75, 11])
        self.assertEqual((p["missing"], p["large"]), ([], None))
        huge = [{"name": f"h{k}", "n": 10000 + k, "nnz": 30, "stand_in": False} for k in range(2)]
        lines = [example.run(matrix=r, variant="x", samples_s=[2] * 7) for r in real + huge[:1]]
        m2 = records.Measured([example.write(self.folder / "q.jsonl", *lines, example.run(matrix=huge[1], variant="u"))], population=True)
        p = self.judge(measure="mean(small, time(x))", paper=2.5, population=m2).population_json()
        self.assertEqual((p["missing"], p["large"]["value"], p["large"]["matrices"]), (["h1"], 2, 1))
        self.assertEqual((p["share"], self.judge(measure="fraction(small, time(x) > 6)", kind="portion", paper=0.9,
                                                 population=m).population_json()["share"]), (None, 0.5))
        alone = self.judge(measure="at(BC, time(x))", population=m)
        self.assertEqual((alone.over_verdict, alone.population_json()["median"]), ("", 6.5))


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
        board = claims.Board()
        owned = {c for change in board.evidence.changes for c in change["claims"]}
        self.assertLessEqual({name for name, _ in board.changed()}, owned)
        self.assertNotEqual(board.frozen_rules, claims.RULES)
        self.assertTrue(all(re.fullmatch(r"[0-9-]{10}T[0-9:]{8}Z", c["time_utc"]) for c in board.evidence.changes))
        times = [c["time_utc"] for c in board.evidence.changes]
        self.assertEqual(times, sorted(times))
        code, out, _ = self.call("--freeze")
        self.assertEqual((code, len(out.splitlines())), (0, len(COMMITTED.claims)))

    def test_stated_tables_can_be_read_again(self):
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
