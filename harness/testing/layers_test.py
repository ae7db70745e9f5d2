#!/usr/bin/env python3
"""The walls between the folders: reads the #include lines of all sources and names each that no rule allows, with file and
line. Sources are what git tracks or would add; in an unpacked archive, everything outside of build folders."""

import posixpath
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SUFFIXES = (".c", ".cpp", ".cu", ".cuh", ".h", ".hpp")
NO_FAMILY = ("analysis", "device", "planted", "support")  # of the folders of variants
FAMILIES = sorted(p.name for p in (ROOT / "variants").iterdir() if p.is_dir() and p.name not in NO_FAMILY)
HARNESS = ("run", "record", "matrices", "check", "commands")  # a layer includes itself and those before it
GENERATED = {"gsofa_generated/build_config.hpp": "harness/run", "gsofa_generated/git_stamp.hpp": "harness/run"}
PUBLIC = "harness/library/include"  # the headers of libgsofa, included as its users do

SHARED = {"variants/support", "variants/device"}
ALLOWED = {
    "common": {"common"},
    "reference": {"common", "reference"},
    "variants/support": {"common", "variants/support"},
    "variants/device": {"common", *SHARED},
    "variants/planted": {"common", "variants/planted", *SHARED, *(f"variants/{f}" for f in FAMILIES)},
    # Composes the steps before the factorization.
    "variants/analysis": {"common", "variants/analysis", "variants/orderings", *SHARED},
    # For tests of all variants; nothing else lies there.
    "variants": {"common", "variants", *SHARED},
    # The library compiles variants by name, and includes what orders are adapted and METIS is loaded by; its examples include its public
    # headers alone.
    "harness/library": {"common", "harness/library", "variants/orderings"},
    # main.cpp, and programs that tests start. These and soak may enter the program by its front.
    "harness": {"common", "harness/commands"},
    "harness/testing": {"common", "reference", "harness/testing", "harness/commands", "harness/run"},
    "harness/soak": {"common", "harness/soak", "harness/testing", "harness/library", *(f"harness/{layer}" for layer in HARNESS)},
    # The Python package, what solvers are given, and programs of experiments use the library as others do.
    "harness/library/python": {"harness/library", "harness/library/python"},
    "harness/library/superlu": {"common", "harness/library", "harness/library/superlu"},
    "harness/library/petsc": {"common", "harness/library"},
    "experiments": {"experiments", "harness/library"},
}
ALLOWED |= {f"variants/{f}": {"common", f"variants/{f}", *SHARED} for f in FAMILIES}
ALLOWED |= {f"harness/{layer}": {"common", "reference", "variants/support", *(f"harness/{e}" for e in HARNESS[:k + 1])}
            for k, layer in enumerate(HARNESS)}
# What tests include in addition to what the sources of their folder do.
TESTS = {"common": set(), "reference": set(), "variants": {"reference", "harness/check"},
         "harness": {"reference", "harness/testing"}, "experiments": set()}

# (file, what it includes): why it may
SCHEDULE, DRIVER = (f"variants/maxid/distributed/{name}.hpp" for name in ("schedule", "driver"))
PERM_C = "harness/library/superlu/get_perm_c_test.cpp"
SYMBFACT, SOLVE = "harness/library/superlu/superlu_test.cpp", "experiments/solvers/superlu_dist_solve.cpp"
CUDSS, CUDSS_PHASES = "experiments/solvers/cudss_solve.cpp", "experiments/solvers/cudss_solver"
EXCEPTIONS = {
    (SYMBFACT, "harness/check/test_patterns.hpp"): "the patterns that variants are checked on",
    (PERM_C, "harness/check/test_patterns.hpp"): "the patterns that variants are checked on",
    ("experiments/solvers/analyze_memory.cpp", "common/generators.hpp"): "patterns of any size",
    ("experiments/solvers/analyze_memory.cpp", "common/pattern.hpp"): "the same",
    (SOLVE, "common/matrix_file.hpp"): "files that hold a pattern alone",
    (SOLVE, "common/pattern.hpp"): "the same",
    (SOLVE, "common/preprocess.hpp"): "rows matched by structure alone, without an analysis",
    (SOLVE, "common/ordering.hpp"): "orders from files",
    **{("experiments/solvers/cholmod_solve.cpp", f"common/{name}.hpp"): "matrices of any size, and orders from files"
       for name in ("error", "generators", "matrix_file", "matrix_market", "ordering")},
    **{(CUDSS, f"common/{name}.hpp"): "the library hands over no separator tree, and counts no order of others"
       for name in ("cuda_device", "order_quality", "ordering", "pattern")},
    ("experiments/solvers/linear_system.cpp", "common/matrix_file.hpp"): "real matrices, whose values it generates",
    **{(f"experiments/solvers/linear_system.{ending}", f"common/{name}.hpp"): "matrices of any size, and their values"
       for ending, name in (("hpp", "pattern"), ("cpp", "error"), ("cpp", "generators"), ("cpp", "random"))},
    (CUDSS, "common/partition_tree.hpp"): "the tree as cuDSS takes it",
    (CUDSS, "harness/run/build_info.hpp"): "the commit in its records",
    (CUDSS, "harness/run/gpu_state.hpp"): "the driver in its records",
    (CUDSS_PHASES + ".hpp", "variants/peers/cudss_objects.hpp"): "handles and errors as the peer has them",
    (CUDSS_PHASES + ".cpp", "common/types.hpp"): "checked narrowing",
    ("harness/commands/order_command.cpp", "variants/orderings/choose.hpp"): "times are modelled by the rates that choose orders",
    ("harness/commands/prepare_command.cpp", SCHEDULE):
        "prepare --predicted-work writes what the dynamic schedule orders chunks by",
    ("harness/testing/mpi_probe.cpp", DRIVER): "workers that throw, which takes a job under mpirun",
    ("variants/device/interleaved_test.cpp", "variants/panels/runs/settings.hpp"):
        "the emulator that switches at loads and stores is tested on the kernels that need it most",
    ("variants/peers/peers_test.cpp", "harness/commands/list_command.hpp"):
        "gsofa list gives the reason where a peer is absent",
    ("variants/peers/peers_test.cpp", "harness/matrices/matrix_source.hpp"):
        "a bundled matrix, prepared as the program does",
}


def is_test(path):
    return path.endswith("_test.cpp") or Path(path).name in ("emulated_cases.hpp", "stage_cases.hpp", "test_analyses.hpp",
                                                                "test_processes.hpp")


def layer_of(path):
    """The folder that rules name: itself if it is named, else two levels deep in variants and harness and one elsewhere."""
    parts = path.split("/")[:-1]
    if "/".join(parts[:3]) in ALLOWED:
        return "/".join(parts[:3])
    return "/".join(parts[:2 if parts and parts[0] in ("variants", "harness") else 1])


def sources(root):
    """Paths of all sources, relative to the root."""
    if (root / ".git").exists():
        listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                                capture_output=True, text=True, check=True).stdout.split("\0")
    else:
        listed = (p.relative_to(root).as_posix() for p in root.rglob("*"))
    return sorted(p for p in listed if p.endswith(SUFFIXES) and not p.startswith("build") and (root / p).is_file())


def included(root, path):
    """(line number, the file of the tree that the line includes or None, the text) of the #include lines; those of headers
    outside of the tree are left out."""
    text = (root / path).read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), 1):
        directive = re.match(r"\s*#\s*include\s*(.*)", line)
        if not directive:
            continue
        named = re.match(r'"([^"]+)"|<([^>]+)>', directive[1])
        name = named and (named[1] or named[2])
        here = str(Path(path).parent)
        found = name and next((posixpath.normpath(f"{folder}/{name}") for folder in (".", PUBLIC, here)
                               if (root / folder / name).is_file()), None)
        if not found and name in GENERATED:
            found = f"{GENERATED[name]}/{Path(name).name}"
        if found or not name or named[1]:
            yield number, found, directive[1]


def broken(root, exceptions):
    """A line for each #include that is not allowed, and for each exception that nothing needs."""
    faults, needed = [], set()
    for path in sources(root):
        layer = layer_of(path)
        if layer not in ALLOWED:
            faults.append(f"{path}:1: no rule for the folder '{layer}'")
            continue
        allowed = ALLOWED[layer] | (TESTS[layer.split("/")[0]] if is_test(path) else set())
        for number, found, text in included(root, path):
            if not found:
                faults.append(f"{path}:{number}: {text} is no file of the tree")
            elif (path, found) in exceptions:
                needed.add((path, found))
            elif layer_of(found) not in allowed:
                faults.append(f"{path}:{number}: {layer or 'the root'} may not include {found}")
            elif is_test(found) and not is_test(path):
                faults.append(f"{path}:{number}: a file of tests, {found}, is included by a source")
    unused = [key for key in exceptions if key not in needed]
    return faults + [f"{path}: nothing needs the exception for {found}" for path, found in unused]


class Layers(unittest.TestCase):
    def test_no_wall_is_broken(self):
        self.assertGreater(len(sources(ROOT)), 200)
        self.assertEqual(broken(ROOT, EXCEPTIONS), [])


class MadeUpTree(unittest.TestCase):
    """That the test above can fail."""

    TREE = {
        "common/pattern.hpp": "#include <vector>\n",
        "reference/row_union.hpp": '#include "common/pattern.hpp"\n',
        "variants/support/row_store.hpp": '#include "common/pattern.hpp"\n',
        "variants/device/simt.hpp": '#include "variants/support/row_store.hpp"\n',
        "variants/device/emulated_cases.hpp": '#include "reference/row_union.hpp"\n',
        "variants/fill/fill1.hpp": '#include "variants/device/simt.hpp"\n',
        "variants/maxid/distributed/driver.hpp": '#include "common/pattern.hpp"\n',
        "variants/maxid/maxid.cu": '#include "variants/maxid/distributed/driver.hpp"\n',
        "variants/maxid/maxid_test.cpp": '#include "reference/row_union.hpp"\n#include "harness/check/check.hpp"\n',
        "variants/planted/planted.cpp": '#include "variants/fill/fill1.hpp"\n',
        "harness/run/runner.hpp": '#include "gsofa_generated/git_stamp.hpp"\n',
        "harness/run/runner_test.cpp": '#include "harness/testing/fake.hpp"\n#include "runner.hpp"\n',
        "harness/testing/fake.hpp": '#include "reference/row_union.hpp"\n',
        "harness/record/record.hpp": '#include "harness/run/runner.hpp"\n#include "variants/support/row_store.hpp"\n',
        "harness/check/check.hpp": '#include "harness/record/record.hpp"\n',
        "harness/library/include/gsofa/gsofa.hpp": "",
        "harness/library/cpp/analyze.cpp": '#include "gsofa/gsofa.hpp"\n',
        "harness/main.cpp": '#include "common/pattern.hpp"\n',
    }

    def faults(self, added="", text="", exceptions=()):
        """What is found in the tree with more text in one file, or one file more."""
        with tempfile.TemporaryDirectory() as folder:
            for name in [*self.TREE, *([added] if added and added not in self.TREE else [])]:
                path = Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(self.TREE.get(name, "") + (text if name == added else ""))
            return broken(Path(folder), exceptions)

    def test_every_wall(self):
        self.assertEqual(self.faults(), [])
        for place, header in (
                ("common/pattern.hpp", "reference/row_union.hpp"),
                ("reference/row_union.hpp", "variants/support/row_store.hpp"),
                ("variants/support/row_store.hpp", "variants/device/simt.hpp"),
                ("variants/device/simt.hpp", "variants/fill/fill1.hpp"),
                ("variants/fill/fill1.hpp", "variants/maxid/distributed/driver.hpp"),
                ("variants/fill/fill1.hpp", "reference/row_union.hpp"),
                ("variants/fill/fill1.hpp", "variants/device/emulated_cases.hpp"),
                ("variants/maxid/maxid.cu", "harness/run/runner.hpp"),
                ("variants/maxid/maxid_test.cpp", "harness/run/runner.hpp"),
                ("harness/run/runner.hpp", "harness/record/record.hpp"),
                ("harness/record/record.hpp", "harness/check/check.hpp"),
                ("harness/record/record.hpp", "variants/fill/fill1.hpp"),
                ("harness/check/check.hpp", "harness/testing/fake.hpp"),
                ("harness/main.cpp", "harness/run/runner.hpp"),
                ("harness/library/cpp/analyze.cpp", "harness/run/runner.hpp")):
            for line in (f'#include "{header}"', f"  # include <{header}>  // why"):
                with self.subTest(place=place, line=line):
                    number = len(self.TREE[place].splitlines()) + 2
                    found = self.faults(place, f"\n{line}\n")
                    self.assertEqual(len(found), 1, found)
                    self.assertRegex(found[0], f"^{re.escape(place)}:{number}: .*{re.escape(header)}")

    def test_what_is_no_file_or_has_no_rule(self):
        for place, text, fault in (
                ("common/x.hpp", '#include "common/gone.hpp"\n', '"common/gone.hpp" is no file of the tree'),
                ("common/x.hpp", "#include HEADER\n", "HEADER is no file of the tree"),
                ("extra/x.hpp", "", "no rule for the folder 'extra'")):
            self.assertEqual(self.faults(place, text), [f"{place}:1: {fault}"])

    def test_a_way_around(self):
        self.assertEqual(self.faults("variants/fill/fill1.hpp", '#include "../maxid/distributed/driver.hpp"\n'),
                         ["variants/fill/fill1.hpp:2: variants/fill may not include variants/maxid/distributed/driver.hpp"])

    def test_exceptions(self):
        of_test = {("common/x.hpp", "reference/row_union.hpp"): "a reason"}
        self.assertEqual(self.faults("common/x.hpp", '#include "reference/row_union.hpp"\n', of_test), [])
        self.assertEqual(self.faults("common/x.hpp", "", of_test),
                         ["common/x.hpp: nothing needs the exception for reference/row_union.hpp"])


if __name__ == "__main__":
    unittest.main()
