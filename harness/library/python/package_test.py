#!/usr/bin/env python3
"""Installs the package as users do, into an environment of its own, and runs its tests and notebooks there.

  package_test.py FOLDER [--sanitize]

FOLDER: where the environment and what pip builds are kept between calls. --sanitize: only the tests that do not start other
programs, with AddressSanitizer in the library. The environment has the packages of the Python that it is made of. Exit status
77, and why, where that lacks one or pip reaches no package index.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import venv

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent


def run(*words, **options):
    print("+", *words, flush=True)
    return subprocess.run(list(map(str, words)), check=False, **options)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("folder", type=pathlib.Path)
    p.add_argument("--sanitize", action="store_true")
    args = p.parse_args()
    folder = args.folder.resolve()
    try:
        venv.create(folder, clear=True, with_pip=True, system_site_packages=True, symlinks=True)
    except (subprocess.CalledProcessError, OSError) as e:
        print(f"skipped: no environment: {e}; apt-get install python3-venv")
        return 77
    python = folder / "bin" / "python"
    needs = ["numpy", "scipy", "matplotlib", "pandas", "pytest", "hypothesis", "nbclient", "ipykernel"]
    lacking = [m for m in needs if subprocess.run([python, "-c", f"import {m}"], capture_output=True, check=False).returncode]
    if lacking:
        print(f"skipped: this Python lacks {', '.join(lacking)}")
        return 77
    if subprocess.run([python, "-m", "pip", "download", "-q", "--no-deps", "-d", folder / "reach", "nanobind"], capture_output=True,
                      check=False).returncode:
        print("skipped: pip reaches no package index here")
        return 77
    # With assertions, without optimization and debug information, and without CUDA, which the program is compiled with.
    settings = [f"build-dir={folder / 'build'}", "cmake.build-type=Debug", "cmake.define.CMAKE_CXX_FLAGS_DEBUG=-O0",
                "cmake.define.GSOFA_WITH_CUDA=OFF"]
    environment = dict(os.environ)
    if args.sanitize:
        settings.append("cmake.define.GSOFA_SANITIZE=address")
        # Both before Python, so that exceptions are seen; Python itself keeps memory until it ends.
        loaded = [subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
                  for name in ("libasan.so", "libstdc++.so")]
        environment |= {"LD_PRELOAD": " ".join(loaded), "ASAN_OPTIONS": "detect_leaks=0"}
    build = [f"--config-settings={s}" for s in settings]
    pip = (python, "-m", "pip", "install", "-q", "--disable-pip-version-check")
    # The source package, so that a file that it lacks is found.
    archive = "import scikit_build_core.build as b, sys; print(b.build_sdist(sys.argv[1]))"
    if (run(*pip, "scikit-build-core").returncode or run(python, "-c", archive, folder / "source", cwd=ROOT).returncode
            or run(*pip, "--force-reinstall", "--no-deps", *build, *(folder / "source").glob("*.tar.gz")).returncode):
        return 1
    chosen = ["-k", "not command and not lock"] if args.sanitize else []
    tests = run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", HERE / "tests", *chosen, env=environment, cwd=folder)
    if tests.returncode or args.sanitize:
        return tests.returncode
    return run(python, HERE / "notebooks" / "execute.py", "--out", folder / "notebooks", cwd=folder).returncode


if __name__ == "__main__":
    sys.exit(main())
