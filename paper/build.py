#!/usr/bin/env python3
"""Builds the reproduction report: report.md, a Jinja2 template in Markdown, with the figures that plots/ draws and the
answers of claims.py.

  build.py --out FOLDER [--no-pdf]

Judges the questions (claims.json), draws the figures, then writes report.html, which needs no other file, report.tex and, where
latexmk is, report.pdf. report.md has headings, paragraphs, lists, tables,
**bold**, `code`, figures of plots/ as ![CAPTION](NAME), the script's description if there is no caption, and these calls:

  {{ rows("NAME") }}      how many rows a table of numbers, or of a figure's points, has; {{ rows("NAME", "COLUMN", X) }}: of
                          them with a number of at most X in a column
  {{ cell("NAME", "COLUMN", KEY, ...) }}  of such a table, the row whose first cells are the keys

and, as paragraphs of their own:

  {{ answers() }}         a row for each of the ten questions; {{ questions() }}: their statements; {{ kinds() }}: by kind of matrix
  {{ claims("ITEM") }}    table of the item's statements in the appendix, "" if there are none
  {{ table("NAME", ROW, ...) }}  the named rows of such a table; all, if none is named
  {{ machines() }}        the machines of the records; {{ rules() }}; {{ log() }}: LOG.md

Exit status 1 if answers.json is not what the records say, 2 if something that report.md names does not exist.
"""

import argparse
import collections
import contextlib
import csv
import io
import json
import re
import shutil
import subprocess
import sys
import traceback
from pathlib import Path

import jinja2

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT / "plots"), str(ROOT / "plots" / "site")]

import claims  # noqa: E402
import rules  # noqa: E402
import headline  # noqa: E402
import machines  # noqa: E402
import pages  # noqa: E402
import records  # noqa: E402
import style  # noqa: E402
from terminal_text import printable  # noqa: E402

# Figures that are not drawn from the records of the judgement and of the simulator.
RECORDS_OF = {"growth": ("growth",), "growth_fits": ("families",), "orderings": ("orderings",)}
TABLES = {"supplement_numeric": "experiments/records/2026-11-21_cpu/supplement_numeric.csv"}
# Units of columns whose CSV does not name them, by table.
UNITS = {"supplement_numeric": {"n": "rows", "nnz(A)": "entries", "nnz(L+U)": "entries", "values outside": "entries",
                                "pivots replaced": "number", "solves": "number", "residual": "relative", "Eigen": "relative",
                                "distance to Eigen": "relative", "SuperLU_DIST": "relative"}}
HEADER = ("the paper says", "paper", "here, real matrices", "n", "hosts", "verdict")
WIDTHS = (0.36, 0.08, 0.16, 0.05, 0.06, 0.22)
FIGURE = re.compile(r"!\[(.*)\]\((\w+)\)")


class Fault(Exception):
    """report.md names something that is not there."""


class Content:
    """What report.md can call. Tables become blocks of their own: a call returns the mark of its place."""

    def __init__(self, judge, figures):
        self.judge, self.figures = judge, figures
        self.evidence = records.read_toml(HERE / "evidence.toml")
        self.absent, self.captions = {}, {}  # figures that records have nothing for, with the reason; descriptions of the others
        self.blocks = []

    def calls(self):
        return {name.removeprefix("call_"): getattr(self, name) for name in dir(self) if name.startswith("call_")}

    def put(self, header, rows, widths=()):
        self.blocks.append({"kind": "table", "header": header, "rows": rows, "widths": widths})
        return f"@@{len(self.blocks) - 1}@@"

    def call_answers(self):
        return self.put(("question about the paper's search on a GPU", "paper", "here, real matrices", "verdict"), claims.ten_rows(self.judge.questions)) \
            + f"\n\n{claims.count_text(self.judge.questions)}"

    def call_questions(self):
        """Each question, then its statements."""
        rows = []
        for q in self.judge.questions:
            rows.append((f"**{q['id']}. {q['text']}** {q['says']} ({q['where']}).", "", "", "", "", q["word"]))
            rows += (verdict_row(s) for s in q["statements"])
        return self.put(HEADER, rows, WIDTHS)

    def call_kinds(self):
        """The statements of the questions by kind of matrix."""
        def cell(s, kind):
            found = s["kinds"].get(kind)
            return f"{claims.value_text(found, s)}, n = {found.n}" if found else ""
        rows = [(f"{q['id']}: {s['says']}", *(cell(s, k) for k in rules.KINDS))
                for q in self.judge.questions for s in q["statements"] if s["kinds"]]
        return self.put(("statement", *rules.KINDS), rows, (0.2, *[0.8 / len(rules.KINDS)] * len(rules.KINDS)))

    def call_claims(self, item):
        rows = [(*verdict_row(s), claims.row_of(s)[6]) for s in self.judge.appendix if s["item"] == item]
        return self.put((*HEADER, "other kinds"), rows, (0.28, 0.07, 0.14, 0.04, 0.05, 0.17, 0.18)) if rows else ""

    def call_rules(self):
        """Prose of the rules, and their words as a list."""
        return rules_text()

    def call_log(self):
        """LOG.md without its title."""
        text = (HERE / "LOG.md").read_text(encoding="utf-8").partition("\n")[2].replace("\n## ", "\n### ")
        return re.sub(r"\[([^]]+)\]\([^)]*\)", r"`\1`", text)  # its links lead to files of the tree

    def call_machines(self):
        """A row for each machine whose records count."""
        judged = [r for m in self.judge.measured.values() for r in m.runs]
        shown = records.read_runs(dict.fromkeys(p for entry in self.evidence["figures"] for p in self.files(entry)))
        count, drawn = (collections.Counter(map(machines.key_of, runs)) for runs in (judged, shown))
        return self.put(("machine", "GPUs", "processor", "hardware threads", "driver", "first record", "runs, questions",
                         "runs, figures"), [
            (m.host, m.gpu_text() or "none", machines.processor(m.cpu), m.threads_text() or "-", ", ".join(sorted(m.drivers)) or "-",
             m.first[:10], f"{count[key]:,}", f"{drawn[key]:,}") for key, m in machines.machines_of(judged + shown).items()])

    def sources(self, name):
        """The files that a figure is drawn from."""
        if name == "headline":
            return headline.COMMITTED
        return [file for entry in RECORDS_OF.get(name, ("judgement", "simulator")) for file in self.files(entry)]

    def files(self, entry):
        """Files of an entry of evidence.toml."""
        places = (self.evidence["records"] | self.evidence["figures"])[entry]
        return records.files_of(path for place in places for path in sorted(ROOT.glob(place)))

    def draw(self, name):
        """plots/NAME.py into the folder of figures."""
        if name not in style.figures():
            raise Fault(f"there is no plots/{name}.py")
        try:
            self.captions[name] = style.draw_figure(name, self.sources(name), self.figures)
        except records.Absent as e:
            self.absent[name] = str(e).replace(f"{ROOT}/", "")
        except records.Refused as e:
            raise Fault(f"{name} cannot be drawn: {e}") from e

    def points(self, name):
        path = ROOT / TABLES[name] if name in TABLES else self.figures / f"{name}.csv"
        if not path.exists():
            raise Fault(f"no table '{name}'")
        with open(path, encoding="utf-8") as f:
            rows = list(csv.reader(f))
        return tuple(rows[0]), [tuple(r) for r in rows[1:]]

    def call_table(self, name, *keys):
        if name.removesuffix("_means") in self.absent:
            return ""
        header, rows = self.points(name)
        found = [r for r in rows if not keys or r[0] in keys]
        if keys and len(found) != len(keys):
            raise Fault(f"{name} does not have all of {', '.join(keys)}")
        units = UNITS.get(name, {})
        header = tuple(f"{c}, {units[c]}" if c in units else c for c in header)
        wide = len(header) > 9
        return self.put(header, found, (0.15, *[0.85 / (len(header) - 1) * 0.75] * (len(header) - 1)) if wide else ())

    def call_rows(self, name, column=None, most=None):
        header, rows = self.points(name)
        if column is None:
            return str(len(rows))
        if column not in header:
            raise Fault(f"{name} has no column '{column}'")
        k = header.index(column)
        return str(sum(1 for r in rows if r[k] != "-" and float(r[k]) <= most))

    def call_cell(self, name, column, *keys):
        header, rows = self.points(name)
        if column not in header:
            raise Fault(f"{name} has no column '{column}'")
        found = [r for r in rows if r[:len(keys)] == keys]
        if len(found) != 1:
            raise Fault(f"{name} has {len(found)} rows of {', '.join(keys)}")
        return found[0][header.index(column)]


def verdict_row(s):
    """A row of HEADER, the verdict with its reason."""
    *cells, word, _, reason = claims.row_of(s)
    return (*cells, f"{word}: {reason}" if reason and word == rules.UNTESTED else word)


def rules_text():
    """The rules in Markdown: paragraphs, and the words as a list."""
    out = []
    for part in rules.text().strip().split("\n\n"):
        if part.startswith("  "):
            items = re.split(r"\n  (?=\S)", part[2:])
            out.append("\n".join("- " + re.sub(r"^(\S+(?: \S+)*?)  +", r"**\1**: ", re.sub(r"\n +", " ", i)) for i in items))
        else:
            out.append(" ".join(part.split()))
    return "\n\n".join(out)


def blocks(markdown, placed, absent=()):
    """Headings, paragraphs, lists, tables and figures of a text, for the templates; placed: those that calls put; absent:
    {figure that could not be drawn: why}."""
    out = []
    for block in re.split(r"\n\s*\n", markdown.strip()):
        lines = block.strip().split("\n")
        one = " ".join(line.strip() for line in lines)
        if m := re.fullmatch(r"@@(\d+)@@", one):
            out.append(placed[int(m[1])])
        elif (m := FIGURE.fullmatch(one)) and m[2] in absent:
            out.append({"kind": "paragraph", "text": f"(Not drawn: {absent[m[2]]}.)"})
        elif m := FIGURE.fullmatch(one):
            out.append({"kind": "figure", "caption": m[1].strip(), "name": m[2]})
        elif m := re.match(r"(#+) (.*)", one):
            out.append({"kind": "heading", "level": len(m[1]), "text": m[2], "id": anchor(m[2], out)})
        elif all(line.startswith("- ") or line.startswith("  ") for line in lines):
            items = [i.strip() for i in re.split(r"(?:^|\n)- ", block.strip()) if i.strip()]
            out.append({"kind": "items", "items": items})
        elif lines[0].startswith("|"):
            cells = [[c.strip() for c in line.strip().strip("|").split("|")] for line in lines]
            out.append({"kind": "table", "header": cells[0], "rows": cells[2:], "widths": ()})
        else:
            out.append({"kind": "paragraph", "text": one})
    return out


def anchor(text, before):
    """Lower-case words with hyphens; a number more where a heading before has the same."""
    name = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "section"
    taken = {b["id"] for b in before if b["kind"] == "heading"}
    return next(n for k in range(len(taken) + 1) if (n := f"{name}-{k + 1}" if k else name) not in taken)


ESCAPES = {"\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
           "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
           "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}


def in_latex(s):
    """Text with **bold** and `code` as LaTeX."""
    s = re.sub(r"`([^`]+)`", r"\\texttt{\1}", "".join(ESCAPES.get(c, c) for c in s))
    return re.sub(r"\*\*([^*]+)\*\*", r"\\textbf{\1}", s)


def environment(**how):
    """Jinja2 on the Markdown and LaTeX of this folder; a name that does not exist is an error."""
    return jinja2.Environment(loader=jinja2.FileSystemLoader(HERE), undefined=jinja2.StrictUndefined, trim_blocks=True,
                              lstrip_blocks=True, keep_trailing_newline=True, **how)


def latex_environment():
    env = environment(block_start_string="<%", block_end_string="%>", variable_start_string="<<",
                      variable_end_string=">>", comment_start_string="<#", comment_end_string="#>")
    env.filters["text"] = in_latex
    return env


def filled(template, calls):
    """A Markdown template of this folder with its calls answered; Fault names the line."""
    try:
        return environment().get_template(template).render(calls)
    except jinja2.TemplateSyntaxError as e:
        raise Fault(f"{HERE / template}:{e.lineno}: {e.message}") from e
    except (Fault, jinja2.UndefinedError, TypeError, ValueError) as e:
        lines = [f.lineno for f in traceback.extract_tb(e.__traceback__) if f.filename.endswith(template)]
        raise Fault(f"{HERE / template}:{lines[-1] if lines else '?'}: {e}") from e


def say(text):
    print(f"report: {text}", file=sys.stderr, flush=True)


def content_of(judge, out, chosen=None, said=say):
    """{title, blocks} of report.md for the templates, its figures drawn into a folder. chosen: names of the figures to draw; None: all."""
    content = Content(judge, out)
    for name in figures():
        if chosen is not None and name not in chosen:
            content.absent[name] = "not asked for"
            continue
        said(f"figure {name}")
        with contextlib.redirect_stderr(io.StringIO()):  # names of files in a folder that may still be renamed
            content.draw(name)
    parts = blocks(filled("report.md", content.calls()), content.blocks, content.absent)
    for b in (b for b in parts if b["kind"] == "figure"):
        b["caption"] = b["caption"] or content.captions[b["name"]]
    return {"title": parts[0]["text"], "blocks": parts}


def figures():
    """Names of the figures of report.md."""
    return [name for _, name in FIGURE.findall((HERE / "report.md").read_text(encoding="utf-8"))]


def build(judge, out):
    """report.html and report.tex with their figures in a folder. Standard error names each figure and page."""
    content = content_of(judge, out)
    images = {b["name"]: pages.data_uri(out / f"{b['name']}.png") for b in content["blocks"] if b["kind"] == "figure"}
    say("report.html")
    pages.write_alone(out / "report.html", "report.html.j2", images=images, **content)
    say("report.tex")
    (out / "report.tex").write_text(latex_environment().get_template("report.tex.j2").render(**content), encoding="utf-8")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out", required=True, type=Path)
    p.add_argument("--no-pdf", action="store_true")
    args = p.parse_args()
    try:
        args.out.mkdir(parents=True, exist_ok=True)
        judge = claims.Judge()
        (args.out / "claims.json").write_text(json.dumps(judge.as_json(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        if not claims.is_current(judge):
            print("build.py: error: paper/answers.json is not what the records say; ./testbed claims --write", file=sys.stderr)
            return 1
        build(judge, args.out)
    except (Fault, records.Refused, OSError) as e:
        print(f"build.py: error: {printable(e)}", file=sys.stderr)
        return 2
    print(args.out / "report.html")
    if not args.no_pdf and shutil.which("latexmk"):
        say("report.pdf")
        done = subprocess.run(["latexmk", "-pdf", "-interaction=nonstopmode", "-halt-on-error", "report.tex"],
                              cwd=args.out, capture_output=True, text=True)
        if done.returncode != 0:
            print("build.py: error: latexmk failed:\n" + done.stdout[-2000:], file=sys.stderr)
            return 2
        print(args.out / "report.pdf")
    return 0


if __name__ == "__main__":
    sys.exit(main())
