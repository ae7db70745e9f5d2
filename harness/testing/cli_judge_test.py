"""Tests of judge, of programs as orders and variants (exec:), and of new."""

import os
import random
import shlex
import shutil
import subprocess
import sys
import time
import unittest
from pathlib import Path

from cli_support import GSOFA, ROOT, OK, FAILED, BAD_INPUT, RUN_FAILED, call, records_of, CliTest

MATRIX, N = "gen:grid5:nx=12,ny=11", 132
HEADER = "%%MatrixMarket matrix coordinate pattern general"
SKELETON = (ROOT / "harness/commands/templates/exec.py.in").read_text()  # an order and a variant
ORDER = """import sys
n = int(next(line for line in open(sys.argv[1]) if line[0] != "%").split()[0])
write = open(sys.argv[2], "w").write
"""


class JudgeTest(CliTest):
    def python(self, text, arguments="", limits=""):
        """The command of a program."""
        path = self.write(f"program_{len(list(self.folder.iterdir()))}.py", text)
        return f"exec:{limits} {sys.executable} {path} {arguments}".replace(": ", ":").strip()

    def judged(self, *args, code=OK):
        done = call("judge", *args)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout

    def numbers(self, name, values):
        return self.write(name, "".join(f"{v}\n" for v in values))


class OrderTest(JudgeTest):
    def test_a_file_is_counted_next_to_other_orders(self):
        order = list(range(N))
        random.Random(1).shuffle(order)
        file = self.numbers("mine.txt", order)
        records = records_of(self.judged("order", MATRIX, file, "--against", "amf,natural", "--json"))
        self.assertEqual([r["order"] for r in records], [file, "amf", "natural"])
        self.assertEqual(records[0]["form"], "text, numbers from 0, old by new")
        lines = self.judged("order", MATRIX, file, "--against", "amf").splitlines()
        row = lines[next(k for k, line in enumerate(lines) if line.startswith(f"{file}  ")) + 1].split()
        mine, amf = (r["result"] for r in records[:2])
        self.assertEqual(row[:2], ["/", "amf"])
        self.assertEqual(float(row[3]), float(f"{mine['flops'] / amf['flops']:.3g}"))
        for change, what in (((5, order[2]), f"bad.txt:6: {order[2]} occurs twice, first at "), ((7, N + 4), f"bad.txt:8: {N + 4} is outside 0..")):
            wrong = list(order)
            wrong[change[0]] = change[1]
            self.assert_refused(BAD_INPUT, "judge", "order", MATRIX, self.numbers("bad.txt", wrong), mention=[what])
        self.assert_refused(BAD_INPUT, "judge", mention=["order or pattern"])

    def test_an_order_is_compared_with_the_best_known_order_of_the_matrix(self):
        best = ROOT / "experiments" / "suites" / "best" / "epb0.perm.gz"
        for matrix in ("epb0", ROOT / "experiments" / "matrices" / "epb0.mtx.gz"):
            out = self.judged("order", matrix, best)
            self.assertRegex(out, r"(?m)^/ best known +1 +1 ")
            self.assertIn("epb0.perm.gz: 1 times the operations of the best known order (--order ", out)
        self.assertRegex(self.judged("order", "epb0", "natural"), r"natural: [\d.e+]+ times the operations of the best known order")
        for matrix, *options in ((MATRIX,), ("epb0", "--match", "maximum")):
            self.assertNotIn("best known", self.judged("order", matrix, "amd", *options))

    def test_a_band_costs_what_its_formulas_say(self):
        """L has 3 entries in each column but the last ones."""
        r = records_of(self.judged("order", "gen:banded:n=40,lower=3,upper=3", self.numbers("same.txt", range(1, 41)), "--json"))[0]["result"]
        counts = [min(3, 39 - k) for k in range(40)]
        flops = sum(c + 2 * c * c for c in counts)
        # The last front, of 4 rows, has the contribution of the column before it; the factors have 36 columns.
        expected = {"flops": flops, "critical_path": flops, "height": 40, "largest_front": 4, "nnz_l": sum(counts),
                    "nnz_u": sum(counts) + 40, "peak_entries": 36 * 7 + 9 + 16}
        self.assertEqual({k: r[k] for k in expected}, expected)

    def test_both_readings_are_compared(self):
        file = self.folder / "amf.perm"
        call("order", "--matrix", MATRIX, "--order", "amf", "--order-out", file)
        order = [int(v) for v in file.read_text().split()]
        inverse = sorted(range(N), key=order.__getitem__)
        file = self.numbers("inverse.txt", inverse)
        self.assertRegex(self.judged("order", MATRIX, file), r"old by new; the other reading \(--inverse\) has [\d.e+]+ operations, 0\.\d+ times")
        digests = {records_of(self.judged("order", MATRIX, *args, "--json"))[0]["result"]["digest"]
                   for args in (("amf",), (file, "--inverse"), (self.numbers("graph.iperm", inverse),))}
        self.assertEqual(len(digests), 1)


class PatternTest(JudgeTest):
    def test_factors(self):
        call("run", "west2021", "--order", "amf", "--variant", "cpu_fill1", "--repeat", "1", "--pattern-out", self.folder)
        orders = ["--perm", self.folder / "west2021.col_order.perm", "--row-perm", self.folder / "west2021.row_order.perm"]
        l, u = (self.folder / f"west2021.cpu_fill1.{factor}.mtx" for factor in "LU")

        def changed(file, edit):
            lines = edit([line for line in file.read_text().splitlines() if line[0] != "%"][1:])
            return self.write(f"changed.{file.name}", "\n".join([HEADER, f"2021 2021 {len(lines)}", *lines]))

        unit = changed(l, lambda lines: lines + [f"{i} {i}" for i in range(1, 2022)])
        for file in (l, unit):
            self.assertIn("L and U: right\nnnz_l ", self.judged("pattern", "west2021", file, u, *orders))
        removed = next(line for line in u.read_text().splitlines()[500:] if len(set(line.split())) == 2)
        i, j = (int(x) - 1 for x in removed.split())
        less = changed(u, lambda lines: [line for line in lines if line != removed])
        self.assertIn(f"L and U: WRONG: ({i},{j}) is missing\n({i},{j}) is in L+U: ",
                      self.judged("pattern", "west2021", l, less, *orders, code=FAILED))
        more = changed(l, lambda lines: [*lines, "2021 1"])
        self.assertIn("(2020,0) is not in the fill\n(2020,0) is not in L+U: ",
                      self.judged("pattern", "west2021", more, u, *orders, code=FAILED))
        self.judged("pattern", "west2021", l, u, code=FAILED)  # of the matrix as it is

    def test_counts_supernodes_and_trees(self):
        """Of an arrow that points to its end: no fill, and the last vertex is the parent of all."""
        pairs = [0, 2] * 8 + [8, 1]
        for option, values in (("counts", [2] * 8 + [1]), ("counts", pairs), ("tree", [8] * 8 + [-1]), ("tree", [8] * 8 + [9]),
                               ("tree", [9] * 8 + [0]), ("supernodes", range(8)), ("supernodes", range(1, 9))):
            self.assertIn(": right", self.judged("pattern", "gen:arrow:n=9", f"--{option}", self.numbers("right", values)))
            wrong = list(values)
            wrong[3] += 1
            self.assertIn(f":4: {wrong[3]} instead of {values[3]}\n",
                          self.judged("pattern", "gen:arrow:n=9", f"--{option}", self.numbers("wrong", wrong), code=FAILED))


class ProgramTest(JudgeTest):
    def test_a_program_is_a_variant(self):
        program, out = self.python(SKELETON), self.folder / "mine.jsonl"
        for _ in range(2):
            done = call("run", MATRIX, "--variant", program, "--variant", "cpu_fill1", "--repeat", "2", "--out", out, "--resume")
            self.assertEqual(done.returncode, OK, done.stderr)
        mine, fill1 = records_of(out.read_text())
        self.assertEqual((mine["variant"], mine["status"], mine["trials"]["warmup"]), (program, "pass", 0))
        self.assertEqual(mine["result"]["digest"], fill1["result"]["digest"])
        self.assertLess(mine["derived"]["reported_us"] / 1e6, min(mine["samples_s"]))
        Path(program.split()[-1]).write_text(SKELETON + "# edited\n")
        self.assertEqual(call("run", MATRIX, "--variant", program, "--repeat", "1", "--out", out, "--resume").returncode, OK)
        self.assertNotEqual(records_of(out.read_text())[2]["options"], mine["options"])
        alone = self.python("import os\nassert set(os.listdir()) == {'matrix.mtx', 'stdout', 'stderr'}\n" + SKELETON)
        self.assertEqual(call("check", "--variant", alone, "--matrix", self.small).returncode, OK)
        wrong = self.python(SKELETON.replace("row |= upper[k]", "pass"), "{matrix} {L} {U}")
        done = call("check", "--variant", wrong, "--patterns", "5", "--save", self.folder / "save")
        self.assertEqual(done.returncode, FAILED, done.stdout + done.stderr)
        again = next(line for line in done.stdout.splitlines() if line.startswith("again: ")).removeprefix("again: ")
        self.assertEqual(subprocess.run(shlex.split(again), capture_output=True, cwd=self.folder).returncode, FAILED)

    def test_a_program_is_an_order(self):
        text = ORDER + 'assert sys.argv[3:5] == ["a,b", "$HOME;*"] and int(sys.argv[5]), sys.argv\nwrite("\\n".join(map(str, range(n, 0, -1))))'
        program = self.python(text, '{matrix} {permutation} "a,b" $HOME;* {threads}')
        done = call("order", "--matrix", MATRIX, "--order", f"amf,{program},natural", "--json")
        amf, mine, natural = records_of(done.stdout)
        self.assertEqual((mine["order"], mine["status"], natural["order"]), (program, "pass", "natural"))
        self.assertGreater(mine["phases_s"]["process"], 0)
        (run,) = self.records("--matrix", MATRIX, "--order", program, "--variant", "cpu_fill1", "--repeat", "1")
        self.assertEqual((run["ordering"]["col"], run["result"]["nnz_l"]), (program, mine["result"]["nnz_l"]))
        self.assertEqual(call("check", "--order", program, "--patterns", "2", "--save", self.folder).returncode, OK)

    def test_programs_that_fail_end_in_one_line_and_lose_nothing(self):
        cases = {
            "crash": ("import os; os.abort()", "", "ends by signal 6"),
            "status": ("raise ValueError('no idea')", "", "ends with status 1: ValueError: no idea"),
            "nothing": ("", "", "the program wrote no {permutation}"),
            "rubbish": (ORDER + 'write("once upon a time")', "", "the program wrote permutation.txt:1: 'once' is not an integer"),
            "pipe": ("import os; os.mkfifo(sys.argv[2])", "", "the program wrote no {permutation}"),
            "twice": (ORDER + 'write("1\\n" * n)', "", "permutation.txt:2: 1 occurs twice"),
            "memory": ("x = bytearray(3 * 10**9)", "memory_mb=1000", "MemoryError"),
            "file": (ORDER + "while True: write('x' * 10**6)", "output_mb=20", "wrote 20 MB, its limit"),
            "stdout": ("while True: print('x' * 10**6)", "output_mb=20", "wrote 20 MB, its limit"),
            "files": ("for k in range(99): open(str(k), 'wb').write(bytes(10**6))\nimport time; time.sleep(99)", "output_mb=20",
                      "wrote 20 MB, its limit"),
            "hang": ("import subprocess; subprocess.run(['sleep', '98.7'], start_new_session=True)", "time_s=1", "passed its limit time_s=1"),
        }
        programs = {name: self.python("import sys\n" + text, "{matrix} {permutation}", limits) for name, (text, limits, _) in cases.items()}
        programs["absent"] = "exec:./no_such_program {matrix} {permutation}"
        temporary = self.folder / "temporary"
        temporary.mkdir()
        begin = time.monotonic()
        done = subprocess.run([GSOFA, "order", "--matrix", MATRIX, "--order", ",".join([*programs.values(), "amf"]), "--json"],
                              capture_output=True, text=True, env=os.environ | {"TMPDIR": str(temporary)}, timeout=200)
        self.assertLess(time.monotonic() - begin, 90)
        self.assertEqual(done.returncode, RUN_FAILED, done.stderr)
        records = {r["order"]: r for r in records_of(done.stdout)}
        self.assertEqual(records["amf"]["status"], "pass")
        for name, program in programs.items():
            with self.subTest(name):
                self.assertEqual(records[program]["status"], "timeout" if name == "hang" else "error")
                self.assertIn(cases[name][2] if name in cases else "cannot start ./no_such_program: No such file", records[program]["reason"])
                self.assertNotIn("\n", records[program]["reason"])
        self.assertEqual(list(temporary.iterdir()), [])
        running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
        self.assertNotIn("sleep 98.7", running)
        self.assert_refused(RUN_FAILED, "run", MATRIX, "--order", programs["twice"], "--variant", "cpu_fill1", mention=["occurs twice"])
        hang = self.python("import time; time.sleep(99)")
        mine, fill1 = self.records(MATRIX, "--variant", hang, "--variant", "cpu_fill1", "--timeout", "1", "--repeat", "1", code=RUN_FAILED)
        self.assertEqual((mine["status"], mine["reason"], fill1["status"]), ("timeout", "passed its time limit", "pass"))
        tiny = self.python(f"import sys\nfor f in sys.argv[2:]: open(f, 'w').write('{HEADER}\\n1 1 1\\n1 1\\n')")
        (mine,) = self.records(MATRIX, "--variant", tiny, code=RUN_FAILED)
        self.assertIn(f"L.mtx: the factor is 1 x 1, the matrix has order {N}", mine["reason"])

    def test_the_matrix_is_no_output(self):
        """It has more than a megabyte."""
        program = self.python(ORDER + 'write("\\n".join(map(str, range(n))))', limits="output_mb=1")
        self.assertEqual(call("order", "--matrix", "gen:grid5:nx=220,ny=100", "--order", program).returncode, OK)

    def test_commands_that_cannot_work_are_refused(self):
        for command, what in (("exec:", "names no program"), ("exec:time_s=0 ./x", "time_s"), ("exec:./x {matrix}", "lacks {permutation}")):
            self.assert_refused(BAD_INPUT, "order", "--matrix", MATRIX, "--order", command, mention=[what])


class NewTest(JudgeTest):
    """Other tests compile and check what it writes: check_test.py, and those of GPU variants on the host."""

    def test_the_printed_commands_go_on(self):
        root = self.folder / "tree"
        shutil.copytree(ROOT / "harness/commands/templates", root / "harness/commands/templates")

        def new(*args):
            return subprocess.run([GSOFA, "new", *args], capture_output=True, text=True, cwd=self.folder, env=os.environ | {"GSOFA_ROOT": str(root)})

        for name, kind, file in (("mine", "cpu", "mine/cpu_mine.cpp"), ("gpu_mine", "gpu", "mine/gpu_mine.cu"), ("mine", "order", "orderings/mine.cpp")):
            out = new(name, "--kind", kind).stdout
            self.assertIn(f'.name = "{Path(file).stem}",', (root / "variants" / file).read_text())
            self.assertIn(f"/{file}, which works", out)
            self.assertEqual(out.count("  ./testbed "), 3 if kind == "gpu" else 2, out)
            self.assertEqual(new(name, "--kind", kind).returncode, BAD_INPUT)
        self.assertEqual(new("../x", "--kind", "cpu").returncode, BAD_INPUT)
        commands = [shlex.split(line) for line in new("mine", "--kind", "exec").stdout.splitlines() if line.startswith("  ")]
        self.assertEqual([c[1] for c in commands], ["run", "judge", "check"])
        for command in commands:
            command = [GSOFA, *({"bcsstk18": MATRIX, "5": "2"}.get(word, word) for word in command[1:])]
            done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder)
            self.assertEqual(done.returncode, OK, done.stdout + done.stderr)
            self.assertIn(" pass ", done.stdout)


if __name__ == "__main__":
    unittest.main()
