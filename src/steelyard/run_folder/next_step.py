"""The next step for a judge: a command with its calls and dollars, or a remedy as a judge of its own."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, pairwise
from math import ceil

import numpy as np
import yaml

from steelyard.core.text import plural, pluralize, round_up
from steelyard.datasheet.conclusion import CARE, NO_FAULT, TOO_LITTLE, UNFIT, Conclusion, NextStep, Step
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.estimate_index import JudgeEstimates
from steelyard.datasheet.numbers import dollars
from steelyard.datasheet.questions.causes import Advice, Cause
from steelyard.datasheet.questions.questions import question_of
from steelyard.metrics.faults import Faults
from steelyard.metrics.findings import INCONCLUSIVE
from steelyard.metrics.scores.edited_texts import BY_RULE, UNACCEPTED
from steelyard.probes.probe import POINTWISE, SUITES, form_of
from steelyard.run_folder.run_folder import RunFolder
from steelyard.run_folder.sample_size_hint import RemedyJudge, SampleSizeHint, sample_size_hint
from steelyard.runner.costs import CallPrices
from steelyard.runner.record import RunRecord, submitted
from steelyard.stimuli.ladder import PROFILES
from steelyard.study.composite_judges import address_of
from steelyard.study.planner import RUN_PROBES, Plan, count_calls, default_probes, probe_specs
from steelyard.study.study import Study, positional_words, with_larger_sample, without_options
from steelyard.study.task_config import pack_draw, runs_draw
from steelyard.tasks.task import Item, parse_scale
from steelyard.trials.judge import Judge

LARGER = {"quick": "standard", "standard": "full"}
GATE = "decide by a policy, `default` or a file of your own, whether it may be used"
TRY_FIRST = "after the change, try one call with `steelyard doctor`"
ACCEPT = (
    "have a person (`steelyard review`) or a second model (as validator) accept the written texts, and "
    "measure again"
)
LABEL_RUNS = "add labelled runs that fail as they are, and measure again"


def with_next_steps(sheet: Datasheet, plan: Plan, record: RunRecord) -> Datasheet:
    """The datasheet, each verdict with what to do next; where that can not be told, the sheet stands."""
    faults = Faults()
    steps = _NextSteps(sheet, plan, record)
    made = faults.guarded(
        "", "next step", lambda: {v.judge: steps.step(v) for v in sheet.verdicts}, lambda _: {}
    )
    sheet = with_steps(sheet, made)
    return replace(sheet, faults=(*sheet.faults, *faults.found))


def with_steps(sheet: Datasheet, steps: Mapping[str, NextStep]) -> Datasheet:
    verdicts = tuple(replace(verdict, next=steps.get(verdict.judge)) for verdict in sheet.verdicts)
    return replace(sheet, next_steps=steps, verdicts=verdicts)


def unaccepted_step(sheet: Datasheet, verdict: Conclusion, accept: str) -> str | None:
    """What to do where all that is known rests on texts or runs that nobody but their maker accepted."""
    merits = JudgeEstimates(verdict.judge, sheet.look_up).merits()
    reasons = {each.reason for each in merits} if verdict.word == TOO_LITTLE else set()
    if verdict.advice is Advice.HAVE_ACCEPTED or UNACCEPTED.code in reasons:
        return accept
    return LABEL_RUNS if verdict.advice is Advice.LABEL_RUNS or BY_RULE.code in reasons else None


@dataclass(frozen=True)
class _NextSteps:
    sheet: Datasheet
    plan: Plan
    record: RunRecord
    known: dict[str, int | None] = field(default_factory=dict)
    judge: str = ""
    """The only judge of the next measurement; empty where there is one anyway."""

    def step(self, verdict: Conclusion) -> NextStep:
        """What to do next with one judge; of several, a new measurement is of this one alone."""
        alone = replace(self, judge=verdict.judge, known={}) if len(self.sheet.verdicts) > 1 else self
        return alone._step(verdict)

    def _step(self, verdict: Conclusion) -> NextStep:
        run, advice = self.sheet.facts, verdict.advice
        unreadable = Cause.UNREADABLE in verdict.causes
        if run.partial and (verdict.word != UNFIT or unreadable):
            unread = advice is Advice.NO_SERVER or verdict.word == UNFIT
            purpose = f"{TRY_FIRST}, then finish the run" if unread else "finish the run"
            return self._resume_step(purpose, Step.FINISH)
        if advice is Advice.NO_SERVER:
            return self._resume_step("have the failed calls asked again", Step.ASK_AGAIN)
        lost = unreadable or Cause.FAILED in verdict.causes
        open_by_losses = verdict.word == TOO_LITTLE and advice is not Advice.MOST_LOST
        if open_by_losses and (step := self._loss_step(verdict)) is not None:
            return step
        if advice is Advice.MOST_LOST or (verdict.word in (TOO_LITTLE, UNFIT) and lost):
            return self._repeat_step(f"{TRY_FIRST}, then measure again")
        if (accept := unaccepted_step(self.sheet, verdict, ACCEPT)) is not None:
            return NextStep(accept, step=Step.FIX_AND_REPEAT.name)
        needs_change = verdict.word in (UNFIT, CARE)
        own = self._study.source is not None
        mine = self._study.profile
        # On built-in texts at least standard, and larger where nothing is to be cured.
        profile = mine if own or (needs_change and mine != "quick") else LARGER.get(mine)
        remedy = RemedyJudge.of(self.sheet, verdict, self._study)
        if remedy is not None and advice is Advice.STILL_NOISY and not self.sheet.smoke_test:
            return self._remedy_step(remedy, self._study.profile)
        if remedy is not None and verdict.word == CARE and profile is not None:
            return self._remedy_step(remedy, profile)
        if own and needs_change:
            return self._repeat_step("after the change, measure again")
        if own and verdict.causes:
            # What fails its limit with the whole interval fails it with more labels too.
            fault = (verdict.judge, question_of(verdict.causes[0]))
            named = next(d for d in self.sheet.findings if (d.judge, d.question) == fault).printed_name
            return self._repeat_step(f"change the judge, whose fault is “{named}”, then measure again")
        if own:
            nothing = advice is Advice.NOTHING_OPEN
            rows = None if nothing else sample_size_hint(self.sheet, verdict.judge)
            if rows is None:
                return self._gate_step
            return self._repeat_step(rows.advice) if rows.at_limit else self._rows_step(rows)
        if advice is Advice.NOTHING_OPEN or (profile is None and verdict.word == NO_FAULT):
            return self._gate_step
        if advice is Advice.NOT_MEASURED and self._study.command is not None:
            return self._merit_step()
        if profile in (None, self._study.profile):
            # Merit that the largest profile leaves open lies on its limit: only a change decides it.
            return self._repeat_step("after the change, measure again")
        if verdict.word == TOO_LITTLE and self._can_grow:
            return self._until_step()
        size = f"measure at {profile} size"
        kind = Step.FIX_AND_REPEAT if needs_change else Step.LARGER
        return self._measure_step(kind, f"after the change, {size}" if needs_change else size, profile)

    def _loss_step(self, verdict: Conclusion) -> NextStep | None:
        """What brings the verdicts that are missing, where these alone keep merit open."""
        merits = JudgeEstimates(verdict.judge, self.sheet.look_up).merits()
        lost = [each.excluded for each in merits if each.status == INCONCLUSIVE and each.missing_decides]
        if not lost:
            return None
        alone = "which alone keep open whether it tells good from bad"
        if any(each.get("unreadable") for each in lost):
            return self._repeat_step(
                f"look at the replies that could not be read, {alone}; {TRY_FIRST}, then measure again"
            )
        return self._resume_step(f"have the failed calls asked again, {alone}", Step.ASK_AGAIN)

    def _rows_step(self, rows: SampleSizeHint) -> NextStep:
        """More rows: first labelled ones that are there and were not shown, then such as people label."""
        study, words = self._study, self._study.command or ()
        left = sum(item.label is not None for item in study.undrawn)
        seen = {stimulus.lineage.parent for stimulus in self.plan.stimuli} - {None}
        # A study read back from its folder has no items, only those that were shown.
        drawn = sum(item.label is not None for item in study.items) if left else len(study.items or seen)
        short = self._short_probes
        hidden = sum(item.label is not None and item.id not in seen for item in study.items) if short else 0
        shown = drawn - hidden
        wanted = ceil(round(shown * rows.growth, 6))
        advice, growth = rows.advice, rows.growth
        if shown and (left or hidden):
            wanted = min(wanted, drawn + left)
            growth = wanted / shown
            every, did = pluralize(drawn + left, "labelled row"), "showed" if hidden else "drew"
            verb = "show" if hidden else "draw"
            advice = f"{verb} {wanted:,} of the {every}, of which this run {did} {shown:,}"
        places = []
        if study.source is not None and "sample" in study.source.settings and "--sample" not in words:
            places += ["under `data`"] if wanted > drawn or not hidden else []
        if hidden:
            places += [f"for {probe}" for probe, sample in short.items() if sample is None or sample < wanted]
        size = wanted if hidden or not left else ceil(round(len(study.items) * growth, 6))
        if places:
            file = next(iter(positional_words(words)), None)
            advice += f", with `sample: {size}` {' and '.join(places)}{f' of {file}' if file else ''}"
        lacks = rows.lacks_column(words)
        advice += ", in a column `label`" if lacks else ""
        step = self._measure_step(Step.MORE_ROWS, f"{advice}, and measure again", study.profile, growth)
        return replace(step, command=rows.command(step.command)) if lacks and step.command else step

    @property
    def _short_probes(self) -> dict[str, int | None]:
        """Probes with a sample of their own, to its size; None where it is one of each stratum."""
        given = {spec.name: spec.args.get("sample") for spec in self._study.probes}
        return {n: size if isinstance(size, int) else None for n, size in given.items() if size is not None}

    @property
    def _gate_step(self) -> NextStep:
        words = self._study.command
        folder = next((given for option, given in pairwise(words or ()) if option == "--out"), None)
        folder = folder or RunFolder.default(self._study).path.as_posix()
        return NextStep(
            GATE, None if words is None else shlex.join(("steelyard", "gate", folder, "--policy", "default"))
        )

    @property
    def _unanswered(self) -> int | None:
        """Calls that the same command makes: those that were never asked, and those that failed."""
        run = self.sheet.facts
        left = run.planned - int(self.sheet.run.get("calls") or 0) - run.handed_in
        return left if left > 0 or run.handed_in else None

    @property
    def _study(self) -> Study:
        return self.plan.study

    def _remedy_step(self, remedy: RemedyJudge, profile: str) -> NextStep:
        study, words = self._study, self._study.command
        file = None if words is None else next(iter(positional_words(words)), None)
        composite = yaml.safe_load(remedy.definition)
        address = None if words is None else address_of(composite, self._judge_arguments(words))
        beside = () if address else study.under_test
        calls = None
        if self._countable:
            # A plan shows what each member is asked where every one of them was measured itself.
            measured = {judge.name for judge in self.plan.trials.judges}
            covered = {one.name for one in remedy.judge.leaf_judges} <= measured
            if study.source is not None or (profile == study.profile and covered):
                calls = remedy.count_in_plan(self.plan, beside)
            else:
                calls = sum(count_calls(self._resized(profile), (*beside, remedy.judge)))
        if words is not None:
            dropped = ["--out", *(["-j"] if address else [])]
            dropped += ["--profile", "--until"] if study.source is None else []
            words = (
                *without_options(words, *dropped),
                *(("-j", address) if address else ()),
                *(("--profile", profile) if study.source is None else ()),
            )
        purpose = f"measure it with its remedy, {remedy.title}"
        if words is None:
            purpose += f": {remedy.definition}"
        elif not address:
            purpose += f": add {remedy.definition} to the judges{f' of {file}' if file else ''}, then"
        price = self._at_rate(calls, (*beside, remedy.judge))
        return self._priced(Step.REMEDY, purpose, words, calls, price)

    def _judge_arguments(self, words: Sequence[str]) -> dict[str, str]:
        """Measured judges by name, as the command line has them; none where a study file does."""
        judges = self._study.under_test
        given = [value for option, value in pairwise(words) if option == "-j"]
        if not given and not list(positional_words(words)):
            given = [judge.name for judge in judges]  # those of a command that names none
        alike = len(given) == len(judges)
        return {judge.name: text for judge, text in zip(judges, given, strict=True)} if alike else {}

    def _merit_step(self) -> NextStep:
        """The probes that show whether it tells good from bad, where others were asked for."""
        study = self._study
        of_runs = any(stimulus.transcript is not None for stimulus in self.plan.stimuli)
        usual = RUN_PROBES if of_runs else default_probes(study.task, data=False)
        named = list(dict.fromkeys((*study.asked, *usual)))
        words = (*(self._words("-p") or ()), *chain(*(("-p", name) for name in named)))
        calls = None
        if self._countable and not set(named) & set(SUITES):
            calls = sum(count_calls(replace(study, probes=probe_specs(named, study.kit)), self._judges))
        purpose = "measure whether it tells good from bad"
        return self._priced(Step.LARGER, purpose, words, calls, self._at_rate(calls, self._judges))

    def _words(self, *dropped: str) -> tuple[str, ...] | None:
        """The command without its folder and these options, of the judge alone where it can name it."""
        if self._study.command is None:
            return None
        words, named = tuple(without_options(self._study.command, "--out", *dropped)), self._argument
        return words if named is None else (*without_options(words, "-j"), "-j", named)

    @property
    def _argument(self) -> str | None:
        """What the command line calls the judge: its address, or its name in a study file."""
        words = self._study.command or ()
        mine = next((judge for judge in self._study.under_test if judge.name == self.judge), None)
        if mine is not None and "-j" not in words and list(positional_words(words)):
            return mine.name if mine.leaf_judges == (mine,) else None
        return self._judge_arguments(words).get(self.judge)

    def _resume_step(self, purpose: str, kind: Step) -> NextStep:
        """The same command, which asks only what has no reply."""
        due = self._rates.pending_cost(submitted(self.record.store))
        return self._priced(kind, purpose, self._study.command, self._unanswered, due)

    def _repeat_step(self, purpose: str) -> NextStep:
        """The same study in a new folder, for the old one would only replay its replies."""
        purpose = f"{purpose}; the new folder repeats every call"
        return self._measure_step(Step.FIX_AND_REPEAT, purpose, self._study.profile, afresh=True)

    def _measure_step(
        self, kind: Step, purpose: str, profile: str, growth: float = 1.0, *, afresh: bool = False
    ) -> NextStep:
        """The study once more, in a folder of its own, on so many rows for each that there is."""
        built_in = self._study.source is None
        words = self._words(*(("--profile", "--until") if built_in else ()))
        if words is not None:
            words = (*words, "--profile", profile) if built_in else tuple(with_larger_sample(words, growth))
        if words is not None and afresh:
            words = (*words, "--out", RunFolder.another(self._study).path.as_posix())
        if profile not in self.known:
            self.known[profile] = self._calls(profile)
        calls = self.known[profile]
        if calls is not None and growth > 1:
            calls = round_up(ceil(round(calls * growth, 6)))
        cost = self._at_rate(calls, self._judges)
        return self._priced(kind, purpose, words, calls, cost)

    @property
    def _can_grow(self) -> bool:
        """Whether `--until verdict` takes the study, which is of the smallest size."""
        study = self._study
        return study.profile == PROFILES[0] and self._countable and study.looks is None

    def _until_step(self) -> NextStep:
        """The next sizes in turn, up to the one that decides; priced as the largest."""
        words = self._words("--profile", "--until")
        words = None if words is None else (*words, "--until", "verdict")
        calls = self._calls(PROFILES[-1])
        cost = self._at_rate(calls, self._judges)
        step = self._priced(Step.LARGER, "measure until it is decided", words, calls, cost)
        return replace(step, price=f"at most {step.price}" if step.price else "")

    def _calls(self, profile: str) -> int | None:
        """Calls of the judges at a profile; None where others speak before them."""
        study = self._study
        if not self._countable:
            return None
        if self._alone is not None and (study.source is not None or profile == study.profile):
            alone = self.plan.trials.of_judge(self.judge)
            return None if self._alone.leaf_judges != (self._alone,) else int(np.count_nonzero(alone))
        if study.source is not None:
            return self.sheet.facts.planned or None
        if profile == study.profile and study.decides is None:
            return self.record.coverage(self.plan.trials).own.planned
        return sum(count_calls(self._resized(profile), self._judges))

    @property
    def _alone(self) -> Judge | None:
        """The judge that is measured alone, where the command line can name it."""
        every = self._study.under_test if self._argument is not None else []
        return next((judge for judge in every if judge.name == self.judge), None)

    @property
    def _judges(self) -> list[Judge]:
        return self._study.under_test if self._alone is None else [self._alone]

    @property
    def _countable(self) -> bool:
        """No other model speaks before the judges do."""
        study = self._study
        return study.writers is None and study.reference is None and not self.sheet.authored

    def _resized(self, profile: str) -> Study:
        return replace(self._study, profile=profile, items=tuple(self._items(profile)))

    def _items(self, profile: str) -> Iterator[Item]:
        if any(stimulus.transcript is not None for stimulus in self.plan.stimuli):
            yield from runs_draw(profile, self._study.seed)
        elif form_of(self._study.task) == POINTWISE:
            scales = {stimulus.scale for stimulus in self.plan.stimuli if stimulus.scale is not None}
            scale = parse_scale(*scales) if len(scales) == 1 else None
            yield from pack_draw(scale, profile, self._study.seed)

    def _priced(
        self, kind: Step, purpose: str, words: Sequence[str] | None, calls: int | None, cost: float | None
    ) -> NextStep:
        if words is not None and self._in_batches:
            words = (*words, "--batch")  # at the price of this run, which batches made
        command = None if words is None else shlex.join(("steelyard", "measure", *words))
        price = _price(calls, cost, self.sheet.facts.handed_in)
        return NextStep(purpose, command, price, calls, cost, kind.name)

    @cached_property
    def _in_batches(self) -> bool:
        return bool(self.sheet.run.get("batched_calls") or self.sheet.facts.handed_in)

    @cached_property
    def _rates(self) -> CallPrices:
        return CallPrices(self.record.answers(self.plan.trials), self._in_batches)

    def _at_rate(self, calls: int | None, judges: Iterable[Judge]) -> float | None:
        """Dollars at the price per call of this run; None where a price is not known."""
        rate = None if calls is None else self._rates.per_call(judges)
        return None if rate is None or calls is None else round(rate * calls, 6)


def _price(calls: int | None, cost: float | None, waiting: int = 0) -> str:
    """`1,200 calls, about $0.12`, without those that wait in batches; nothing where they are not known."""
    if calls is None:
        return ""
    before = (
        f"{pluralize(waiting, 'call')} {plural(waiting, 'was', 'were')} submitted before" if waiting else ""
    )
    if waiting and not calls:
        return before
    price = "price unknown" if cost is None else f"about {dollars(cost)}" if cost else "free"
    return f"{pluralize(calls, 'call')}, {price}{'; ' if waiting else ''}{before}"
