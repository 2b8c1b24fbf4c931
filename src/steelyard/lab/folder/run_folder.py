"""A run is a folder: frozen study, stimuli, replies, datasheet."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from steelyard.datasheet.assemble import assemble
from steelyard.datasheet.datasheet import Datasheet, JudgeEntry
from steelyard.datasheet.render import html, markdown
from steelyard.errors import ConfigError, RunError, StoreError
from steelyard.lab.folder.authored_stimuli import AuthoredStimulus, tally
from steelyard.lab.folder.frozen_plan import freeze_plan, thaw_plan
from steelyard.lab.folder.frozen_study import freeze, thaw
from steelyard.lab.run.budget import cost
from steelyard.lab.run.coverage import covered
from steelyard.lab.run.observe import observe
from steelyard.lab.run.planner import Plan, make_plan
from steelyard.lab.run.prices import dollars_of, price_of
from steelyard.lab.run.spending import authoring_cost
from steelyard.lab.study.study import Study
from steelyard.metrics.faults import Faults
from steelyard.stimuli.stimulus_set import StimulusSet
from steelyard.store.replies import StoredReply
from steelyard.store.run_store import RunStore
from steelyard.trials.trial import Trial

try:
    import fcntl
except ImportError:  # not on Windows, where runs are not guarded against each other
    fcntl = None  # type: ignore[assignment]

RUNS = "steelyard-runs"
"""Folder of the runs that were given no --out."""
SHEETS = ("datasheet.json", "datasheet.md", "datasheet.html")
"""Files of a published datasheet."""
REFUSABLE = ("temperature", "seed", "logprobs")
"""Fields of a request whose absence a reader of the figures must know of."""


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
    def decisions(self) -> Path:
        """The log of sequential decisions, where some were made."""
        return self.path / "decision.json"

    @property
    def page(self) -> Path:
        """The datasheet as one HTML file."""
        return self.path / SHEETS[-1]

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One process at a time in a run folder: two would pay for the same trials."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            handle = (self.path / ".lock").open("w")
        except OSError as error:
            raise _unwritable(self.path, error) from error
        with handle:
            if fcntl is not None:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError as error:
                    raise RunError(
                        f"{self.path}: another process is measuring into this folder; wait for it to end."
                    ) from error
            yield

    def prepare(self, plan: Plan) -> Plan:
        """Freeze a plan here, or go on with the one that is here; it may gain judges and probes."""
        study = plan.study
        held = self.require(study)
        if held is not None and held.hash == study.hash:
            self._check_written(plan)
            self._check_stimuli(plan)
            self._keep_plan(plan)
            return plan
        try:
            plan.kept.write(self.stimuli)
        except OSError as error:
            raise _unwritable(self.path, error) from error
        write_text(self.study, freeze(study))
        self._keep_plan(plan)
        return plan

    def require(self, study: Study) -> Study | None:
        """The study that lies here, if any; one that the other does not go on with is refused."""
        if not self.study.exists():
            return None
        held = thaw(self.study)
        self.check_replies()
        self._check_source(held, study)
        if not study.extends(held):
            differing = _difference(held, study)
            raise ConfigError(f"{self.path}: holds another study ({differing} differ); choose another --out.")
        return held

    def check_replies(self) -> None:
        """Refuse to ask again what a datasheet says was answered, where the replies behind it are gone."""
        gone = not self.database.exists() or not self.database.stat().st_size
        if gone and (self.path / "datasheet.json").exists():
            raise StoreError(
                f"{self.database}: the replies behind datasheet.json are gone, and would be paid for again; "
                "restore the file, or choose another --out."
            )

    def _check_source(self, held: Study, study: Study) -> None:
        """Refuse data that have changed since they were frozen, even where the same items come of them."""
        if held.source is None or study.source is None:
            return
        changed = study.source.changed(held.source)
        if changed is not None:
            raise ConfigError(
                f"{self.path}: {changed} has changed since this study was frozen (its SHA-256 is another); "
                "restore the file, or choose another --out."
            )

    def _check_written(self, plan: Plan) -> None:
        """Refuse to judge other written stimuli than those that were frozen."""
        if not plan.study.authored:
            return
        with self.store(read_only=True) as store:
            frozen = {row.stimulus for row in store.planned()} if store.has_plan else plan.hashes
        if frozen != plan.hashes:
            raise ConfigError(
                f"{self.stimuli}: written stimuli were changed after the study was frozen; "
                "restore the file, or choose another --out."
            )

    def _keep_plan(self, plan: Plan) -> None:
        """Once per study, whatever interrupted the first attempt; again where its calls are others."""
        with self.store() as store:
            frozen = {row.trial for row in store.planned()} if store.has_plan else set()
            if store.study != plan.study.hash or frozen != {trial.key for trial in plan.trials}:
                store.freeze(plan.study.hash, freeze_plan(plan))

    def load(self) -> Plan:
        """The plan of the study that lies here, from its frozen stimuli alone; nothing is written."""
        for path in (self.study, self.stimuli, self.database):
            if not path.exists():
                raise ConfigError(
                    f"{self.path}: no {path.name} found, expected a run folder that `measure` wrote."
                )
        study = thaw(self.study)
        with self.store(read_only=True) as store:
            if store.study != study.hash:
                raise ConfigError(
                    f"{self.study}: not the study of the replies in {self.database.name}; restore the file."
                )
            planned = store.planned() if store.has_plan else []
        if planned:
            return thaw_plan(study, planned, self.stimuli)
        plan = make_plan(study)
        self._check_stimuli(plan)
        return plan

    def _check_stimuli(self, plan: Plan) -> None:
        frozen = StimulusSet.read(self.stimuli).judged
        if frozen.hash != plan.stimuli.hash:
            raise ConfigError(
                f"{self.stimuli}: the stimuli differ from those this version builds "
                f"({frozen.hash[7:15]} against {plan.stimuli.hash[7:15]}); "
                "restore the file, use the version that measured, or measure into another --out."
            )

    @contextmanager
    def store(self, *, read_only: bool = False) -> Iterator[RunStore]:
        """The run file, closed at the end."""
        store = RunStore(self.database, read_only=read_only)
        try:
            yield store
        finally:
            store.close()

    def publish(self, plan: Plan, store: RunStore) -> Datasheet | None:
        """Build the datasheet from the store and write every format; without a reply there is none."""
        if covered(plan.trials, store).own.answered:
            return self.write(build_datasheet(plan, store))
        for name in SHEETS:  # no reply stands behind what may lie there
            with suppress(OSError):
                (self.path / name).unlink(missing_ok=True)
        return None

    def write(self, datasheet: Datasheet) -> Datasheet:
        """Write JSON, Markdown and one HTML page; the datasheet comes back with what could not be drawn."""
        write_text(self.path / "datasheet.json", datasheet.dumps())
        faults = Faults()
        for path, render in (
            (self.path / "datasheet.md", partial(markdown.render, datasheet)),
            (self.page, partial(html.render, datasheet, faults)),
        ):
            text = faults.guarded("", path.name, render, lambda _: None)
            if text is None:
                path.unlink(missing_ok=True)  # one of an earlier sitting would tell of other figures
            else:
                write_text(path, text)
        if not faults.found:
            return datasheet
        told = replace(datasheet, faults=(*datasheet.faults, *faults.found))
        write_text(self.path / "datasheet.json", told.dumps())
        return told


def build_datasheet(plan: Plan, store: RunStore) -> Datasheet:
    """Every figure, recomputed from the store."""
    study = plan.study
    entries = tuple(
        JudgeEntry(j.name, j.address, j.baseline, {name: j.fingerprint(name) for name in sorted(j.protocols)})
        for j in study.judges
    )
    sheet = assemble(
        name=study.name,
        seed=study.seed,
        profile=study.profile,
        stimulus_set=plan.stimuli.hash,
        judges=entries,
        probes=study.build_probes(),
        observations=observe(plan, store),
        run=run_facts(plan, store),
        prices={judge.name: dollars_of(judge) for judge in study.judges if not judge.baseline},
    )
    written = tally(map(AuthoredStimulus.of, store.authored().values()), plan.kept)
    return replace(sheet, authored=written, reference=study.reference)


def run_facts(plan: Plan, store: RunStore) -> dict[str, Any]:
    """Clock times, latency, tokens and money: everything that two equal runs may differ in."""
    replies = store.replies()
    measured = [(t, replies[t.key]) for t in plan.trials if t.key in replies and not t.judge.baseline]
    times = sorted(stored.received for _, stored in measured)
    latencies = sorted(stored.reply.latency_ms for _, stored in measured)
    prices = {judge.name: price_of(judge) for judge in plan.study.judges}
    coverage = covered(plan.trials, store)
    return {
        "started": _clock(times[0]) if times else None,
        "finished": _clock(times[-1]) if times and not coverage.told.partial else None,
        **coverage.to_json(),
        "latency_ms": {"p50": _quantile(latencies, 0.5), "p95": _quantile(latencies, 0.95)},
        "calls": len(measured),
        "input_tokens": sum(stored.reply.usage.input_tokens for _, stored in measured),
        "output_tokens": sum(stored.reply.usage.output_tokens for _, stored in measured),
        "dollars": round(sum(cost(prices[t.judge.name], t, stored.reply) for t, stored in measured), 6),
        **_refused(measured),
        **_authoring_facts(store),
    }


def _refused(measured: list[tuple[Trial, StoredReply]]) -> dict[str, Any]:
    """Calls by judge and by the sampling field that its server would not take; nothing where all were."""
    refused: dict[str, Counter[str]] = {}
    for trial, stored in measured:
        for name in REFUSABLE:
            if name in stored.reply.effective and stored.reply.effective[name] is None:
                refused.setdefault(trial.judge.name, Counter())[name] += 1
    return {"refused": {judge: dict(fields) for judge, fields in refused.items()}} if refused else {}


def _authoring_facts(store: RunStore) -> dict[str, Any]:
    """What writing and confirming stimuli took; nothing where nothing was written."""
    found = authoring_cost(store)
    return {"authoring": {**asdict(found), "dollars": round(found.dollars, 6)}} if found.calls else {}


def _clock(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _quantile(ordered: list[float], share: float) -> float | None:
    return round(ordered[int(share * (len(ordered) - 1))], 3) if ordered else None


def _difference(held: Study, wanted: Study) -> str:
    parts = ("name", "seed", "profile", "replicates", "probes", "judges", "task", "reference", "writers")
    differing = [part for part in parts if getattr(held, part) != getattr(wanted, part)]
    return ", ".join([*differing, *(["items"] if held.items_hash != wanted.items_hash else [])])


def _unwritable(path: Path, error: OSError) -> StoreError:
    return StoreError(f"{path}: cannot be written ({error.strerror}); choose another --out.")


def write_text(path: Path, text: str | Iterable[str]) -> None:
    """Whole or not at all: a reader never sees half a file; a long text may come in parts."""
    beside = path.with_name(path.name + ".part")
    try:
        with beside.open("w", encoding="utf-8", newline="\n") as stream:
            stream.writelines([text] if isinstance(text, str) else text)
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise StoreError(
            f"{path}: cannot be written ({error.strerror}); free some space, then run again."
        ) from error
