"""Runs the MPI peer under mpirun with one rank. Exit status 77 where that is impossible."""

import json
import os
import shutil
import subprocess
import sys

GSOFA = os.environ.get("GSOFA", "gsofa")
VARIANT = "peer_superlu_dist"
SKIPPED = 77


def skip(reason):
    print(f"skipped: {reason}")
    return SKIPPED


def main():
    variants = json.loads(subprocess.run([GSOFA, "list", "--json"], check=True, capture_output=True,
                                         text=True).stdout)
    peer = next((v for v in variants if v["name"] == VARIANT), None)
    if peer is None:
        return skip(f"no variant {VARIANT}")
    if not peer["available"]:
        return skip(peer["reason"])
    mpirun = shutil.which("mpirun")
    if mpirun is None:
        return skip("no mpirun")
    launch = [mpirun, "-np", "1"]
    version = subprocess.run([mpirun, "--version"], capture_output=True, text=True).stdout
    if "Open MPI" in version and os.geteuid() == 0:
        launch.append("--allow-run-as-root")
    done = subprocess.run(
        [*launch, GSOFA, "run", "--matrix", "gen:grid5:nx=12,ny=11", "--variant", VARIANT, "--json"],
        capture_output=True, text=True, timeout=200)
    print(done.stderr, file=sys.stderr)
    if done.returncode != 0:
        print(f"mpirun ended with {done.returncode}")
        return 1
    (record,) = [json.loads(line) for line in done.stdout.splitlines()]
    # The peer may report a superset of the fill, which leaves it unverified.
    if record["status"] not in ("pass", "unverified") or record["mpi"]["ranks"] != 1:
        print(json.dumps(record, indent=2))
        return 1
    print(f"{VARIANT}: {record['status']} under mpirun")
    return 0


if __name__ == "__main__":
    sys.exit(main())
