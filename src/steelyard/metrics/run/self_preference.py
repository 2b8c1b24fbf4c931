"""Self-preference: texts of the judge's own vendor against others that people valued alike.

    self-preference = Σ_label n_own · (mean_own − mean_others) / Σ_label n_own

over the labels that both have. A judge that is merely noisy, lenient or partial to a slot treats both alike.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard.core.arrays import Floats
from steelyard.core.text import pluralize
from steelyard.metrics.estimate import Estimate, EstimateContext, Interval, Sample
from steelyard.metrics.findings import MARGIN
from steelyard.metrics.metric import Metric
from steelyard.metrics.proportions import sampling_notes, with_difference_word
from steelyard.metrics.scores.shares import OWN_LABELS, intervals
from steelyard.metrics.stats.clusters import ratio
from steelyard.metrics.stats.distributions import normal_quantile
from steelyard.metrics.stats.intervals import AGREEMENT, Span, difference, score
from steelyard.stimuli.stimulus import Label, Prefers
from steelyard.tasks.task import parse_scale
from steelyard.verdicts.observations import Observation
from steelyard.verdicts.verdict import Abstained, Decided, Failed, Unreadable

VENDORS: Mapping[str, tuple[str, ...]] = {
    "ai2": ("olmo", "tulu"),
    "alibaba": ("qwen", "qwq"),
    "amazon": ("nova", "titan"),
    "anthropic": ("claude", "sonnet", "opus", "haiku"),
    "cohere": ("command", "aya"),
    "deepseek": ("deepseek",),
    "google": ("gemini", "gemma", "palm", "bard"),
    "hugging face": ("smollm", "zephyr"),
    "ibm": ("granite",),
    "lmsys": ("vicuna",),
    "meta": ("llama",),
    "microsoft": ("phi", "wizardlm"),
    "mistral": ("mistral", "mixtral", "ministral", "codestral", "magistral"),
    "moonshot": ("kimi",),
    "nomic": ("gpt4all",),
    "nvidia": ("nemotron",),
    "openai": ("gpt", "chatgpt", "davinci", "o1", "o3", "o4"),
    "xai": ("grok",),
    "zhipu": ("glm", "chatglm"),
}

_WORDS = {word: family for family, words in VENDORS.items() for word in words}


def vendor_of(name: str, given: Mapping[str, str] | None = None) -> str | None:
    """The family of a judge or author: as given, else by the first word of the name that is known."""
    if given and name in given:
        return given[name].lower()
    for word in re.findall(r"[a-z0-9]+", name.lower()):
        known = _WORDS.get(word) or _WORDS.get(re.sub(r"[0-9].*$", "", word))
        if known is not None:
            return known
    return None


SELF_PREFERENCE = Metric(
    "self_preference",
    "self-preference",
    "How much better the judge treats texts of its own family than others with the same reference.",
    plain="favours its own family",
    signed=True,
)

NO_FAMILY = "the family of the judge is not known: name it under the option families of the probe"
NONE_OWN = "no text with a reference is by the judge's own family"
NONE_ALIKE = "no reference is shared by a text of the judge's own family and one of another"
ALIKE = "no spread between clusters: each counts as one trial"


@dataclass(frozen=True)
class Treatment:
    cluster: str
    item: str
    label: Hashable
    """What people said of the text; only equals are compared."""
    own: bool
    value: float
    """0 to 1: place of the score on its scale, or the share of the pair that went to the text."""
    lost: bool = False


def score_treatments(observations: Iterable[Observation], own: frozenset[str]) -> list[Treatment]:
    """Scores of labelled texts, as places on their scales; `own` holds the authors of the judge's family."""
    treatments = []
    for o in observations:
        shown, verdict = o.stimulus, o.verdict
        if isinstance(shown.expectation, Label) and not isinstance(verdict, Abstained) and shown.authors:
            answers = parse_scale(shown.scale or "").answers
            low, high = int(answers[0]), int(answers[-1])
            value = (int(verdict.value) - low) / (high - low) if isinstance(verdict, Decided) else 0.0
            label, mine = (shown.scale, shown.expectation.value), shown.authors[0] in own
            item, lost = shown.lineage.parent, isinstance(verdict, (Unreadable, Failed))
            treatments.append(Treatment(shown.cluster, item, label, mine, value, lost))
    return treatments


def pair_treatments(observations: Iterable[Observation], own: frozenset[str]) -> list[Treatment]:
    """What the text that people preferred got, in pairs of which one text is by the judge's family."""
    treatments = []
    for o in observations:
        shown = o.stimulus
        if isinstance(shown.expectation, Prefers) and shown.authors:
            mine = [author in own for author in shown.authors]
            if mine[0] != mine[1]:
                preferred = shown.expectation.content
                value = 0.5 if o.winner is None else float(o.winner == preferred)
                place, lost = "uv".index(preferred), isinstance(o.verdict, (Unreadable, Failed))
                treatments.append(Treatment(shown.cluster, shown.id, "preferred", mine[place], value, lost))
    return treatments


def family_preference(
    context: EstimateContext, observations: Sequence[Observation], families: Mapping[str, str] | None = None
) -> Estimate:
    """The figure of calls on texts whose authors are known; `families` as in `vendor_of`."""
    family = vendor_of(context.judge, families)
    if family is None:
        return context.undefined(SELF_PREFERENCE, NO_FAMILY)
    if any(o.own_label for o in observations):
        return context.undefined(SELF_PREFERENCE, OWN_LABELS)
    authors = {author for o in observations for author in o.stimulus.authors or ()}
    own = frozenset(author for author in authors if vendor_of(author, families) == family)
    treatments = [*score_treatments(observations, own), *pair_treatments(observations, own)]
    return self_preference(context, treatments, observations)


def self_preference(
    context: EstimateContext, treatments: Sequence[Treatment], observations: Sequence[Observation]
) -> Estimate:
    """The weighted difference, with clusters drawn again; undefined where there is nothing to compare."""
    lost = {
        "unreadable": sum(isinstance(o.verdict, Unreadable) for o in observations),
        "failed": sum(isinstance(o.verdict, Failed) for o in observations),
    }
    known = [t for t in treatments if not t.lost]
    if not any(t.own for t in known):
        return context.undefined(SELF_PREFERENCE, NONE_OWN, excluded=lost)
    table = _table(known)
    value = float(matched(table.sum(0)))
    if not np.isfinite(value):
        return context.undefined(SELF_PREFERENCE, NONE_ALIKE, excluded=lost)
    found, remark = intervals(table, matched, context.bootstrap_seed(SELF_PREFERENCE.id), AGREEMENT)
    if not found:
        found = (Interval("wilson_cluster_difference", *_without_spread(table, value)),)
        remark = ALIKE
    low, high = found[0].span
    # The interval is the test: it shows a difference where it lies beside zero.
    p = 0.0 if low > 0 or high < 0 else 1.0
    sample, bounds = Sample(len(known), len({t.item for t in known}), len(table), lost), _bounds(treatments)
    notes = [_means(known), remark, *sampling_notes(len(table))]
    estimate = context.estimate(
        SELF_PREFERENCE, sample, notes, value=value, intervals=found, bounds=bounds, chance=0.0
    )
    return with_difference_word(estimate, p=p)


def _bounds(treatments: Sequence[Treatment]) -> Span:
    """Every missing call against the own family and for the others, or the other way round."""

    def filled(own: float) -> float:
        values = [own if t.own else 1 - own for t in treatments]
        rows = [replace(t, value=v) if t.lost else t for t, v in zip(treatments, values, strict=True)]
        return float(matched(_table(rows).sum(0)))

    return filled(0.0), filled(1.0)


def matched(sums: Floats) -> Floats:
    """From sums (…, labels, [own calls, own total, other calls, other total]) to the difference (…)."""
    own, own_total, others, others_total = np.moveaxis(sums, -1, 0)
    apart = ratio(own_total, own) - ratio(others_total, others)
    weight = np.where(np.isfinite(apart), own, 0.0)
    return ratio((weight * np.nan_to_num(apart)).sum(-1), weight.sum(-1))


def _table(treatments: Sequence[Treatment]) -> Floats:
    clusters = {name: n for n, name in enumerate(sorted({t.cluster for t in treatments}))}
    labels = {name: n for n, name in enumerate(sorted({t.label for t in treatments}, key=repr))}
    table = np.zeros((len(clusters), len(labels), 4))
    for t in treatments:
        first = 0 if t.own else 2
        table[clusters[t.cluster], labels[t.label], first : first + 2] += (1.0, t.value)
    return table


def _without_spread(table: Floats, value: float) -> Span:
    """Every draw gives the same: two shares as far apart as the value, a cluster as one trial of each."""
    own, others = (int(np.count_nonzero(table[..., side].sum(-1))) for side in (0, 2))
    high, low = (1 + value) / 2, (1 - value) / 2
    quantile = normal_quantile(0.975)
    return difference(high, score(high, own, quantile), low, score(low, others, quantile))


def _means(treatments: Sequence[Treatment]) -> str:
    own = [t.value for t in treatments if t.own]
    others = [t.value for t in treatments if not t.own]
    return (
        f"own {np.mean(own):.2f} in {pluralize(len(own), 'call')}, "
        f"others {np.mean(others):.2f} in {len(others)}, before labels are matched; margin {MARGIN:g}"
    )
