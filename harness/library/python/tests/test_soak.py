"""A short run of the soak's part for this package, and that it finds what is wrong."""
import pathlib
import subprocess
import sys

import pytest

PART = pathlib.Path(__file__).resolve().parents[3] / "soak" / "python_part.py"


@pytest.mark.parametrize("more, status", ((["--seconds=2"], 0), (["--cases=6", "--planted"], 1)))
def test_hostile_use(more, status, tmp_path):
    done = subprocess.run([sys.executable, PART, "--seed=1", f"--current={tmp_path / 'case'}", *more], capture_output=True, text=True,
                          timeout=300)
    assert done.returncode == status and ("failed: case " in done.stdout) == (status == 1), done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].endswith(" executions") and (tmp_path / "case").read_text().isdigit()
