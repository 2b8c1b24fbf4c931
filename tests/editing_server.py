"""A server that plays planner, editor, summarizer, verifier and judge of agents, told apart by the model.

Its world is small: an agent looks a number up and reports it, and a run passes where the last message names
the number that its tool returned. The cast does as it is told unless a test makes it do otherwise.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from agent_runs import stock_messages
from authoring_server import part
from servers import Answer, Received, ScriptedServer, hang, says
from steelyard.trials.builtin_prompts import parse_score_prompt

RUBRIC = "Score 1 when the last message reports what the tool returned, else 0."
ROLES = ("planner", "editor", "summarizer", "verifier", "judge")


def passes(transcript: str) -> bool:
    """Whether the number in the last message is the one that a tool returned."""
    returned = re.findall(r"^(\d{4,})$", transcript, re.M)
    told = re.findall(r"There are (\d+) left", transcript)
    return bool(returned and told) and told[-1] == returned[-1]


def level(transcript: str) -> int:
    """A score from 1 to 3: how many digits of the number in the last message are 7, and one."""
    told = re.findall(r"There are (\d+) left", transcript)
    return min(3, 1 + told[-1].count("7")) if told else 1


@dataclass(frozen=True)
class Question:
    """What a role was asked."""

    role: str
    prompt: str
    temperature: float | None
    attempt_told: bool
    """True where an earlier try is spoken of."""

    @property
    def transcript(self) -> str:
        return part(self.prompt, "transcript")

    @property
    def message(self) -> str:
        return part(self.prompt, "message to be edited")

    @property
    def wanted(self) -> str:
        found = re.search(r"(?:give it|the score) (\d+) on the scale", self.prompt)
        return found[1] if found else ""


def last_message(asked: Question) -> int:
    """Number of the agent's last message."""
    return int(re.findall(r"^\[(\d{3})\] ASSISTANT", asked.transcript, re.M)[-1])


def plan(asked: Question) -> str:
    """The agent's last message is to report another number, or the right one."""
    steps = [{"message": last_message(asked), "goal": "report another number"}]
    return json.dumps({"thesis": "the report does not agree with the tool", "steps": steps})


def edit(asked: Question) -> str:
    """The last words with a number that fits what is wanted."""
    told = re.findall(r"\d{4,}", asked.message)[-1]
    returned = re.findall(r"^(\d{4,})$", asked.prompt, re.M)
    fits = {"0": "1111", "1": returned[-1] if returned else told}
    return f"<text>\nThere are {fits.get(asked.wanted, told)} left.\n</text>"


def sum_up(asked: Question) -> str:
    """What a summarizer says."""
    return f"<text>\nThe agent counted stock; {len(asked.prompt)} signs so far.\n</text>"


def grade(transcript: str, low: int, high: int) -> int:
    """What the rubric gives."""
    return int(passes(transcript)) if high == 1 else level(transcript)


Reply = Callable[[Question], str | Answer]


@dataclass
class Cast:
    """Answers every role; a test replaces what it wants to see go wrong."""

    planner: Reply = plan
    editor: Reply = edit
    summarizer: Reply = sum_up
    verifier: Callable[[str, int, int], int | Answer] = grade
    judge: Callable[[str, int, int], int | Answer] = grade
    patience: int | None = None
    """After this many answers every further call hangs."""
    calls: Counter[str] = field(default_factory=Counter)
    """Model to number of calls."""
    keys: Counter[str] = field(default_factory=Counter)
    """Identity of a call to the number of times it came."""
    received: list[Received] = field(default_factory=list)
    hanging: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def __call__(self, request: Received) -> Answer:
        self.received.append(request)
        role = request.body["model"]
        self.calls[role] += 1
        self.keys[request.headers.get("idempotency-key", "")] += 1
        if self.patience is not None and self.keys.total() > self.patience:
            self.hanging.release()
            return hang()
        if role in ("verifier", "judge"):
            shown = parse_score_prompt(request.user)
            score = getattr(self, role)(shown.response, shown.low, shown.high)
            return score if isinstance(score, Answer) else says(json.dumps({"score": score}))
        told = "An earlier try was turned down" in request.user
        answer = getattr(self, role)(Question(role, request.user, request.body.get("temperature"), told))
        return answer if isinstance(answer, Answer) else says(answer)

    def prompts(self, role: str) -> list[str]:
        """What a role was asked, in order."""
        return [request.user for request in self.received if request.body["model"] == role]


def long_messages(number: int, rounds: int = 8) -> list[dict[str, Any]]:
    """A run that looks many numbers up before it reports the last."""
    middle: list[dict[str, Any]] = []
    for step in range(rounds):
        call = {"id": f"c{step}", "function": {"name": "get_stock", "arguments": json.dumps({"item": step})}}
        middle += [
            {"role": "assistant", "content": f"Looking at shelf {step}.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{step}", "content": f"{5000 + number * 10 + step}"},
        ]
    told = 5000 + number * 10 + rounds - 1
    return [
        {"role": "user", "content": "How many are left on the last shelf?"},
        *middle,
        {"role": "assistant", "content": f"There are {told} left."},
    ]


def write_study(
    folder: Path,
    server: ScriptedServer,
    probes: list[Any],
    *,
    count: int = 4,
    failing: tuple[int, ...] = (),
    long: bool = False,
    scale: str = "binary",
    labelled: bool = True,
    **keys: Any,
) -> None:
    """Write `study.yaml` and `runs.jsonl`; runs whose number is in `failing` report a wrong number."""
    rows = []
    for n in range(count):
        messages = long_messages(n) if long else stock_messages(n, 9999 if n in failing else None)
        row: dict[str, Any] = {"name": f"run-{n}", "messages": messages}
        if labelled:
            row["verdict"] = int(n not in failing)
        rows.append(json.dumps(row) + "\n")
    (folder / "runs.jsonl").write_text("".join(rows))
    columns = {"id": "name", "messages": "messages"} | ({"label": "verdict"} if labelled else {})
    models = {role: f"openai/{role}?base_url={server.url}" for role in ROLES}
    body: dict[str, Any] = {
        "judges": [{"name": "judge", "model": models["judge"]}],
        "task": {"rubric": RUBRIC, "scale": scale, "failing": 1 if scale != "binary" else 0},
        "data": {"path": "runs.jsonl", "columns": columns},
        "probes": probes,
        "author": {"model": models["editor"], "attempts": 2},
        "validator": {"model": models["verifier"]},
        "editing": {"planner": models["planner"], "summarizer": models["summarizer"]},
    }
    (folder / "study.yaml").write_text(yaml.safe_dump({**body, **keys}))
