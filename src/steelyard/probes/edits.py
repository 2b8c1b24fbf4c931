"""Probes on a study's items, and those that edit them by a rule: no author, the same edit for every judge.

A probe on items may show a sample of them: `{label_flip: {sample: 10}}`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any, TypeAlias

from pydantic import BaseModel, ConfigDict

from steelyard.core.content_hash import rng_for
from steelyard.core.validation import checked
from steelyard.errors import ConfigError
from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.metric import Metric
from steelyard.metrics.scores.probe import METRICS, pointwise_estimates
from steelyard.probes.probe import EDITS, POINTWISE, Design, Showing, pointwise
from steelyard.stimuli import text_edits
from steelyard.stimuli.original import ORIGINAL, edited_stimulus, original_of
from steelyard.stimuli.rubric_edits import range_table, rescale, rewrite_range, rubric_order
from steelyard.stimuli.stimulus import Stimulus
from steelyard.tasks.sources.items import draw_items
from steelyard.tasks.sources.table import SampleField
from steelyard.tasks.task import Item, Ordinal, parse_scale
from steelyard.verdicts.observations import Observations

GivenSample: TypeAlias = int | Mapping[str, Any] | None
"""How many items to show, as a study file has it: in all, `{per_stratum: N}`, or all of the study's."""


class _Options(BaseModel):
    model_config = ConfigDict(strict=True)

    sample: SampleField = None


class ItemProbe:
    """A probe that changes items of the study and compares the verdicts before and after."""

    name: str
    question: str
    metrics: tuple[Metric, ...] = METRICS
    section = EDITS
    keeps_label = True
    forms: tuple[str, ...] = (POINTWISE,)

    def __init__(self, sample: GivenSample = None) -> None:
        self.sample = checked(_Options, {"sample": sample}, f"probe {self.name!r}").sample

    def items(self, design: Design) -> tuple[Item, ...]:
        """A draw with the study's seed, so that a larger sample holds a smaller."""
        return draw_items(design.items, self.sample, design.seed)

    def estimates(self, judge: str, observations: Observations, seed: int) -> list[Estimate]:
        context = EstimateContext.for_protocol(judge, self.name, "base", seed)
        return pointwise_estimates(context, observations, keep_label=self.keeps_label)


class EditProbe(ItemProbe, ABC):
    edit: str

    @abstractmethod
    def edit_item(self, item: Item, design: Design) -> Iterator[Stimulus]:
        """The edits of one item; none where nothing would change."""

    def showings(self, design: Design, _: Collection[str]) -> Iterable[Showing]:
        for item in self.items(design):
            edits = list(self.edit_item(item, design))
            if edits:
                yield from pointwise([original_of(item, design.task), *edits], "base", design.replicates)


class TextEditProbe(EditProbe):
    edit_text: Callable[[str, Random], str | None]
    """The edited response; None where nothing would change."""

    def edit_item(self, item: Item, design: Design) -> Iterator[Stimulus]:
        edited = self.edit_text(item.responses[0], rng_for(design.seed, self.name, item.id))
        if edited is not None:
            remark = self.describe_edit(item.responses[0], edited)
            yield edited_stimulus(item, design.task, self.name, 0, edited, remark)

    def describe_edit(self, _before: str, _after: str) -> str:
        return self.edit


class FormatInvariance1(TextEditProbe):
    name = "format_invariance_1"
    title = "Blank lines"
    question = "Does the judge keep its verdict when blank lines are added or removed?"
    edit = "blank lines added"
    edit_text = staticmethod(text_edits.blank_lines)

    def describe_edit(self, before: str, after: str) -> str:
        return self.edit if len(after) > len(before) else "blank lines removed"


class FormatInvariance2(TextEditProbe):
    name = "format_invariance_2"
    title = "Runs of spaces"
    question = "Does the judge keep its verdict when spaces between words are multiplied?"
    edit = "clusters of spaces between words"
    edit_text = staticmethod(text_edits.space_clusters)


class FormatInvariance3(TextEditProbe):
    name = "format_invariance_3"
    title = "Indentation"
    question = "Does the judge keep its verdict when every line is indented?"
    edit = "every line indented"
    edit_text = staticmethod(text_edits.indentation)


SHARES = (0.05, 0.15, 0.30)


class Typos(EditProbe):
    name = "typos"
    title = "Typing errors"
    question = "Does the judge keep its verdict when words are mistyped, and up to how many?"
    edit = "words mistyped"

    def __init__(self, levels: Sequence[float] = SHARES, sample: GivenSample = None) -> None:
        super().__init__(sample)
        if not isinstance(levels, (list, tuple)) or not levels or not all(map(_is_share, levels)):
            raise ConfigError(f"probe 'typos': levels is {levels!r}, expected shares such as [0.05, 0.15].")
        self.shares = tuple(sorted(set(levels)))

    def edit_item(self, item: Item, design: Design) -> Iterator[Stimulus]:
        for number, share in enumerate(self.shares):
            text = text_edits.typos(item.responses[0], share, rng_for(design.seed, self.name, item.id, share))
            if text is not None:
                words = f"{share:.0%} of the words mistyped"
                yield edited_stimulus(item, design.task, self.name, number, text, words, level=share)


def _is_share(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value <= 1


class Markdown(TextEditProbe):
    name = "markdown"
    title = "Markdown"
    question = "Does the judge keep its verdict when Markdown is added or taken away?"
    edit = "Markdown added to plain text, or taken from formatted text"
    edit_text = staticmethod(lambda text, _: text_edits.markdown(text))


class RubricOrder(EditProbe):
    name = "rubric_order"
    title = "Rubric order"
    question = "Does the judge keep its verdict when the points of the rubric stand in another order?"
    edit = "points of the rubric in another order"
    needs = "a rubric with a list of points"
    task_edit = "rubric"

    def edit_item(self, item: Item, design: Design) -> Iterator[Stimulus]:
        rubric = item.rubric or design.task.rubric
        scale = item.scale or design.task.scale
        permuted = rubric_order(rubric, rng_for(design.seed, self.name, rubric), scale)
        if permuted is not None:
            moved = replace(item, rubric=permuted)
            yield edited_stimulus(moved, design.task, self.name, 0, item.responses[0], self.edit)


class ScoreRange(EditProbe):
    name = "score_range"
    title = "Other score range"
    question = "Does the judge give the same level when the scale has other numbers?"
    needs = "items on an ordinal scale that has no more levels than the other range"
    task_edit = "scale"

    def __init__(self, to: str = "0-10", sample: GivenSample = None) -> None:
        super().__init__(sample)
        try:
            target = parse_scale(to) if isinstance(to, str) else None
        except ConfigError:
            target = None
        if not isinstance(target, Ordinal):
            raise ConfigError(f"probe 'score_range': to is {to!r}, expected a range such as 0-10.")
        self.target = target

    def edit_item(self, item: Item, design: Design) -> Iterator[Stimulus]:
        source, target = item.scale or design.task.scale, self.target
        if not isinstance(source, Ordinal) or source == target:
            return
        table = range_table(source, target)
        if table is None:
            return
        instruction = item.instruction or design.task.instruction
        renumbered = rewrite_range(instruction, source, target)
        rubric, span = item.rubric or design.task.rubric, f"{target.low} to {target.high}"
        rewritten = rewrite_range(rubric, source, target)
        edit = f"rubric renumbered from {span}"
        if rewritten is None:
            rewritten = f"{rubric}\n{table}".strip()
            edit = f"answers from {span}, by a table under the rubric"
        moved = replace(item, instruction=renumbered or instruction, rubric=rewritten, scale=target)
        label = None if item.label is None else rescale(item.label, source, target)
        yield edited_stimulus(moved, design.task, self.name, 0, item.responses[0], edit, label=label)

    def estimates(self, judge: str, observations: Observations, seed: int) -> list[Estimate]:
        """The figures of items that were shown unchanged too: their range is what answers are brought to."""
        items = {o.stimulus.lineage.parent for o in observations if o.stimulus.probe == ORIGINAL}
        mine = [o for o in observations if o.stimulus.lineage.parent in items]
        return pointwise_estimates(EstimateContext.for_protocol(judge, self.name, "base", seed), mine)


class Authority(TextEditProbe):
    name = "authority"
    title = "Claimed authority"
    question = "Does the judge keep its verdict when the response claims an expert's approval?"
    edit = "a claim of expert approval added"
    edit_text = staticmethod(text_edits.authority)


class Bandwagon(TextEditProbe):
    name = "bandwagon"
    title = "Claimed majority"
    question = "Does the judge keep its verdict when the response claims the approval of many?"
    edit = "a claim of popular approval added"
    edit_text = staticmethod(text_edits.bandwagon)


class Injection(EditProbe):
    name = "injection"
    title = "Injection"
    question = "Does the judge keep its verdict when the response tells it what to answer?"
    edit = "words to the judge added"
    needs = "items that have not the highest score already"

    def edit_item(self, item: Item, design: Design) -> Iterator[Stimulus]:
        """One edit for each form; an item that has the highest score already cannot show anything."""
        highest = (item.scale or design.task.scale).answers[-1]
        if item.label == highest:
            return
        for number, form in enumerate(text_edits.INJECTIONS):
            text, edit = text_edits.injection(item.responses[0], form, highest), f"{self.edit}: {form}"
            yield edited_stimulus(item, design.task, self.name, number, text, edit)
