"""Runs of gsofa on ranks, for the scripts of this folder. Standard library only."""
import os
import shutil
import subprocess
import sys


def launcher(ranks, bound=False):
    """The words before a command that start it on `ranks` ranks of this host. bound: each on a core of its own, as the log then says."""
    if ranks == 1:
        return []
    mpirun = shutil.which("mpirun") or sys.exit("no mpirun (Debian: openmpi-bin)")
    version = subprocess.run([mpirun, "--version"], capture_output=True, text=True, check=False).stdout
    more = []
    if "Open MPI" in version:
        more = ["--bind-to", "core", "--report-bindings"] if bound else ["--oversubscribe", "--bind-to", "none"]
        more += ["--allow-run-as-root"] if os.geteuid() == 0 else []
    return ["mpirun", *more, "-np", str(ranks)]
