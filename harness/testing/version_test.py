#!/usr/bin/env python3
"""Compares the version in each file that states it with the version in CMakeLists.txt, which CMake and the Python package read."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
RELEASE = {"CITATION.cff": r"^version: (\S+)", "CHANGELOG.md": r"^## (\S+)"}
INTERFACE = {"SUPPORT.md": r"libgsofa\.so\.([\d.]+\d)", "MIGRATION.md": r"^# From \S+ to (\S+)",
             "harness/library/README.md": r"(?:find_package\(gsofa |`GSOFA_)([\d.]+\d)",
             "harness/library/example/CMakeLists.txt": r"find_package\(gsofa (\S+)"}


def stated(path, pattern):
    return re.findall(pattern, (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)


class VersionTest(unittest.TestCase):
    def setUp(self):
        self.version, = stated("CMakeLists.txt", r"^project\(gsofa VERSION (\S+)")

    def test_release_is_that_of_cmake(self):
        for path, pattern in RELEASE.items():
            self.assertEqual(stated(path, pattern)[:1], [self.version], path)

    def test_interface_is_that_of_cmake(self):
        for path, pattern in INTERFACE.items():
            self.assertEqual(set(stated(path, pattern)), {self.version.rpartition(".")[0]}, path)


if __name__ == "__main__":
    unittest.main()
