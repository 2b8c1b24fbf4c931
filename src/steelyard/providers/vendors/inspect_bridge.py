"""Models through `inspect_ai`: for providers that have no adapter here, in the words of that framework.

The package is imported when the first judge of this kind is opened. It makes one attempt per call, like every
provider; its own cache and retries stay off.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from steelyard.core.dotenv import key_from, keys_to_strike, known_keys
from steelyard.errors import ConfigError, PermanentError, ProviderRefusedError, SteelyardError, TransientError
from steelyard.providers.http.endpoint import ThinkingOptions, thinking_tokens
from steelyard.providers.http.redaction import MARK, Redactor
from steelyard.providers.http.response_errors import clean_text, excerpt, finish_of, first_token_logprobs
from steelyard.providers.provider_info import Destination, DoctorCheck, JudgeExample, ProviderInfo
from steelyard.trials.judge import Judge, Presentation, Reply, Usage

if TYPE_CHECKING:
    from inspect_ai.model import ModelOutput

PACKAGE = "inspect_ai"
EXTRA = f"run pip install {PACKAGE}"

_FINISH = {"stop": "stop", "max_tokens": "length", "model_length": "length", "content_filter": "filter"}


def _checks() -> Iterator[DoctorCheck]:
    there = find_spec(PACKAGE) is not None
    found = "judges inspect/PROVIDER/MODEL" if there else f"not installed; {EXTRA} for inspect/PROVIDER/MODEL"
    yield DoctorCheck(PACKAGE, "ok" if there else "absent", found)


class InspectBridge:
    info = ProviderInfo(
        options=ThinkingOptions,
        thinking_tokens=thinking_tokens,
        checks=_checks,
        examples=(
            JudgeExample(
                "inspect/PROVIDER/MODEL",
                "a model by a provider of inspect_ai, with its keys; needs that package",
            ),
        ),
    )
    concurrency = 64

    def __init__(self, judge: Judge) -> None:
        self._where = f"judge {judge.address}"
        if "/" not in judge.model:
            raise ConfigError(
                f"{self._where}: found {judge.model!r}, expected inspect/PROVIDER/MODEL such as "
                "inspect/openai/gpt-4o."
            )
        if find_spec(PACKAGE) is None:
            raise ConfigError(f"{self._where}: needs {PACKAGE}, which is not installed; {EXTRA}.")
        self._judge = judge
        self._room = thinking_tokens(judge.model, judge.options)
        self._keys = keys_to_strike()
        self._model: Any = None

    @property
    def destination(self) -> Destination:
        address, variable = (self._judge.options.get(name) for name in ("base_url", "api_key_env"))
        return Destination(
            str(address or f"the address that inspect_ai has for {self._judge.model}"),
            (str(variable),) if variable else (),
            is_own=not address,
            is_named=bool(variable),
            finds_key="" if variable else PACKAGE,
        )

    async def open(self) -> None:
        from inspect_ai.model import get_model

        options = self._judge.options
        key = (key_from(str(options["api_key_env"])) or None) if "api_key_env" in options else None
        try:
            self._model = get_model(
                self._judge.model, base_url=options.get("base_url"), api_key=key, memoize=False
            )
        except Exception as error:
            raise ProviderRefusedError(f"{self._where}: {PACKAGE} refused it ({_words(error)}).") from error

    async def close(self) -> None:
        if self._model is not None:
            await self._model.api.aclose()
            self._model = None

    async def ask(self, presentation: Presentation) -> Reply:
        from inspect_ai.model import ChatMessageSystem, ChatMessageUser

        presentation, struck = presentation.without(self._keys, MARK)
        kinds = {"system": ChatMessageSystem, "user": ChatMessageUser}
        messages = [kinds[m.role](content=m.content) for m in presentation.messages]
        try:
            output = await self._model.generate(messages, config=self._config(presentation), cache=False)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            raise self._failure(_cause(error)) from error
        reply = self._reply(output, presentation)
        return replace(reply, effective={**reply.effective, "struck": list(struck)}) if struck else reply

    def _config(self, presentation: Presentation) -> Any:
        from inspect_ai.model import GenerateConfig

        decoding, options = presentation.decoding, self._judge.options
        logprobs = presentation.wants == "logprobs"
        return GenerateConfig(
            max_retries=0,
            max_tokens=decoding.max_tokens + self._room,
            temperature=decoding.temperature,
            seed=decoding.seed,
            logprobs=logprobs or None,
            top_logprobs=20 if logprobs else None,
            reasoning_effort=options.get("effort"),
            reasoning_tokens=options.get("thinking_tokens"),
            extra_body=dict(decoding.extra) or None,
        )

    def _reply(self, output: ModelOutput, presentation: Presentation) -> Reply:
        if not output.choices:
            raise TransientError("garbled_reply", f"{self._where}: no choice in the output; try again.")
        choice, usage = output.choices[0], output.usage
        tokens = [one.model_dump() for one in choice.logprobs.content] if choice.logprobs else None
        changed: dict[str, Any] = {"response_format": None} if presentation.wants == "json" else {}
        changed |= {"max_tokens": presentation.decoding.max_tokens + self._room} if self._room else {}
        return Reply(
            clean_text(choice.message.text),
            logprobs=first_token_logprobs(tokens),
            usage=Usage() if usage is None else _usage(usage),
            finish=finish_of(choice.stop_reason, _FINISH),
            served_model=clean_text(output.model) or None,
            effective=changed,
            latency_ms=1000 * (output.time or 0.0),
        )

    def _failure(self, error: Exception) -> SteelyardError:
        found = f"{self._where}: {_words(error)}"
        if self._model.api.is_auth_failure(error):
            return ProviderRefusedError(f"{found}; check the key.")
        if isinstance(error, TimeoutError) or bool(self._model.api.should_retry(error)):
            return TransientError("server_error", f"{found}; try again.")
        return PermanentError("bad_request", f"{found}; correct the request.")


def _usage(usage: Any) -> Usage:
    read, written = usage.input_tokens_cache_read or 0, usage.input_tokens_cache_write or 0
    return Usage(
        usage.input_tokens + read + written,
        usage.output_tokens,
        cached_tokens=read,
        reasoning_tokens=usage.reasoning_tokens or 0,
        cache_write_tokens=written,
    )


def _cause(error: Exception) -> Exception:
    last = getattr(error, "last_attempt", None)
    cause = last.exception() if last is not None else None
    return cause if isinstance(cause, Exception) else error


def _words(error: Exception) -> str:
    """An error on one line, without whatever the environment holds as a secret."""
    return excerpt(Redactor(known_keys()).redact(str(error) or type(error).__name__), 300).rstrip(".")
