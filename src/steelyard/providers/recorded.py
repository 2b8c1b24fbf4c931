"""A judge whose verdicts were recorded: it answers what the recording says, and nothing else.

A presentation does not name its stimulus, so the runner hands the answers over beforehand, by trial.
"""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.errors import PermanentError
from steelyard.providers.provider_info import (
    IN_PROCESS_SECONDS,
    InProcessProvider,
    JudgeExample,
    Name,
    Options,
    ProviderInfo,
)
from steelyard.trials.judge import Judge, Presentation, Reply


class RecordedOptions(Options):
    owner = "recorded judges"

    judge: Name | None = None


class RecordedProvider(InProcessProvider):
    info = ProviderInfo(
        free=True,
        uses_prompt=False,
        can_write=False,
        can_score=False,
        can_choose=False,
        is_recording=True,
        seconds_per_call=IN_PROCESS_SECONDS,
        options=RecordedOptions,
        examples=(
            JudgeExample(
                "recorded/FILE.jsonl?judge=NAME", "replays recorded verdicts on stimuli of the same names"
            ),
        ),
    )

    concurrency = 64

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._answers: dict[str, str] = {}

    def set_replies(self, answers: Mapping[str, str]) -> None:
        self._answers.update(answers)

    async def ask(self, presentation: Presentation) -> Reply:
        answer = self._answers.get(presentation.trial)
        if answer is None:
            raise PermanentError(
                "not_recorded", f"judge {self._judge.name}: the recording holds no answer to this trial"
            )
        if answer == "failed":
            raise PermanentError(
                "recorded_failure", f"judge {self._judge.name}: this call failed when it was recorded"
            )
        text = "" if answer == "unreadable" else f'{{"winner": "{answer}"}}'
        return Reply(text, served_model=self._judge.address)
