"""Programs that are killed at random times and then resumed."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from programs import Failed, environment, json_lines, records_of, require, require_no_parts, results

RANK_LIMIT = 90  # seconds in which ranks end after one of them was killed; they notice in 60


def children_of(pid):
    """Processes that a process has started, none if it is gone."""
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def shares_memory(pid):
    """Whether a process has mapped memory that it shares with others."""
    try:
        return "/dev/shm/" in Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return False


def is_alive(pid):
    """False for a process that has ended, whether or not its parent has taken notice."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class KillPart:
    """The part `kill`; a base of Soak."""

    def launcher(self, ranks):
        words = ["mpirun"]
        version = subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout
        if "Open MPI" in version:
            words += ["--oversubscribe", "--bind-to", "none"]
            if os.geteuid() == 0:
                words.append("--allow-run-as-root")
        return [*words, "-np", str(ranks)]

    def ranks_work(self):
        """True if mpirun starts two ranks of one job; a rank that dies is a failure."""
        if shutil.which("mpirun") is None:
            return False
        command = [*self.launcher(2), self.gsofa, "run", "--matrix", "gen:diagonal:n=4", "--variant",
                   "mpi_maxid_cpu", "--json", "--repeat", "1", "--warmup", "0"]
        done = self.run(command, environment(leaks=False))
        done.require_alive()
        try:
            (record,) = records_of(done.out, "stdout")
            return record["mpi"]["ranks"] == 2
        except (ValueError, Failed):
            return False

    def kill(self, seconds):
        kinds = [("checkpoint", self.kill_checkpointed), ("experiment", self.kill_experiment),
                 ("prepare", self.kill_prepare)]
        try:
            if self.ranks_work():
                kinds.append(("rank", self.kill_rank))
            else:
                self.count("kill", "rank (no mpirun)", 0)
        except Failed as e:
            self.fail("kill", "rank", str(e), lambda _: " ".join(map(str, self.last[-1].command)),
                      text=self.last[-1].text())
        self.cases("kill", kinds, seconds)

    def checkpointed(self, rng):
        matrix = f"gen:grid7:nx={rng.choice((10, 12, 14))},drop=0.3"
        return ["run", "--matrix", matrix, "--variant", "mpi_maxid_cpu", "--verify", "none", "--want",
                "counts", "--want", "digest", "--want", "supernodes", "--chunk-size",
                str(rng.choice((8, 16, 64))), "--set", "concurrent_sources=16", "--set",
                f"schedule={rng.choice(('block', 'dynamic'))}", "--threads", "2", "--json"]

    def checkpointed_result(self, args):
        def whole():
            (record,) = records_of(self.run_whole([self.gsofa, *args]).out, "stdout")
            return record["result"]
        return self.undisturbed(" ".join(args), whole)

    def require_result(self, out, result):
        """One record for each number of ranks that finished, with the undisturbed result."""
        records = json_lines(out)
        ranks = [r["mpi"]["ranks"] for r in records]
        require(records and len(set(ranks)) == len(ranks), f"{len(records)} records, ranks {ranks}")
        for r in records:
            require(r["status"] == "unverified" and r["result"] == result,
                    f"after resuming the result is {r['status']} {r.get('result')}, undisturbed it "
                    f"is {result}")

    def kill_checkpointed(self, rng, folder):
        args = self.checkpointed(rng)
        result, seconds = self.checkpointed_result(args)
        out = folder / "records.jsonl"
        command = [self.gsofa, *args, "--checkpoint", folder / "chunks", "--out", out, "--resume"]
        for _ in range(rng.randint(1, 4)):
            self.kill_at(command, rng.uniform(0, 1.1 * seconds))
            json_lines(out)
        self.run_whole(command)
        self.require_result(out, result)
        require_no_parts(folder)

    def spec(self, rng, folder):
        matrices = rng.sample(["gen:grid5:nx=12", "gen:random:n=60,degree=3", "gen:diagonal:n=1",
                               "west2021", "gen:tridiagonal:n=50", "gen:channel:nx=3,ny=3,nz=3"], 3)
        variants = sorted(rng.sample(["cpu_fill1", "cpu_fill2", "cpu_maxid", "cpu_gilbert_peierls",
                                      "cpu_bitmap_panels", "mpi_maxid_cpu"], 3))
        path = folder / "spec.toml"
        path.write_text('name = "soak"\ntitle = "t"\nclaim = "c"\n[[case]]\ngroups = ["smoke"]\n'
                        f"matrices = {json.dumps(matrices)}\nvariants = {json.dumps(variants)}\n"
                        'orders = ["amd", "natural"]\nrepeat = 1\nwarmup = 0\nthreads = 1\n')
        return path

    def spec_results(self, path, folder):
        def whole():
            out = folder / "undisturbed.jsonl"
            self.run_whole([self.gsofa, "experiment", path, "--out", out, "--prepared",
                            folder / "undisturbed"])
            return results(json_lines(out))
        return self.undisturbed(path.read_text(), whole)

    def kill_experiment(self, rng, folder):
        path = self.spec(rng, folder)
        expected, seconds = self.spec_results(path, folder)
        out = folder / "records.jsonl"
        command = [self.gsofa, "experiment", path, "--out", out, "--prepared", folder / "prepared",
                   "--resume"]
        for _ in range(rng.randint(1, 5)):
            self.kill_at(command, rng.uniform(0, 1.1 * seconds))
            json_lines(out)
        self.run_whole(command)
        found = results(json_lines(out))
        require(found == expected, "after resuming the records differ from undisturbed ones: "
                f"{len(found)} of {len(expected)}, "
                f"{sum(found.get(k) != v for k, v in expected.items())} differ or are missing")
        require_no_parts(folder)

    def digest_of(self, prepared):
        out = self.run_whole([self.gsofa, "run", "--matrix", prepared, "--variant",
                              "cpu_gilbert_peierls", "--verify", "none", "--json", "--repeat", "1",
                              "--warmup", "0"]).out
        return records_of(out, "stdout")[0]["ordering"]["digest"]

    def kill_prepare(self, rng, folder):
        matrix = rng.choice(("gen:random:n=30000,degree=2", "gen:grid7:nx=24", "epb0"))
        order = rng.choice(("natural", "amd", "metis"))
        out = folder / "prepared.bin"
        command = [self.gsofa, "prepare", "--matrix", matrix, "--order", order, "--out", out]

        def whole():
            self.run_whole(command)
            size = out.stat().st_size
            out.unlink()
            return size
        size, seconds = self.undisturbed(f"prepare {matrix} {order}", whole)
        for _ in range(rng.randint(1, 4)):
            self.kill_at(command, rng.choice((rng.uniform(0, 1.1), rng.uniform(0.85, 1))) * seconds)
            # The provenance has its seconds in decimal, so that sizes differ by a few bytes.
            if out.exists():
                require(abs(out.stat().st_size - size) < 128, "the prepared file is cut off")
        self.run_whole(command)
        require_no_parts(folder)
        if matrix == "epb0":
            expected, _ = self.undisturbed(f"digest {order}", lambda: self.digest_of(out))
            require(self.digest_of(out) == expected, "the prepared file is another one")

    def kill_rank(self, rng, folder):
        args = self.checkpointed(rng)
        result, _ = self.checkpointed_result(args)
        out = folder / "records.jsonl"
        command = [self.gsofa, *args, "--checkpoint", folder / "chunks", "--out", out, "--resume"]
        env = environment(leaks=False)
        ranks = rng.randint(2, 3)
        whole = [*self.launcher(ranks), *command]
        _, seconds = self.undisturbed(f"{ranks} ranks {' '.join(args)}", lambda: self.run_whole(
            [*self.launcher(ranks), self.gsofa, *args], env=env))
        process = self.start(whole, env)
        # A rank that is killed while MPI starts shows what mpirun does, which may hang.
        end = time.monotonic() + seconds
        while not self.have_started(process, ranks) and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(rng.uniform(0, 0.8 * seconds))
        pids = children_of(process.pid)
        if pids:
            try:
                os.kill(rng.choice(pids), signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            process.wait(RANK_LIMIT)
        except subprocess.TimeoutExpired:
            if not any(map(is_alive, children_of(process.pid))):
                # The ranks have ended; mpirun, killed here, is what hangs.
                process.kill()
                self.count("kill", "rank (mpirun hung)", 1)
        self.end(process, whole)  # raises where the other ranks hang
        json_lines(out)
        self.run_whole([*self.launcher(rng.randint(1, 3)), *command], env=env)
        self.require_result(out, result)
        require_no_parts(folder)

    @staticmethod
    def have_started(process, ranks):
        """True once all ranks share memory, as far as that can be seen, or the job has ended."""
        pids = children_of(process.pid)
        return process.poll() is not None or (len(pids) >= ranks and all(map(shares_memory, pids)))
