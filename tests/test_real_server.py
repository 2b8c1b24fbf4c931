"""A real model behind a real server: llama.cpp with the embedded weights, asked as a user would."""

from __future__ import annotations

import re

import pytest

from commands import Command
from steelyard.providers.embedded.weights import ensure_weights


def test_a_real_model_that_begins_with_prose_has_no_verdict_by_its_first_token(
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
    assert done.code == 1, done.out
    assert "replied  'The'" in done.out
    assert "read as  unreadable (answers improbable), by reader logprob" in done.out
    assert re.search(r"the answers hold 0\.[0-3]\d of the probability of the first token", done.err)
