"""A judge as a datasheet names it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.core.text import pluralize
from steelyard.trials.judge import Judge

RECORDED = "recorded"
"""The model of a judge that was asked elsewhere."""


@dataclass(frozen=True)
class JudgeEntry:
    name: str
    model: str
    """`provider/model`, or `recorded`."""
    baseline: bool
    protocols: Mapping[str, str]
    """Protocol name to fingerprint; of recorded verdicts, that of the verdicts."""
    members: tuple[str, ...] = ()
    """Judges that are asked in its place, where it is made of others."""
    calls_per_verdict: int = 1

    @classmethod
    def of(cls, judge: Judge, protocols: Iterable[str]) -> JudgeEntry:
        """A judge of a study with the fingerprints of these protocols."""
        members = () if judge.composition is None else tuple(one.name for one in judge.leaf_judges)
        prints = {name: judge.fingerprint(name) for name in protocols}
        return cls(judge.name, judge.address, judge.baseline, prints, members, judge.calls_per_verdict)

    @property
    def instruments(self) -> Mapping[str, str]:
        """Protocol name to fingerprint of who was asked and how; none where verdicts were recorded."""
        return {} if self.model == RECORDED else self.protocols

    @property
    def made(self) -> str:
        """The model; of a judge made of others, whom it asks and how often."""
        if not self.members:
            return self.model
        each = pluralize(self.calls_per_verdict, "call")
        return f"{self.model} of {', '.join(self.members)}; {each} per verdict"

    def to_json(self) -> dict[str, Any]:
        """One entry under `judges` in `datasheet.json`; what it is made of where it is made of others."""
        body = {**vars(self), "protocols": dict(self.protocols), "members": list(self.members)}
        if not self.members:
            del body["members"], body["calls_per_verdict"]
        return body
