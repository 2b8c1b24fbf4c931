"""Keys stay out of messages, replies and files, however a server spells them."""

from __future__ import annotations

import asyncio
import base64
import html
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batch_server import BatchServer
from commands import Command
from servers import Answer, ScriptedServer, fails, says, sends
from steelyard.commands.doctor import check_judge
from steelyard.core.dotenv import is_no_word, keys_in
from steelyard.errors import ConfigError
from steelyard.providers.http.redaction import MARK, Redactor
from steelyard.providers.vendors.completions import ChatCompletions
from steelyard.study.study_file import StudyConfig, build_study, load_config
from steelyard.trials.judge import Decoding, Judge, Presentation, Protocol, Slots
from steelyard.trials.prompt import Message

KEY = "sk-proj-Ab3/xY+z9876543210abcdef"
ESCAPED = KEY.replace("+", "\\u002B").replace("/", "\\/")
WHOLLY = "".join(f"\\u{ord(sign):04x}" for sign in KEY)
SPELLINGS = {
    "as it is": KEY,
    "escaped by .NET": ESCAPED,
    "every sign escaped": WHOLLY,
    "escaped twice": ESCAPED.replace("\\", "\\\\"),
    "in an address": quote(KEY, safe=""),
    "on a page": KEY.replace("+", "&#43;").replace("/", "&#x2F;"),
    "in an address, twice": quote(quote(KEY, safe=""), safe=""),
    "in an address, thrice": quote(quote(quote(KEY, safe=""), safe=""), safe=""),
    "on a page, twice": KEY.replace("+", "&amp;#43;").replace("/", "&amp;#x2F;"),
    "in an address on a page": quote(KEY, safe="").replace("%", "&#37;"),
    "by a program": KEY.replace("+", "\\x2B").replace("/", "\\x2f"),
    "by a program, every sign": "".join(f"\\x{ord(sign):02x}" for sign in KEY),
    "by a script": KEY.replace("+", "\\u{2B}").replace("/", "\\u{002f}"),
    "in hex": KEY.encode().hex(),
    "in capital hex": KEY.encode().hex().upper(),
    "in base32": base64.b32encode(KEY.encode()).decode(),
    "in small base32 behind a word": base64.b32encode(b"key " + KEY.encode()).decode().lower(),
    "in hex with blanks": KEY.encode().hex(" "),
    "from a form": KEY.replace("+", " "),
    "with signs that nobody sees": "\u200b".join(KEY),
    "with soft hyphens": f"{KEY[:9]}\u00ad{KEY[9:]}",
    "broken by a blank": f"{KEY[:9]} {KEY[9:]}",
    "broken by a line": f"{KEY[:9]}\\n{KEY[9:]}",
    "broken by many blanks": f"{KEY[:9]}{' ' * 500}{KEY[9:]}",
}

WITHHELD = [SPELLINGS[name] for name in ("in an address on a page", "broken by many blanks")]
"""With the whole text around them."""


def bare(text: str) -> str:
    return "".join(text.split()).replace("\u200b", "").replace("\u00ad", "")


MASKS = (
    "sk-pr****cdef",
    "sk-proj-Ab3/x••••cdef",
    "sk-proj-Ab3/xY+z####",
    "sk-proj-XXXXXXXX",
    "sk-proj-Ab3[...]def",
    "****cdef",
    "...cdef",
    "…cdef",
)


@pytest.mark.parametrize("mask", [*MASKS, "sk-proj-Ab3<redacted>"])
def test_a_key_that_a_server_shows_in_part_is_struck_from_errors(mask: str) -> None:
    assert Redactor([KEY]).redact(f"wrong key {mask}, sir", is_error=True) == f"wrong key {MARK}, sir"


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS)
def test_no_spelling_survives(spelling: str) -> None:
    body = Redactor([KEY]).redact(json.dumps({"error": 1})[:-1] + f', "message": "no {spelling} here"}}')
    assert MARK in body
    assert "here" in body or spelling in WITHHELD, "struck alone"
    decoded = body.encode().decode("unicode_escape").encode("latin-1").decode("unicode_escape")
    for text in (body, decoded, unquote(unquote(unquote(html.unescape(html.unescape(body)))))):
        assert KEY not in bare(text)
        assert KEY.encode().hex() not in bare(text).lower()
        assert SPELLINGS["in base32"][:-8] not in bare(text).upper()


@given(st.lists(st.booleans(), min_size=len(KEY), max_size=len(KEY)))
def test_any_mixture_of_escapes_is_found(escaped: list[bool]) -> None:
    signs = [f"\\u{ord(sign):04X}" if mark else sign for sign, mark in zip(KEY, escaped, strict=True)]
    assert Redactor([KEY]).redact(f"a {''.join(signs)} b") == f"a {MARK} b"


def test_a_short_key_is_no_pair_of_words() -> None:
    assert Redactor(["notneeded"]).redact("it is not needed") == "it is not needed"


def ask(monkeypatch: pytest.MonkeyPatch, answer: Answer) -> str:
    """What a run would keep of one call: the reply, or the error with its causes."""
    monkeypatch.setenv("MINE", KEY)
    shown = Presentation(
        (Message("user", "Which?"),), Slots("r", ("a", "b")), ("1", "2"), Decoding(), trial="t"
    )

    async def run() -> str:
        async with ScriptedServer(answer) as server:
            options = {"base_url": server.url, "api_key_env": "MINE"}
            provider = ChatCompletions(Judge("j", "openai", "m", {"base": Protocol("")}, options=options))
            await provider.open()
            try:
                return repr(await provider.ask(shown))
            except Exception as error:
                return repr(error)
            finally:
                await provider.close()

    return asyncio.run(run())


ANSWERS = {
    "content encoding": says("1", headers={"Content-Encoding": KEY}),
    "content encoding, cut": says("1", headers={"Content-Encoding": "x" * 60 + KEY}),
    "error": sends(f'{{"error": {{"message": "wrong key {ESCAPED}"}}}}', 400),
    "reply": sends(
        f'{{"model": "{ESCAPED}", "choices": [{{"message": {{"content": "1 {WHOLLY}"}}}}], "usage": {{}}}}'
    ),
    "two parts": says(None, choices=[{"message": {"content": [
        {"type": "text", "text": KEY[:9]}, {"type": "text", "text": KEY[9:]}
    ]}}]),
    "upstream": fails(400, "no", metadata={"raw": f'{{"error": {{"message": "key {ESCAPED}"}}}}'}),
    "page": sends(f"<p>{ESCAPED}</p>", 502),
}  # fmt: skip


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_nothing_that_a_run_keeps_holds_the_key(monkeypatch: pytest.MonkeyPatch, answer: Answer) -> None:
    kept = ask(monkeypatch, answer)
    assert KEY not in bare(kept.encode().decode("unicode_escape"))
    assert KEY[9:25] not in kept
    assert MARK in kept


TYPED = ["sk-proj-0123456789abcdef", "hf_AbCdEfGhIjKlMn0pQrStUv", "0123456789abcdef0123456789abcdef"]


@pytest.mark.parametrize("typed", TYPED)
def test_a_key_in_place_of_a_variable_is_refused_and_not_repeated(typed: str, tmp_path: Path) -> None:
    study = tmp_path / "study.yaml"
    study.write_text(f"judges: [{{model: openai/m, api_key_env: {typed!r}}}]\nprobes: [vacuum]\n")
    texts: Any = [f"openai/m?api_key_env={typed}", {"model": f"openai/m?api_key_env={typed}", "name": "n"}]
    configs = [StudyConfig.model_validate({"judges": [text]}) for text in texts] + [load_config(study, {})]
    for config in configs:
        with pytest.raises(ConfigError, match="expected the name of an environment variable") as caught:
            build_study(config, tmp_path)
        assert typed not in repr(caught.value) + repr(caught.value.__cause__) + str(caught.value.__cause__)
    [check] = check_judge(texts[0])
    assert "expected the name of an environment variable" in check.sentence
    assert typed not in check.sentence


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "MY_KEY_2", "ourJudgeKeyOfTheSecondTeam", "_k"])
def test_names_of_variables_are_taken(name: str) -> None:
    config = StudyConfig.model_validate({"judges": [f"openai/m?api_key_env={name}"]})
    assert build_study(config, Path()).judges[0].options["api_key_env"] == name


@pytest.mark.parametrize(
    "judge",
    [
        f"openai/{TYPED[0]}",
        {"model": "openai/m", "extra": {"api_key": TYPED[0]}},
        {"model": "openai/m", "extra": {"headers": [{"x": f"Bearer {TYPED[1]}"}]}},
    ],
    ids=["model", "field of the body", "value in the body"],
)
def test_a_key_in_place_of_a_model_or_in_the_body_is_refused(judge: Any) -> None:
    with pytest.raises(ConfigError, match=r"may (be|hold) a key") as caught:
        build_study(StudyConfig.model_validate({"judges": [judge]}), Path())
    assert not any(secret in str(caught.value) for secret in TYPED)
    [check] = check_judge(f"openai/{TYPED[0]}")
    assert TYPED[0] not in check.subject + check.sentence


def test_names_that_resemble_keys_are_taken() -> None:
    extra = {"max_tokens": 5, "stop_token": None, "api_key": "mine", "user": "task-classifier-2024-large"}
    models = ["task-classifier-2024-large-v2", "accounts/sk-team/models/judge"]
    given = [{"model": f"openai/{model}", "extra": extra} for model in models]
    study = build_study(StudyConfig.model_validate({"judges": given}), Path())
    assert [judge.model for judge in study.judges][:2] == models


HELD = {
    "GH_PAT": "ghp_0123456789abcdefABCDEF",
    "SIGNS": "tok/Qm9vYmFyYmF6cXV4MTIz+NDU2",
    "MY_TOKEN": "tok-PRIVATE-987654321",
    "DATABASE_URL": "postgres://me:p%40ss-w0rd-of-mine@db.example/x",
}
SECRETS = {**HELD, "DATABASE_URL": "p%40ss-w0rd-of-mine", "decoded": "p@ss-w0rd-of-mine"}
NO_SECRETS = {
    "MODEL": "claude-sonnet-4-5-20250929",
    "SHELL": "/usr/bin/a0123456789abcdef0123456789",
    "TOKENIZER_MODEL": "gpt-4o-mini-2024-07-18",
    "STEELYARD_KEY": "of-steelyard-0123456789",
    "PAGE": "https://example.org/a:b@c",
}


def test_secrets_are_known_by_names_and_by_values() -> None:
    known = keys_in((*HELD.items(), *NO_SECRETS.items()))
    assert set(known) == set(SECRETS.values())
    assert known["p@ss-w0rd-of-mine"] == "DATABASE_URL"
    assert [len(secret) for secret in known] == sorted(map(len, known), reverse=True)


@pytest.mark.parametrize("word", ["production-realm", "2024-10-21", "false", "hunter", "eu-west-1"])
def test_no_word_is_struck_from_a_prompt(word: str) -> None:
    assert not is_no_word(word)
    assert is_no_word(f"{word}-Ab3xY9876543210")


@pytest.mark.parametrize("name", ["GH_PAT", "MY_TOKEN", "DATABASE_URL", "OPENAI_API_KEY"])
@pytest.mark.parametrize("batch", [False, True])
def test_a_value_of_the_environment_is_struck_from_what_is_sent(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, batch: bool
) -> None:
    """A log with a key among the data: it goes to no server, the datasheet says so, and nothing else does."""
    secret, value = SECRETS.get(name, KEY), HELD.get(name, KEY)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-Qx0123456789abcdef")
    monkeypatch.setenv(name, value)
    rows = "".join(f"Why {n}?,I used {secret} here {n}.,{n % 2}\n" for n in range(12))
    (tmp_path / "items.csv").write_text(f"q,a,l\n{rows}")
    (tmp_path / "rubric.md").write_text("Right.")
    (tmp_path / "system.md").write_text(f"Judge as {secret} would.")
    data = ("--data", "items.csv", "--columns", "request=q,response=a,label=l", "--rubric", "rubric.md")
    scored = BatchServer(lambda _: says('{"score": 1}'))
    with ScriptedServer(scored) as server:
        judge = f"openai/gpt-4o-mini?base_url={server.url}&system=system.md"
        words = ("measure", "-j", judge, *data, "--scale", "binary", "-p", "stochastic_stability")
        done = command(*words, "--out", "run", *(["--batch", "--poll", "0.01"] if batch else []))
        sent = b"".join(request.data for request in server.requests)
    assert (done.code, bool(scored.handed_in)) == (0, batch), done.err
    assert (secret.encode() in sent, b"I used [key] here 3." in sent) == (False, True)
    assert b"Judge as [key] would." in sent
    assert f"the value of {name} was struck from what " in done.err
    told = json.loads((tmp_path / "run" / "datasheet.json").read_text())["run"]
    assert f"the value of {name} was struck from what " in json.dumps(told)
