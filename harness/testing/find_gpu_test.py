"""Tests of variants/device/find_gpu.cmake, and of what CMake chooses by it, with stand-ins for NVIDIA's driver."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FIND_GPU = ROOT / "variants" / "device" / "find_gpu.cmake"
# Stand-ins for libcuda.so.1 by name: three GPUs, no GPU, no device node, a driver that never answers, an empty library.
DRIVER = """
#include <unistd.h>
extern "C" {{
int cuInit(unsigned) {{ {init} }}
int cuDeviceGetCount(int* count) {{ *count = {count}; return 0; }}
int cuDeviceGetAttribute(int* value, int attribute, int device) {{
  const int capability[] = {{90, 80, 90}};
  *value = attribute == 75 ? capability[device] / 10 : attribute == 76 ? capability[device] % 10 : -1;
  return 0;
}}
}}
"""
DRIVERS = {"three": DRIVER.format(init="return 0;", count=3), "none": DRIVER.format(init="return 0;", count=0),
           "failing": DRIVER.format(init="return 100;", count=3),
           "silent": DRIVER.format(init="sleep(600); return 0;", count=3), "empty": ""}
PROJECT = """
cmake_minimum_required(VERSION 3.22)
project(find_gpu LANGUAGES CXX)
include({find_gpu})
set(GSOFA_GPU_SECONDS 1)
foreach(driver none failing silent empty three failing)
  set(ENV{{LD_LIBRARY_PATH}} {drivers}/${{driver}})
  gsofa_find_gpu()
  message(STATUS "${{driver}}: <${{GSOFA_GPU}}>")
endforeach()
foreach(case "90/75;80;90;100" "80;90/75;80;90;100" "89/75;80;90" "121/80;90;120" "70/75;80" "60;75;100/75;80;90" "/80")
  string(REGEX MATCH "^(.*)/(.*)$" case "${{case}}")
  set(capabilities "${{CMAKE_MATCH_1}}")
  set(supported "${{CMAKE_MATCH_2}}")
  gsofa_gpu_architectures(architectures "${{capabilities}}" "${{supported}}")
  message(STATUS "${{case}}: <${{architectures}}>")
endforeach()
"""


class FindGpuTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        for name, text in DRIVERS.items():
            (cls.folder / name).mkdir()
            subprocess.run([os.environ.get("CXX", "g++"), "-shared", "-fPIC", "-x", "c++", "-", "-o",
                            cls.folder / name / "libcuda.so.1"], input=text, text=True, check=True)

    def configure(self, source, *settings, **variables):
        done = subprocess.run(["cmake", "-S", source, "-B", self.folder / f"build_{source.name}", *settings], capture_output=True, text=True,
                              env=os.environ | variables, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_capabilities_of_the_gpus_that_answer(self):
        (self.folder / "CMakeLists.txt").write_text(PROJECT.format(find_gpu=FIND_GPU, drivers=self.folder))
        said = self.configure(self.folder)
        for driver in ("none", "failing", "silent", "empty"):
            self.assertIn(f"-- {driver}: <>\n", said)
        self.assertIn("-- three: <80;90>\n", said)
        # Capabilities that were found are kept.
        self.assertIn("-- failing: <80;90>\n", said)
        for case, architectures in (("90/75;80;90;100", "90"), ("80;90/75;80;90;100", "80;90"), ("89/75;80;90", "80-virtual"),
                                    ("121/80;90;120", "120-virtual"), ("70/75;80", ""), ("60;75;100/75;80;90", "75;90-virtual"),
                                    ("/80", "")):
            self.assertIn(f"-- {case}: <{architectures}>\n", said)

    def test_without_a_gpu_cuda_is_left_out_and_cmake_says_how_to_have_it(self):
        (self.folder / "nvcc").write_text("#!/bin/sh\nexit 1\n")
        (self.folder / "nvcc").chmod(0o755)
        path = f"{self.folder}:{os.environ['PATH']}"
        library = ("-D", "GSOFA_LIBRARY_ONLY=ON")
        said = self.configure(ROOT, *library, LD_LIBRARY_PATH=str(self.folder / "none"), PATH=path)
        self.assertRegex(said, r"gsofa: without CUDA: nvcc was found, but no GPU answers; GSOFA_WITH_CUDA=ON \(.*\n")
        self.assertNotIn("CUDA compiler", said)
        off = self.configure(ROOT, *library, "-D", "GSOFA_WITH_CUDA=OFF", PATH=path)
        self.assertNotIn("CUDA", off)


if __name__ == "__main__":
    unittest.main()
