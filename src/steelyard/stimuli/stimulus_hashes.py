"""The hashes of many stimuli: those that differ in nothing but their texts and names share a form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from json.encoder import encode_basestring_ascii as _json
from operator import attrgetter
from typing import Any

from steelyard.core.identity import canonical_json, digest_of
from steelyard.stimuli.stimulus import Stimulus

MARK = "\ue000"
"""Begins every place of a form in which a text goes."""
_PLACE = re.compile(r'"\\ue000(\d+)"')
_NAMES = attrgetter("id", "cluster", "stratum", "request", "lineage.parent", "lineage.edit")
_NUMBERS = attrgetter("delta", "base_level", "level")
_SHARED = attrgetter(
    *("probe", "kind", "expectation", "rubric", "reference", "instruction", "scale", "authors", "failing"),
    *("lineage.author", "lineage.validation", "lineage.review"),
)
_Form = tuple[str, list[int]]
"""What stands around the texts, `%s` in each place, and which text goes into it."""


def stimulus_hashes(stimuli: Iterable[Stimulus]) -> Iterator[str]:
    """`Stimulus.hash` of each, in order."""
    forms: dict[tuple[Any, ...], _Form | None] = {}
    for stimulus in stimuli:
        if any(part is not None for part in (stimulus.transcript, stimulus.changes, stimulus.recorded)):
            yield stimulus.hash
            continue
        kind = _kind(stimulus)
        if kind not in forms:
            forms[kind] = _form(stimulus)
        form = forms[kind]
        yield stimulus.hash if form is None else digest_of(_filled(form, _texts(stimulus)))


def _form(stimulus: Stimulus) -> _Form | None:
    """The canonical JSON with its places; None where a text of the stimulus looks like a place."""
    parts = _PLACE.split(canonical_json(_marked(stimulus).content))
    places = [int(place) for place in parts[1::2]]
    around = "%s".join(part.replace("%", "%%") for part in parts[::2])
    return (around, places) if sorted(places) == list(range(len(_texts(stimulus)))) else None


def _filled(form: _Form, texts: Sequence[str]) -> str:
    around, places = form
    return around % tuple([_json(texts[place]) for place in places])


def _texts(stimulus: Stimulus) -> tuple[str, ...]:
    """What differs from one stimulus of a form to the next."""
    return *_NAMES(stimulus), *stimulus.texts


def _kind(stimulus: Stimulus) -> tuple[Any, ...]:
    """Everything else; numbers by their texts, since 0.0 and -0.0 are equal and spelled apart."""
    return *_SHARED(stimulus), *map(repr, _NUMBERS(stimulus)), len(stimulus.texts)


def _marked(stimulus: Stimulus) -> Stimulus:
    """The form: numbered marks in place of the texts."""
    name, cluster, stratum, request, parent, edit, *texts = (
        f"{MARK}{place}" for place in range(len(_texts(stimulus)))
    )
    line = replace(stimulus.lineage, parent=parent, edit=edit)
    return replace(
        stimulus,
        id=name,
        cluster=cluster,
        stratum=stratum,
        request=request,
        texts=tuple(texts),
        lineage=line,
    )
