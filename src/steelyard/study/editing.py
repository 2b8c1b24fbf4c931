"""Who edits runs of agents, and how far: planner, editor, summarizer and verifier."""

from __future__ import annotations

from dataclasses import dataclass, replace

from steelyard.trials.judge import Judge

STEPS = 4
"""Messages that one plan may edit, where a study says nothing else."""
SUMMARY_WORDS = 200
"""Words of a summary, at most, where a study says nothing else."""
SHOWN_BEFORE = 8
"""Messages before the edited one that an editor sees as they are; earlier ones are summed up."""


@dataclass(frozen=True)
class Editing:
    """The models that edit runs, each with one question of its own."""

    planner: Judge
    """Says which messages to edit, and to what end."""
    editor: Judge
    """Edits one message at a time."""
    summarizer: Judge
    """Sums up what an editor does not see as it is."""
    verifier: Judge
    """Grades the edited run, and does not know what it was to become."""
    steps: int = STEPS
    """Messages that one plan may edit, at most."""
    summary_words: int = SUMMARY_WORDS
    """Words of a summary, at most."""
    prompts: tuple[tuple[str, str], ...] = ()
    """Roles whose prompt the study brings, with its text."""
    stated: bool = False
    """True where the study says something of its own; what follows from author and validator is theirs."""

    @property
    def models(self) -> tuple[Judge, ...]:
        """Everyone who may be called."""
        return (self.planner, self.editor, self.summarizer, self.verifier)

    def at(self, model: Judge, attempt: int) -> Judge:
        """A model as it is asked in one try: each has a seed of its own, where there is one."""
        seed = model.decoding.seed
        decoding = model.decoding if seed is None else replace(model.decoding, seed=seed + attempt)
        return replace(model, name=f"{model.name}, try {attempt + 1}", decoding=decoding)
