"""claims.toml, evidence.toml and frozen.txt; a fault in one of them is named with its line."""

import collections
import dataclasses
import hashlib
import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "plots"))

import records  # noqa: E402
from language import Expression  # noqa: E402
from rules import FACTOR, KINDS, NUMERIC, PORTION, RULES, TOLERANCE  # noqa: E402


@dataclasses.dataclass
class Claim:
    """A statement of the paper with the measurement that answers it; the head of claims.toml says what each key is."""

    id: str
    item: str
    says: str
    kind: str
    paper: float | str
    where: str = ""
    unit: str = ""
    matrix: str = ""
    series: str = ""
    records: str = "paper"
    measure: str = ""
    test: str = ""
    elsewhere: str = ""
    expects: str = ""
    note: str = ""
    there: str = ""
    by_construction: str = ""
    denied: float | None = None
    expression: Expression | None = None
    expression_there: Expression | None = None  # over real matrices

    def digest(self, rules=RULES):
        """16 digits of what decides its verdict."""
        used = sorted((self.expression.used | self.expression_there.used).items()) if self.expression else []
        parts = [rules, TOLERANCE, PORTION, FACTOR, self.id, self.kind, self.paper, self.records, self.measure, self.test,
                 self.elsewhere, self.expects, self.there, used, *filter(None, (self.by_construction, self.denied))]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


TEXTS = ("id", "item", "says", "kind", "where", "unit", "matrix", "series", "records", "measure", "test", "elsewhere", "expects",
         "there", "note", "by_construction")
TYPES = {key: str for key in TEXTS} | {"paper": (int, float, str), "denied": (int, float)}
TYPE_NAMES = {str: "a string", (int, float, str): "a number or a string", (int, float): "a number"}
SIDES = ("above", "below")


class TomlFile:
    """A TOML file whose faults are named with their line."""

    def __init__(self, path):
        self.path = Path(path)
        self.content = records.read_toml(self.path)
        self.lines = self.path.read_text(encoding="utf-8").splitlines()

    def place(self, header, k=0, key=None):
        """FILE:LINE of the k-th table with a header, or of a key of it, as far as it can be found in the text: tomllib does
        not keep lines."""
        starts = [n for n, line in enumerate(self.lines, 1) if line.split("#")[0].strip() == header]
        if k >= len(starts):
            return str(self.path)
        line = starts[k]
        for n, text in enumerate(self.lines[line:], line + 1):
            if text.startswith("["):
                break
            if key and re.match(rf"{re.escape(key)}\s*=", text):
                return f"{self.path}:{n}"
        return f"{self.path}:{line}"

    def refusal(self, why, header="", k=0, key=None):
        return records.Refused(f"{self.place(header, k, key)}: {why}")

    def table(self, name, kind, needed=True):
        """[name] with strings or with lists of strings."""
        table = self.content.get(name, None if needed else {})
        if not isinstance(table, dict):
            raise self.refusal(f"no table [{name}]")
        for key, value in table.items():
            if not isinstance(value, kind) or (kind is list and not all(isinstance(v, str) for v in value)):
                raise self.refusal(f"'{key}' is not {'an array of strings' if kind is list else 'a string'}",
                                   f"[{name}]", 0, key)
        return table

    def tables(self, name, needed=()):
        """[[name]]; `needed`: keys that each must have as strings."""
        tables = self.content.get(name, [])
        if not isinstance(tables, list) or not all(isinstance(t, dict) for t in tables):
            raise self.refusal(f"'{name}' is not an array of tables")
        for k, table in enumerate(tables):
            for key in needed:
                if not isinstance(table.get(key), str) or not table[key]:
                    raise self.refusal(f"[[{name}]] without '{key}'", f"[[{name}]]", k)
        return tables


class ClaimFile(TomlFile):
    """What claims.toml holds. Refused names the file, the line and the reason of the first fault."""

    def __init__(self, path=HERE / "claims.toml"):
        super().__init__(path)
        self.sets = self.table("sets", list)
        if "all" not in self.sets:
            raise self.refusal("[sets] without 'all'", "[sets]")
        self.definitions = self.table("define", str)
        self.claims = [self.claim(k, t) for k, t in enumerate(self.tables("claim"))]
        twice = [c for c, n in collections.Counter(c.id for c in self.claims).items() if n > 1]
        if twice:
            raise self.refusal(f"a second claim '{twice[0]}'")
        self.findings = self.tables("finding", ("where", "says"))

    def parsed(self, text, where, claim=""):
        try:
            return Expression(text, self.definitions, self.sets)
        except records.Refused as e:
            raise records.Refused(f"{where}: {claim}{': ' if claim else ''}{e}") from e

    def claim(self, k, table):
        def refuse(why, key=None):
            return self.refusal(why, "[[claim]]", k, key)

        for key, value in table.items():
            if key not in TYPES:
                raise refuse(f"unknown key '{key}'", key)
            if not isinstance(value, TYPES[key]) or isinstance(value, bool):
                raise refuse(f"'{key}' is not {TYPE_NAMES[TYPES[key]]}", key)
        for key in ("paper", "id", "item", "says", "kind"):
            if table.get(key, "") == "":
                raise refuse(f"[[claim]] without '{key}'")
        # Lines that were broken begin with blanks.
        c = Claim(**{key: value.lstrip(" \n") if isinstance(value, str) else value for key, value in table.items()})
        if not isinstance(c.paper, str):
            c.paper = float(c.paper)
        if c.kind not in KINDS:
            raise refuse(f"{c.id}: kind '{c.kind}' is none of {', '.join(KINDS)}", "kind")
        if sum(1 for way in (c.measure, c.test, c.elsewhere) if way) != 1:
            raise refuse(f"{c.id}: needs one of 'measure', 'test' and 'elsewhere'")
        if (c.kind == "test") != bool(c.test) and not c.elsewhere:
            raise refuse(f"{c.id}: kind 'test' and the key 'test' go together", "kind")
        word = c.kind in NUMERIC and isinstance(c.paper, str)
        if word != bool(c.expects) or (word and c.expects not in SIDES):
            raise refuse(f"{c.id}: 'expects' is above or below, of a ratio, gain or correlation without a number in the paper", "expects")
        if c.denied is not None and c.kind != "about":
            raise refuse(f"{c.id}: 'denied' is of the kind 'about'", "denied")
        if c.kind in ("size", "about", "portion") and isinstance(c.paper, str) and c.measure:
            raise refuse(f"{c.id}: a {c.kind} needs the paper's number", "paper")
        if c.measure:
            c.expression = c.expression_there = self.parsed(c.measure, self.place("[[claim]]", k, "measure"), c.id)
            if c.there:
                c.expression_there = self.parsed(c.there, self.place("[[claim]]", k, "there"), c.id)
                if c.expression_there.root != c.expression.root:
                    raise refuse(f"{c.id}: 'there' has another aggregate than 'measure'", "there")
            if ("series_rank" in c.expression.leaves) != (c.kind == "correlation"):
                raise refuse(f"{c.id}: kind 'correlation' and series_rank() go together", "kind")
            if c.expression.leaves and c.expression.planned and not c.by_construction:
                raise refuse(f"{c.id}: it rests on the plan of memory alone, and 'by_construction' does not say so", "measure")
        elif c.there or c.by_construction:
            key = "there" if c.there else "by_construction"
            raise refuse(f"{c.id}: '{key}' without 'measure'", key)
        return c


class Evidence(TomlFile):
    """What evidence.toml holds."""

    def __init__(self, claims, path=HERE / "evidence.toml"):
        super().__init__(path)
        self.records = self.table("records", list)
        self.population = self.table("population", list, needed=False)
        self.tests = self.table("tests", list, needed=False).get("runs", [])
        self.numbers = {name: claims.parsed(text, self.place("[numbers]", 0, name))
                        for name, text in self.table("numbers", str, needed=False).items()}
        known = {c.id for c in claims.claims}
        self.stated = {}
        for k, v in enumerate(self.tables("verdict", ("id", "verdict"))):
            if v["id"] not in known or v["id"] in self.stated:
                raise self.refusal(f"'{v['id']}' is no claim, or has two verdicts", "[[verdict]]", k)
            self.stated[v["id"]] = v
        self.changes = self.tables("change", ("time_utc", "reason"))
        for k, change in enumerate(self.changes):
            if not isinstance(change.get("claims"), list) or not all(isinstance(c, str) for c in change["claims"]):
                raise self.refusal("[[change]] without the array 'claims'", "[[change]]", k)
        for c in claims.claims:
            if c.records not in self.records and c.measure:
                raise self.refusal(f"{c.id}: [records] has no '{c.records}'", "[records]")

    def times_of(self, name):
        """When the judgement of a claim was changed, or came out otherwise by a change of the rules."""
        return [change["time_utc"] for change in self.changes if name in change["claims"]]


def judgement(file):
    """16 digits of how all claims of a ClaimFile are judged."""
    return hashlib.sha256(" ".join(f"{c.id} {c.digest()}" for c in file.claims).encode()).hexdigest()[:16]


def read_frozen(path):
    """{claim: digest} of frozen.txt."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
        return dict(line.split() for line in lines if line and not line.startswith("#"))
    except (OSError, ValueError) as e:
        raise records.Refused(f"{path}: {getattr(e, 'strerror', None) or 'expected lines CLAIM DIGEST'}") from e
