"""The pages on which people label items: one item, its answers, nothing of any judge."""

from __future__ import annotations

from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from steelyard.review.labelling import LabelSession, OpenedError, answer_words
from steelyard.web.messages import run_messages
from steelyard.web.pages import download, page, reviewer_name, text_field, vote_app
from steelyard.web.server import json_error

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
