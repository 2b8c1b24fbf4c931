"""One brief on its way: its tries, and what it came to."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

from steelyard.run_folder.authored_stimuli import AuthoredStimulus
from steelyard.stimuli.authored.brief import Brief
from steelyard.stimuli.authored.rejection import Rejection
from steelyard.stimuli.stimulus import REJECTED, Stimulus
from steelyard.tasks.task import Task
from steelyard.trials.exchange import VALIDATOR


@dataclass
class Draft:
    """A brief that is being worked on."""

    confirmed_by: ClassVar[str] = VALIDATOR
    """Role that confirms it."""

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
        return self.brief.to_stimulus(self.text, self.task, self.author, self.kept_score)

    @property
    def by_validator(self) -> bool:
        """True where nobody but the validator says what the reference is."""
        return False

    @property
    def remarks(self) -> str:
        """What a reader of the stimulus should know beside what the validator found; empty without any."""
        return ""

    def reject(self, rejection: Rejection) -> None:
        """Turn the last try down."""
        self.tries.append(rejection)

    def written(self) -> AuthoredStimulus:
        """What came of it: the accepted text, or the last one with the reason it was rejected."""
        stimulus = self.stimulus
        told, review = self.validation, stimulus.lineage.review
        if not self.accepted:
            last, count = self.tries[-1], len(self.tries)
            told, review = f"{last.reason}: {last.detail} (try {count} of {count})", REJECTED
        told = f"{told}; {self.remarks}" if self.remarks else told
        lineage = replace(stimulus.lineage, validation=told, review=review)
        return AuthoredStimulus(replace(stimulus, lineage=lineage), tuple(self.tries), self.by_validator)
