"""The facts behind a verdict, one short sentence each, with the counts that stand behind them."""

from __future__ import annotations

from collections.abc import Callable

from steelyard.datasheet.look_up import Figures
from steelyard.datasheet.reading import Reading
from steelyard.datasheet.verdict import Fact
from steelyard.datasheet.words import titles
from steelyard.datasheet.words.glossary import metric_named, probe_title
from steelyard.datasheet.words.numbers import abstentions, defined, figure, times
from steelyard.metrics.common import ACCURACY, DARK_CURRENT, FAILED_RATE, UNREADABLE_RATE
from steelyard.metrics.comparison.against_baselines import ACCURACY_GAIN, ERROR_GAIN, rival
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import CLEAR, FLAGGED
from steelyard.metrics.pairs.decomposition import POSITIONAL_FALSE_PREFERENCE, STABLE_CROSS_SENSITIVITY
from steelyard.metrics.pairs.equals import TIE_RATE
from steelyard.metrics.pairs.natural import ORDER_CONSISTENCY
from steelyard.metrics.pairs.sensitivity import TARGET_SENSITIVITY
from steelyard.metrics.pairs.slot import NET_SLOT_PREFERENCE
from steelyard.metrics.pairs.threshold import DELTA75
from steelyard.metrics.run.unchanged import COMMONEST_ANSWER, answer_in_words, never_varies
from steelyard.metrics.scores.leniency import LENIENCY, wrong_ways
from steelyard.probes.catalogue import section_of
from steelyard.probes.probe import EDITS, PROBES
from steelyard.stimuli.natural import NATURAL_PROBE
from steelyard.stimuli.original import ORIGINAL

IDENTICAL = "identical"
"""The kind of vacuum that only judges of pairs are shown."""
HALF = 0.5
"""The share beyond which something holds for most."""


def sentence(reading: Reading, figures: Figures) -> str:
    """What was found under a title, shorter than the reading where there is a shorter way to say it."""
    say = SHORT.get(reading.title)
    return (say(figures) if say else None) or reading.sentence


def plugged(figures: Figures) -> list[Fact]:
    """Whole figures of plug-ins that are flagged and that no reading speaks of; edits have Robustness."""
    return [
        Fact(probe_title(e.probe), f"{metric_named(e.metric).name} {figure(e)} is beyond its limit")
        for e in beyond_limits(figures)
    ]


def beyond_limits(figures: Figures) -> list[Estimate]:
    """The figures behind `plugged`."""
    return [
        e
        for e in figures.every.of_judge(figures.judge)
        if e.finding == FLAGGED and e.whole and PROBES.added(e.probe) and section_of(e.probe) != EDITS
    ]


def no_step_seen(figures: Figures) -> bool:
    """True where a judge of pairs is right in three calls of four at no step that was measured."""
    threshold = figures.find(DELTA75.id, protocol="base")
    return threshold is not None and threshold.value is not None and threshold.censored == "right"


def beats_no_baseline(figures: Figures) -> bool:
    """True where a judge is not shown to be right more often than the best rule that reads nothing."""
    gain = _gain(figures)
    return gain is None or gain.finding != CLEAR


def worse_than_nothing(figures: Figures) -> bool:
    """True where a judge is shown to be wrong more often than the best rule that reads nothing."""
    gain = _gain(figures)
    return gain is not None and gain.finding == FLAGGED


def mostly_ties(figures: Figures) -> bool:
    """True where a judge is worse than such a rule for it names neither text of most natural pairs."""
    ties = figures.of_probe(NATURAL_PROBE, TIE_RATE.id, protocol="base")
    surely = ties is not None and ties.interval is not None and (ties.interval.low or 0.0) > HALF
    return surely and worse_than_nothing(figures)


def _gain(figures: Figures) -> Estimate | None:
    """What a judge gains over the best rule that reads nothing."""
    gains = (*_whole(figures, ACCURACY_GAIN.id), *_whole(figures, ERROR_GAIN.id))
    return next((estimate for estimate in gains if defined(estimate)), None)


def _whole(figures: Figures, metric: str) -> tuple[Estimate | None, ...]:
    """A figure of texts as they are: single ones, then natural pairs."""
    return tuple(figures.of_probe(probe, metric, protocol="base") for probe in (ORIGINAL, NATURAL_PROBE))


def mostly_unreadable(figures: Figures) -> bool:
    """True where more than half of the calls brought a reply that could not be read."""
    return _surely_most(figures.find(UNREADABLE_RATE.id))


def mostly_failed(figures: Figures) -> bool:
    """True where more than half of the calls brought no reply, for which nobody is blamed."""
    return _share(figures, FAILED_RATE.id) > HALF


def mostly_lost(figures: Figures) -> bool:
    """True where more than half of the calls brought no verdict, whatever the reason."""
    return _share(figures, FAILED_RATE.id) + _share(figures, UNREADABLE_RATE.id) > HALF


def rather_failed(figures: Figures) -> bool:
    """True where more calls brought no reply than one that could not be read."""
    return _share(figures, FAILED_RATE.id) > _share(figures, UNREADABLE_RATE.id)


def _share(figures: Figures, metric: str) -> float:
    rate = figures.find(metric)
    return 0.0 if rate is None else rate.value or 0.0


def slot_decides(figures: Figures) -> bool:
    """True where the slot gives more than half of the answers on texts that differ."""
    net = figures.find(NET_SLOT_PREFERENCE.id, protocol="base")
    limits = None if net is None else net.interval
    if limits is None or limits.low is None or limits.high is None:
        return False
    return limits.low > HALF or limits.high < -HALF


def _surely_most(rate: Estimate | None) -> bool:
    """Flagged, and beyond one half with its whole interval."""
    if rate is None or rate.finding != FLAGGED or rate.interval is None:
        return False
    return (rate.interval.low or 0.0) > HALF


def _zero_point(figures: Figures) -> str | None:
    current = figures.find(DARK_CURRENT.id, protocol="base")
    if not defined(current):
        return None
    scored = figures.find(DARK_CURRENT.id, protocol="base", kind=IDENTICAL) is None
    scores = "gives texts without content more than the lowest score"
    return (
        f"{scores if scored else 'prefers one of two texts that do not differ'} in {times(current, 'call')}"
    )


def _position(figures: Figures) -> str | None:
    net = figures.between_equals(NET_SLOT_PREFERENCE.id)
    share = figures.between_equals(POSITIONAL_FALSE_PREFERENCE.id)
    if not defined(net) or not defined(share):
        return None
    slot = "first" if (net.value or 0.0) > 0 else "second"
    return (
        f"favours the {slot} text whatever it says: same slot in both orders for {times(share, 'pair')} of "
        f"equals, net preference {figure(net)}"
    )


def _natural(figures: Figures) -> str | None:
    stays = figures.find(ORDER_CONSISTENCY.id, protocol="base")
    net = figures.find(NET_SLOT_PREFERENCE.id, protocol="base")
    if not defined(net) or not defined(stays):
        return None
    slot = "first" if (net.value or 0.0) > 0 else "second"
    return (
        f"favours the {slot} text, net preference {figure(net)}: it names the same text in both orders for "
        f"only {times(stays, 'pair')}"
    )


def _surface(figures: Figures) -> str | None:
    stable = figures.between_equals(STABLE_CROSS_SENSITIVITY.id)
    if not defined(stable):
        return None
    return f"prefers one of two equally good wordings, in both orders, for {times(stable, 'pair')}"


def _sensitivity(figures: Figures) -> str | None:
    seen = figures.find(TARGET_SENSITIVITY.id, protocol="base", delta=1)
    if not defined(seen):
        return None
    phrase = f"sees which text is better by one step in {times(seen, 'call')}, {figure(seen)}"
    return f"{phrase}, and is right in three calls of four at no step" if no_step_seen(figures) else phrase


def _accuracy(figures: Figures) -> str | None:
    right = next((e for e in _whole(figures, ACCURACY.id) if defined(e)), None)
    gain = _gain(figures)
    if right is None:
        return None
    phrase = f"{_constant(figures)}gives the reference answer in {times(right, 'call')}, {figure(right)}"
    if gain is None:
        return f"{phrase}{abstentions(right)}"
    words = {CLEAR: "better than", FLAGGED: "worse than"}
    better, rule = words.get(gain.finding or "", "not shown to beat"), rival(gain)
    return f"{phrase}, {better} {rule}{abstentions(right)}"


def _constant(figures: Figures) -> str:
    """That all answers are the same, where they are."""
    commonest = figures.of_probe(ORIGINAL, COMMONEST_ANSWER.id, protocol="base")
    if not never_varies(commonest):
        return ""
    return f"answers {answer_in_words(commonest)} to everything: "


def _leniency(figures: Figures) -> str | None:
    shift = figures.of_probe(ORIGINAL, LENIENCY.id, protocol="base")
    if not defined(shift):
        return None
    passed, failed = (figures.of_probe(ORIGINAL, metric.id, protocol="base") for metric in wrong_ways(shift))
    if not defined(passed) or not defined(failed):
        return None
    side = "lenient" if (shift.value or 0.0) > 0 else "strict"
    up, down = times(passed, "call"), times(failed, "call")
    return f"is {side}: passes {up} that should fail, fails {down} that should pass"


def _failures(figures: Figures) -> str | None:
    lost = [
        f"{word} in {times(rate, 'call')}"
        for word, rate in (
            ("no readable reply", figures.find(UNREADABLE_RATE.id)),
            ("no reply at all", figures.find(FAILED_RATE.id)),
        )
        if rate is not None and rate.numerator
    ]
    return ", ".join(lost) or None


SHORT: dict[str, Callable[[Figures], str | None]] = {
    titles.ZERO_POINT: _zero_point,
    titles.POSITION: _position,
    titles.NATURAL_PAIRS: _natural,
    titles.SURFACE: _surface,
    titles.SENSITIVITY: _sensitivity,
    titles.ACCURACY: _accuracy,
    titles.LENIENCY: _leniency,
    titles.FAILURES: _failures,
}
"""Shorter sentences, by the title of the reading."""
