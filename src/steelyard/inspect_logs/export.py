"""To Inspect: a run folder's stimuli as logs, and a judge as a scorer.

There is a log for each probe, edits are marked, verdicts are scores.
Messages and scores are as Inspect has them: the inverse of how its logs are read.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from steelyard.core.content_hash import content_hash, short_hash
from steelyard.core.foreign_code import import_problem
from steelyard.errors import ConfigError, DataError, StoreError
from steelyard.providers.provider import connect
from steelyard.run_folder.call_examples import RunCalls
from steelyard.run_folder.run_folder import RunFolder
from steelyard.run_folder.snapshot import load_plan
from steelyard.runner.record import RunRecord
from steelyard.runner.runner import JudgeCall
from steelyard.stimuli.stimulus import Label, Stimulus, StimulusSet
from steelyard.study.judge_config import parse_judge
from steelyard.study.task_config import instruction_for, read_part
from steelyard.tasks.task import Binary, Item, Ordinal, Task, parse_scale
from steelyard.tasks.transcripts.chat import turns_of
from steelyard.tasks.transcripts.transcript import Block, Transcript, Turn, render_transcript
from steelyard.verdicts.call_answers import reason_of
from steelyard.verdicts.verdict import Abstained, Decided, Unreadable, Verdict

UNSCORED = {Abstained: "refusal", Unreadable: "invalid_response_format"}
"""What Inspect calls a score that is none; everything else is a grader that failed."""
MARK = "steelyard"


def require_inspect(wanted: str) -> None:
    try:
        import inspect_ai  # noqa: F401
    except Exception as error:  # of a damaged installation, nearly anything
        raise ConfigError(
            f"{wanted}: needs inspect_ai, which {import_problem('inspect_ai', error)}."
        ) from error


def score_of(verdict: Verdict, words: str | None, known: dict[str, Any]) -> Any:
    """A verdict with the words behind it; what Steelyard knows of the call stands under a key of its own."""
    from inspect_ai.scorer import Score

    if isinstance(verdict, Decided):
        value = verdict.value
        return Score(value=int(value), answer=value, explanation=words, metadata={MARK: known})
    reason = UNSCORED.get(type(verdict), "grader_failed")
    told = {MARK: {**known, "reason": reason_of(verdict)}}
    return Score(value=float("nan"), explanation=words, reason=reason, metadata=told)


def chat_messages(turns: Collection[Turn], edited: Collection[Turn] = ()) -> list[Any]:
    return [
        _message(turn, turn.id or f"message-{number}", {MARK: {"edited": True}} if turn in edited else None)
        for number, turn in enumerate(turns, start=1)
    ]


def _message(turn: Turn, name: str, metadata: dict[str, Any] | None) -> Any:
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageTool, ChatMessageUser
    from inspect_ai.tool import ToolCall, ToolCallError

    content: Any = [_block(block) for block in turn.blocks] or ""
    if len(turn.blocks) == 1 and turn.blocks[0].kind == "text" and turn.blocks[0].body is None:
        content = turn.blocks[0].text
    common: dict[str, Any] = {"id": name, "content": content, "metadata": metadata}
    if turn.role == "tool":
        error = None if turn.error is None else ToolCallError(type="unknown", message=turn.error)
        return ChatMessageTool(**common, tool_call_id=turn.call, function=turn.function, error=error)
    if turn.role == "assistant":
        calls = [
            ToolCall(id=call.id, function=call.function, arguments=call.arguments, parse_error=call.fault)
            for call in turn.calls
        ]
        return ChatMessageAssistant(**common, tool_calls=calls or None, model=turn.model)
    return {"system": ChatMessageSystem, "user": ChatMessageUser}[turn.role](**common)


def _block(block: Block) -> Any:
    from inspect_ai import model

    body = dict(block.body or {})
    if block.kind == "text":
        body, otherwise = {**body, "text": block.text}, model.ContentText(text=block.text)
    elif block.kind == "reasoning":
        words = {} if body.get("redacted") and "reasoning" in body else {"reasoning": block.text}
        body, otherwise = {**body, **words}, model.ContentReasoning(reasoning=block.text)
    else:
        otherwise = model.ContentText(text=f"[{block.kind.replace('_', ' ')}]")
    kind = getattr(model, "Content" + "".join(part.capitalize() for part in block.kind.split("_")), None)
    try:
        known = {} if kind is None else {key: body[key] for key in body if key in kind.model_fields}
        return otherwise if kind is None else kind(**known)
    except ValueError:
        return otherwise


NO_MODEL = "none/none"
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")

Scores = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class ExportedLog:
    path: Path
    probe: str
    samples: int
    scores: int


def export_inspect(folder: Path, out: Path) -> list[ExportedLog]:
    run = RunFolder(folder)
    probes: dict[str, list[Stimulus]] = {}
    for stimulus in _stimuli(run):
        probes.setdefault(stimulus.probe, []).append(stimulus)
    require_inspect("export --inspect")
    scores = _scores(run)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{out}: cannot be written ({error.strerror}); choose another --out.") from error
    paths = {probe: out / f"{_UNSAFE.sub('-', probe)}.eval" for probe in sorted(probes)}
    for path in paths.values():
        if path.exists():
            raise ConfigError(
                f"{path}: is there already, and may hold scores that were added to it; remove it, or choose "
                "another --out."
            )
    moment = datetime.now(UTC)
    return [_write(path, probe, probes[probe], scores, moment) for probe, path in paths.items()]


def _stimuli(run: RunFolder) -> list[Stimulus]:
    if not run.stimuli.exists():
        raise ConfigError(f"{run.stimuli}: no such file; name a folder that was measured or generated.")
    shown = [each for each in StimulusSet.read(run.stimuli) if each.judged and len(each.texts) == 1]
    if not shown:
        raise ConfigError(
            f"{run.stimuli}: holds no single text or run that may be judged, and pairs or several "
            "responses are no sample of Inspect; name another folder."
        )
    return shown


def _scores(run: RunFolder) -> Scores:
    if not (run.study.exists() and run.database.exists()):
        return {}
    plan = load_plan(run)
    scores: Scores = {}
    with run.store(read_only=True) as store:
        run_calls = RunCalls.of_run(plan, RunRecord(store, plan.study.reference))
        for seen in run_calls.observations:
            if len(seen.stimulus.texts) == 1:
                words = run_calls.record(seen)
                call: dict[str, Any] = {"judge": seen.judge, "protocol": seen.protocol}
                call |= {"replicate": seen.replicate}
                call |= {"baseline": True} if seen.judge in plan.study.baselines else {}
                protocol = "" if seen.protocol == "base" else f", {seen.protocol}"
                name = f"{seen.judge}{protocol}" + (
                    f", repeat {seen.replicate + 1}" if seen.replicate else ""
                )
                score = score_of(seen.verdict, words.reply or words.message, {"call": call})
                scores.setdefault(seen.stimulus.id, {})[name] = score
    return scores


def _write(
    path: Path, probe: str, stimuli: Sequence[Stimulus], scores: Scores, created: datetime
) -> ExportedLog:
    from inspect_ai.log import (
        EvalConfig,
        EvalDataset,
        EvalLog,
        EvalResults,
        EvalSpec,
        EvalStats,
        write_eval_log,
    )

    identity = short_hash(content_hash([probe, [each.hash for each in stimuli]]))
    samples = [_sample(each, scores.get(each.id, {})) for each in stimuli]
    models = {each.transcript.model for each in stimuli if each.transcript is not None}
    model = models.pop() if len(models) == 1 else None
    spec = EvalSpec(
        eval_id=identity,
        run_id=identity,
        task_id=identity,
        created=created.isoformat(timespec="seconds"),
        task=probe,
        dataset=EvalDataset(name=probe, samples=len(samples), sample_ids=[sample.id for sample in samples]),
        model=model or NO_MODEL,
        config=EvalConfig(epochs=1),
    )
    results = EvalResults(
        total_samples=len(samples), completed_samples=len(samples), scores=_results(samples)
    )
    stats = EvalStats(started_at=spec.created, completed_at=spec.created)
    log = EvalLog(status="success", eval=spec, results=results, samples=samples, stats=stats)
    try:
        write_eval_log(log, str(path), format="eval")
    except OSError as error:
        raise StoreError(f"{path}: cannot be written ({error.strerror}); choose another --out.") from error
    return ExportedLog(path, probe, len(stimuli), sum(len(scores.get(each.id, ())) for each in stimuli))


def _results(samples: Iterable[Any]) -> list[Any]:
    from inspect_ai.log import EvalMetric, EvalScore

    values: dict[str, list[Any]] = {}
    for sample in samples:
        for name, score in (sample.scores or {}).items():
            values.setdefault(name, []).append(score.value)
    rows = []
    for name, every in sorted(values.items()):
        known = [value for value in every if value == value]
        mean = {"mean": EvalMetric(name="mean", value=sum(known) / len(known))} if known else {}
        counts = {"scored_samples": len(known), "unscored_samples": len(every) - len(known)}
        rows.append(EvalScore(name=name, scorer=name, metrics=mean, **counts))
    return rows


def _sample(stimulus: Stimulus, scores: Mapping[str, Any]) -> Any:
    from inspect_ai.log import EvalSample
    from inspect_ai.model import ModelOutput

    if stimulus.transcript is not None:
        turns = stimulus.transcript.turns
    else:
        asked = (Turn("user", (Block("text", stimulus.request),)),) if stimulus.request else ()
        turns = (*asked, Turn("assistant", (Block("text", stimulus.texts[0]),)))
    messages = chat_messages(turns, [c.after for c in stimulus.changes or () if c.after is not None])
    last = next((m for m in reversed(messages) if m.role == "assistant"), None)
    output = ModelOutput() if last is None else ModelOutput.from_message(last)
    return EvalSample(
        id=stimulus.id,
        epoch=1,
        input=stimulus.request,
        target=stimulus.expectation.value if isinstance(stimulus.expectation, Label) else "",
        messages=messages,
        output=output,
        scores=dict(sorted(scores.items())),
        metadata=_metadata(stimulus),
    )


def _metadata(stimulus: Stimulus) -> dict[str, Any]:
    """What the run brings itself, and under a key of its own what Steelyard knows of it."""
    own = {} if stimulus.transcript is None else stimulus.transcript.metadata
    lineage = stimulus.lineage
    expected = stimulus.expectation.value if isinstance(stimulus.expectation, Label) else None
    told = ("failing", "scale", "cluster", "stratum", "level", "rubric", "words")
    known = {
        "stimulus": stimulus.id,
        **{name: getattr(stimulus, name) for name in ("hash", "probe", "kind")},
        "item": lineage.parent,
        **{name: getattr(lineage, name) for name in ("edit", "author", "validation", "review")},
        "expected": expected,
        **{name: getattr(stimulus, name) for name in told},
        "run": stimulus.is_run or None,
        **{name: getattr(stimulus, name) for name in ("change_depth", "changed_words")},
        "changes": None if stimulus.changes is None else [change.to_json() for change in stimulus.changes],
    }
    return {**own, MARK: {key: value for key, value in known.items() if value is not None}}


def judge_call(
    judge: str | Mapping[str, Any],
    rubric: str | Path,
    instruction: str | None,
    scale: str,
    runs: bool,
    attempts: int,
) -> JudgeCall:
    parsed = parse_scale(scale)
    if not isinstance(parsed, (Binary, Ordinal)):
        raise ConfigError(f"inspect_scorer: scale is {scale!r}, expected binary or a range such as 1-6.")
    asked = parse_judge(judge, Path(), parsed, transcripts=runs)
    for answer in asked.leaf_judges:
        connect(answer)  # refuses wrong models and options before anything is asked
    words = read_part(rubric, Path(), "inspect_scorer: rubric")
    return JudgeCall(asked, Task(instruction or instruction_for(parsed), words, parsed), attempts)


def inspect_scorer(
    judge: str | Mapping[str, Any],
    rubric: str | Path,
    instruction: str | None = None,
    scale: str = "binary",
    *,
    runs: bool = True,
    attempts: int = 3,
) -> Any:
    """A judge as a scorer for Inspect's `Task(scorer=…)` and `score(log, …)`.

    `judge` is as in a study file; `rubric` a text or a file. `runs` has the whole transcript judged, else the
    last words. Verdicts are whole numbers of the scale; a call without a verdict is unscored (NaN).
    """
    require_inspect("inspect_scorer")
    from inspect_ai.scorer import mean, scorer, stderr

    call = judge_call(judge, rubric, instruction, scale, runs, attempts)
    return scorer(metrics=[mean(), stderr()], name=call.judge.name)(lambda: scoring(call, runs))()


def scoring(call: JudgeCall, runs: bool) -> Callable[[Any, Any], Awaitable[Any]]:
    async def score(state: Any, target: Any) -> Any:
        del target
        answer, judge = await call.judge_item(_item(state, runs)), call.judge
        known = {
            "judge": judge.address,
            "fingerprint": judge.fingerprint("base"),
            "call": {"judge": judge.name, "protocol": "base", "replicate": 0},
        }
        return score_of(answer.verdict, answer.words, known)

    return score


def _item(state: Any, runs: bool) -> Item:
    """The whole run that is judged, or its last words."""
    name = f"{state.sample_id}/{state.epoch}"
    if not runs:
        return Item(name, state.input_text, (state.output.completion,), str(state.sample_id))
    messages = [message.model_dump(exclude_none=True) for message in state.messages]
    if not messages:
        raise DataError(f"sample {state.sample_id}: has no messages, expected a run to judge.")
    run = Transcript(str(state.sample_id), turns_of(messages, f"sample {state.sample_id}"), state.epoch)
    return Item(name, state.input_text, (render_transcript(run),), str(state.sample_id), transcript=run)
