#!/usr/bin/env python3
"""Every relative link and picture of the Markdown files leads to a file or folder of the project, and its fragment to a
heading. Markdown files are what git tracks or would add; in an unpacked archive, those outside of build folders."""

import posixpath
import re
import subprocess
import tempfile
import unittest
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parent.parent.parent
TEMPLATES = ("paper/report.md",)  # a Jinja2 template, whose pictures are names of figures


def listed(root):
    """Paths of all files, relative to the root."""
    if (root / ".git").exists():
        out = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                             capture_output=True, text=True, check=True).stdout.split("\0")
    else:
        out = (p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file())
    return sorted(p for p in out if p and not p.startswith("build") and (root / p).is_file())


def prose(text):
    """The text with code blocks and code spans blanked, line by line."""
    inside = False
    for line in text.splitlines():
        fence = line.lstrip().startswith("```")
        yield "" if inside or fence or line.startswith("    ") else re.sub(r"`[^`]*`", lambda m: " " * len(m[0]), line)
        inside ^= fence


def anchors(text):
    """Fragments of the headings, as GitHub makes them."""
    inside = False
    for line in text.splitlines():
        inside ^= line.lstrip().startswith("```")
        heading = None if inside else re.match(r"#+ +(.*)", line)
        if heading:
            plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading[1])
            yield re.sub(r"[^\w\- ]", "", plain.lower()).strip().replace(" ", "-")


def broken(root):
    """(number of relative links, a line for each that leads nowhere)."""
    files = set(listed(root))
    folders = {parent.as_posix() for f in files for parent in Path(f).parents}
    links, faults = 0, []
    for path in sorted(f for f in files if f.endswith(".md") and f not in TEMPLATES):
        text = (root / path).read_text(encoding="utf-8")
        for number, line in enumerate(prose(text), 1):
            for target in re.findall(r"\]\(<?([^)\s>]+)", line) + re.findall(r"^\[[^]]+\]: +(\S+)", line):
                if re.match(r"[a-z]+:", target):
                    continue
                links += 1
                place, _, fragment = unquote(target).partition("#")
                to = posixpath.normpath(f"{posixpath.dirname(path) or '.'}/{place}") if place else path
                if to not in files and to not in folders:
                    faults.append(f"{path}:{number}: {target} does not exist")
                elif fragment and fragment not in anchors((root / to).read_text(encoding="utf-8")):
                    faults.append(f"{path}:{number}: {target}: no such heading")
    return links, faults


class Links(unittest.TestCase):
    def test_every_link_leads_somewhere(self):
        links, faults = broken(ROOT)
        self.assertGreater(links, 50)
        self.assertEqual(faults, [])


class MadeUpTree(unittest.TestCase):
    """That the test above can fail."""

    def faults(self, text):
        with tempfile.TemporaryDirectory() as folder:
            for name, content in (("README.md", text), ("b/README.md", "# A `b` c\n"), ("b/x.png", ""), ("build/y", "")):
                (Path(folder) / name).parent.mkdir(exist_ok=True)
                (Path(folder) / name).write_text(content)
            return broken(Path(folder))[1]

    def test_links(self):
        for good in ("[b](b)", "[b](b/)", "![x](b/x.png)", "[b](b/README.md#a-b-c)", "[w](https://example.org/no)",
                     "`[x](no)`", "```\n[x](no)\n```", "# Here\n[h](#here)", "[b]: b/x.png"):
            self.assertEqual(self.faults(good), [], good)
        for bad in ("[b](c)", "![x](b/y.png)", "[b](b/README.md#no)", "[h](#here)", "[up](../README.md)", "[built](build/y)",
                    "[b]: b/y.png"):
            self.assertRegex(" ".join(self.faults("\n" + bad)), r"^README\.md:2: ", bad)


if __name__ == "__main__":
    unittest.main()
