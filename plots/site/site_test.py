"""Tests of the site: the data step on made-up records, the program, and the built pages in headless Chromium. Exit status 77
without Chromium, which leaves the browser out."""

import contextlib
import csv
import html
import importlib.util
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
SKIPPED = 77
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1] / "paper")]

import cases as data
import board
import machines
import pages
import pictures
import records
import records_example as example
import style

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
A, B = {"id": "a" * 16}, {"id": "b" * 16}
FAST, SLOW = "cpu_fill2_parallel", data.BASELINE
XEON = "Intel(R) Xeon(R) Processor"


def run(variant, seconds, matrix="bcsstk18", machine=A, commit="0", **more):
    device = "peer" if variant == SLOW else variant[:3]
    more.setdefault("time_utc", "2026-11-21T00:00:00Z")
    return example.run(variant=variant, device=device, samples_s=seconds, matrix=matrix, machine=machine,
                       git={"sha": commit * 40, "dirty": False}, wants=[] if device == "peer" else ["counts"],
                       phases_s={"traverse": seconds[0] / 2, "compact": seconds[0] / 2} if seconds else {}, **more)


class DataStep(unittest.TestCase):
    def cases(self, *lines):
        with tempfile.TemporaryDirectory() as folder:
            return data.cases_of(records.read([example.write(Path(folder) / "x.jsonl", *lines)])[0])

    def test_ratios_never_mix_machines(self):
        cases = self.cases(run(SLOW, [8.0]), run(FAST, [2.0]), run(FAST, [1.0], machine=B))
        self.assertEqual({c.machine: r for c, r in data.ratios(cases).items() if c.variant == FAST}, {A["id"] + ".c": 4.0})
        self.assertNotIn((FAST, B["id"] + ".c", "0" * 40), data.summary(cases))

    def test_copies_of_a_virtual_machine_are_machines_of_their_own(self):
        """They have one id, on processors of several kinds."""
        cases = self.cases(run(SLOW, [8.0], cpu="AMD EPYC"), run(FAST, [2.0], cpu="AMD EPYC"), run(FAST, [1.0], cpu="Intel(R) Xeon(R)"))
        self.assertEqual({c.machine: r for c, r in data.ratios(cases).items() if c.variant == FAST}, {A["id"] + ".AMD-EPYC": 4.0})
        self.assertEqual(len({c.machine for c in cases}), 2)

    def test_ratios_never_mix_commits_or_orders(self):
        ordered = {"col": "metis", "digest": "other"}
        cases = self.cases(run(SLOW, [8.0]), run(FAST, [2.0], commit="1"), run(FAST, [2.0], ordering=ordered))
        self.assertEqual([c.variant for c in data.ratios(cases)], [SLOW])

    def test_records_without_an_id_are_of_their_session(self):
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for name, line in (("one", run(SLOW, [8.0], machine={})), ("two", run(FAST, [2.0], machine={}))):
                (Path(folder) / name).mkdir()
                files.append(example.write(Path(folder) / name / "x.jsonl", line))
            cases = data.cases_of(records.read(files)[0])
        self.assertEqual({c.machine for c in cases}, {"one", "two"})
        self.assertEqual(len(data.ratios(cases)), 1)  # of the baseline itself

    def test_geometric_mean_over_common_matrices(self):
        cases = self.cases(run(SLOW, [8.0]), run(FAST, [2.0]), run(SLOW, [9.0], "m"), run(FAST, [1.0], "m"),
                           run(FAST, [1.0], "alone"), run(SLOW, [1.0], "alone too"))
        mean, least, most, count = data.summary(cases)[FAST, A["id"] + ".c", "0" * 40]
        self.assertAlmostEqual(mean, 6)
        self.assertEqual((round(least, 9), round(most, 9), count), (4, 9, 2))

    def test_a_matrix_that_was_prepared_twice_counts_once(self):
        other = {"col": "metis", "digest": "other"}
        cases = self.cases(run(SLOW, [8.0]), run(FAST, [2.0]), run(SLOW, [4.0], ordering=other),
                           run(FAST, [4.0], ordering=other))
        mean, _, _, count = data.summary(cases)[FAST, A["id"] + ".c", "0" * 40]
        self.assertAlmostEqual(mean, 2)
        self.assertEqual(count, 1)

    def test_another_baseline(self):
        cases = self.cases(run(SLOW, [8.0]), run(FAST, [2.0]))
        self.assertEqual({c.variant: r for c, r in data.ratios(cases, FAST).items()}, {FAST: 1, SLOW: 0.25})

    def test_the_baseline_has_no_relaxed_supernodes(self):
        cases = self.cases(run(SLOW, [8.0], options={"relax": 1}), run(SLOW, [4.0], options={"relax": 60}), run(FAST, [2.0]))
        self.assertEqual({c.name: r for c, r in data.ratios(cases).items()}, {f"{SLOW} relax=1": 1, f"{SLOW} relax=60": 2, FAST: 4})

    def test_interval(self):
        once, several = self.cases(run(SLOW, [8.0]), run(FAST, [2.0, 3.0, 2.5, 2.25, 2.75]))[::-1]
        self.assertIsNone(once.interval)
        low, high = several.interval
        self.assertEqual(several.seconds, 2.5)
        self.assertTrue(2 <= low < 2.5 < high <= 3, (low, high))

    def test_lines_of_one_case_are_pooled(self):
        case, = self.cases(run(FAST, [2.0]), run(FAST, [4.0, 3.0]))
        self.assertEqual((sorted(case.samples), case.seconds, len(case.runs)), ([2, 3, 4], 3, 2))

    def test_settings_that_differ_tell_cases_apart(self):
        cases = self.cases(run(FAST, [2.0], options={"sources_per_range": 8}), run(FAST, [3.0]), run(SLOW, [9.0]))
        self.assertEqual([c.name for c in cases], [f"{FAST} sources_per_range=16", f"{FAST} sources_per_range=8", SLOW])
        # An option of a later commit is not a difference.
        older = run(FAST, [2.0])
        del older["options"]["sources_per_range"]
        self.assertEqual({c.name for c in self.cases(older, run(FAST, [3.0], commit="1"))}, {FAST})

    def test_what_does_not_count(self):
        late = run(FAST, [], status="timeout", reason="passed its limit of 60 s")
        gone = (run(FAST, [1.0], status="fail"), run(FAST, [1.0], status="unverified"), run(FAST, [], counting=True),
                run(FAST, [1.0], threads=4, machine=A | {"threads_usable": 1}), run(FAST, [1.0]) | {"wants": ["pattern"]})
        case, = self.cases(late, *gone)
        with tempfile.TemporaryDirectory() as folder:
            read = records.read([example.write(Path(folder) / "x.jsonl", *gone)])[0]
        self.assertEqual([data.why_not(r) for r in read], ["status fail", "status unverified", "work counters, no times",
                                                           "4 threads on 1", "delivers L and U"])
        self.assertEqual((case.seconds, case.limit), (None, 60))
        self.assertEqual(data.ratios([case], FAST), {})

    def test_file_names_stay_distinct(self):
        names = ["gen:a:x=1,y=2", "gen_a_x=1+y=2", "a/b", "a b", "ä", "..", "a%2fb", "Case", "case", "x" * 300, "x" * 301]
        found = data.slugs(names)
        self.assertEqual(len({s.lower() for s in found.values()}), len(names))
        self.assertNotIn("/", "".join(found.values()))
        self.assertLess(max(map(len, found.values())), 200)
        self.assertEqual((found["a/b"], data.slugs(["case"])["case"]), (data.slug("a/b"), "case"))
        self.assertEqual(found["case"], data.slugs(["CASE", "case"])["case"])  # whatever the other is

    def test_standings(self):
        """The leader has most real matrices, of equals the latest commit; few real matrices count with all others."""
        lines = [run(v, [s], m, commit=c, time_utc=f"2026-11-2{c}T00:00:00Z") for m in ("a", "b") for c in "12"
                 for v, s in ((SLOW, 8.0), (FAST, 4.0 / int(c)))]
        lines += [run(v, [1.0], "c", commit="3", time_utc="2026-11-23T00:00:00Z") for v in (SLOW, FAST)]
        for line in lines:
            line["matrix"]["stand_in"] = False
        for v in (SLOW, "cpu_set_union"):
            lines.append(run(v, [1.0], "made", commit="1", time_utc="2026-11-21T00:00:00Z"))
        found = data.standings(self.cases(*lines))
        self.assertEqual([(s.real, s.matrices, s.cases[0].commit[0], round(s.mean, 9)) for s in found[FAST]],
                         [(True, 2, "2", 4), (True, 2, "1", 2), (True, 1, "3", 1)])
        self.assertEqual([(s.real, s.matrices) for s in found["cpu_set_union"]], [(False, 1)])

    def test_times_by_part_of_a_machine(self):
        lines = (run("gpu_maxid", [3.0], commit="1", time_utc="2026-11-21T00:00:00Z", gpus=[{"name": "H", "driver": "1"}]),
                 run("gpu_maxid", [4.0], commit="2", time_utc="2026-11-22T00:00:00Z", gpus=[{"name": "H", "driver": "1"}]),
                 run(FAST, [9.0], threads=8, cpu=XEON), run(FAST, [5.0], threads=16, cpu=XEON), run(SLOW, [6.0], cpu=XEON))
        found = data.by_part(self.cases(*lines))
        self.assertEqual({group.text: [(c.variant, c.seconds) for c in of] for group, of in found.items()}, {
            "One H": [("gpu_maxid", 4)], "Intel Xeon, 1 thread": [(SLOW, 6)], "Intel Xeon, several threads": [(FAST, 5)]})
        self.assertEqual([group.text for group in found], ["One H", "Intel Xeon, 1 thread", "Intel Xeon, several threads"])
        self.assertEqual(machines.part_of(lines[3]).text, "Intel Xeon, 16 threads")

    def test_times_are_of_one_prepared_matrix(self):
        """Of the last source the one with most variants."""
        def of(variant, source, digest, day):
            line = run(variant, [1.0], time_utc=f"2026-11-2{day}T00:00:00Z", ordering={"col": "metis", "digest": digest})
            line["matrix"]["sha256"] = source
            return line
        cases = self.cases(of(FAST, "old", "a", 1), of(SLOW, "old", "a", 1), of("cpu_maxid", "old", "a", 1), of(FAST, "new", "b", 2),
                           of(FAST, "new", "c", 2), of(SLOW, "new", "c", 2))
        self.assertEqual([(c.variant, c.group[1]) for c in data.main_cases(cases)], [(FAST, "c"), (SLOW, "c")])

    def test_orders(self):
        """The latest order of the matrix's own numbering; a time only from files that measure times."""
        def line(order, time, file, **more):
            text = {"kind": "order", "order": order, "time_utc": time, "matrix": {"name": "m"}, **more}
            return records.json_lines.Object(text, f"{data.ROOT}/{file}:1")
        first, busy = line("metis", "1", "times.jsonl"), line("metis", "2", "kinds.jsonl")
        found = data.latest_orders([busy, first, line("metis", "3", "x.jsonl", shuffle=1), line("amd", "1", "kinds.jsonl")], ())
        self.assertEqual(found["m"]["metis"], (busy, first))
        self.assertIsNone(found["m"]["amd"][1])
        self.assertEqual(data.three_orders(dict.fromkeys(("automatic", "amd", "tournament", "metis"))), ["metis", "amd", "tournament"])

    def test_names_of_machines(self):
        gpu = [{"name": "NVIDIA H200", "driver": "13.0"}] * 2
        lines = [run(FAST, [1.0], cpu=XEON, gpus=gpu, machine=B | {"threads_online": 32}, time_utc="2026-11-22T00:00:00Z"),
                 run(FAST, [1.0], cpu="AMD EPYC", machine=A, time_utc="2026-11-21T00:00:00Z")]
        with tempfile.TemporaryDirectory() as folder:
            read = records.read([example.write(Path(folder) / "x.jsonl", *lines)])[0]
        self.assertEqual([m.text() for m in machines.machines_of(read).values()],
                         ["AMD EPYC, host A", "2 × NVIDIA H200, Intel Xeon, 32 threads, host B"])
        self.assertEqual([machines.letters(k) for k in (0, 25, 26, 52, 702)], ["A", "Z", "AA", "BA", "AAA"])

    def test_command(self):
        line = run(FAST, [1.0, 2.0], trials={"repeat": 7, "warmup": 1, "timeout_s": 60.0, "interleaved": True})
        line["matrix"] |= {"source": "BC"}
        line["ordering"] = {"row": "kept", "col": "metis", "seed": -1}
        self.assertEqual(data.command(line), (
            "./testbed gsofa run --matrix bcsstk18 --variant cpu_fill2_parallel --set sources_per_range=16 --threads 1 "
            "--chunk-size 128 --repeat 7 --warmup 1 --timeout 60",
            "its runs took turns with those of the other cases of the matrix"))


class Pictures(unittest.TestCase):
    def test_pattern(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "m.mtx"
            path.write_text("%%MatrixMarket matrix coordinate pattern symmetric\n% note\n3 3 3\n1 1\n3 1\n2 2\n")
            n, rows, columns = data.read_pattern(path)
            path.write_text("%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1.0\n2 1 3\n2 2 4\n")
            general = data.read_pattern(path)
        self.assertEqual((n, sorted(zip(rows, columns))), (3, [(0, 0), (0, 2), (1, 1), (2, 0)]))
        self.assertEqual(data.symmetry(rows, columns), 1)
        self.assertEqual(data.symmetry(*general[1:]), 0)
        self.assertTrue(pictures.pattern_png(n, rows, columns).startswith("data:image/png;base64,iVBOR"))

    def test_scale(self):
        scale = pictures.Scale([0.5, 30])
        self.assertEqual((scale.at(0.1), scale.at(1), scale.at(100)), (0, 33.33, 100))
        self.assertEqual([text for _, text in scale.ticks()], ["0.1", "1", "10", "100"])
        self.assertEqual((pictures.Scale([10]).low, pictures.Scale([10]).high), (1, 2))

    def test_chart(self):
        """Text and colours of the page; each point with a page is a link with a title."""
        drawn = pictures.chart({0: [(10, 0.1, "a<b", "p.html"), (1000, 5, "q", None)],
                                1: [(10, 1, "r", "r.html"), (20, 1, "s", "s.html")]}, "x", "y", "l&m")
        self.assertEqual(re.findall(r'<a xlink:href="([^"]+)"[^>]*><title>([^<]+)</title>', drawn),
                         [("p.html", "a&lt;b"), ("r.html", "r"), ("s.html", "s")])
        self.assertIn('aria-label="l&amp;m"', drawn)
        self.assertTrue({"var(--faint)", "var(--grid)", "var(--s0)", "var(--s1)"} <= set(re.findall(r"var\(--\w+\)", drawn)))
        self.assertNotRegex(drawn, r"#0[0-9]0[0-9]0")
        self.assertIn("<text", drawn)
        self.assertNotRegex(drawn, r' id="\w+_\d+"')


READER = """addEventListener("load", () => {
  const seen = {};
  const style = () => getComputedStyle(document.body).backgroundColor;
  const button = document.getElementById("theme"), before = style();
  button.click();
  seen["the button changes the colours"] = style() !== before;
  button.click();
  seen["and back"] = style() === before;
  document.querySelectorAll("details").forEach((d) => { d.open = true; });
  seen["no page is wider than its window"] = document.documentElement.scrollWidth <= innerWidth;
  document.querySelectorAll("table.sortable").forEach((table, t) => {
    [...table.tHead.rows[0].cells].forEach((th, k) => {
      const number = "number" in th.dataset;
      const values = () => [...table.tBodies[0].rows].map((row) => {
        const text = row.cells[k].dataset.sort ?? row.cells[k].textContent.trim();
        return number ? parseFloat(text.replaceAll(",", "")) : text;
      }).filter((v) => v !== "" && !Number.isNaN(v));
      const order = (a, b) => (number ? a - b : a.localeCompare(b, "en", { numeric: true }));
      const sorted = (v, sign) => v.every((x, i) => !i || sign * order(x, v[i - 1]) >= 0);
      th.querySelector("button").click();
      seen[`table ${t}, column ${k} sorts`] = th.ariaSort === "ascending" && sorted(values(), 1);
      th.querySelector("button").click();
      seen[`table ${t}, column ${k} turns`] = th.ariaSort === "descending" && sorted(values(), -1);
    });
  });
  document.querySelectorAll("[data-filters]").forEach((field) => {
    const rows = [...document.getElementById(field.dataset.filters).tBodies[0].rows];
    field.value = "real BCSSTK";
    field.dispatchEvent(new Event("input"));
    const left = rows.filter((row) => !row.hidden);
    seen["the field filters"] = left.length > 2 && left.length < 20 && left.every((row) => row.textContent.includes("bcsstk"));
  });
  const out = Object.assign(document.createElement("script"), { id: "seen", type: "application/json" });
  out.textContent = JSON.stringify(seen).replaceAll("<", "\\u003c");
  document.body.append(out);
});"""


def site(*args):
    return subprocess.run([sys.executable, str(HERE / "site.py"), *args], capture_output=True, text=True)


def program():
    """site.py as a module; a module of Python has the name `site`."""
    spec = importlib.util.spec_from_file_location("gsofa_site", HERE / "site.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def handlers_kept():
    """Signals do afterwards what they did before."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


class Program(unittest.TestCase):
    def test_a_folder_with_other_files_is_left_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "mine.txt").write_text("x")
            done = site("--out", folder)
            self.assertEqual((done.returncode, os.listdir(folder)), (2, ["mine.txt"]))
            self.assertEqual(done.stderr, f"site.py: error: {folder} is neither an empty folder nor a site\n")
            done = site("--out", f"{folder}/mine.txt")
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)

    def test_a_signal_leaves_the_old_site_and_nothing_else(self):
        module = program()

        class Ended:
            def write(self, out, figures):
                (out / "index.html").write_text("half")
                os.kill(os.getpid(), signal.SIGTERM)

        class Whole:
            def write(self, out, figures):
                (out / "index.html").write_text("new")
                (out / module.MARK).write_text("x")
        with tempfile.TemporaryDirectory() as folder, handlers_kept():
            out = Path(folder) / "site"
            out.mkdir()
            (out / module.MARK).write_text("x")
            (out / "index.html").write_text("old")
            with mock.patch.object(sys, "argv", ["site.py", "--out", str(out)]):
                with mock.patch.object(module, "Site", lambda own: Ended()), self.assertRaises(SystemExit) as ended:
                    module.main()
                self.assertEqual((ended.exception.code, os.listdir(folder)), (128 + signal.SIGTERM, ["site"]))
                self.assertEqual((out / "index.html").read_text(), "old")
                with mock.patch.object(module, "Site", lambda own: Whole()), contextlib.redirect_stdout(io.StringIO()):
                    self.assertEqual(module.main(), 0)
            self.assertEqual(((out / "index.html").read_text(), os.listdir(folder)), ("new", ["site"]))

    def test_an_unknown_figure_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            done = site("--out", f"{folder}/site", "--figures", "fig99")
            self.assertEqual((done.returncode, os.listdir(folder)), (2, []))
            self.assertTrue(done.stderr.startswith("site.py: error: the report has no figure fig99: "), done.stderr)


class Built(unittest.TestCase):
    """The site of the committed records, with some of its figures."""

    FIGURES = ("fig10_fill2", "fig04_frontier_size")

    @classmethod
    def setUpClass(cls):
        cls.out = Path(cls.enterClassContext(tempfile.TemporaryDirectory())) / "site"
        cls.out.mkdir()
        # The test of the report draws all. In this process, which reads the records once.
        own = shutil.copy(board.submissions.FOLDER / "metis" / "records.jsonl", cls.out.parent / "<mine>.jsonl")
        command, err = ["site.py", "--out", str(cls.out), "--with", str(own), "--figures", ",".join(cls.FIGURES)], io.StringIO()
        with (mock.patch.object(sys, "argv", command), mock.patch.object(style, "FORMATS", ("png",)), handlers_kept(),
              contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(err)):
            code = program().main()
        cls.said = err.getvalue()
        if code:
            raise AssertionError(cls.said)
        cls.cases = data.cases_of(records.read(data.counted_files())[0])

    def page(self, name):
        return (self.out / name).read_text(encoding="utf-8")

    def test_sizes(self):
        self.assertLess((self.out / "index.html").stat().st_size, 250_000)
        pages = {p.stem for p in (self.out / "matrix").glob("*.html")}
        names = {r["matrix"]["name"] for r in records.read(data.counted_files())[0]}
        self.assertLessEqual(set(data.slugs(names).values()), pages)
        self.assertIn("stokes_block", pages)  # of which there are orders alone
        for page in (self.out / "matrix").iterdir():
            self.assertLess(page.stat().st_size, 250_000, page.name)

    def test_it_says_what_it_draws(self):
        self.assertEqual(re.findall(r"^site: figure (.*)", self.said, re.M), [n for n in self.report_order() if n in self.FIGURES])
        self.assertIn("site: index.html", self.said)

    @staticmethod
    def report_order():
        return re.findall(r"^!\[.*?\]\((\w+)\)", (data.ROOT / "paper" / "report.md").read_text(encoding="utf-8"), re.M | re.S)

    def test_a_row_for_each_variant(self):
        text = html.unescape(self.page("index.html").replace("<wbr>", ""))
        leaders = {variant: of[0] for variant, of in data.standings(self.cases).items()}
        row = r'<summary class="row"><span class="name"><code>(\w+)</code>.*?<span class="value">([\d.,]+)×</span>'
        rows = re.findall(row, text, re.S)
        self.assertEqual({name: value for name, value in rows}, {name: style.short(s.mean) for name, s in leaders.items()})
        self.assertEqual(len(rows), len(leaders))
        fast = leaders["gpu_bitmap_panels"]
        self.assertGreaterEqual(fast.matrices, 80)
        svg = re.search(r"<svg.*?</svg>", text, re.S)[0]
        self.assertEqual(len(re.findall("<title>[^<]*, gpu_bitmap_panels:", svg)), fast.matrices)

    def test_the_board_has_every_submission_and_the_reader_s_own(self):
        rows = re.findall(r"<tr><td[^>]*>(.*?)</td><td.*?</td><td[^>]*>(.*?)</td>", self.page("board.html").split("<h2>")[0])
        self.assertEqual({name for name, _ in rows}, {s.name for s in board.submissions.committed()} | {"&lt;mine&gt; (your own)"})
        self.assertEqual(dict(rows)["METIS"], dict(rows)["&lt;mine&gt; (your own)"])
        self.assertEqual([r for _, r in rows if r], sorted((r for _, r in rows if r), key=float))

    def test_regret_is_relative_to_the_best_order_on_the_page(self):
        def entry(seconds):
            lines = [line | {"phases_s": {"reported": seconds}, "modelled_s": {"core": 1.0}} for line in metis.lines if line["order"] not in board.submissions.BASES]
            return board.Entry(metis.submission, lines)
        metis = next(e for e in board.entries() if e.submission.name == "METIS")
        fast, slow = entry(1.0), entry(3.0)
        least = board.least_totals([slow, fast])
        self.assertEqual([board.row(e, [], least)[3] for e in (fast, slow)], ["1", "2"])

    def test_growth_has_the_fastest_variant_in_every_panel(self):
        panels = self.page("growth.html").split("<section>")[1:]
        self.assertGreaterEqual(len(panels), 5)
        for panel in panels:
            self.assertRegex(panel, r'class="s0">●</span> <code>gpu_bitmap_panels<')

    def test_machines_have_names(self):
        ids = {r["machine"]["id"] for r in records.read(data.counted_files())[0] if r.get("machine", {}).get("id")}
        for name in ("index.html", "matrices.html", "growth.html", "matrix/bcsstk18.html"):
            text = re.sub(r'href="[^"]*"', "", self.page(name))
            self.assertFalse([i for i in ids if i in text], name)

    def test_links_lead_somewhere_and_nothing_is_loaded_from_elsewhere(self):
        for page in self.out.rglob("*.html"):
            text = page.read_text(encoding="utf-8")
            self.assertNotRegex(text, r'(src|href)="(https?:)?//', page.name)
            for link in re.findall(r'(?:src|href)="([^"#]+)(?:#[^"]*)?"', text):
                if not link.startswith("data:"):
                    target = page.parent / re.sub("%([0-9A-Fa-f]{2})", lambda m: chr(int(m[1], 16)), html.unescape(link))
                    self.assertTrue(target.is_file(), f"{page.name}: {link}")

    def test_every_case_of_a_matrix_is_on_its_page(self):
        mine = [c for c in self.cases if c.matrix == "bcsstk18"]
        text = html.unescape(self.page("matrix/bcsstk18.html"))
        for case in mine:
            self.assertIn(data.command(case.last)[0], text)
            self.assertIn("{}:{}".format(*data.place(case.last)), text)
        self.assertIn("data:image/png", text)
        self.assertGreater(len(mine), 20)

    def test_verdicts_have_words_and_reasons(self):
        text = self.page("figures.html")
        stated = json.loads((data.ROOT / "paper" / "answers.json").read_text(encoding="utf-8"))
        for question, _, here, word in stated["table"]:
            self.assertRegex(text, rf'<td data-label=[^>]*>{re.escape(str(pages.in_html(question)))}</td>.*{re.escape(here)}</td><td class="v [a-z]+"[^>]*>{word}<')
        for s in (s for q in stated["questions"] for s in q["statements"]):
            self.assertRegex(text, rf'>{re.escape(str(pages.in_html(s["says"])))}</td>.*<td class="v [a-z]+"[^>]*>{re.escape(s["word"])}')

    def test_figures_that_were_asked_for_are_shown(self):
        found = re.findall(r'src="figures/([^"]+)"', self.page("figures.html"))
        self.assertEqual(sorted(found), sorted(f"{name}.png" for name in self.FIGURES))

    def test_every_file_of_records_is_named(self):
        text = self.page("made.html")
        for file in (data.ROOT / "experiments" / "records").rglob("*.jsonl"):
            self.assertIn(f'<th scope="row">{file.name}</th>', text)

    def test_cases_csv(self):
        with open(self.out / "cases.csv", encoding="utf-8", newline="") as f:
            rows = list(csv.DictReader(f))
        self.assertEqual(len(rows), len(self.cases))
        ratios = data.ratios(self.cases)
        for row, c in zip(rows, self.cases):
            self.assertEqual((row["matrix"], row["variant"], row["settings"]), (c.matrix, c.variant, c.label))
            self.assertEqual(row["times_symbfact"], f"{ratios[c]:.6g}" if c in ratios else "")

    @unittest.skipUnless(CHROMIUM, "no Chromium: nothing was tested in a browser")
    def test_pages_in_a_browser(self):
        """A copy of each page with a script that uses its controls as a reader would, on a phone."""
        for page in ("index.html", "matrices.html", "matrix/bcsstk18.html", "matrix/wang3.html", "growth.html", "figures.html",
                     "board.html", "made.html"):
            with self.subTest(page), tempfile.TemporaryDirectory() as profile:
                copy = self.out / page.replace(".html", "_test.html")
                copy.write_text(self.page(page).replace("</body>", f"<script>{READER}</script></body>"), encoding="utf-8")
                done = subprocess.run(
                    [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", "--window-size=390,900",
                     "--virtual-time-budget=60000", "--dump-dom", f"file://{copy}"], capture_output=True, text=True, timeout=240)
                copy.unlink()
                found = re.search(r'<script id="seen"[^>]*>(.*?)</script>', done.stdout, re.S)
                self.assertTrue(found, f"{page}: no result\n{done.stderr[-2000:]}")
                seen = json.loads(found[1])
                self.assertEqual([what for what, passed in seen.items() if not passed], [], page)
                self.assertGreaterEqual(len(seen), 3)


def main():
    program = unittest.main(exit=False)
    if not program.result.wasSuccessful():
        return 1
    for _, reason in program.result.skipped:
        print(f"skipped: {reason}")
    return SKIPPED if program.result.skipped else 0


if __name__ == "__main__":
    sys.exit(main())
