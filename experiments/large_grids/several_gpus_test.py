#!/usr/bin/env python3
"""Tests of several_gpus.py."""
import unittest

import several_gpus


class Boxes(unittest.TestCase):
    def test_a_small_box_is_one_panel(self):
        self.assertEqual(several_gpus.boxes((4, 4, 4), (False,) * 6), (64, 1, 1))
        self.assertEqual(several_gpus.boxes((4, 4, 4), (True,) + (False,) * 5), (80, 1, 1))

    def test_a_box_of_two_and_their_separator(self):
        # 9 x 4 x 4: two boxes of 64 with 16 vertices around each, and a separator of 16.
        self.assertEqual(several_gpus.boxes((9, 4, 4), (False,) * 6), (2 * 80 + 16, 3, 2))

    def test_counts_are_those_of_runs(self):
        # Measured on a device: 464^3 has 8.95e9 positions in 2.4e6 panels.
        positions, panels, _ = several_gpus.boxes((464,) * 3, (False,) * 6)
        self.assertLess(abs(positions / 8.95e9 - 1), 0.01)
        self.assertLess(abs(panels / 2.4e6 - 1), 0.06)


class Top(unittest.TestCase):
    def test_levels_are_parts_of_the_whole(self):
        sides, around = (50, 50, 50), (False,) * 6
        by_level = several_gpus.levels(sides, around, 3)
        self.assertEqual(by_level[0], several_gpus.separator(sides, around)[1])
        self.assertLess(sum(by_level), several_gpus.boxes(sides, around)[0])

    def test_times_of_the_grid_that_the_rates_are_from(self):
        # Measured on one and two devices: 18.2 and 13.3 ms.
        for gpus, measured in ((1, 18.2e-3), (2, 13.3e-3)):
            self.assertLess(abs(several_gpus.predict(200, gpus)[0] / measured - 1), 0.1)

    def test_two_gpus_pay_where_nothing_waits_for_a_path(self):
        one, two = (several_gpus.predict(200, gpus)[0] for gpus in (1, 2))
        path_one, path_two = (several_gpus.predict(200, gpus, closes=False)[0] for gpus in (1, 2))
        self.assertGreater(one / two, 1.3)
        self.assertLess(path_one / path_two, one / two)

    def test_what_is_divided_changes_nothing_on_one_gpu(self):
        for form, settings in several_gpus.FORMS.items():
            if not settings.get("closes", True):
                continue
            self.assertEqual(several_gpus.predict(200, 1, **settings), several_gpus.predict(200, 1), form)
            if settings:
                self.assertLess(several_gpus.predict(200, 4, **settings), several_gpus.predict(200, 4), form)
                self.assertLessEqual(several_gpus.predict(200, 4, **several_gpus.FORMS["closed, all three"]),
                                     several_gpus.predict(200, 4, **settings), form)


if __name__ == "__main__":
    unittest.main()
