#!/usr/bin/env python3
"""Executes the notebooks of this folder in the environment of this Python; an error in a cell is an error.

  execute.py [--out FOLDER] [NAME ...]

--out: where the executed copies go; without it the notebooks here get their outputs.
"""
import argparse
import os
import pathlib
import sys

import nbclient
import nbformat

HERE = pathlib.Path(__file__).resolve().parent


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--out", type=pathlib.Path, default=HERE)
    p.add_argument("names", nargs="*", help="default: all")
    args = p.parse_args()
    # The kernel is this interpreter, whatever kernels are installed.
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
    files = [HERE / f"{n}.ipynb" for n in args.names] or sorted(HERE.glob("*.ipynb"))
    args.out.mkdir(parents=True, exist_ok=True)
    for file in files:
        notebook = nbformat.read(file, as_version=4)
        client = nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(HERE)}})
        client.create_kernel_manager()
        client.km.kernel_spec.argv[0] = sys.executable
        try:
            client.execute()
        except nbclient.exceptions.CellExecutionError as e:
            print(f"{file.name}: {e}", file=sys.stderr)
            return 1
        for cell in notebook.cells:
            cell.get("metadata", {}).pop("execution", None)
        nbformat.write(notebook, args.out / file.name)
        print(f"{file.name}: {sum(c.cell_type == 'code' for c in notebook.cells)} cells ran")
    return 0


if __name__ == "__main__":
    sys.exit(main())
