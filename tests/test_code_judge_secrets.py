"""Keys that a function or a framework's client quotes are struck out of what is kept, printed or shown."""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
import traceback
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from commands import Command
from servers import ScriptedServer, fails, says
from steelyard.errors import ConfigError, SteelyardError, TransientError, UnreadableError
from steelyard.providers.function.promptfoo import Assertion, PromptfooJudge
from steelyard.providers.function.python_function import (
    PythonFunction,
    address_of,
    asked_of_a_function,
    function_at,
)
from steelyard.providers.http.redaction import MARK
from steelyard.study.judge_config import parse_judge
from steelyard.tasks.task import Binary
from steelyard.trials.judge import Decoding, Judge, Presentation, Reply, Slots

KEY = "sk-own/Ab3+xY9876543210abcdefgh"
SPELLINGS = {
    "as it is": KEY,
    "in JSON": KEY.replace("+", "\\u002B").replace("/", "\\/"),
    "in an address": quote(KEY, safe=""),
    "in base64": base64.b64encode(KEY.encode()).decode(),
    "in base64 behind a name": base64.b64encode(f"me:{KEY}".encode()).decode(),
    "in base64 inside a text": base64.b64encode(f'{{"key": "{KEY}"}}'.encode()).decode(),
    "in base64 for addresses": base64.urlsafe_b64encode(KEY.encode()).decode().rstrip("="),
    "broken by a line": f"{KEY[:9]}\n{KEY[9:]}",
    "in hex": KEY.encode().hex(),
    "in an address, twice": quote(quote(KEY, safe=""), safe=""),
    "beyond the cut": "x" * 490 + KEY,
}


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OWN_API_KEY", KEY)


def holds_key(text: str) -> bool:
    """Whether the key, a spelling of it, or a good part of it is in a text."""
    forms = [*SPELLINGS.values(), KEY[:10], KEY[9:25], base64.b64encode(KEY.encode()).decode()[4:20]]
    return any("".join(form.split()) in "".join(text.split()) for form in forms)


def kept(function: Callable[..., Any]) -> str:
    """What a run would keep of one call: the reply, or the error with what a traceback shows."""
    judge = Judge("j", "python", address_of(function, "j"), asked_of_a_function(Binary(), None))
    shown = Presentation((), Slots("why?", ("text",)), ("0", "1"), Decoding())
    try:
        return repr(asyncio.run(PythonFunction(judge).ask(shown)))
    except SteelyardError as error:
        return repr(error) + str(error) + repr(error.__dict__) + "".join(traceback.format_exception(error))


def raises(error: Exception) -> Callable[..., Any]:
    def judge(request: str, response: str) -> str:
        raise error

    return judge


@pytest.mark.slow
@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS)
def test_a_key_in_a_reply_or_an_exception_is_struck_out(spelling: str) -> None:
    for judge in (
        lambda request, response: f"1 {spelling}",
        lambda request, response: {"score": [spelling]},
        lambda request, response: Reply(spelling, served_model=spelling, effective={"a": [spelling]}),
        raises(ValueError(f"no {spelling}")),
        raises(RuntimeError(f"no {spelling}")),
        raises(UnreadableError(f"no {spelling}")),
        raises(TransientError(f"no {spelling}", f"no {spelling}")),
        raises(json.JSONDecodeError(f"no {spelling}", "", 0)),
    ):
        found = kept(judge)
        assert MARK in found or len(spelling) > 400
        assert not holds_key(found), found


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("GH_PAT", "ghp_0123456789abcdefABCDEF", "ghp_0123456789abcdefABCDEF"),
        ("DATABASE_URL", "postgres://me:w0rd-of-mine-7@db.example/x", "w0rd-of-mine-7"),
        ("SOMETHING", "9f86d081884c7d659a2feaa0c55ad015", "9f86d081884c7d659a2feaa0c55ad015"),
    ],
)
def test_a_secret_is_known_by_its_value(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, secret: str
) -> None:
    monkeypatch.setenv(name, value)
    for judge in (raises(ValueError(f"no {value}")), lambda request, response: f"1 {value}"):
        assert secret not in kept(judge)
        assert MARK in kept(judge)


@pytest.mark.parametrize("status", [200, 400, 500])
def test_a_key_that_only_the_client_knows_is_struck_out(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OWN_API_KEY")
    answer = says(f"key {KEY}") if status == 200 else fails(status, f"wrong key {KEY}")
    with ScriptedServer(answer) as server:

        def judge(request: str, response: str) -> str:
            headers = {"Authorization": f"Bearer {KEY}"}
            found = httpx.post(f"{server.url}/chat/completions", json={}, headers=headers)
            if status == 200:
                raise ValueError(found.text)
            found.raise_for_status()
            raise AssertionError

        found = kept(judge)
    assert not holds_key(found), found
    assert MARK in found


def test_a_module_that_quotes_the_key_is_told_without_it(tmp_path: Path) -> None:
    path = tmp_path / "evals.py"
    path.write_text(f"raise RuntimeError('no model for {KEY}')")
    with pytest.raises(ConfigError, match="cannot be imported") as caught:
        function_at(f"{path}:judge")
    assert not holds_key("".join(traceback.format_exception(caught.value)))


def test_no_file_and_no_line_of_a_run_holds_the_key(command: Command, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("OTHER_SECRET=another-secret-of-the-file\n")
    (tmp_path / "evals.py").write_text(
        dedent(
            f"""
            import base64
            KEYS = ({KEY!r}, "another-secret-of-the-file")
            def judge(request, first, second):
                if len(first) % 3 == 0:
                    raise ValueError("wrong key " + " ".join(KEYS))
                if len(first) % 3 == 1:
                    return "I used " + base64.b64encode(KEYS[0].encode()).decode() + KEYS[1]
                return "1"
            """
        )
    )
    done = command("measure", "-j", "python/evals.py:judge", "-p", "vacuum", "--out", "run")
    shown = command("show", "run", "--failed") if done.code == 0 else done
    folder = [path.read_bytes().decode("latin-1") for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert len(folder) > 2
    for text in (done.out, done.err, shown.out, shown.err, *folder):
        assert not holds_key(text)
        assert "another-secret-of-the-file" not in text


PACKAGE = """
const key = process.env.OWN_API_KEY;
module.exports = {
  loadApiProvider: async (id, { options }) => ({ id: () => id, callApi: async (text) => {
    if (text === "raise") throw new Error("no client for " + key);
    if (text === "fail") return { error: "API error: 401 wrong key " + key };
    if (text === "literal") return { output: "my key is " + options.config.apiKey };
    return { output: "I am " + Buffer.from(key).toString("base64") };
  } }),
  assertions: { runAssertion: async ({ assertion, providerResponse }) => {
    await assertion.provider.callApi(providerResponse.output);
    return { pass: false, score: 0, reason: key, metadata: { graderError: true } };
  } },
};
"""
LITERAL = "literal-key-of-the-file"


@pytest.fixture
def promptfoo(tmp_path: Path) -> Path:
    if shutil.which("node") is None:
        pytest.skip("no node on this machine: promptfoo runs in it")
    package = tmp_path / "node_modules" / "promptfoo"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"name": "promptfoo", "version": "1", "main": "index.js"}')
    (package / "index.js").write_text(PACKAGE)
    grader = {"id": "openai:m", "config": {"apiKey": LITERAL}}
    test = {"options": {"provider": grader}, "assert": [{"type": "llm-rubric", "value": "Right?"}]}
    (tmp_path / "config.yaml").write_text(json.dumps({"defaultTest": test}))
    return tmp_path / "config.yaml"


def by_worker(config: Path, *texts: str) -> list[Any]:
    async def every() -> list[Any]:
        provider = PromptfooJudge(parse_judge(f"promptfoo/{config}", Path(), Binary()))
        await provider.open()
        shown = [Presentation((), Slots("q", (text,)), ("0", "1"), Decoding()) for text in texts]
        try:
            return await asyncio.gather(*map(provider.ask, shown), return_exceptions=True)
        finally:
            await provider.close()

    return asyncio.run(every())


def test_a_worker_that_quotes_a_key_is_redacted(promptfoo: Path) -> None:
    found = by_worker(promptfoo, "reply", "literal", "raise", "fail")
    assert [type(each).__name__ for each in found] == [
        *("Reply", "Reply", "PermanentError", "ProviderRefusedError")
    ]
    for each in found:
        assert MARK in repr(each)
        assert not holds_key(repr(each))
        assert LITERAL not in repr(each)


def test_a_worker_that_ends_says_why_without_the_key(promptfoo: Path) -> None:
    index = promptfoo.parent / "node_modules" / "promptfoo" / "index.js"
    index.write_text("throw new Error('no ' + process.env.OWN_API_KEY)")
    with pytest.raises(ConfigError, match=r"the promptfoo worker ended; Error: no \[key\]\.") as caught:
        by_worker(promptfoo, "reply")
    assert not holds_key(repr(caught.value))


def test_a_configuration_that_can_not_be_parsed_is_told_without_its_lines(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(f"a: 1\nconfig: {{apiKey: {LITERAL}: 3: [\n")
    with pytest.raises(ConfigError, match=r"cannot read .*line 2: ") as caught:
        Assertion(str(path))
    assert LITERAL not in "".join(traceback.format_exception(caught.value))
