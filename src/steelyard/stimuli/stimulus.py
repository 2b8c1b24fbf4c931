"""An item as it is shown to a judge, with where it came from and what a sound judge does with it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

from steelyard.core.content_hash import content_hash, plain
from steelyard.errors import DataError
from steelyard.tasks.pack import is_pack_run
from steelyard.tasks.transcripts.transcript import Transcript, TurnChange, changed_words


@dataclass(frozen=True)
class Label:
    """The verdict that is right for a single text."""

    value: str


@dataclass(frozen=True)
class Prefers:
    """This content of the pair, `u` or `v`, whichever slot it stands in."""

    content: str


@dataclass(frozen=True)
class NoPreference:
    """A tie."""


@dataclass(frozen=True)
class Unknown:
    """Nobody has said: the stimulus counts towards consistency, never towards accuracy."""


Expectation: TypeAlias = Label | Prefers | NoPreference | Unknown


def reference_label(expectation: Expectation) -> str | None:
    """The reference as files spell it: a score, `u` or `v`, `tie`; None where nobody has said."""
    match expectation:
        case Label(value=value):
            return value
        case Prefers(content=content):
            return content
        case NoPreference():
            return "tie"
    return None


@dataclass(frozen=True)
class Lineage:
    """How a stimulus came to be."""

    parent: str
    edit: str
    """What was done to the parent, in words a person can check."""
    author: str = "catalogue"
    validation: str | None = None
    review: str | None = None
    """`pending`, `accepted`, `edited` or `rejected`, where a person is to look or a check refused it."""


@dataclass(frozen=True)
class RecordedText:
    """What is known of a text or run that was judged elsewhere, beside the verdicts on it."""

    words: int | None = None
    run: bool = False
    change_depth: float | None = None
    """Where in the run the first message that an edit changed or added stands, 0 to 1."""
    changed_words: int | None = None
    second_words: int | None = None
    """Of a pair, words of its second text."""


PACK = "pack"
"""Author of texts and runs of the built-in pack, which the program ships and checks."""
NOBODY = "nobody"
"""Author of a run that was taken as it is: nothing was written."""
RECORDED = "recorded"
"""Author of a text that was judged elsewhere, and is not known here."""
PENDING, ACCEPTED, EDITED, REJECTED = REVIEWS = ("pending", "accepted", "edited", "rejected")

ADDITIONS = (
    *("instruction", "scale", "level", "authors", "failing", "transcript", "changes", "recorded"),
    *("context", "metadata"),
)
"""Fields that are left out where they say nothing: pairs have the hash they had without them."""


def _without_absent(body: dict[str, Any]) -> dict[str, Any]:
    known = {key: value for key, value in body.items() if value is not None or key not in ADDITIONS}
    recorded = known.get("recorded")
    if recorded is not None and recorded["second_words"] is None:
        # A single text has the hash it had before pairs had lengths.
        known["recorded"] = {key: value for key, value in recorded.items() if key != "second_words"}
    return known


@dataclass(frozen=True)
class Stimulus:
    """One text (pointwise) or a canonical pair of texts u, v (pairwise)."""

    id: str
    """Readable name, unique in its set; never shown to a judge."""
    probe: str
    kind: str
    """Condition within the probe: `prefix`, `same_subset`, `identical`, …"""
    cluster: str
    """What is drawn again as a whole: stimuli of a cluster are not independent."""
    stratum: str
    request: str
    texts: tuple[str, ...]
    """The canonical contents, u then v."""
    expectation: Expectation
    lineage: Lineage
    delta: float | None = None
    """Quality difference in elements, where there is a ladder."""
    base_level: float | None = None
    """Quality of the worse text, where there is a ladder."""
    rubric: str | None = None
    reference: str | None = None
    instruction: str | None = None
    scale: str | None = None
    """Scale as it is written (`binary`, `1-6`); every stimulus of one text names its own."""
    level: float | None = None
    """Strength of a graded edit; the name is the key that the hash is taken of."""
    authors: tuple[str, ...] | None = None
    """Models that wrote the texts, one for each, where that is known; never shown to a judge."""
    failing: str | None = None
    """Answer that says that the text or run breaks the rubric, where that is known."""
    transcript: Transcript | None = None
    """The agent's run whose rendering the text is; None where the text is no run."""
    changes: tuple[TurnChange, ...] | None = None
    """What an edit changed in the run, message by message; None for a run as it is."""
    recorded: RecordedText | None = None
    """What is known of a text that is not at hand; None where it is."""
    context: str | None = None
    """What the text was to rest on; only judges that ask for it by name see it."""
    metadata: str | None = None
    """A JSON object of the data's owner; only judges that ask for it by name see it."""

    @cached_property
    def hash(self) -> str:
        """Content hash of everything above; an addition that a stimulus lacks does not enter."""
        return content_hash(self.content)

    @cached_property
    def shown_hash(self) -> str:
        """The same without what is expected: a text is one text whoever labelled it."""
        return content_hash({key: value for key, value in self.content.items() if key != "expectation"})

    @property
    def content(self) -> dict[str, Any]:
        """What the hash is taken of."""
        body = {**plain(self._bare), **self._run}
        if not self.is_run:
            del body["failing"]  # how answers on a text are read changes nothing that is shown
        return _without_absent(body)

    @property
    def _bare(self) -> Stimulus:
        whole = self.transcript is None and self.changes is None
        return self if whole else replace(self, transcript=None, changes=None)

    @property
    def _run(self) -> dict[str, Any]:
        """The run and its changes as JSON has them: absent parts of a message do not enter a hash."""
        run = {} if self.transcript is None else {"transcript": self.transcript.to_json()}
        return run if self.changes is None else {**run, "changes": [c.to_json() for c in self.changes]}

    @property
    def unit(self) -> str:
        """What counts as one: the pair, or the item that a single text was made from."""
        return self.id if len(self.texts) == 2 else self.lineage.parent

    @property
    def is_run(self) -> bool:
        """True for a run of an agent, whether it is at hand or was judged elsewhere."""
        return self.transcript is not None or (self.recorded is not None and self.recorded.run)

    @property
    def change_depth(self) -> float | None:
        """Depth of the first message that an edit of the run changed or added; None where there is none."""
        if self.recorded is not None:
            return self.recorded.change_depth
        return min((c.depth for c in self.changes or () if c.after is not None), default=None)

    @property
    def changed_words(self) -> int | None:
        """Words that an edit of the run changed; None where nothing was edited."""
        if self.recorded is not None:
            return self.recorded.changed_words
        return None if self.changes is None else changed_words(self.changes)

    @property
    def words(self) -> int:
        """Words of the first text; 0 where they are not known."""
        if self.recorded is not None:
            return self.recorded.words or 0
        return len(self.texts[0].split())

    @property
    def pair_lengths(self) -> tuple[int, int] | None:
        """Words of the two texts of a pair; None where they are not known."""
        if self.recorded is not None and self.recorded.second_words is not None:
            return self.recorded.words or 0, self.recorded.second_words
        if len(self.texts) != 2 or not self.texts_known:
            return None
        return len(self.texts[0].split()), len(self.texts[1].split())

    @property
    def labelled(self) -> bool:
        """True where somebody has said what a sound judge does with it."""
        return not isinstance(self.expectation, Unknown)

    @property
    def texts_known(self) -> bool:
        """False where only the verdicts were recorded, elsewhere."""
        return self.lineage.author != RECORDED

    @property
    def judged(self) -> bool:
        """True where it may be shown to a judge: neither rejected nor waiting for a person."""
        return self.lineage.review not in (PENDING, REJECTED)

    @property
    def of_pack(self) -> bool:
        """True for a text of the built-in pack, and for its runs, whatever was done to them."""
        if self.lineage.author == PACK:
            return True
        return self.is_run and is_pack_run(self.lineage.parent, None if self.recorded else self.request)

    @property
    def accepted(self) -> bool:
        """True where somebody beside its author accepted it: a person, or another model as validator."""
        made = self.lineage
        if made.review in (ACCEPTED, EDITED) or self.of_pack:
            return True
        # A validation begins with the address of the model that gave it.
        return bool(made.validation) and not str(made.validation).startswith(f"{made.author} ")

    def to_json(self) -> dict[str, Any]:
        """A plain mapping, one line of `stimuli.jsonl`."""
        body = {**asdict(self._bare), **self._run}
        body["expectation"] = {"type": type(self.expectation).__name__, **asdict(self.expectation)}
        return _without_absent(body)

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Stimulus:
        """The inverse of `to_json`; a review on the line itself, where a person may put it, counts too."""
        known = (Label, Prefers, NoPreference, Unknown)
        types: dict[str, type[Any]] = {t.__name__: t for t in known}
        expected = dict(body["expectation"])
        expectation = types[expected.pop("type")](**expected)
        nested = ("expectation", "lineage", "texts", "review")
        rest = {key: value for key, value in body.items() if key not in nested}
        review = {"review": body["review"]} if "review" in body else {}
        if "authors" in rest:
            rest["authors"] = tuple(rest["authors"])
        if "transcript" in rest:
            rest["transcript"] = Transcript.from_json(rest["transcript"])
        if "changes" in rest:
            rest["changes"] = tuple(map(TurnChange.from_json, rest["changes"]))
        if "recorded" in rest:
            rest["recorded"] = RecordedText(**rest["recorded"])
        return cls(
            **rest,
            texts=tuple(body["texts"]),
            expectation=expectation,
            lineage=Lineage(**{**body["lineage"], **review}),
        )


@dataclass(frozen=True)
class StimulusSet:
    """A frozen collection of stimuli: every judge of a study sees the same one."""

    stimuli: tuple[Stimulus, ...]

    @classmethod
    def of(cls, stimuli: Iterable[Stimulus]) -> StimulusSet:
        """In the order of their ids, each of which is there once."""
        ordered = tuple(sorted(stimuli, key=lambda stimulus: stimulus.id))
        for left, right in pairwise(ordered):
            if left.id == right.id:
                raise DataError(f"two stimuli are named {left.id!r}: give each an id of its own.")
        return cls(ordered)

    @cached_property
    def hash(self) -> str:
        """Of everything that is in it."""
        return content_hash([stimulus.hash for stimulus in self.stimuli])

    @property
    def judged(self) -> StimulusSet:
        """Those that judges are asked about."""
        return StimulusSet(tuple(stimulus for stimulus in self.stimuli if stimulus.judged))

    def __iter__(self) -> Iterator[Stimulus]:
        return iter(self.stimuli)

    def __len__(self) -> int:
        return len(self.stimuli)

    def write(self, path: Path) -> None:
        """One line of JSON each."""
        lines = [json.dumps(stimulus.to_json(), sort_keys=True) for stimulus in self]
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> StimulusSet:
        """What `write` wrote; a damaged line raises a DataError."""
        stimuli = []
        try:
            lines = path.read_text(encoding="utf-8").split("\n")
        except (OSError, ValueError) as error:
            raise DataError(f"{path}: cannot be read ({error}); restore the file.") from error
        for number, line in enumerate(lines, start=1):
            if line.strip():
                try:
                    stimuli.append(Stimulus.from_json(json.loads(line)))
                except (ValueError, KeyError, TypeError) as error:
                    fault = re.sub(r"(Stimulus|Lineage)\.__init__\(\) ", "", str(error))
                    raise DataError(
                        f"{path}, line {number}: not a stimulus ({fault}); restore the file."
                    ) from error
        return cls.of(stimuli)
