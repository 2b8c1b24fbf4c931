"""What figures need to know of stimuli, in columns: one row for each, computed when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from steelyard.core.arrays import Floats, Ints, Mask, Names
from steelyard.stimuli.original import ORIGINAL
from steelyard.stimuli.stimulus import Label, Prefers, Stimulus, reference_label
from steelyard.tasks.task import parse_scale

Value = TypeVar("Value")
Kind = TypeVar("Kind", bound=np.generic)

_FORM = attrgetter("probe", "kind", "stratum", "expectation", "delta", "scale")


@dataclass(frozen=True, eq=False)
class Coded(Generic[Value]):
    """A column of few distinct values."""

    values: tuple[Value, ...]
    codes: Ints

    @classmethod
    def of(cls, column: Iterable[Value]) -> Coded[Value]:
        number: dict[Value, int] = {}
        codes = [number.setdefault(value, len(number)) for value in column]
        return cls(tuple(number), np.array(codes, dtype=np.int64))


_BETTER = {"u": 1, "v": 2}


def _form_column(value: Callable[[Stimulus], object], kind: type[Kind]) -> cached_property[NDArray[Kind]]:
    return cached_property(lambda columns: columns.by_form(value, kind))


def _float_column(value: Callable[[Stimulus], float | None]) -> cached_property[Floats]:
    """A column of numbers; NaN for None."""
    return cached_property(
        lambda columns: np.array(
            [np.nan if (number := value(stimulus)) is None else number for stimulus in columns.stimuli],
            dtype=np.float64,
        )
    )


@dataclass(frozen=True, eq=False)
class StimulusColumns:
    """Columns of equal length; numbers of stimuli, clusters and items are in the order of their names."""

    stimuli: tuple[Stimulus, ...]
    """Sorted by id, so that the order of numbers is the order of names."""

    probe = _form_column(lambda s: s.probe, np.str_)
    kind = _form_column(lambda s: s.kind, np.str_)
    stratum = _form_column(lambda s: s.stratum, np.str_)
    paired = _form_column(lambda s: len(s.texts) == 2, np.bool_)
    delta = _float_column(lambda s: s.delta)
    """Quality difference; NaN where there is no ladder."""
    base_level = _float_column(lambda s: s.base_level)
    """Quality of the worse text; NaN where there is no ladder."""
    strength = _float_column(lambda s: s.level)
    better = _form_column(
        lambda s: _BETTER[s.expectation.content] if isinstance(s.expectation, Prefers) else 0, np.int64
    )
    """0 none, 1 content u, 2 content v."""
    expected = _form_column(
        lambda s: float(s.expectation.value) if isinstance(s.expectation, Label) else np.nan, np.float64
    )
    """The score that a sound judge gives; NaN where nobody has said."""
    failing = _float_column(lambda s: None if s.failing is None else float(s.failing))
    """Answer of a text or run that fails; NaN where nobody has said."""
    change_depth = _float_column(lambda s: s.change_depth)
    """Depth of the first message that an edit of a run changed or added; NaN where there is none."""
    changed_words = _float_column(lambda s: s.changed_words)
    """Words that an edit of a run changed; NaN where nothing was edited."""
    labelled = _form_column(lambda s: s.labelled, np.bool_)
    original = _form_column(lambda s: s.kind == ORIGINAL, np.bool_)
    scored = _form_column(lambda s: s.scale is not None, np.bool_)
    """True where the stimulus names a scale, as every single text does."""

    @classmethod
    def of(cls, stimuli: Iterable[Stimulus]) -> StimulusColumns:
        distinct = {stimulus.id: stimulus for stimulus in stimuli}
        return cls(tuple(distinct[name] for name in sorted(distinct)))

    @cached_property
    def ids(self) -> Names:
        return _objects(stimulus.id for stimulus in self.stimuli)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The same names, for those who look up one by one."""
        return tuple(stimulus.id for stimulus in self.stimuli)

    @cached_property
    def clusters(self) -> Names:
        return _objects(sorted({stimulus.cluster for stimulus in self.stimuli}))

    @cached_property
    def cluster(self) -> Ints:
        return _numbers(self.clusters, (stimulus.cluster for stimulus in self.stimuli))

    @cached_property
    def items(self) -> Names:
        """Names of the items that stimuli were made from, sorted."""
        return _objects(sorted({stimulus.lineage.parent for stimulus in self.stimuli}))

    @cached_property
    def item(self) -> Ints:
        return _numbers(self.items, (stimulus.lineage.parent for stimulus in self.stimuli))

    @cached_property
    def unit(self) -> Ints:
        """What counts as one, numbered: the pair, or the item that a single text was made from."""
        if self.paired.all():
            return np.arange(len(self.stimuli))
        units = [stimulus.unit for stimulus in self.stimuli]
        return _numbers(_objects(sorted(set(units))), units)

    @cached_property
    def words(self) -> Ints:
        """Words of each stimulus's first text; 0 where the text is not known."""
        return np.array([stimulus.words for stimulus in self.stimuli], dtype=np.int64)

    @cached_property
    def longer_by_name(self) -> dict[str, int]:
        """Name of a pair to its text with more words, 1 for u and 2 for v, 0 where neither has; pairs of
        unknown lengths are left out."""
        known = ((s.id, s.pair_lengths) for s in self.stimuli)
        words = ((name, *lengths) for name, lengths in known if lengths is not None)
        return {name: 0 if u == v else 1 if u > v else 2 for name, u, v in words}

    @cached_property
    def run(self) -> Mask:
        """True where the stimulus is a run of an agent whose failing answer is known."""
        known = [s.is_run and s.failing is not None for s in self.stimuli]
        return np.array(known, dtype=np.bool_)

    @cached_property
    def labels(self) -> Coded[str | None]:
        """What a sound judge answers, in a word; None where nobody has said."""
        return self._coded(lambda stimulus: reference_label(stimulus.expectation))

    @cached_property
    def scales(self) -> Coded[str | None]:
        """Scale of each single text, as it is written; None for a pair."""
        return self._coded(lambda stimulus: stimulus.scale)

    @cached_property
    def conditions(self) -> Coded[tuple[str, str, float | None]]:
        return self._coded(lambda stimulus: (stimulus.probe, stimulus.kind, stimulus.delta))

    @cached_property
    def ends(self) -> Ints:
        """Low and high end of each scale (stimuli × 2); 0 and 0 where there is none."""
        return self.by_form(lambda stimulus: _ends(stimulus.scale), np.int64).reshape(-1, 2)

    def chosen(self, probe: str | None, kinds: frozenset[str] | None, labelled: bool) -> Mask | None:
        """The stimuli of a probe, of some kinds, with a label, as far as these are given; None for all."""
        wanted = probe, kinds, labelled
        if wanted not in self._choices:
            forms, codes = self._forms
            meets = [
                (probe is None or form.probe == probe)
                and (kinds is None or form.kind in kinds)
                and (not labelled or form.labelled)
                for form in forms
            ]
            self._choices[wanted] = None if all(meets) else np.array(meets, dtype=np.bool_)[codes]
        return self._choices[wanted]

    @cached_property
    def _choices(self) -> dict[tuple[str | None, frozenset[str] | None, bool], Mask | None]:
        return {}

    @cached_property
    def _forms(self) -> tuple[list[Stimulus], Ints]:
        """The first stimulus of each form, and the form of each: what many share beside names and texts."""
        forms = Coded.of((*_FORM(stimulus), len(stimulus.texts)) for stimulus in self.stimuli)
        firsts = np.unique(forms.codes, return_index=True)[1]
        return [self.stimuli[place] for place in firsts.tolist()], forms.codes

    def by_form(self, value: Callable[[Stimulus], object], kind: type[Kind]) -> NDArray[Kind]:
        """What all stimuli of a form have in common, in a column."""
        forms, codes = self._forms
        return np.array([value(stimulus) for stimulus in forms], dtype=kind)[codes]

    def _coded(self, value: Callable[[Stimulus], Value]) -> Coded[Value]:
        """What all stimuli of a form have in common, its distinct values numbered."""
        forms, codes = self._forms
        known = Coded.of(map(value, forms))
        return Coded(known.values, known.codes[codes])


def _ends(scale: str | None) -> tuple[int, int]:
    answers = ("0", "0") if scale is None else parse_scale(scale).answers
    return int(answers[0]), int(answers[-1])


def _numbers(names: Names, values: Iterable[str]) -> Ints:
    number = {name: index for index, name in enumerate(names)}
    return np.array([number[value] for value in values], dtype=np.int64)


def _objects(values: Iterable[str]) -> Names:
    listed = list(values)
    column = np.empty(len(listed), dtype=np.object_)
    column[:] = listed
    return column
