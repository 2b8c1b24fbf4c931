"""A folder of imported verdicts: the normalised calls, where they came from, and the datasheet."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.datasheet.assemble import assemble
from steelyard.datasheet.datasheet import Datasheet, JudgeEntry
from steelyard.errors import ConfigError, SteelyardError, StoreError
from steelyard.identity import content_hash
from steelyard.lab.recorded.call import Call
from steelyard.lab.recorded.observations import checked, observations_of
from steelyard.lab.recorded.score_lines import holds_scores, read_scores
from steelyard.lab.recorded.score_table import ScoreTable
from steelyard.lab.recorded.styles import read_calls
from steelyard.lab.run_folder import RunFolder, write_text
from steelyard.lab.shortfalls import speechless, warnings
from steelyard.probes.probe import PROBES, Probe
from steelyard.registry import Spec
from steelyard.stimuli.stimulus_set import StimulusSet
from steelyard.verdicts.observation import Observation

PROFILE = "recorded"
SEED = 7


@dataclass(frozen=True)
class Imported:
    """What recorded verdicts amount to."""

    calls: tuple[Call, ...] | ScoreTable
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

    def write(self, imported: Imported) -> None:
        """Calls first, then the datasheet in every format; another run or import is never overwritten."""
        lines = [call.to_json() for call in imported.calls]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        self._refuse_other(text)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"{self.path}: cannot be written ({error.strerror}); choose another --out."
            ) from error
        sheet = imported.datasheet
        write_text(self.observations, text)
        source = {"name": sheet.name, "seed": sheet.seed, "observations": content_hash(lines)}
        write_text(self.source, json.dumps(source, indent=1) + "\n")
        RunFolder(self.path).write(sheet)

    def _refuse_other(self, text: str) -> None:
        if RunFolder(self.path).study.exists():
            raise ConfigError(f"{self.path}: holds a measured run; choose another --out.")
        if self.observations.exists() and self.observations.read_bytes() != text.encode():
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
        if content_hash([call.to_json() for call in imported.calls]) != expected:
            raise ConfigError(
                f"{self.observations}: not the calls that were imported here; restore the file, "
                "or import it into another --out."
            )
        return imported


def import_verdicts(paths: Sequence[Path], name: str | None = None, seed: int = SEED) -> Imported:
    """Read recorded verdicts and build their datasheet; no call is made."""
    if holds_scores(paths[0]):
        return _import_scores(paths, name or paths[0].stem, seed)
    calls = checked(call for path in paths for call in read_calls(path))
    observations = observations_of(calls)
    entries = _entries(calls)
    datasheet = assemble(
        name=name or paths[0].stem,
        seed=seed,
        profile=PROFILE,
        stimulus_set=StimulusSet.of({o.stimulus.id: o.stimulus for o in observations}.values()).hash,
        judges=entries,
        probes=_probes(observations),
        observations=observations,
        run={"calls": len(calls)},
    )
    speech = speechless([entry.name for entry in entries], observations)
    return Imported(calls, datasheet, tuple(speech), tuple(warnings(observations)))


def _import_scores(paths: Sequence[Path], name: str, seed: int) -> Imported:
    scores, remarks = read_scores(paths)
    table = ScoreTable(scores)
    observations = table.observations()
    arms: dict[str, dict[str, str]] = {}
    for (judge, protocol), digest in table.hashes[1].items():
        arms.setdefault(judge, {})[protocol] = digest
    datasheet = assemble(
        name=name,
        seed=seed,
        profile=PROFILE,
        stimulus_set=table.stimulus_set(),
        judges=tuple(JudgeEntry(judge, "recorded", False, mine) for judge, mine in sorted(arms.items())),
        probes=table.probes(),
        observations=observations,
        run={"calls": len(observations)},
    )
    speech = speechless(sorted(arms), observations)
    return Imported(table, datasheet, tuple(speech), (*remarks, *warnings(observations)))


def _entries(calls: Sequence[Call]) -> tuple[JudgeEntry, ...]:
    """Judges by name; the prompt is not known, so a protocol's fingerprint is that of its verdicts."""
    verdicts: dict[str, dict[str, list[object]]] = {}
    for call in calls:
        verdicts.setdefault(call.judge, {}).setdefault(call.protocol, []).append(call.to_json())
    return tuple(
        JudgeEntry(judge, "recorded", False, {name: content_hash(rows) for name, rows in arms.items()})
        for judge, arms in sorted(verdicts.items())
    )


def _probes(observations: Sequence[Observation]) -> list[Probe]:
    """The probes that have verdicts, and the criterion for every further protocol of vacuum and ladder."""
    found = {(o.stimulus.probe, o.protocol) for o in observations}
    names = [name for name in ("vacuum", "ladder", "position") if any(probe == name for probe, _ in found)]
    arms = sorted({arm for probe, arm in found if probe != "position" and arm != "base"})
    specs = [*map(Spec, names), *(Spec("criterion", {"protocol": arm}) for arm in arms)]
    return [PROBES.build(spec) for spec in specs]
