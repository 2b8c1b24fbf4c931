"""Recorded verdicts as a judge: `recorded/FILE.jsonl?judge=NAME` answers a run's trials from a file.

A trial is known by its stimulus, protocol, order and replicate: the names under which a recording of a run
keeps its calls. Texts are not recorded, so a recording speaks only for stimuli of the same names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from steelyard.core.content_hash import content_hash
from steelyard.errors import ConfigError, DataError
from steelyard.importing.call import Call
from steelyard.importing.observations import checked
from steelyard.importing.styles import read_calls
from steelyard.stimuli.stimulus import Stimulus
from steelyard.trials.judge import Judge, Protocol
from steelyard.trials.trial import Trial

TEMPLATE = "{{ request }}\n1: {{ first }}\n2: {{ second }}"
"""A recorded judge is not prompted; this is the record of what it stands for."""

Place = tuple[str, str, str, int]
"""Protocol, stimulus, order, replicate."""


@dataclass(frozen=True)
class Recording:
    """The calls of one judge."""

    judge: str
    """Name in the file."""
    calls: Mapping[Place, Call]
    """By protocol, pair, order and replicate."""
    digests: Mapping[str, str]
    """Hash of the calls of each protocol."""


def recorded_judge(address: str, judge: str | None, name: str | None, folder: Path) -> Judge:
    """The judge `provider/FILE` that replays a file; its protocols are those that were recorded."""
    provider, _, file = address.partition("/")
    path = folder / file
    recording = load_recording(path, judge)
    if "base" not in recording.digests:
        raise ConfigError(
            f"{path}: judge {recording.judge!r} has the protocols {', '.join(sorted(recording.digests))}, "
            "expected base; name one of them base to replay it."
        )
    return Judge(
        name=name or f"{provider}/{recording.judge}",
        provider=provider,
        model=file,
        protocols={
            protocol: Protocol(TEMPLATE, settings={"recording": digest})
            for protocol, digest in recording.digests.items()
        },
        options={"judge": recording.judge, "path": str(path.resolve())},
    )


def load_recording(path: Path, judge: str | None) -> Recording:
    """The calls of one judge in a file; the name may be left out where there is only one."""
    return _recording(path, _state(path), judge)


@lru_cache(maxsize=8)
def _recording(path: Path, state: tuple[int, int], judge: str | None) -> Recording:
    """`state` is there so that a changed file is read again."""
    by_judge = _calls(path, state)
    if judge is None and len(by_judge) == 1:
        judge = next(iter(by_judge))
    if judge not in by_judge:
        problem = "no judge is named" if judge is None else f"no judge {judge!r} found"
        raise ConfigError(
            f"{path}: {problem}, expected one of {', '.join(sorted(by_judge))}; write {path.name}?judge=NAME."
        )
    calls = by_judge[judge]
    by_protocol: dict[str, list[object]] = {}
    for call in calls:
        by_protocol.setdefault(call.protocol, []).append(call.to_json())
    return Recording(
        judge,
        {(call.protocol, call.pair.pair, call.order, call.replicate): call for call in calls},
        {protocol: content_hash(rows) for protocol, rows in by_protocol.items()},
    )


def recorded_answers(judge: Judge, trials: Iterable[Trial]) -> dict[str, str]:
    """Answers by trial hash, as presentations carry it; a file that changed since the start is refused."""
    path = Path(str(judge.options["path"]))
    recording = load_recording(path, str(judge.options["judge"]))
    answers = {}
    for trial in trials:
        expected = judge.protocols[trial.protocol].settings["recording"]
        if recording.digests.get(trial.protocol) != expected:
            raise ConfigError(f"{path}: changed while it was replayed; restore it, or start again.")
        call = recording.calls.get((trial.protocol, trial.stimulus.id, trial.order, trial.replicate))
        if call is not None:
            _check_same(call, trial.stimulus)
            answers[trial.key.removeprefix("sha256:")] = call.answer
    return answers


def _check_same(call: Call, stimulus: Stimulus) -> None:
    """A recorded pair of this name must be a pair of this kind."""
    for name in ("probe", "kind", "delta", "base_level"):
        recorded, shown = getattr(call.pair, name), getattr(stimulus, name)
        if recorded is not None and recorded != shown:
            raise DataError(
                f"{call.where}: pair {call.pair.pair!r} has {name} {recorded!r}, expected {shown!r} "
                "as in this study; replay it on the stimuli it was recorded on."
            )


def _state(path: Path) -> tuple[int, int]:
    """What changes when a file does."""
    try:
        stat = path.stat()
    except OSError:
        return 0, 0
    return stat.st_mtime_ns, stat.st_size


@lru_cache(maxsize=4)
def _calls(path: Path, state: tuple[int, int]) -> dict[str, list[Call]]:
    """Checked calls by judge."""
    del state
    by_judge: dict[str, list[Call]] = {}
    for call in checked(read_calls(path)):
        by_judge.setdefault(call.judge, []).append(call)
    return by_judge
