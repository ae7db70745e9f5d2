#!/usr/bin/env python3
"""What `./testbed test` runs on a machine without nvcc and a GPU, compared with this build: usage
configurations_test.py BUILD FOLDER. A test, a command, an environment or a program that only one of the two has is
listed here."""
import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD, OTHER = (Path(argument).resolve() for argument in sys.argv[1:])

# What only this build may have, with the reason.
ONLY_HERE = {
    r"gpu/.*": "tests of single kernels on the GPU of this machine",
    r"gsofa_device_tests": "the program of these tests",
}
# What may differ in a command or an environment: (test, here, without nvcc), with the reason.
DIFFERENT = {
    ("cli/out_of_memory", "GSOFA_FIRST_FAILURE=8", "GSOFA_FIRST_FAILURE=1"): "the CUDA runtime allocates before main()",
}


def tests_of(build):
    """The lines by which CTest knows each test, by name: its command, its environment and other properties."""
    found = {}
    for file in build.rglob("CTestTestfile.cmake"):
        if OTHER in file.parents and build != OTHER:
            continue
        for name, rest in re.findall(r"^ *(?:add_test|set_tests_properties)\((\S+) +(.*)\)$", file.read_text(), re.M):
            found.setdefault(name.removeprefix("[=[").removesuffix("]=]"), []).append(
                re.sub(r'"[^"]*/python3[0-9.]*"', "python3", rest.replace(str(build), "BUILD")))
    return found


def programs_of(build):
    """The names of programs and libraries that are linked."""
    text = subprocess.run(["ninja", "-C", build, "-t", "targets", "all"], capture_output=True, text=True, check=True).stdout
    return {Path(name).name for name in re.findall(r"^(\S+): \w+_LINKER__", text, re.M)}


class ConfigurationsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        done = subprocess.run(["cmake", "--preset", "release", "-D", "GSOFA_WITH_CUDA=OFF", "-B", OTHER], cwd=ROOT,
                              capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stdout + done.stderr)

    def same_names(self, here, without_nvcc):
        self.assertEqual(set(without_nvcc) - set(here), set())
        only_here = set(here) - set(without_nvcc)
        self.assertEqual({name for name in only_here if not any(re.fullmatch(pattern, name) for pattern in ONLY_HERE)}, set())

    def test_programs(self):
        here = programs_of(BUILD)
        self.assertIn("libgsofa.a", here)
        self.same_names(here, programs_of(OTHER))

    def test_tests(self):
        here, without_nvcc = tests_of(BUILD), tests_of(OTHER)
        self.same_names(here, without_nvcc)
        for name, lines in without_nvcc.items():
            mine = here[name]
            for changed, a, b in DIFFERENT:
                mine = [line.replace(a, b) if name == changed else line for line in mine]
            self.assertEqual(mine, lines, name)


if __name__ == "__main__":
    sys.exit(unittest.main(argv=sys.argv[:1]))
