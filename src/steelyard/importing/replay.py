"""Recorded verdicts as a judge: `recorded/FILE.jsonl?judge=NAME` answers a run's trials from a file.

A trial is known by its stimulus, protocol, order and replicate: the names under which a recording of a run
keeps its calls. Texts are not recorded, so a recording speaks only for stimuli of the same names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from steelyard.errors import ConfigError, DataError
from steelyard.importing.pairs import PairTable, read_pairs
from steelyard.trials.judge import Judge, Protocol
from steelyard.trials.trial import ORDERS, Trial

TEMPLATE = "{{ request }}\n1: {{ first }}\n2: {{ second }}"
"""A recorded judge is not prompted; this is the record of what it stands for."""

Place = tuple[str, str, str, int]


@dataclass(frozen=True)
class Recording:
    judge: str
    table: PairTable
    rows: Mapping[Place, int]
    digests: Mapping[str, str]


def recorded_judge(address: str, judge: str | None, name: str | None, folder: Path) -> Judge:
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
    return _recording(path, _state(path), judge)


@lru_cache(maxsize=8)
def _recording(path: Path, state: tuple[int, int], judge: str | None) -> Recording:
    """`state` is there so that a changed file is read again."""
    table = _table(path, state)
    if judge is None and len(table.judges) == 1:
        judge = table.judges[0]
    if judge not in table.judges:
        problem = "no judge is named" if judge is None else f"no judge {judge!r} found"
        raise ConfigError(
            f"{path}: {problem}, expected one of {', '.join(table.judges)}; write {path.name}?judge=NAME."
        )
    places: dict[Place, int] = {}
    for name, protocol, rows in table.conditions():
        if name == judge:
            columns = table.subject[rows], table.first[rows], table.replicate[rows]
            for row, (pair, first, replicate) in enumerate(zip(*map(list, columns), strict=True), rows.start):
                places[protocol, table.subjects[pair].pair, ORDERS[first], int(replicate)] = row
    hashes = {protocol: digest for (name, protocol), digest in table.hashes[1].items() if name == judge}
    return Recording(judge, table, places, hashes)


def recorded_answers(judge: Judge, trials: Iterable[Trial]) -> dict[str, str]:
    """Answers by trial hash, as presentations carry it; a file that changed since the start is refused."""
    path = Path(str(judge.options["path"]))
    recording = load_recording(path, str(judge.options["judge"]))
    answers = {}
    for trial in trials:
        expected = judge.protocols[trial.protocol].settings["recording"]
        if recording.digests.get(trial.protocol) != expected:
            raise ConfigError(f"{path}: changed while it was replayed; restore it, or start again.")
        row = recording.rows.get((trial.protocol, trial.stimulus.id, trial.order, trial.replicate))
        if row is not None:
            table = recording.table
            pair = table.subjects[table.subject[row]]
            for name in ("probe", "kind", "delta", "base_level"):
                recorded, shown = getattr(pair, name), getattr(trial.stimulus, name)
                if recorded is not None and recorded != shown:
                    raise DataError(
                        f"{table.where(int(table.read[row]))}: pair {pair.pair!r} has {name} {recorded!r}, "
                        f"expected {shown!r} as in this study; replay it on the stimuli it was recorded on."
                    )
            answers[trial.key.removeprefix("sha256:")] = str(table.outcomes[table.outcome[row]][1])
    return answers


def _state(path: Path) -> tuple[int, int]:
    try:
        stat = path.stat()
    except OSError:
        return 0, 0
    return stat.st_mtime_ns, stat.st_size


@lru_cache(maxsize=4)
def _table(path: Path, state: tuple[int, int]) -> PairTable:
    del state
    return read_pairs([path])
