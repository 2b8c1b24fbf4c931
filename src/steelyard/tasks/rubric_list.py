"""Several rubrics for the same items: a list of `{id, instructions, score_levels}` in YAML or JSON.

Every item is judged by every rubric. Levels, where a rubric has them, are its scale: whole numbers without a
gap, each once and each with a label.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import BaseModel, Field

from steelyard.core.validation import Expected, StrictModel, checked
from steelyard.errors import ConfigError
from steelyard.tasks.scale import Scale, parse_scale
from steelyard.tasks.task import Item


class LevelConfig(StrictModel):
    score: int
    label: str = Field(min_length=1)
    description: str | None = None

    @property
    def words(self) -> str:
        return f"{self.label}: {self.description}" if self.description else self.label


_LEVELS = "a list of {score, label}, or a mapping of scores to labels"


class RubricConfig(StrictModel):
    id: str = Field(min_length=1)
    instructions: str = Field(min_length=1)
    score_levels: Annotated[list[LevelConfig] | dict[int, str] | None, Expected(_LEVELS)] = None


class _File(BaseModel):
    rubrics: list[RubricConfig] = Field(min_length=1)


@dataclass(frozen=True)
class RubricEntry:
    id: str
    text: str
    scale: Scale | None
    """From its lowest level to its highest; None where it has none."""


def read_rubrics(path: Path, wanted: Sequence[str] | None = None) -> tuple[RubricEntry, ...]:
    try:
        body = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, yaml.YAMLError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or "not valid YAML or JSON"
        raise ConfigError(f"{path}: cannot be read ({reason}); expected a list of rubrics.") from error
    rows = body if isinstance(body, dict) else {"rubrics": body}
    entries = [_entry(config, path) for config in checked(_File, rows, str(path)).rubrics]
    names = [entry.id for entry in entries]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"{path}: two rubrics have the id {name!r}, expected one each; rename one.")
    for name in wanted or ():
        if name not in names:
            raise ConfigError(
                f"target_rubric_ids: no rubric {name!r} in {path}; found: {', '.join(names)}; correct it."
            )
    return tuple(entry for entry in entries if wanted is None or entry.id in wanted)


def crossed(items: Iterable[Item], rubric: RubricEntry) -> tuple[Item, ...]:
    """Items to be judged by a rubric of several: its id ends their names, and they keep their clusters."""
    return tuple(
        replace(item, id=f"{item.id}/{rubric.id}", rubric=rubric.text, scale=rubric.scale) for item in items
    )


def _entry(config: RubricConfig, path: Path) -> RubricEntry:
    where = f"{path}: rubric {config.id!r}"
    given = config.score_levels or ()
    levels = list(given.items()) if isinstance(given, dict) else [(one.score, one.words) for one in given]
    if not levels:
        return RubricEntry(config.id, config.instructions.strip(), None)
    scores = sorted(score for score, _ in levels)
    if len(set(scores)) < len(scores):
        raise ConfigError(f"{where}: score_levels has a score twice, expected each once; remove one.")
    if len(scores) < 2 or scores != list(range(scores[0], scores[-1] + 1)):
        raise ConfigError(
            f"{where}: score_levels has {', '.join(map(str, scores))}, expected whole numbers that follow "
            "each other, at least two; add what is missing."
        )
    if any(not label.strip() for _, label in levels):
        raise ConfigError(
            f"{where}: score_levels has a level without a label, expected one for each; add it."
        )
    told = "\n".join(f"{score}: {label.strip()}" for score, label in sorted(levels))
    return RubricEntry(
        config.id,
        f"{config.instructions.strip()}\n\nLevels:\n{told}",
        parse_scale("binary" if scores == [0, 1] else f"{scores[0]}-{scores[-1]}"),
    )
