"""The board: a row for each submission, and for each file of records that the reader adds. Numbers are geometric means over the matrices
whose order is verified, relative to METIS on the same machine."""

import statistics

import records
import style
import submissions

HEADER = ("submission", "all families", "regret", "height", "time", "verified", "commit", "by")


def mean(values):
    """"1.23" of the values that exist; "" without one."""
    found = [v for v in values if v]
    return style.short(statistics.geometric_mean(found)) if found else ""


class Entry:
    """A submission with its records. own: the reader's."""

    def __init__(self, submission, lines, own=False):
        self.submission, self.lines, self.own = submission, lines, own
        self.cases = submissions.cases_of(lines)

    def verified(self):
        return [c for c in self.cases.values() if c.verified]

    def name(self):
        return f"{self.submission.name} (your own)" if self.own else self.submission.name

    def ratios(self, quantity, family=None):
        return [c.ratio("metis", quantity) for c in self.verified() if family in (None, c.family)]

    def sorting(self):
        """The fewest operations first, submissions without an order last."""
        found = [r for r in self.ratios("operations") if r]
        return statistics.geometric_mean(found) if found else float("inf")


def entries(own=()):
    """Committed submissions and the files of the reader, the fewest operations first. Refused if a file has no order."""
    found = [Entry(s, s.records()) for s in submissions.committed()]
    for file in own:
        lines = submissions.read_orders(file)
        found.append(Entry(submissions.Submission(file.parent, file.stem), lines, own=True))
        if not found[-1].cases:
            raise records.Refused(f"{file}: no order but those of METIS and AMD")
    return sorted(found, key=Entry.sorting)


def least_totals(found):
    """{(machine, matrix): least seconds of an order and a factorization} over all entries."""
    least = {}
    for entry in found:
        for key, case in entry.cases.items():
            least[key] = min([*case.totals().values(), least.get(key, float("inf"))])
    return least


def row(entry, families, least):
    """The cells of an entry."""
    regret = [case.totals()[submissions.MINE] / least[key] for key, case in entry.cases.items() if case.verified and least[key]]
    commits = sorted({c.line["git"]["sha"][:7] for c in entry.cases.values()})
    of = [mean(entry.ratios("operations", family)) for family in (None, *families)]
    count = f"{len(entry.verified())} of {len(entry.cases)}" if entry.cases else "cannot be tested here"
    return (entry.name(), *of, mean(regret), mean(entry.ratios("height")), mean(entry.ratios("time")), count, ", ".join(commits),
            ", ".join(filter(None, (entry.submission.who, entry.submission.paper))))


def content(own=()):
    """What the template shows."""
    found = entries(own)
    families = sorted({c.family for e in found for c in e.verified()})
    least = least_totals(found)
    claims = [r for e in found for r in submissions.rows_of(e.submission, e.lines)]
    failures = [(e.name(), c.name, c.line["reason"]) for e in found for c in e.cases.values() if not c.verified]
    return {"header": (HEADER[0], HEADER[1], *families, *HEADER[2:]), "rows": [row(e, families, least) for e in found],
            "claims": claims, "failures": failures, "own": sum(e.own for e in found)}
