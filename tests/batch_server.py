"""Vendors' batches as they document them: requests are taken, counted, answered when they are asked for."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from servers import Answer, Received, fails, says, sends, wins
from vendors import ANTHROPIC

Reply = Callable[[dict[str, Any]], Answer]
"""What a call by itself is answered with."""


def second_wins(body: dict[str, Any]) -> Answer:
    """A verdict that depends on the prompt, so that rows can be told apart."""
    return wins("2" if len(json.dumps(body["messages"])) % 3 else "tie")


class BatchServer:
    """The script of a server that takes OpenAI's batches, and single calls."""

    def __init__(self, reply: Reply = second_wins, looks: int = 1) -> None:
        """`looks` are needed before a batch has ended."""
        self.reply = reply
        self.looks = looks
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.handed_in: Counter[str] = Counter()
        """How often each call was handed in."""
        self.behind = 0.0
        """Seconds by which the vendor's clock is behind."""
        self.single = 0
        """Calls that were made one by one."""
        self.drop: Callable[[str], bool] = lambda name: False
        """Calls that the vendor does not get to."""
        self.unlisted = 0
        """Looks at the list that do not show the newest batch yet."""
        self.at: Callable[[str], Answer | None] = lambda moment: None
        """What happens instead at a moment: `upload`, `create`, `look` or `results`."""

    def __call__(self, request: Received) -> Answer:
        method, (path, _, _) = request.method, request.path.partition("?")
        if method == "POST" and path == "/v1/files":
            return self._upload(request.data)
        if method == "POST" and path == "/v1/batches":
            return self._create(request.body)
        if path == "/v1/batches":
            data = [self.batches[name] for name in self._listed()]
            return sends({"object": "list", "data": data, "has_more": False})
        if found := re.fullmatch(r"/v1/batches/(\w+)", path):
            return self._look(found[1])
        if found := re.fullmatch(r"/v1/files/(\w+)/content", path):
            return self.at("results") or Answer(200, self.files[found[1]])
        self.single += 1
        return self.reply(request.body)

    def _listed(self) -> list[str]:
        """Names, the newest first."""
        late = self.unlisted > 0
        self.unlisted -= late
        return [*self.batches][::-1][late:]

    def _upload(self, data: bytes) -> Answer:
        name = f"file{len(self.files)}"
        start = data.index(b'{"custom_id"')
        self.files[name] = data[start : data.index(b"\r\n--", start)]
        return self.at("upload") or sends({"id": name, "object": "file", "purpose": "batch"})

    def _create(self, body: dict[str, Any]) -> Answer:
        name = f"batch{len(self.batches)}"
        lines = [json.loads(line) for line in self.files[body["input_file_id"]].splitlines()]
        self.handed_in.update(line["custom_id"] for line in lines)
        assert {line["url"] for line in lines} == {body["endpoint"]} == {"/v1/chat/completions"}
        self.batches[name] = {
            "id": name,
            "object": "batch",
            "status": "in_progress",
            "created_at": int(time.time() - self.behind),
            "metadata": body["metadata"],
            "lines": lines,
            "looks": 0,
        }
        return self.at("create") or self._told(name)

    def _look(self, name: str) -> Answer:
        batch = self.batches[name]
        batch["looks"] += 1
        if batch["status"] == "in_progress" and batch["looks"] >= self.looks:
            self._end(batch)
        return self.at("look") or self._told(name)

    def _told(self, name: str) -> Answer:
        return sends({key: value for key, value in self.batches[name].items() if key != "lines"})

    def _end(self, batch: dict[str, Any]) -> None:
        good, bad = [], []
        for line in batch["lines"]:
            if self.drop(line["custom_id"]):
                bad.append(
                    {"custom_id": line["custom_id"], "response": None, "error": {"code": "batch_expired"}}
                )
                continue
            answer = self.reply(line["body"])
            response = {"status_code": answer.status, "request_id": "r", "body": json.loads(answer.data)}
            row = {"id": "x", "custom_id": line["custom_id"], "response": response, "error": None}
            (good if answer.status == 200 else bad).append(row)
        batch["status"] = "expired" if any(row["response"] is None for row in bad) else "completed"
        for key, rows in (("output_file_id", good), ("error_file_id", bad)):
            name = f"file{len(self.files)}"
            self.files[name] = "".join(json.dumps(row) + "\n" for row in reversed(rows)).encode()
            batch[key] = name if rows else None


class MessageBatchServer(BatchServer):
    """The same for Anthropic's message batches."""

    def __init__(self, looks: int = 1) -> None:
        super().__init__(lambda body: ANTHROPIC.says(json.dumps({"winner": _winner(body)})), looks)

    def __call__(self, request: Received) -> Answer:
        method, (path, _, _) = request.method, request.path.partition("?")
        if method == "POST" and path == "/v1/messages/batches":
            return self._create_messages(request.body["requests"])
        if path == "/v1/messages/batches":
            data = [self._state(name) for name in self._listed()]
            return sends({"data": data, "has_more": False})
        if found := re.fullmatch(r"/v1/messages/batches/(\w+)", path):
            self.batches[found[1]]["looks"] += 1
            return self.at("look") or sends(self._state(found[1]))
        if found := re.fullmatch(r"/v1/messages/batches/(\w+)/results", path):
            locked = self.batches[found[1]].get("locked")
            return self.at("results") or (
                fails(404, "no") if locked else self._results(self.batches[found[1]])
            )
        self.single += 1
        return self.reply(request.body)

    def _create_messages(self, requests: list[dict[str, Any]]) -> Answer:
        assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", one["custom_id"]) for one in requests)
        name = f"msgbatch{len(self.batches)}"
        self.handed_in.update(one["custom_id"] for one in requests)
        created = datetime.fromtimestamp(time.time() - self.behind, UTC).isoformat()
        self.batches[name] = {"requests": requests, "looks": 0, "created": created}
        return self.at("create") or sends(self._state(name))

    def _state(self, name: str) -> dict[str, Any]:
        batch = self.batches[name]
        ended, size = batch["looks"] >= self.looks, len(batch["requests"])
        return {
            "id": name,
            "type": "message_batch",
            "processing_status": "ended" if ended else "in_progress",
            "created_at": batch["created"],
            "request_counts": {"processing": 0 if ended else size, "succeeded": size if ended else 0},
            "results_url": "https://elsewhere.example.com/results",
        }

    def _results(self, batch: dict[str, Any]) -> Answer:
        rows = []
        for one in batch["requests"]:
            answer = self.reply(one["params"])
            body = json.loads(answer.data)
            if self.drop(one["custom_id"]):
                result: dict[str, Any] = {"type": "expired"}
            elif answer.status == 200:
                result = {"type": "succeeded", "message": body}
            else:
                result = {"type": "errored", "error": body}
            rows.append({"custom_id": one["custom_id"], "result": result})
        return Answer(200, "".join(json.dumps(row) + "\n" for row in rows).encode())


def _winner(body: dict[str, Any]) -> str:
    return "2" if len(json.dumps(body["messages"])) % 3 else "tie"


__all__ = ["BatchServer", "MessageBatchServer", "fails", "says", "second_wins"]
