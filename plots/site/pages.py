"""The renderer of all HTML: the pages of the site, which share a style sheet, and pages that need no other file (the report, the
page of `reproduce`). The templates are in templates/; base.html.j2 is the frame of each."""

import base64
import html
import re
from pathlib import Path

import jinja2
import markupsafe

import rules
import style

HERE = Path(__file__).resolve().parent
NUMBER = re.compile(r"(?:[<≥≤]|at least |at most )?\s*[-−]?\d[\d,.]*(?:e[-+]?\d+)?(?: ?%| [A-Za-z/]+)?(?: \([^)]*\))?")
MARKS = {**dict(zip(rules.WORDS, ("good", "part", "bad", "none"))),
         "pass": "good", "fail": "bad", "error": "bad", "timeout": "part", "oom": "part", "unverified": "part"}


def numeric(rows, header):
    """Of each column whether it holds numbers: most of its cells that are not empty."""
    out = []
    for k in range(len(header)):
        cells = [str(r[k]) for r in rows if str(r[k]) not in ("", "-")]
        out.append(bool(cells) and sum(bool(NUMBER.fullmatch(c)) for c in cells) > 0.6 * len(cells))
    return out


def verdict_class(cell, header):
    """good, part, bad or none for the cell of a column of verdicts or statuses, "" elsewhere."""
    if header not in ("verdict", "status"):
        return ""
    return next((mark for word, mark in MARKS.items() if re.match(rf"{word}\b", str(cell))), "none")


def data_uri(path):
    return "data:image/png;base64," + base64.b64encode(Path(path).read_bytes()).decode()


def in_html(s):
    """Text with **bold** and `code` as HTML."""
    s = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(s, quote=False))
    return markupsafe.Markup(re.sub(r"\*\*([^*]+)\*\*", r"<b>\1</b>", s))


def seconds_text(seconds):
    """Milliseconds with four digits."""
    ms = 1e3 * seconds
    return f"{ms:,.0f}" if ms >= 1e3 else f"{ms:.4g}"


def commas(number):
    return f"{number:,}" if number is not None else "–"


def broken(name):
    """A name that may break after an underscore."""
    return markupsafe.Markup("_<wbr>").join(name.split("_"))


def environment():
    """Jinja2 on the templates; a name that does not exist is an error."""
    env = jinja2.Environment(loader=jinja2.FileSystemLoader(HERE / "templates"), undefined=jinja2.StrictUndefined, trim_blocks=True,
                             lstrip_blocks=True, autoescape=True)
    env.filters |= {"text": in_html, "numeric": numeric, "verdict": verdict_class, "broken": broken, "commas": commas, "ms": seconds_text,
                    "short": lambda x: "–" if x is None else style.short(x)}
    return env


def alone(template, **content):
    """A page with the style sheet in it and no navigation, as text."""
    css = markupsafe.Markup((HERE / "site.css").read_text(encoding="utf-8"))
    return environment().get_template(template).render(css=css, root="", here="", **content)


def write_alone(path, template, **content):
    """Writes such a page; the file appears whole."""
    whole = path.with_name(path.name + ".part")
    whole.write_text(alone(template, **content), encoding="utf-8")
    whole.replace(path)
