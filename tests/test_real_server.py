"""A real model behind a real server: llama.cpp with the embedded weights, asked as a user would."""

from __future__ import annotations

import re

import pytest

from commands import Command
from steelyard.providers.embedded.weights import ensure_weights


def test_the_built_in_prompt_for_log_probabilities_is_read_on_a_real_model(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    xllamacpp = pytest.importorskip("xllamacpp")
    monkeypatch.setenv("OPENAI_API_KEY", "none needed")
    params = xllamacpp.CommonParams()
    params.model.path = str(ensure_weights())
    params.n_ctx = 1024
    params.verbosity = -1
    params.warmup = False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    judge = f"openai/smollm2?base_url={server.listening_address}/v1&reader=logprob&max_tokens=1"
    done = command("doctor", "-j", judge, "-p", "vacuum")
    assert done.code == 0, done.err
    assert re.search(r"read as  (1|2|tie), by reader logprob", done.out)
