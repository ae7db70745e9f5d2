"""Programs whose allocations fail, and whose files cannot grow."""

import resource
import shutil
import signal
import subprocess
import time

from programs import (BAD_INPUT, Done, Failed, LIMIT, OK, RUN_FAILED, died_outside, environment, json_lines, require,
                      require_no_parts, results)


class StarvePart:
    """The parts `memory` and `disk`; a base of Soak."""

    def commands(self, rng, folder):
        """(name, arguments, what of the output must not change) of programs that write files."""
        matrix = folder / "m.mtx"
        matrix.write_text("%%MatrixMarket matrix coordinate pattern general\n6 6 14\n" + "".join(
            f"{i} {j}\n" for i, j in ((1, 2), (2, 1), (2, 3), (3, 3), (3, 6), (4, 1), (4, 4), (5, 2),
                                      (5, 5), (6, 6), (6, 1), (1, 1), (2, 2), (5, 6))))
        variant = rng.choice(("cpu_fill1", "cpu_fill2", "cpu_fill2_parallel", "cpu_maxid",
                              "cpu_gilbert_peierls", "cpu_bitmap_panels", "cpu_set_union",
                              "mpi_maxid_cpu"))
        name = rng.choice(("gen:grid5:nx=9", "gen:random:n=50,degree=3,seed=4", matrix))
        order = rng.choice(("metis", "amd", "colamd", "natural"))
        run = ["run", "--matrix", name, "--order", order, "--threads", "1", "--repeat", "1",
               "--warmup", "0", "--variant", variant]
        return rng.choice([
            ("info", ["info", "--json", "--matrix", name]),
            ("list", ["list", "--json"]),
            ("run", [*run, "--out", folder / "records.jsonl"]),
            ("run", [*run, "--pattern-out", folder / "pattern"]),
            ("checkpoint", [*run[:-1], "mpi_maxid_cpu", "--chunk-size", "4", "--checkpoint",
                            folder / "chunks", "--out", folder / "records.jsonl", "--resume"]),
            ("prepare", ["prepare", "--matrix", name, "--order", order, "--out", folder / "p",
                         "--order-out", folder / "p.perm"]),
            ("experiment", ["experiment", self.spec(rng, folder), "--out",
                            folder / "records.jsonl", "--prepared", folder / "prepared",
                            "--resume"]),
        ])

    @staticmethod
    def products(folder):
        """The files of a folder by name: of records their results, of factors their text."""
        found = {}
        for path in sorted(folder.rglob("*")):
            name = str(path.relative_to(folder))
            if path.suffix == ".jsonl":
                found[name] = results(json_lines(path))
            elif path.suffix in (".mtx", ".perm"):
                found[name] = path.read_text()
        return found

    def starve(self, rng, folder):
        what, args = self.commands(rng, folder)
        command = [self.failing, *args]
        # Undisturbed, in a folder of the same name for the same arguments.
        count_file = self.work / "count"
        self.run_whole(command, env=environment(GSOFA_COUNT_ALLOCATIONS=str(count_file)))
        count = int(count_file.read_text())
        expected = self.products(folder)
        inputs = {"m.mtx", "spec.toml"}
        for _ in range(6):
            for path in folder.iterdir():
                if path.name not in inputs:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
            k = rng.randint(1, count) if rng.random() < 0.7 else int(count ** rng.random())
            text = f"{max(k, 1)}{rng.choice(('', '+'))}"
            done = self.run(command, env=environment(leaks=False, GSOFA_FAIL_ALLOCATION=text))
            self.count("memory", f"{what}, allocations", 1)
            if done.code < 0 and died_outside(self.failing, done.err):
                self.count("memory", "(crashes of libraries)", 1)
                continue
            try:
                self.require_starved(done, folder, expected)
            except Failed as e:
                raise Failed(f"allocation {text} of {count} fails in `gsofa {what}`: {e}") from None

    def require_starved(self, done, folder, expected):
        done.require_alive()
        require_no_parts(folder)
        found = self.products(folder)
        if done.code == OK:
            require(found == expected, "exit status 0, but what was written differs")
            return
        errors = done.errors()
        if done.code == BAD_INPUT:
            require(len(errors) == 1 and "memory" in errors[0],
                    f"exit status {BAD_INPUT}: {' '.join(errors)}")
            return
        require(done.code == RUN_FAILED, f"exit status {done.code}: {' '.join(errors)}")
        said = [r for r in found.get("records.jsonl", {}).values() if r[0] in ("oom", "error")]
        told = "oom" in done.out + done.err or "error" in done.out
        require(len(errors) == 1 or (not errors and (said or told)),
                f"{len(errors)} error lines, not 1")

    def memory(self, seconds):
        begin = time.monotonic()
        if self.case is None:
            self.ask_oracle("memory", "library", 0.4 * seconds, "--attack=starved")
        self.cases("memory", [("program", self.starve)], seconds - (time.monotonic() - begin))

    def fill_disk(self, rng, folder):
        while True:
            what, args = self.commands(rng, folder)
            # METIS is copied into a file in memory, which the limit keeps out.
            if what not in ("info", "list") and "metis" not in args:
                break
        command = [self.gsofa, *args]
        self.run_whole(command)
        expected = self.products(folder)
        inputs = {"m.mtx", "spec.toml"}
        made = [p for p in folder.rglob("*") if p.is_file() and p.name not in inputs]
        sizes = [p.stat().st_size for p in made]
        for path in folder.iterdir():
            if path.name not in inputs:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        limit = rng.randint(0, max(sizes) - 1)

        def limited():
            # A file that would grow beyond it gets an error, as on a full disk, no signal.
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        done = self.run(command, restore_signals=False, preexec_fn=limited)
        try:
            if done.code == OK:  # a time that takes fewer digits leaves just enough room
                done.require_alive()
                require(self.products(folder) == expected, "exit status 0, but files differ")
            elif "checkpoint" in what and done.code == RUN_FAILED and not done.errors():
                done.require_alive()  # the record or the table tells of it
                require("error" in done.out, "no word of the error")
            else:
                done.require_refused()
            found = self.products(folder).get("records.jsonl", {})
            require_no_parts(folder)
            if any(status == "error" for status, _ in found.values()):
                # A case that ended in an error is recorded; who wants it again drops the record.
                (folder / "records.jsonl").unlink()
            if done.code != OK:
                self.run_whole(command)
            require(self.products(folder) == expected, "with room again, what is written differs")
            require_no_parts(folder)
        except Failed as e:
            raise Failed(f"files of {limit} bytes at most, `gsofa {what}`: {e}") from None

    def fill_device(self, rng, folder):
        what, args = rng.choice((
            ("records", ["run", "--matrix", "gen:grid5:nx=4", "--variant", "cpu_fill1", "--out",
                         "/dev/full"]),
            ("records", ["experiment", self.spec(rng, folder), "--out", "/dev/full"]),
            ("stdout", ["list", "--json"]),
            ("stdout", ["run", "--matrix", "gen:grid5:nx=4", "--variant", "cpu_fill1", "--json"]),
            ("stdout", ["info", "--matrix", "gen:grid5:nx=4"]),
        ))
        if what == "records":
            self.run([self.gsofa, *args]).require_refused()
            return
        command = [str(word) for word in (self.gsofa, *args)]
        with open("/dev/full", "wb") as full:
            done = subprocess.run(command, env=environment(), stdin=subprocess.DEVNULL, stdout=full,
                                  stderr=subprocess.PIPE, timeout=LIMIT)
        done = Done(command, done.returncode, "", done.stderr.decode(errors="replace"))
        self.last.append(done)
        done.require_refused()

    def disk(self, seconds):
        self.cases("disk", [("limit", self.fill_disk), ("limit", self.fill_disk),
                            ("limit", self.fill_disk), ("full device", self.fill_device)], seconds)
