"""Tests of the language of the claims and of its intervals."""

import math
import sys
import unittest
from pathlib import Path
from unittest import mock

import numpy

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE)]

from claims_fixture import SETS, ClaimsTest  # noqa: E402
import estimate  # noqa: E402
import language  # noqa: E402
import records  # noqa: E402
import records_example as example  # noqa: E402


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
                               ("matrix(n)", 11948), ("matrix(paper.fill_ratio)", 6.52), ("matrix(paper.nothing)", None),
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


if __name__ == "__main__":
    unittest.main()
