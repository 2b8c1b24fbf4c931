"""A run is a folder: frozen study, stimuli, replies, datasheet."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from steelyard.datasheet import html, markdown
from steelyard.datasheet.assemble import assemble
from steelyard.datasheet.datasheet import Datasheet, JudgeEntry
from steelyard.errors import ConfigError, StoreError
from steelyard.lab.budget import cost
from steelyard.lab.observe import observe
from steelyard.lab.planner import Plan, make_plan
from steelyard.lab.prices import price_of
from steelyard.lab.study import Study, freeze, thaw
from steelyard.stimuli.stimulus_set import StimulusSet
from steelyard.store.run_store import RunStore

RUNS = "steelyard-runs"
"""Folder of the runs that were given no --out."""


@dataclass(frozen=True)
class RunFolder:
    """Where a run keeps its files."""

    path: Path

    @classmethod
    def default(cls, study: Study) -> RunFolder:
        """`steelyard-runs/<name>-<8 hex of the effective configuration>`."""
        digest = study.hash.removeprefix("sha256:")[:8]
        return cls(Path(RUNS) / f"{study.name}-{digest}")

    @property
    def study(self) -> Path:
        """The frozen study."""
        return self.path / "study.yaml"

    @property
    def stimuli(self) -> Path:
        """The frozen stimulus set."""
        return self.path / "stimuli.jsonl"

    @property
    def database(self) -> Path:
        """Trials, replies and failures."""
        return self.path / "run.db"

    @property
    def page(self) -> Path:
        """The datasheet as one HTML file."""
        return self.path / "datasheet.html"

    def prepare(self, study: Study) -> Plan:
        """Freeze a study here, or check that it is the one already here."""
        plan = make_plan(study)
        if self.study.exists():
            self._check(study, plan)
            return plan
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            plan.stimuli.write(self.stimuli)
            _write(self.study, freeze(study))
        except OSError as error:
            raise StoreError(
                f"{self.path}: cannot be written ({error.strerror}); choose another --out."
            ) from error
        return plan

    def load(self) -> Plan:
        """The plan of the study that lies here."""
        if not self.study.exists():
            raise ConfigError(
                f"{self.path}: no study.yaml found, expected a run folder that `measure` wrote."
            )
        study = thaw(self.study)
        plan = make_plan(study)
        self._check(study, plan)
        return plan

    def _check(self, study: Study, plan: Plan) -> None:
        held = thaw(self.study)
        if held.hash != study.hash:
            raise ConfigError(
                f"{self.path}: holds another study ({_difference(held, study)} differ); choose another --out."
            )
        frozen = StimulusSet.read(self.stimuli)
        if frozen.hash != plan.stimuli.hash:
            raise ConfigError(
                f"{self.stimuli}: the stimuli differ from those this version builds "
                f"({frozen.hash[7:15]} against {plan.stimuli.hash[7:15]}); "
                "restore the file, or measure into another --out."
            )

    @contextmanager
    def store(self) -> Iterator[RunStore]:
        """The run file, closed at the end."""
        store = RunStore(self.database)
        try:
            yield store
        finally:
            store.close()

    def publish(self, plan: Plan, store: RunStore) -> Datasheet:
        """Build the datasheet from the store and write every format."""
        datasheet = build_datasheet(plan, store)
        _write(self.path / "datasheet.json", datasheet.dumps())
        _write(self.path / "datasheet.md", markdown.render(datasheet))
        _write(self.page, html.render(datasheet))
        return datasheet


def build_datasheet(plan: Plan, store: RunStore) -> Datasheet:
    """Every figure, recomputed from the store."""
    study = plan.study
    entries = tuple(
        JudgeEntry(j.name, j.address, j.baseline, {name: j.fingerprint(name) for name in sorted(j.protocols)})
        for j in study.judges
    )
    return assemble(
        name=study.name,
        seed=study.seed,
        profile=study.profile,
        stimulus_set=plan.stimuli.hash,
        judges=entries,
        probes=study.build_probes(),
        observations=observe(plan, store),
        run=run_facts(plan, store),
    )


def run_facts(plan: Plan, store: RunStore) -> dict[str, Any]:
    """Clock times, latency, tokens and money: everything that two equal runs may differ in."""
    replies = store.replies()
    measured = [(t, replies[t.key]) for t in plan.trials if t.key in replies and not t.judge.baseline]
    times = sorted(stored.received for _, stored in measured)
    latencies = sorted(stored.reply.latency_ms for _, stored in measured)
    prices = {judge.name: price_of(judge) for judge in plan.study.judges}
    return {
        "started": _clock(times[0]) if times else None,
        "finished": _clock(times[-1]) if times else None,
        "latency_ms": {"p50": _quantile(latencies, 0.5), "p95": _quantile(latencies, 0.95)},
        "calls": len(measured),
        "input_tokens": sum(stored.reply.usage.input_tokens for _, stored in measured),
        "output_tokens": sum(stored.reply.usage.output_tokens for _, stored in measured),
        "dollars": round(sum(cost(prices[t.judge.name], stored.reply) for t, stored in measured), 6),
    }


def _clock(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _quantile(ordered: list[float], share: float) -> float | None:
    return round(ordered[int(share * (len(ordered) - 1))], 3) if ordered else None


def _difference(held: Study, wanted: Study) -> str:
    parts = ("name", "seed", "profile", "replicates", "probes", "judges", "task")
    return ", ".join(part for part in parts if getattr(held, part) != getattr(wanted, part))


def _write(path: Path, text: str) -> None:
    """Whole or not at all: a reader never sees half a file."""
    beside = path.with_name(path.name + ".part")
    try:
        with beside.open("w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise StoreError(
            f"{path}: cannot be written ({error.strerror}); free some space, then run again."
        ) from error
