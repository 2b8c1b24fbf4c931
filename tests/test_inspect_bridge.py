"""Models through inspect_ai, asked through a model API that is registered as that framework wants it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from commands import Command
from steelyard.errors import ConfigError, PermanentError, ProviderRefusedError, TransientError
from steelyard.providers.provider import connect
from steelyard.providers.vendors import inspect_bridge
from steelyard.trials.judge import Judge, Presentation, Reply, Usage
from vendors import KEY, PROTOCOLS, shown

inspect_model = pytest.importorskip("inspect_ai.model")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of packages below the framework

ONE = '{"winner": "1"}'
SEEN: list[tuple[Any, Any]] = []
"""Messages and configuration of each call."""


class OverloadedError(Exception):
    """Worth another try."""


class WrongKeyError(Exception):
    """No better by waiting."""


@inspect_model.modelapi(name="scripted")
class Scripted(inspect_model.ModelAPI):  # type: ignore[name-defined, misc]
    """Answers by the name of the model."""

    def should_retry(self, ex: BaseException) -> bool:
        return isinstance(ex, OverloadedError)

    def is_auth_failure(self, ex: Exception) -> bool:
        return isinstance(ex, WrongKeyError)

    async def generate(self, input: Any, tools: Any, tool_choice: Any, config: Any) -> Any:
        SEEN.append((input, config))
        raised = {
            "overloaded": OverloadedError("busy"),
            "key": WrongKeyError(f"no {KEY}"),
            "bad": ValueError("no"),
        }
        if self.model_name in raised:
            raise raised[self.model_name]
        stop = self.model_name if self.model_name in ("max_tokens", "content_filter") else "stop"
        output = inspect_model.ModelOutput.from_content("served-9", ONE, stop_reason=stop)
        output.usage = inspect_model.ModelUsage(
            input_tokens=40,
            output_tokens=9,
            total_tokens=109,
            input_tokens_cache_read=60,
            reasoning_tokens=4,
        )
        return output


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    SEEN.clear()
    monkeypatch.setenv("SOME_API_KEY", KEY)


def ask(model: str, presentation: Presentation | None = None, **options: Any) -> Reply:
    async def run() -> Reply:
        provider = connect(Judge("j", "inspect", f"scripted/{model}", PROTOCOLS, options=options))
        await provider.open()
        try:
            return await provider.ask(presentation or shown())
        finally:
            await provider.close()

    return asyncio.run(run())


@pytest.mark.slow
def test_a_call() -> None:
    reply = ask("plain", shown(max_tokens=9, seed=3))
    assert (reply.text, reply.finish, reply.served_model) == (ONE, "stop", "served-9")
    assert reply.usage == Usage(100, 9, 60, 4)
    assert reply.effective == {"response_format": None}
    ((messages, config),) = SEEN
    assert [(m.role, m.text) for m in messages] == [("system", "Judge."), ("user", "Which? 💡")]
    assert (config.max_tokens, config.temperature, config.seed) == (9, 0.0, 3)


@pytest.mark.slow
def test_thinking_and_log_probabilities_are_asked_for() -> None:
    reply = ask("plain", shown("logprobs", max_tokens=9), effort="low")
    ((_, config),) = SEEN
    assert (config.reasoning_effort, config.max_tokens, config.logprobs) == ("low", 9 + 4096, True)
    assert reply.effective == {"max_tokens": 9 + 4096}


@pytest.mark.slow
@pytest.mark.parametrize(("model", "finish"), [("max_tokens", "length"), ("content_filter", "filter")])
def test_stop_reasons(model: str, finish: str) -> None:
    assert ask(model).finish == finish


@pytest.mark.parametrize(
    ("model", "error"),
    [("overloaded", TransientError), ("bad", PermanentError), ("key", ProviderRefusedError)],
)
def test_errors_are_what_the_framework_says_of_them(model: str, error: type[Exception]) -> None:
    with pytest.raises(error) as caught:
        ask(model)
    assert KEY not in str(caught.value)
    assert len(SEEN) == 1


def test_what_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=r"expected inspect/PROVIDER/MODEL such as"):
        connect(Judge("j", "inspect", "gpt-4o", PROTOCOLS))
    with pytest.raises(ProviderRefusedError, match="inspect_ai refused it"):
        asyncio.run(connect(Judge("j", "inspect", "nobody/x", PROTOCOLS)).open())
    monkeypatch.setattr(inspect_bridge, "PACKAGE", "inspect_ai_that_is_not_there")
    with pytest.raises(ConfigError, match=r"not installed; run pip install inspect_ai"):
        connect(Judge("j", "inspect", "openai/gpt-4o", PROTOCOLS))


def test_measure_through_the_bridge(command: Command, tmp_path: Path) -> None:
    done = command("measure", "-j", "inspect/scripted/plain", "-p", "vacuum", "--out", "run", "--json")
    assert done.code == 0, done.err
    run = json.loads(done.out)["run"]
    assert run["input_tokens"] == 100 * run["calls"]
    assert (tmp_path / "run" / "datasheet.html").is_file()


@pytest.mark.parametrize("model", ["openai-api/openai/x", "grok/x", "scripted/plain"])
def test_a_key_that_the_framework_finds_goes_nowhere_unasked(
    command: Command, tmp_path: Path, model: str
) -> None:
    """In which variables its providers look is theirs to say: one of another vendor's among them."""
    judge = {"name": "m", "model": f"inspect/{model}", "base_url": "http://127.0.0.1:9/v1"}
    (tmp_path / "study.yaml").write_text(json.dumps({"judges": [judge], "probes": ["vacuum"]}))
    done = command("measure", "study.yaml", "--out", "run")
    told = "judge m sends the key that inspect_ai finds to http://127.0.0.1:9/v1, which is not the vendor's"
    assert (done.code, told in done.err) == (2, True), done.err
    judge["api_key_env"] = "SOME_API_KEY"
    (tmp_path / "study.yaml").write_text(json.dumps({"judges": [judge], "probes": ["vacuum"]}))
    done = command("measure", "study.yaml", "--out", "run")
    assert (done.code, "judge m sends the value of SOME_API_KEY to" in done.err) == (2, True), done.err
    assert not SEEN
