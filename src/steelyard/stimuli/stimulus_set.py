"""A frozen collection of stimuli: every judge of a study sees the same one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from steelyard.core.content_hash import content_hash
from steelyard.errors import DataError
from steelyard.stimuli.stimulus import Stimulus


@dataclass(frozen=True)
class StimulusSet:
    stimuli: tuple[Stimulus, ...]

    @classmethod
    def of(cls, stimuli: Iterable[Stimulus]) -> StimulusSet:
        ordered = tuple(sorted(stimuli, key=lambda stimulus: stimulus.id))
        for left, right in pairwise(ordered):
            if left.id == right.id:
                raise DataError(f"two stimuli are named {left.id!r}: give each an id of its own.")
        return cls(ordered)

    @cached_property
    def hash(self) -> str:
        return content_hash([stimulus.hash for stimulus in self.stimuli])

    @property
    def judged(self) -> StimulusSet:
        return StimulusSet(tuple(stimulus for stimulus in self.stimuli if stimulus.judged))

    def __iter__(self) -> Iterator[Stimulus]:
        return iter(self.stimuli)

    def __len__(self) -> int:
        return len(self.stimuli)

    def write(self, path: Path) -> None:
        lines = [json.dumps(stimulus.to_json(), sort_keys=True) for stimulus in self]
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> StimulusSet:
        stimuli = []
        try:
            lines = path.read_text(encoding="utf-8").split("\n")
        except (OSError, ValueError) as error:
            raise DataError(f"{path}: cannot be read ({error}); restore the file.") from error
        for number, line in enumerate(lines, start=1):
            if line.strip():
                try:
                    stimuli.append(Stimulus.from_json(json.loads(line)))
                except (ValueError, KeyError, TypeError) as error:
                    fault = re.sub(r"(Stimulus|Lineage)\.__init__\(\) ", "", str(error))
                    raise DataError(
                        f"{path}, line {number}: not a stimulus ({fault}); restore the file."
                    ) from error
        return cls.of(stimuli)
