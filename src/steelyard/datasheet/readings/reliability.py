"""What the reliability probes of single texts allow one to say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from steelyard.datasheet.look_up import Figures
from steelyard.datasheet.readings.answer import Answer, unanswered
from steelyard.datasheet.words.glossary import probe_label
from steelyard.datasheet.words.numbers import abstentions, defined, figure, reason, times, undefined
from steelyard.metrics.common import ACCURACY
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import CLEAR, FLAGGED, UNDERPOWERED
from steelyard.metrics.scores.invariance import EXCESS_FLIP, INVARIANCE
from steelyard.metrics.scores.repeats import SELF_AGREEMENT
from steelyard.probes.catalogue import gathered, keeping_label
from steelyard.probes.probe import EDITS

FLIP, AGAIN = "label_flip", "stochastic_stability"


def accuracy(figures: Figures) -> Answer | None:
    """Agreement with the references, on items as they are and after their label was flipped."""
    unchanged = figures.of_probe(AGAIN, ACCURACY.id, protocol="base")
    if unchanged is None or unchanged.value is None:
        found = (
            figures.of_probe(probe, ACCURACY.id, protocol="base", kind="original")
            for probe in gathered(EDITS)
        )
        unchanged = next((estimate for estimate in found if estimate is not None), unchanged)
    if unchanged is None or unchanged.value is None:
        return unanswered(unchanged)
    said = (
        f"gives the reference answer in {times(unchanged, 'call')} on unchanged items, {figure(unchanged)}"
        f"{abstentions(unchanged)}"
    )
    flipped = figures.of_probe(FLIP, ACCURACY.id, protocol="base")
    if flipped is None or flipped.value is None:
        return "measured", said
    return (
        "measured",
        f"{said}; follows a flipped label in {flipped.numerator} of {flipped.denominator}, {figure(flipped)}",
    )


def robustness(figures: Figures) -> Answer | None:
    """Whether edits that should change nothing change the verdict, beyond what repeats do."""
    asked = {probe: _effect(figures, probe) for probe in keeping_label()}
    found = {probe: estimate for probe, estimate in asked.items() if defined(estimate)}
    unmeasured = _reasons({p: e for p, e in asked.items() if e is not None and undefined(e)})
    if not found:
        return ("undefined", f"nothing was measured: {unmeasured}") if unmeasured else None
    words = {probe: estimate.finding or UNDERPOWERED for probe, estimate in found.items()}
    parts = [
        _listed(
            "its verdict is moved by",
            (f"{probe_label(p)} ({figure(found[p])})" for p in words if words[p] == FLAGGED),
        ),
        _listed("its verdict is not moved by", (probe_label(p) for p in words if words[p] == CLEAR)),
        _listed("undecided for want of items:", (probe_label(p) for p in words if words[p] == UNDERPOWERED)),
        f"not measured: {unmeasured}" if unmeasured else "",
        _family(found.values()),
    ]
    order = (FLAGGED, UNDERPOWERED, CLEAR)
    return min(words.values(), key=order.index), "; ".join(part for part in parts if part)


def repeatability(figures: Figures) -> Answer | None:
    """Agreement of the judge with itself, whatever its accuracy."""
    again = figures.of_probe(AGAIN, SELF_AGREEMENT.id, protocol="base")
    if again is None or again.value is None:
        return unanswered(again)
    return (
        "measured",
        f"gives the same verdict on the same input in {times(again, 'pair')} of repeats, {figure(again)}",
    )


def _effect(figures: Figures, probe: str) -> Estimate | None:
    """The excess over noise; without repeats, the share of kept verdicts, which then carries the word.

    Where neither could be measured, the latter says why; None where the probe was not asked.
    """
    excess, kept = (
        figures.of_probe(probe, metric, protocol="base") for metric in (EXCESS_FLIP.id, INVARIANCE.id)
    )
    return excess if defined(excess) or kept is None else kept


def _reasons(unmeasured: Mapping[str, Estimate]) -> str:
    """Edits without a figure, by the reason."""
    probes: dict[str, list[str]] = {}
    for probe, estimate in unmeasured.items():
        probes.setdefault(reason(estimate), []).append(probe_label(probe))
    return "; ".join(f"{', '.join(names)} ({why})" for why, names in probes.items())


def _family(effects: Iterable[Estimate]) -> str:
    """Over how many tests the flags were corrected, where there are several."""
    tests = sum(estimate.p_corrected is not None for estimate in effects)
    return f"corrected for {tests} edits (Holm)" if tests > 1 else ""


def _listed(opening: str, names: Iterable[str]) -> str:
    together = ", ".join(names)
    return f"{opening} {together}" if together else ""
