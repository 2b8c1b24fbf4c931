"""Probes whose texts an author model writes (paraphrase, flip, length, levels), or whose runs it edits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

from steelyard.core.content_hash import rng_for
from steelyard.errors import ConfigError
from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.merit import LEVEL_AGREEMENT, level_agreement
from steelyard.metrics.scores.columns import Scores
from steelyard.metrics.scores.edited_texts import EXCESS_FLIP, INVARIANCE, acceptance, accuracy_by_target
from steelyard.metrics.scores.probe import (
    ACCURACY_CHANGE,
    BORDER_METRICS,
    METRICS,
    border_estimates,
    probe_scores,
)
from steelyard.metrics.scores.shares import FOLLOWED, followed, run_followed
from steelyard.probes.edits import GivenSample, ItemProbe
from steelyard.probes.probe import REPEATS, Design, Showing, pointwise
from steelyard.probes.unchanged_items import REPLICATES, check_replicates
from steelyard.stimuli.brief import ERRORS, Brief, flip_label
from steelyard.tasks.pack import pack_item
from steelyard.tasks.task import Item, Ordinal
from steelyard.verdicts.observations import Observations

_WITHOUT_INVARIANCE = tuple(metric for metric in METRICS if metric not in (INVARIANCE, EXCESS_FLIP))


class AuthoredTextProbe(ItemProbe):
    alone = False
    """True where texts are compared with their targets, and not with the items they were made from."""
    own_figure: Callable[[EstimateContext, Scores], Estimate] | None = None
    """A figure of this probe alone, beside those of all edits."""

    def briefs(self, design: Design) -> Iterable[Brief]:
        for item in self.items(design):
            yield Brief(self.name, item, 0, self.name, item.label)

    def showings(self, design: Design, _: Collection[str]) -> Iterable[Showing]:
        texts = [stimulus for stimulus in design.authored.get(self.name, ()) if stimulus.judged]
        parents = set() if self.alone else {stimulus.lineage.parent for stimulus in texts}
        originals = [o for o in design.originals if o.lineage.parent in parents] if parents else []
        return pointwise([*originals, *texts], "base", design.replicates)

    def estimates(self, judge: str, observations: Observations, seed: int) -> list[Estimate]:
        shown = observations.filter(self.name) if self.alone else observations
        figures = super().estimates(judge, shown, seed)
        if self.own_figure is not None and len(scores := probe_scores(self.name, "base", shown)):
            context = EstimateContext.for_protocol(judge, self.name, "base", seed)
            own = self.own_figure(context, scores)
            texts = shown.filter(self.name, labelled=True).stimuli_seen
            figures.append(replace(own, details={**own.details, **acceptance(texts)}))
            figures += accuracy_by_target(context, scores) if self.alone else ()
        return figures


class LabelFlip(AuthoredTextProbe):
    name = "label_flip"
    title = "Label flip"
    keeps_label = False
    metrics = (*_WITHOUT_INVARIANCE, FOLLOWED)
    own_figure = staticmethod(followed)
    question = "Does the judge change its verdict when the response is changed so that it should?"
    needs = "items with a reference label (map a column as label, or name a judge under data.reference)"

    def __init__(self, errors: Sequence[str] | bool = False, sample: GivenSample = None) -> None:
        """`errors`: kinds of error of which each worse text has one; true stands for the built-in list."""
        super().__init__(sample)
        listed = list(errors) if isinstance(errors, (list, tuple)) else []
        if not isinstance(errors, bool) and not (
            listed and all(isinstance(e, str) and e.strip() for e in listed)
        ):
            raise ConfigError(
                f"probe {self.name!r}: errors is {errors!r}, expected true, or a list of kinds in words."
            )
        self.errors = ERRORS if errors is True else tuple(listed)

    def briefs(self, design: Design) -> Iterable[Brief]:
        for item in self.items(design):
            target = None if item.label is None else flip_label(item.label, item.scale or design.task.scale)
            if target is not None:
                yield Brief(self.name, item, 0, self.name, target, self._error(item, target, design.seed))

    def _error(self, item: Item, target: str, seed: int) -> str | None:
        """One kind of error, drawn for the item; none for a text that gets better, or that is in the pack."""
        worse = self.errors and int(target) < int(item.label or target) and pack_item(item) is None
        return rng_for(seed, "error", item.id).choice(self.errors) if worse else None


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
    metrics = (*_WITHOUT_INVARIANCE, LEVEL_AGREEMENT)
    own_figure = staticmethod(level_agreement)
    keeps_label = False
    alone = True  # a response for another level is no edit of the item's own
    whole = True
    question = "Does the judge give each level of the scale to responses written for that level?"
    needs = "an ordinal scale"

    def __init__(self, texts: int = 1, sample: GivenSample = None) -> None:
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
        replicates = max(self.replicates, design.replicates)
        return super().showings(replace(design, replicates=replicates), protocols)

    def estimates(self, judge: str, observations: Observations, seed: int) -> list[Estimate]:
        return border_estimates(EstimateContext.for_protocol(judge, self.name, "base", seed), observations)


class AuthoredRunProbe(AuthoredTextProbe):
    transcripts = True
    keeps_label = False
    metrics = (*_WITHOUT_INVARIANCE, FOLLOWED)
    own_figure = staticmethod(run_followed)
    needs = "transcripts of agents"

    def run_items(self, design: Design) -> Iterable[Item]:
        for item in self.items(design):
            if item.transcript is not None and item.failing is not None:
                yield replace(item, scale=item.scale or design.task.scale)


class TargetedRunProbe(AuthoredRunProbe):
    """Runs that may be shown as they are: each is compared with its target, none with its original."""

    metrics = tuple(metric for metric in AuthoredRunProbe.metrics if metric is not ACCURACY_CHANGE)
    alone = True


class AgentPerturbation(AuthoredRunProbe):
    name = "agent_perturbation"
    title = "Runs edited to fail"
    question = "Does the judge fail a run of an agent that was edited so that it breaks the rubric?"
    needs = "transcripts of agents that do not fail already"

    def briefs(self, design: Design) -> Iterable[Brief]:
        for item in self.run_items(design):
            if item.label != item.failing:
                yield Brief(self.name, item, 0, self.name, item.failing)


class AgentPositives(TargetedRunProbe):
    name = "agent_positives"
    title = "Runs that pass"
    question = "Does the judge pass a run of an agent that keeps the rubric?"

    def briefs(self, design: Design) -> Iterable[Brief]:
        for item in self.run_items(design):
            yield Brief(self.name, item, 0, self.name, item.passing)


class AgentLevels(TargetedRunProbe):
    name = "agent_levels"
    title = "Runs edited to each level"
    metrics = (*(metric for metric in TargetedRunProbe.metrics if metric is not FOLLOWED), LEVEL_AGREEMENT)
    own_figure = staticmethod(level_agreement)
    whole = True
    question = "Does the judge give each level of the scale to runs of agents edited for that level?"
    needs = "transcripts of agents on an ordinal scale"

    def __init__(self, targets: Sequence[int] | None = None, sample: GivenSample = None) -> None:
        """`targets` are the scores that runs are edited for; None is every score of the scale."""
        super().__init__(sample)
        listed = targets is None or (
            isinstance(targets, (list, tuple))
            and len(targets) > 0
            and all(isinstance(target, int) and not isinstance(target, bool) for target in targets)
            and len(set(targets)) == len(targets)
        )
        if not listed:
            raise ConfigError(
                f"probe {self.name!r}: targets is {targets!r}, expected a list of scores, each once."
            )
        self.targets = None if targets is None else tuple(map(str, targets))

    def briefs(self, design: Design) -> Iterable[Brief]:
        for item in self.run_items(design):
            if not isinstance(item.scale, Ordinal):
                continue
            for target in self.targets or ():
                if target not in item.scale.answers:
                    raise ConfigError(
                        f"probe {self.name!r}: the target {target} is not on the scale "
                        f"{item.scale.low}-{item.scale.high}; correct targets."
                    )
            for number, level in enumerate(item.scale.answers):
                if self.targets is None or level in self.targets:
                    yield Brief(self.name, item, number, self.name, level)
