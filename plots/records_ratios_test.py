"""Tests of quantities by matrix, host and kind."""

import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parent))

import records  # noqa: E402
import records_example as example  # noqa: E402
import records_ratios as ratios  # noqa: E402

OVER, UNDER = ratios.case("slow", "time"), ratios.case("quick", "time")


def pair(matrix, host, slow, quick=(1.0, 1.0, 1.0), **how):
    """Runs of two variants on one host."""
    matrix = {"name": matrix, "n": 7000, "nnz": 30, "stand_in": False}
    return [example.run(matrix=matrix, variant=v, samples_s=list(s), machine={"id": host}, **how)
            for v, s in (("slow", slow), ("quick", quick))]


class RatiosTest(unittest.TestCase):
    def setUp(self):
        self.file = Path(self.enterContext(tempfile.TemporaryDirectory())) / "x.jsonl"

    def table(self, *lines, **how):
        return ratios.Table(SimpleNamespace(records=[example.write(self.file, *lines)], population=[], allow_unverified=False, **how))

    def test_a_value_is_the_median_of_hosts_and_both_times_are_of_one_host(self):
        lines = pair("m", "a", (2, 2, 2)) + pair("m", "b", (8, 8, 8), (2, 2, 2)) + pair("m", "c", (9, 9, 9))
        value = self.table(*lines).ratio(OVER, UNDER).each["m"]
        self.assertEqual((value.number, value.hosts, value.kind), (4, 3, "real"))
        self.assertEqual(self.table(lines[0], lines[3]).ratio(OVER, UNDER).each, {}, "two hosts with one time each")

    def test_hosts_that_disagree_widen_the_interval(self):
        alike = self.table(*pair("m", "a", (2, 2.1, 2.2)), *pair("m", "b", (2, 2.1, 2.2))).ratio(OVER, UNDER).each["m"].interval()
        apart = self.table(*pair("m", "a", (2, 2.1, 2.2)), *pair("m", "b", (4, 4.1, 4.2))).ratio(OVER, UNDER).each["m"].interval()
        self.assertGreaterEqual(alike[0], 2)
        self.assertLessEqual(alike[1], 2.2)
        self.assertTrue(apart[0] <= 2.2 and apart[1] >= 4, apart)

    def test_hosts_are_drawn_alike_for_all_matrices(self):
        """An aggregate of many matrices on two hosts that differ by 2 stays as uncertain as the hosts."""
        lines = [line for m in range(40) for host, s in (("a", 2), ("b", 4)) for line in pair(f"m{m}", host, (s, s, s))]
        number, (low, high), bound, count = self.table(*lines).ratio(OVER, UNDER).over(("real",))
        self.assertEqual((round(number, 9), round(low, 9), round(high, 9), bound, count), (3, 2, 4, 0, 40))

    def test_matrices_are_drawn_again(self):
        number, (low, high), *_ = self.table(*pair("m", "a", (1, 1, 1)), *pair("k", "a", (4, 4, 4))).ratio(OVER, UNDER).over(("real",))
        self.assertEqual((round(number, 9), round(low, 9), round(high, 9)), (2, 1, 4))

    def test_a_limit_that_was_passed_is_a_bound(self):
        late = {"status": "timeout", "samples_s": [], "trials": {"timeout_s": 20}}
        slow, quick = pair("m", "a", (2, 2, 2))
        value = self.table(slow | late, quick).ratio(OVER, UNDER).each["m"]
        self.assertEqual((value.number, value.bound), (20, 1))
        value = self.table(slow, quick | late).ratio(OVER, UNDER).each["m"]
        self.assertEqual((value.number, value.bound), (0.1, -1))
        self.assertEqual(self.table(slow | late, quick | late).ratio(OVER, UNDER).each, {})
        number, between, bound, _ = self.table(slow | late, quick, *pair("k", "a", (5, 5, 5))).ratio(OVER, UNDER).over(("real",))
        self.assertEqual((round(number, 9), [round(x, 9) for x in between], bound), (10, [5, float("inf")], 1))

    def test_settings_must_be_named_or_the_fewest_taken(self):
        slow, quick = pair("m", "a", (2, 2, 2))
        other = slow | {"mpi": {"ranks": 4}, "samples_s": [1.5]}
        with self.assertRaisesRegex(records.Refused, "runs of slow on m differ in ranks: name it"):
            self.table(slow, quick, other).ratio(OVER, UNDER)
        self.assertEqual(self.table(slow, quick, other).ratio(ratios.case("slow", "time", fewest=True), UNDER).each["m"].number, 1.5)
        self.assertEqual(self.table(slow, quick, other).ratio(ratios.case("slow", "time", ranks=1), UNDER).each["m"].number, 2)

    def test_of_several_variants_all_must_have_run(self):
        slow, quick = pair("m", "a", (2, 2, 2))
        both = ratios.case(("slow", "other"), "time", fewest=True)
        other = slow | {"variant": "other", "samples_s": [1.5]}
        self.assertEqual(self.table(slow, quick, other).ratio(both, UNDER).each["m"].number, 1.5)
        self.assertEqual(self.table(slow, quick).ratio(both, UNDER).each, {})

    def test_times_without_digests_and_counts(self):
        run = example.run(samples_s=[4, 3, 5])
        self.assertEqual(ratios.case("x").numbers([run]), [3.75, 2.75, 4.75])
        counted = example.run(matrix="bcsstk18", variant="slow", counting=True, samples_s=[])
        levels = ratios.case("slow", lambda r: r["counters"].get("levels"), counting=True)
        value = self.table(counted, counted).quantity(lambda a: a, levels).each["bcsstk18"]
        self.assertEqual((value.number, value.kind, value.interval()), (3, "original", None))
        self.assertEqual(self.table(counted).quantity(lambda a: a, ratios.case("slow", lambda r: None, counting=True)).each, {})

    def test_the_last_commit_of_a_host_counts(self):
        slow, quick = pair("m", "a", (2, 2, 2))
        newer = slow | {"git": {"sha": "1" * 40, "dirty": False}, "samples_s": [5, 5, 5]}
        table = self.table(slow, quick, newer)
        self.assertEqual(table.ratio(OVER, UNDER).each["m"].number, 5)
        self.assertEqual(table.origin(), "1 host, commits 0000000, 1111111")

    def test_simulated_schedules_and_profiles(self):
        def line(gpus, seconds, **how):
            return {"simulated": True, "matrix": "m", "n": 9000, "gpus": gpus, "gpus_per_node": 6, "schedule": "block", "stand_in": False,
                    "batch_barrier": False, "makespan_s": seconds, "speedup": 1.0} | how
        profile = {"matrix": "BC", "variant": "gpu_maxid", "dram_gb_per_s": 5.0, "complete": True}
        table = self.table(line(6, 8.0), line(36, 2.0), line(36, 9.0, batch_barrier=True), profile,
                           profile | {"matrix": "EP"}, profile | {"matrix": "LH", "complete": False})
        found = table.simulated(lambda a, b: a / b, {"gpus": 6, "schedule": "block"}, {"gpus": 36, "schedule": "block"})
        self.assertEqual({m: (v.number, v.kind) for m, v in found.each.items()}, {"m": (4, "real")})
        self.assertEqual({m: (v.number, v.kind) for m, v in table.profile("dram_gb_per_s").each.items()},
                         {"BC": (5, "original"), "EP": (5, "stand-in")})


if __name__ == "__main__":
    unittest.main()
