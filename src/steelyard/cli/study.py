"""From the options of a command to its study and its run limits, and back to a command line for a rerun."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from steelyard.cli.options import StudyOptions, data_overrides, until_setting
from steelyard.cli.output import FULL, print_note, warn
from steelyard.core.settings import flag, setting

if TYPE_CHECKING:
    from steelyard.authoring.open_study import GenerationPlan
    from steelyard.run_folder.run_folder import RunFolder
    from steelyard.runner.limits import RunLimits
    from steelyard.runner.session import Progress
    from steelyard.study.study import Study
    from steelyard.study.study_files import Consent


def open_study(
    options: StudyOptions, accept_all: bool = False, *, calls: bool = True, quiet: bool = False
) -> tuple[Study, RunFolder, GenerationPlan | None]:
    """The study, its folder and its writers; without `calls`, no code of a `python/…` judge is run."""
    from steelyard.authoring import open_study as opening
    from steelyard.run_folder.resume import with_found_readers
    from steelyard.run_folder.run_folder import RunFolder

    given: dict[str, Any] = {name: getattr(options, name) for name in ("profile", "seed", "replicates")}
    given |= {"judges": list(options.judges) or None, "probes": list(options.probes) or None}
    overrides = {name: value for name, value in given.items() if value is not None}
    opened = opening.open_study(
        options.study,
        overrides | data_overrides(options),
        "command line",
        consent_of(options.yes),
        prompt=options.prompt,
        answers=reply_words(options),
        literals=options.literals,
        accept_all=accept_all,
        calls=calls,
        runs_code=calls,
    )
    study, generation = replace(opened.study, command=argv_for_rerun()), opened.generation
    for note in (*study.notes, *(generation.roles.cautions(study.judges) if generation else ())):
        if not quiet:
            warn(note)
    folder = options.folder or RunFolder.default(study)
    return with_found_readers(study, folder), folder, generation


def reply_words(options: StudyOptions) -> str | None:
    """The map of words in replies; the usual words of yes and no count beside `--values`."""
    from steelyard.core.validation import parse_map
    from steelyard.tasks.task import BINARY_WORDS

    for old in ("labels", "answers"):
        if getattr(options, old) is not None:
            warn(f"--{old}: is called --values, and this spelling ends with the next release.")
    if options.answers is not None or options.values is None:
        return options.answers
    given = parse_map(options.values, "--values", "WORD=ANSWER", "sound=1,unsound=0")
    words = {word.casefold(): answer for word, answer in given.items()}
    if words.items() <= BINARY_WORDS.items():
        return None
    is_binary = {*words.values()} <= {"0", "1"} and not words.keys() & BINARY_WORDS.keys()
    return ",".join(f"{w}={a}" for w, a in ({**BINARY_WORDS, **given} if is_binary else given).items())


def consent_of(given: tuple[str, ...]) -> Consent:
    """What the user says to a study file: by --yes, on a terminal when asked; one answer for a command."""
    from steelyard.study.study_files import Consent

    def ask(deed: str) -> bool:
        print_note(deed)
        return click.confirm("Go on?", err=True)

    asks = ask if sys.stdin is not None and sys.stdin.isatty() else None
    context = click.get_current_context(silent=True)
    consent = Consent(frozenset(given), asks, print_note)
    return consent if context is None else context.meta.setdefault(__name__, consent)


def print_destinations(options: StudyOptions, study: Study, generation: GenerationPlan | None = None) -> None:
    """Say before the first call where a study file sends calls and keys, and which keys are of a `.env`."""
    from steelyard.core.dotenv import file_of_key
    from steelyard.providers.provider import destinations

    judges = [judge.name for judge in study.judges]
    of_file = options.study is not None and set(options.judges) <= set(judges)
    judges = [] if of_file else judges
    writers = () if generation is None else generation.roles.models
    for name, place in destinations((*study.judges, *writers)).items():
        if name not in judges or file_of_key(place.key_variable or ""):
            print_note(f"calls of {name} {place.text}.")


def with_reference(study: Study, folder: RunFolder, limits: RunLimits, progress: Progress) -> Study:
    from steelyard.authoring.open_study import with_reference_labels

    labelled = with_reference_labels(study, folder, limits, progress)
    for note in labelled.notes if study.reference else ():
        warn(note)
    return labelled


def run_limits(options: StudyOptions) -> RunLimits:
    from steelyard.runner.limits import RunLimits

    return RunLimits(
        concurrency=options.concurrency,
        attempts=options.attempts,
        backoff=options.backoff,
        call_timeout=options.timeout,
        preflight=not options.no_preflight,
        budget=options.budget,
        engine=options.engine,
    )


VERDICT, RULE = "verdict", "dark_current<0.10"
"""What `--until` takes: this word, or a rule such as this one."""


@dataclass(frozen=True, kw_only=True)
class MeasureOptions(StudyOptions):
    until: str | None = until_setting()
    decide: str | None = setting("Earlier spelling of --until RULE.", "RULE", hidden=True)
    cap: int | None = setting("Maximum number of pairs for a rule of --until [all].", "N", kind="count")
    batch: bool = flag("Use the vendor's batch API: about half the price, results within hours.")
    batch_size: int | None = setting("Calls per batch, at most [what the vendor takes].", "N", kind="count")
    poll: float = setting("Seconds between batch status checks.", "SECONDS", default=60.0, kind="positive")
    accept_all: bool = flag("Treat generated texts still pending review as accepted.")
    dry_run: bool = flag("Print the plan and stop.")
    full: bool = flag(FULL, late=True)
    as_json: bool = flag("Print datasheet.json instead of the datasheet.", ("--json",), late=True)

    @property
    def limits(self) -> RunLimits:
        limits = replace(run_limits(self), batch=self.batch, poll=self.poll)
        return limits if self.batch_size is None else replace(limits, batch_size=self.batch_size)


RERUN_PARAMETERS = (
    *("study", "judges", "probes", "scale", "profile", "until", "replicates", "seed", "out"),
    *("data", "columns", "values", "labels", "adapter", "stratify", "sample", "where", "preprocess"),
    *("failing", "rubric", "checklists", "prompt", "literals", "answers"),
)
"""Parameters that decide what is measured and where it is saved; the others decide speed and output."""


def argv_for_rerun() -> tuple[str, ...] | None:
    context = click.get_current_context(silent=True)
    if context is None:
        return None
    return tuple(word for parameter in context.command.params for word in _words(context, parameter))


def _words(context: click.Context, parameter: click.Parameter) -> Iterator[str]:
    name = parameter.name or ""
    source = context.get_parameter_source(name)
    if name not in RERUN_PARAMETERS or source in (None, ParameterSource.DEFAULT):
        return
    option = min(parameter.opts, key=len)
    value = context.params[name]
    if name == "until" and value != VERDICT:
        return  # what was decided by a rule is measured without it
    for each in value if isinstance(value, tuple) else (value,):
        if isinstance(parameter, click.Option):
            yield option
        yield str(each)
