"""`steelyard serve-planted` as a user meets it: the command that it prints measures what was planted."""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from commands import Command, StartedCommand
from own_judges import measured, study_of
from servers import planted_server
from steelyard.errors import PermanentError
from steelyard.providers.planted.answer_keys import pack_key
from steelyard.providers.planted.server import start
from steelyard.providers.vendors.completions import ChatCompletions
from steelyard.stimuli.original import original_of
from steelyard.study.judge_config import parse_judge
from steelyard.tasks.pack import pack_items
from steelyard.tasks.task import Binary, Item, Pairwise, Task
from steelyard.trials.judge import Judge
from steelyard.trials.trial import Trial

SEEDED = ("-p", "typos", "-p", "rubric_order", "-p", "injection", "-p", "label_flip")
"""Probes whose texts depend on the seed, and some whose label is another."""
RATER = "planted/rater?noise=0&sensitivity=0.8&specificity=0.7"


@contextmanager
def served(folder: Path, environment: dict[str, str], *arguments: str) -> Iterator[list[str]]:
    """The lines that the command prints before it waits."""
    process = StartedCommand(["serve-planted", RATER, "--port", "0", *arguments], folder, environment)
    try:
        yield process.first_lines(3)
    finally:
        process.kill()


def running(judge: str) -> AbstractContextManager[str]:
    """Where a planted judge of pairs is served."""
    return planted_server(parse_judge(judge, Path(), Pairwise()))


def figures(folder: Path, judge: str) -> dict[str, Any]:
    """Accuracy and invariance of a judge, by probe and condition."""
    rows = json.loads((folder / "datasheet.json").read_text())["estimates"]
    return {
        f"{row['probe']} {row['metric']} {sorted(row['group'].items())}": (row["value"], row["denominator"])
        for row in rows
        if row["judge"] == judge and row["metric"] in ("accuracy", "invariance", "failed_rate")
    }


@pytest.mark.parametrize(
    ("seed", "more"),
    [((), ()), (("--seed", "11"), SEEDED)],
    ids=["as printed", "another seed"],
)
def test_the_printed_command_finds_an_invariant_rater_invariant(
    environment: dict[str, str], command, tmp_path: Path, seed: tuple[str, ...], more: tuple[str, ...]
) -> None:
    with served(tmp_path, environment, *seed) as lines:
        printed = shlex.split(lines[1].partition("Measure it: ")[2])
        assert printed[:2] == ["steelyard", "measure"]
        assert "--key" in lines[2]
        done = command(*printed[1:], *more, "--out", "served")
        assert done.code == 0, done.err
    body = {"judges": [RATER], "task": {"scale": "binary"}, "seed": int(*seed[1:] or (7,))}
    measured(study_of({**body, **({"probes": list(more[1::2])} if more else {})}), tmp_path / "within")
    found = figures(tmp_path / "served", "openai/rater")
    assert found == figures(tmp_path / "within", "planted/rater")
    kept = {key.split()[0]: value for key, (value, _) in found.items() if " invariance " in key}
    assert set(kept.values()) == {1.0}
    assert len(kept) >= 3


def ask(planted: Judge, texts: list[Trial]) -> list[str]:
    """What the served judge answers, or the message of its refusal."""

    async def run() -> list[str]:
        runner, url = await start(planted)
        client = ChatCompletions(Judge("j", "openai", "rater", planted.protocols, options={"base_url": url}))
        await client.open()
        told: list[str] = []
        try:
            for trial in texts:
                try:
                    told.append((await client.ask(trial.presentation())).text)
                except PermanentError as error:
                    told.append(str(error))
        finally:
            await client.close()
            await runner.cleanup()
        return told

    return asyncio.run(run())


def test_a_text_that_nobody_told_it_of_is_refused_and_white_space_is_none() -> None:
    task = Task("Score it.", "One is right.", Binary())
    known = pack_items(Binary())[0]
    shown = [
        known.responses[0],
        "\n\n" + known.responses[0].replace(" ", "\n ") + "\t",
        "A text of which there is no label anywhere.",
    ]
    items = [Item(known.id, known.request, (text,), known.cluster, label="0") for text in shown]
    planted = parse_judge(RATER, Path(), Binary())
    exact, respaced, unknown = ask(
        planted, [Trial(planted, "base", original_of(i, task), task) for i in items]
    )
    assert exact == respaced
    assert exact.startswith('{"score": ')
    assert "not in this rater's key" in unknown
    assert "--key" in unknown


@pytest.mark.parametrize("reader", ["json", "choice"])
def test_a_served_judge_answers_in_the_form_that_it_is_asked_for(command: Command, reader: str) -> None:
    with running("planted/first") as url:
        done = command("doctor", "-j", f"openai/first?base_url={url}&reader={reader}")
    assert done.code == 0, done.err
    assert f"  read as  1, by reader {reader}" in done.out
    assert ("replied  '1'" in done.out) == (reader == "choice")


def test_the_pack_key_tells_labels_apart_whatever_the_white_space() -> None:
    key, answers = pack_key(), Binary().answers
    for item in pack_items(Binary()):
        truth = key.lookup(item.request, item.responses[0].replace(" ", "\n\n"), answers)
        assert truth is not None
        assert truth.label == item.label
