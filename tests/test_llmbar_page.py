"""Every figure of docs/guides/study-llmbar.md, where the recorded verdicts lie beside the project."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from published_data import published
from steelyard.commands.import_verdicts import read_recorded
from steelyard.metrics.estimate import Estimate

ROOT = Path(__file__).resolve().parents[1]
DATA = published("llmbar")
PAGE = (ROOT / "docs" / "guides" / "study-llmbar.md").read_text(encoding="utf-8")
JUDGES = ("GPT-4", "PaLM2", "ChatGPT-0301", "Falcon", "LLaMA2", "ChatGPT")


PROMPTS = {"ChatGPT": {"Vanilla", "Vanilla_NoRules"}, "LLaMA2": {"Vanilla", "Swap", "Swap(stage1)"}}
"""Prompts of judges that the page has figures of; of GPT-4 and Falcon it has all, of others `Vanilla`."""


def is_on_the_page(body: dict[str, Any]) -> bool:
    judge, prompt = body["judge"], body.get("prompt")
    return prompt is None or judge in ("GPT-4", "Falcon") or prompt in PROMPTS.get(judge, {"Vanilla"})


@cache
def lines(file: str) -> list[dict[str, Any]]:
    bodies = map(json.loads, (DATA / file).read_text(encoding="utf-8").splitlines())
    return list(filter(is_on_the_page, bodies))


@cache
def figures(file: str) -> dict[tuple[str, str, str], Estimate]:
    """What the position probe says of each judge, as `import` computes it; the page has nothing else."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / file
        path.write_text("".join(json.dumps(line) + "\n" for line in lines(file)), encoding="utf-8")
        recorded = read_recorded([path])
    (probe,) = recorded.probes
    made = [
        row for judge in JUDGES for row in probe.estimates(judge, recorded.observations.of_judge(judge), 7)
    ]
    return {(e.judge, str(e.group["protocol"]), e.metric): e for e in made if set(e.group) == {"protocol"}}


def share(value: float) -> str:
    return f"{value:.2f}".replace("0.", ".", 1) if value < 1 else "1"


def signed(value: float) -> str:
    return ("−" if value < 0 else "+") + share(abs(value))


def told(estimate: Estimate, text=share) -> str:
    assert estimate.value is not None
    assert estimate.interval is not None
    low, high = estimate.interval.low, estimate.interval.high
    assert low is not None
    assert high is not None
    return f"{text(estimate.value)} [{text(low)}, {text(high)}]"


@pytest.mark.slow
@pytest.mark.parametrize("judge", JUDGES)
def test_the_table_of_judges(judge: str) -> None:
    found = figures("verdicts.jsonl")
    shares = ("accuracy", "accuracy_both", "order_consistency")
    cells = [told(found[judge, "Vanilla", name]) for name in shares]
    cells += [str(found[judge, "Vanilla", name].numerator) for name in ("flip_first", "flip_second")]
    assert f"| {judge} | {' | '.join(cells)} |" in PAGE


@pytest.mark.slow
@pytest.mark.parametrize("prompt", ["Vanilla", "CoT", "Metrics_Reference", "Vanilla_1shot"])
def test_the_table_of_prompts(prompt: str) -> None:
    found = figures("verdicts.jsonl")
    flips = [str(found["GPT-4", prompt, name].numerator) for name in ("flip_first", "flip_second")]
    net = told(found["GPT-4", prompt, "net_slot_preference"], signed)
    assert f"| `{prompt}` | {' | '.join(flips)} | {net} |" in PAGE


@pytest.mark.slow
def test_the_words_of_prompts() -> None:
    words = {
        judge: [
            e.status
            for (j, _, name), e in figures("verdicts.jsonl").items()
            if (j, name) == (judge, "net_slot_preference")
        ]
        for judge in ("GPT-4", "Falcon")
    }
    assert words == {"GPT-4": ["clear"] * 12, "Falcon": ["flagged"] * 12}
    assert "`clear` under all twelve" in " ".join(PAGE.split())
    assert "Falcon is `flagged` under all twelve" in PAGE


@pytest.mark.slow
def test_the_second_stage_overturns_the_first() -> None:
    found = figures("verdicts.jsonl")
    for prompt, flips in (("Swap", (0, 308)), ("Swap(stage1)", (295, 34))):
        seen = tuple(found["LLaMA2", prompt, name].numerator for name in ("flip_first", "flip_second"))
        assert seen == flips
        assert told(found["LLaMA2", prompt, "net_slot_preference"], signed) in PAGE


def test_prompts_ran_on_different_pairs() -> None:
    found = figures("verdicts.jsonl")
    assert share(found["ChatGPT", "Vanilla", "accuracy"].value or 0) == ".43"
    assert share(found["ChatGPT", "Vanilla_NoRules", "accuracy"].value or 0) == ".56"
    right = {prompt: chatgpt(prompt) for prompt in ("Vanilla", "Vanilla_NoRules")}
    shared = set(right["Vanilla"]) & set(right["Vanilla_NoRules"])
    assert [len(right["Vanilla"]), len(right["Vanilla_NoRules"]), len(shared)] == [734, 885, 419]
    for calls in right.values():
        both = [call for item in shared for call in calls[item]]
        assert share(sum(both) / len(both)) == ".40"


def chatgpt(prompt: str) -> dict[str, list[bool]]:
    """Item to whether each readable call was right."""
    every = lines("verdicts.jsonl")
    chosen = [line for line in every if (line["judge"], line["prompt"]) == ("ChatGPT", prompt)]
    orders = ("winner_AB", "winner_BA")
    return {line["item_id"]: [line[o] == line["gold"] for o in orders if line[o]] for line in chosen}


@pytest.mark.slow
@pytest.mark.parametrize("judge", JUDGES)
def test_the_table_of_repeats(judge: str) -> None:
    found = figures("replicates_cot_x3.jsonl")
    repeat, swap, excess = (
        found[judge, "base", name] for name in ("repeat_flip_rate", "swap_flip_rate", "flip_excess")
    )
    if repeat.numerator:
        assert f"| {judge} | {told(repeat)} | {told(swap)} | {told(excess, signed)} |" in PAGE
    else:
        row = f"| {judge} | 0 of {repeat.denominator:,} | {told(swap)} | not told apart |"
        assert row in PAGE
        assert excess.status is None
