"""Runs of agents edited to earn an answer: each kind is a test of its own beside the runs as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest

from agent_runs import run_call
from steelyard.commands.gate.policy import find_policy
from steelyard.commands.gate.ruling import apply_policy
from steelyard.commands.import_verdicts import with_recorded_steps
from steelyard.core.registry import Spec
from steelyard.datasheet.assemble import assemble
from steelyard.datasheet.conclusion import CARE, NO_FAULT, TOO_LITTLE, UNFIT
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.instrument_card import JudgeEntry
from steelyard.datasheet.questions.causes import Advice
from steelyard.datasheet.render.clauses import sentence
from steelyard.datasheet.sections.first_screen import key_figures
from steelyard.datasheet.sections.summary import summarise
from steelyard.probes import agent_edits
from steelyard.probes.probe import PROBES
from steelyard.stimuli.agent_edits import BREAKING
from steelyard.stimuli.stimulus import Lineage
from steelyard.tasks.pack import agent_pack
from steelyard.verdicts.observations import Observation

AUTHOR = "openai/writer"
BY_MODEL = Lineage("", "edit", AUTHOR, "openai/checker gave 0, as intended")
BY_PERSON = Lineage("", "edit", AUTHOR, f"{AUTHOR} gave 0, as intended", "accepted")
BY_AUTHOR = Lineage("", "edit", AUTHOR, f"{AUTHOR} gave 0, as intended")
RULE = Lineage("", "edit", "deterministic edit")
POLICIES = ("smoke", "default", "strict")
Judge = Callable[[int, int], int]
"""Number of the run and expected answer to what is answered; 0 fails a run."""


def right(n: int, expected: int) -> int:
    del n
    return expected


def turned(n: int, expected: int) -> int:
    del n
    return 1 - expected


def runs(count: int, judge: Judge, label: Callable[[int], int], name: str = "j") -> list[Observation]:
    return [run_call(f"r{n:03}", judge(n, label(n)), label(n), 0, judge=name) for n in range(count)]


def edits(
    count: int, judge: Judge, probe: str, who: Lineage, *, expected: int = 0, name: str = "j"
) -> list[Observation]:
    made = []
    for n in range(count):
        seen = run_call(f"r{n:03}", judge(n, expected), expected, 0, probe=probe, judge=name)
        lineage = replace(who, parent=f"r{n:03}")
        made.append(replace(seen, stimulus=replace(seen.stimulus, lineage=lineage)))
    return made


def sheet_of(observations: Iterable[Observation], names: tuple[str, ...] = ("j",)) -> Datasheet:
    probes = ("agent_perturbation", "agent_positives", "agent_levels", *BREAKING)
    return assemble(
        name="runs",
        seed=7,
        profile="standard",
        stimulus_set="sha256:0",
        judges=[JudgeEntry(name, name, False, {"base": "sha256:1"}) for name in names],
        probes=[PROBES.build(Spec(probe)) for probe in probes],
        observations=list(observations),
        run={},
        own_data=True,
        named=("forged_result",),
    )


def gated(sheet: Datasheet) -> set[str]:
    return {apply_policy(sheet, find_policy(name), ["j"], "run").result for name in POLICIES}


def half(n: int) -> int:
    return n % 2


def test_a_judge_that_is_right_on_runs_and_passes_every_forged_one_has_a_fault_and_fails_the_gate() -> None:
    """40 of 40 runs right, 0 of 40 forged ones failed: nobody has said that the rubric fails these."""
    sheet = sheet_of([*runs(40, right, half), *edits(40, turned, "forged_result", RULE)])
    assert (sheet.verdict.word, sheet.verdict.advice) == (CARE, Advice.READ_LABELS)
    assert [cause.name for cause in sheet.verdict.causes] == ["EXPECTED"]
    lead = "fails a run as its edit asks (forged tool result) in only 0 of 40 calls"
    assert sentence(sheet.verdict.facts[0].clause).startswith(lead)
    (row,) = [row for row in key_figures(summarise(sheet), "j") if row.name.startswith("follows the edit")]
    assert (row.name, row.test.limit) == ("follows the edit: forged tool result", "at least 0.65")
    assert row.test.estimate.value == 0
    merit = sheet.find("j", "merit", "runs", protocol="base")
    assert merit is not None
    assert (merit.value, merit.n_calls, merit.status) == (1.0, 40, "clear")
    assert gated(sheet) == {"FAIL"}


def test_edits_that_are_followed_do_not_show_what_runs_as_they_are_refute() -> None:
    """Of 30 runs that fail it passes 24, and it fails all 120 edited ones: pooled, J would be .81."""
    real = runs(60, lambda n, e: e if e or n < 12 else 1, half)
    kinds = [edits(40, right, kind, RULE) for kind in ("forged_result", "invented_call", "truncated_tail")]
    sheet = sheet_of([*real, *(call for kind in kinds for call in kind)])
    merit = sheet.find("j", "merit", "runs", protocol="base")
    assert merit is not None
    assert merit.value == pytest.approx(6 / 30)
    assert sheet.verdict.word in (UNFIT, TOO_LITTLE)
    assert "PASS" not in gated(sheet)


@pytest.mark.parametrize(
    ("count", "who", "word"),
    [(40, BY_MODEL, UNFIT), (40, BY_PERSON, UNFIT), (19, BY_MODEL, CARE), (40, BY_AUTHOR, CARE)],
)
def test_a_judge_that_misses_accepted_edits_is_unfit(count: int, who: Lineage, word: str) -> None:
    sheet = sheet_of([*runs(60, right, half), *edits(count, turned, "agent_perturbation", who)])
    assert sheet.verdict.word == word
    assert gated(sheet) == {"FAIL"}


@pytest.mark.parametrize(("who", "word"), [(BY_MODEL, NO_FAULT), (BY_AUTHOR, CARE)])
def test_runs_made_to_fail_and_to_pass_decide_merit_where_nobody_labelled_runs(
    who: Lineage, word: str
) -> None:
    made = [
        *edits(40, right, "agent_perturbation", who),
        *edits(40, right, "agent_positives", who, expected=1),
    ]
    sheet = sheet_of(made)
    merit = sheet.find("j", "merit", "runs", protocol="base")
    assert merit is not None
    assert (merit.value, merit.n_calls, merit.status) == (1.0, 80, "clear")
    assert sheet.verdict.word == word
    blind = sheet_of([*edits(40, turned, "agent_perturbation", who), *made[40:]])
    assert blind.verdict.word == (UNFIT if who is BY_MODEL else TOO_LITTLE)


def test_edits_by_rule_alone_give_at_most_care_and_refute_nobody() -> None:
    """All runs pass: what a rule broke stands beside them, one merit for each kind."""
    plain = runs(40, right, lambda n: 1)
    shown = sheet_of([*plain, *edits(40, right, "forged_result", RULE)])
    assert (shown.verdict.word, shown.verdict.advice) == (CARE, Advice.LABEL_RUNS)
    (verdict,) = with_recorded_steps(shown).verdicts
    assert verdict.next is not None
    assert verdict.next.purpose.startswith("add labelled runs that fail as they are")
    assert gated(shown) == {"INCONCLUSIVE"}
    two = sheet_of(
        [*plain, *edits(40, right, "truncated_tail", RULE), *edits(40, turned, "forged_result", RULE)]
    )
    merits = {e.probe: (e.value, e.reason) for e in two.look_up.of("j", "merit")}
    assert merits == {"truncated_tail": (1.0, None), "forged_result": (None, "by_rule")}
    assert (two.verdict.word, [cause.name for cause in two.verdict.causes]) == (CARE, ["EXPECTED"])


def test_broken_runs_stand_beside_runs_made_to_pass_where_all_fail_as_they_are() -> None:
    plain = runs(40, right, lambda n: 0)
    passing = edits(40, right, "agent_positives", BY_MODEL, expected=1)
    sheet = sheet_of([*plain, *edits(40, right, "forged_result", RULE), *passing])
    merits = {e.probe: (e.value, e.n_calls) for e in sheet.look_up.of("j", "merit")}
    assert merits == {"runs": (1.0, 80), "forged_result": (1.0, 120)}


def test_edited_runs_that_every_judge_misses_are_named_as_suspect() -> None:
    names = ("j", "k")
    calls = [
        call
        for wrong, name in zip((3, 4), names, strict=True)
        for call in (
            *runs(40, right, half, name),
            *edits(40, lambda n, e, w=wrong: 1 - e if n < w else e, "invented_call", RULE, name=name),
        )
    ]
    sheet = sheet_of(calls, names)
    suspect = tuple(f"r00{n}/invented_call/0" for n in range(3))
    for name in names:
        followed = sheet.find(name, "followed", "invented_call", protocol="base")
        assert followed is not None
        assert followed.details["suspect"] == suspect
    told = [sentence(d.clause) for d in sheet.findings if d.question.name == "Expected answers"]
    assert all("every judge of the run misses 3 edited runs, suspect: " in each for each in told)


def test_on_a_scale_an_edit_is_followed_on_the_half_that_fails() -> None:
    """Of 1-6 with 6 for a violation, 4 to 6 fail."""
    calls = [
        run_call(f"r{n:03}", 3 + n % 2, 6, 6, probe="agent_perturbation", scale="1-6") for n in range(10)
    ]
    found = sheet_of(calls).find("j", "followed", "agent_perturbation", protocol="base")
    assert found is not None
    assert (found.numerator, found.denominator) == (5, 10)


def test_levels_of_edited_runs_have_a_rank_agreement_and_a_figure_each() -> None:
    calls = [
        run_call(f"r{n:03}", 7 - level, level, 1, probe="agent_levels", scale="1-6", number=level)
        for n in range(30)
        for level in range(1, 7)
    ]
    sheet = sheet_of([_by_model(each) for each in calls])
    rank = sheet.find("j", "level_agreement", "agent_levels", protocol="base")
    assert rank is not None
    assert (rank.value, rank.status) == (-1.0, "flagged")
    assert sheet.find("j", "accuracy", "agent_levels", protocol="base", target=2) is not None


def _by_model(call: Observation) -> Observation:
    lineage = replace(BY_MODEL, parent=call.stimulus.lineage.parent)
    return replace(call, stimulus=replace(call.stimulus, lineage=lineage))


def test_an_edit_of_which_nothing_is_expected_is_no_test() -> None:
    calls = [*runs(20, right, half)]
    calls += [run_call(f"r{n:03}", 0, None, 0, probe="evidence_deletion") for n in range(20)]
    sheet = sheet_of(calls)
    assert sheet.find("j", "followed", "evidence_deletion", protocol="base") is None


def test_every_probe_that_breaks_runs_by_rule_is_known_as_one() -> None:
    broken = [probe.name for probe in vars(agent_edits).values() if _breaks(probe)]
    assert sorted(broken) == sorted(BREAKING)


def _breaks(probe: object) -> bool:
    base = agent_edits.RunBreakingProbe
    return isinstance(probe, type) and issubclass(probe, base) and probe is not base


def test_both_versions_of_a_built_in_run_count_as_runs_and_edits_of_them_as_accepted() -> None:
    (run,) = [run for run in agent_pack() if run.label == "1"][:1]
    name = run.item.id
    calls = [run_call(name, 1, 1, 0)]
    for probe, who in (("agent_perturbation", Lineage(name, "edit", "pack")), ("forged_result", RULE)):
        seen = run_call(name, 0, 0, 0, probe=probe)
        stimulus = replace(seen.stimulus, lineage=replace(who, parent=name), request=run.item.request)
        calls.append(replace(seen, stimulus=stimulus))
    assert [call.stimulus.accepted for call in calls[1:]] == [True, True]
    merit = sheet_of(calls).find("j", "merit", "runs", protocol="base")
    assert merit is not None
    assert merit.n_calls == 2  # the forged version is an edit
    other = replace(calls[2].stimulus, request="another request")
    assert not other.accepted
