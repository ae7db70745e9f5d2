#!/usr/bin/env python3
"""Writes answer, picture and table of the paper's figures into experiments/NAME/README.md, from the records that the judge
reads: what stands between the question and "**How measured.**". style_test.py compares the READMEs with it.

  records_readmes.py [NAME...]    all figures that have such a README, without a name"""

import sys
import tempfile
from pathlib import Path

from PIL import Image

import records
import style

EXPERIMENTS = records.ROOT / "experiments"
SOURCES = [path for patterns in records.read_toml(records.ROOT / "paper" / "evidence.toml")["records"].values() for pattern in patterns
           for path in sorted(records.ROOT.glob(pattern))]
BEGIN, END = "\n**Answer.**", "\n**How measured.**"


def names():
    """Figures and tables of the paper that have a README."""
    return [n for n in style.figures() if n.startswith(("fig", "table")) and (EXPERIMENTS / n / "README.md").exists()]


def block(name, folder):
    """Answer, picture and table of a figure, drawn into a folder; Absent if the records have nothing for it."""
    style.draw_figure(name, SOURCES, folder)
    answer, _, rest = (folder / f"{name}.md").read_text(encoding="utf-8").partition("\n\n")
    return f"\n{answer}\n\n![{answer_of(name)}](figure.png)\n\n{rest}"


def answer_of(name):
    """What a picture shows, for readers that do not see it."""
    return " ".join(sys.modules[name].__doc__.split()).rstrip(".")


def readme(name, folder):
    """A README as it should be."""
    text = (EXPERIMENTS / name / "README.md").read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise records.Refused(f"experiments/{name}/README.md lacks {BEGIN.strip()} or {END.strip()}")
    return before + block(name, folder) + end + after


def main(chosen):
    for name in chosen or names():
        with tempfile.TemporaryDirectory() as folder:
            try:
                text = readme(name, Path(folder))
            except records.Absent as e:
                print(f"{name}: {e}", file=sys.stderr)
                continue
            (EXPERIMENTS / name / "README.md").write_text(text, encoding="utf-8")
            with Image.open(Path(folder) / f"{name}.png") as full:
                small = full.convert("RGB").resize((full.width * 5 // 8, full.height * 5 // 8), Image.LANCZOS).quantize(64, Image.Quantize.FASTOCTREE)
            small.save(EXPERIMENTS / name / "figure.png", optimize=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
