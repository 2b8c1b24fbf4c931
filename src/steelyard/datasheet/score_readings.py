"""Sentences on judges that score single texts: how often they are right, what edits change, what it costs."""

from __future__ import annotations

from math import comb

from steelyard.datasheet.figures_of import Figures
from steelyard.datasheet.glossary import probe_name
from steelyard.datasheet.numbers import defined, figure, value
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import ALPHA

REPEATED = "stochastic_stability"
"""The probe that asks the same again."""


def accuracy(figures: Figures) -> tuple[str, str] | None:
    """Right over all probes, and how much of the spread sampling explains."""
    mean = figures.find("accuracy_mean", protocol="base")
    if not defined(mean):
        return None
    spread, sampling, least, most = (
        figures.find(f"accuracy_{name}", protocol="base") for name in ("sd", "sd_sampling", "min", "max")
    )
    known = [e for e in (spread, sampling, least, most) if defined(e)]
    if len(known) < 4:
        return None
    low, high = (f"{value(e)} ({_probe(e)})" for e in known[2:])
    return "measured", (
        f"right in {figure(mean)} of calls, the mean over probes, from {low} to {high}; spread "
        f"{value(known[0])}, where sampling alone would give up to {value(known[1])}"
    )


def edits(figures: Figures) -> tuple[str, str] | None:
    """What edits that keep the label do to the verdict; one flag of many may be chance."""
    kept = {probe: e for probe, e in figures.by_probe("invariance").items() if defined(e)}
    beyond = figures.by_probe("excess_flip")
    words = {probe: _finding(e, beyond.get(probe)) for probe, e in kept.items()}
    tested = [probe for probe, word in words.items() if word]
    if not tested:
        return None
    flagged = [probe for probe in tested if words[probe] == "flagged"]
    counts = [(word, sum(words[probe] == word for probe in tested)) for word in _WORDS]
    told = ", ".join(f"{count} {word}" for word, count in counts if count)
    which = "; ".join(f"{probe_name(probe).lower()}: verdict kept {figure(kept[probe])}" for probe in flagged)
    chance = "" if _more_than_chance(len(flagged), len(tested)) or not flagged else _CHANCE
    return _overall(words, tested), (
        f"of {len(tested)} kinds of edit that keep the label, {told}{': ' if which else ''}{which}{chance}"
    )


def repeats(figures: Figures) -> tuple[str, str] | None:
    """The same input again."""
    again = figures.by_probe("self_agreement").get(REPEATED)
    if not defined(again):
        return None
    return "measured", (
        f"gives the same verdict to the same input in {figure(again)} of comparisons; it says nothing of "
        "being right"
    )


def cost(figures: Figures) -> tuple[str, str] | None:
    """Dollars per call and per point; nothing for a judge that costs nothing."""
    call = figures.by_probe("cost_per_call").get("cost")
    if call is None or call.value == 0:
        return None
    if not defined(call):
        return "undefined", call.note or "not measured"
    point = figures.find("cost_per_point_mean", protocol="base")
    per_point = f", {value(point)} per point of accuracy in the mean over probes" if defined(point) else ""
    return "measured", f"{value(call)} per call{per_point}"


_WORDS = ("clear", "flagged", "underpowered")
_CHANCE = "; each is tested alone at 5 %, and so few flags among so many may be chance"


def _finding(kept: Estimate, excess: Estimate | None) -> str:
    """With repeats the excess over them is tested, else the share itself."""
    return kept.finding or (excess.finding if excess is not None else None) or ""


def _overall(words: dict[str, str], tested: list[str]) -> str:
    found = [words[probe] for probe in tested]
    if _more_than_chance(found.count("flagged"), len(found)):
        return "flagged"
    return "clear" if all(word == "clear" for word in found) else "underpowered"


def _more_than_chance(flags: int, tests: int) -> bool:
    """Whether so many flags come less than one time in twenty where nothing is wrong, tests independent."""
    fewer = sum(comb(tests, k) * ALPHA**k * (1 - ALPHA) ** (tests - k) for k in range(flags))
    return 1 - fewer <= ALPHA + 1e-12


def _probe(estimate: Estimate) -> str:
    return probe_name((estimate.note or "").removeprefix("probe ")).lower()
