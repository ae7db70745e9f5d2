#!/usr/bin/env python3
"""Tests of stale.py and of the committed list of stale records."""
import pathlib
import sys
import unittest
from unittest import mock

import stale

HERE = pathlib.Path(__file__).resolve().parent


class Stale(unittest.TestCase):
    """Records of variants whose sources changed since are listed."""

    def test_the_list_is_what_it_should_be(self):
        try:
            lines = stale.stale(HERE / "records")
        except stale.NoHistory as e:
            self.skipTest(str(e))
        listed = (HERE / "records" / "stale.tsv").read_text().splitlines()[1:]
        self.assertEqual(listed, ["\t".join(line) for line in lines],
                         "python3 experiments/stale.py >experiments/records/stale.tsv brings it up to date")

    def test_what_counts_as_a_source(self):
        changed = ["variants/maxid/relax.cuh", "variants/device/scan.hpp", "variants/panels/eliminate/gpu_elimination.cu"]
        with mock.patch.object(stale, "changed_since", lambda commit: changed):
            for variant, count in (("gpu_maxid_line95", 1), ("cpu_maxid", 0), ("gpu_bitmap_panels", 1), ("cpu_bitmap_panels", 0),
                                   ("gpu_no_such", -1)):
                self.assertEqual(stale.sources_changed("c", variant), count, variant)
        for variant in stale.registered():
            self.assertTrue({stale.registered()[variant]} <= stale.own_sources(variant) <= set(stale.sources()), variant)
        a = 'x(); // why\nint y = /* z */ 1;\n  context.check_deadline(k, n);\nf("http://a");'
        for same, b in ((True, 'x();int y=1;f("b");'), (False, 'x();int y=2;f("b");'), (False, 'x();f("");')):
            self.assertEqual(stale.code_of(a) == stale.code_of(b), same, b)
        with self.assertRaises(stale.NoHistory):
            stale.changed_since("f" * 40)


if __name__ == "__main__":
    sys.exit(unittest.main())
