"""From a study file to a study whose calls can be made: one way for the command line and for Python.

Nothing outside the folder of a study file is read, and no key goes to an address of its choice, before the
user has consented.

The reference judge is asked first of all, and each call paid once: the reply to an unlabelled item is filed
under the labelled one as soon as its verdict is known, so that the measurement finds it answered. Labels stay
as they are once texts were written or the study is frozen.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from steelyard.authoring.author_client import (
    asks_own_score,
    author_exchange,
    editor_exchange,
    original_exchange,
    planner_exchange,
    questions_about,
    summarizer_exchange,
    validator_exchange,
)
from steelyard.authoring.drafts import RunDraft, run_draft, text_draft
from steelyard.authoring.validation import originals
from steelyard.core.foreign_code import without_code
from steelyard.core.text import plural, pluralize
from steelyard.errors import ConfigError, RunError
from steelyard.review.stimuli_file import all_accepted, under_review
from steelyard.review.votes import apply_review
from steelyard.run_folder.resume import check_replies, require_same_study, reread_replies
from steelyard.run_folder.run_folder import RunFolder
from steelyard.runner.costs import PlanRow, check_prices, plan_row, stored_cost
from steelyard.runner.limits import RunLimits
from steelyard.runner.record import RunRecord
from steelyard.runner.run_messages import TRANSIENT_REASONS, require_finished
from steelyard.runner.runner import Runner, run_async
from steelyard.runner.session import Progress
from steelyard.stimuli.brief import LONG, ORDINAL, PADDED, SHORT, Brief
from steelyard.stimuli.run_edits import EditPlan, PlanStep
from steelyard.stimuli.stimulus import Stimulus
from steelyard.store.authoring import AuthoredStimulus
from steelyard.store.run_store import RunStore
from steelyard.study.planner import make_plan, open_briefs, without_idle
from steelyard.study.role_config import parse_roles
from steelyard.study.roles import GRADE, Roles
from steelyard.study.study import Study, reference_trial, with_labels, with_placeholder_labels
from steelyard.study.study_copy import StudyCopy, copy_study
from steelyard.study.study_file import StudyConfig, build_study, open_config
from steelyard.study.study_files import Consent, check_keys
from steelyard.tasks.task import Item
from steelyard.tasks.transcripts.transcript import message
from steelyard.trials.judge import Judge
from steelyard.trials.prompt import expected_tokens
from steelyard.trials.trial import Exchange
from steelyard.verdicts.verdict import Decided

if TYPE_CHECKING:
    from steelyard.authoring.author import GenerationResult

LENGTHS = {LONG: 2.0, PADDED: 2.0, SHORT: 0.5}
"""Length of a text for each character of the item's response; 1 otherwise."""
ANSWER_TOKENS = 12
PLAN_TOKENS = 200
TOKENS_PER_WORD = 1.4


_Expected: TypeAlias = tuple[Exchange, int]
"""A call, and the tokens of its answer."""


def writing_rows(study: Study, roles: Roles, briefs: Sequence[Brief]) -> list[PlanRow]:
    groups: dict[tuple[str, str], list[_Expected]] = {}
    unlabelled: set[str] = set()
    for brief in briefs:
        calls = list(_expected_calls(study, roles, brief))
        if asks_own_score(brief) and brief.item.id not in unlabelled:
            unlabelled.add(brief.item.id)
            asked = original_exchange(roles.validator, GRADE, text_draft(brief, study, roles))
            calls.append((asked, ANSWER_TOKENS))
        for exchange, tokens in calls:
            groups.setdefault((exchange.judge.name, brief.probe), []).append((exchange, tokens))
    rows = [_row(judge, probe, expected) for (judge, probe), expected in groups.items()]
    synthetic = sum(brief.goal == ORDINAL for brief in briefs)
    if synthetic and roles.similarity_limit is not None and roles.embedder is not None:
        rows.append(_embedding_row(study, roles.embedder, synthetic))
    return sorted(rows, key=lambda row: row.judge)


def _expected_calls(study: Study, roles: Roles, brief: Brief) -> Iterator[_Expected]:
    if brief.edits_run:
        yield from _run_calls(roles, run_draft(brief, study, roles))
        return
    draft = text_draft(brief, study, roles)
    draft.text = brief.item.responses[0]
    length = expected_tokens(draft.text) * LENGTHS.get(brief.goal, 1.0)
    yield author_exchange(roles.author, draft, 0, study, roles), round(length)
    for question in questions_about(brief.goal):
        yield validator_exchange(roles.validator, question, draft), ANSWER_TOKENS


def _run_calls(roles: Roles, draft: RunDraft) -> Iterator[_Expected]:
    """As many edits as there may be, on the agent's last messages; what is summed up for them; a grade."""
    editing = roles.editing
    assert editing is not None
    places = draft.original.assistant_places[-editing.steps :]
    yield planner_exchange(editing, draft, 0), PLAN_TOKENS
    draft.plan = EditPlan("", tuple(PlanStep(place, "") for place in places))
    for step in draft.plan.steps:
        while (messages := draft.to_sum_up(step))[0]:
            exchange = summarizer_exchange(editing, draft, messages[0], 0)
            yield exchange, round(editing.summary_words * TOKENS_PER_WORD)
            draft.summed_up = messages[1]
        length = expected_tokens(message(step.number, draft.original.turns[step.place]))
        yield editor_exchange(editing, draft, step, 0), round(length)
    yield validator_exchange(editing.verifier, GRADE, draft), ANSWER_TOKENS


def _row(judge: str, probe: str, expected: Sequence[_Expected]) -> PlanRow:
    prompts = (message.content for exchange, _ in expected for message in exchange.messages)
    tokens = round(sum(map(expected_tokens, prompts))), sum(tokens for _, tokens in expected)
    return plan_row(expected[0][0].judge, judge, probe, len(expected), *tokens)


def _embedding_row(study: Study, embedder: Judge, synthetic: int) -> PlanRow:
    lengths = [expected_tokens(text) for text in dict.fromkeys(originals(study))]
    tokens = round(sum(lengths) + sum(lengths) / len(lengths) * synthetic)
    return plan_row(embedder, embedder.name, ORDINAL, len(lengths) + synthetic, tokens, 0)


TO_BE_WRITTEN = "to be written"
"""Author of a text that stands in for one that is not there yet."""


@dataclass(frozen=True)
class GenerationPlan:
    roles: Roles
    review: bool = False
    accept_all: bool = False
    source: StudyCopy | None = None
    """The study as a file that may lie anywhere; None where none was given."""

    def estimate(self, study: Study, folder: RunFolder) -> tuple[Study, list[PlanRow]]:
        """The study with the texts that lie in the folder, and what the others will take to be written.

        Items stand in for texts to be written and for those that wait, so that a plan counts their trials.
        """
        held: dict[str, Stimulus] = {}
        if folder.database.exists():
            with folder.store(read_only=True) as store:
                held = {name: AuthoredStimulus.of(row).stimulus for name, row in store.authored().items()}
        briefs = open_briefs(study)
        written = [held[brief.name] for brief in briefs if brief.name in held]
        reviewed, _ = apply_review(folder, under_review(written) if self.review else written, held)
        made = all_accepted(reviewed)
        missing = [brief for brief in briefs if brief.name not in held]
        rows = writing_rows(study, self.roles, missing)
        return replace(study, authored=(*made, *stand_ins(study, missing))), rows

    def generate(
        self, study: Study, folder: RunFolder, limits: RunLimits, progress: Progress | None = None
    ) -> tuple[Study, GenerationResult]:
        """The study with its texts, written now or before; what would be refused later is refused first."""
        from steelyard.authoring.author import author

        make_plan(self.estimate(study, folder)[0])
        if folder.study.exists():
            with folder.locked():
                reread_replies(folder, study)
        require_same_study(folder, study)
        made = author(
            study,
            self.roles,
            folder,
            limits,
            progress,
            review=self.review,
            accept_all=self.accept_all,
            source=self.source,
        )
        return replace(study, authored=made.stimuli), made


def generation_plan(config: StudyConfig, accept_all: bool = False) -> GenerationPlan | None:
    if config.author is None:
        for key in ("validator", "editing", "review"):
            if getattr(config, key):
                raise ConfigError(
                    f"{key}: found one without an author, who would write; add author: {{model: …}}."
                )
        if accept_all:
            raise ConfigError("--accept-all: the study names no author, so nothing waits; leave it out.")
        return None
    roles = parse_roles(config.author, config.validator, config.editing)
    return GenerationPlan(roles, config.review, accept_all)


def stand_ins(study: Study, briefs: Sequence[Brief]) -> tuple[Stimulus, ...]:
    """The items' own responses in the place of texts to be written: a plan counts the calls of judges."""
    return tuple(
        brief.to_stimulus(
            brief.item.responses[0], study.task, TO_BE_WRITTEN, transcript=brief.item.transcript
        )
        for brief in briefs
    )


@dataclass(frozen=True)
class OpenedStudy:
    study: Study
    generation: GenerationPlan | None
    typed: frozenset[str]
    """Keys that the caller said in place of the file."""

    @property
    def judges_of_file(self) -> tuple[Judge, ...]:
        """Judges and writers that the study file names."""
        writers = () if self.generation is None else self.generation.roles.models_of(self.typed)
        return (*(() if "judges" in self.typed else self.study.judges), *writers)


def open_study(
    path: Path | None,
    overrides: Mapping[str, Any],
    source: str,
    consent: Consent,
    *,
    prompt: Path | None = None,
    answers: str | None = None,
    literals: Collection[str] = (),
    accept_all: bool = False,
    calls: bool = True,
    runs_code: bool = True,
) -> OpenedStudy:
    """The study and its writers; without `calls`, no key is asked about."""
    config, files, typed = open_config(path, overrides, source, consent)
    generation = generation_plan(config, accept_all)
    with nullcontext() if runs_code else without_code():
        study = build_study(config, Path() if path is None else path.parent, prompt, answers, literals)
    if generation is not None and path is not None:
        generation = replace(generation, source=copy_study(path, overrides, prompt, answers, literals))
    reads = tuple(str(file) for file in files if file.path.exists())
    opened = OpenedStudy(replace(study, reads=reads), generation, typed)
    if calls and path is not None:
        check_keys(path, opened.judges_of_file, consent)
    return opened


def with_expected_labels(study: Study, folder: RunFolder) -> Study:
    if study.reference is None or not folder.database.exists():
        return with_placeholder_labels(study)
    with folder.store(read_only=True) as store:
        return with_placeholder_labels(study, _stored_labels(study, store))


def plan_before_judges(
    study: Study, folder: RunFolder, generation: GenerationPlan | None
) -> tuple[Study, list[PlanRow]]:
    """The study as a plan sees it, and the calls of author and validator that come before its judges."""
    if study.reference is None:  # labels that a judge has yet to give are no labels of the folder
        require_same_study(folder, study)
    study = with_expected_labels(study, folder)
    return (study, []) if generation is None else generation.estimate(study, folder)


def with_reference_labels(
    study: Study, folder: RunFolder, limits: RunLimits, progress: Progress | None = None
) -> Study:
    if study.reference is None:
        return study
    check_prices(study.judges, limits)
    check_replies(folder)
    with folder.locked(), folder.store() as store:
        labels = _stored_labels(study, store)
        settled = folder.study.exists() or bool(store.authored())
        if not settled and len(labels) < len(study.items):
            record = RunRecord(store)
            known = [item for item in with_labels(study, labels).items if item.label is not None]
            trials = [reference_trial(study, item) for item in known]
            runner = Runner(record, limits, progress, stored_cost(trials, record.replies(trials)))
            unlabelled = [item for item in study.items if item.id not in labels]
            labels = {**labels, **_ask_reference(study, unlabelled, runner)}
    if not labels:
        raise RunError(
            f"data.reference: judge {study.reference} gave no readable verdict on any of "
            f"{pluralize(len(study.items), 'item')}; look at its replies, or name another judge."
        )
    missing = len(study.items) - len(labels)
    share = f"{missing} of {pluralize(len(study.items), 'item')}"
    lack = f"data.reference: judge {study.reference} gave no verdict on {share}"
    notes = (f"{lack}, which {plural(missing, 'has', 'have')} no reference.",) if missing else ()
    return without_idle(replace(with_labels(study, labels), notes=notes), ())


def _ask_reference(study: Study, items: list[Item], runner: Runner) -> dict[str, str]:
    """Verdicts on items without one; a reply is filed under the item as its verdict labels it."""
    store, trials = runner.store, [reference_trial(study, item) for item in items]
    session = run_async(runner, lambda runner: runner.run(trials))
    verdicts = {key: seen.verdict for key, seen in runner.record.by_trial(trials).items()}
    labels = {
        item.id: verdict.value
        for item, trial in zip(items, trials, strict=True)
        if isinstance(verdict := verdicts.get(trial.key), Decided)
    }
    store.move_replies(
        (trial, reference_trial(study, replace(item, label=labels[item.id])))
        for item, trial in zip(items, trials, strict=True)
        if item.id in labels
    )
    require_finished(session, "data.reference", "what was answered")
    failures = store.failures()
    waiting = [failures[t.key] for t in trials if t.key in failures]
    waiting = [failure for failure in waiting if failure.reason in TRANSIENT_REASONS]
    if waiting:
        raise RunError(
            f"data.reference: {len(waiting)} of {pluralize(len(trials), 'item')} "
            f"{plural(len(waiting), 'waits', 'wait')} for a reply "
            f"({waiting[0].message.rstrip('.?')}); what was answered is kept, run again to continue, or "
            "leave such items out."
        )
    return labels


def _stored_labels(study: Study, store: RunStore) -> dict[str, str]:
    answered = store.answered()
    return {
        item.id: label
        for item in study.items
        for label in (item.scale or study.task.scale).answers
        if reference_trial(study, replace(item, label=label)).key in answered
    }
