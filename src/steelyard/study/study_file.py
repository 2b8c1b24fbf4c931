"""Study files: strict where bytes enter, then resolved into a Study."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl

import yaml
from pydantic import Field

from steelyard.core.files import read_problem
from steelyard.core.validation import Expected, StrictModel, checked
from steelyard.errors import ConfigError
from steelyard.probes.probe import (
    PAIRWISE,
    POINTWISE,
    arms_of,
    asks_for_runs,
    asks_for_scores,
    expand_suites,
    form_of,
    probe_names,
)
from steelyard.providers.planted.planted_judges import DEFAULT_JUDGES, SCORE_JUDGES, baseline_judges
from steelyard.providers.provider import connect
from steelyard.stimuli.shallow_reader import read_checklists as shallow_reading
from steelyard.study.composite_judges import CompositeJudge, distinct_judges
from steelyard.study.judge_config import parse_judge
from steelyard.study.judge_protocols import PromptReport
from steelyard.study.planner import (
    DEFAULT_PROBES,
    RUN_PROBES,
    check_filled,
    check_rubric,
    data_columns,
    default_probes,
    probe_specs,
    shown_columns,
    without_claims,
    without_idle,
    without_unwritten,
)
from steelyard.study.role_config import EditingConfig, parse_roles, read_prompts
from steelyard.study.study import ProbeCache, Study, check_reference, data_source, with_placeholder_labels
from steelyard.study.study_files import Consent, NamedFile, check_files, files_of, refuse
from steelyard.study.task_config import (
    TaskConfig,
    build_task,
    failing_answer,
    pack_draw,
    read_texts,
    rubrics_of,
    runs_draw,
)
from steelyard.tasks.checklist import Checklist, read_checklists
from steelyard.tasks.data_config import DataConfig, RubricEntry
from steelyard.tasks.sources.found_columns import ColumnFinder
from steelyard.tasks.sources.items import empty_strata, empty_texts, repeated_texts
from steelyard.tasks.task import Item, Scale, Task, missing_labels, scale_name
from steelyard.trials.judge import Judge

FROZEN = {"steelyard": "frozen study"}
"""How the study begins that a run folder keeps, with every value as it was resolved."""


class StudyConfig(StrictModel):
    name: Annotated[str, Expected("letters, digits, dots, dashes and underscores, no path")] = Field(
        default="catalogue", pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
    )
    seed: Annotated[int, Field(ge=-(2**63), lt=2**63)] = 7
    profile: Literal["quick", "standard", "full"] = "quick"
    replicates: int = Field(default=1, ge=1, le=1000)
    judges: list[str | dict[str, Any]] = Field(default=list(DEFAULT_JUDGES), min_length=1)
    task: TaskConfig = TaskConfig()
    data: DataConfig | None = None
    checklists: str | None = Field(default=None, min_length=1)
    """A file with checklists of one's own, in the place of the built-in ones."""
    probes: list[str | dict[str, dict[str, Any]]] = Field(default=list(DEFAULT_PROBES), min_length=1)
    author: str | dict[str, Any] | None = None
    validator: str | dict[str, Any] | None = None
    editing: EditingConfig | None = None
    review: bool = False


def load_config(
    path: Path | None,
    overrides: Mapping[str, Any],
    source: str = "command line",
    consent: Consent = refuse,
) -> StudyConfig:
    """Read a study file (or none) and lay options over it; `source` names these in messages."""
    return open_config(path, overrides, source, consent)[0]


def open_config(
    path: Path | None, overrides: Mapping[str, Any], source: str, consent: Consent
) -> tuple[StudyConfig, tuple[NamedFile, ...], frozenset[str]]:
    """The configuration, the files that the study file names, and the keys that it does not decide.

    Files outside its folder need consent.
    """
    where, folder = (source, Path()) if path is None else (str(path), path.parent)
    own, overrides = _with_chosen_judges(_read_study(path), overrides)
    body = _laid_over(own, path, overrides, source)
    task = body.get("task", {})
    if "task" in body:
        body["task"] = {key: str(part) if isinstance(part, Path) else part for key, part in task.items()}
    config = checked(StudyConfig, body, where)
    try:
        config.task.parsed_scale()
    except ConfigError as error:
        raise ConfigError(f"{where}: task.{error}") from error
    files = () if path is None else check_files(path, files_of(path, own, overrides), consent)
    parts: dict[str, Any] = {"task": config.task.model_copy(update=read_texts(task, folder, where))}
    if config.editing is not None:
        parts["editing"] = read_prompts(config.editing, folder, where)
    config = config.model_copy(update={key: part for key, part in parts.items() if key in body})
    return config, files, frozenset(overrides)


def study_body(path: Path, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a study file with options laid over them; nothing is checked but what a run keeps."""
    own, overrides = _with_chosen_judges(_read_study(path), overrides)
    return _laid_over(own, path, overrides, "")


def _with_chosen_judges(
    own: dict[str, Any], overrides: Mapping[str, Any]
) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """Where every judge that is asked for is one of the file's by name, the file with these alone."""
    known = {_name(judge): judge for judge in own["judges"]} if isinstance(own.get("judges"), list) else {}
    asked = overrides.get("judges", [])
    if not asked or not all(isinstance(name, str) and name in known for name in asked):
        return own, overrides
    others = {key: value for key, value in overrides.items() if key != "judges"}
    return {**own, "judges": [known[name] for name in asked]}, others


def _name(judge: object) -> str | None:
    """The name that a judge of a study file has, as far as it says one."""
    if isinstance(judge, dict):
        return judge.get("name", judge.get("model"))
    return dict(parse_qsl(judge.partition("?")[2])).get("name", judge) if isinstance(judge, str) else None


def _read_study(path: Path | None) -> dict[str, Any]:
    body = {} if path is None else read_yaml(path)
    if path is not None and FROZEN.items() <= body.items():
        folder = quote(str(path.parent))
        raise ConfigError(
            f"{path}: is what a run keeps of its study, expected a study file; repeat the command of the run "
            f"with --out {folder}, or see its figures with `steelyard report {folder}`."
        )
    return body


def _laid_over(
    own: Mapping[str, Any], path: Path | None, overrides: Mapping[str, Any], source: str
) -> dict[str, Any]:
    """`task` and `data` part by part: what the command line does not say stays as the file has it."""
    body = {**own, **overrides}
    for key in ("task", "data"):
        parts = [held[key] for held in (own, overrides) if key in held]
        for given in parts:
            if not isinstance(given, Mapping):
                raise ConfigError(
                    f"{path or source}: {key}: found {given!r}, expected a mapping; correct it."
                )
        if parts:
            body[key] = {**parts[0], **parts[-1]}
    if path is not None:
        body.setdefault("name", path.stem)
    return body


def build_study(
    config: StudyConfig,
    folder: Path,
    prompt: Path | None = None,
    answers: str | None = None,
    literals: Collection[str] = (),
) -> Study:
    """Resolve task, items, judges and probes; baselines are added last.

    `prompt` is the template of every judge that is prompted and brings none of its own, `answers` the map,
    `literals` the names in braces that are text.
    """
    named = probe_names(config.probes) if "probes" in config.model_fields_set else set()
    config, finder, found_scale = _with_found_columns(config, folder)
    kit, data = ProbeCache(), config.data
    runs = data is None and asks_for_runs(config.probes, kit.build)
    scores = asks_for_scores(config.probes, kit.build)
    rubrics = rubrics_of(config.task, data, folder)
    task = build_task(config.task, data, scores=scores, runs=runs, rubrics=rubrics)
    items, undrawn = _items(config, folder, task, runs, rubrics)
    of_runs = any(item.transcript is not None for item in items)
    config = _with_defaults(config, task, of_runs)
    scales = {task.scale, *(item.scale or task.scale for item in items)}
    probes = probe_specs(expand_suites(config.probes, scales, packed=data is None), kit)
    if data is not None and not data.asks_for_truth():
        probes = without_claims(probes, kit)
    arms = {arm for spec in probes for arm in arms_of(kit.build(spec))}
    columns = data_columns(data, folder)
    # A composite judge may name any judge that is none, or that stands before it.
    known: dict[str, Judge] = {}
    parsed: dict[int, Judge] = {}
    report = PromptReport()
    given = config.judges
    rest = (folder, task.scale, arms, prompt, answers, known, of_runs, columns, report, literals)
    for number in sorted(range(len(given)), key=lambda number: CompositeJudge.of(given[number]) is not None):
        parsed[number] = parse_judge(given[number], *rest)
        known.setdefault(parsed[number].name, parsed[number])
    judges = distinct_judges([parsed[number] for number in range(len(given))], given)
    for asked in (one for judge in judges for one in judge.leaf_judges):
        connect(asked)  # refuses wrong models and options before anything is written
    shown = shown_columns(judges, columns)
    if shown:
        items, undrawn = _items(config, folder, task, runs, rubrics, shown)
    prints = [(one, one.fingerprint("base")) for judge in judges for one in judge.leaf_judges]
    names = {judge.name for judge in judges}
    baselines = [judge for judge in baseline_judges(config.seed, task.scale) if judge.name not in names]
    reference = None if data is None else data.reference
    checklists = _checklists(config, folder, task)
    unlabelled = ""
    if data is not None and reference is None:
        unlabelled = missing_labels(sum(item.label is None for item in items), len(items))
    roles = None
    if config.author is not None:
        roles = parse_roles(config.author, config.validator, config.editing, report.notes)
    study = Study(
        config.name,
        config.seed,
        config.profile,
        config.replicates,
        (*judges, *baselines),
        probes,
        task,
        items,
        checklists=checklists,
        checklists_file=config.checklists or "",
        undrawn=undrawn,
        notes=(
            *_mapping_note(finder, found_scale, data, shown),
            *_shallow_note(checklists),
            *empty_strata(items, undrawn),
            *repeated_texts(items if data else ()),
            *(empty_texts(items, data.columns) if data and data.columns else ()),
            *_failing_note(config, items),
            *dict.fromkeys(report.notes),
            *([f"{unlabelled}."] if unlabelled else []),
        ),
        source=None if data is None else data_source(data, folder),
        reference=None if reference is None else reference.judge,
        writers=None if roles is None else roles.settings(),
        kept={} if data is None else data.kept_columns_by_item(folder, task.scale),
        kit=kit,
        prompts={one.name: report.sources[print_] for one, print_ in prints if print_ in report.sources},
        unread=frozenset(one.name for one, print_ in prints if print_ in report.unread),
    )
    study.build_probes()  # refuses probes that do not fit the scale
    check_rubric(study)
    check_filled(study)
    check_reference(study)
    fitting = without_idle(with_placeholder_labels(study), named)
    fitting = fitting if config.author is not None else without_unwritten(fitting, named)
    wanted = tuple(dict.fromkeys(spec.name for spec in fitting.probes if spec.name in named))
    return replace(study, probes=fitting.probes, notes=fitting.notes, asked=wanted)


def _with_found_columns(
    config: StudyConfig, folder: Path
) -> tuple[StudyConfig, ColumnFinder | None, Scale | None]:
    """The study with the columns and the scale that its data show, where it says none; what was found."""
    if config.data is None:
        return config, None, None
    data, scale, finder = config.data.with_found_columns(folder, config.task.parsed_scale())
    task = config.task
    found = None if task.scale is not None or task.rubrics else scale
    task = task if found is None else task.model_copy(update={"scale": scale_name(found)})
    return config.model_copy(update={"data": data, "task": task}), finder, found


def _mapping_note(
    finder: ColumnFinder | None, scale: Scale | None, data: DataConfig | None, used: Collection[str]
) -> Iterator[str]:
    """Which columns were taken by name, which are left, and what they tell of scale and labels, in a line."""
    line = finder.line({*used, *data.columns_beside}).removesuffix(".") if finder and data else ""
    better = "chosen is better" if data and data.first_is_better else ""
    if said := "; ".join(filter(None, (line, f"scale: {scale_name(scale)}" if scale else "", better))):
        yield f"{said}."


def _checklists(config: StudyConfig, folder: Path, task: Task) -> tuple[Checklist, ...]:
    if config.checklists is None:
        return ()
    path = folder / config.checklists
    if form_of(task) != PAIRWISE:
        raise ConfigError(
            f"checklists: {path} is for pairs, found the scale {scale_name(task.scale)!r}; leave the "
            "checklists out, or measure them in another study."
        )
    return read_checklists(path)


def _shallow_note(checklists: tuple[Checklist, ...]) -> Iterator[str]:
    """A warning where counts of marks and words name the better text, or might."""
    reading = shallow_reading(checklists) if checklists else None
    if reading is not None and reading.faults:
        yield reading.sentence


def _items(
    config: StudyConfig,
    folder: Path,
    task: Task,
    runs: bool,
    rubrics: Sequence[RubricEntry],
    shown: Sequence[str] = (),
) -> tuple[tuple[Item, ...], tuple[Item, ...]]:
    if config.data is not None:
        split = config.data.split_items(folder, task.scale, config.seed, rubrics, shown)
        chosen, others = (_outcomes(items, _failing(config), task) for items in split)
        return chosen, others
    if runs:
        return runs_draw(config.profile, config.seed), ()
    if form_of(task) == POINTWISE:
        return pack_draw(config.task.parsed_scale(), config.profile, config.seed), ()
    return (), ()


def _failing(config: StudyConfig) -> int | None:
    stated = config.task.failing
    return stated if stated is not None or config.data is None else config.data.failing()


def _outcomes(items: Iterable[Item], given: int | None, task: Task) -> tuple[Item, ...]:
    """Every item with the answer that says that it fails; of texts only where somebody has said it."""
    return tuple(
        item
        if item.transcript is None and (given is None or len(item.responses) > 1)
        else replace(item, failing=failing_answer(given, item.scale or task.scale))
        for item in items
    )


def _failing_note(config: StudyConfig, items: Iterable[Item]) -> Iterator[str]:
    failing = {item.failing for item in items if item.failing is not None}
    if config.data is not None and _failing(config) is None and failing:
        answers = " or ".join(sorted(failing))
        yield (
            f"a run that scores {answers} is taken for one that breaks the rubric; where another answer says "
            "so, name it: failing under task, or --failing."
        )


def _with_defaults(config: StudyConfig, task: Task, of_runs: bool) -> StudyConfig:
    data = config.data is not None
    defaults: dict[str, Any] = {"probes": list(RUN_PROBES if of_runs else default_probes(task, data))}
    if form_of(task) == POINTWISE:
        defaults |= {"judges": list(SCORE_JUDGES), "name": "agents" if of_runs else "pack"}
    if config.data is not None:
        defaults["name"] = (
            re.sub(r"[^A-Za-z0-9._-]+", "-", Path(config.data.path).stem).strip("-._") or "data"
        )
    unsaid = {name: value for name, value in defaults.items() if name not in config.model_fields_set}
    return config.model_copy(update=unsaid)


def read_yaml(path: Path) -> dict[str, Any]:
    try:
        body = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: {read_problem(path, error)}; expected a study file.") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise ConfigError(f"{path}{line}: not valid YAML ({problem}); correct the file.") from error
    if not isinstance(body, dict):
        content = "an empty file" if body is None else f"a {type(body).__name__}"
        raise ConfigError(f"{path}: found {content}, expected a mapping with keys such as judges and probes.")
    return body
