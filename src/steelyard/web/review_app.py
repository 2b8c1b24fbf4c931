"""The pages of the review session and of labelling, which say nothing of any judge, and what they send."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import anyio
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from steelyard.core.text import capital
from steelyard.review.labelling import LabelSession, OpenedError, answer_words
from steelyard.review.new_version import next_version, prompts_of, write_version
from steelyard.review.progress import review_progress
from steelyard.review.session import RefusedError, ReviewSession, VoteRequest
from steelyard.review.stimuli_file import ReviewerEdit
from steelyard.review.vote_file import export_votes
from steelyard.review.votes import DISPUTED, TEMPLATES
from steelyard.store.review_log import StaleError
from steelyard.study.role_config import VARIABLES
from steelyard.study.roles import AUTHOR_VARIABLES
from steelyard.web import pages
from steelyard.web.pages import download, edited_text, page, reviewer_name, run_messages, text_field, vote_app
from steelyard.web.review_models import (
    REFUSED,
    QueueFilters,
    QueueProgress,
    QueueRow,
    draft_of,
    editable_turns,
    following,
    rows_of,
    seen_by,
)
from steelyard.web.server import error_page, json_error

LISTED = 200
"""Rows of the queue that a page holds; a browser takes seconds over thousands."""
LOOK = 0.4
"""Seconds between two looks for what others have done."""


@dataclass(frozen=True)
class Queue:
    reviewer: str
    filters: QueueFilters
    every: list[QueueRow]
    rows: list[QueueRow]

    def near(self, name: str | None) -> Sequence[QueueRow]:
        """The rows that the page lists: all of a short queue, of a long one those around the open text."""
        names = [row.item.made.id for row in self.rows]
        start = max(0, (names.index(name) if name in names else 0) - LISTED // 2)
        return self.rows[start : start + LISTED]


class ReviewPages:
    def __init__(
        self,
        session: ReviewSession,
        reviewer: str,
        *,
        blind: bool = False,
        finished: Callable[[], None] = lambda: None,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self.session, self._reviewer, self.blind = session, reviewer, blind
        self._finished, self._stopping = finished, stopping

    def app(self) -> Starlette:
        pages = {
            "/": self.whole,
            "/agreement": self.agreement,
            "/templates": self.templates,
            "/decisions.jsonl": self.decisions,
            "/queue": self.queue_part,
            "/item": self.item_part,
            "/events": self.events,
        }
        sent = {
            "/decide": self.decide,
            "/draft": self.draft,
            "/undo": self.undo,
            "/finish": self.finish,
            "/version": self.new_version,
        }
        return vote_app(pages, sent, {RefusedError: (422, "")})

    # Pages

    def whole(self, request: Request) -> Response:
        queue = self._queue(request)
        name = request.query_params.get("item") or following(queue.rows, None)
        content = {**self._content(queue), **self._item(queue, name), "listed": queue.near(name)}
        return page(request, "review.html.j2", **content)

    def agreement(self, request: Request) -> Response:
        """How far reviewers agree; nothing for a blind one, who would learn from it."""
        if self.blind:
            return error_page(403, "Other reviewers are hidden from this page: it was started with --blind.")
        return page(
            request,
            "review_agreement.html.j2",
            status=review_progress(self.session),
            sets=self.session.log.sets(),
        )

    def templates(self, request: Request) -> Response:
        """What the authors are asked; the words that a study may change are fields."""
        prompts: Mapping[str, str] = {}
        reason = ""
        try:
            prompts = prompts_of(self.session)
        except RefusedError as refusal:
            reason = capital(str(refusal))
        return page(
            request,
            "review_templates.html.j2",
            templates=self.session.log.get_meta(TEMPLATES) or {},
            prompts=prompts,
            variables={name: sorted(VARIABLES.get(name, AUTHOR_VARIABLES)) for name in prompts},
            reason=reason,
            opened=request.query_params.get("prompt", ""),
            item=request.query_params.get("item", ""),
            folder=str(self.session.folder.path.resolve()),
            version=next_version(self.session.folder.path.resolve()).name,
        )

    def decisions(self, request: Request) -> Response:
        del request
        if self.blind:
            return error_page(403, "Other reviewers are hidden from this page: it was started with --blind.")
        return download("decisions.jsonl", export_votes(self.session))

    def queue_part(self, request: Request) -> Response:
        queue, name = self._queue(request), request.query_params.get("item")
        content = {**self._content(queue), "name": name, "listed": queue.near(name)}
        return page(request, "review_queue.html.j2", **content)

    def item_part(self, request: Request) -> Response:
        queue = self._queue(request)
        return page(request, "review_item.html.j2", **self._item(queue, request.query_params.get("item")))

    def _queue(self, request: Request) -> Queue:
        reviewer, filters = reviewer_name(request, self._reviewer), QueueFilters.of(request.query_params)
        items = self.session.items()
        rows = rows_of(items, self.session.statuses(items), reviewer, blind=self.blind)
        filters = replace(filters, doubt="") if self.blind else filters
        passing = [row for row in rows if filters.passes(row)] if filters.query else rows
        return Queue(reviewer, filters, rows, passing)

    def _content(self, queue: Queue) -> dict[str, Any]:
        made = [row.item.made for row in queue.every]
        return {
            "queue": queue,
            "progress": QueueProgress.of(queue.every),
            "probes": sorted({each.probe for each in made}),
            "strata": sorted({each.stratum for each in made}),
            "folder": str(self.session.folder.path.resolve()),
            "folder_name": self.session.folder.path.resolve().name,
            "position": "{}.{}".format(*self.session.log.position),
            "sets": self.session.log.sets(),
            "blind": self.blind,
        }

    def _item(self, queue: Queue, name: str | None) -> dict[str, Any]:
        row = next((row for row in queue.every if row.item.made.id == name), None)
        content: dict[str, Any] = {
            "row": row,
            "name": name,
            "blind": self.blind,
            "every_count": len(queue.every),
        }
        if row is None:
            return content
        made, log = row.item.made, self.session.log
        names = [each.item.made.id for each in queue.rows]
        place = names.index(made.id) if made.id in names else None
        draft = log.draft(made.id, queue.reviewer)
        return {
            **content,
            "place": place,
            "before": names[place - 1] if place else None,
            "after": names[place + 1] if place is not None and place + 1 < len(names) else None,
            "among": len(names),
            "draft": draft,
            "turns": editable_turns(made, row.review_status.final_vote or row.own, draft),
            "task": self.session.task,
            "asked": [] if self.blind else self.session.asked_about(made.id),
            "history": [] if self.blind else log.votes(made.id),
            "disputed": row.review_status.status == DISPUTED,
            "refused_word": REFUSED,
            "required": self.session.required,
        }

    # What the page sends

    def decide(self, request: Request, body: dict[str, Any]) -> Response:
        """Keep a vote; the answer comes when it is on disk, and brings the text that is next."""
        item = self.session.items().get(str(body.get("item")))
        if item is None:
            return json_error(404, "there is no such stimulus: load the page again.")
        reviewer = reviewer_name(request, self._reviewer)
        vote = VoteRequest(
            decision=str(body.get("decision")),
            text=edited_text(body, "text", item.made.texts[0]),
            label=text_field(body, "label"),
            turns=_turns(body.get("turns")),
            reason=(text_field(body, "reason") or "")[:2000],
            note=(text_field(body, "note") or "")[:10000],
            final=body.get("final") is True,
        )
        seen = body.get("seen")
        if not isinstance(seen, int):
            return json_error(422, "the page is out of date: load it again.")
        try:
            kept = self.session.decide(item, reviewer, vote, seen, own=self.blind)
        except StaleError:
            return self._stale(item.made.id, reviewer)
        queue = self._queue(request)
        shown = queue.every
        if queue.filters.query:
            shown = [row for row in shown if queue.filters.passes(row) or row.item.made.id == item.made.id]
        next_item = following(shown, item.made.id)
        content = self._item(queue, next_item or item.made.id)
        opened = pages.render_template(request, "review_item.html.j2", **content)
        change = self._change(queue, item.made.id)
        return JSONResponse(
            {"kept": kept.decision, "id": kept.id, "next": next_item, "page": opened, **change}
        )

    def _change(self, queue: Queue, name: str) -> dict[str, Any]:
        """What a vote changes on the page: one row of the queue, and the progress."""
        status = next((row.status for row in queue.every if row.item.made.id == name), "")
        return {
            "status": status,
            "progress": asdict(QueueProgress.of(queue.every)),
            "position": "{}.{}".format(*self.session.log.position),
        }

    def _stale(self, name: str, reviewer: str) -> Response:
        """Somebody was faster: say who, so that the other can look before deciding."""
        now = seen_by(self.session.statuses(self.session.items())[name], reviewer, blind=self.blind)
        others = [vote for vote in now.votes.values() if vote.id == now.newest]
        who = f"{others[0].reviewer} has {others[0].decision} it" if others else "the vote was taken back"
        return json_error(
            409, f"{who} since you opened it: look again; what you typed is kept.", newest=now.newest
        )

    def draft(self, request: Request, body: dict[str, Any]) -> Response:
        name = str(body.get("item"))
        if name not in self.session.items():
            return json_error(404, "there is no such stimulus: load the page again.")
        kept = {key: text_field(body, key) or "" for key in ("text", "label", "reason", "note")}
        turns = {place: asdict(edit) for place, edit in _turns(body.get("turns")).items()}
        kept["turns"] = json.dumps(turns) if turns else ""
        self.session.log.save_draft(name, reviewer_name(request, self._reviewer), kept)
        return JSONResponse({"kept": True})

    def undo(self, request: Request, body: dict[str, Any]) -> Response:
        """Take the last vote back; what was typed for it is a draft again, and the vote can be made again."""
        del body
        reviewer = reviewer_name(request, self._reviewer)
        last = self.session.undo(reviewer)
        if last is None:
            return json_error(422, "there is nothing of yours to take back.")
        item = self.session.items().get(last.stimulus)
        if item is not None and (last.text is not None or last.label is not None or last.note):
            self.session.log.save_draft(last.stimulus, reviewer, draft_of(item.made, last))
        change = self._change(self._queue(request), last.stimulus)
        return JSONResponse({"item": last.stimulus, "undone": last.decision, "reason": last.reason, **change})

    def finish(self, request: Request, body: dict[str, Any]) -> Response:
        accept = body.get("accept_waiting") is True
        fresh = self.session.finish(reviewer_name(request, self._reviewer), accept_waiting=accept)
        if body.get("stop") is not False:
            self._finished()
        return JSONResponse({"version": fresh.version, "hash": fresh.hash})

    def new_version(self, request: Request, body: dict[str, Any]) -> Response:
        """Write other prompts into a folder of their own; the answer comes when it is on disk."""
        del request
        given = body.get("prompts")
        given = given if isinstance(given, dict) else {}
        current = prompts_of(self.session)
        typed = {name: edited_text(given, name, current.get(name, "")) for name in given}
        made = write_version(self.session, {name: t for name, t in typed.items() if t is not None})
        later = next_version(made.folder).name
        return JSONResponse({**asdict(made), "folder": str(made.folder), "next": later})

    # What others do

    async def events(self, request: Request) -> Response:
        """A line whenever somebody decides or a text arrives; a browser that lost us comes back by itself."""
        known = request.headers.get("last-event-id") or request.query_params.get("at", "")
        return StreamingResponse(self._events(request, known), media_type="text/event-stream")

    async def _events(self, request: Request, known: str) -> AsyncIterator[str]:
        yield "retry: 1000\n\n"
        while not self._stopping() and not await request.is_disconnected():
            position = "{}.{}".format(*await run_in_threadpool(lambda: self.session.log.position))
            if position != known:
                known = position
                yield f"id: {position}\nevent: changed\ndata: {position}\n\n"
            await anyio.sleep(LOOK)


def _turns(given: Any) -> dict[int, ReviewerEdit]:
    if not isinstance(given, dict):
        return {}
    edits = {}
    for place, typed in given.items():
        if place.isdecimal() and isinstance(typed, dict):
            arguments = typed.get("arguments")
            given_arguments = arguments.items() if isinstance(arguments, dict) else ()
            edits[int(place)] = ReviewerEdit(
                text_field(typed, "text"), {str(name): str(value) for name, value in given_arguments}
            )
    return edits


OPENED = "the labels are open, so that none may change any more: load the page again."


class LabelPages:
    def __init__(self, session: LabelSession, annotator: str) -> None:
        self.session, self._annotator = session, annotator

    def app(self) -> Starlette:
        return vote_app(
            {"/": self.whole, "/labels.jsonl": self.labels},
            {"/label": self.label, "/undo": self.undo},
            {OpenedError: (409, OPENED)},
        )

    def whole(self, request: Request) -> Response:
        who = reviewer_name(request, self._annotator)
        session = self.session
        waiting = session.waiting(who)
        wanted = request.query_params.get("item", "")
        item = session.item(wanted) or (session.item(waiting[0]) if waiting else None)
        return page(
            request,
            "label.html.j2",
            who=who,
            item=item,
            texts=() if item is None else session.shown_texts(who, item),
            messages=() if item is None else run_messages(item, edits=False),
            answers=[] if item is None else answer_words(session.answers(item)),
            meanings={} if item is None else session.meanings(item),
            task=session.task,
            rubric_open=item is not None and not session.has_seen_rubric(who, item),
            done=len(session.order(who)) - len(waiting),
            total=len(session.order(who)),
            stranger=bool(session.annotators) and who not in session.annotators,
            annotators=session.annotators,
            opened=session.opened,
            draw=session.draw,
            folder=str(session.folder.path),
            folder_name=session.folder.path.resolve().name,
        )

    def label(self, request: Request, body: dict[str, Any]) -> Response:
        """Keep a label; the answer comes when it is on disk."""
        item = self.session.item(str(body.get("item")))
        answer = text_field(body, "answer")
        self.session.refuse_opened()
        who = reviewer_name(request, self._annotator)
        if item is None or item.id not in self.session.order(who):
            return json_error(404, "there is no such item: load the page again.")
        if answer is not None and answer not in self.session.answers(item):
            return json_error(
                422, f"no answer {answer!r}: expected one of {', '.join(self.session.answers(item))}."
            )
        self.session.label(item.id, who, answer, (text_field(body, "note") or "")[:10000])
        return JSONResponse({"left": len(self.session.waiting(who))})

    def undo(self, request: Request, body: dict[str, Any]) -> Response:
        del body
        last = self.session.undo(reviewer_name(request, self._annotator))
        if last is None:
            return json_error(422, "there is nothing of yours to take back.")
        return JSONResponse({"item": last.stimulus})

    def labels(self, request: Request) -> Response:
        """The annotator's own labels: those of others would be no second opinion any more."""
        return download("labels.jsonl", self.session.lines(reviewer_name(request, self._annotator)))
