"""Providers say what they are, and nobody else knows them by name."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import steelyard
from steelyard.commands.doctor import machine_checks
from steelyard.errors import ConfigError
from steelyard.providers import Options, Provider, ProviderInfo
from steelyard.providers.provider import PROVIDERS, connect, examples_of, model_info, provider_info
from steelyard.runner.prices import price_of
from steelyard.study.judge_config import JudgeConfig, parse_judge
from steelyard.study.role_config import parse_roles
from steelyard.tasks.task import BestOf, Binary, Pairwise
from steelyard.trials.judge import Judge, Presentation, Reply

SOURCE = Path(steelyard.__file__).parent
ROOMS = ("runner", "study", "run_folder", "commands", "authoring", "cli")


def texts(tree: ast.AST) -> set[str]:
    """Every text in a piece of source."""
    constants = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return {value for value in constants if isinstance(value, str)}


@pytest.mark.slow
def test_no_provider_is_known_by_name_outside_its_room() -> None:
    names = set(PROVIDERS.names())
    address = re.compile(rf"({'|'.join(names)})/\S*")
    for path in (path for room in ROOMS for path in (SOURCE / room).rglob("*.py")):
        tree = ast.parse(path.read_text())
        assert not [text for text in texts(tree) if address.fullmatch(text)], path
        for node in ast.walk(tree):
            if isinstance(node, (ast.Compare, ast.MatchValue)):
                assert not names & texts(node), f"{path}, line {node.lineno}"


# What each of them says


EXPECTED = {
    # free, in turn, prompted, writes, compares, scores, knows labels, replays
    "openai/x": (0, 0, 1, 1, 1, 1, 0, 0),
    "anthropic/x": (0, 0, 1, 1, 1, 1, 0, 0),
    "google/x": (0, 0, 1, 1, 1, 1, 0, 0),
    "bedrock/x": (0, 0, 1, 1, 1, 1, 0, 0),
    "azure/x": (0, 0, 1, 1, 1, 1, 0, 0),
    "openrouter/x": (0, 0, 1, 1, 1, 1, 0, 0),
    "lmstudio/x": (1, 0, 1, 1, 1, 1, 0, 0),
    "inspect/x/y": (0, 0, 1, 1, 1, 1, 0, 0),
    "promptfoo/x.yaml": (0, 0, 0, 0, 0, 1, 0, 0),
    "vllm/x": (1, 0, 1, 1, 1, 1, 0, 0),
    "ollama/x": (1, 0, 1, 1, 1, 1, 0, 0),
    "embedded/smollm2-135m": (1, 1, 1, 0, 1, 1, 0, 0),
    "embedded/smollm2-135m-likelihood": (1, 1, 0, 0, 1, 0, 0, 0),
    "recorded/a.jsonl": (1, 0, 0, 0, 1, 0, 0, 1),
    "planted/probit": (1, 0, 0, 0, 1, 0, 0, 0),
    "planted/coin": (1, 0, 0, 0, 1, 0, 0, 0),
    "planted/rater": (1, 0, 0, 0, 0, 1, 1, 0),
    "planted/constant": (1, 0, 0, 0, 0, 1, 0, 0),
}


@pytest.mark.parametrize("address", EXPECTED)
def test_what_a_provider_is(address: str) -> None:
    info = model_info(address)
    said = (
        *(info.free, info.sequential, info.uses_prompt, info.can_write),
        *(info.can_compare, info.can_score, info.knows_labels, info.is_recording),
    )
    assert tuple(map(int, said)) == EXPECTED[address]


@pytest.mark.parametrize("name", PROVIDERS.names())
def test_every_example_is_a_judge(name: str) -> None:
    absent = ("FILE", "MODULE")
    examples = [
        example
        for example in provider_info(name).every_example()
        if not any(word in example.judge for word in absent)
    ]
    assert list(examples_of(name))
    for example in examples:
        info = model_info(example.address)
        scale = Pairwise() if info.can_compare else Binary() if info.can_score else BestOf(4)
        judge = parse_judge(example.judge.replace("URL", "http://127.0.0.1:1/v1"), Path(), scale)
        assert isinstance(connect(judge), Provider)
        assert judge.address == example.address


def test_no_option_takes_a_common_key_for_something_else() -> None:
    """A key that is the provider's and everybody's must take the same values."""
    shared = {}
    for name in PROVIDERS.names():
        info = provider_info(name)
        for each in (info, *info.models.values()):
            for key, field in each.options.model_fields.items():
                if key in JudgeConfig.model_fields:
                    shared[key] = (field.annotation, field.metadata)
    common = JudgeConfig.model_fields["seed"]
    assert shared == {"seed": (common.annotation, common.metadata)}


# One that says nothing, and what a query makes of its values


class Plain:
    """Answers what nobody asked.

    At length.
    """

    concurrency = 1

    def __init__(self, judge: Judge) -> None:
        self.judge = judge

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def ask(self, presentation: Presentation) -> Reply:
        return Reply("")


class LooseOptions(Options):
    code: str | None = None
    loud: bool | None = None
    tone: str | int | None = None


class Loose(Plain):
    info = ProviderInfo(options=LooseOptions)


@pytest.fixture(autouse=True)
def _strangers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PROVIDERS._factories, "plain", Plain)
    monkeypatch.setitem(PROVIDERS._factories, "loose", Loose)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def test_a_provider_without_traits_is_a_paid_model_that_reads_and_writes() -> None:
    judge = parse_judge("plain/x?timeout=3&input_price=1&output_price=2", Path(), Pairwise())
    assert judge.options == {"timeout": 3.0, "input_price": 1.0, "output_price": 2.0}
    assert list(judge.protocols) == ["base", "strict"]
    assert [(one.judge, one.meaning) for one in examples_of("plain")] == [
        ("plain/NAME", "Answers what nobody asked.")
    ]
    assert price_of(parse_judge("plain/nobody-lists-this", Path(), Binary())) is None
    with pytest.raises(
        ConfigError, match=r"unknown key 'colour'; known keys: .*, timeout, input_price, output_"
    ):
        parse_judge("plain/x?colour=red", Path(), Pairwise())


def test_values_of_a_query_have_the_type_of_their_key() -> None:
    judge = parse_judge("loose/x?code=007&loud=true&tone=1&temperature=null", Path(), Pairwise())
    assert judge.options == {"code": "007", "loud": True, "tone": "1"}
    assert judge.decoding.temperature is None
    with pytest.raises(ConfigError, match="loud: found 'very', expected true or false; correct it"):
        parse_judge("loose/x?loud=very", Path(), Pairwise())
    likelihood = parse_judge("embedded/smollm2-135m-likelihood?relative=false", Path(), Pairwise())
    assert likelihood.options == {"relative": False}


def test_options_of_an_author_tell_writers_apart() -> None:
    quiet, loud = (
        parse_roles({"model": "loose/writer", "loud": loud}, "vllm/checker") for loud in (False, True)
    )
    assert quiet.author.options == {"loud": False}
    assert quiet.hash != loud.hash
    assert parse_roles("loose/writer?loud=true", "vllm/checker").hash == loud.hash
    with pytest.raises(ConfigError, match="author: loud: found 1, expected true or false; correct it"):
        parse_roles({"model": "loose/writer", "loud": 1}, "vllm/checker")


def test_the_common_prompt_reaches_those_that_read_it(tmp_path: Path) -> None:
    prompt = tmp_path / "prompt.md"
    prompt.write_text("{{ first }} or {{ second }}?")

    def base(address: str) -> str:
        return parse_judge(address, tmp_path, Pairwise(), prompt=prompt).protocols["base"].user

    read = "{{ first }} or {{ second }}?"
    assert base("openai/x") == base("openai/x-likelihood") == base("embedded/smollm2-135m") == read
    assert read not in (base("planted/coin"), base("embedded/smollm2-135m-likelihood"))


def test_the_checks_of_a_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    info = provider_info("openai")
    assert (list(info.every_check()), info.missing_key) == ([], "OPENAI_API_KEY")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    checks = [(check.subject, check.state, check.found) for check in info.every_check()]
    assert (checks, info.missing_key) == ([("OPENAI_API_KEY", "ok", "set")], None)


def test_doctor_names_the_keys_that_are_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROVIDERS.names():
        for variable in provider_info(name).environment:
            monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    checks = {check.subject: check for check in machine_checks()}
    assert checks["ANTHROPIC_API_KEY"].found == "set"
    missing = checks["keys"].found
    assert "OPENAI_API_KEY" in missing
    assert "GROQ_API_KEY" in missing
    assert "ANTHROPIC" not in missing
    assert "sk-secret" not in str(checks)
