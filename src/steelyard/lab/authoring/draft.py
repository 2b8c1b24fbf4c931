"""One brief on its way: its tries, and what it came to."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace

from steelyard.identity import canonical_json, content_hash
from steelyard.stimuli.authored.brief import Brief
from steelyard.stimuli.authored.rejection import Rejection
from steelyard.stimuli.stimulus import REJECTED, Stimulus
from steelyard.store.authoring import AuthoredRow
from steelyard.tasks.task import Task


@dataclass(frozen=True)
class Written:
    """A stimulus that somebody wrote, with the tries that were turned down."""

    stimulus: Stimulus
    """As it was made; what a person decided later is not in it."""
    tries: tuple[Rejection, ...] = ()
    """Why earlier texts were turned down; for a rejected stimulus every text."""

    @property
    def rejected(self) -> bool:
        """True where no try was good enough."""
        return self.stimulus.lineage.review == REJECTED

    def row(self, brief: str, roles: str) -> AuthoredRow:
        """How it lies in the run file."""
        body = {"stimulus": self.stimulus.to_json(), "tries": [asdict(each) for each in self.tries]}
        return AuthoredRow(self.stimulus.id, brief, roles, canonical_json(body))

    @classmethod
    def of(cls, row: AuthoredRow) -> Written:
        """The inverse of `row`."""
        body = json.loads(row.body)
        tries = tuple(Rejection(**each) for each in body["tries"])
        return cls(Stimulus.from_json(body["stimulus"]), tries)


@dataclass
class Draft:
    """A brief that is being worked on."""

    brief: Brief
    task: Task
    author: str
    """Model that writes."""
    tries: list[Rejection] = field(default_factory=list)
    text: str = ""
    """The last text, good or not."""
    accepted: bool = False
    validation: str = ""
    """What the validator found."""
    found: str | None = None
    """Score that the text is kept at, where it is not the one that it was written for."""
    waiting: str | None = None
    """Why this sitting can not bring it to an end."""

    @property
    def open(self) -> bool:
        """True where another try makes sense."""
        return not self.accepted and self.waiting is None

    @property
    def feedback(self) -> str:
        """What the author is told of its last try."""
        return self.tries[-1].detail if self.tries else ""

    @property
    def stimulus(self) -> Stimulus:
        """The text in the item's place, as it would be judged."""
        return self.brief.fulfilled(self.text, self.task, self.author, self.found)

    def reject(self, rejection: Rejection) -> None:
        """Turn the last try down."""
        self.tries.append(rejection)

    def written(self) -> Written:
        """What came of it: the accepted text, or the last one with the reason it was turned down."""
        stimulus = self.stimulus
        lineage = replace(stimulus.lineage, validation=self.validation)
        if not self.accepted:
            last, count = self.tries[-1], len(self.tries)
            told = f"{last.reason}: {last.detail} (try {count} of {count})"
            lineage = replace(lineage, validation=told, review=REJECTED)
        return Written(replace(stimulus, lineage=lineage), tuple(self.tries))


def brief_hash(brief: Brief, task: Task, exemplars: tuple[tuple[str, str], ...] = ()) -> str:
    """Identity of what is asked for, the examples in the prompt included."""
    return content_hash([brief, task, *([exemplars] if exemplars else [])])
