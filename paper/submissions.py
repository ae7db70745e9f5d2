"""Orders of other programs, judged: what a folder of experiments/submissions says, what its records say, and a word for each claim
by rules.py. experiments/submissions/README.md explains the files."""

import collections
import csv
import dataclasses
import functools
import json
import shlex
import statistics
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
FOLDER = ROOT / "experiments" / "submissions"
sys.path[:0] = [str(HERE), str(ROOT / "plots"), str(ROOT / "experiments")]

import claims  # noqa: E402
import measure  # noqa: E402
import records  # noqa: E402
import rules  # noqa: E402
import suites  # noqa: E402

BASES = ("metis", "amd")  # what every order is compared with
BEST = "best known"  # as `gsofa judge order` names a stored order
MINE = "submission"
SUITE = "orders-2026"
CLAIM = dict.fromkeys(("says", "quantity", "over", "under", "direction", "untested"), str) | dict.fromkeys(("paper", "at_most"), (int, float))


def seconds(line):
    """Time of an order: as the program reports it, else of its process, else of the call; None for a file."""
    phases = line.get("phases_s", {})
    return None if "form" in line else phases.get("reported", phases.get("process", min(line["samples_s"])))


QUANTITIES = {"entries": lambda line: line["result"]["nnz_l"] + line["result"]["nnz_u"], "operations": lambda line: line["result"]["flops"],
              "height": lambda line: line["result"]["height"], "time": seconds}


@dataclasses.dataclass(frozen=True)
class Submission:
    """The keys of submission.toml. `command` and `order` are empty if run.sh or orders/ says it."""
    folder: Path
    name: str
    who: str = ""
    paper: str = ""
    suite: str = SUITE
    command: str = ""
    order: str = ""
    limits: str = "time_s=60 output_mb=500"
    claim: tuple = ()

    def order_of(self, matrix):
        """What `gsofa judge order` takes for a matrix of a suite; None if the submission has no order of it."""
        if self.order or not self.command:
            files = (self.folder / "orders" / f"{matrix.name}{ending}" for ending in (".txt", ".npy", ".iperm", ".perm", ".mtx"))
            return self.order or next((str(f) for f in files if (ROOT / f).is_file()), None)
        words = (str(self.folder / word) if (ROOT / self.folder / word).is_file() else word for word in shlex.split(self.command))
        return f"exec:{self.limits} {' '.join(json.dumps(word, ensure_ascii=False) for word in words)}"  # the program reads words in quotes

    def statements(self):
        """The claims as paper/claims.py takes statements."""
        return [{"id": f"{self.name} {k}", "combine": "geometric mean"} | c |
                ({"combine": "all", "effect": "share", "paper": 1} if "at_most" in c else {}) for k, c in enumerate(self.claim, 1)]

    def records(self):
        """The committed records, without the program none."""
        file = ROOT / self.folder / "records.jsonl"
        return read_orders(file) if file.is_file() else []


def fault_of(claim):
    """What is wrong with the table of a claim, or None."""
    unknown = [key for key, value in claim.items() if not isinstance(value, CLAIM.get(key, ()))]
    faults = ((unknown, f"'{min(unknown, default='')}' is no key, or of another type"), ("says" not in claim, "no 'says'"),
              (claim.get("quantity") not in QUANTITIES, f"'quantity' is one of {', '.join(QUANTITIES)}"),
              ([claim.get("over", claim.get("under"))] != [b for b in BASES if b in (claim.get("over"), claim.get("under"))],
               f"either 'over' or 'under' is one of {', '.join(BASES)}"),
              (len({"paper", "direction", "at_most"} & set(claim)) != 1, "one of 'paper', 'direction' and 'at_most' is needed"),
              (claim.get("direction", "above") not in ("above", "below"), "'direction' is above or below"),
              ("at_most" in claim and "under" not in claim, "'at_most' needs 'under'"))
    return next((why for wrong, why in faults if wrong), None)


def read(folder):
    """The submission of a folder. Refused if its submission.toml is wrong."""
    file = Path(folder).resolve() / "submission.toml"
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as e:
        raise records.Refused(f"{file}: {getattr(e, 'strerror', None) or e}") from e
    known = {f.name: f.type for f in dataclasses.fields(Submission)} | {"claim": list, "folder": ()}
    unknown = [key for key, value in table.items() if not isinstance(value, known.get(key, ()))]
    if unknown or "name" not in table:
        raise records.Refused(f"{file}: '{unknown[0]}' is no key of a submission, or of another type" if unknown else f"{file}: no 'name'")
    for claim in table.get("claim", ()):
        if why := fault_of(claim) if isinstance(claim, dict) else "not a table":
            raise records.Refused(f"{file}: a claim: {why}")
    if not {"command", "order"} & set(table) and (file.parent / "run.sh").is_file():
        table["command"] = "run.sh {matrix} {permutation}"
    elif not {"command", "order"} & set(table) and not (file.parent / "orders").is_dir():
        raise records.Refused(f"{file.parent}: neither run.sh nor orders/ nor a command")
    return Submission(file.parent.relative_to(ROOT) if file.parent.is_relative_to(ROOT) else file.parent, **table)


def committed():
    """The submissions of the tree, by folder."""
    return [read(file.parent) for file in sorted(FOLDER.glob("*/submission.toml"))]


def read_orders(file):
    """Lines of `gsofa judge order` in a file, failed ones too."""
    return records.read_kind([file], "order")


@functools.cache
def families():
    """{name or specification of a matrix: its family} of all suites; where suites differ, SUITE decides."""
    return {key: m.family for name in sorted(suites.names(), key=SUITE.__eq__) for m in suites.load(name).matrices for key in (m.name, m.source)}


@functools.cache
def best_known():
    """{sha256 of a matrix: fewest operations that an order is known to need}, of the suites."""
    with open(suites.SUITES / "best" / "best.tsv", encoding="utf-8", newline="") as lines:
        return {row["sha256"]: float(row["operations"]) for row in csv.DictReader(lines, delimiter="\t")}


class Case:
    """The lines of one matrix on one machine. Several lines of one order are samples of its time; the last one counts otherwise."""

    def __init__(self, lines):
        self.by_order = collections.defaultdict(list)
        for line in lines:
            self.by_order[line["order"] if line["order"] in (*BASES, BEST) else MINE].append(line)
        self.line = self.by_order[MINE][-1] if MINE in self.by_order else None
        self.matrix, self.name = lines[-1]["matrix"], lines[-1]["matrix"]["name"]
        self.family = families().get(self.name, self.matrix.get("kind", "real"))
        self.verified = self.line is not None and self.line["status"] == "pass"

    def passed(self, order):
        return [line for line in self.by_order.get(order, ()) if line["status"] == "pass"]

    def samples(self, order, quantity):
        found = [x for line in self.passed(order) if (x := QUANTITIES[quantity](line)) is not None]
        return found if quantity == "time" else found[-1:]

    def value(self, order, quantity):
        return statistics.median_low(found) if (found := self.samples(order, quantity)) else None

    def ratio(self, base, quantity="operations"):
        """The ratio of a quantity of the submission to the same quantity of a base or of the best known order; None if either is absent or 0."""
        mine = self.value(MINE, quantity) if self.verified else None
        its = best_known().get(self.matrix["sha256"]) if base == BEST else self.value(base, quantity)
        return mine / its if mine and its else None

    def totals(self):
        """{order: seconds of the order and of one factorization on one core, modelled}, of orders with a time."""
        return {order: taken + self.passed(order)[-1]["modelled_s"]["core"]
                for order in self.by_order if (taken := self.value(order, "time")) is not None and (order != MINE or self.verified)}


def cases_of(lines):
    """A Case for each machine and matrix with a line of the submission."""
    groups = collections.defaultdict(list)
    for line in lines:
        groups[records.machine(line), line["matrix"]["sha256"]].append(line)
    return {key: case for key, of in groups.items() if (case := Case(of)).line}


class Measured:
    """What claims.py takes from measure.Measured for runs, for orders."""

    def __init__(self, cases):
        self.cases = {(host, c.name): c for (host, _), c in cases.items() if c.matrix["n"] >= rules.LEAST_ORDER}
        self.kinds = {c.name: measure.kind_of(c.matrix) for c in self.cases.values()}
        self.large = {c.name for c in self.cases.values() if c.matrix["n"] >= rules.LARGE_ORDER}

    def values(self, s):
        """{(host, matrix): measure.Case}. An order that failed breaks every bound."""
        out = {}
        for key, case in self.cases.items():
            its, mine = case.value(s.get("over", s.get("under")), s["quantity"]), case.samples(MINE, s["quantity"])
            if "at_most" in s and not case.verified:
                out[key] = measure.median_case([0.0], str(key))
            elif case.verified and its:
                ratios = [x / its if "under" in s else its / x for x in mine]
                out[key] = measure.median_case([s["at_most"] / x for x in ratios] if "at_most" in s else ratios, str(key))
        return out


def judged(submission, lines):
    """The statements of a submission, each with its word and the reason for it."""
    measured = Measured(cases_of(lines))
    found = [s | {"kinds": claims.Judge.by_kind(s, measured)} for s in submission.statements()]
    return [s | dict(zip(("word", "reason"), (rules.UNTESTED, s["untested"]) if "untested" in s else claims.by_numbers(s))) for s in found]


def rows_of(submission, lines):
    """(submission, claim, its number, ours with its interval, word, reason) for each claim."""
    return [(submission.name, s["says"], f"at most {s['at_most']:g}" if "at_most" in s else claims.paper_text(s),
             claims.value_text(found, s) if (found := claims.main_found(s)) else "not measured", s["word"], s["reason"]) for s in judged(submission, lines)]
