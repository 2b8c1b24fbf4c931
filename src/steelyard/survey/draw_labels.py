"""`labels draw`: items for labelling with recorded odds, and a folder that knows nothing of the verdicts."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean

import numpy as np

from steelyard.core.files import atomic_write_text, read_problem, write_error
from steelyard.core.text import pluralize
from steelyard.core.validation import parse_map, unknown_key
from steelyard.errors import ConfigError, DataError
from steelyard.estimation.designs import LabelDesign
from steelyard.estimation.estimators import MOST_LEVELS, bins
from steelyard.importing.inspect_scores import holds_log
from steelyard.importing.rating_exports import export_of
from steelyard.importing.rating_reader import item_texts
from steelyard.importing.ratings import HUMAN, RatingColumns, RatingsTable
from steelyard.metrics.stats.intervals import SHARE
from steelyard.review.label_draw import (
    DRAW_FILE,
    LABELLED_BEFORE,
    PILOT,
    TEST,
    TUNE,
    FrameUnit,
    LabelDraw,
    draw_units,
)
from steelyard.review.labelling import LabelSession
from steelyard.run_folder.run_folder import RunFolder
from steelyard.run_folder.snapshot import load_snapshot
from steelyard.stimuli.original import NATURAL, ORIGINAL
from steelyard.stimuli.stimulus import Lineage, Stimulus, StimulusSet, Unknown
from steelyard.survey.judged_items import Subject, choose, choose_judge, score_scale
from steelyard.survey.labels import SHEET, copy_labels, sheet_text
from steelyard.survey.options import DrawOptions, RatingOptions
from steelyard.survey.rating_files import drawn_labels
from steelyard.tasks.sources.found_columns import TEXT, ColumnFinder, ColumnPart, flattened
from steelyard.tasks.sources.read import read_table
from steelyard.tasks.task import USUAL_ENDS, Binary, Ordinal, Pairwise, parse_scale, scale_name

UnitId = tuple[str, str, str]
ANNOTATOR = re.compile(r"[\w .@+-]{1,40}")
TEXT_PARTS = ("request", "response", "response_1", "response_2")
STIMULI = "stimuli.jsonl"


def parse_annotators(text: str | None) -> tuple[str, ...]:
    """A number of annotators, or their names."""
    if text is None:
        return ()
    if text.strip().isdecimal() and 0 < int(text) <= 100:
        return tuple(f"annotator-{number + 1}" for number in range(int(text)))
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if not ANNOTATOR.fullmatch(name) or name.isdecimal():
            raise ConfigError(
                f"--annotators: found {name!r}, expected a number up to 100, or names of letters, digits, "
                "spaces and . @ + - up to 40, separated by commas."
            )
    if len({name.casefold() for name in names}) < len(names):
        raise ConfigError(f"--annotators: a name stands twice in {text!r}; give each a name of its own.")
    return tuple(names)


def parse_texts(text: str | None) -> dict[str, str]:
    found = parse_map(text or "", "--texts", "PART=COLUMN", "request=question,response=answer")
    for part in found:
        if part not in TEXT_PARTS:
            raise ConfigError(f"--texts: {unknown_key(part, TEXT_PARTS)}")
    return found


def read_rubric(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {read_problem(path, error)}; name a text file with --rubric.") from error


def draw_labels(table: RatingsTable, how: RatingColumns, options: DrawOptions) -> LabelDraw:
    """Draw, and write the folder: the record, the items without verdicts, a sheet for each annotator."""
    out = options.out
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ConfigError(
            f"{out}: exists already, expected a new folder, since a second draw would change the odds; "
            "choose another --out."
        )
    draw, shown = prepare_draw(table, how, options)
    _write_folder(out, draw, shown, options.pilot)
    return draw


def prepare_draw(
    table: RatingsTable, how: RatingColumns, options: DrawOptions
) -> tuple[LabelDraw, list[Stimulus]]:
    """The draw, and its items as annotators see them; refused where no such draw can be made."""
    source, pilot = options.ratings.file, options.pilot
    design, annotators = LabelDesign(options.design), parse_annotators(options.annotators)
    texts = parse_texts(options.texts)
    rubric = None if options.rubric is None else read_rubric(options.rubric)
    if options.tune > options.size:
        raise ConfigError(
            f"--tune {options.tune}: more than the {options.size} of -n, of which they are a part; lower it."
        )
    if options.overlap and len(annotators) < 2:
        raise ConfigError("--overlap: works only with several --annotators; name them, or leave it out.")
    judge = choose_judge(table, options.ratings.judge)
    wanted = options.ratings.reading.criterion
    criterion = choose("criterion", "--criterion", wanted, table.criteria, table.name)
    units = frame_units(table, judge, criterion, design, pilot)
    stimuli = _texts(source, how, texts)
    scale = options.ratings.scale or next((each.scale for each in stimuli.values() if each.scale), None)
    answers = scale_name(parse_scale(scale)) if scale else _scale(table, options.ratings, judge)
    if table.is_pairwise != (answers == "pairwise"):
        raise ConfigError(f"--scale {answers}: does not fit {table.name}; leave it out.")
    if options.stop is not None and answers != "binary":
        raise ConfigError(f"--stop: works with yes-or-no labels, found the scale {answers}; leave it out.")
    chosen = draw_units(
        units,
        options.size,
        tune=options.tune,
        seed=options.seed,
        spreads=_spreads(table, units, pilot),
        scored=answers not in ("binary", "pairwise") and design is LabelDesign.BY_VERDICT,
        annotators=annotators,
        overlap=options.overlap,
    )
    at = datetime.now(UTC).isoformat(timespec="seconds")
    draw = LabelDraw(
        str(source), judge, criterion, str(design), options.seed, answers, at, chosen, options.stop
    )
    bare = [unit for unit in draw.drawn.values() if unit.id not in stimuli]
    if bare:
        pair = "response_1=COLUMN,response_2=COLUMN"
        example = pair if table.is_pairwise else "request=COLUMN,response=COLUMN"
        raise DataError(
            f"{source}: no texts to show for {len(bare):,} of {pluralize(len(draw.drawn), 'drawn item')}, "
            f"expected what people are to label; name its columns, as in --texts {example}."
        )
    shown = [_stimulus(unit, draw, stimuli[unit.id], rubric) for unit in draw.drawn.values()]
    return draw, shown


def frame_units(
    table: RatingsTable, judge: str, criterion: str, design: LabelDesign, pilot: Path | None
) -> list[FrameUnit]:
    """What could be drawn; units of the pilot, and those with a label in the file, have that part."""
    scores: dict[UnitId, list[float]] = {}
    strata: dict[UnitId, str] = {}
    for row in table.ratings:
        key = row.item, row.system, row.versus
        if row.rater == judge and row.criterion == criterion and row.value is not None and row.split != TUNE:
            scores.setdefault(key, []).append(row.value)
            strata[key] = row.stratum
    if not scores:
        raise DataError(f"{table.name}: no item with a verdict of {judge!r} found; name another judge.")
    ids = sorted(scores)
    means = np.array([fmean(scores[key]) for key in ids])
    if design is LabelDesign.STRATA:
        levels = [strata[key] for key in ids]
        if len(set(levels)) < 2:
            raise DataError(
                f"{table.name}: --design strata without strata, expected a column stratum; add it with "
                "--columns stratum=COLUMN."
            )
    elif design is LabelDesign.BY_VERDICT:
        few = len(np.unique(means)) <= MOST_LEVELS
        levels = [f"{mean:g}" for mean in means] if few else [f"bin {level + 1:02}" for level in bins(means)]
    else:
        levels = ["all"] * len(ids)
    before = {} if pilot is None else _pilot_keys(pilot)
    labelled = {(row.item, row.system, row.versus) for row in table.ratings if row.kind == HUMAN}
    parts = [PILOT if key in before else LABELLED_BEFORE if key in labelled else "" for key in ids]
    rows = zip(ids, means.tolist(), levels, parts, strict=True)
    return [
        FrameUnit(item, mean, level, system, versus, part, before.get((item, system, versus), ""))
        for (item, system, versus), mean, level, part in rows
    ]


def _scale(table: RatingsTable, ratings: RatingOptions, judge: str) -> str:
    """What people are asked: the scale of the verdicts, where they show one."""
    ends = score_scale(table, Subject.of(ratings)).ends
    if table.is_pairwise:
        return scale_name(Pairwise())
    scores = [row.value for row in table.ratings if row.value is not None and row.rater == judge]
    if ends == SHARE and set(scores) <= {0.0, 1.0}:
        return scale_name(Binary())
    if ends in (None, SHARE) or ends not in USUAL_ENDS:
        raise ConfigError(
            f"{table.name}: scores from {min(scores):g} to {max(scores):g} found, which name no scale for "
            "people; say --scale binary, or a range such as 1-5."
        )
    return scale_name(Ordinal(*map(int, ends)))


def _spreads(table: RatingsTable, units: Sequence[FrameUnit], pilot: Path | None) -> dict[str, float]:
    """How labels of each level spread, from the pilot or the file; without labels all alike."""
    values: dict[str, list[float]] = {unit.level: [] for unit in units}
    level = {unit.id: unit.level for unit in units}
    if pilot is not None:
        with closing(LabelSession(pilot)) as session:
            draw, labels = session.recorded, drawn_labels(session)
        for key, unit in draw.drawn.items() if draw else ():
            if labels.get(key) and unit.id in level:
                values[level[unit.id]].append(fmean(labels[key].values()))
    else:
        for row in table.ratings:
            if row.kind == HUMAN and row.value is not None and (row.item, row.system, row.versus) in level:
                values[level[row.item, row.system, row.versus]].append(row.value)
    every = [value for group in values.values() for value in group] or [0.0, 1.0]
    low, reach = min(0.0, *every), max(1.0, *every) - min(0.0, *every)
    made = {}
    for name, group in values.items():
        mean = ((sum(group) - low * len(group)) / reach + 0.5) / (len(group) + 1)
        made[name] = float(np.sqrt(mean * (1 - mean)))
    return made


def _pilot_keys(pilot: Path) -> dict[UnitId, str]:
    """Keys of the pilot's units; a pilot with a test part is an own draw."""
    draw = LabelDraw.read(pilot)
    if any(unit.part == TEST for unit in draw.drawn.values()):
        raise ConfigError(
            f"{pilot}: has a test part, expected a pilot of labels for tuning alone; draw a pilot with "
            "--tune as large as -n."
        )
    return {unit.id: key for key, unit in draw.drawn.items()}


def _texts(source: Path, how: RatingColumns, texts: Mapping[str, str]) -> dict[UnitId, Stimulus]:
    """What annotators are shown of each unit; nothing where the file has no texts."""
    if source.is_dir():
        folder = RunFolder(source)
        task = load_snapshot(folder.study).task if folder.study.exists() else None
        made = {}
        for each in StimulusSet.read(folder.stimuli) if folder.stimuli.exists() else ():
            if each.kind == ORIGINAL and each.texts_known:
                instruction = each.instruction or (task.instruction if task else None)
                rubric = each.rubric or (task.rubric if task else None)
                shown = replace(each, instruction=instruction, rubric=rubric)
                made[each.lineage.parent, "", ""] = shown
        return made
    if holds_log(source) or export_of(source) is not None:
        return {}
    return _file_texts(source, how, texts or _known_parts(source, how))


def _known_parts(source: Path, how: RatingColumns) -> dict[str, str]:
    raters = (*how.judges, *how.people)
    finder = ColumnFinder(flattened(read_table(source)), {}, option="--texts", taken=raters)
    finder.take(*(ColumnPart(part, f"the {part}", (part,), TEXT) for part in TEXT_PARTS))
    if "response" not in finder.columns:  # as `import` takes it
        finder.take(ColumnPart("response", "the text", ("text",), TEXT))
    return finder.columns


def _file_texts(source: Path, how: RatingColumns, parts: Mapping[str, str]) -> dict[UnitId, Stimulus]:
    made = {}
    for key, found in item_texts(source, how, parts).items() if parts else ():
        pair = [found[part] for part in ("response_1", "response_2") if part in found]
        responses = tuple(pair) if key[2] else (found.get("response", ""),)
        if len(responses) == (2 if key[2] else 1) and any(responses):
            kind, request = NATURAL if key[2] else ORIGINAL, found.get("request", "")
            nobody = Lineage("", "none", author="source")
            made[key] = Stimulus("", ORIGINAL, kind, "", "all", request, responses, Unknown(), nobody)
    return made


def _stimulus(unit: FrameUnit, draw: LabelDraw, found: Stimulus, rubric: str | None) -> Stimulus:
    """The drawn unit as its annotators see it: without its id, system, verdict and stratum."""
    return replace(
        found,
        id=unit.key,
        cluster=unit.key,
        stratum="all",
        expectation=Unknown(),
        lineage=Lineage(unit.key, "none", author="source"),
        rubric=rubric or found.rubric,
        scale=draw.scale if len(found.texts) == 1 else None,
        authors=None,
        failing=None,
    )


def _write_folder(out: Path, draw: LabelDraw, shown: Sequence[Stimulus], pilot: Path | None) -> None:
    """The folder appears whole: it is written beside its place and renamed."""
    beside = out.with_name(out.name + ".part")
    shutil.rmtree(beside, ignore_errors=True)
    try:
        beside.mkdir(parents=True)
        StimulusSet.of(shown).write(beside / STIMULI)
        atomic_write_text(beside / DRAW_FILE, draw.file_text())
        with closing(LabelSession(beside)) as session:
            if pilot is not None:
                copy_labels(pilot, session)
            for name in draw.annotators or ("",):
                sheet = f"sheet-{name}.csv" if name else SHEET
                atomic_write_text(beside / sheet, sheet_text(session, name))
        if out.exists():
            out.rmdir()
        beside.rename(out)
    except OSError as error:
        raise write_error(out, error) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
