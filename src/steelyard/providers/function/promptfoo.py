"""promptfoo judges: a model-graded assertion of a promptfooconfig.yaml, graded by promptfoo itself.

A Node worker runs the assertion, without promptfoo's cache, and hands over the grader's raw replies.
promptfoo makes "fail, score 0" of an unreadable reply and of a server error; the raw replies tell them apart.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from steelyard.core.content_hash import content_hash
from steelyard.core.dotenv import is_key_name, known_keys
from steelyard.errors import CallError, ConfigError, PermanentError, TransientError, UnreadableError
from steelyard.providers.function.frameworks.adapter import TELEMETRY_OFF, Grade, bind, left_out_of, reply_of
from steelyard.providers.function.python_function import FunctionOptions, asked_of_a_function
from steelyard.providers.http.redaction import Redactor
from steelyard.providers.http.response_errors import error_for_response, excerpt, parse_error
from steelyard.providers.provider_info import Destination, JudgeExample, ProviderInfo
from steelyard.stimuli.rubric_edits import with_rubric
from steelyard.trials.judge import Judge, Presentation, Reply, Slots, Usage

WORKER = Path(__file__).with_name("promptfoo_worker.mjs")
GRADED = ("llm-rubric", "model-graded-closedqa", "factuality", "model-graded-factuality", "g-eval")
"""Assertions that ask a model about one text."""
NO_CACHE = {"PROMPTFOO_CACHE_ENABLED": "false"}
_FIELD = re.compile(r"{{\s*(\w+)\s*}}")
_FILE = re.compile(r'(?:file://|"(?:python|ruby|golang):)([^":]+)')
"""A text, or code that grades, perhaps with the name of a function behind it."""
_STATUS = re.compile(r"\b([45]\d\d)\b")


class Assertion:
    """One assertion of a configuration, and who grades it."""

    def __init__(self, model: str) -> None:
        place, _, wanted = model.partition(":")
        self.path = Path(place)
        try:
            body = yaml.safe_load(self.path.read_text(encoding="utf-8")) or {}
        except (OSError, ValueError, yaml.YAMLError) as error:
            # The error of the parser quotes the line, which may hold a key.
            mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None) or error
            line = "" if mark is None else f"line {mark.line + 1}: "
            raise ConfigError(
                f"judge promptfoo/{model}: cannot read {place} ({line}{problem}); correct it."
            ) from None
        shared = _mapping(_mapping(body).get("defaultTest"))
        listed = _mapping(body).get("tests")
        tests = [shared, *map(_mapping, listed if isinstance(listed, list) else ())]
        listed = [(test, test.get("assert")) for test in tests]
        found = [(test, _mapping(one)) for test, every in listed if isinstance(every, list) for one in every]
        graded = [(test, each) for test, each in found if each.get("type") in GRADED]
        names = [str(each.get("metric") or number) for number, (_, each) in enumerate(graded)]
        if not graded:
            raise ConfigError(
                f"judge promptfoo/{model}: {place} holds no assertion that a model grades, expected one of "
                f"the type {', '.join(GRADED[:-1])} or {GRADED[-1]}; add it."
            )
        if (wanted and wanted not in names) or (not wanted and len(graded) > 1):
            raise ConfigError(
                f"judge promptfoo/{model}: found the assertions {', '.join(names)} graded by a "
                f"model, expected one; name it: promptfoo/{place}:NAME (its metric, or its number)."
            )
        test, self.body = graded[names.index(wanted) if wanted else 0]
        own = [self.body, _mapping(test.get("options")), _mapping(shared.get("options"))]
        self.options = {**own[2], **own[1]}
        self.options.pop("provider", None)
        self.grader = next((each["provider"] for each in own if each.get("provider")), None)
        if isinstance(self.grader, dict) and "text" in self.grader:
            self.grader = self.grader["text"]
        if self.grader is None:
            raise ConfigError(f"judge promptfoo/{model}: no provider grades it; add options.provider.")

    @property
    def keys(self) -> list[str]:
        """Keys that the configuration itself holds."""
        return list(_keys_in([self.grader, self.options, self.body]))

    @property
    def fields(self) -> list[str]:
        """Those that promptfoo fills in; it does not in a value that stands in a file."""
        prompts = [self.options.get("rubricPrompt"), self.body.get("rubricPrompt")]
        text = json.dumps(self.body.get("value")) + self._with_files(prompts)
        return [name for name in dict.fromkeys(_FIELD.findall(text)) if name not in ("output", "rubric")]

    @property
    def template(self) -> str | None:
        value = self.body.get("value")
        return value if isinstance(value, str) and not value.startswith("file://") else None

    def showing(self, rubric: str | None) -> dict[str, Any]:
        """The assertion with this rubric in its value, where the value holds its points; else as it is."""
        text = None if rubric is None or self.template is None else with_rubric(self.template, rubric)
        return self.body if text is None else {**self.body, "value": text}

    @property
    def files(self) -> list[str]:
        """Those that promptfoo reads or runs, seen from the configuration."""
        return _FILE.findall(json.dumps([self.body, self.options, self.grader]))

    @property
    def hash(self) -> str:
        return content_hash([self._with_files([self.body, self.options, self.grader]), self._version])

    def _with_files(self, parts: list[Any]) -> str:
        """The parts as text, and the text of each file that they name: a rubric may stand in one."""
        text = json.dumps(parts)
        try:
            files = [(self.path.parent / name).read_text(encoding="utf-8") for name in _FILE.findall(text)]
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"judge promptfoo/{self.path}: cannot read a file it names ({error})."
            ) from None
        return "\n".join([text, *files])

    @property
    def _version(self) -> str:
        for folder in self.path.resolve().parents:
            package = folder / "node_modules" / "promptfoo" / "package.json"
            if package.is_file():
                return str(json.loads(package.read_text(encoding="utf-8"))["version"])
        return "?"


def _mapping(value: Any) -> dict[str, Any]:
    """What a configuration should hold as a mapping; whatever else is there names no assertion."""
    return value if isinstance(value, dict) else {}


def _keys_in(body: Any) -> Iterator[str]:
    if isinstance(body, dict):
        for name, value in body.items():
            if isinstance(value, str) and is_key_name(str(name)):
                yield value.rpartition(" ")[2]
            yield from _keys_in(value)
    elif isinstance(body, list):
        for each in body:
            yield from _keys_in(each)


def with_assertion_hash(model: str, options: FunctionOptions) -> FunctionOptions:
    assertion = Assertion(model)
    caveat = left_out_of(assertion.template)
    return options.model_copy(
        update={"source": assertion.hash, "caveat": caveat, "template": assertion.template or ""}
    )


class PromptfooJudge:
    info = ProviderInfo(
        uses_prompt=False,
        is_code=True,
        file_of=lambda model: model.partition(":")[0],
        files_within=lambda model: Assertion(model).files,
        can_write=False,
        can_compare=False,
        can_choose=False,
        options=FunctionOptions,
        complete_options=with_assertion_hash,
        protocols=asked_of_a_function,
        examples=(
            JudgeExample(
                "promptfoo/FILE:ASSERTION", "a model-graded assertion of a promptfooconfig.yaml, as it is"
            ),
        ),
    )

    def __init__(self, judge: Judge) -> None:
        self._judge, self._options = judge, FunctionOptions.of(judge)
        self.concurrency = self._options.concurrency
        self._assertion = Assertion(judge.model)
        self._redactor = Redactor([*known_keys(), *self._assertion.keys])
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._sent: dict[int, int] = {}
        self._number = 0
        self._worker: asyncio.subprocess.Process | None = None

    @property
    def destination(self) -> Destination:
        return Destination(self._judge.address, is_code=True)

    async def open(self) -> None:
        node = shutil.which("node")
        if node is None:
            raise ConfigError(f"judge {self._judge.name}: node is not installed, which promptfoo needs.")
        self._worker = worker = await asyncio.create_subprocess_exec(
            *(node, str(WORKER)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=self._assertion.path.resolve().parent,
            env={**TELEMETRY_OFF, **os.environ, **NO_CACHE},
            limit=2**24,
        )
        self._said = ""
        assert worker.stdin is not None
        assert worker.stdout is not None
        assert worker.stderr is not None
        self._requests = worker.stdin
        self._tasks = [asyncio.create_task(self._errors(worker.stderr))]
        if not await worker.stdout.readline():  # it says when it has loaded promptfoo
            await self.close()
            raise self._ended()
        self._tasks.append(asyncio.create_task(self._listen(worker.stdout)))

    async def close(self) -> None:
        if self._worker is None:
            return
        if self._worker.returncode is None:
            self._worker.kill()
        await self._worker.wait()
        await asyncio.gather(*self._tasks)

    async def ask(self, presentation: Presentation) -> Reply:
        begun, slots = time.perf_counter(), presentation.slots
        result = await self._graded(slots)
        calls: list[dict[str, Any]] = result["calls"]
        requests = max(len(calls), result["requests"])
        words = self._judge.protocols["base"].reader.args.get("answers", {})
        try:
            grade = self._grade(result, calls)
            reply = reply_of(grade, presentation.answers, words, self._options.threshold)
        except UnreadableError as error:
            reply = Reply(str(error), finish=error.finish)
        except CallError as error:
            error.requests = requests
            raise
        used = [call.get("usage") or {} for call in calls]
        usage = Usage(
            sum(int(one.get("prompt") or 0) for one in used),
            sum(int(one.get("completion") or 0) for one in used),
            requests=requests,
        )
        return Reply(
            reply.text, usage=usage, finish=reply.finish, latency_ms=1000 * (time.perf_counter() - begun)
        )

    def _grade(self, result: Mapping[str, Any], calls: list[dict[str, Any]]) -> Grade:
        where, reason = f"judge {self._judge.name}", str(result.get("raised") or result.get("reason"))[:500]
        failed = next((call["error"] for call in reversed(calls) if call["error"]), None)
        if failed is not None:
            status = _STATUS.search(failed)
            if status is None:
                raise TransientError("grader error", f"{where}: {failed[:500]}")
            raise error_for_response(int(status[1]), parse_error(failed), {}, where, time.time())
        grader = self._assertion.grader
        if not calls or "raised" in result:
            raise PermanentError(
                "promptfoo failed",
                f"{where}: promptfoo came to no grade ({reason}); check its provider "
                f"{str(grader.get('id') if isinstance(grader, dict) else grader)!r}.",
            )
        raw = calls[-1]["output"]
        if calls[-1].get("finish") == "length":
            raise UnreadableError(f"the grader wrote: {str(raw)[:500]}", "length")
        if result.get("failed") or not _is_graded(self._assertion.body["type"], raw):
            raise UnreadableError(f"the grader wrote: {str(raw)[:500]}")
        return Grade(float(result["score"]), 0.0, 1.0, passed=bool(result["pass"]))

    async def _graded(self, slots: Slots) -> dict[str, Any]:
        where = f"judge {self._judge.name}: the assertion"
        fields = bind(self._assertion.fields, slots, where)
        self._number += 1
        number, loop = self._number, asyncio.get_running_loop()
        body = {
            "id": number,
            "assertion": self._assertion.showing(slots.rubric),
            "options": self._assertion.options,
        }
        body |= {"vars": fields, "output": slots.texts[0], "grader": self._assertion.grader}
        answer: asyncio.Future[dict[str, Any]] = loop.create_future()
        self._waiting[number] = answer
        try:
            self._requests.write(json.dumps(body).encode() + b"\n")
            await self._requests.drain()
            return {**await answer, "requests": self._sent.get(number, 0)}
        except asyncio.CancelledError as error:  # by the time limit, which asks how many there were
            error.requests = self._sent.get(number, 0)  # type: ignore[attr-defined]
            raise
        except (BrokenPipeError, ConnectionResetError) as error:
            raise self._ended() from error
        finally:
            self._waiting.pop(number, None)
            self._sent.pop(number, None)

    async def _listen(self, lines: asyncio.StreamReader) -> None:
        async for line in lines:
            body = self._redactor.redact_all(json.loads(line), is_error=True)
            waiting = self._waiting.get(body["id"])
            if waiting is None or waiting.done():
                continue
            if "calls" in body:
                waiting.set_result(body)
            else:  # one more request has been sent
                self._sent[body["id"]] = body["requests"]
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(self._ended())

    async def _errors(self, lines: asyncio.StreamReader) -> None:
        async for line in lines:
            self._said = (self._said + line.decode("utf-8", "replace"))[-100_000:]

    def _ended(self) -> ConfigError:
        said = self._redactor.redact(self._said, is_error=True)
        missing = "Cannot find module 'promptfoo'" in said
        cure = (
            "run npm install promptfoo in the folder of the configuration"
            if missing
            else _raised(said) or "it said nothing"
        )
        return ConfigError(f"judge {self._judge.name}: the promptfoo worker ended; {cure}.")


def _raised(said: str) -> str:
    """The error in what Node wrote before it ended, without the stack below it."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    error = next((line for line in lines if re.match(r"(Uncaught )?\w*(Error|Exception)\b", line)), None)
    return excerpt(error or " ".join(lines[-3:]), 300).rstrip(".")


def _is_graded(kind: str, raw: Any) -> bool:
    """Whether the grader's reply holds a grade: of a rubric a truth value or a score from 0 to 1 in JSON."""
    if kind != "llm-rubric":
        return bool(str(raw or "").strip())
    body = raw
    if isinstance(raw, str):
        found = re.search(r"{.*}", raw, re.DOTALL)
        try:
            body = json.loads(found[0]) if found else None
        except ValueError:
            body = None
    if not isinstance(body, dict):
        return False
    passed, score = body.get("pass"), body.get("score")
    is_score = isinstance(score, (int, float)) and not isinstance(score, bool) and 0 <= score <= 1
    return (isinstance(passed, bool) or passed is None) and (
        is_score or (score is None and passed is not None)
    )
