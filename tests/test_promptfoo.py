"""promptfoo judges: a stand-in of the package grades as promptfoo does; a failure of it is never a grade."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from steelyard.errors import ConfigError, DataError, PermanentError, TransientError
from steelyard.providers.function.promptfoo import Assertion, PromptfooJudge
from steelyard.study.judge_config import parse_judge
from steelyard.tasks.task import Binary, parse_scale
from steelyard.trials.judge import Decoding, Presentation, Reply, Slots

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="promptfoo runs in Node")

PACKAGE = """
const replies = {
  good: { output: '{"pass": true, "score": 1}', tokenUsage: { prompt: 100, completion: 5 } },
  bad: { output: { pass: false, score: 0 } },
  garbage: { output: "no idea" },
  maybe: { output: '{"pass": "maybe", "score": "seven"}' },
  off: { output: '{"pass": true, "score": 37}' },
  busy: { error: "API error: 429 Too Many Requests" },
  broken: { error: "API error: 500 Internal Server Error" },
  wrong: { error: "API error: 400 Bad Request" },
};
module.exports = {
  loadApiProvider: async (id) => ({ id: () => id, callApi: async (text) => replies[text] }),
  assertions: {
    runAssertion: async ({ assertion, providerResponse, vars }) => {
      if (!vars.question) throw new Error("no question");
      const reply = await assertion.provider.callApi(providerResponse.output);
      const failed = { pass: false, score: 0, reason: "failed", metadata: { graderError: true } };
      if (reply.error) return failed;
      try {
        const body = typeof reply.output === "string" ? JSON.parse(reply.output) : reply.output;
        const score = typeof body.score === "number" ? body.score : 0;
        return { pass: body.pass === true, score, reason: "" };
      } catch {
        return failed;
      }
    },
  },
};
"""

CONFIG = {
    "defaultTest": {
        "options": {"provider": "openai:gpt-4o"},
        "assert": [
            {"type": "contains", "value": "x"},
            {"type": "llm-rubric", "metric": "correct", "value": "Right for {{question}}?"},
        ],
    },
    "tests": [{"assert": [{"type": "llm-rubric", "value": "Like {{expected}}, {{question}}"}]}],
}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    package = tmp_path / "node_modules" / "promptfoo"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"name": "promptfoo", "version": "9.9.9", "main": "index.js"}')
    (package / "index.js").write_text(PACKAGE)
    (tmp_path / "config.yaml").write_text(json.dumps(CONFIG))
    return tmp_path / "config.yaml"


def asked(config: Path, *texts: str, name: str = "correct", scale: str = "binary") -> list[Any]:
    """What becomes of each text: a reply, or the error."""
    judge = parse_judge(f"promptfoo/{config}:{name}", Path(), parse_scale(scale))
    answers = parse_scale(scale).answers

    async def every() -> list[Any]:
        provider = PromptfooJudge(judge)
        try:
            await provider.open()
            shown = [Presentation((), Slots("q", (text,)), answers, Decoding()) for text in texts]
            return await asyncio.gather(*map(provider.ask, shown), return_exceptions=True)
        finally:
            await provider.close()

    return asyncio.run(every())


def test_a_failure_of_the_grader_is_no_grade(config: Path) -> None:
    good, bad, *unread, busy, broken, wrong = asked(
        config, "good", "bad", "garbage", "maybe", "off", "busy", "broken", "wrong"
    )
    assert (good.text, bad.text) == ("1", "0")
    assert (good.usage.requests, good.usage.input_tokens, good.usage.output_tokens) == (1, 100, 5)
    assert [(type(each), each.finish) for each in unread] == [(Reply, "unreadable")] * 3
    assert "no idea" in unread[0].text
    assert (type(busy), busy.reason) == (TransientError, "rate_limited")
    assert (type(broken), broken.reason) == (TransientError, "server_error")
    assert (type(wrong), wrong.reason) == (PermanentError, "bad_request")


def test_a_score_is_put_on_the_scale(config: Path) -> None:
    assert [reply.text for reply in asked(config, "good", "bad", scale="1-5")] == ["5", "1"]


def test_an_assertion_is_named_and_its_fields_are_demanded(config: Path) -> None:
    for name in ("", "contains", "7"):
        with pytest.raises(ConfigError, match=r"found the assertions correct, 1 graded by a model"):
            parse_judge(f"promptfoo/{config}:{name}".rstrip(":"), Path(), Binary())
    [missing] = asked(config, "good", name="1")
    assert isinstance(missing, DataError)
    assert "needs 'reference'" in str(missing)
    with pytest.raises(ConfigError, match="cannot read"):
        Assertion("absent.yaml")


def test_another_rubric_is_another_judge(config: Path) -> None:
    first = Assertion(f"{config}:correct").hash
    assert Assertion(f"{config}:correct").hash == first
    config.write_text(config.read_text().replace("Right for", "Good for"))
    assert Assertion(f"{config}:correct").hash != first


def test_a_rubric_in_a_file_is_part_of_the_judge(config: Path) -> None:
    rubric = config.with_name("rubric.txt")
    rubric.write_text("Like {{expected}}, {{question}}?")
    config.write_text(config.read_text().replace("Right for {{question}}?", "file://rubric.txt"))
    assert Assertion(f"{config}:correct").template is None
    before = Assertion(f"{config}:correct").hash
    rubric.write_text("Unlike {{expected}}, {{question}}?")
    assert Assertion(f"{config}:correct").hash != before
    rubric.unlink()
    with pytest.raises(ConfigError, match=r"cannot read a file it names .*rubric\.txt"):
        parse_judge(f"promptfoo/{config}:correct", Path(), Binary())


def test_a_missing_package_is_told(config: Path) -> None:
    shutil.rmtree(config.parent / "node_modules")
    with pytest.raises(ConfigError, match="npm install promptfoo"):
        asked(config, "good")


@pytest.mark.parametrize("text", ["- a list", "defaultTest: [1]", "defaultTest: {assert: [llm-rubric]}", ""])
def test_a_configuration_without_a_graded_assertion_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match="holds no assertion that a model grades"):
        Assertion(str(path))


def test_a_missing_node_is_told(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(config.parent))
    with pytest.raises(ConfigError, match="node is not installed"):
        asked(config, "good")


def test_a_grader_that_promptfoo_can_not_load_is_named(config: Path) -> None:
    package = config.parent / "node_modules" / "promptfoo" / "index.js"
    package.write_text(
        PACKAGE.replace("loadApiProvider: async (id) => (", "loadApiProvider: async (id) => id.no.such && (")
    )
    [failed] = asked(config, "good")
    assert isinstance(failed, PermanentError)
    assert "check its provider 'openai:gpt-4o'" in str(failed)
