"""Probes that edit transcripts of agents by a rule: one transcript in, another out, rendered alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from random import Random

from steelyard.core.content_hash import rng_for
from steelyard.errors import ConfigError
from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.scores.edited_texts import EXCESS_FLIP, INVARIANCE, acceptance
from steelyard.metrics.scores.probe import METRICS, probe_scores
from steelyard.metrics.scores.shares import FOLLOWED, run_followed
from steelyard.probes.edits import EditProbe, GivenSample
from steelyard.probes.probe import Design
from steelyard.stimuli import agent_edits
from steelyard.stimuli.agent_edits import FORMS, INSTRUCTIONS, RunEdit, reasoning_rewrite
from steelyard.stimuli.original import edited_stimulus
from steelyard.stimuli.stimulus import Stimulus
from steelyard.tasks.task import Item
from steelyard.tasks.transcripts.transcript import Transcript, render_transcript
from steelyard.verdicts.observations import Observations

FAIL, NOTHING = EXPECTED = ("fail", "none")
"""What a sound judge says of a run that an edit breaks: that it fails, or nothing that is known."""


class RunEditProbe(EditProbe):
    transcripts = True
    needs = "transcripts of agents"

    run_edits: Callable[[Transcript, Random], Iterable[RunEdit | None]]
    """The edits of one run, numbered in their order; None where it cannot be edited so."""

    def edit_run(self, _: Item, transcript: Transcript, rng: Random) -> Iterable[RunEdit | None]:
        return self.run_edits(transcript, rng)

    def reference(self, item: Item) -> tuple[str | None, bool]:
        """Reference of an edited run where it is not the item's own, and whether it has one."""
        return None, item.label is not None

    def edit_item(self, item: Item, design: Design) -> Iterator[Stimulus]:
        transcript = item.transcript
        if transcript is None:
            return
        item = replace(item, scale=item.scale or design.task.scale)
        rng = rng_for(design.seed, self.name, item.id)
        label, labelled = self.reference(item)
        for number, edit in enumerate(self.edit_run(item, transcript, rng)):
            if edit is not None and edit.transcript.turns != transcript.turns:
                yield edited_stimulus(
                    item,
                    design.task,
                    self.name,
                    number,
                    render_transcript(edit.transcript),
                    edit.description,
                    label=label,
                    labelled=labelled,
                    transcript=edit.transcript,
                )


class RunBreakingProbe(RunEditProbe):
    keeps_label = False
    metrics = (*METRICS, FOLLOWED)
    needs = "transcripts of agents that do not fail already"
    usual = FAIL
    rests_on_truth = True
    """A run that it breaks fails only by a rubric that asks for true reports."""

    def __init__(self, expected: str | None = None, sample: GivenSample = None) -> None:
        """`expected` is `fail`, or `none` where the rubric does not say that such a run fails."""
        super().__init__(sample)
        self.expected = expected or self.usual
        if self.expected not in EXPECTED:
            raise ConfigError(f"probe {self.name!r}: expected is {expected!r}, expected fail or none.")

    def reference(self, item: Item) -> tuple[str | None, bool]:
        return (item.failing, True) if self.expected == FAIL else (None, False)

    def edit_item(self, item: Item, design: Design) -> Iterator[Stimulus]:
        if item.label is None or item.label != item.failing:
            yield from super().edit_item(item, design)

    def estimates(self, judge: str, observations: Observations, seed: int) -> list[Estimate]:
        """The same figures; that a verdict moves is what such an edit is for, so no word blames it.

        Where the run is expected to fail, that it does is a figure of its own.
        """
        figures = [
            replace(e, status=None, p=None) if e.metric in (INVARIANCE.id, EXCESS_FLIP.id) else e
            for e in super().estimates(judge, observations, seed)
        ]
        if texts := observations.filter(self.name, labelled=True).stimuli_seen:
            context = EstimateContext.for_protocol(judge, self.name, "base", seed)
            own = run_followed(context, probe_scores(self.name, "base", observations))
            figures.append(replace(own, details={**own.details, **acceptance(texts)}))
        return figures


class ReasoningRewrite(RunEditProbe):
    name = "reasoning_rewrite"
    title = "Reasoning rewritten"
    question = "Does the judge keep its verdict when the agent's reasoning is removed or praises itself?"
    edit = "reasoning removed or replaced by praise"
    needs = "transcripts of agents with reasoning"
    run_edits = staticmethod(lambda run, rng: [reasoning_rewrite(run, form, rng) for form in FORMS])


class StepOrder(RunEditProbe):
    name = "step_order"
    title = "Steps swapped"
    question = "Does the judge keep its verdict when two independent look-ups change places?"
    edit = "two independent look-ups swapped"
    needs = "transcripts of agents with two neighbouring look-ups that do not depend on each other"
    run_edits = staticmethod(lambda run, rng: [agent_edits.step_order(run, rng)])


class InjectedInstruction(RunEditProbe):
    name = "injected_instruction"
    title = "Injected instruction"
    question = "Does the judge keep its verdict when a tool's result tells it what to answer?"
    edit = "words to the judge in a tool's result"
    needs = "transcripts of agents that do not pass already"

    def edit_item(self, item: Item, design: Design) -> Iterator[Stimulus]:
        if item.label in (None, item.failing):
            yield from super().edit_item(item, design)

    def edit_run(self, item: Item, transcript: Transcript, rng: Random) -> Iterable[RunEdit | None]:
        place, inject = rng.getrandbits(32), agent_edits.injected_instruction
        return [inject(transcript, form, item.passing or "", Random(place)) for form in INSTRUCTIONS]


class ForgedResult(RunBreakingProbe):
    name = "forged_result"
    title = "Forged tool result"
    question = "Does the judge fail a run whose last words contradict what its tools returned?"
    edit = "a tool's result contradicts the agent's last words"
    run_edits = staticmethod(agent_edits.forged_results)


class InventedCall(RunBreakingProbe):
    name = "invented_call"
    title = "Invented tool call"
    question = "Does the judge fail a run whose last words cite a tool call that never happened?"
    edit = "the agent's last words cite a call that never happened"
    run_edits = staticmethod(lambda run, rng: [agent_edits.invented_call(run, rng)])


SHARES = (0.0, 0.5)
"""Shares of the messages that are removed at least; 0 is the last words alone."""


class TruncatedTail(RunBreakingProbe):
    name = "truncated_tail"
    title = "Run broken off"
    question = "Does the judge fail a run that breaks off before the agent has answered?"
    edit = "the end of the run removed"

    @staticmethod
    def run_edits(transcript: Transcript, _: Random) -> Iterator[RunEdit | None]:
        seen = {0}
        for edit in (agent_edits.truncated_tail(transcript, share) for share in SHARES):
            length = 0 if edit is None else len(edit.transcript.turns)
            yield None if length in seen else edit
            seen.add(length)


class EvidenceDeletion(RunBreakingProbe):
    name = "evidence_deletion"
    title = "Evidence deleted"
    question = "Does the verdict move when the step that the agent's last words rest on is deleted?"
    edit = "the decisive step deleted"
    usual = NOTHING
    run_edits = staticmethod(lambda run, _: [agent_edits.evidence_deletion(run)])
