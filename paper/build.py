#!/usr/bin/env python3
"""Builds the reproduction report: report.md, a Jinja2 template in Markdown, with the figures that plots/ draws and the
verdicts of claims.py.

  build.py --out FOLDER [--no-pdf]

Judges every claim (claims.jsonl), draws the figures from the records that claims.toml names, then writes report.html, which
needs no other file, report.tex and, where latexmk is, report.pdf, by the templates report.html.j2 and report.tex.j2. report.md has headings,
paragraphs, lists, tables, **bold**, `code`, figures of plots/ as ![CAPTION](NAME), and these calls:

  {{ value("ID") }}       the measured value of a claim of claims.toml; {{ paper("ID") }}: the paper's
  {{ population("ID") }}  its value on the real matrices; {{ population("ID", "median") }}: least, quartile, median,
                          upper_quartile or most of the real matrices, large: of the real matrices with at least 10,000 rows
  {{ older() }}           how many verdicts rest on records that are older than the last change of their judgement
  {{ number("NAME") }}    an expression of [numbers] of claims.toml
  {{ count("NAME") }}      the matrices that it rests on
  {{ tested() }}          the runs of the tests that claims rest on
  {{ rows("NAME") }}      how many rows a table of numbers, or of a figure's points, has; {{ rows("NAME", "COLUMN", X) }}: of
                          them with a number of at most X in a column
  {{ cell("NAME", "COLUMN", KEY, ...) }}  of such a table, the row whose first cells are the keys

and, as paragraphs of their own:

  {{ claims("ITEM") }}    table of the item's claims: paper, here, verdict, why
  {{ table("NAME", ROW, ...) }}  the named rows of such a table; all, if none is named
  {{ scoreboard() }}      verdicts by what they rest on; {{ rules() }}; {{ changes() }}; {{ findings() }}

Exit status 1 if a verdict that evidence.toml states is not what the records say, 2 if something that report.md names does
not exist.
"""

import argparse
import base64
import csv
import html
import re
import shutil
import subprocess
import sys
import traceback
from pathlib import Path

import jinja2
import markupsafe

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT / "plots")]

import claims  # noqa: E402
import rules  # noqa: E402
import headline  # noqa: E402
import records  # noqa: E402
import style  # noqa: E402
from terminal_text import printable  # noqa: E402

# Figures whose records are not those of the claims of their item.
RECORDS_OF = {"fig04_frontier_size": ("frontier", "paper"), "fig17_schedules": ("simulator", "paper"),
              "fig21_chunk_size": ("simulator_chunks", "paper"),
              "fig19_scaling": ("scaling",), "growth": ("growth",), "growth_fits": ("families",), "peers": ("peers",),
              "orderings": ("orderings",)}
# Tables that a figure is drawn from in addition to its records.
BESIDE = {"peers": ["experiments/records/2026-11-22_h200_x2_panels/counts.csv"]}
TABLES = {"supplement_numeric": "experiments/records/2026-11-21_cpu/supplement_numeric.csv"}
# Units of columns whose CSV does not name them, by table.
UNITS = {"peers": {"n": "rows", "nnz (L+U)": "entries", "on ranks": "ms", "ranks": "number", "16 threads": "ms", "1 core": "ms",
                   "panels": "ms", "with digests": "ms", "maxid tuned": "ms", "cuDSS, own order": "ms",
                   "cuDSS, order given": "ms", "1 core / ours": "times", "best CPU / ours": "times",
                   "cuDSS, own order / ours": "times"},
         "supplement_numeric": {"n": "rows", "nnz(A)": "entries", "nnz(L+U)": "entries", "values outside": "entries",
                                "pivots replaced": "number", "solves": "number", "residual": "relative", "Eigen": "relative",
                                "distance to Eigen": "relative", "SuperLU_DIST": "relative"}}
CLAIM_WIDTHS = (0.25, 0.08, 0.12, 0.1, 0.17, 0.28)
FIGURE = re.compile(r"!\[(.*)\]\((\w+)\)")


class Fault(Exception):
    """report.md names something that is not there."""


def number(value):
    if isinstance(value, str):
        return value.replace(",", ", ")
    if value == int(value) and abs(value) < 1e4:
        return str(int(value))
    return f"{value:.3g}" if abs(value) < 100 else f"{value:,.0f}"


class Content:
    """What report.md can call. Tables become blocks of their own: a call returns the mark of its place."""

    def __init__(self, board, figures):
        self.board = board
        self.claims = [j.as_json() for j in board.judged]
        self.numbers = {n["number"]: n for n in board.numbers()}
        self.by_id = {c["id"]: c for c in self.claims}
        self.figures = figures
        self.records_of = {c.item: (c.records,) for c in board.file.claims} | RECORDS_OF
        self.absent = {}  # figures that records have nothing for, with the reason
        self.blocks = []

    def calls(self):
        return {name: getattr(self, "call_" + name) for name in
                ("value", "paper", "population", "older", "number", "count", "tested", "rows", "cell", "claims", "table", "scoreboard", "rules", "changes", "findings")}

    def put(self, header, rows, widths=()):
        self.blocks.append({"kind": "table", "header": header, "rows": rows, "widths": widths})
        return f"@@{len(self.blocks) - 1}@@"

    def claim(self, name):
        if name not in self.by_id:
            raise Fault(f"no claim '{name}'")
        return self.by_id[name]

    def call_value(self, name):
        c = self.claim(name)
        if "measured" not in c:
            raise Fault(f"claim '{name}' has no measured value")
        return number(c["measured"])

    def call_paper(self, name):
        return number(self.claim(name)["paper"])

    def call_number(self, name):
        if "value" not in self.numbers.get(name, {}):
            raise Fault(f"no number '{name}'")
        return number(self.numbers[name]["value"])

    def call_count(self, name):
        if name not in self.numbers:
            raise Fault(f"no number '{name}'")
        return str(self.numbers[name]["matrices"])

    def call_population(self, name, key="value"):
        p = self.claim(name).get("population")
        value = p and (p["large"] or {}).get("value") if key == "large" else p and p.get(key)
        if value is None:
            raise Fault(f"claim '{name}' has no '{key}' on real matrices")
        return number(value)

    def call_older(self):
        """How many verdicts rest at least partly on records that are older than the last change of their judgement."""
        return str(self.board.older())

    def call_tested(self):
        return "; ".join(dict.fromkeys(c["tested"] for c in self.claims if c["tested"])) or "no run"

    def sources(self, name):
        """The files that a figure is drawn from, and the files of real matrices that it shows in addition."""
        if name == "headline":
            return headline.COMMITTED, []
        of = self.records_of.get(name, ("paper",))
        files = [path for entry in of for path in records.files_of(self.board.sources[entry])]
        real = [ROOT / place for entry in of for place in self.board.evidence.population.get(entry, ())]
        return files + [ROOT / place for place in BESIDE.get(name, [])], records.files_of(real)

    def draw(self, name):
        """plots/NAME.py into the folder of figures."""
        if name not in style.figures():
            raise Fault(f"there is no plots/{name}.py")
        try:
            files, real = self.sources(name)
            style.draw_figure(name, files, self.figures, real)
        except records.Absent as e:
            self.absent[name] = str(e).replace(f"{ROOT}/", "")
        except records.Refused as e:
            raise Fault(f"{name} cannot be drawn: {e}") from e

    def call_claims(self, item):
        rows = []
        for c in self.claims:
            if c["item"] != item:
                continue
            here = measured_text(c)
            if c["matrices"] and len(c["asked"]) > 1 and len(c["matrices"]) < len(c["asked"]):
                here += f" on {len(c['matrices'])} of {len(c['asked'])}"
            rows.append((c["says"], f"{number(c['paper'])} {c['unit']}".strip(), here, verdict_text(c),
                         population_text(c), why_text(c)))
        if not rows:
            raise Fault(f"no claims of '{item}'")
        return self.put(("the paper says", "paper, with unit", "here, same unit", "verdict", "real matrices, same unit", "why"), together(rows), CLAIM_WIDTHS)

    def call_scoreboard(self):
        bases, over = self.board.score()
        columns = [b for b in claims.BASES if any(counts[b] for counts in bases.values())]
        names = {"originals": "the paper's own matrix", "stand-ins": "with stand-ins", "test": "a test proves it",
                 "identity": "by construction", "nothing": "no measurement"}
        rows = [(v, str(sum(bases[v].values())), *(str(bases[v][b] or "") for b in columns), str(over[v] or ""))
                for v in claims.VERDICTS if bases[v] or over[v]]
        return self.put(("verdict", "claims, number", *(names.get(b, b) for b in columns), "real population"), rows)

    def call_rules(self):
        """Prose of the rules, and their definitions as a list."""
        parts = claims.RULES.strip().split("\n\n")
        out = []
        for part in parts:
            lines = part.split("\n")
            if lines[0].startswith("  ") and re.match(r"  \S.*?  +\S", lines[0]):
                items = re.split(r"\n  (?=\S)", part[2:])
                out.append("\n".join("- " + re.sub(r"^(\S+(?: \S+)*?)  +", r"**\1**: ", " ".join(i.split("\n")), count=1)
                                     .replace("   ", " ") for i in items))
            else:
                out.append(" ".join(part.split()))
        return "\n\n".join(re.sub(r"  +", " ", p) if not p.startswith("- ") else p for p in out)

    def call_changes(self):
        """What of the judgement was changed after it had been frozen, and which claims that touched."""
        changes = self.board.evidence.changes
        if not changes:
            return "Nothing of the judgement was changed since."
        return self.put(("time", "claims", "reason"),
                        [(c["time_utc"].replace("T", " ").replace(":00Z", ""), ", ".join(c["claims"]) or "none", " ".join(c["reason"].split()))
                         for c in changes], (0.12, 0.3, 0.5))

    def call_findings(self):
        return self.put(("where", "finding"), [(f["where"], " ".join(f["says"].split())) for f in self.board.file.findings],
                        (0.22, 0.72))

    def points(self, name):
        path = ROOT / TABLES[name] if name in TABLES else self.figures / f"{name}.csv"
        if not path.exists():
            raise Fault(f"no table '{name}'")
        with open(path, encoding="utf-8") as f:
            rows = list(csv.reader(f))
        return tuple(rows[0]), [tuple(r) for r in rows[1:]]

    def call_table(self, name, *keys):
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


def measured_text(c):
    """3.25 (3.1 to 3.3), at least 7, BB, BC."""
    if "measured" not in c:
        return "test" if c["tested"] else "-"
    interval = c.get("interval")
    if isinstance(c["measured"], str) or not interval or interval[0] == interval[1]:
        return number(c["measured"])
    low, high = interval
    if low is None or high is None:
        return ("at least " if high is None else "at most ") + number(c["measured"])
    return f"{number(c['measured'])} ({number(low)} to {number(high)})"


def verdict_text(c):
    """With what it rests on."""
    marks = {"stand-ins": "stand-ins" if c["stand_ins"] > 1 else "stand-in", "simulated": "simulated",
             "identity": "by construction"}
    older = "records older than the last change of its judgement" if c["older"] else ""
    return ", ".join(filter(None, (c["verdict"], marks.get(c["basis"], ""), older)))


def why_text(c):
    """What it follows from by construction, and why it differs, or is open."""
    why = {claims.REPRODUCED: "", claims.UNDECIDED: c["reason"]}.get(c["verdict"], c["why"] or c["reason"])
    return ". ".join(text.rstrip(".") for text in (c["by_construction"], why) if text)


def population_text(c):
    """Verdict and aggregate over the real matrices; median, quartiles and extremes."""
    p = c.get("population")
    if not p:
        return ""
    value = f"{p['verdict']}: {measured_text({'measured': p['value'], 'interval': p['interval']})}; " if p["verdict"] else ""
    large = p["large"]
    if large and large["matrices"] and large["matrices"] < p["matrices"]:
        value += (f"of {rules.LARGE:,} rows and more {measured_text({'measured': large['value'], 'interval': large['interval']})} "
                  f"({large['matrices']}); ")
    if p["share"] is not None:
        return f"{value}it holds on {100 * p['share']:.0f} % of {p['matrices']}"
    return (f"{value}median {number(p['median'])}, quartiles {number(p['quartile'])} and {number(p['upper_quartile'])}, "
            f"{number(p['least'])} to {number(p['most'])} on {p['matrices']}")


def together(rows):
    """Neighbouring rows that were not measured for one reason become one."""
    out = []
    for r in rows:
        last = out[-1] if out else None
        if last and r[3] in (claims.ELSEWHERE, claims.NOT_RUN) and r[3:] == last[3:]:
            out[-1] = (f"{last[0]}; {r[0]}", f"{last[1]}; {r[1]}", f"{last[2]}; {r[2]}" if r[2] != "-" else last[2],
                       *last[3:])
        else:
            out.append(r)
    return out


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


NUMBER = re.compile(r"(?:[<≥≤]|at least |at most )?\s*[-−]?\d[\d,.]*(?:e[-+]?\d+)?(?: ?%| [A-Za-z/]+)?(?: \([^)]*\))?")
MARKS = {claims.REPRODUCED: "good", claims.SHAPE_ONLY: "part", claims.DIRECTION_ONLY: "part", claims.UNDECIDED: "part",
         claims.NOT_REPRODUCED: "bad", claims.INCOMPLETE: "none", claims.NOT_RUN: "none", claims.ELSEWHERE: "none",
         "pass": "good", "fail": "bad", "error": "bad", "timeout": "part", "oom": "part", "unverified": "part"}


def numeric(rows, header):
    """Of each column whether it holds numbers: most of its cells that are not empty."""
    out = []
    for k in range(len(header)):
        cells = [str(r[k]) for r in rows if str(r[k]) not in ("", "-")]
        out.append(bool(cells) and sum(bool(NUMBER.fullmatch(c)) for c in cells) > 0.6 * len(cells))
    return out


def verdict_class(cell, header):
    """good, part, bad or none for the cell of a column of verdicts or statuses, "" elsewhere. The cell shows the words as well."""
    if header not in ("verdict", "status"):
        return ""
    return next((mark for word, mark in MARKS.items() if re.match(rf"{word}\b", str(cell))), "none")


def data_uri(path):
    return "data:image/png;base64," + base64.b64encode(Path(path).read_bytes()).decode()


def in_html(s):
    """Text with **bold** and `code` as HTML."""
    s = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(s, quote=False))
    return markupsafe.Markup(re.sub(r"\*\*([^*]+)\*\*", r"<b>\1</b>", s))


ESCAPES = {"\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
           "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
           "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}


def in_latex(s):
    """Text with **bold** and `code` as LaTeX."""
    s = re.sub(r"`([^`]+)`", r"\\texttt{\1}", "".join(ESCAPES.get(c, c) for c in s))
    return re.sub(r"\*\*([^*]+)\*\*", r"\\textbf{\1}", s)


def environment(**how):
    """Jinja2 on the templates of this folder; a name that does not exist is an error."""
    return jinja2.Environment(loader=jinja2.FileSystemLoader(HERE), undefined=jinja2.StrictUndefined, trim_blocks=True,
                              lstrip_blocks=True, keep_trailing_newline=True, **how)


def html_environment():
    env = environment(autoescape=True)
    env.filters |= {"text": in_html, "numeric": numeric, "verdict": verdict_class}
    return env


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


def build(board, out):
    """report.html and report.tex with their figures in a folder. Standard error names each figure and page."""
    content = Content(board, out)
    for _, name in FIGURE.findall((HERE / "report.md").read_text(encoding="utf-8")):
        say(f"figure {name}")
        content.draw(name)
    parts = blocks(filled("report.md", content.calls()), content.blocks, content.absent)
    images = {b["name"]: data_uri(out / f"{b['name']}.png") for b in parts if b["kind"] == "figure"}
    for env, template in ((html_environment(), "report.html.j2"), (latex_environment(), "report.tex.j2")):
        page = env.get_template(template).render(title=parts[0]["text"], blocks=parts, images=images)
        say(template.removesuffix(".j2"))
        whole = out / (template.removesuffix(".j2") + ".part")
        whole.write_text(page, encoding="utf-8")
        whole.replace(whole.with_suffix(""))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out", required=True, type=Path)
    p.add_argument("--no-pdf", action="store_true")
    args = p.parse_args()
    try:
        args.out.mkdir(parents=True, exist_ok=True)
        board = claims.Board()
        (args.out / "claims.jsonl").write_text(claims.json_text(board), encoding="utf-8")
        if problems := board.problems():
            print(*map(printable, problems), sep="\n", file=sys.stderr)
            print("build.py: error: paper/evidence.toml is not what the records say", file=sys.stderr)
            return 1
        build(board, args.out)
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
