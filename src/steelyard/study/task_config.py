"""The `task` key of a study file: instruction, rubric and scale; the built-in items of the pack."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from steelyard.core.validation import Expected, StrictModel
from steelyard.errors import ConfigError
from steelyard.tasks.data_config import DataConfig, RubricEntry, read_rubrics
from steelyard.tasks.pack import AGENT_TASK, agent_pack, pack, pack_item, pack_items
from steelyard.tasks.sources.table import draw
from steelyard.tasks.task import (
    CHECKLIST_TASK,
    BestOf,
    Binary,
    Item,
    Pairwise,
    Scale,
    Task,
    parse_scale,
    scale_name,
)

PACK_ITEMS = {"quick": 8, "standard": 24, "full": None}
"""Items of the pack per profile; None is all of them."""


def pack_scales() -> tuple[Scale, ...]:
    return tuple(sorted({task.scale for task in pack()}, key=scale_name))


RUNS = {"quick": 10, "standard": 14, "full": None}
"""Runs of agents per profile; None is all of them."""


def runs_draw(profile: str, seed: int) -> tuple[Item, ...]:
    """Built-in runs of agents, as many that pass as fail."""
    items = [run.item for run in agent_pack()]
    return tuple(draw(items, RUNS[profile], seed, name=lambda item: item.id, stratum=lambda item: item.label))


def pack_task(scale: Scale | None) -> Task:
    """The question of a study on the pack, whose items bring instruction, rubric and scale of their own."""
    return Task("Score the response to a request.", "The rubric of the item.", scale or Binary())


def pack_draw(scale: Scale | None, profile: str, seed: int) -> tuple[Item, ...]:
    """The items of a profile; without a scale, as many of each scale of the pack."""
    scales = pack_scales()
    if scale is not None and scale not in scales:
        known = ", ".join(map(scale_name, scales))
        raise ConfigError(
            f"scale {scale_name(scale)!r}: the built-in pack has no items on it, only on {known}; "
            "use one of those, or give data of your own."
        )
    wanted = scales if scale is None else (scale,)
    size = PACK_ITEMS[profile]
    return tuple(
        item
        for one in wanted
        for item in draw(
            pack_items(one),
            None if size is None else size // len(wanted),
            seed,
            name=lambda item: item.id,
            stratum=_kind,
        )
    )


def _kind(item: Item) -> Hashable:
    """Task, and whether a response is written for every level: a few items hold some of each."""
    entry = pack_item(item)
    return item.instruction, entry is not None and bool(entry.ordinal)


def instruction_for(scale: Scale) -> str:
    if isinstance(scale, BestOf):
        return "Decide which of several responses to a request is the best."
    if isinstance(scale, Pairwise):
        return "Decide which of two responses to a request is better."
    return "Score the response to a request."


FILE_ENDINGS = (".md", ".markdown", ".txt")


class TaskConfig(StrictModel):
    instruction: str | None = Field(default=None, min_length=1)
    rubric: str | None = Field(default=None, min_length=1)
    scale: Annotated[
        str | dict[Literal["ordinal"], Annotated[list[int], Field(min_length=2, max_length=2)]] | None,
        Expected("binary, pairwise, a range such as 1-6, {ordinal: [1, 6]}, or best-of-4"),
    ] = None
    rubrics: str | None = Field(default=None, min_length=1)
    """A file with several rubrics, by each of which every item is judged, in the place of `rubric`."""
    target_rubric_ids: list[str] | None = Field(default=None, min_length=1)
    failing: int | None = None
    """Answer of an agent's run that breaks the rubric; the lowest where it is not said."""

    def parsed_scale(self) -> Scale | None:
        if self.scale is None or isinstance(self.scale, str):
            return None if self.scale is None else parse_scale(self.scale)
        low, high = self.scale.get("ordinal", (0, 0))
        return parse_scale(f"{low}-{high}")


def read_texts(body: Mapping[str, Any], folder: Path, where: str) -> dict[str, str]:
    return {
        part: read_part(body[part], folder, f"{where}: task.{part}")
        for part in ("instruction", "rubric")
        if isinstance(body.get(part), str | Path)
    }


def rubrics_of(given: TaskConfig, data: DataConfig | None, folder: Path) -> tuple[RubricEntry, ...]:
    """The rubrics by each of which every item is judged; none where the task has one rubric at most."""
    if given.rubrics is None:
        if given.target_rubric_ids is not None:
            raise ConfigError("task.target_rubric_ids: found without rubrics; name the file that holds them.")
        return ()
    if data is None:
        raise ConfigError("task.rubrics: found without data, expected items to judge by them; give data.")
    if given.rubric is not None:
        raise ConfigError("task.rubrics: found beside a rubric, expected one of the two; remove one.")
    return read_rubrics(folder / given.rubrics, given.target_rubric_ids)


def part_names_file(value: str | Path) -> bool:
    """False of a sentence, and of several lines, unless they have the ending of a text file."""
    if isinstance(value, Path):
        return True
    sentence = len(value.split()) > 1 or value.endswith((".", "?", "!"))
    return "\n" not in value.strip() and (not sentence or value.endswith(FILE_ENDINGS))


def read_part(value: str | Path, folder: Path, where: str) -> str:
    if not part_names_file(value):
        return str(value).strip()
    path = folder / value
    try:
        text = path.read_text(encoding="utf-8-sig").strip()
    except OSError as error:
        raise ConfigError(
            f"{where}: cannot read {path} ({error.strerror}), expected a text file; correct the path."
        ) from error
    except ValueError as error:
        raise ConfigError(f"{where}: {path} is not UTF-8 text; save it as UTF-8.") from error
    if not text:
        raise ConfigError(f"{where}: {path} is empty, expected a text; fill it.")
    return text


def build_task(
    given: TaskConfig,
    data: DataConfig | None,
    *,
    scores: bool = False,
    runs: bool = False,
    rubrics: Sequence[RubricEntry] = (),
) -> Task:
    """The task of a study: what is said goes before what the data or the built-in items bring.

    `scores` says that the probes ask for single texts, whether or not a scale is named, `runs` that they ask
    for runs of agents; `rubrics` may bring a scale.
    """
    scale = given.parsed_scale() or next((rubric.scale for rubric in rubrics if rubric.scale), None)
    base = _builtin(given, scores, runs) if data is None else _base(scale, data)
    return replace(
        base, instruction=given.instruction or base.instruction, rubric=given.rubric or base.rubric
    )


def _base(scale: Scale | None, data: DataConfig) -> Task:
    adapted = data.task()
    if adapted is None:
        if scale is None:
            label = None if data.columns is None else data.columns.label
            lack = "no column of labels tells it" if label is None else f"column {label!r} does not tell it"
            words = "" if label is None else ", or where it holds words, say with --values WORD=1 which pass"
            raise ConfigError(
                f"task.scale: not given, and {lack}; expected binary for pass or fail, a range such as 1-6, "
                f"pairwise, or best-of-4; add --scale, or scale under task{words}."
            )
        return Task(instruction_for(scale), "", scale)
    if scale not in (None, adapted.scale):
        raise ConfigError(
            f"task.scale: found {scale_name(scale)!r}, expected {scale_name(adapted.scale)!r}, the scale of "
            f"the adapter {data.adapter!r}; leave the scale out, or map columns instead of the adapter."
        )
    return adapted


def _builtin(given: TaskConfig, scores: bool, runs: bool) -> Task:
    """Pairs of the catalogue, or the pack for scores, whose items bring questions of their own; or runs."""
    scale = given.parsed_scale()
    if isinstance(scale, BestOf):
        raise ConfigError(
            f"scale {scale_name(scale)!r}: nothing built in holds several responses; give data with a list "
            "of responses a row."
        )
    if not runs and (isinstance(scale, Pairwise) or (scale is None and not scores)):
        return CHECKLIST_TASK
    what = "runs of agents" if runs else "items"
    for part in ("instruction", "rubric", "rubrics", "failing") if runs else ("instruction", "rubric"):
        if getattr(given, part) is not None:
            raise ConfigError(
                f"task.{part}: found one beside the built-in {what}, which have their own; give data as "
                f"well, or leave the {part} out."
            )
    if not runs:
        return pack_task(scale)
    if scale not in (None, AGENT_TASK.scale):  # the labels of the runs rest on their rubric and scale
        raise ConfigError(
            f"scale {scale_name(scale)!r}: the built-in runs of agents are judged on "
            f"{scale_name(AGENT_TASK.scale)!r}; leave the scale out, or give data of your own."
        )
    return AGENT_TASK


def failing_answer(given: int | None, scale: Scale) -> str:
    """The answer that a failing run gets: as said, else the lowest of the scale."""
    low, high = scale.answers[0], scale.answers[-1]
    answer = low if given is None else str(given)
    if answer not in (low, high):
        raise ConfigError(
            f"task.failing: found {answer}, expected {low} or {high}, an end of the scale "
            f"{scale_name(scale)!r}: the answer of a run that breaks the rubric."
        )
    return answer
