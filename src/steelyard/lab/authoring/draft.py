"""One brief on its way: its tries, and what it came to."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from steelyard.lab.folder.authored_stimuli import AuthoredStimulus
from steelyard.stimuli.authored.brief import Brief
from steelyard.stimuli.authored.rejection import Rejection
from steelyard.stimuli.stimulus import REJECTED, Stimulus
from steelyard.tasks.task import Task


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
    kept_score: str | None = None
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
        return self.brief.fulfilled(self.text, self.task, self.author, self.kept_score)

    def reject(self, rejection: Rejection) -> None:
        """Turn the last try down."""
        self.tries.append(rejection)

    def written(self) -> AuthoredStimulus:
        """What came of it: the accepted text, or the last one with the reason it was turned down."""
        stimulus = self.stimulus
        lineage = replace(stimulus.lineage, validation=self.validation)
        if not self.accepted:
            last, count = self.tries[-1], len(self.tries)
            detail = f"{last.reason}: {last.detail} (try {count} of {count})"
            lineage = replace(lineage, validation=detail, review=REJECTED)
        return AuthoredStimulus(replace(stimulus, lineage=lineage), tuple(self.tries))
