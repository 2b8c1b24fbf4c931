"""The question put to the judge, and the thing judged, as it comes from a file or a catalogue."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from steelyard.core.content_hash import content_hash, plain
from steelyard.core.text import plural, pluralize
from steelyard.tasks.scale import Binary, Pairwise, Scale
from steelyard.tasks.transcripts.transcript import Transcript


@dataclass(frozen=True)
class Task:
    instruction: str
    rubric: str
    scale: Scale


def question_hash(tasks: Iterable[Task]) -> str:
    """Of the instructions and rubrics that are shown."""
    return content_hash([[*pair] for pair in sorted({(task.instruction, task.rubric) for task in tasks})])


SURFACE_CLAUSE = "Wording, style, sentence order and length do not count."
"""The part of the catalogue's rubric that says what quality is not."""

CHECKLIST_TASK = Task(
    instruction="Decide which of two answers to a request is better.",
    rubric=f"The better answer gives more of the things the request asks for. {SURFACE_CLAUSE}",
    scale=Pairwise(tie=True),
)


ADDITIONS = ("transcript", "failing", "context", "metadata")
"""Fields that are left out of the content where they say nothing: items have the hash they had without."""


@dataclass(frozen=True)
class Item:
    """A request with one response (pointwise), two (pairwise) or several of which one is the best."""

    id: str
    request: str
    responses: tuple[str, ...]
    cluster: str
    """What the item shares with others, such as a source: items of a cluster are not independent."""
    label: str | None = None
    stratum: str | None = None
    rubric: str | None = None
    reference: str | None = None
    instruction: str | None = None
    scale: Scale | None = None
    votes: tuple[str, ...] = ()
    """Every person's answer on the scale, where several were asked; `label` is what they came to."""
    authors: tuple[str, ...] | None = None
    transcript: Transcript | None = None
    """The agent's run behind the response, which is its rendering; None where the response is a text."""

    failing: str | None = None
    """Answer on the scale that says that the response breaks the rubric; None where nobody has said."""

    context: str | None = None
    """What the response was to rest on, such as retrieved passages; for judges that ask for it by name."""
    metadata: str | None = None
    """A JSON object of the user's own, for judges that ask for it by name."""

    @property
    def passing(self) -> str | None:
        """Answer on the scale that says that the response keeps the rubric: the far end from `failing`."""
        if self.failing is None:
            return None
        answers = (self.scale or Binary()).answers
        return answers[-1] if self.failing == answers[0] else answers[0]

    @property
    def content(self) -> dict[str, Any]:
        body = plain(self)
        if self.transcript is not None:
            body["transcript"] = self.transcript.to_json()
        if self.transcript is None:
            del body["failing"]  # how answers on a text are read changes nothing that is shown
        return {key: value for key, value in body.items() if value is not None or key not in ADDITIONS}


def missing_labels(missing: int, rows: int) -> str:
    """`4 of 60 rows have no label, …`; empty where none or all have one."""
    if not 0 < missing < rows:
        return ""
    have, none = plural(missing, "has", "have"), plural(missing, "it", "them")
    return (
        f"{missing:,} of {pluralize(rows, 'row')} {have} no label, and no figure against labels counts {none}"
    )
