"""From the store to the published datasheet, and its stamp, which tells `report` what changed since.

The stamp has digests of the files of a run and of this program. Where not a byte differs, every figure would
come out as it was published, and need not be computed again. Where plug-ins are installed, nothing is
stamped: their code may change, and every page has their charts. A stamp is signed with a key of this user:
one that came with somebody else's folder counts for nothing.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from hashlib import blake2b, file_digest
from hmac import compare_digest
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.core.files import atomic_write_text, open_file, signature
from steelyard.core.json_dataclasses import to_body
from steelyard.core.text import pluralize
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.instrument_card import JudgeEntry
from steelyard.datasheet.results import Results
from steelyard.datasheet.run_facts import ProfileLook
from steelyard.errors import SteelyardError, StoreError
from steelyard.metrics.faults import Faults
from steelyard.run_folder.published_files import write_datasheet, write_results
from steelyard.run_folder.run_folder import RESULTS, SHEETS, RunFolder
from steelyard.runner.prices import dollars_of
from steelyard.runner.record import RunRecord
from steelyard.runner.run_messages import call_warnings, judges_without_verdicts
from steelyard.store.authoring import AuthoredStimulus, count_by_probe
from steelyard.study.planner import Plan
from steelyard.study.study import Look, Study
from steelyard.verdicts.observations import Observations

if TYPE_CHECKING:
    from steelyard.metrics.juries import JuryReference

STAMP = ".published.json"
LIBRARIES = ("numpy", "pyarrow", "genai-prices")
"""What else figures, files and prices come from."""

MAX_STAMP = 1 << 20
_NO_STAMP = (OSError, ValueError, TypeError, KeyError, RecursionError, SteelyardError)
"""What a stamp of any content, and a cache that cannot be used, may raise."""

Digests = dict[str, str | None]
"""By the name of a file; None where there is none."""


def stored_digests(run: RunFolder) -> Digests | None:
    """Digests of what is stored; None while a database has changes that lie beside it, as in a run now."""
    stored = (run.study, run.stimuli, run.database, run.columns, run.decisions, run.reviews, *run.imported)
    try:
        at_work = any(_size(path.with_name(f"{path.name}-wal")) for path in stored)
        return None if at_work else {path.name: _digest(path) for path in stored}
    except OSError:
        return None


def save_stamp(run: RunFolder, stored: Digests, losses: Sequence[str]) -> None:
    """Stamp what was just published from what was `stored` before it was read."""
    if plug_ins_installed():
        return
    with suppress(*_NO_STAMP):  # without a stamp the next report computes
        name = str(run.path)
        body = {"folder": name, "losses": list(losses), "signature": _signature(run, name, stored, losses)}
        atomic_write_text(run.path / STAMP, json.dumps(body, indent=1) + "\n")


def losses_if_unchanged(run: RunFolder, stored: Digests | None) -> tuple[str, ...] | None:
    """What a report warns of beside the published figures; None where a file or the program changed.

    The warnings name the folder as it was named, so that they hold under that name alone.
    """
    name, losses = _unchanged(run, stored) or ("", ())
    return losses if name == str(run.path) else None


def is_unchanged(run: RunFolder, stored: Digests | None) -> bool:
    """Whether the published figures are those of the record, whatever the folder is named by."""
    return _unchanged(run, stored) is not None


def _unchanged(run: RunFolder, stored: Digests | None) -> tuple[str, tuple[str, ...]] | None:
    """The name that the folder was published under, and what was warned of."""
    if stored is None or plug_ins_installed():
        return None
    try:
        with open_file(run.path / STAMP) as stream:
            body = json.loads(stream.read(MAX_STAMP))
        name, losses = str(body["folder"]), tuple(map(str, body["losses"]))
        signed = compare_digest(str(body["signature"]), _signature(run, name, stored, losses))
        return (name, losses) if signed else None
    except _NO_STAMP:
        return None


def _signature(run: RunFolder, name: str, stored: Digests, losses: Sequence[str]) -> str:
    """Of all that a report rests on."""
    published = {name: _digest(run.path / name) for name in (*SHEETS, *RESULTS)}
    return signature([name, program_digest(), stored | published, list(losses)])


@cache
def plug_ins_installed() -> bool:
    return any(group.startswith("steelyard.") for group in entry_points().groups)


def _digest(path: Path) -> str | None:
    try:
        with open_file(path) as stream:
            return file_digest(stream, _short).hexdigest()
    except FileNotFoundError:
        return None


def _short() -> blake2b:
    return blake2b(digest_size=16)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


@cache
def program_digest() -> str:
    """Digest of the code and data of this package, and the versions below it."""
    found = _short()
    for library in LIBRARIES:
        with suppress(PackageNotFoundError):
            found.update(f"{library} {version(library)}\n".encode())
    found.update(f"{platform.python_version()} {platform.machine()}\n".encode())
    root = str(Path(__file__).parents[1])
    for folder, inner, names in os.walk(root):
        inner[:] = sorted(name for name in inner if name != "__pycache__")
        for name in sorted(names):
            path = f"{folder}{os.sep}{name}"
            with open(path, "rb") as stream:
                found.update(path.removeprefix(root).encode() + b"\n" + stream.read())
    return found.hexdigest()


@dataclass(frozen=True)
class Publication:
    datasheet: Datasheet
    results: Results
    losses: tuple[str, ...] = ()
    """What is lacking behind the figures."""
    stored: Digests | None = None
    """What they were computed from; None for figures that may come out differently the next time."""

    def write(self, folder: Path) -> Datasheet:
        """Every file of it; the datasheet comes back with what could not be drawn."""
        run = RunFolder(folder)
        with run.publishing():
            return self._write(run)

    def write_unless_overtaken(self, run: RunFolder, before: tuple[int, int, int] | None) -> Datasheet | None:
        """The same where the datasheet is still the one from `before` the replies were read; else None.

        What another process published meanwhile may rest on later replies.
        """
        with run.publishing():
            return self._write(run) if run.published == before else None

    def _write(self, run: RunFolder) -> Datasheet:
        datasheet = write_datasheet(run.path, self.datasheet)
        write_results(run.path, self.results)
        if self.stored is not None and not datasheet.faults:
            save_stamp(run, self.stored, self.losses)
        return datasheet


def build_publication(plan: Plan, record: RunRecord, stored: Digests | None) -> Publication:
    """What a run publishes; plan and record may go before it is written, which a million trials need.

    `stored` are the digests of the files before they were read; while these are the same, the figures of a
    whole run need not be computed again. A judge without verdicts is an error each time it is measured.
    """
    datasheet, results = build_datasheet(plan, record), _results(plan, record)
    names = [judge.name for judge in plan.study.judges]
    whole = not record.coverage(plan.trials).every.partial
    settled = whole and not any(judges_without_verdicts(names, results.observations))
    record.release()
    losses = (*call_warnings(results.observations, record.store.path.parent), *_caveats(datasheet))
    return Publication(datasheet, results, losses, stored if settled else None)


def save_kept_columns(folder: RunFolder, study: Study) -> None:
    if study.kept:
        lines = (
            json.dumps({"item": item, "columns": dict(values)}) + "\n" for item, values in study.kept.items()
        )
        atomic_write_text(folder.columns, lines)


def _results(plan: Plan, record: RunRecord) -> Results:
    composed = {judge.name for judge in plan.study.judges if judge.composition is not None}
    kept = kept_columns(RunFolder(record.store.path.parent))
    return Results(record.observations(plan.trials), plan.study.baselines, composed, kept)


def kept_columns(folder: RunFolder) -> dict[str, dict[str, str]]:
    """What the data's columns to keep hold, by item, as they were when the run was measured."""
    try:
        lines = folder.columns.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise StoreError(f"{folder.columns}: cannot be read ({error.strerror}); restore it.") from error
    try:
        rows = [json.loads(line) for line in lines]
        return {
            str(row["item"]): {str(name): str(value) for name, value in row["columns"].items()}
            for row in rows
        }
    except (ValueError, AttributeError, KeyError, TypeError) as error:
        raise StoreError(
            f"{folder.columns}: not what a run writes there; restore it, or remove it."
        ) from error


def _jury_reference(study: Study, folder: RunFolder) -> JuryReference | None:
    from steelyard.metrics.juries import JuryReference

    column = None if study.source is None else study.source.settings.get("jury_reference")
    if column is None:
        return None
    values = {item: row[column] for item, row in kept_columns(folder).items() if column in row}
    return JuryReference(column, {item: float(value) for item, value in values.items()})


def build_datasheet(plan: Plan, record: RunRecord) -> Datasheet:
    # Imported here: only a run that is published needs the metrics, and `plan` and `--dry-run` start sooner.
    from steelyard.datasheet.assemble import assemble
    from steelyard.run_folder.call_examples import RunCalls, with_examples
    from steelyard.run_folder.next_step import with_next_steps
    from steelyard.run_folder.run_facts import instrument_cards, run_facts, services

    study = plan.study
    observations = record.observations(plan.trials)
    # A fault in the instrument cards costs the cards, never the figures.
    faults = Faults()
    cards = faults.guarded("", "instrument cards", lambda: instrument_cards(plan), lambda _: ())
    sheet = assemble(
        name=study.name,
        seed=study.seed,
        profile=study.profile,
        stimulus_set=plan.stimuli.hash,
        judges=tuple(JudgeEntry.of(judge, sorted(judge.protocols)) for judge in study.judges),
        probes=study.build_probes(),
        observations=observations,
        run=run_facts(plan, record),
        prices={judge.name: dollars_of(judge) for judge in study.judges if not judge.baseline},
        own_data=study.source is not None,
        named=study.asked,
        jury_reference=_jury_reference(study, RunFolder(record.store.path.parent)),
        instruments=cards,
        own_checklists=study.checklists,
    )
    if study.looks is not None:
        sheet = _with_looks(sheet, study.looks, observations)
    written = count_by_probe(map(AuthoredStimulus.of, record.store.authored().values()), plan.all_stimuli)
    sheet = with_next_steps(replace(sheet, authored=written, reference=study.reference), plan, record)
    served = faults.guarded("", "instrument cards", lambda: services(plan, record), lambda _: {})
    sheet = replace(sheet, run={**sheet.run, "instruments": served}, faults=(*sheet.faults, *faults.found))
    return with_examples(sheet, RunCalls.of_run(plan, record))


def _caveats(datasheet: Datasheet) -> Iterator[str]:
    for judge in (entry.name for entry in datasheet.judges):
        for caveat in datasheet.caveats(judge):
            yield f"judge {judge}: {caveat}."
    for judge, calls in datasheet.facts.uncounted.items():
        yield (
            f"judge {judge}: the server counted no tokens in {pluralize(calls, 'call')}; their cost is "
            "estimated from characters."
        )


def _with_looks(sheet: Datasheet, before: Sequence[Look], observations: Observations) -> Datasheet:
    """The datasheet with the looks of `--until verdict`; where a fault stops this one, the figures stand."""
    from steelyard.datasheet.assemble import look_at

    faults = Faults()

    def look() -> list[ProfileLook]:
        return [look_at(sheet, observations, int(sheet.run["calls"]))]

    mine = [] if sheet.partial else faults.guarded("", "look", look, lambda _: [])
    run = {**sheet.run, "looks": to_body((*before, *mine))}
    return replace(sheet, run=run, faults=(*sheet.faults, *faults.found))
