from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from typing import Any

import aiohttp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.errors import ConfigError, PermanentError, ProviderRefusedError
from steelyard.providers.planted.answer_keys import builtin_key
from steelyard.providers.planted.decision_model import (
    Parameters,
    decide,
    expected_pair_rates,
    expected_rates,
    surface_effect,
)
from steelyard.providers.planted.planted_judges import MODELS, PAIRWISE_MODELS, Planted
from steelyard.providers.planted.server import serve, start
from steelyard.providers.provider import Provider, connect
from steelyard.providers.vendors.completions import ChatCompletions
from steelyard.stimuli.stimulus import Lineage, NoPreference, Stimulus
from steelyard.tasks.checklist import catalogue
from steelyard.tasks.task import CHECKLIST_TASK, Pairwise
from steelyard.trials.builtin_prompts import PAIRWISE_SYSTEM, PAIRWISE_USER, STRICT_USER
from steelyard.trials.judge import Decoding, Judge, Presentation, Protocol, Slots
from steelyard.trials.trial import Trial
from steelyard.verdicts.readers import JsonReader

ANSWERS = Pairwise().answers
PROBIT = Parameters()


def planted(model: str = "probit", strict: dict[str, Any] | None = None, **options: Any) -> Judge:
    protocols = {
        "base": Protocol(PAIRWISE_USER, PAIRWISE_SYSTEM),
        "strict": Protocol(STRICT_USER, PAIRWISE_SYSTEM, settings=strict or {}),
    }
    return Judge(f"planted {model}", "planted", model, protocols, options=options)


def stimulus(name: str, request: str, first: str, second: str) -> Stimulus:
    lineage = Lineage("t", "none")
    return Stimulus(
        name, "ladder", "prefix", "t", "how-to", request, (first, second), NoPreference(), lineage
    )


def shown(first: str, second: str, trial: str = "t", answers: tuple[str, ...] = ANSWERS) -> Presentation:
    return Presentation((), Slots("Tell.", (first, second)), answers, Decoding(), trial=trial)


def answers_of(judge: Judge, presentations: list[Presentation]) -> list[str]:
    provider = Planted(judge)

    async def run() -> list[str]:
        return [(await provider.ask(one)).text for one in presentations]

    return asyncio.run(run())


def ladder_texts(task: int, *levels: int) -> list[str]:
    """Answers with so many full elements, filled up with filler."""
    source = catalogue()[task]
    full = [element.wordings[0] for element in source.elements]
    filler = [wordings[0] for wordings in source.filler]
    return [" ".join(full[:level] + filler[level:]) for level in levels]


# The answer key


def test_quality_counts_distinct_elements() -> None:
    for number, task in enumerate(catalogue()):
        key, texts = builtin_key(task.request), ladder_texts(number, 0, 1, 2, 3, 4, 5)
        assert [key.quality(text) for text in texts] == [0, 1, 2, 3, 4, 5]
        element = task.elements[0]
        assert key.quality(element.weak) == 0.5
        assert key.quality(f"{element.weak} {element.wordings[1]}") == 1
        assert key.quality(" ".join(element.wordings)) == 1


def test_what_is_asked_of_one_twin_is_filler_to_the_other() -> None:
    twins: dict[str, list[int]] = {}
    for number, task in enumerate(catalogue()):
        twins.setdefault(task.subject, []).append(number)
    for one, other in twins.values():
        key = builtin_key(catalogue()[other].request)
        assert [key.quality(text) for text in ladder_texts(one, 5, 3, 0)] == [0, 2, 5]
        assert not any(map(key.carries_cue, ladder_texts(one, 5, 3, 0)))


def test_a_request_is_known_however_it_is_spaced_and_to_another_nothing_is_an_answer() -> None:
    request, (text,) = catalogue()[0].request, ladder_texts(0, 5)
    assert builtin_key(request.replace(" ", "\n")).quality(text) == 5
    assert builtin_key("Tell.").quality(text) == 0


@pytest.mark.parametrize("text", ["", " \n", "Nobody wrote this sentence.", "no period", "\ud800. \x00"])
def test_unknown_text_has_no_quality(text: str) -> None:
    assert builtin_key(catalogue()[0].request).quality(text) == 0.0


# The model


@given(st.text(), st.text(), st.integers(0, 5))
def test_the_surface_effect_turns_with_the_order(first: str, second: str, seed: int) -> None:
    parameters = Parameters(seed=seed)
    effect = surface_effect(parameters, (first, second))
    assert surface_effect(parameters, (second, first)) == -effect
    assert (effect == 0.0) == (first == second)


def test_the_surface_effect_has_the_planted_spread() -> None:
    effects = [surface_effect(PROBIT, (f"a{i}", f"b{i}")) for i in range(4000)]
    assert abs(np.mean(effects)) < 0.04
    assert abs(np.std(effects) - 0.7) < 0.03


@pytest.mark.slow
def test_simulated_calls_agree_with_the_expected_rates() -> None:
    pairs, request, (worse, better) = 3000, catalogue()[0].request, ladder_texts(0, 1, 2)
    counts: Counter[str] = Counter()
    for i in range(pairs):
        texts = (f"{better} Number {i}.", f"{worse} Count {i}.")
        counts[decide(PROBIT, request, texts, ANSWERS, f"uv{i}")] += 1
        swapped = decide(PROBIT, request, (texts[1], texts[0]), ANSWERS, f"vu{i}")
        counts[{"1": "2", "2": "1", "tie": "tie"}[swapped]] += 1
    rates = expected_rates(PROBIT, 1.0)
    for answer, rate in (("1", rates.better), ("2", rates.worse), ("tie", rates.tie)):
        assert abs(counts[answer] / (2 * pairs) - rate) < 0.025


@pytest.mark.slow
def test_simulated_pairs_agree_with_the_expected_cells() -> None:
    pairs = 3000
    cells: Counter[str] = Counter()
    for i in range(pairs):
        one = decide(PROBIT, "Tell.", (f"u{i}", f"v{i}"), ANSWERS, f"uv{i}")
        two = decide(PROBIT, "Tell.", (f"v{i}", f"u{i}"), ANSWERS, f"vu{i}")
        ties = [one, two].count("tie")
        cells["np" if ties == 2 else "osc" if ties else "pfp" if one == two else "scs"] += 1
    rates = expected_pair_rates(PROBIT)
    assert abs(cells["scs"] / pairs - rates.stable_cross_sensitivity) < 0.035
    assert abs(cells["pfp"] / pairs - rates.positional_false_preference) < 0.035
    assert abs(cells["osc"] / pairs - rates.one_sided_commit) < 0.035
    assert abs(cells["np"] / pairs - rates.no_preference) < 0.035


def test_expected_rates_agree_with_integration_by_brute_force() -> None:
    from scipy.stats import norm

    u = np.linspace(-6, 6, 200_001) * PROBIT.surface_sensitivity
    weight = norm.pdf(u, scale=PROBIT.surface_sensitivity)
    weight /= weight.sum()
    drive = PROBIT.resolution * 2.0 + u
    first_shown = norm.cdf(drive + PROBIT.position_bias - PROBIT.tie_threshold)
    second_shown = norm.cdf(drive - PROBIT.position_bias - PROBIT.tie_threshold)
    better = 0.98 * float(weight @ (first_shown + second_shown)) / 2 + 0.02 / 3
    assert expected_rates(PROBIT, 2.0).better == pytest.approx(better, abs=1e-6)


@pytest.mark.parametrize("delta", [0.0, 0.5, 5.0])
def test_rates_are_probabilities(delta: float) -> None:
    rates = expected_rates(PROBIT, delta)
    assert rates.better + rates.worse + rates.tie == pytest.approx(1)
    assert min(rates.better, rates.worse, rates.tie) > 0
    cells = expected_pair_rates(PROBIT)
    # Raw false preference is SCS + PFP + OSC/2, by the identity that every datasheet asserts.
    committed = (
        cells.stable_cross_sensitivity + cells.positional_false_preference + cells.one_sided_commit / 2
    )
    assert committed == pytest.approx(1 - expected_rates(PROBIT, 0.0).tie)


def test_equal_texts_have_no_surface_effect_and_more_ties() -> None:
    assert expected_rates(PROBIT, 0, same_texts=True).tie > expected_rates(PROBIT, 0).tie
    blunt = replace(PROBIT, surface_sensitivity=0.0)
    assert expected_rates(PROBIT, 0, same_texts=True) == expected_rates(blunt, 0)


def test_without_a_tie_the_sign_decides() -> None:
    timid = Parameters(tie_threshold=100.0, lapse_rate=0.0)
    assert decide(timid, "Tell.", ("a", "b"), ANSWERS, "t") == "tie"
    assert {decide(timid, "Tell.", ("a", "b"), ("1", "2"), f"t{i}") for i in range(50)} == {
        "1",
        "2",
    }


def test_lapses_are_uniform_over_the_answers() -> None:
    absent = Parameters(lapse_rate=1.0)
    counts = Counter(decide(absent, "Tell.", ("a", "b"), ANSWERS, f"t{i}") for i in range(3000))
    assert set(counts) == set(ANSWERS)
    assert max(counts.values()) - min(counts.values()) < 150


# The provider


def test_baselines() -> None:
    calls = [shown("one two three", "one", f"t{i}") for i in range(400)]
    assert set(answers_of(planted("first"), calls)) == {'{"winner": "1"}'}
    assert set(answers_of(planted("tie"), calls)) == {'{"winner": "tie"}'}
    heads = answers_of(planted("coin"), calls).count('{"winner": "1"}')
    assert 160 < heads < 240
    assert answers_of(planted("coin"), calls).count('{"winner": "2"}') == 400 - heads
    pairs = [("a b", "a"), ("a", "a b"), ("a b", "b  a")]
    longest = answers_of(planted("longest"), [shown(*pair) for pair in pairs])
    assert longest == ['{"winner": "1"}', '{"winner": "2"}', '{"winner": "tie"}']


def test_seed_changes_the_draws_and_the_same_seed_repeats_them() -> None:
    calls = [shown(f"u{i}", f"v{i}", f"t{i}") for i in range(60)]
    for model in ("coin", "probit"):
        assert answers_of(planted(model), calls) == answers_of(planted(model, seed=0), calls)
        assert answers_of(planted(model), calls) != answers_of(planted(model, seed=1), calls)


def test_settings_of_a_protocol_override_parameters() -> None:
    judge = planted(strict={"tau": 1.2}, s=0.9)
    provider = Planted(judge)
    assert provider.parameters({}) == Parameters(resolution=0.9)
    assert provider.parameters({"tau": 1.2}) == Parameters(resolution=0.9, tie_threshold=1.2)
    calls = [shown(f"u{i}", f"v{i}", f"t{i}") for i in range(200)]
    strict = [replace(call, settings={"tau": 1.2}) for call in calls]
    ties = [answers_of(judge, some).count('{"winner": "tie"}') for some in (calls, strict)]
    assert ties[1] > ties[0]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"tua": 1}, r"unknown key 'options.tua' \(did you mean 'tau'\?\); known keys: s, beta"),
        ({"tau": -0.1}, "option tau is -0.1, expected a number from 0"),
        ({"sigma": "wide"}, "options.sigma: found 'wide', expected a number; correct it"),
        ({"lapse": 1.5}, "option lapse is 1.5, expected a number from 0 to 1"),
        ({"s": "nan"}, "options.s: found 'nan', expected a number"),
        ({"beta": True}, "options.beta: found True, expected a number"),
        ({"beta": float("nan")}, "options.beta: found nan, expected a finite number"),
        ({"seed": 1.5}, "options.seed: found 1.5, expected a whole number"),
        ({"seed": "x"}, "expected a whole number"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        Planted(planted(**options))


def test_labels_say_how_good_texts_are_that_are_not_of_the_pack() -> None:
    judge = Planted(planted(s=100, beta=0, sigma=0, lapse=0))
    judge.set_labels([replace(stimulus("s", "Tell.", "Good.", "Bad."), delta=2.0, base_level=1.0)])
    given = [judge.answer(shown(*texts)) for texts in (("Good.", "Bad."), ("Bad.", "Good."))]
    assert given == ["1", "2"]


def test_wrong_settings_and_models_are_refused() -> None:
    with pytest.raises(ConfigError, match="protocol settings: unknown key 'margin'; known keys: s"):
        Planted(planted(strict={"margin": 2}))
    with pytest.raises(ConfigError, match=r"unknown key 'options\.tau'; known keys: seed"):
        Planted(planted("coin", tau=1))
    with pytest.raises(ProviderRefusedError, match="unknown planted model 'coyn'; known: coin"):
        Planted(planted("coyn"))


def test_a_single_text_is_a_permanent_error() -> None:
    pointwise = Presentation((), Slots("Tell.", ("one",)), ("0", "1"), Decoding())
    with pytest.raises(PermanentError, match="expected a pair"):
        asyncio.run(Planted(planted()).ask(pointwise))


def test_planted_is_a_provider() -> None:
    for model in MODELS:
        assert isinstance(connect(planted(model)), Provider)


# Served over HTTP


def trials(judge: Judge) -> list[Trial]:
    stimuli = [
        stimulus(f"s{task}-{low}-{high}", catalogue()[task].request, *ladder_texts(task, low, high))
        for task in range(4)
        for low, high in ((0, 1), (2, 2), (3, 5))
    ]
    odd = (("", ""), (" ", "\n\n"), ("===== end\n", "{{ first }}"), ("=====", "======\n"))
    stimuli += [stimulus(f"odd{number}", "Tell.", *pair) for number, pair in enumerate(odd)]
    return [
        Trial(judge, protocol, shown, CHECKLIST_TASK, order)
        for shown in stimuli
        for order in ("uv", "vu")
        for protocol in ("base", "strict")
    ]


@pytest.mark.parametrize("model", PAIRWISE_MODELS)
def test_the_served_judge_answers_as_the_one_in_process(model: str) -> None:
    judge = planted(model, strict={"tau": 1.5} if model == "probit" else None, seed=3)

    async def run() -> None:
        runner, url = await start(judge)
        client = ChatCompletions(Judge("served", "openai", model, judge.protocols, options={"base_url": url}))
        await client.open()
        try:
            inside = Planted(judge)
            calls = [trial.presentation() for trial in trials(judge)]
            expected = [await inside.ask(call) for call in calls]
            served = await asyncio.gather(*(client.ask(call) for call in calls))
        finally:
            await client.close()
            await runner.cleanup()
        read = JsonReader()
        assert [reply.text for reply in served] == [reply.text for reply in expected]
        assert [reply.usage for reply in served] == [reply.usage for reply in expected]
        assert [read(reply, Pairwise()) for reply in served] == [
            read(reply, Pairwise()) for reply in expected
        ]
        if model == "probit":
            assert len({reply.text for reply in served}) == 3

    asyncio.run(run())


def test_the_server_refuses_what_it_cannot_judge() -> None:
    async def run() -> list[tuple[int, str]]:
        runner, url = await start(planted())
        bodies: list[Any] = [
            "not json",
            "[]",
            '{"messages": 3}',
            '{"messages": [{"role": "user", "content": "Hi"}]}',
        ]
        try:
            async with aiohttp.ClientSession() as session:
                found = []
                for body in bodies:
                    async with session.post(f"{url}/chat/completions", data=body) as response:
                        found.append((response.status, (await response.json())["error"]["message"]))
                async with session.get(f"{url}/models") as response:
                    assert (await response.json())["data"][0]["id"] == "probit"
                return found
        finally:
            await runner.cleanup()

    found = asyncio.run(run())
    assert [status for status, _ in found] == [400] * 4
    assert "found no user message" in found[2][1]
    assert "expected a built-in pairwise prompt" in found[3][1]


def test_without_an_idempotency_key_the_body_decides() -> None:
    async def run() -> set[str]:
        runner, url = await start(planted("coin"))
        client = ChatCompletions(Judge("served", "openai", "x", {}, options={"base_url": url}))
        await client.open()
        try:
            calls = [replace(trial.presentation(), trial="") for trial in trials(planted("coin"))]
            once = [(await client.ask(call)).text for call in calls]
            again = [(await client.ask(call)).text for call in calls]
        finally:
            await client.close()
            await runner.cleanup()
        assert once == again
        return set(once)

    assert asyncio.run(run()) == {'{"winner": "1"}', '{"winner": "2"}'}


def test_a_judge_without_a_tie_is_served_without_one() -> None:
    judge = planted(tau=100, lapse=0)

    async def run() -> set[str]:
        runner, url = await start(judge)
        client = ChatCompletions(Judge("served", "openai", "x", {}, options={"base_url": url}))
        await client.open()
        try:
            task = replace(CHECKLIST_TASK, scale=Pairwise(tie=False))
            calls = [replace(trial, task=task).presentation() for trial in trials(judge)]
            return {(await client.ask(call)).text for call in calls}
        finally:
            await client.close()
            await runner.cleanup()

    assert asyncio.run(run()) == {'{"winner": "1"}', '{"winner": "2"}'}


def test_serving_runs_until_cancelled_and_a_taken_port_is_named() -> None:
    async def run() -> None:
        ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        serving = asyncio.create_task(serve(planted(), port=0, ready=ready.set_result))
        port = int((await ready).split(":")[2].split("/")[0])
        with pytest.raises(ConfigError, match=f"127.0.0.1:{port} cannot be opened"):
            await start(planted(), port=port)
        serving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await serving

    asyncio.run(run())
