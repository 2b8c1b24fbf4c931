"""Probes whose texts an author model writes: paraphrase, label flip, longer, shorter, synthetic levels."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from steelyard.errors import ConfigError
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.estimate_context import EstimateContext
from steelyard.metrics.metric import Metric
from steelyard.metrics.scores.invariance import EXCESS_FLIP, INVARIANCE
from steelyard.metrics.scores.no_right_answer import METRICS as BORDER_METRICS
from steelyard.metrics.scores.no_right_answer import border_estimates
from steelyard.metrics.scores.probe import METRICS, pointwise_estimates
from steelyard.probes.probe import EDITS, POINTWISE, REPEATS, Design, Showing, pointwise
from steelyard.probes.sample import GivenSample, parse_sample, sample_items
from steelyard.probes.stochastic_stability import REPLICATES, check_replicates
from steelyard.stimuli.authored.brief import Brief, flip_label
from steelyard.tasks.item import Item
from steelyard.tasks.scale import Ordinal
from steelyard.tasks.sources.sampling import Sample
from steelyard.verdicts.observations import Observations


class AuthoredTextProbe:
    name: str
    question: str
    metrics: tuple[Metric, ...] = METRICS
    section = EDITS
    keeps_label = True
    forms = (POINTWISE,)

    sample: Sample | None = None

    def __init__(self, sample: GivenSample = None) -> None:
        """`sample` is how many items to have texts written for; None is all of the study's."""
        self.sample = parse_sample(self.name, sample)

    def items(self, design: Design) -> tuple[Item, ...]:
        return sample_items(design, self.sample)

    def briefs(self, design: Design) -> Iterable[Brief]:
        """A text for every item; where the item has a reference, the text must keep it."""
        for item in self.items(design):
            yield Brief(self.name, item, 0, self.name, item.label)

    def showings(self, design: Design, protocols: Collection[str]) -> Iterable[Showing]:
        del protocols
        texts = [stimulus for stimulus in design.authored.get(self.name, ()) if stimulus.judged]
        parents = {stimulus.lineage.parent for stimulus in texts}
        originals = [o for o in design.originals if o.lineage.parent in parents]
        return pointwise([*originals, *texts], "base", design.replicates)

    def estimates(self, judge: str, observations: Observations, seed: int) -> list[Estimate]:
        context = EstimateContext.for_protocol(judge, self.name, "base", seed)
        return pointwise_estimates(context, observations, keep_label=self.keeps_label)


class LabelFlip(AuthoredTextProbe):
    name = "label_flip"
    title = "Label flip"
    keeps_label = False
    metrics = tuple(metric for metric in METRICS if metric not in (INVARIANCE, EXCESS_FLIP))
    question = "Does the judge change its verdict when the response is changed so that it should?"
    needs = "items with a reference label (map a column as label, or name a judge under data.reference)"

    def briefs(self, design: Design) -> Iterable[Brief]:
        for item in self.items(design):
            target = None if item.label is None else flip_label(item.label, item.scale or design.task.scale)
            if target is not None:
                yield Brief(self.name, item, 0, self.name, target)


class SemanticParaphrase(AuthoredTextProbe):
    name = "semantic_paraphrase"
    title = "Paraphrase"
    question = "Does the judge keep its verdict when the response says the same in other words?"


class VerbosityBiasLong(AuthoredTextProbe):
    name = "verbosity_bias_long"
    title = "Longer"
    question = "Does the judge keep its verdict when the response explains at greater length what it says?"
    needs = "items of your own and an author, for the built-in pack is padded only (verbosity_padding)"


class VerbosityBiasShort(AuthoredTextProbe):
    name = "verbosity_bias_short"
    title = "Shorter"
    question = "Does the judge keep its verdict when the response says the same in fewer words?"


class VerbosityPadding(AuthoredTextProbe):
    name = "verbosity_padding"
    title = "Padded"
    question = "Does the judge keep its verdict when the response is padded with words that add nothing?"


class SyntheticOrdinal(AuthoredTextProbe):
    name = "synthetic_ordinal"
    title = "Written levels"
    metrics = tuple(metric for metric in METRICS if metric not in (INVARIANCE, EXCESS_FLIP))
    keeps_label = False
    whole = True
    question = "Does the judge give each level of the scale to responses written for that level?"
    needs = "an ordinal scale"

    def __init__(self, texts: int = 1, sample: GivenSample = None) -> None:
        """`texts` is how many are written for each item and level."""
        super().__init__(sample)
        if isinstance(texts, bool) or not isinstance(texts, int) or texts < 1:
            raise ConfigError(f"probe {self.name!r}: texts is {texts!r}, expected a number from 1 on.")
        self.texts = texts

    def briefs(self, design: Design) -> Iterable[Brief]:
        for item in self.items(design):
            scale = item.scale or design.task.scale
            if isinstance(scale, Ordinal):
                for number, level in enumerate(scale.answers * self.texts):
                    yield Brief(self.name, item, number, self.name, level)

    def showings(self, design: Design, protocols: Collection[str]) -> Iterable[Showing]:
        """The written texts alone: a response for another level is no edit of the item's own."""
        del protocols
        texts = [stimulus for stimulus in design.authored.get(self.name, ()) if stimulus.judged]
        return pointwise(texts, "base", design.replicates)

    def estimates(self, judge: str, observations: Observations, seed: int) -> list[Estimate]:
        return super().estimates(judge, observations.filter(self.name), seed)


class AnswerAmbiguity(AuthoredTextProbe):
    """Every item rewritten so that a sound judge may go either way: repeats count, not accuracy."""

    name = "answer_ambiguity"
    title = "Border of the rubric"
    section = REPEATS
    keeps_label = False
    question = "How steady is the judge on responses that lie at the border of the rubric?"
    metrics = BORDER_METRICS

    def __init__(self, replicates: int = REPLICATES, sample: GivenSample = None) -> None:
        """`replicates` is how often a text is shown, at least; a study may ask for more."""
        super().__init__(sample)
        self.replicates = check_replicates(self.name, replicates)

    def briefs(self, design: Design) -> Iterable[Brief]:
        for item in self.items(design):
            yield Brief(self.name, item, 0, self.name, None)

    def showings(self, design: Design, protocols: Collection[str]) -> Iterable[Showing]:
        return super().showings(
            replace(design, replicates=max(self.replicates, design.replicates)), protocols
        )

    def estimates(self, judge: str, observations: Observations, seed: int) -> list[Estimate]:
        return border_estimates(EstimateContext.for_protocol(judge, self.name, "base", seed), observations)
