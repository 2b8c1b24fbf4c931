"""Runs of agents for tests: rows of chat messages, and Inspect logs of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from scores import call
from steelyard.tasks.transcripts.transcript import Block, Transcript, Turn, TurnChange
from steelyard.verdicts.observations import Observation


def stock_messages(number: int, told: int | None = None) -> list[dict[str, Any]]:
    """An agent looks a number up and reports it, or another one."""
    call = {"id": "c", "function": {"name": "get_stock", "arguments": json.dumps({"item": number})}}
    return [
        {"role": "user", "content": "How many are left?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": str(4000 + number)},
        {"role": "assistant", "content": f"There are {4000 + number if told is None else told} left."},
    ]


def sample(**more: Any) -> dict[str, Any]:
    """A sample of an Inspect log."""
    said = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "done"}]
    return {"id": "s", "epoch": 1, "input": "hi", "target": "", "messages": said, **more}


def stock_sample(number: int, told: int | None = None, **more: Any) -> dict[str, Any]:
    """The same run in Inspect's form."""
    messages = stock_messages(number, told)
    call = {"id": "c", "function": "get_stock", "arguments": {"item": number}, "type": "function"}
    messages[1] = {"role": "assistant", "content": "", "tool_calls": [call]}
    messages[2] = {**messages[2], "function": "get_stock"}
    return sample(id=f"r{number}", input="How many are left?", messages=messages, **more)


def write_log(path: Path, samples: Iterable[dict[str, Any]]) -> Path:
    """An Inspect log of these samples, in the form that the ending asks for."""
    body = {
        "version": 2,
        "status": "success",
        "eval": {
            "created": "2026-01-01T00:00:00+00:00",
            "task": "own",
            "dataset": {},
            "model": "mockllm/model",
            "config": {},
            "eval_id": "e",
            "run_id": "r",
            "task_id": "t",
        },
        "samples": list(samples),
    }
    plain = path.with_suffix(".json")
    plain.write_text(json.dumps(body), "utf-8")
    if path.suffix == ".eval":
        from inspect_ai.log import read_eval_log, write_eval_log

        write_eval_log(read_eval_log(str(plain)), str(path))
        plain.unlink()
    return path


def run_call(item: str, answer: Any, expected: int | None, failing: int, **more: Any) -> Observation:
    """A call on an agent's run; `depth` and `words` say where and how much it was edited."""
    place, words = more.pop("place", None), more.pop("words", 0)
    stratum = more.pop("stratum", "all")
    made = call(item, answer, expected, **more)
    changed = None
    if place is not None:
        before, after = (Turn("tool", (Block("text", text * max(1, words)),)) for text in ("x ", "y "))
        changed = (TurnChange(place, 10, before, after),)
    run = Transcript(item, (Turn("assistant", (Block("text", "done"),)),))
    known = {"failing": str(failing), "changes": changed, "stratum": stratum, "transcript": run}
    stimulus = replace(made.stimulus, **known)
    return replace(made, stimulus=stimulus)
