"""Decide a rule with as few calls as it takes: draw pairs at random, look, stop when the answer is clear."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from steelyard.commands.decision import (
    BUILT_IN,
    DecisionRule,
    InterimLook,
    StoppingDecision,
    side_of,
    write_decisions,
)
from steelyard.core.content_hash import rng_for
from steelyard.errors import ConfigError
from steelyard.metrics.pairs.columns import collect
from steelyard.metrics.pairs.decomposition import complete
from steelyard.metrics.scores.columns import collect_scores
from steelyard.probes.probe import POINTWISE
from steelyard.run_folder.resume import prepare_folder
from steelyard.run_folder.run_folder import RunFolder
from steelyard.run_folder.snapshot import load_snapshot
from steelyard.runner.costs import check_prices
from steelyard.runner.judge_run import JudgeQueue
from steelyard.runner.limits import RunLimits
from steelyard.runner.record import RunRecord
from steelyard.runner.run_messages import call_warnings, judges_without_verdicts, stop_reasons
from steelyard.runner.runner import Runner, run_async
from steelyard.runner.session import Progress, RunResult
from steelyard.stimuli.cues import CUES
from steelyard.stimuli.original import ORIGINAL
from steelyard.stimuli.stimulus import Label
from steelyard.study.planner import Plan, make_plan
from steelyard.study.study import Study
from steelyard.tasks.task import parse_scale
from steelyard.trials.judge import Judge
from steelyard.trials.trial import Trial
from steelyard.verdicts.observations import Observation, Observations
from steelyard.verdicts.verdict import Failed, Unreadable

UNITS_PER_LOOK = 5

MAX_UNREADABLE = 15
"""Pairs without a readable verdict after which a judge is asked no more."""

PROFILE = "full"
"""Pairs are drawn from the whole catalogue; a later measurement with this profile finds its calls paid."""

Unit = tuple[Trial, ...]


@dataclass(frozen=True)
class Decisions(RunResult):
    """The result of `measure --until RULE`; an inconclusive decision is a result, and no error."""

    folder: RunFolder
    decisions: tuple[StoppingDecision, ...]


class JudgeSequence:
    """One judge on its way to a decision; every look can be rebuilt from the store."""

    def __init__(
        self, judge: Judge, rule: DecisionRule, units: Sequence[Unit], log: Callable[[], None]
    ) -> None:
        self.judge = judge
        self.rule = rule
        self.units = units
        self.looks: list[InterimLook] = []
        self._log = log

    @property
    def trials(self) -> list[Trial]:
        return [trial for unit in self.units for trial in unit]

    @property
    def decision(self) -> StoppingDecision:
        fingerprint = self.judge.fingerprint("base")
        return StoppingDecision(self.judge.name, fingerprint, self.rule, len(self.units), tuple(self.looks))

    def batches(self, record: RunRecord) -> Iterator[list[Trial]]:
        """Open trials up to the next look, until the rule is decided, the cap reached or all unreadable."""
        calls, excluded, shares, is_readable = 0, 0, list[float](), False
        withdrawn = record.withdrawn
        for start in range(0, len(self.units), UNITS_PER_LOOK):
            sampled = self.units[start : start + UNITS_PER_LOOK]
            answered = record.store.answered()
            still = [trial for unit in sampled for trial in unit if trial.key not in answered]
            if still:
                yield still
            if record.withdrawn != withdrawn:  # replies of earlier looks may be among them: all count anew
                withdrawn, sampled = record.withdrawn, self.units[: start + UNITS_PER_LOOK]
                calls, excluded, shares, is_readable = 0, 0, [], False
            seen = record.by_trial([trial for unit in sampled for trial in unit])
            is_readable |= any(not isinstance(o.verdict, (Unreadable, Failed)) for o in seen.values())
            for unit in sampled:
                known = [seen[trial.key] for trial in unit if trial.key in seen]
                share = share_of(self.rule, known) if len(known) == len(unit) else None
                calls += len(known)
                excluded += share is None
                shares += [] if share is None else [share]
            self.looks.append(InterimLook.at(len(shares), excluded, calls, sum(shares)))
            self._log()
            decided = side_of(self.rule.share_limit, sum(shares), len(shares))
            if decided or (not is_readable and excluded >= MAX_UNREADABLE):
                return


def _steps(plan: Plan) -> str:
    """The quality steps between texts of the plan: `0.5, 1, 2, 3, 4 or 5`."""
    steps = sorted({stimulus.delta for stimulus in plan.stimuli if stimulus.delta})
    *others, last = [f"{step:g}" for step in steps] or ["another figure"]
    return f"{', '.join(others)} or {last}" if others else last


def share_of(rule: DecisionRule, observations: Sequence[Observation]) -> float | None:
    """The mean over the calls on a pair or row; None where a verdict is missing: a failure is no score."""
    if rule.form == POINTWISE:
        scores = collect_scores(observations)
        return float(rule.share(scores).mean()) if scores.readable.all() else None
    pairs = collect(observations)
    return float(rule.share(pairs).mean()) if complete(pairs).all() else None


def sample_units(plan: Plan, judge: Judge, rule: DecisionRule, cap: int | None) -> list[Unit]:
    units: dict[tuple[str, int], list[Trial]] = {}
    for trial in plan.trials:
        if trial.judge.name == judge.name and trial.protocol == "base" and rule.concerns(trial.stimulus):
            repeat = trial.replicate // plan.study.replicates
            if repeat and rule.form == POINTWISE:
                continue  # further calls on a row say nothing of other rows
            units.setdefault((trial.stimulus.id, repeat), []).append(trial)
    if rule.cue is not None and rule.form == POINTWISE:
        units = _level_pairs(units, rule, plan.study.seed)
    if not units:
        lack = (
            f"no row of an ordinal scale has a label {rule.limit:g} above that of another; take fewer levels."
            if rule.cue is not None and rule.form == POINTWISE
            else "no row of the data has a label to compare the figure with; map one."
            if rule.form != BUILT_IN and rule.figure.labelled
            else f"probe {rule.probe!r} shows no pair that the figure counts; decide another."
            if rule.delta is None
            else f"the checklists have no step of this size; take {_steps(plan)}."
        )
        raise ConfigError(f"--until {rule}: {lack}")
    names = sorted(units)
    order = rng_for(plan.study.seed, "decide").sample(names, len(names))
    return [tuple(units[name]) for name in order[:cap]]


def _level_pairs(
    single: dict[tuple[str, int], list[Trial]], rule: DecisionRule, seed: int
) -> dict[tuple[str, int], list[Trial]]:
    """Rows in pairs, each row in one: the text with the cue, and one labelled as many levels better without.

    Where the cue is an error, it stands on the better one. Chance matches the rows.
    """
    plain: dict[tuple[str, int], list[list[Trial]]] = {}
    cued: dict[str, list[Trial]] = {}
    for _, trials in sorted(single.items()):
        shown = trials[0].stimulus
        if shown.kind != ORIGINAL:
            cued[shown.lineage.parent] = trials
        elif isinstance(shown.expectation, Label):
            answers = parse_scale(shown.scale or "").answers
            level = int(shown.expectation.value)
            worse = shown.failing == answers[-1]
            plain.setdefault((shown.scale or "", -level if worse else level), []).append(trials)
    chance, used = rng_for(seed, "decide", "levels"), set[str]()
    pairs: dict[tuple[str, int], list[Trial]] = {}
    for scale, level in sorted(plain):
        both = [plain.get((scale, place), []) for place in (level, level + int(rule.limit))]
        free = [
            [row for row in chance.sample(rows, len(rows)) if row[0].stimulus.lineage.parent not in used]
            for rows in both
        ]
        for lower, higher in zip(*free, strict=False):
            carrier, other = (higher, lower) if CUES[rule.cue or ""].on_better else (lower, higher)
            names = [row[0].stimulus.lineage.parent for row in (carrier, other)]
            if names[0] in cued:
                used |= set(names)
                pairs["/".join(names), 0] = [*cued[names[0]], *other]
    return pairs


def join_study(study: Study, folder: RunFolder) -> Study:
    """The study with what its folder holds already, so that deciding never narrows a measurement."""
    if not folder.study.exists():
        return study
    earlier = load_snapshot(folder.study)
    names = {judge.name for judge in study.judges}
    judges = (*study.judges, *(judge for judge in earlier.judges if judge.name not in names))
    probes = (*earlier.probes, *(spec for spec in study.probes if spec not in earlier.probes))
    return replace(study, judges=judges, probes=probes)


def _with_rule(joined: Study, study: Study, rule: DecisionRule) -> Study:
    """The study with the rule, and with the command that measures all of it; none where no words say that."""
    plain = not any(spec.args for spec in joined.probes) and len(joined.judges) == len(study.judges)
    probes = [word for spec in joined.probes for word in ("-p", spec.name)]
    words = (*study.command, *probes, "--profile", PROFILE) if plain and study.command is not None else None
    return replace(joined, command=words, decides=str(rule))


def decide(
    study: Study,
    folder: RunFolder,
    rule: DecisionRule,
    cap: int | None,
    limits: RunLimits,
    progress: Progress | None = None,
) -> Decisions:
    for judge in study.judges:
        if judge.composition is not None:
            raise ConfigError(
                f"--until {rule}: judge {judge.name!r} is made of other judges; measure it without --until."
            )
    check_prices(study.judges, limits)
    with folder.locked():
        plan = prepare_folder(folder, make_plan(_with_rule(join_study(study, folder), study, rule)))
        with folder.store() as store:
            return _run(plan, study.judges, folder, rule, cap, Runner(RunRecord(store), limits, progress))


def _run(
    plan: Plan,
    judges: Sequence[Judge],
    folder: RunFolder,
    rule: DecisionRule,
    cap: int | None,
    runner: Runner,
) -> Decisions:
    sequences: list[JudgeSequence] = []
    record = runner.record

    def log() -> None:
        write_decisions(folder.decisions, [sequence.decision for sequence in sequences])

    sequences += [JudgeSequence(judge, rule, sample_units(plan, judge, rule, cap), log) for judge in judges]
    queues = [JudgeQueue(c.judge, c.trials, c.batches(record)) for c in sequences]
    session = run_async(runner, lambda runner: runner.run_queues(queues))
    log()
    trials = [trial for sequence in sequences for trial in sequence.trials]
    observations = Observations.of(record.by_trial(trials).values())
    names = [judge.name for judge in judges]
    errors = tuple(judges_without_verdicts(names, observations, folder.path, session.aborted_judges))
    if session.stop_errors:
        errors = (*stop_reasons(session, record.coverage(trials).headline, folder.path), *errors)
    decisions = tuple(sequence.decision for sequence in sequences)
    return Decisions(session, errors, tuple(call_warnings(observations, folder.path)), folder, decisions)
