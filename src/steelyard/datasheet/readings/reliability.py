"""What the reliability probes of single texts allow one to say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from steelyard.core.text import pluralize
from steelyard.datasheet.look_up import Figures
from steelyard.datasheet.readings.answer import Answer, unanswered
from steelyard.datasheet.readings.constant import says_nothing
from steelyard.datasheet.readings.more_data import more_calls
from steelyard.datasheet.words.glossary import metric_named, probe_label
from steelyard.datasheet.words.numbers import defined, figure, reason, times, undefined
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import CLEAR, FLAGGED, INCONCLUSIVE
from steelyard.metrics.pairs.flip_estimates import REPEAT_FLIP_RATE
from steelyard.metrics.run.unchanged import COMMONEST_ANSWER
from steelyard.metrics.scores.invariance import EXCESS_FLIP, INVARIANCE
from steelyard.metrics.scores.repeats import FLEISS_KAPPA, ICC, SELF_AGREEMENT
from steelyard.probes.probe_metadata import label_keeping_probes
from steelyard.stimuli.original import ORIGINAL

MEASURED = "measured"
"""The word of a reading that nothing is cleared or blamed by."""
EXTREME = 0.9
"""Share of the commonest answer from which repeats agree by chance too often to be read as they are."""


def robustness(figures: Figures) -> Answer | None:
    """Whether edits that should change nothing change the verdict, beyond what repeats do."""
    asked = {probe: _effect(figures, probe) for probe in label_keeping_probes()}
    estimates = {probe: estimate for probe, estimate in asked.items() if defined(estimate)}
    unmeasured = _reasons({p: e for p, e in asked.items() if e is not None and undefined(e)})
    if not estimates:
        return ("undefined", f"nothing was measured: {unmeasured}") if unmeasured else None
    if nothing := says_nothing(figures, "so no edit could move it"):
        return nothing
    words = {probe: estimate.finding or INCONCLUSIVE for probe, estimate in estimates.items()}
    parts = [
        _listed(
            "its verdict is moved by",
            (f"{probe_label(p)} ({_named(estimates[p])})" for p in words if words[p] == FLAGGED),
        ),
        _listed("its verdict is not moved by", (probe_label(p) for p in words if words[p] == CLEAR)),
        _listed("undecided for want of items:", (probe_label(p) for p in words if words[p] == INCONCLUSIVE)),
        f"not measured: {unmeasured}" if unmeasured else "",
        _family(estimates.values()),
    ]
    order = (FLAGGED, INCONCLUSIVE, CLEAR)
    return min(words.values(), key=order.index), "; ".join(part for part in parts if part)


def _named(estimate: Estimate) -> str:
    """A figure after its name in plain words."""
    return f"{metric_named(estimate.metric).plain} {figure(estimate)}"


def repeatability(figures: Figures) -> Answer | None:
    """Agreement of the judge with itself, whatever its accuracy, held against a floor.

    Beyond chance where nearly all verdicts are alike, and by the spread of scores on ordinal scales: there
    repeats agree, or differ, for reasons other than repeatability.
    """
    again = figures.of_probe(ORIGINAL, SELF_AGREEMENT.id, protocol="base")
    if again is None:
        return _between_equals(figures)
    if not defined(again):
        return unanswered(again)
    if nothing := says_nothing(figures, "so repeats can not differ"):
        return nothing
    held = _held(figures, again)
    sentence = (
        f"gives the same verdict on the same input in {times(again, 'pair')} of repeats, {figure(again)}"
    )
    beside = "" if held is again else f"; {metric_named(held.metric).name} {figure(held)}"
    floor = metric_named(held.metric).limit
    limit = f", floor {floor.value:g}" if floor else ""
    apart = f"; {pluralize(held.left_out, 'call')} abstained, which that leaves out" if held.left_out else ""
    more = more_calls(held, of_agents=figures.of_agents)
    return held.finding or MEASURED, f"{sentence}{beside}{limit}{apart}{more}"


def _between_equals(figures: Figures) -> Answer | None:
    """Judges of pairs: how often asking again names another winner where neither text is better."""
    flips = figures.between_equals(REPEAT_FLIP_RATE.id)
    if flips is None or not defined(flips):
        return unanswered(flips)
    limit = REPEAT_FLIP_RATE.limit
    held = f", limit {limit.value:g}" if limit else ""
    return (
        flips.finding or MEASURED,
        f"names another winner on the same input in {times(flips, 'comparison')} between equals, "
        f"{figure(flips)}{held}{more_calls(flips)}",
    )


def _held(figures: Figures, again: Estimate) -> Estimate:
    """The figure that the word is read from."""
    commonest = figures.of_probe(ORIGINAL, COMMONEST_ANSWER.id, protocol="base")
    spread = figures.of_probe(ORIGINAL, ICC.id, protocol="base")
    beyond = figures.of_probe(ORIGINAL, FLEISS_KAPPA.id, protocol="base")
    extreme = defined(commonest) and (commonest.value or 0.0) > EXTREME
    held = spread if defined(spread) else beyond if extreme else again
    return held if defined(held) else again


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
