"""A planted judge behind HTTP, as a chat-completions server: for teaching and for tests of the whole pipe.

The candidates are parsed back from the built-in prompt, and the noise comes from the `Idempotency-Key`, so
the served judge answers exactly as the one in process does.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from aiohttp import web
from yarl import URL

from steelyard.core.content_hash import content_hash
from steelyard.errors import ConfigError, DataError
from steelyard.providers.planted.planted_judges import CHOOSER, POINTWISE_MODELS, Planted
from steelyard.stimuli.stimulus import Stimulus
from steelyard.tasks.task import Pairwise
from steelyard.trials.builtin_prompts import (
    asks_bare,
    parse_best_of_prompt,
    parse_pair_prompt,
    parse_score_prompt,
    protocol_of,
)
from steelyard.trials.judge import Decoding, Judge, Presentation, Slots
from steelyard.trials.prompt import Message

_LARGEST_REQUEST = 16_000_000

UNKNOWN = (
    "user message: the response is not in this rater's key, so it has no label and gets no score; serve the "
    "rater with the --seed of the study, or with --key RUN/stimuli.jsonl for texts that are not of the pack."
)


def planted_app(judge: Judge, key: Iterable[Stimulus] = ()) -> web.Application:
    planted = Planted(judge)
    planted.set_labels(key)

    async def complete(request: web.Request) -> web.Response:
        try:
            body = await request.json()
            presentation = _presentation(judge, body, request.headers.get("Idempotency-Key"))
            if not planted.knows(presentation):
                raise DataError(UNKNOWN)
        except (ValueError, LookupError, RecursionError, DataError) as error:
            problem = {"message": str(error), "type": "invalid_request_error", "param": None, "code": None}
            return web.json_response({"error": problem}, status=400)
        reply = await planted.ask(presentation)
        text = reply.text
        if asks_bare(presentation.messages[-1].content):
            text = str(next(iter(json.loads(text).values())))
        return web.json_response(_completion(judge, presentation, text, reply.usage.input_tokens))

    async def models(_: web.Request) -> web.Response:
        entry = {"id": judge.model, "object": "model", "created": 0, "owned_by": "steelyard"}
        return web.json_response({"object": "list", "data": [entry]})

    app = web.Application(client_max_size=_LARGEST_REQUEST)
    app.add_routes([web.post("/v1/chat/completions", complete), web.get("/v1/models", models)])
    return app


async def start(
    judge: Judge, host: str = "127.0.0.1", port: int = 0, key: Iterable[Stimulus] = ()
) -> tuple[web.AppRunner, str]:
    runner = web.AppRunner(planted_app(judge, key), access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
    except OSError as error:
        await runner.cleanup()
        raise ConfigError(
            f"serve-planted: {host}:{port} cannot be opened ({error.strerror}); choose another --port."
        ) from error
    bound: int = runner.addresses[0][1]
    return runner, str(URL.build(scheme="http", host=host, port=bound, path="/v1"))


async def serve(
    judge: Judge,
    host: str = "127.0.0.1",
    port: int = 8000,
    ready: Callable[[str], None] | None = None,
    key: Iterable[Stimulus] = (),
) -> None:
    runner, url = await start(judge, host, port, key)
    try:
        if ready is not None:
            ready(url)
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


def client_address(judge: Judge, url: str) -> str:
    return f"openai/{judge.model}?base_url={url}"


def _presentation(judge: Judge, body: Any, trial: str | None) -> Presentation:
    sent = body.get("messages") if isinstance(body, dict) else None
    messages = tuple(
        Message(str(entry.get("role")), str(entry.get("content")))
        for entry in (sent if isinstance(sent, list) else [])
        if isinstance(entry, dict)
    )
    user = next((message.content for message in reversed(messages) if message.role == "user"), None)
    if user is None:
        raise DataError("request body: found no user message, expected one in messages; add it.")
    settings: Mapping[str, Any] = {}
    answers: Iterable[object]
    if judge.model == CHOOSER:
        choice = parse_best_of_prompt(user)
        slots, answers = Slots(choice.request, choice.responses), range(1, len(choice.responses) + 1)
    elif judge.model in POINTWISE_MODELS:
        asked = parse_score_prompt(user)
        slots, answers = Slots(asked.request, (asked.response,)), range(asked.low, asked.high + 1)
    else:
        protocol = judge.protocols.get(protocol_of(user))
        pair = parse_pair_prompt(user)
        slots, answers = Slots(pair.request, pair.responses), _answers(body)
        settings = protocol.settings if protocol else {}
    name = trial or content_hash(body)
    return Presentation(messages, slots, tuple(map(str, answers)), Decoding(), settings=settings, trial=name)


def _answers(body: dict[str, Any]) -> Iterable[object]:
    """The admissible answers of the requested schema; one, two or tie where none is requested."""
    schema: Any = body.get("response_format")
    for name in ("json_schema", "schema", "properties", "winner", "enum"):
        schema = schema.get(name) if isinstance(schema, dict) else None
    return schema if isinstance(schema, list) and schema else Pairwise().answers


def _completion(judge: Judge, presentation: Presentation, text: str, prompt_tokens: int) -> dict[str, Any]:
    made = len(text) // 4
    message = {"role": "assistant", "content": text, "refusal": None}
    return {
        "id": f"chatcmpl-{presentation.trial[:24]}",
        "object": "chat.completion",
        "created": 0,
        "model": judge.model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": made,
            "total_tokens": prompt_tokens + made,
        },
    }
