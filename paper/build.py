"""Builds the reproduction report from report.md, the figures that plots/ drew and what `gsofa claims` says.

  build.py --claims CLAIMS.jsonl --out FOLDER [--no-pdf] [--redraw]

Draws the figures that are not in FOLDER yet (--redraw: all) from the records that claims.toml names, then writes report.html,
report.tex and, where latexmk is, report.pdf. report.md is Markdown (headings,
paragraphs, lists, tables, **bold**, `code`) with these in braces:

  {{value ID}}          the measured value of a claim of claims.toml; {{paper ID}}: the paper's
  {{number NAME}}       an expression of [numbers] of claims.toml
  {{figure NAME|TEXT}}  plots/NAME.py's figure with a caption
  {{claims ITEM}}       table of the item's claims: paper, here, verdict, why
  {{csv NAME ROW...}}    the named rows of a table of numbers, or of a figure's points; all, if none is named;
                         {{rows NAME}}: how many it has, {{rows NAME|COLUMN<=X}}: of
                        them with a number of at most X in a column
  {{scoreboard}}        verdicts by kind; {{findings}}

Exit status 2 if something that report.md names does not exist.
"""

import argparse
import collections
import csv
import html
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
# Figures whose records are not those of the claims of their item.
RECORDS_OF = {"fig19_scaling": "scaling", "growth": "growth", "growth_fits": "families", "peers": "peers"}
# Tables that a figure is drawn from beside its records.
BESIDE = {"peers": ["experiments/records/2026-11-22_h200_x2_panels/counts.csv"]}
TABLES = {"supplement_numeric": "experiments/records/2026-11-21_cpu/supplement_numeric.csv"}
VERDICTS = ("reproduced", "shape only", "not reproduced", "not testable here")


class Fault(Exception):
    """report.md names something that is not there."""


def number(value):
    if isinstance(value, str):
        return value.replace(",", ", ")
    if value == int(value) and abs(value) < 1e4:
        return str(int(value))
    return f"{value:.3g}" if abs(value) < 100 else f"{value:,.0f}"


class Content:
    """What the placeholders stand for."""

    def __init__(self, claims, figures):
        with open(claims, encoding="utf-8") as lines:
            read = [json.loads(line) for line in lines if line.strip()]
        self.claims = [r for r in read if "number" not in r]
        self.numbers = {r["number"]: r for r in read if "number" in r}
        self.by_id = {c["id"]: c for c in self.claims}
        self.figures = figures
        with open(HERE / "claims.toml", "rb") as f:
            stated = tomllib.load(f)
        self.findings = stated.get("finding", [])
        self.records = stated["records"]
        self.records_of = {c["item"]: c.get("records", "paper") for c in stated["claim"]} | RECORDS_OF

    def claim(self, name):
        if name not in self.by_id:
            raise Fault(f"no claim '{name}'")
        return self.by_id[name]

    def number(self, name):
        if "value" not in self.numbers.get(name, {}):
            raise Fault(f"no number '{name}'")
        return number(self.numbers[name]["value"])

    def value(self, name):
        c = self.claim(name)
        if "measured" not in c:
            raise Fault(f"claim '{name}' has no measured value")
        return number(c["measured"])

    def draw(self, name, redraw):
        """plots/NAME.py into the folder of figures."""
        if not redraw and all((self.figures / f"{name}.{k}").exists() for k in ("png", "pdf", "csv")):
            return
        script = ROOT / "plots" / f"{name}.py"
        if not script.exists():
            raise Fault(f"there is no {script}")
        files = []
        for place in self.records[self.records_of.get(name, "paper")]:
            path = ROOT / place
            files += sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
        files += [ROOT / place for place in BESIDE.get(name, [])]
        done = subprocess.run([sys.executable, script, "--records", *files, "--out", self.figures],
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise Fault(f"{name} cannot be drawn: {done.stderr.strip()}")

    def figure(self, name):
        if not (self.figures / f"{name}.png").exists():
            raise Fault(f"no figure {name} in {self.figures}")
        return name

    def claim_rows(self, item):
        rows = []
        for c in self.claims:
            if c["item"] != item:
                continue
            here = number(c["measured"]) if "measured" in c else ("test" if c["test"] else "-")
            basis = ""
            if c["matrices"] and len(c["asked"]) > 1:
                basis = f" on {len(c['matrices'])} of {len(c['asked'])}"
            if c["simulated"]:
                basis += ", simulated"
            elif c["stand_ins"]:
                basis += ", stand-ins" if c["stand_ins"] > 1 else ", stand-in"
            why = c["why"] if c["verdict"] != "reproduced" else ""
            rows.append((c["says"], f"{number(c['paper'])} {c['unit']}".strip(), here,
                         c["verdict"] + basis, why))
        if not rows:
            raise Fault(f"no claims of '{item}'")
        rows = self.together(rows)
        return ("the paper says", "paper", "here", "verdict", "why"), rows

    @staticmethod
    def together(rows):
        """Neighbouring rows that cannot be tested for one reason become one."""
        out = []
        for r in rows:
            last = out[-1] if out else None
            if last and r[3].startswith("not testable") and r[3:] == last[3:]:
                out[-1] = (f"{last[0]}; {r[0]}", f"{last[1]}; {r[1]}", f"{last[2]}; {r[2]}" if r[2] != "-" else last[2],
                           *last[3:])
            else:
                out.append(r)
        return out

    def scoreboard(self):
        kinds = collections.Counter()
        for c in self.claims:
            kind = ("simulated" if c["simulated"] else "test" if c["test"] else
                    "with stand-ins" if c["stand_ins"] else "originals only" if c["matrices"] else "no measurement")
            kinds[(c["verdict"], kind)] += 1
        columns = ("test", "originals only", "with stand-ins", "simulated", "no measurement")
        rows = []
        for v in VERDICTS + tuple({c["verdict"] for c in self.claims} - set(VERDICTS)):
            counts = [kinds[(v, k)] for k in columns]
            rows.append((v, str(sum(counts)), *(str(n) if n else "" for n in counts)))
        return ("verdict", "claims", *columns), rows

    def points(self, name):
        path = ROOT / TABLES[name] if name in TABLES else self.figures / f"{name}.csv"
        if not path.exists():
            raise Fault(f"no table '{name}'")
        with open(path, encoding="utf-8") as f:
            rows = list(csv.reader(f))
        return tuple(rows[0]), [tuple(r) for r in rows[1:]]

    def chosen(self, name, keys):
        header, rows = self.points(name)
        if not keys:
            return header, rows
        found = [r for r in rows if r[0] in keys]
        if len(found) != len(keys):
            raise Fault(f"{name} does not have all of {', '.join(keys)}")
        return header, found

    def count(self, name, condition):
        header, rows = self.points(name)
        if not condition:
            return str(len(rows))
        column, bound = condition.rsplit("<=", 1)
        if column.strip() not in header:
            raise Fault(f"{name} has no column '{column}'")
        k = header.index(column.strip())
        return str(sum(1 for r in rows if r[k] != "-" and float(r[k]) <= float(bound)))


class Html:
    """Writes one page."""

    suffix = "html"

    def text(self, s):
        s = html.escape(s, quote=False)
        s = re.sub(r"`([^`]+)`", r"<code>\1</code>", s)
        return re.sub(r"\*\*([^*]+)\*\*", r"<b>\1</b>", s)

    def heading(self, level, s):
        return f"<h{level}>{self.text(s)}</h{level}>"

    def paragraph(self, s):
        return f"<p>{self.text(s)}</p>"

    def items(self, items):
        return "<ul>" + "".join(f"<li>{self.text(i)}</li>" for i in items) + "</ul>"

    def table(self, header, rows, widths=None):
        head = "".join(f"<th>{self.text(c)}</th>" for c in header)
        body = "".join("<tr>" + "".join(f"<td>{self.text(c)}</td>" for c in r) + "</tr>" for r in rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def figure(self, name, caption):
        return (f'<figure><a href="{name}.pdf"><img src="{name}.png" alt="{html.escape(caption)}"></a>'
                f"<figcaption>{self.text(caption)}</figcaption></figure>")

    def page(self, title, parts):
        style = ("body{font:15px/1.5 Georgia,serif;max-width:52em;margin:2em auto;padding:0 1em;color:#111}"
                 "table{border-collapse:collapse;font-size:12px;margin:1em 0}td,th{border-bottom:1px solid #ccc;"
                 "padding:2px 6px;text-align:left;vertical-align:top}th{border-bottom:1px solid #000}"
                 "img{max-width:100%}figure{margin:1.5em 0}figcaption{font-size:13px;color:#333}code{font-size:90%}")
        return (f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
                f"<style>{style}</style></head><body>" + "\n".join(parts) + "</body></html>\n")


class Latex:
    """Writes one document."""

    suffix = "tex"
    ESCAPES = {"\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
               "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
               "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}

    def text(self, s):
        s = "".join(self.ESCAPES.get(c, c) for c in s)
        s = re.sub(r"`([^`]+)`", r"\\texttt{\1}", s)
        return re.sub(r"\*\*([^*]+)\*\*", r"\\textbf{\1}", s)

    def heading(self, level, s):
        if level == 1:
            return f"\\begin{{center}}\\LARGE {self.text(s)}\\end{{center}}"
        return f"\\{'sub' * (level - 2)}section{{{self.text(s)}}}"

    def paragraph(self, s):
        return self.text(s) + "\n"

    def items(self, items):
        return "\\begin{itemize}\\setlength{\\itemsep}{0pt}" + "".join(
            f"\\item {self.text(i)}\n" for i in items) + "\\end{itemize}"

    def table(self, header, rows, widths=None):
        count = len(header)
        shares = widths or [0.94 / count] * count
        columns = "".join(f">{{\\raggedright\\arraybackslash}}p{{{w:.3f}\\linewidth}}" for w in shares)
        lines = [" & ".join(f"\\textbf{{{self.text(c)}}}" for c in header) + r" \\ \hline\noalign{\vskip 2pt} \endhead"]
        lines += [" & ".join(self.text(c) for c in r) + r" \\" for r in rows]
        return ("{\\fontsize{6.3}{7.3}\\selectfont\\setlength{\\tabcolsep}{2pt}\\setlength{\\LTpre}{2pt}\\setlength{\\LTpost}{2pt}\\begin{longtable}{" + columns + "}\n" +
                "\n".join(lines) + "\n\\end{longtable}}")

    def figure(self, name, caption):
        return ("\\begin{center}\\begin{minipage}{\\linewidth}\\centering\n"
                f"\\includegraphics[width=0.49\\linewidth]{{{name}.pdf}}\\\\\n"
                f"{{\\small {self.text(caption)}}}\\end{{minipage}}\\end{{center}}\n")

    def page(self, title, parts):
        return ("\\documentclass[10pt,a4paper]{article}\n\\usepackage[T1]{fontenc}\\usepackage[utf8]{inputenc}\n"
                "\\usepackage{graphicx,longtable,array}\\usepackage[margin=1.5cm]{geometry}\n"
                "\\setlength{\\parindent}{0pt}\\setlength{\\parskip}{4pt}\n\\begin{document}\n" +
                "\n\n".join(parts) + "\n\\end{document}\n")


CLAIM_WIDTHS = (0.29, 0.09, 0.07, 0.16, 0.35)


def render(source, content, writer):
    """The parts of report.md in the writer's language."""

    def fill(s):
        s = re.sub(r"\{\{value ([^}]+)\}\}", lambda m: content.value(m.group(1).strip()), s)
        s = re.sub(r"\{\{number (\w+)\}\}", lambda m: content.number(m.group(1)), s)
        s = re.sub(r"\{\{rows (\w+)(?:\|([^}]*))?\}\}", lambda m: content.count(m.group(1), m.group(2)), s)
        return re.sub(r"\{\{paper ([^}]+)\}\}",
                      lambda m: number(content.claim(m.group(1).strip())["paper"]), s)

    parts = []
    for block in re.split(r"\n\s*\n", source.strip()):
        lines = block.strip().split("\n")
        one = " ".join(line.strip() for line in lines)
        if m := re.fullmatch(r"\{\{figure (\w+)\s*\|(.*)\}\}", one):
            parts.append(writer.figure(content.figure(m.group(1)), fill(m.group(2).strip())))
        elif m := re.fullmatch(r"\{\{claims (\w+)\}\}", one):
            parts.append(writer.table(*content.claim_rows(m.group(1)), CLAIM_WIDTHS))
        elif m := re.fullmatch(r"\{\{csv (\w+)(.*)\}\}", one):
            header, rows = content.chosen(m.group(1), m.group(2).split())
            wide = len(header) > 9
            widths = (0.15, *[0.85 / (len(header) - 1) * 0.75] * (len(header) - 1)) if wide else None
            parts.append(writer.table(header, rows, widths))
        elif one == "{{scoreboard}}":
            parts.append(writer.table(*content.scoreboard()))
        elif one == "{{findings}}":
            parts.append(writer.table(("where", "finding"), [(f["where"], " ".join(f["says"].split()))
                                                             for f in content.findings], (0.22, 0.72)))
        elif m := re.match(r"(#+) (.*)", one):
            parts.append(writer.heading(len(m.group(1)), fill(m.group(2))))
        elif all(line.startswith("- ") or line.startswith("  ") for line in lines):
            parts.append(writer.items([fill(i.strip()) for i in re.split(r"(?:^|\n)- ", block.strip()) if i.strip()]))
        elif lines[0].startswith("|"):
            cells = [[fill(c.strip()) for c in line.strip().strip("|").split("|")] for line in lines]
            parts.append(writer.table(cells[0], cells[2:]))
        else:
            parts.append(writer.paragraph(fill(one)))
    left = [p for p in parts if "{{" in p]
    if left:
        raise Fault(f"not understood: {left[0][:80]}")
    return parts


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--claims", required=True, type=Path)
    p.add_argument("--out", required=True, type=Path)
    p.add_argument("--no-pdf", action="store_true")
    p.add_argument("--redraw", action="store_true")
    args = p.parse_args()
    source = (HERE / "report.md").read_text(encoding="utf-8")
    try:
        args.out.mkdir(parents=True, exist_ok=True)
        content = Content(args.claims, args.out)
        for name in re.findall(r"\{\{figure (\w+)", source):
            content.draw(name, args.redraw)
        title = re.match(r"# (.*)", source).group(1)
        for writer in (Html(), Latex()):
            page = writer.page(title, render(source, content, writer))
            (args.out / f"report.{writer.suffix}").write_text(page, encoding="utf-8")
    except (Fault, OSError, json.JSONDecodeError) as e:
        print(f"build.py: error: {e}", file=sys.stderr)
        return 2
    print(args.out / "report.html")
    if not args.no_pdf and shutil.which("latexmk"):
        done = subprocess.run(["latexmk", "-pdf", "-interaction=nonstopmode", "-halt-on-error", "report.tex"],
                              cwd=args.out, capture_output=True, text=True)
        if done.returncode != 0:
            print("build.py: error: latexmk failed:\n" + done.stdout[-2000:], file=sys.stderr)
            return 2
        print(args.out / "report.pdf")
    return 0


if __name__ == "__main__":
    sys.exit(main())
