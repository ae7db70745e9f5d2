"""Builds the report from the committed records and looks at what came out."""

import contextlib
import io
import json
import re
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "plots")]

import build
import claims
import pages
import style


class ReportTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.out = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        # Files are as many and as complete with fewer pixels.
        with style.plt.rc_context({"savefig.dpi": 60}):
            cls.code, cls.said, cls.errors = cls.build(cls.out)
        cls.source = (HERE / "report.md").read_text()

    @staticmethod
    def build(folder):
        out, err = io.StringIO(), io.StringIO()
        with (mock.patch.object(sys, "argv", ["build.py", "--out", str(folder), "--no-pdf"]),
              contextlib.redirect_stdout(out), contextlib.redirect_stderr(err)):
            return build.main(), out.getvalue(), err.getvalue()

    def test_it_is_built(self):
        self.assertEqual(self.code, 0, self.errors)
        self.assertEqual(self.said, f"{self.out / 'report.html'}\n")

    def test_the_answers_come_first_and_every_statement_stands_in_it(self):
        page = (self.out / "report.html").read_text()
        items = set(re.findall(r'\{\{ claims\("(\w+)"\) \}\}', self.source))
        judged = json.loads((self.out / "claims.json").read_text())
        first = [page.index(str(pages.in_html(row[0]))) for row in judged["table"]]
        self.assertEqual(first, sorted(first))
        self.assertLess(first[-1], page.index('id="ten-questions"'))
        for s in [s for q in judged["questions"] for s in q["statements"]]:
            self.assertIn(str(pages.in_html(s["says"])), page, s["id"])
        for s in judged["appendix"]:
            self.assertIn(s["item"], items, s["id"])
            self.assertIn(str(pages.in_html(s["says"])), page, s["id"])
        for left in ("{{", "}}", "@@", "]("):
            self.assertNotIn(left, page)

    def test_the_page_needs_no_other_file_and_its_anchors_exist(self):
        page = (self.out / "report.html").read_text()
        self.assertNotRegex(page, r'(src|href)="(?!data:|#)')
        anchors, ids = re.findall(r'href="#([^"]+)"', page), re.findall(r' id="([^"]+)"', page)
        self.assertGreater(len(anchors), 30)
        self.assertEqual(set(anchors) - set(ids), set())
        self.assertEqual(len(ids), len(set(ids)))
        self.assertIn('<meta name="viewport" content="width=device-width', page)
        self.assertIn("prefers-color-scheme: dark", page)
        self.assertLess(page.index('id="ten-questions"'), page.index('id="the-best-result"'))
        self.assertLess(page.index('id="findings-in-the-paper-itself"'), page.index('id="changes-of-the-judgement"'))
        self.assertIn('<td class="v none" data-label="verdict">cannot be tested here', page)
        self.assertFalse(list(self.out.glob("*.part")))

    def test_both_forms_have_every_figure(self):
        names = [name for _, name in build.FIGURE.findall(self.source)]
        self.assertGreater(len(names), 15)
        html, tex = (self.out / "report.html").read_text(), (self.out / "report.tex").read_text()
        absent = re.findall(r"\(Not drawn: ", html)
        names = [name for name in names if (self.out / f"{name}.png").exists() or not absent]
        self.assertGreater(len(names), 15)
        self.assertEqual(len(names) + len(absent), len(build.FIGURE.findall(self.source)))
        for name in names:
            self.assertEqual(html.count(f'<figure id="{name}"><img class="figure inverted" src="data:image/png;base64,'), 1, name)
            self.assertIn(f"{name}.pdf", tex)
            for kind in ("png", "pdf", "csv"):
                self.assertGreater((self.out / f"{name}.{kind}").stat().st_size, 50, f"{name}.{kind}")

    def test_what_is_not_there_is_named_with_its_line(self):
        content = build.Content(claims.Judge({}), self.out)
        for text, mention in (('{{ table("no") }}', "no table 'no'"), ('{{ table("supplement_numeric", "no") }}', "does not have all"),
                              ("{{ no_such() }}", "'no_such'"), ('{{ rows("supplement_numeric", "no", 1) }}', "no column 'no'"),
                              ("{{ rows( }}", "unexpected"), ("{{ rows() }}", "rows")):
            with self.subTest(text), tempfile.TemporaryDirectory() as folder:
                (Path(folder) / "bad.md").write_text("# a\n\n" + text + "\n")
                with mock.patch.object(build, "HERE", Path(folder)), self.assertRaises(build.Fault) as raised:
                    build.filled("bad.md", content.calls())
                self.assertIn("bad.md:3: ", str(raised.exception))
                self.assertIn(mention, str(raised.exception))
        with self.assertRaisesRegex(build.Fault, "no plots/no_such.py"):
            content.draw("no_such")

    def test_old_answers_end_it(self):
        nothing = claims.Judge({})
        with (mock.patch.object(claims, "Judge", return_value=nothing), mock.patch.object(claims, "is_current", return_value=False),
              tempfile.TemporaryDirectory() as folder):
            code, _, errors = self.build(Path(folder))
        self.assertEqual(code, 1)
        self.assertIn("answers.json", errors)


class Figures(unittest.TestCase):
    def test_records_of_a_figure(self):
        content = build.Content(claims.Judge({}), Path())
        self.assertEqual([f.name for f in content.sources("growth")], ["growth.jsonl"])
        self.assertEqual(content.sources("fig10_fill2"), content.files("judgement") + content.files("simulator"))

    def test_a_figure_without_records_is_said_to_be_so(self):
        part, = build.blocks("![a](fig)", [], {"fig": "no runs of x"})
        self.assertEqual(part, {"kind": "paragraph", "text": "(Not drawn: no runs of x.)"})


class Templates(unittest.TestCase):
    BLOCKS = ("# T & 1\n\nA **b** `c_d` <e>.\n\n- one\n- two\n  more\n\n| a | b |\n|---|---|\n| 1 | 50 % |\n\n![x_y](fig)\n\n"
              "@@0@@\n\n## S")

    def render(self, env, template):
        parts = build.blocks(self.BLOCKS, [{"kind": "table", "header": ("h",), "rows": [("r",)], "widths": (0.5,)}])
        return env.get_template(template).render(title="T", blocks=parts, images={"fig": "data:image/png;base64,AA=="}, css="x", root="", here="")

    def test_html(self):
        page = self.render(pages.environment(), "report.html.j2")
        for part in ('<h1 id="t-1">T &amp; 1</h1>', '<li><a href="#s">S</a></li>', "<p>A <b>b</b> <code>c_d</code> &lt;e&gt;.</p>",
                     '<h2 id="s"><a class="self" href="#s">S</a></h2>', "<ul><li>one</li><li>two\n  more</li></ul>",
                     '<th class="n">a</th><th class="n">b</th>', '<td class="n" data-label="a">1</td><td class="n" data-label="b">50 %</td>',
                     'src="data:image/png;base64,AA==" alt="x_y">', '<td data-label="h">r</td>'):
            self.assertIn(part, page)

    def test_verdicts_have_a_colour_and_anchors_differ(self):
        for cell, mark in (("holds in size", "good"), ("does not hold", "bad"), ("holds in direction", "part"),
                           ("cannot be tested here", "none"), ("timeout", "part")):
            self.assertEqual(pages.verdict_class(cell, "verdict"), mark)
        self.assertEqual(pages.verdict_class("holds in size", "why"), "")
        ids = [b["id"] for b in build.blocks("# A b\n\n## A, b!\n\n## A b", [])]
        self.assertEqual(ids, ["a-b", "a-b-2", "a-b-3"])

    def test_latex(self):
        page = self.render(build.latex_environment(), "report.tex.j2")
        for part in (r"\LARGE T \& 1\end{center}", r"A \textbf{b} \texttt{c\_d} \textless{}e\textgreater{}.",
                     r"\section{S}", r"\item one", r"\textbf{a} & \textbf{b} \\ \hline", r"1 & 50 \% \\",
                     r"\includegraphics[width=0.92\linewidth]{fig.pdf}", r"p{0.500\linewidth}}", r"p{0.470\linewidth}"):
            self.assertIn(part, page)


if __name__ == "__main__":
    unittest.main()
