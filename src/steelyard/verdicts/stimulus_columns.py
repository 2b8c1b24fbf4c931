"""What figures need to know of stimuli, in columns: one row for each, computed when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np

from steelyard.arrays import Floats, Ints, Mask, Names, Words
from steelyard.stimuli.expectation import Label, Prefers, label_word
from steelyard.stimuli.original import ORIGINAL
from steelyard.stimuli.stimulus import Stimulus
from steelyard.tasks.scale import parse_scale
from steelyard.tasks.transcripts.changes import changed_words

Value = TypeVar("Value")


@dataclass(frozen=True, eq=False)
class Coded(Generic[Value]):
    """A column of few distinct values."""

    values: tuple[Value, ...]
    """Each once."""
    codes: Ints
    """Which of them each row has."""

    @classmethod
    def of(cls, column: Iterable[Value]) -> Coded[Value]:
        """The column, its values numbered as they come."""
        number: dict[Value, int] = {}
        codes = [number.setdefault(value, len(number)) for value in column]
        return cls(tuple(number), np.array(codes, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class StimulusColumns:
    """Columns of equal length; numbers of stimuli, clusters and items are in the order of their names."""

    stimuli: tuple[Stimulus, ...]
    """Sorted by id, so that the order of numbers is the order of names."""

    @classmethod
    def of(cls, stimuli: Iterable[Stimulus]) -> StimulusColumns:
        """Each stimulus once."""
        distinct = {stimulus.id: stimulus for stimulus in stimuli}
        return cls(tuple(distinct[name] for name in sorted(distinct)))

    @cached_property
    def ids(self) -> Names:
        """Names."""
        return _objects(stimulus.id for stimulus in self.stimuli)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The same names, for those who look up one by one."""
        return tuple(stimulus.id for stimulus in self.stimuli)

    @cached_property
    def probe(self) -> Words:
        """Probe that asked for each."""
        return self._words(lambda stimulus: stimulus.probe)

    @cached_property
    def kind(self) -> Words:
        """Condition within the probe."""
        return self._words(lambda stimulus: stimulus.kind)

    @cached_property
    def stratum(self) -> Words:
        """Domain."""
        return self._words(lambda stimulus: stimulus.stratum)

    @cached_property
    def clusters(self) -> Names:
        """Names of the clusters, sorted."""
        return _objects(sorted({stimulus.cluster for stimulus in self.stimuli}))

    @cached_property
    def cluster(self) -> Ints:
        """Cluster of each, an index into `clusters`."""
        return _numbers(self.clusters, (stimulus.cluster for stimulus in self.stimuli))

    @cached_property
    def items(self) -> Names:
        """Names of the items that stimuli were made from, sorted."""
        return _objects(sorted({stimulus.lineage.parent for stimulus in self.stimuli}))

    @cached_property
    def item(self) -> Ints:
        """Item that each was made from, an index into `items`."""
        return _numbers(self.items, (stimulus.lineage.parent for stimulus in self.stimuli))

    @cached_property
    def unit(self) -> Ints:
        """What counts as one, numbered: the pair, or the item that a single text was made from."""
        units = [stimulus.unit for stimulus in self.stimuli]
        return _numbers(_objects(sorted(set(units))), units)

    @cached_property
    def paired(self) -> Mask:
        """True for a pair, False for a single text."""
        return self._mask(lambda stimulus: len(stimulus.texts) == 2)

    @cached_property
    def delta(self) -> Floats:
        """Quality difference; NaN where there is no ladder."""
        return _floats(stimulus.delta for stimulus in self.stimuli)

    @cached_property
    def base_level(self) -> Floats:
        """Quality of the worse text; NaN where there is no ladder."""
        return _floats(stimulus.base_level for stimulus in self.stimuli)

    @cached_property
    def strength(self) -> Floats:
        """Strength of a graded edit; NaN where there is none."""
        return _floats(stimulus.level for stimulus in self.stimuli)

    @cached_property
    def better(self) -> Ints:
        """0 none, 1 content u, 2 content v."""
        return np.array([_better(stimulus) for stimulus in self.stimuli], dtype=np.int64)

    @cached_property
    def words(self) -> Ints:
        """Words of each stimulus's first text; 0 where the text is not known."""
        return np.array([len(stimulus.texts[0].split()) for stimulus in self.stimuli], dtype=np.int64)

    @cached_property
    def longer_by_name(self) -> dict[str, int]:
        """Name of a pair to its text with more words, 1 for u and 2 for v; pairs without one are left out."""
        words = {s.id: [len(text.split()) for text in s.texts] for s in self.stimuli if len(s.texts) == 2}
        return {name: 1 if u > v else 2 for name, (u, v) in words.items() if u != v}

    @cached_property
    def expected(self) -> Floats:
        """The score that a sound judge gives; NaN where nobody has said."""
        return _floats(map(_label, self.stimuli))

    @cached_property
    def failing(self) -> Floats:
        """Answer of a text or run that fails; NaN where nobody has said."""
        return _floats(None if s.failing is None else float(s.failing) for s in self.stimuli)

    @cached_property
    def run(self) -> Mask:
        """True where the stimulus is a run of an agent whose failing answer is known."""
        known = [s.transcript is not None and s.failing is not None for s in self.stimuli]
        return np.array(known, dtype=np.bool_)

    @cached_property
    def change_depth(self) -> Floats:
        """Depth of the first message that an edit of a run changed or added; NaN where there is none."""
        depths = ([c.depth for c in s.changes or () if c.after is not None] for s in self.stimuli)
        return _floats(min(found, default=None) for found in depths)

    @cached_property
    def changed_words(self) -> Floats:
        """Words that an edit of a run changed; NaN where nothing was edited."""
        return _floats(None if s.changes is None else float(changed_words(s.changes)) for s in self.stimuli)

    @cached_property
    def labelled(self) -> Mask:
        """False where nobody has said what a sound judge does."""
        return self._mask(lambda stimulus: stimulus.labelled)

    @cached_property
    def labels(self) -> Coded[str | None]:
        """What a sound judge answers, in a word; None where nobody has said."""
        return Coded.of(label_word(stimulus.expectation) for stimulus in self.stimuli)

    @cached_property
    def scales(self) -> Coded[str | None]:
        """Scale of each single text, as it is written; None for a pair."""
        return Coded.of(stimulus.scale for stimulus in self.stimuli)

    @cached_property
    def conditions(self) -> Coded[tuple[str, str, float | None]]:
        """Probe, kind and step of each."""
        return Coded.of((stimulus.probe, stimulus.kind, stimulus.delta) for stimulus in self.stimuli)

    @cached_property
    def original(self) -> Mask:
        """True where an item is shown as it is."""
        return self._mask(lambda stimulus: stimulus.kind == ORIGINAL)

    @cached_property
    def scored(self) -> Mask:
        """True where the stimulus names a scale, as every single text does."""
        return self._mask(lambda stimulus: stimulus.scale is not None)

    @cached_property
    def ends(self) -> Ints:
        """Low and high end of each scale (stimuli × 2); 0 and 0 where there is none."""
        scales = {stimulus.scale for stimulus in self.stimuli if stimulus.scale is not None}
        answers = {scale: parse_scale(scale).answers for scale in scales}
        ends = {scale: (int(words[0]), int(words[-1])) for scale, words in answers.items()}
        rows = [ends.get(stimulus.scale or "", (0, 0)) for stimulus in self.stimuli]
        return np.array(rows, dtype=np.int64).reshape(-1, 2)

    def _words(self, word: Callable[[Stimulus], str]) -> Words:
        return np.array([word(stimulus) for stimulus in self.stimuli], dtype=np.str_)

    def _mask(self, test: Callable[[Stimulus], bool]) -> Mask:
        return np.array([test(stimulus) for stimulus in self.stimuli], dtype=np.bool_)


def _better(stimulus: Stimulus) -> int:
    wanted = stimulus.expectation
    return {"u": 1, "v": 2}[wanted.content] if isinstance(wanted, Prefers) else 0


def _label(stimulus: Stimulus) -> float | None:
    return float(stimulus.expectation.value) if isinstance(stimulus.expectation, Label) else None


def _numbers(names: Names, values: Iterable[str]) -> Ints:
    number = {name: index for index, name in enumerate(names)}
    return np.array([number[value] for value in values], dtype=np.int64)


def _objects(values: Iterable[str]) -> Names:
    listed = list(values)
    column = np.empty(len(listed), dtype=np.object_)
    column[:] = listed
    return column


def _floats(values: Iterable[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
