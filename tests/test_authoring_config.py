"""`author` and `validator` as people write them."""

from __future__ import annotations

from typing import Any

import pytest

from steelyard.errors import UsageError
from steelyard.stimuli.authored_checks import EMBEDDED_LIMIT, LOCAL_LIMIT
from steelyard.study.role_config import parse_roles

CHECKER = {"model": "vllm/checker"}


def test_defaults() -> None:
    roles = parse_roles({"model": "vllm/writer"}, CHECKER)
    assert (roles.author.decoding.temperature, roles.author.decoding.max_tokens) == (0.7, 2048)
    assert (roles.validator.decoding.temperature, roles.validator.decoding.max_tokens) == (0.0, 512)
    assert (roles.own.attempts, roles.fallback, roles.embedder) == (3, None, None)
    assert roles.similarity_limit == LOCAL_LIMIT
    assert [roles.decoding(n).temperature for n in range(3)] == [0.7, 0.95, 1.2]


def test_everything_set() -> None:
    roles = parse_roles(
        "vllm/writer?temperature=0.1&seed=3&max_tokens=99&attempts=2&temperature_cap=0.5",
        {**CHECKER, "seed": 5, "extra": {"top_p": 0.5}, "fallback": "ollama/second?temperature=0.3"},
    )
    first, last = roles.decoding(0), roles.decoding(1)
    assert (first.temperature, first.seed, first.max_tokens) == (0.1, 3, 99)
    assert (last.temperature, last.seed) == (0.5, 4)
    assert (roles.validator.decoding.seed, dict(roles.validator.decoding.extra)) == (5, {"top_p": 0.5})
    assert roles.fallback is not None
    assert (roles.fallback.address, roles.fallback.decoding.temperature) == ("ollama/second", 0.3)


def test_a_server_that_chooses_its_own_temperature_keeps_it() -> None:
    roles = parse_roles({"model": "vllm/writer", "temperature": None}, CHECKER)
    assert [roles.decoding(n).temperature for n in range(3)] == [None] * 3


def test_a_cap_below_the_first_temperature_cools_nothing() -> None:
    roles = parse_roles({"model": "vllm/writer", "temperature": 1.5}, CHECKER)
    assert [roles.decoding(n).temperature for n in range(3)] == [1.5] * 3


def test_embeddings() -> None:
    roles = parse_roles({"model": "vllm/writer", "embeddings": "vllm/vectors"}, CHECKER)
    assert roles.embedder is not None
    assert roles.embedder.address == "vllm/vectors"
    assert roles.similarity_limit == EMBEDDED_LIMIT


def test_who_is_asked_and_how_is_the_identity() -> None:
    plain = parse_roles({"model": "vllm/writer"}, CHECKER)
    assert plain.hash == parse_roles("vllm/writer", "vllm/checker").hash
    others = [
        parse_roles({"model": "vllm/other"}, CHECKER),
        parse_roles({"model": "vllm/writer", "temperature": 0.8}, CHECKER),
        parse_roles({"model": "vllm/writer", "attempts": 4}, CHECKER),
        parse_roles({"model": "vllm/writer"}, {**CHECKER, "seed": 1}),
        parse_roles({"model": "vllm/writer"}, {**CHECKER, "fallback": "vllm/second"}),
    ]
    assert len({roles.hash for roles in (plain, *others)}) == 6


@pytest.mark.parametrize(
    ("author", "validator", "told"),
    [
        ("vllm/w", None, "validator: found none, expected a model that confirms"),
        (
            {"model": "vllm/w", "prompt": "x"},
            CHECKER,
            "author: unknown key 'prompt' .*; known keys: model, extra, .*, base_url",
        ),
        ({}, CHECKER, "author: no key 'model' found"),
        (
            {"model": "vllm/w", "attempts": 0},
            CHECKER,
            "author: attempts: found 0, expected a number from 1 on",
        ),
        (
            {"model": "vllm/w", "similarity": 1.5},
            CHECKER,
            "author: similarity: found 1.5, expected a number up to 1",
        ),
        (
            {"model": "vllm/w", "similarity": 0},
            CHECKER,
            "author: similarity: found 0, expected a number above 0",
        ),
        (
            {"model": "vllm/w", "off_target": "drop"},
            CHECKER,
            "author: off_target: found 'drop', expected 'reject' or 'keep'",
        ),
        (
            {"model": "vllm/w", "temperature": "hot"},
            CHECKER,
            "author: temperature: found 'hot', expected a number",
        ),
        ("planted/coin", CHECKER, "author: 'planted/coin' gives verdicts and writes no text"),
        ("vllm/w", "embedded/smollm2-135m", "validator: 'embedded/smollm2-135m' gives verdicts"),
        ("writer", CHECKER, "author: judge 'writer': found no '/'"),
        ("nobody/w", CHECKER, "author: judge 'nobody/w': unknown provider 'nobody'"),
        ("vllm/w?base_url=here", CHECKER, "author: judge vllm/w: base_url is not an address"),
        (
            "vllm/w",
            {**CHECKER, "fallback": {"model": "vllm/s", "fallback": "x/y"}},
            "validator.fallback: unknown",
        ),
        (
            {"model": "vllm/w", "embeddings": {"model": "vllm/e", "seed": 1}},
            CHECKER,
            "author.embeddings: unknown",
        ),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(author: Any, validator: Any, told: str) -> None:
    with pytest.raises(UsageError, match=told) as caught:
        parse_roles(author, validator)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("given", ["off", False])
def test_settings_that_leave_the_usual_alone_leave_the_hash_alone(given: Any) -> None:
    usual = parse_roles("vllm/w", CHECKER)
    assert (
        usual.hash == parse_roles({"model": "vllm/w", "exemplars": 2, "off_target": "reject"}, CHECKER).hash
    )
    off = parse_roles({"model": "vllm/w", "similarity": given}, CHECKER)
    assert off.similarity_limit is None
    others = [{"similarity": given}, {"exemplars": 3}, {"off_target": "keep"}]
    hashes = {parse_roles({"model": "vllm/w", **other}, CHECKER).hash for other in others}
    assert len(hashes | {usual.hash}) == 4
