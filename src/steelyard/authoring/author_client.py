"""Calls to authors, validators, planners and editors: their prompts and replies, which are never guessed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from steelyard.authoring.drafts import Draft, DraftT, RunDraft
from steelyard.core.content_hash import content_hash, rng_for
from steelyard.errors import SteelyardError
from steelyard.runner.judge_run import JudgeQueue
from steelyard.runner.run_messages import TRANSIENT_REASONS
from steelyard.runner.runner import Runner
from steelyard.stimuli.authored_checks import Rejection, is_refusal, words
from steelyard.stimuli.brief import AMBIGUOUS, LONG, ORDINAL, PADDED, PARAPHRASE, SHORT, Brief
from steelyard.stimuli.run_edits import EditPlan, PlanStep, TurnEdit, parse_plan
from steelyard.store.trials import StoredFailure
from steelyard.study.roles import BORDER, EMBED, EXPANSION, GRADE, MEANING, Editing, Roles, prompt_file
from steelyard.study.study import Study
from steelyard.tasks.task import Binary, Ordinal, Task
from steelyard.tasks.transcripts.transcript import Transcript, message, render_transcript
from steelyard.trials.judge import Judge, Reply, Slots
from steelyard.trials.prompt import Message, PromptTemplate
from steelyard.trials.trial import AUTHOR, EDITOR, EMBEDDER, PLANNER, SUMMARIZER, Exchange, Trial
from steelyard.verdicts.readers import JsonReader, without_reasoning
from steelyard.verdicts.verdict import Decided, find_answers, find_object

PASS_KEY = '"verdict"'
"""A prompt of the user's own for a verifier that names this key asks for PASS or FAIL, and for no score."""
KEEPS_MEANING = (PARAPHRASE, LONG, SHORT, PADDED)


def author_exchange(model: Judge, draft: Draft, attempt: int, study: Study, roles: Roles) -> Exchange:
    brief = draft.brief
    shown = exemplars(study, brief, roles.own.exemplars)
    values = values_of(brief, draft.task, exemplars=shown, feedback=draft.feedback)
    exchange = _exchange(AUTHOR, model, brief.goal, draft, attempt, values)
    return replace(exchange, decoding=roles.decoding(attempt))


def validator_exchange(judge: Judge, protocol: str, draft: Draft) -> Exchange:
    """The question; the same text is asked about once, whichever try it came from."""
    stimulus = draft.stimulus
    scale = question_of(draft.brief, draft.task).scale
    graded = protocol == GRADE
    if graded:
        messages = Trial(judge, GRADE, stimulus, draft.task).messages
    else:
        messages = render_messages(judge, protocol, values_of(draft.brief, draft.task, text=draft.text))
    return Exchange(
        role=draft.confirmed_by,
        judge=judge,
        protocol=protocol,
        brief=draft.brief.name,
        messages=messages,
        decoding=judge.decoding,
        slots=Slots(stimulus.request, stimulus.texts),
        answers=scale.answers if graded else (),
        wants="json" if graded and PASS_KEY not in judge.protocols[protocol].user else "text",
    )


def original_exchange(judge: Judge, protocol: str, draft: Draft) -> Exchange:
    """The question about the item's own response: the same for every text that is made from it."""
    return validator_exchange(judge, protocol, replace(draft, text=draft.brief.item.responses[0]))


def embedding_exchange(judge: Judge, text: str) -> Exchange:
    return Exchange(
        role=EMBEDDER,
        judge=judge,
        protocol=EMBED,
        brief="",
        messages=render_messages(judge, EMBED, {"text": text}),
        decoding=judge.decoding,
        slots=Slots("", (text,)),
        wants="embedding",
    )


def questions_about(goal: str) -> tuple[str, ...]:
    if goal == AMBIGUOUS:
        return (BORDER,)
    if goal == LONG:
        return (GRADE, EXPANSION)
    return (GRADE, MEANING) if goal in KEEPS_MEANING else (GRADE,)


def asks_own_score(brief: Brief) -> bool:
    """True where the item's own response is graded, to have something to hold the text's score against."""
    return brief.expected is None and GRADE in questions_about(brief.goal)


def question_of(brief: Brief, task: Task) -> Task:
    item = brief.item
    return Task(
        task.instruction if item.instruction is None else item.instruction,
        item.rubric or task.rubric,
        item.scale or task.scale,
    )


def values_of(brief: Brief, task: Task, **more: object) -> dict[str, object]:
    asked, item = question_of(brief, task), brief.item
    scale = asked.scale
    low, high = (scale.low, scale.high) if isinstance(scale, Ordinal) else (0, 1)
    return {
        "instruction": asked.instruction,
        "rubric": asked.rubric,
        "request": item.request,
        "reference": item.reference or "",
        "response": item.responses[0],
        "label": item.label,
        "expected": brief.expected,
        "error": brief.error,
        "low": low,
        "high": high,
        "variant": 1 + brief.number // len(scale.answers),
        "words": len(words(item.responses[0])),
        "exemplars": (),
        "feedback": "",
        **more,
    }


def render_messages(judge: Judge, protocol: str, values: Mapping[str, object]) -> tuple[Message, ...]:
    asked = judge.protocols[protocol]
    parts = [("system", asked.system), ("user", asked.user)]
    return tuple(
        Message(role, PromptTemplate(text, f"{judge.name}, {protocol} prompt").render(values))
        for role, text in parts
        if text is not None
    )


def exemplars(study: Study, brief: Brief, count: int) -> tuple[tuple[str, str], ...]:
    """Requests and responses that were given the wanted score by the same rubric; never the item itself.

    All items of the data may serve, drawn or not: few are drawn, and the ends of a scale are rare.
    """
    if brief.goal != ORDINAL:
        return ()
    mine = brief.item
    fitting = sorted(
        (
            item
            for item in (*study.items, *study.undrawn)
            if item.label == brief.expected
            and item.id != mine.id
            and item.responses != mine.responses
            and (item.rubric, item.scale, item.instruction) == (mine.rubric, mine.scale, mine.instruction)
        ),
        key=lambda item: item.id,
    )
    chosen = rng_for(study.seed, "exemplars", brief.name).sample(fitting, min(count, len(fitting)))
    return tuple((item.request, item.responses[0]) for item in chosen)


def brief_hash(study: Study, roles: Roles, brief: Brief) -> str:
    shown = exemplars(study, brief, roles.own.exemplars)
    return content_hash([brief.content, study.task, *([shown] if shown else [])])


def planner_exchange(editing: Editing, draft: RunDraft, attempt: int) -> Exchange:
    places = draft.original.assistant_places
    editable = ", ".join(str(place + 1) for place in places) or "none"
    values = {
        **_target(draft),
        "transcript": render_transcript(draft.original),
        "agent_messages": "\n".join(f"[{place}] {draft.original.turns[place].text}" for place in places),
        "editable": editable,
        "most": editing.steps,
        "feedback": draft.feedback,
    }
    return _exchange(PLANNER, editing.at(editing.planner, attempt), PLANNER, draft, attempt, values)


def editor_exchange(editing: Editing, draft: RunDraft, step: PlanStep, attempt: int) -> Exchange:
    assert draft.plan is not None
    turn = draft.original.turns[step.place]
    values = {
        **_target(draft),
        "thesis": draft.plan.thesis,
        "steps": tuple(f"message {each.number}: {each.goal}" for each in draft.plan.steps),
        "goal": step.goal,
        "number": step.number,
        "message": message(step.number, turn),
        "text": turn.text,
        "calls": ", ".join(f"{json.dumps(call.id)} ({call.function})" for call in turn.calls),
        "before": draft.before(step),
        "after": draft.after(step),
        "edits": draft.edits_before(step),
        "summary": draft.summary,
    }
    return _exchange(EDITOR, editing.at(editing.editor, attempt), EDITOR, draft, attempt, values)


def summarizer_exchange(editing: Editing, draft: RunDraft, messages: str, attempt: int) -> Exchange:
    values = {"messages": messages, "summary": draft.summary, "most": editing.summary_words}
    return _exchange(SUMMARIZER, editing.at(editing.summarizer, attempt), SUMMARIZER, draft, attempt, values)


def _target(draft: RunDraft) -> dict[str, object]:
    values = values_of(draft.brief, draft.task)
    shared = {key: values[key] for key in ("instruction", "rubric", "request", "expected", "low", "high")}
    target = PromptTemplate(prompt_file(f"run_target_{draft.brief.goal}").strip())
    return {**shared, "target": target.render(shared)}


def _exchange(
    role: str, judge: Judge, protocol: str, draft: Draft, attempt: int, values: Mapping[str, object]
) -> Exchange:
    item = draft.brief.item
    return Exchange(
        role=role,
        judge=judge,
        protocol=protocol,
        brief=draft.brief.name,
        messages=render_messages(judge, protocol, values),
        decoding=judge.decoding,
        slots=Slots(item.request, item.responses),
        attempt=attempt,
    )


OnAuthorReply = Callable[[str, Reply], None]


class StoppedError(SteelyardError):
    """The runner has stopped; its session says why."""


class AuthorClient:
    """Asks each exchange once, whoever wants it; every reply is on disk before it is handed out."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self._store = runner.store
        self._seen: set[str] = set()
        self.waiting: dict[str, StoredFailure] = {}
        """Exchanges that failed in this run and may succeed in the next."""

    async def ask(
        self, exchanges: Iterable[Exchange], on_reply: OnAuthorReply = lambda *_: None
    ) -> Mapping[str, Reply]:
        """Replies by key; a key is missing where the call failed. `on_reply` gets each as it comes in."""
        wanted = {exchange.key: exchange for exchange in exchanges}
        fresh = [exchange for key, exchange in wanted.items() if key not in self._seen]
        self._seen.update(wanted)
        if fresh:
            await self.runner.run_queues(self._queues(fresh, on_reply))
        if self.runner.session.stop_errors:
            raise StoppedError("stopped")
        stored, failures = self._store.exchanges(wanted), self._store.exchange_failures()
        for key in wanted:
            if key in failures and failures[key].reason in TRANSIENT_REASONS:
                self.waiting[key] = failures[key]
        return {key: stored[key].reply for key in wanted if key in stored}

    async def ask_each(
        self,
        drafts: Sequence[DraftT],
        exchange_of: Callable[[DraftT], Exchange],
        take: Callable[[DraftT, Reply], None],
    ) -> None:
        """Put a question about every draft at once; a call that failed for good ends the attempt."""
        asked = {draft.brief.name: exchange_of(draft) for draft in drafts}
        replies = await self.ask(asked.values())
        for draft in drafts:
            exchange = asked[draft.brief.name]
            if exchange.key in self.waiting:
                draft.waiting = self.waiting[exchange.key].message
            elif exchange.key not in replies:
                draft.reject(Rejection("call failed", f"the {exchange.role}'s call failed for good"))
            else:
                take(draft, replies[exchange.key])

    def _queues(self, exchanges: list[Exchange], on_reply: OnAuthorReply) -> list[JudgeQueue]:
        answered = self._store.exchanges([exchange.key for exchange in exchanges])
        groups: dict[str, list[Exchange]] = {}
        for exchange in exchanges:
            groups.setdefault(exchange.judge.name, []).append(exchange)
        return [
            JudgeQueue(
                group[0].judge,
                group,
                [[e for e in group if e.key not in answered]],
                lambda call, reply: on_reply(call.key, reply),
            )
            for group in groups.values()
        ]


_TEXT = re.compile(r"<text>\r?\n?(.*)</text>", re.S | re.I)
_CALL = re.compile(r"<call\s+id\s*=\s*[\"']?([^\"'>]*?)[\"']?\s*>(.*?)</call>", re.S | re.I)
_SPOKEN_OF = re.compile(r"<text>\s+and\s+</text>|<call id=\"ID\">\s+and\s+</call>", re.I)
"""Marks as prompts name them: a reply that repeats its prompt has put nothing between them."""
WITHHELD = ("refusal", "filter")


def text_of(reply: Reply) -> str | Rejection:
    words = _marked(reply)
    match = None if reply.finish in WITHHELD else _TEXT.search(words)
    if match is None:
        missing = Rejection("no text", "the reply held no text between <text> and </text>")
        return _rejection_for(reply, words, missing)
    text = match[1].strip()
    return text or Rejection("empty", "there was nothing between <text> and </text>")


def summary_of(reply: Reply) -> str | Rejection:
    """The text between the marks, or a JSON object with a summary, as the harness's prompt asks for it."""
    text, body = text_of(reply), _object_of(reply, "summary")
    if isinstance(text, str) or not body:
        return text
    parts = {key: "; ".join(map(str, part)) if isinstance(part, list) else part for key, part in body.items()}
    return "\n".join(f"{key}: {part}" for key, part in parts.items() if part)


def _object_of(reply: Reply, key: str) -> dict[str, Any] | None:
    return None if reply.finish in WITHHELD else find_object(without_reasoning(reply.text), key)


def plan_of(reply: Reply, transcript: Transcript, most: int) -> EditPlan | Rejection:
    words, body = without_reasoning(reply.text), _object_of(reply, "steps")
    if body is None:
        missing = Rejection(
            "unreadable reply", "the reply held no plan: one JSON object with steps was expected"
        )
        return _rejection_for(reply, words, missing)
    return parse_plan(body, transcript, most)


def turn_edit_of(reply: Reply) -> TurnEdit | Rejection:
    words = _marked(reply)
    text = None if reply.finish in WITHHELD else _TEXT.search(words)
    calls = [] if reply.finish in WITHHELD else _CALL.findall(words)
    if text is None and not calls:
        edited = (_object_of(reply, "new_content") or {}).get("new_content")
        if isinstance(edited, str) and edited.strip():
            return TurnEdit(edited.strip())
        missing = Rejection("no text", "the reply held neither words nor arguments between their marks")
        return _rejection_for(reply, words, missing)
    arguments: dict[str, Any] = {}
    for name, body in calls:
        try:
            arguments[name] = json.loads(body, strict=False)
        except (ValueError, RecursionError):
            return Rejection("wrong tool call", f"the arguments of the tool call {name!r} are no valid JSON")
    return TurnEdit(None if text is None else text[1].strip(), arguments)


def _marked(reply: Reply) -> str:
    """The words of a reply in which every mark is one that the model has set."""
    return _SPOKEN_OF.sub(" ", without_reasoning(reply.text))


def _rejection_for(reply: Reply, words: str, otherwise: Rejection) -> Rejection:
    if reply.finish in WITHHELD:
        return Rejection("author refused", f"the provider reported {reply.finish!r}")
    if reply.finish == "length":
        return Rejection("cut off", "the reply ended at the token limit before the text was complete")
    if is_refusal(words):
        return Rejection("author refused", "the author declined to write")
    return otherwise


def said_yes(reply: Reply, key: str) -> bool | None:
    """The yes or no of a JSON object with this key; None where there is not exactly one."""
    if reply.finish in WITHHELD:
        return None
    answers = find_answers(without_reasoning(reply.text), key)
    words = {str(value).strip().lower() for value in answers or ()}
    if words <= {"yes", "true"} and words:
        return True
    return False if words and words <= {"no", "false"} else None


def score_of(draft: Draft, reply: Reply) -> str | None:
    """The score, or what PASS and FAIL are on the scale of an item of which somebody has said it."""
    scale, item = question_of(draft.brief, draft.task).scale, draft.brief.item
    verdict = JsonReader()(reply, scale)
    if isinstance(verdict, Decided):
        return verdict.value
    word = (_object_of(reply, "verdict") or {}).get("verdict")
    answers = {"PASS": item.passing, "FAIL": item.failing} if isinstance(scale, Binary) else {}
    return answers.get(str(word).strip().upper())
