"""The board: a row for each submission, and for each file of records that the reader adds. Numbers are geometric means over the matrices
whose order is verified, relative to METIS on the same machine."""

import math
import statistics

import records
import style
import submissions



def mean(values):
    """The geometric mean of the values that exist; infinite without one."""
    found = [v for v in values if v]
    return statistics.geometric_mean(found) if found else math.inf


def text(values):
    """ "1.23"; "" without a value."""
    return style.short(m) if (m := mean(values)) < math.inf else ""


class Entry:
    """A submission with its records. own: the reader's."""

    def __init__(self, submission, lines, own=False):
        self.submission, self.lines, self.own = submission, lines, own
        self.name = submission.name + own * " (your own)"
        self.cases = submissions.cases_of(lines)
        self.verified = [c for c in self.cases.values() if c.verified]

    def ratios(self, quantity, family=None):
        return [c.ratio("metis", quantity) for c in self.verified if family in (None, c.family)]


def entries(own=()):
    """Committed submissions and the files of the reader, the fewest operations first. Refused if a file has no order."""
    found = [Entry(s, s.records()) for s in submissions.committed()]
    for file in own:
        lines = submissions.read_orders(file)
        found.append(Entry(submissions.Submission(file.parent, file.stem), lines, own=True))
        if not found[-1].cases:
            raise records.Refused(f"{file}: no order but those of METIS and AMD")
    return sorted(found, key=lambda entry: mean(entry.ratios("operations")))


def least_totals(found):
    """{(machine, matrix): least seconds of an order and a factorization} over all entries."""
    least = {}
    for entry in found:
        for key, case in entry.cases.items():
            least[key] = min([*case.totals().values(), least.get(key, math.inf)])
    return least


def row(entry, families, least):
    """The cells of an entry."""
    regret = [total / least[key] for key, case in entry.cases.items() if (total := case.totals().get(submissions.MINE))]
    every, *of = [text(entry.ratios("operations", family)) for family in (None, *families)]
    count = f"{len(entry.verified)} of {len(entry.cases)}" if entry.cases else "no order"
    commits = ", ".join(sorted({c.line["git"]["sha"][:7] for c in entry.cases.values()}))
    return entry.name, count, every, text(regret), text(entry.ratios("height")), text(entry.ratios("time")), *of, commits


def content(own=()):
    """What the template shows."""
    found = entries(own)
    families = sorted({c.family for e in found for c in e.verified})
    least = least_totals(found)
    claims = [r for e in found for r in submissions.rows_of(e.submission, e.lines)]
    failures = [(e.name, c.name, c.line["reason"]) for e in found for c in e.cases.values() if not c.verified]
    return {"header": ("submission", "verified", "all families", "regret", "height", "time", *families, "commit"),
            "rows": [row(e, families, least) for e in found], "claims": claims, "failures": failures, "own": sum(e.own for e in found),
            "people": [(e.name, e.submission.who, e.submission.paper) for e in found if e.submission.who],
            "load": records.load_of(line for e in found for line in e.lines)}
