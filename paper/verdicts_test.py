"""Tests of the verdicts."""

import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE)]

from claims_fixture import SETS, ClaimsTest  # noqa: E402
import claim_files  # noqa: E402
import junit  # noqa: E402
import language  # noqa: E402
import records  # noqa: E402
import records_example as example  # noqa: E402
import rules  # noqa: E402
import verdicts  # noqa: E402


class Verdicts(ClaimsTest):
    def judge(self, tests=(), original=True, population=None, measured=None, **keys):
        keys = {"id": "x", "item": "text", "says": "s", "paper": 4.0, "kind": "ratio", "unit": ""} | keys
        c = claim_files.Claim(**keys)
        if c.measure:
            c.expression = c.expression_there = language.Expression(c.measure, {}, SETS)
        m = measured or self.repeated()
        m.is_stand_in = lambda _: not original
        return verdicts.judge(c, m, tests, population)

    def repeated(self):
        """time(x) of BB, BC: 1, 4 and of BC about 4; time(u) is about 1 on both; TT was not measured."""
        return self.measured(example.run(matrix="BB", variant="x", samples_s=[1] * 7),
                             example.run(matrix="BC", variant="x", samples_s=[4, 4, 4.1, 3.9, 4, 4, 4]),
                             *(example.run(matrix=m, variant="u", samples_s=[0.9, 1, 1.1, 1, 0.95, 1.05, 1]) for m in SETS["small"]),
                             example.run(matrix="BB", variant="once", samples_s=[2]))

    def verdict(self, measure, kind="ratio", paper=4.0, **keys):
        return self.judge(measure=measure, kind=kind, paper=paper, **keys).verdict

    def test_ratios(self):
        self.assertEqual(self.verdict("at(BC, time(x))"), rules.REPRODUCED)
        self.assertEqual(self.verdict("at(BC, time(x))", paper=4.9), rules.REPRODUCED)
        self.assertEqual(self.verdict("at(BC, time(x))", paper=6.0), rules.SHAPE_ONLY)
        self.assertEqual(self.verdict("at(BC, time(x))", paper=0.5), rules.NOT_REPRODUCED)
        self.assertEqual(self.verdict("at(BC, 1 / time(x))", paper=0.3), rules.REPRODUCED)
        self.assertEqual(self.verdict("at(BC, time(u))", paper=1.2), rules.UNDECIDED)
        self.assertEqual(self.verdict("at(BB, time(once))", paper=2.0), rules.UNDECIDED)
        self.assertEqual(self.judge(measure="at(BB, time(once))", paper=2.0).reason, "a case was measured once: no interval")

    def test_an_effect_beyond_a_third_or_three_times_the_papers_is_direction_alone(self):
        for measure, kind, paper, verdict in (
                ("2 + 0", "ratio", 4.0, rules.SHAPE_ONLY), ("1.99 + 0", "ratio", 4.0, rules.DIRECTION_ONLY),
                ("10 + 0", "ratio", 4.0, rules.SHAPE_ONLY), ("10.1 + 0", "ratio", 4.0, rules.DIRECTION_ONLY),
                ("0.9 + 0", "ratio", 0.8, rules.SHAPE_ONLY), ("0.95 + 0", "ratio", 0.8, rules.DIRECTION_ONLY),
                ("0.2 + 0", "ratio", 0.8, rules.DIRECTION_ONLY), ("5 + 0", "gain", 14.0, rules.SHAPE_ONLY),
                ("4 + 0", "gain", 14.0, rules.DIRECTION_ONLY), ("-50 + 0", "gain", -14.0, rules.DIRECTION_ONLY),
                ("min(small, 10 * time(x))", "size", 3.0, rules.DIRECTION_ONLY), ("min(small, 9 * time(x))", "size", 3.0, rules.SHAPE_ONLY)):
            self.assertEqual(self.verdict(measure, kind, paper), verdict, (measure, kind, paper))
        self.assertEqual(self.verdict("at(BC, time(x))", "ratio", 1.5, original=False), rules.DIRECTION_ONLY)
        self.assertEqual(self.verdict("at(BC, time(x))", paper="faster", expects="above", original=False), rules.SHAPE_ONLY)
        m = self.measured(example.run(variant="x", status="timeout", samples_s=[], trials={"timeout_s": 4}))
        for paper, verdict in ((10.0, rules.SHAPE_ONLY), (10.1, rules.DIRECTION_ONLY), (1.9, rules.DIRECTION_ONLY)):
            self.assertEqual(self.judge(measure="at(BC, time(x))", paper=paper, measured=m).verdict, verdict, paper)

    def test_directions_without_a_number(self):
        for measure, expects, verdict in (("at(BC, time(x))", "above", rules.REPRODUCED), ("at(BC, time(x))", "below", rules.NOT_REPRODUCED),
                                          ("at(BC, time(u))", "above", rules.UNDECIDED), ("1 / 2", "below", rules.REPRODUCED)):
            self.assertEqual(self.verdict(measure, paper="faster", expects=expects), verdict)

    def test_gains_and_sizes(self):
        self.assertEqual(self.verdict("at(BC, time(x))", "gain", 3.5), rules.REPRODUCED)
        self.assertEqual(self.verdict("at(BC, -time(x))", "gain", -4.6), rules.REPRODUCED)
        self.assertEqual(self.verdict("at(BC, -time(x))", "gain", 4.6), rules.NOT_REPRODUCED)
        self.assertEqual(self.verdict("at(BC, time(x))", "size", 3.3), rules.REPRODUCED)
        self.assertEqual(self.verdict("at(BC, time(x))", "size", 9), rules.SHAPE_ONLY)
        self.assertEqual(self.verdict("at(BC, time(x))", "size", 13), rules.NOT_REPRODUCED)
        self.assertEqual(self.verdict("at(BB, time(u))", "size", 3), rules.UNDECIDED)

    def test_correlations_have_a_size(self):
        for value, expects, verdict in ((0.03, "above", rules.NOT_REPRODUCED), (0.1, "above", rules.NOT_REPRODUCED),
                                        (0.11, "above", rules.REPRODUCED), (-0.5, "above", rules.NOT_REPRODUCED),
                                        (-0.5, "below", rules.REPRODUCED), (-0.05, "below", rules.NOT_REPRODUCED)):
            self.assertEqual(self.verdict(f"{value} + 0", "correlation", "grows", expects=expects), verdict, value)
        self.assertEqual(self.verdict("at(BC, time(u) - 0.9)", "correlation", "grows", expects="above"), rules.UNDECIDED)

    def test_what_is_about_a_number_lies_within_a_quarter_of_it(self):
        for value, paper, denied, verdict in ((24.6, 33.0, None, rules.NOT_REPRODUCED), (24.8, 33.0, None, rules.REPRODUCED),
                                              (99, 33.0, None, rules.NOT_REPRODUCED), (1.2, 1.0, None, rules.REPRODUCED),
                                              (1.2, 1.0, 1.333, rules.NOT_REPRODUCED), (1.1, 1.0, 1.333, rules.REPRODUCED),
                                              (0.7, 1.0, 1.333, rules.NOT_REPRODUCED)):
            self.assertEqual(self.verdict(f"{value} + 0", "about", paper, denied=denied), verdict, (value, paper, denied))
        self.assertEqual(self.verdict("at(BC, time(u))", "about", 0.8), rules.UNDECIDED)
        self.assertEqual(self.verdict("at(BC, time(u))", "about", 1.0), rules.REPRODUCED)
        self.assertEqual(self.verdict("at(BC, time(u))", "about", 1.0, original=False), rules.SHAPE_ONLY)

    def test_an_extreme_states_a_bound(self):
        for measure, kind, paper, verdict in (
                ("max(small, time(x))", "ratio", 4.5, rules.REPRODUCED), ("max(small, time(x))", "ratio", 3.6, rules.REPRODUCED),
                ("max(small, time(x))", "ratio", 8.0, rules.SHAPE_ONLY), ("max(small, time(x))", "ratio", 12.0, rules.NOT_REPRODUCED),
                ("max(small, time(x))", "ratio", 2.0, rules.NOT_REPRODUCED),
                ("min(small, 2 * time(x))", "ratio", 1.01, rules.DIRECTION_ONLY), ("min(small, 2 * time(x))", "ratio", 1.5, rules.SHAPE_ONLY), ("min(small, 2 * time(x))", "ratio", 3.0, rules.NOT_REPRODUCED),
                ("min(small, -time(x))", "gain", -4.6, rules.REPRODUCED), ("min(small, -time(x))", "gain", -1.5, rules.NOT_REPRODUCED),
                ("min(small, -time(x))", "gain", -10.0, rules.SHAPE_ONLY), ("min(small, -time(x))", "gain", 4.6, rules.NOT_REPRODUCED),
                ("max(small, time(u) - 1)", "gain", 5.5, rules.NOT_REPRODUCED), ("max(small, time(u))", "size", 3.0, rules.UNDECIDED),
                ("at(BC, time(x))", "ratio", 2.0, rules.SHAPE_ONLY), ("max({BB, BC}, time(x))", "ratio", 2.0, rules.SHAPE_ONLY)):
            self.assertEqual(self.verdict(measure, kind, paper), verdict, (measure, paper))
        m = self.measured(example.run(variant="x", matrix="BB", status="timeout", samples_s=[], trials={"timeout_s": 4}),
                          example.run(variant="x", samples_s=[3, 3, 3]))
        self.assertEqual(self.judge(measure="max(small, time(x))", paper=8.0, measured=m).verdict, rules.UNDECIDED)
        self.assertEqual(self.judge(measure="max(small, time(x))", paper="slower", expects="above", measured=m).verdict, rules.REPRODUCED)

    def test_what_was_simulated_is_shape_at_best(self):
        line = {"simulated": True, "matrix": "bcsstk18", "n": 9, "batch_barrier": False, "gpus": 6, "makespan_s": 4}
        m = self.measured(line, line | {"gpus": 12, "makespan_s": 1})
        j = self.judge(measure="at(BC, simulated(gpus=6) / simulated(gpus=12))", paper=4.0, measured=m)
        self.assertEqual((j.verdict, j.reason, j.basis), (rules.SHAPE_ONLY, "simulated", "simulated"))
        j = self.judge(measure="at(BC, simulated(gpus=6) / simulated(gpus=12))", paper=40.0, measured=m)
        self.assertEqual((j.verdict, j.basis), (rules.DIRECTION_ONLY, "simulated"))

    def test_what_holds_by_construction_is_an_identity(self):
        j = self.judge(measure="at(BC, time(x))", by_construction="it was made so")
        self.assertEqual((j.verdict, j.basis, j.as_json()["by_construction"]), (rules.REPRODUCED, "identity", "it was made so"))

    def test_portions(self):
        self.assertEqual(self.verdict("fraction(small, time(x) > 0.5)", "portion", 0.92), rules.REPRODUCED)
        self.assertEqual(self.verdict("fraction(small, time(x) > 0.5)", "portion", 0.77), rules.SHAPE_ONLY)
        self.assertEqual(self.verdict("fraction(small, time(x) > 2)", "portion", 0.92), rules.NOT_REPRODUCED)
        self.assertEqual(self.verdict("fraction(small, time(u) >= 1)", "portion", 0.92), rules.UNDECIDED)
        self.assertEqual(self.verdict("fraction(small, time(x) > 0.5)", "every", "all"), rules.REPRODUCED)
        self.assertEqual(self.verdict("fraction(small, time(x) > 2)", "every", "all"), rules.NOT_REPRODUCED)
        self.assertEqual(self.verdict("fraction(small, time(u) > 0.95)", "every", "all"), rules.UNDECIDED)

    def test_a_bound_is_no_value(self):
        m = self.measured(example.run(variant="x", status="timeout", samples_s=[], trials={"timeout_s": 4}))
        for paper, verdict in ((4.0, rules.SHAPE_ONLY), (0.5, rules.NOT_REPRODUCED)):
            self.assertEqual(self.judge(measure="at(BC, time(x))", paper=paper, measured=m).verdict, verdict)

    def test_what_a_stand_in_shows_of_its_matrix_is_shape_at_best(self):
        self.assertEqual(self.verdict("at(BC, time(x))", original=False), rules.SHAPE_ONLY)
        self.assertEqual(self.verdict("argmax(small, time(x))", "named", "BC", original=False), rules.SHAPE_ONLY)
        self.assertEqual(self.verdict("mean(small, time(x))", paper=2.5, original=False), rules.REPRODUCED)
        self.assertEqual(self.judge(measure="mean(small, time(x))", paper=2.5, original=False).basis, "stand-ins")
        self.assertEqual(self.judge(measure="at(BC, time(x))").basis, "originals")
        self.assertEqual(self.judge(measure="6144 / 128", paper=48.0, kind="size").basis, "identity")

    def test_one_rule_for_incomplete_sets(self):
        for measure, kind, paper in (("argmax(all, time(x))", "named", "BC"), ("which(all, time(x) > 2)", "named", "BC"),
                                     ("mean(all, time(x))", "ratio", 2.5), ("min(all, time(x))", "ratio", 1.0),
                                     ("max(all, time(x))", "size", 4.0), ("fraction(all, time(x) > 2)", "portion", 0.6)):
            j = self.judge(measure=measure, kind=kind, paper=paper)
            self.assertEqual((j.verdict, j.reason), (rules.INCOMPLETE, "not measured on TT"), measure)

    def test_matrices(self):
        for measure, paper, verdict in (("argmax(small, time(x))", "BC", rules.REPRODUCED), ("argmax(small, time(x))", "BB", rules.NOT_REPRODUCED),
                                        ("argmax(small, time(u))", "BB", rules.UNDECIDED), ("argmin(small, time(u))", "BC", rules.UNDECIDED),
                                        ("which(small, time(x) > 2)", "BC", rules.REPRODUCED), ("which(small, time(x) > 2)", "BB", rules.NOT_REPRODUCED),
                                        ("which(small, time(u) > 1)", "BB,BC", rules.UNDECIDED), ("which(small, time(x) > 9)", "none", rules.REPRODUCED)):
            self.assertEqual(self.verdict(measure, "named", paper), verdict, (measure, paper))
        self.assert_refused(lambda: self.judge(measure="argmax(small, time(x))", paper=3.0), "x: ", "matrices")

    def test_what_was_not_run(self):
        self.assertEqual(self.judge(measure="at(TT, time(x))").reason, "no records")
        self.assertEqual(self.judge(measure="at(TT, time(no_such))").reason, "no records of no_such")
        self.assertEqual(self.judge(measure="at(BB, time(x, no=1))").reason, "no run of x has a setting 'no'")
        j = self.judge(elsewhere="44 nodes")
        self.assertEqual((j.verdict, j.reason), (rules.ELSEWHERE, "44 nodes"))

    def test_tests_count_only_where_they_ran(self):
        text = ('<testsuite hostname="h" timestamp="t">'
                '<testcase name="a" status="run"><system-out>0.1 s: good\n</system-out></testcase>'
                '<testcase name="b" status="fail"><system-out>0.1 s: bad\n</system-out></testcase></testsuite>')
        run = junit.TestRun(self.write("tests.xml", text))
        self.assertEqual(self.judge(kind="test", test="good").verdict, rules.NOT_RUN)
        self.assertEqual(self.judge(kind="test", test="good", tests=[run]).verdict, rules.REPRODUCED)
        self.assertIn("an unknown commit on h", self.judge(kind="test", test="good", tests=[run]).tested)
        self.assertEqual(self.judge(kind="test", test="bad", tests=[run]).verdict, rules.NOT_REPRODUCED)
        self.assertEqual(self.judge(kind="test", test="other", tests=[run]).verdict, rules.NOT_RUN)

    def test_the_population_is_judged_by_the_same_rule(self):
        real = [{"name": f"m{k}", "n": k, "nnz": 30, "stand_in": False} for k in range(2, 12)]
        m = records.Measured([example.write(self.folder / "p.jsonl", *(example.run(matrix=r, variant="x", samples_s=[r["n"]] * 7)
                                                                        for r in real))], population=True)
        j = self.judge(measure="mean(small, time(x))", paper=2.5, population=m)
        self.assertEqual((j.verdict, j.over_verdict, j.over.value), (rules.REPRODUCED, rules.DIRECTION_ONLY, 6.5))
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


if __name__ == "__main__":
    unittest.main()
