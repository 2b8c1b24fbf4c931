"""A judge with its remedy as a function, and a certificate that speaks of the judge as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

import steelyard
from commands import Command
from steelyard.errors import CertificateError, ConfigError, PermanentError, UsageError


def always_first(request: str, first: str, second: str) -> str:
    return "1"


def longer(request: str, first: str, second: str) -> str:
    return "1" if len(first) > len(second) else "2"


def test_both_orders_of_a_judge_that_says_first_are_a_tie() -> None:
    remedied = steelyard.remedied(always_first, consensus="orders")
    assert remedied("q", "a", "b") == "tie"
    kept = steelyard.remedied(longer, consensus="orders")
    assert (kept("q", "long one", "b"), kept("q", "b", "long one")) == ("1", "2")


def test_a_majority_and_a_mean_of_scores() -> None:
    said = iter([1, 0, 1, 5, 2, 2])

    def noisy(request: str, response: str) -> int:
        return next(said)

    assert steelyard.remedied({"model": noisy, "concurrency": 1}, majority=3, scale="binary")("q", "a") == 1
    assert steelyard.remedied({"model": noisy, "concurrency": 1}, mean=3, scale="1-5")("q", "a") == 3


def test_a_jury() -> None:
    jury = steelyard.remedied(jury=[always_first, longer, "planted/tie"])
    assert jury("q", "longer", "b") == "1"


def test_no_verdict_is_raised_and_never_a_score() -> None:
    def declines(request: str, response: str, reference: str = "") -> str:
        if reference == "fail":
            raise KeyError("x")
        raise steelyard.Unreadable("declined")

    remedied = steelyard.remedied(declines, majority=3, scale="binary")
    with pytest.raises(steelyard.Unreadable, match="no answer"):
        remedied("q", "a")
    with pytest.raises(PermanentError, match="raised KeyError"):
        remedied("q", "a", reference="fail")
    with pytest.raises(UsageError, match="found 2 texts, expected 1"):
        remedied("q", "a", "b")


def test_fields_reach_the_judge() -> None:
    def same(request: str, response: str, reference: str) -> int:
        return int(response == reference)

    assert steelyard.remedied(same, scale="binary")("q", "a", reference="a") == 1


@pytest.mark.parametrize(
    "keys", [{}, {"judge": longer, "majority": 3, "mean": 3}, {"judge": longer, "jury": []}]
)
def test_a_remedy_that_is_none_is_refused(keys: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        steelyard.remedied(**keys)


def test_a_judge_that_changed_since_its_certificate_is_refused(command: Command, tmp_path: Path) -> None:
    place = tmp_path / "own.py"
    place.write_text("LIMIT = 1\n\ndef tie(request, first, second):\n    return 'tie' if LIMIT else '1'\n")
    done = command(
        "measure", "-j", "python/own.py:tie", "-p", "vacuum", "--profile", "standard", "--out", "run"
    )
    assert done.code == 0, done.err
    (tmp_path / "policy.yaml").write_text("dark_current: {max: 0.2}\n")
    gated = command("gate", "run", "--policy", "policy.yaml")
    assert gated.code == 0, gated.out + gated.err
    certificate = tmp_path / "run" / "certificate.json"
    certified = steelyard.remedied("python/own.py:tie", certificate=certificate)
    assert certified("q", "a", "b") == "tie"
    place.write_text(place.read_text().replace("LIMIT = 1", "LIMIT = 2"))
    with pytest.raises(CertificateError, match="the judge has changed since it was certified"):
        steelyard.remedied("python/own.py:tie", certificate=certificate)
