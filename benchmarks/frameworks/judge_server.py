"""A scripted model for every framework: right on all rows, or wrong in one way that it is told.

It finds the answer in the prompt (a zebra is right, a horse is wrong) and replies in the form that the
request asks for: a JSON schema, a tool call, or text. `mode` is ok, inverted (wrong on all rows), garbage,
empty, truncated, off_scale, http400, http429 or http500.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from servers import Answer, Received, fails, says, sends

OFF = 37


class JudgeServer:
    def __init__(self, mode: str = "ok") -> None:
        self.mode = mode

    def __call__(self, request: Received) -> Answer:
        if self.mode.startswith("http"):
            return fails(int(self.mode[4:]), "scripted failure")
        body = request.body
        asked = json.dumps(body.get("messages") or body.get("input"))
        right = _is_right(asked) != (self.mode == "inverted")
        text = self._text(body, asked, right)
        finish = "stop"
        if self.mode == "garbage":
            text = "I would rather talk about the weather."
        elif self.mode == "empty":
            text = ""
        elif self.mode == "truncated":
            text, finish = text[: len(text) // 2], "length"
        if body.get("tools") and self.mode not in ("garbage", "empty"):
            name = body["tools"][0]["function"]["name"]
            call = {"id": "c1", "type": "function", "function": {"name": name, "arguments": text}}
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
            finish = "tool_calls" if finish == "stop" else finish
            return says(None, created=0, choices=[{"index": 0, "message": message, "finish_reason": finish}])
        if "input" in body and "messages" not in body:
            return responses_api(text, self.mode)
        return says(text, finish=finish, created=0)

    def _text(self, body: dict[str, Any], asked: str, right: bool) -> str:
        schema = _schema(body)
        if schema is not None:
            return json.dumps(self._object(schema, asked, right))
        if "GRADE:" in asked:
            return f"GRADE: {'X' if self.mode == 'off_scale' else 'C' if right else 'I'}"
        if '"steps"' in asked.replace("\\", "") and "score" not in asked:
            return json.dumps({"steps": ["compare with the facts", "grade"]})
        if "pass" in asked and "boolean" in asked:  # the form of promptfoo's rubric
            off = self.mode == "off_scale"
            return json.dumps(
                {
                    "reason": "scripted",
                    "pass": "maybe" if off else right,
                    "score": "seven" if off else right * 1.0,
                }
            )
        score = OFF if self.mode == "off_scale" else 10 if right else 0
        return json.dumps({"score": score, "reason": "scripted", "verdict": right})

    def _object(self, schema: dict[str, Any], asked: str, right: bool) -> dict[str, Any]:
        """One value for each property, those of the objects in a list too."""
        defs, made = schema.get("$defs", {}), {}
        for key, part in schema.get("properties", {}).items():
            whole = _resolved(part, defs)
            inner = _resolved(whole.get("items", {}), defs)
            if key == "winner":  # the name before the right text
                plain = re.sub(r"\\+n", " ", asked).replace("\\", "")
                names = re.findall(r'"(\w+)": "{\s*"actual_output": "(zebra|horse)', plain)
                found = [name for name, text in names if (text == "zebra") == (self.mode != "inverted")]
                made[key] = "Nobody" if self.mode == "off_scale" else found[0]
            elif "properties" in inner:
                made[key] = [self._object({**inner, "$defs": defs}, asked, right)]
            elif whole.get("type") == "array":
                made[key] = ["zebra" if right != (self.mode == "inverted") else "horse"]
            else:
                made[key] = self._value(key, whole, right)
        return made

    def _value(self, key: str, part: dict[str, Any], right: bool) -> Any:
        options = part.get("enum") or ([part["const"]] if "const" in part else None)
        if options:
            good = [one for one in options if str(one).lower() in GOOD]
            bad = [one for one in options if str(one).lower() in BAD]
            if self.mode == "off_scale":
                return "maybe"
            return (good if right else bad or options)[0] if good else options[0]
        kind = part.get("type")
        if kind in ("number", "integer"):
            top = part.get("maximum", 10 if key == "score" and "10" in json.dumps(part) else 1)
            return OFF if self.mode == "off_scale" else top if right else 0
        if kind == "boolean":
            return "maybe" if self.mode == "off_scale" else right
        if key in ("choice", "label", "result", "value", "score", "verdict") and self.mode == "off_scale":
            return "maybe"
        return ("yes" if right else "no") if key in ("result", "value") else "scripted"


GOOD = ("yes", "pass", "correct", "good", "right", "c", "true")
BAD = ("no", "fail", "incorrect", "bad", "wrong", "d", "i", "false")


def _is_right(asked: str) -> bool:
    """Of one text whether it is the right one, of two whether the first is."""
    first = re.search(r"\[Response 1\](.*?)\[Instruction 2\]", asked)
    return "zebra" in (first[1] if first else asked)


def _schema(body: dict[str, Any]) -> dict[str, Any] | None:
    """The schema of the answer that the request asks for."""
    found = body.get("response_format") or {}
    schema = (found.get("json_schema") or {}).get("schema")
    if schema is None and body.get("tools"):
        schema = body["tools"][0].get("function", body["tools"][0]).get("parameters")
    if schema is None and "text" in body:
        schema = (body["text"].get("format") or {}).get("schema")
    return schema or next(_in_words(body), None)


def _in_words(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A schema that stands in the text of a message."""
    for message in body.get("messages") or ():
        text = str(message.get("content"))
        for start in (place for place, sign in enumerate(text) if sign == "{"):
            try:
                found, _ = json.JSONDecoder().raw_decode(text, start)
            except ValueError:
                continue
            if isinstance(found, dict) and "properties" in found:
                yield found


def _resolved(part: dict[str, Any], defs: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = defs[part["$ref"].rpartition("/")[2]] if "$ref" in part else part
    return found


def responses_api(text: str, mode: str) -> Answer:
    done = mode != "truncated"
    return sends(
        {
            "id": "resp_1",
            "object": "response",
            "created_at": 0,
            "status": "completed" if done else "incomplete",
            "incomplete_details": None if done else {"reason": "max_output_tokens"},
            "model": "scripted-1",
            "parallel_tool_calls": False,
            "tool_choice": "auto",
            "tools": [],
            "output": [
                {
                    "type": "message",
                    "id": "m1",
                    "role": "assistant",
                    "status": "completed",
                    "content": [{"type": "output_text", "text": text, "annotations": []}],
                }
            ],
            "usage": {"input_tokens": 100, "output_tokens": 5, "total_tokens": 105},
        }
    )
