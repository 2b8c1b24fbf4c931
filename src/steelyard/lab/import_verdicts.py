"""A folder of imported verdicts: the normalised calls, where they came from, and the datasheet."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.datasheet.assemble import assemble
from steelyard.datasheet.datasheet import Datasheet, JudgeEntry
from steelyard.errors import ConfigError, SteelyardError, StoreError
from steelyard.lab.folder.datasheet_file import write_datasheet
from steelyard.lab.folder.next_step import with_recorded_steps
from steelyard.lab.folder.run_folder import RunFolder
from steelyard.lab.folder.whole_file import write_text
from steelyard.lab.recorded.call_table import CallTable
from steelyard.lab.recorded.fragments import read_table
from steelyard.lab.recorded.observations import checked
from steelyard.lab.recorded.score_lines import holds_scores, read_scores
from steelyard.lab.recorded.score_table import ScoreTable
from steelyard.lab.recorded.styles import read_calls
from steelyard.lab.run.shortfalls import speechless, warnings
from steelyard.probes.probe import PROBES, Probe
from steelyard.registry import Spec
from steelyard.verdicts.observations import Observations

PROFILE = "recorded"
SEED = 7


@dataclass(frozen=True)
class Imported:
    """What recorded verdicts amount to."""

    calls: CallTable | ScoreTable
    """Every call, sorted."""
    datasheet: Datasheet
    """Built from them."""
    errors: tuple[SteelyardError, ...]
    """Judges without any readable verdict."""
    warnings: tuple[str, ...]
    """Calls without a verdict, in sentences."""


@dataclass(frozen=True)
class ImportFolder:
    """Where an import keeps its files."""

    path: Path

    @property
    def observations(self) -> Path:
        """Every call in the project's own format."""
        return self.path / "observations.jsonl"

    @property
    def source(self) -> Path:
        """Name and seed of the datasheet, and the hash of the calls it was made from."""
        return self.path / "import.json"

    def write(self, imported: Imported) -> Datasheet:
        """Calls first, then the datasheet in every format; another run or import is never overwritten.

        The datasheet comes back with what could not be drawn.
        """
        self._refuse_other(imported.calls)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"{self.path}: cannot be written ({error.strerror}); choose another --out."
            ) from error
        sheet = imported.datasheet
        write_text(self.observations, imported.calls.lines())
        source = {"name": sheet.name, "seed": sheet.seed, "observations": imported.calls.hashes[0]}
        write_text(self.source, json.dumps(source, indent=1) + "\n")
        return write_datasheet(self.path, sheet)

    def _refuse_other(self, calls: CallTable | ScoreTable) -> None:
        if RunFolder(self.path).study.exists():
            raise ConfigError(f"{self.path}: holds a measured run; choose another --out.")
        if self.observations.exists() and not _same(self.observations, calls.lines()):
            raise ConfigError(f"{self.path}: holds other recorded verdicts; choose another --out.")

    def load(self) -> Imported:
        """Rebuild the datasheet from the calls that lie here."""
        try:
            body = json.loads(self.source.read_text(encoding="utf-8"))
            name, seed, expected = str(body["name"]), int(body["seed"]), body["observations"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ConfigError(
                f"{self.source}: not the name and seed of an import ({error}); import the verdicts again."
            ) from error
        imported = import_verdicts([self.observations], name, seed)
        if imported.calls.hashes[0] != expected:
            raise ConfigError(
                f"{self.observations}: not the calls that were imported here; restore the file, "
                "or import it into another --out."
            )
        return imported


def import_verdicts(paths: Sequence[Path], name: str | None = None, seed: int = SEED) -> Imported:
    """Read recorded verdicts and build their datasheet; no call is made."""
    name = name or paths[0].stem
    if holds_scores(paths[0]):
        scores, remarks = read_scores(paths)
        table = ScoreTable(scores)
        return _imported(table, table.observations(), table.probes(), name, seed, remarks)
    calls = read_table(paths)
    if calls is None:
        calls = CallTable.of(checked(call for path in paths for call in read_calls(path)))
    observations = calls.observations()
    return _imported(calls, observations, _probes(observations), name, seed)


def _imported(
    calls: CallTable | ScoreTable,
    observations: Observations,
    probes: Sequence[Probe],
    name: str,
    seed: int,
    remarks: Sequence[str] = (),
) -> Imported:
    """The datasheet of recorded calls, with what is missing in them."""
    entries = _entries(calls)
    datasheet = assemble(
        name=name,
        seed=seed,
        profile=PROFILE,
        stimulus_set=calls.stimulus_set(),
        judges=entries,
        probes=probes,
        observations=observations,
        run={"calls": len(calls)},
    )
    silence = speechless([entry.name for entry in entries], observations, recorded=True)
    return Imported(
        calls, with_recorded_steps(datasheet), tuple(silence), (*remarks, *warnings(observations))
    )


def _same(path: Path, chunks: Iterable[str]) -> bool:
    """True where a file holds just this text."""
    with path.open("rb") as stream:
        same = all(stream.read(len(chunk)) == chunk for chunk in (text.encode() for text in chunks))
        return same and not stream.read(1)


def _entries(calls: CallTable | ScoreTable) -> tuple[JudgeEntry, ...]:
    """Judges by name; the prompt is not known, so a protocol's fingerprint is that of its verdicts."""
    arms: dict[str, dict[str, str]] = {}
    for (judge, protocol), digest in calls.hashes[1].items():
        arms.setdefault(judge, {})[protocol] = digest
    return tuple(JudgeEntry(judge, "recorded", False, verdicts) for judge, verdicts in sorted(arms.items()))


def _probes(observations: Observations) -> list[Probe]:
    """The probes that have verdicts, and the criterion for every further protocol of vacuum and ladder."""
    shown = {
        (name, arm)
        for name in ("vacuum", "ladder", "position")
        for arm in observations.among(name).protocols_seen
    }
    names = [name for name in ("vacuum", "ladder", "position") if any(probe == name for probe, _ in shown)]
    arms = sorted({arm for probe, arm in shown if probe != "position" and arm != "base"})
    specs = [*map(Spec, names), *(Spec("criterion", {"protocol": arm}) for arm in arms)]
    return [PROBES.build(spec) for spec in specs]
