"""The embedded judge against llama.cpp on the same prompts, side by side in one run.

Run: .venv/bin/python benchmarks/embedded.py [CALLS]
Both read the same GGUF file, share prefixes, and stop at the logits of the first answer token.
"""

from __future__ import annotations

import asyncio
import os
import platform
import sys
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from steelyard.providers.embedded.weights import DEFAULT_SYSTEM, ensure_weights
from steelyard.providers.provider import connect
from steelyard.study.planner import make_plan
from steelyard.study.study_file import StudyConfig, build_study
from steelyard.trials.trial import Trial


def trials(count: int) -> list[Trial]:
    study = build_study(StudyConfig(judges=["embedded/smollm2-135m"], probes=["ladder"]), Path())
    mine = [trial for trial in make_plan(study).trials if trial.judge.provider == "embedded"]
    return sorted(mine, key=lambda trial: trial.prefix)[:count]


async def ours(chosen: list[Trial]) -> tuple[float, list[str]]:
    provider = connect(chosen[0].judge)
    await provider.open()
    answers: dict[str, str] = {}
    waiting = iter(chosen)

    async def worker() -> None:
        for trial in waiting:
            answers[trial.key] = (await provider.ask(trial.presentation())).text

    start = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(provider.concurrency)))
    seconds = time.perf_counter() - start
    await provider.close()
    return seconds, [answers[trial.key] for trial in chosen]


def llama_cpp(chosen: list[Trial], threads: int) -> tuple[float, list[str]]:
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(ensure_weights())
    parameters.n_ctx = 2048
    parameters.n_parallel = 1
    parameters.verbosity = -1
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
    server = xllamacpp.Server(parameters)

    def ask(trial: Trial) -> str:
        turns = [("system", DEFAULT_SYSTEM), ("user", trial.messages[-1].content)]
        prompt = "".join(f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in turns)
        prompt += "<|im_start|>assistant\n"
        body = {"prompt": prompt, "n_predict": 1, "n_probs": 500, "temperature": 0, "cache_prompt": True}
        top = server.handle_completions(body)["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
        found = {row["token"]: row["logprob"] for row in reversed(top)}
        return max(("1", "2", "tie"), key=lambda answer: found.get(answer, -99.0))

    ask(chosen[-1])
    start = time.perf_counter()
    answers = [ask(trial) for trial in chosen]
    return time.perf_counter() - start, answers


def main() -> None:
    chosen = trials(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
    cores = os.cpu_count() or 1
    mine, answers = asyncio.run(ours(chosen))
    theirs, others = llama_cpp(chosen, cores)
    same = sum(a == b for a, b in zip(answers, others, strict=True))
    print(f"date       {datetime.now(UTC):%Y-%m-%d}")
    print(f"machine    {platform.machine()}, {cores} cores, Python {platform.python_version()}")
    print(f"versions   numpy {version('numpy')}, xllamacpp {version('xllamacpp')}")
    print(f"calls      {len(chosen)}, same answer {same}")
    print(f"steelyard  {mine / len(chosen):.3f} s a call")
    print(f"llama.cpp  {theirs / len(chosen):.3f} s a call (Q4_1 weights, {cores} threads)")
    print(f"ratio      {theirs / mine:.2f} (above 1: steelyard is faster)")


main()
