"""Calls to authors and validators through the judges' runner, and parsing of their replies: never a guess."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from steelyard.authoring.drafts import Draft, DraftT
from steelyard.authoring.questions import question_of
from steelyard.errors import SteelyardError
from steelyard.runner.judge_run import JudgeQueue
from steelyard.runner.run_messages import TRANSIENT_REASONS
from steelyard.runner.runner import Runner
from steelyard.stimuli.authored.checks import Rejection, is_refusal
from steelyard.stimuli.authored.run_edits import EditPlan, TurnEdit, parse_plan
from steelyard.store.trials import StoredFailure
from steelyard.tasks.scale import Binary
from steelyard.tasks.transcripts.transcript import Transcript
from steelyard.trials.presentation import Reply
from steelyard.trials.trial import Exchange
from steelyard.verdicts.readers import JsonReader, without_reasoning
from steelyard.verdicts.verdict import Decided, find_answers, find_object

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
