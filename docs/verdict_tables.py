"""The tables of words on planted judges, from docs/verdicts.json."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent / "verdicts.json"
USELESS, EXCELLENT, GOOD, RIGHT = "useless", "excellent", "good", "right"
BY_LENGTH = "longer-"
"""How kinds of natural pairs begin of which people prefer the longer text in a known share."""
USABLE = "CN"
"""Letters of words that let a judge be used."""
TOLERATED, WANTED = 0.01, 0.9
"""Most wrong words of a useless or excellent judge, and least right words of an excellent or good one."""
ERRORS = 2
"""Standard errors by which a share of right words may fall with more data."""
POLICIES = ("smoke", "default", "strict")
RESULTS = {"PASS": "P", "FAIL": "F", "INCONCLUSIVE": "I"}
UNTIL_KIND = "catalogue"
"""Kind of evidence on which `measure --until verdict` was simulated."""


@dataclass(frozen=True)
class Said:
    """What was said of one judge at one size."""

    kind: str
    judge: str
    size: int
    body: Mapping[str, Any]
    """The tally."""
    planted: Mapping[str, Any]
    """What is due."""

    @property
    def runs(self) -> int:
        """Runs."""
        return int(self.body["runs"])

    @property
    def due(self) -> str:
        """Letters of the words that are right at this size."""
        return str(self.planted["due"][self.size])

    def share(self, letters: str) -> float:
        """Share of runs whose word is one of these."""
        return sum(self.body["words"].get(letter, 0) for letter in letters) / self.runs

    def passed(self, policy: str) -> float:
        """Share of rulings by a policy that pass."""
        results = self.body["gate"][policy]
        return float(results.get("PASS", 0) / sum(results.values()))

    @property
    def place(self) -> str:
        """`catalogue, a coin, quick`."""
        return f"{self.kind}, {self.judge}, {('quick', 'standard', 'full')[self.size]}"


def load() -> dict[str, Any]:
    """What was simulated."""
    body: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return body


def every(body: Mapping[str, Any]) -> Iterator[Said]:
    """Every judge at every size."""
    for kind, table in body["kinds"].items():
        for name, planted in table["judges"].items():
            for size, tally in enumerate(planted["sizes"]):
                yield Said(kind, name, size, tally, planted)


def requirements(body: Mapping[str, Any]) -> dict[str, list[tuple[str, float]]]:
    """Requirement to the places that break it, each with its share."""
    told = list(every(body))
    of = {
        name: [said for said in told if said.planted["class"] == name] for name in (USELESS, EXCELLENT, GOOD)
    }
    return {
        "A useless judge is called usable or better in at most 1 % of runs, at every size": [
            (said.place, said.share(USABLE)) for said in of[USELESS] if said.share(USABLE) > TOLERATED
        ],
        "An excellent judge is called unfit in at most 1 % of runs": [
            (said.place, said.share("U")) for said in of[EXCELLENT] if said.share("U") > TOLERATED
        ],
        "A judge that is right in 88 % and more of natural pairs, whichever text is longer, is never unfit": [
            (said.place, said.share("U"))
            for said in told
            if said.kind.startswith(BY_LENGTH) and said.planted["class"] in (RIGHT, EXCELLENT)
            if said.share("U")
        ],
        "An excellent judge gets its word at the smallest size in at least 90 % of runs": [
            (said.place, said.share("N"))
            for said in of[EXCELLENT]
            if not said.size and said.share("N") < WANTED
        ],
        "A good judge gets its word at the middle size in at least 90 % of runs": [
            (said.place, said.share("N"))
            for said in of[GOOD]
            if said.size == 1 and said.share("N") < WANTED and said.due == "N"
        ],
        "The share of right words does not fall with more data by more than two standard errors": list(
            worse(told)
        ),
        "No fault found and a FAIL of the default policy never stand on one sheet": [
            (said.place, said.body["contradictions"] / said.runs)
            for said in told
            if said.body["contradictions"]
        ],
        "A policy passes a useless judge in at most 1 % of runs, at every size": [
            (f"{said.place}, {policy}", said.passed(policy))
            for said in of[USELESS]
            for policy in POLICIES
            if said.passed(policy) > TOLERATED
        ],
    }


def worse(told: Sequence[Said]) -> Iterator[tuple[str, float]]:
    """Where the share of words that are due at the largest size falls, beyond so many standard errors."""
    for smaller, larger in pairwise(told):
        if larger.size == 0:
            continue
        due = larger.planted["due"][-1]
        before, after = smaller.share(due), larger.share(due)
        error = sqrt(sum(max(p * (1 - p), 0.01) / n.runs for p, n in ((before, smaller), (after, larger))))
        if before - after > ERRORS * error:
            yield larger.place, after - before


def section() -> str:
    """What `verdicts.md` shows."""
    body = load()
    told = list(every(body))
    runs = {said.runs for said in told}
    gated = {sum(said.body["gate"]["default"].values()) for said in told}
    head = HEAD.format(
        **body,
        judges=len(told) // 3,
        runs=_range(runs),
        gated=_range(gated),
        sheets=sum(said.runs for said in told),
    )
    parts = [head, *_summary(body), "", SHARES, "", *_kinds(body), ""]
    parts += [LEGEND, "", *_words(body), ""]
    if "changes" in body:
        parts += [CHANGES, "", *_changes(body["changes"]), ""]
    return "\n".join(parts)


def _range(runs: set[int]) -> str:
    low, high = min(runs), max(runs)
    return str(low) if low == high else f"{low} to {high}"


def _summary(body: Mapping[str, Any]) -> Iterator[str]:
    yield "| requirement | holds | where not |"
    yield "| :-- | :-- | :-- |"
    for text, broken in requirements(body).items():
        listed = "; ".join(f"{place} ({_percent(share)} %)" for place, share in broken)
        yield f"| {text} | {'no' if broken else 'yes'} | {listed} |"


def _kinds(body: Mapping[str, Any]) -> Iterator[str]:
    """A row for each kind of evidence: how often word, first fact and remedy are the due ones."""
    yield "| evidence | sizes | judges | right word | due fault first | expected remedy |"
    yield "| :-- | :-- | --: | :-- | :-- | :-- |"
    for kind, table in body["kinds"].items():
        judges = list(table["judges"].values())
        words = _shares(judges, "words", lambda judge, size, word: word in judge["due"][size])
        faults = _shares(
            [judge for judge in judges if judge["faults"]],
            "first",
            lambda judge, _, title: title in judge["faults"],
        )
        remedies = _shares(
            [judge for judge in judges if judge["remedy"]],
            "remedy",
            lambda judge, _, title: title.startswith(judge["remedy"]),
        )
        sizes = ", ".join(table["sizes"])
        yield f"| {kind}: {table['title']} | {sizes} | {len(judges)} | {words} | {faults} | {remedies} |"


def _shares(
    judges: Sequence[Mapping[str, Any]], key: str, is_due: Callable[[Mapping[str, Any], int, str], bool]
) -> str:
    """Over the runs of these judges, the share at each size in which the due one was said."""
    if not judges:
        return "–"
    told = []
    for size in range(3):
        counts = [
            (count, is_due(judge, size, name))
            for judge in judges
            for name, count in judge["sizes"][size][key].items()
        ]
        told.append(_percent(sum(n for n, due in counts if due) / sum(n for n, _ in counts)))
    return ", ".join(told)


def _words(body: Mapping[str, Any]) -> Iterator[str]:
    """A row for each judge that got a wrong word in some run."""
    heads = ("evidence", "judge", "due", "small", "middle", "large", "named first", "default policy")
    until = body.get("until", {})
    yield f"| {' | '.join(heads)} |" + " until verdict |" * bool(until)
    yield "|" + " :-- |" * (len(heads) + bool(until))
    for kind, table in body["kinds"].items():
        for name, planted in table["judges"].items():
            cells = _cells(planted)
            if not any("**" in cell for cell in cells):
                continue
            last = _until(until, planted, name) if kind == UNTIL_KIND else ""
            row = [kind, name, planted["due"][-1], *cells, _first(planted), _gate(planted, "default")]
            yield f"| {' | '.join(row)} |" + f" {last} |" * bool(until)


def _cells(planted: Mapping[str, Any]) -> list[str]:
    return [_cell(tally, due) for tally, due in zip(planted["sizes"], planted["due"], strict=True)]


def _cell(tally: Mapping[str, Any], due: str) -> str:
    words = sorted(tally["words"].items(), key=lambda word: -word[1])
    shares = ((letter, _percent(count / tally["runs"])) for letter, count in words)
    return " ".join(
        f"{letter} {share}" if letter in due else f"**{letter} {share}**" for letter, share in shares
    )


def _first(planted: Mapping[str, Any]) -> str:
    """The fault that is due, with its share at each size; where none is, the commonest at the largest."""
    if planted["faults"]:
        shares = (
            _percent(sum(tally["first"].get(title, 0) for title in planted["faults"]) / tally["runs"])
            for tally in planted["sizes"]
        )
        return f"{' or '.join(planted['faults'])}: {', '.join(shares)}"
    return _commonest(planted["sizes"][-1], "first")


def _commonest(tally: Mapping[str, Any], key: str) -> str:
    title, count = max(tally[key].items(), key=lambda one: one[1])
    return f"{title} {_percent(count / tally['runs'])}"


def _gate(planted: Mapping[str, Any], policy: str) -> str:
    """What a policy says at each size."""
    return " / ".join(_results(tally["gate"][policy]) for tally in planted["sizes"])


def _results(results: Mapping[str, int]) -> str:
    runs = sum(results.values())
    told = sorted(results.items(), key=lambda one: -one[1])
    return " ".join(f"{RESULTS[result]} {_percent(count / runs)}" for result, count in told)


def _changes(changes: Mapping[str, Any]) -> Iterator[str]:
    yield "| change | quick | standard | full | named with it, full | drift, quick | standard | full |"
    yield "| :-- | --: | --: | --: | :-- | :-- | :-- | :-- |"
    for name, sizes in changes.items():
        told = [_percent(tally["told"] / tally["runs"]) for tally in sizes]
        largest = sizes[-1]
        metrics = sorted(largest["named"].items(), key=lambda one: -one[1])[:3]
        named = ", ".join(f"`{metric}` {_percent(count / largest['runs'])}" for metric, count in metrics)
        drift = [_results(tally["drift"]) for tally in sizes]
        yield f"| {name} | {' | '.join(told)} | {named} | {' | '.join(drift)} |"


def _until(until: Mapping[str, Any], planted: Mapping[str, Any], name: str) -> str:
    """The last word, the calls in the mean, and where runs end."""
    if name not in until:
        return ""
    tally = until[name]
    ends = " / ".join(
        _percent(tally["last"].get(size, 0) / tally["runs"]) for size in ("quick", "standard", "full")
    )
    return f"{_cell(tally, ''.join(planted['due']))}; {tally['calls'] / tally['runs']:,.0f} calls; {ends}"


def _percent(share: float) -> str:
    """In per cent; a share that is not quite 0 or 100 is not told as such."""
    whole = round(100 * share)
    if (whole == 0 and share > 0) or (whole == 100 and share < 1):
        return f"{100 * share:.1f}"
    return str(whole)


HEAD = """\
{judges} planted judges were measured at three sizes, {runs} times each: {sheets:,} sheets. Texts, errors and
noise were drawn anew every time; the gate ruled on {gated} of them. Each judge answers the built-in stimuli
once, and its verdicts go through the same code as a real run. A thing that never happened in n runs may still
happen in up to 3/n of them. `tests/calibration` made the runs on {date}; `make calibrate` makes 100 of each,
300 of a useless judge, and `docs/verdicts.json` has every count. Steelyard {steelyard}, Python {python},
numpy {numpy}, {machine}.
"""

SHARES = """\
Per cent of runs at the small, middle and large size. *Due fault first* is over the judges with one planted
fault, *expected remedy* over those with a remedy that one would expect (first 25 runs). A remedy that costs
too much merit is not offered."""

LEGEND = """\
The next table has the judges that got a wrong word in some run; the others never did. N is "no fault
found", C "usable with care", U "unfit", T "too little data", each with its per cent of runs. *Due* is
right at the largest size; a word in bold is wrong at its size. *Named first* is the planted fault, with how
often it is the first fact at each size; without one, the commonest first fact at the largest size. *Default
policy* has the three sizes: P is PASS, F is FAIL, I is INCONCLUSIVE. *Until verdict* is `measure --until
verdict`: the last word, the mean number of calls, and the per cent of runs that end at `quick`, `standard`
and `full`."""

CHANGES = """\
### Two judges compared

The same judge before and after a change, on the same pairs of the built-in catalogue: the per cent of runs
in which `compare` says that the judges differ, the figures that show it, and what `gate --reference` says of
drift under the default policy. Where nothing changed, each of these is a false alarm."""
