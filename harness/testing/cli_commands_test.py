"""Tests of the other commands: list, order, show, prepare, info, check, and of help."""

import json
import os
import subprocess
import sys
import unittest

from cli_support import (GSOFA, GSOFA_COUNTING, ROOT, OK, FAILED, BAD_INPUT, UNAVAILABLE, SINGULAR, RECTANGULAR,
                         call, file_size_limit, records_of, worked_example, CliTest)


class MatchTest(CliTest):
    def test_a_table_of_checked_matchings(self):
        done = call("match", "gen:grid5:nx=6", "--matching", "maximum,symmetric,weighted", "--repeat", "2")
        self.assertEqual(done.returncode, OK, done.stderr)
        rows = [line.split() for line in done.stdout.splitlines()[1:4]]
        self.assertEqual([row[:2] for row in rows], [[name, "pass"] for name in ("maximum", "symmetric", "weighted")])
        self.assertEqual([row[3] for row in rows], ["36"] * 3)

    def test_the_matched_rows_can_be_written(self):
        matrix = self.write("shifted.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 3\n1 2\n2 3\n3 1\n")
        file = self.folder / "rows"
        self.assertEqual(call("match", matrix, "--matching", "symmetric", "--rows-out", file).returncode, OK)
        self.assertEqual(file.read_text(), "2\n0\n1\n")
        two = call("match", matrix, "--rows-out", file)
        self.assertEqual((two.returncode, len(two.stderr.splitlines())), (BAD_INPUT, 1), two.stderr)

    def test_values_decide_and_singular_matrices_have_a_rank(self):
        head = "%%MatrixMarket matrix coordinate real general\n"
        weighs = call("match", self.write("weighs.mtx", head + "2 2 4\n1 1 1e-9\n1 2 2\n2 1 3\n2 2 1\n"), "--matching", "weighted,maximum")
        self.assertEqual(weighs.returncode, OK, weighs.stderr)
        self.assertEqual([line.split()[5] for line in weighs.stdout.splitlines()[1:3]], ["1", "3.33e-10"])
        singular = call("match", self.write("singular.mtx", SINGULAR), "--matching", "symmetric")
        self.assertEqual((singular.returncode, singular.stdout.splitlines()[1].split()[3]), (OK, "1"))

    def test_bad_input_is_one_line(self):
        nan = self.write("nan.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 nan\n")
        for arguments, words in (((nan, "--matching", "weighted"), "row 2, column 2: the value is not a number"), (("gen:grid5:nx=3", "--matching", "weihgted"), "did you mean 'weighted'"),
                                 ((self.write("rectangular.mtx", RECTANGULAR),), "square")):
            done = call("match", *arguments)
            self.assertEqual(done.returncode, BAD_INPUT, done.stdout)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertIn(words, done.stderr)


class ListTest(CliTest):
    def test_json_is_an_array_of_objects_with_names(self):
        done = call("list", "--json")
        self.assertEqual(done.returncode, OK)
        variants = json.loads(done.stdout)
        names = [v["name"] for v in variants]
        self.assertIn("cpu_gilbert_peierls", names)
        self.assertFalse([n for n in names if n.startswith("planted_")])
        for v in variants:
            for key in ("device", "summary", "citation", "gives", "options", "available", "reason"):
                self.assertIn(key, v)
            self.assertEqual(v["available"], v["reason"] == "")
            for o in v["options"]:
                self.assertIn(o["type"], ("bool", "int", "choice"))
                self.assertIn("default", o)

    def test_the_readme_counts_the_variants(self):
        devices = [v["device"] for v in json.loads(call("list", "--json").stdout)]
        peers = devices.count("peer")
        self.assertIn(f"lists {len(devices) - peers} variants and {peers} peers", " ".join((ROOT / "README.md").read_text().split()))

    def test_planted_ones_are_listed_on_request(self):
        planted = [v for v in json.loads(call("list", "--json", "--planted").stdout) if v["planted"]]
        self.assertGreaterEqual(len(planted), 7)

    def test_orders_are_listed_on_request(self):
        orders = {o["name"]: o for o in json.loads(call("list", "--orders", "--json").stdout)}
        self.assertIn("metis", orders)
        self.assertFalse([n for n in orders if n.startswith("planted_")])
        self.assertEqual(orders["gpu_nested_dissection"]["same_as"], "cpu_nested_dissection")
        done = call("list", "--orders", "-v")
        self.assertEqual(done.returncode, OK)
        self.assertIn("cpu_nested_dissection:leaf_order=120", done.stdout)

    def test_text_is_a_line_for_each_variant(self):
        names = [v["name"] for v in json.loads(call("list", "--json").stdout)]
        lines = call("list").stdout.splitlines()
        self.assertEqual([line.split()[0] for line in lines[1:len(names) + 1]], names)
        lacking = lines[len(names) + 1:]
        for line in lacking:
            self.assertTrue(line.startswith("unavailable here: "), line)
        orders = [o["name"] for o in json.loads(call("list", "--orders", "--json").stdout)]
        lines = call("list", "--orders").stdout.splitlines()
        self.assertEqual([line.split()[0] for line in lines[1:len(orders) + 1]], orders)

    def test_verbose_text_shows_options(self):
        done = call("list", "--verbose")
        self.assertEqual(done.returncode, OK)
        self.assertIn("cpu_maxid", done.stdout)
        self.assertIn("--set ", done.stdout)


    def test_all_about_one(self):
        """`list NAME` has what `list -v` has of it, and a word may select several, or name an order."""
        lines = call("list", "-v").stdout.splitlines()
        begin = next(k for k, line in enumerate(lines) if line.startswith("cpu_maxid  ["))
        end = next((k for k in range(begin + 1, len(lines)) if lines[k][0] != " "), len(lines))
        done = call("list", "cpu_maxid")
        self.assertEqual((done.returncode, done.stdout.splitlines()), (OK, lines[begin:end]))
        for text in ("[cpu, threads]", "source: ", "gives: counts, digest", "--set line_9_5=false  (bool, true|false) ",
                     "concurrent_sources=0  (int, 0..1048576) "):
            self.assertIn(text, done.stdout)
        (one,) = json.loads(call("list", "cpu_maxid", "--json").stdout)
        self.assertEqual(one, next(v for v in json.loads(call("list", "--json").stdout) if v["name"] == "cpu_maxid"))
        names = [v["name"] for v in json.loads(call("list", "cpu_fill*,amd", "planted_over_fill", "--json").stdout)]
        self.assertEqual((names[0], names[-2:]), ("cpu_fill1", ["planted_over_fill", "amd"]))
        self.assertIn("computed by: METIS", call("list", "--orders", "metis").stdout)
        for words in (["cpu_maxod"], ["cpu_fill1", "cpu_maxod"], ["cpu_maxod", "--json"]):
            self.assert_refused(BAD_INPUT, "list", *words, mention=["'cpu_maxod'", "did you mean 'cpu_maxid'?"])
        self.assert_refused(BAD_INPUT, "list", "--orders", "metsi", mention=["'metsi'", "did you mean 'metis'?"])
        self.assertIn("NAME", call("list", "--help").stdout)


class HelpTest(CliTest):
    def test_help_of_every_subcommand(self):
        done = call("--help")
        self.assertEqual(done.returncode, OK)
        for name in ("list", "run", "check", "prepare", "info", "experiment"):
            self.assertIn(name, done.stdout)
            part = call(name, "--help")
            self.assertEqual((part.returncode, part.stderr), (OK, ""))
            self.assertIn("Usage", part.stdout)

    def test_info_help_names_the_generators(self):
        text = call("info", "--help").stdout
        for name in ("grid7", "elasticity3d", "circuit", "nx=.."):
            self.assertIn(name, text)

    def test_run_help_names_the_variants(self):
        text = call("run", "--help").stdout
        for v in json.loads(call("list", "--json").stdout):
            self.assertIn(v["name"], text)

    def test_version(self):
        done = call("--version")
        self.assertEqual(done.returncode, OK)
        self.assertTrue(done.stdout.startswith("gsofa "))
        self.assertIn("counting", call("--version", program=GSOFA_COUNTING).stdout)


class OrderTest(CliTest):
    def orders(self, *args, code=OK):
        done = call("order", "--json", *args)
        self.assertEqual(done.returncode, code, done.stderr)
        return records_of(done.stdout)

    def test_all_orders_side_by_side(self):
        out = self.folder / "orders.jsonl"
        found = {r["order"]: r for r in self.orders("--matrix", "gen:grid5:nx=20,ny=20", "--repeat", "2", "--out", out)}
        self.assertTrue({"amd", "tournament", "colamd", "natural"} <= set(found))
        self.assertFalse([name for name in found if name.startswith("planted_")])
        for r in (r for r in found.values() if r["status"] != "skipped"):
            self.assertEqual((r["kind"], r["status"], len(r["samples_s"])), ("order", "pass", 2), r)
        for name in ("amd", "colamd", "natural"):  # GPU orders, if there are any, may be better
            self.assertGreaterEqual(found[name]["result"]["flops"], found["tournament"]["result"]["flops"])
        self.assertEqual(found["natural"]["result"]["height"], 400)
        kept = records_of(out.read_text())
        self.assertEqual([r["order"] for r in kept], [r["order"] for r in found.values() if r["status"] != "skipped"])
        run = self.records("--matrix", "gen:grid5:nx=20,ny=20", "--order", "amd", "--variant", "cpu_fill1")
        self.assertEqual([run[0]["result"][k] for k in ("nnz_l", "nnz_u", "fill")],
                         [found["amd"]["result"][k] for k in ("nnz_l", "nnz_u", "fill")])

    def test_a_list_with_options_and_a_file(self):
        order = self.write("three.perm", "2 1 0\n")
        found = self.orders("--matrix", self.small, "--match", "none", "--order", f"amd,{order},natural")
        self.assertEqual([(r["order"], r["status"]) for r in found], [("amd", "pass"), (order, "pass"), ("natural", "pass")])
        self.assertRegex(found[2]["result"].pop("digest"), "^[0-9a-f]{16}$")
        self.assertEqual(found[2]["result"], {"nnz_l": 2, "nnz_u": 5, "fill": 1, "flops": 6.0, "height": 3,
                                              "critical_path": 6.0, "largest_front": 2, "peak_entries": 8})

    def test_a_random_numbering(self):
        """It is recorded, a seed gives one numbering, and a path keeps an order without fill."""
        path = ("--matrix", "gen:grid5:nx=40,ny=1", "--order", "natural,amd")
        natural, amd = zip(*(self.orders(*path, "--shuffle", s) for s in ("0", "7", "7", "8")))
        self.assertEqual([r["shuffle"] for r in natural], [0, 7, 7, 8])
        self.assertEqual([r["result"]["fill"] for r in amd], [0, 0, 0, 0])
        fill = [r["result"]["fill"] for r in natural]
        self.assertEqual((fill[0], fill[1]), (0, fill[2]))
        self.assertGreater(min(fill[1], fill[3]), 0)
        self.assertEqual(len({r["matrix"]["sha256"] for r in natural}), 1)
        self.assert_refused(BAD_INPUT, "order", *path, "--shuffle", "-1", mention=["--shuffle"])

    def test_the_table(self):
        done = call("order", "--matrix", self.small, "--match", "none", "--order", "amd")
        self.assertEqual(done.returncode, OK, done.stderr)
        self.assertIn("nnz(L+U)", done.stdout.splitlines()[0])
        self.assertRegex(done.stdout.splitlines()[1], r"^amd +pass +[0-9.]+ +")

    def test_a_wrong_order_fails(self):
        found = self.orders("--matrix", "gen:grid5:nx=5,ny=5", "--order", "planted_order_crossing_edge", code=FAILED)
        self.assertIn("crosses a separator", found[0]["reason"])

    def test_refusals(self):
        small = ("order", "--match", "none", "--matrix", self.small, "--order")
        self.assert_refused(BAD_INPUT, *small, "amb", mention=["unknown order 'amb'; did you mean 'amd'?"])
        self.assert_refused(BAD_INPUT, *small, "amd:tries=2", mention=["order amd: unknown option 'tries'"])
        rectangular, singular = self.write("r.mtx", RECTANGULAR), self.write("s.mtx", SINGULAR)
        self.assert_refused(BAD_INPUT, "order", "--matrix", rectangular, mention=["2 x 3"])
        self.need_matching()
        self.assert_refused(BAD_INPUT, "order", "--matrix", singular, mention=["structural rank 1 of 3"])
        prepared = self.folder / "p.bin"
        self.assertEqual(call("prepare", "--matrix", self.small, "--match", "none", "--out", prepared).returncode, OK)
        self.assert_refused(BAD_INPUT, "order", "--matrix", prepared, mention=["ordered already"])

    def test_another_metis_in_the_process_changes_no_order(self):
        """The fake METIS has wider indices, and aborts where METIS's own functions call each other through it."""
        other = {"LD_PRELOAD": os.environ.get("GSOFA_FAKE_METIS", "")}
        if not other["LD_PRELOAD"]:
            self.skipTest("no METIS in this build")
        matrix = ("--matrix", "gen:grid5:nx=30,ny=30", "--order", "metis")
        for args in (("order", *matrix, "--json"), ("run", *matrix, "--variant", "cpu_fill2", "--json")):
            found = []
            for environment in ({}, other):
                done = subprocess.run([GSOFA, *args], capture_output=True, text=True, timeout=300,
                                      env=os.environ | environment)
                self.assertEqual(done.returncode, OK, done.stderr)
                found.append(records_of(done.stdout)[0]["result"])
            self.assertEqual(*found)

    def test_metis_says_that_a_limit_of_file_sizes_keeps_it_out(self):
        """METIS is copied into a file in memory, which the limit bounds too."""
        if not os.environ.get("GSOFA_FAKE_METIS", ""):
            self.skipTest("no METIS in this build")
        matrix = ("-m", "gen:grid5:nx=9,ny=9", "--order", "metis")
        for args in (("run", *matrix, "-v", "cpu_fill2"), ("order", *matrix)):
            done = subprocess.run([GSOFA, *args], capture_output=True, text=True, timeout=300, preexec_fn=file_size_limit(4096))
            self.assertEqual(done.returncode, UNAVAILABLE, done.stderr)
            self.assertRegex(done.stderr, r"METIS cannot be loaded from .*RLIMIT_FSIZE")

    def test_checks_reject_what_is_planted(self):
        done = call("check", "--order", "amd", "--order", "planted_order_lost_vertex", "--patterns", "20")
        self.assertEqual(done.returncode, OK, done.stderr)
        self.assertIn("order amd: pass, ", done.stdout)
        self.assertIn("order planted_order_lost_vertex: rejected: ", done.stdout)


class PrepareTest(CliTest):
    def test_prepared_file_gives_the_same_result(self):
        binary = str(self.folder / "small.bin")
        done = call("prepare", "--matrix", self.small, "--out", binary)
        self.assertEqual(done.returncode, OK, done.stderr)
        (direct,) = self.records("--matrix", self.small, "--variant", "cpu_fill1")
        (cached,) = self.records("--matrix", binary, "--variant", "cpu_fill1")
        for key in ("matrix", "ordering", "result"):
            self.assertEqual(direct[key] | {"seconds": 0}, cached[key] | {"seconds": 0})

    def test_an_order_written_is_an_order_read(self):
        order = str(self.folder / "small.perm")
        binary = str(self.folder / "small.bin")
        done = call("prepare", "--matrix", self.small, "--out", binary, "--order", "amd",
                    "--order-out", order)
        self.assertEqual(done.returncode, OK, done.stderr)
        again = call("prepare", "--matrix", self.small, "--out", binary, "--order", order)
        self.assertEqual(again.returncode, OK, again.stderr)
        digest = done.stdout.split()[-1]
        self.assertEqual(again.stdout.split()[-1], digest)
        alone = str(self.folder / "alone.perm")
        words = ("order", self.small, "--order-out", alone)
        self.assertEqual(call(*words, "--order", "amd").returncode, OK)
        first, second = (call("info", self.small, "--order", f).stdout for f in (order, alone))
        self.assertEqual(first.replace(order, alone), second)
        self.assert_refused(BAD_INPUT, *words, "--order", "amd,natural", mention=["--order-out", "not 2"])
        self.assert_refused(BAD_INPUT, *words, "--order", "amd", "--shuffle", "3", mention=["--order-out", "--shuffle"])
        self.assert_refused(BAD_INPUT, "prepare", "--matrix", self.small, "--out", binary,
                            "--order-out", str(self.folder / "none" / "small.perm"),
                            mention=["small.perm"])

    def test_a_killed_run_leaves_no_part_for_ever(self):
        binary = str(self.folder / "small.bin")
        args = ("prepare", "--matrix", "gen:grid5:nx=600", "--order", "natural", "--out", binary)

        def parts():
            return [f.name for f in self.folder.iterdir() if "part" in f.name]

        done = subprocess.run([GSOFA, *args], capture_output=True, text=True, preexec_fn=file_size_limit(1 << 20))
        self.assertEqual(done.returncode, BAD_INPUT, done.stderr)
        self.assertEqual(parts(), [])
        (self.folder / ".small.bin.gsofa-part-1-0").write_text("of a process that was killed")
        done = call(*args)
        self.assertEqual(done.returncode, OK, done.stderr)
        self.assertEqual(parts(), [])

    def test_prepared_file_refuses_another_order(self):
        binary = str(self.folder / "small.bin")
        call("prepare", "--matrix", self.small, "--out", binary)
        self.assert_refused(BAD_INPUT, "run", "--matrix", binary, "--order", "amd",
                            mention=[binary, "prepared"])

    def test_info(self):
        done = call("info", "--matrix", self.small, "--json", "--order", "natural")
        self.assertEqual(done.returncode, OK, done.stderr)
        info = json.loads(done.stdout)
        self.assertEqual((info["n_rows"], info["nnz"], info["fill"]), (3, 6, 1))
        self.assertEqual(info["structural_symmetry"], 0)
        self.need_matching()
        self.assertEqual(info["structural_rank"], 3)
        self.assertEqual((info["btf_blocks"], info["btf_largest"]), (1, 3))
        self.assertIn("structural rank", call("info", "--matrix", self.small).stdout)

    def test_info_of_a_singular_matrix(self):
        self.need_matching()
        done = call("info", "--matrix", self.write("singular.mtx", SINGULAR))
        self.assertEqual(done.returncode, OK, done.stderr)
        self.assertIn("singular", done.stdout)


class CheckTest(CliTest):
    def test_one_variant(self):
        done = call("check", "--variant", "cpu_fill2", "--variant", "planted_over_fill", "--save",
                    str(self.folder / "save"))
        self.assertEqual(done.returncode, OK, done.stderr)
        self.assertIn("cpu_fill2", done.stdout)
        self.assertIn("planted_over_fill: rejected", done.stdout)
        self.assertFalse((self.folder / "save").exists())


class ClaimsTest(CliTest):
    def test_claims_name_variants_and_options_of_the_program(self):
        sys.path[:0] = [str(ROOT / "paper"), str(ROOT / "plots")]
        try:
            import claims
        except ModuleNotFoundError as e:
            self.skipTest(str(e))
        options = {v["name"]: {o["name"] for o in v["options"]} | {"threads", "chunk_size", "ranks"}
                   for v in json.loads(call("list", "--json").stdout)}
        judge = claims.Judge({})
        named = set()
        for s in [s for q in judge.questions for s in q["statements"]] + judge.appendix:
            for side in (s.get("over", {}), s.get("under", {})):
                if "variant" in side:
                    settings = set(side) - {"variant", "best_of"} | set(side.get("best_of", ()))
                    variants = [side["variant"]] if isinstance(side["variant"], str) else side["variant"]
                    self.assertLessEqual(settings, set().union(*(options[v] for v in variants)), s["id"])
                    named |= {(variant, name) for variant in variants for name in settings & options[variant]}
        self.assertGreater(len(named), 10)


if __name__ == "__main__":
    sys.exit(unittest.main())
