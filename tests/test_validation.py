"""One sentence for whatever is wrong with a mapping, whoever reads it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from steelyard.core.validation import Expected, checked, reason, takes_text
from steelyard.errors import ConfigError, DataError


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class Draw(Strict):
    each: int = Field(ge=1)


class Room(Strict):
    kind: Literal["warm", "cold"] = "warm"
    size: float = Field(default=1.0, gt=0, le=10)
    draw: Annotated[int, Field(ge=1)] | Draw | None = None
    form: Annotated[str | dict[str, str] | None, Expected("round or {shape: NAME}")] = None
    listed: list[int] = Field(default=[1], min_length=1)
    name: Annotated[str, Field(pattern="^[a-z]+$"), Expected("small letters")] = "a"


class House(Strict):
    door: Annotated[str, Expected("a door such as front")]
    rooms: dict[str, Room] = {}
    floors: list[Room] = []
    lit: bool = False

    @model_validator(mode="after")
    def _lit_by_somebody(self) -> House:
        if self.lit and not self.rooms:
            raise ValueError("found light in no room, expected one; add it")
        return self


def told(body: object) -> str:
    with pytest.raises(ConfigError, match=r"^plan\.yaml: [^\n]+\.$") as caught:
        checked(House, body, "plan.yaml")
    return str(caught.value).removeprefix("plan.yaml: ")


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"lid": 1}, "unknown key 'lid' (did you mean 'lit'?); known keys: door, rooms, floors, lit."),
        ({"zzz": 1}, "unknown key 'zzz'; known keys: door, rooms, floors, lit."),
        ({"lit": "yes"}, "lit: found 'yes', expected true or false; correct it."),
        ({"lit": True}, "found light in no room, expected one; add it."),
        (
            {"floors": [{"name": "\udcc3"}]},
            r"floors.0.name: found '\udcc3', expected text in UTF-8 (PYTHONUTF8=1 reads a command line in "
            "it); correct it.",
        ),
        ({"door": 5}, "door: found 5, expected a door such as front; correct it."),
        ({"rooms": []}, "rooms: found [], expected a mapping; correct it."),
        (
            {"rooms": {"hall": {"kin": 1}}},
            "unknown key 'rooms.hall.kin' (did you mean 'kind'?); "
            "known keys: kind, size, draw, form, listed, name.",
        ),
        (
            {"rooms": {"hall": {"kind": "hot"}}},
            "rooms.hall.kind: found 'hot', expected 'warm' or 'cold'; correct it.",
        ),
        ({"floors": [{}, {"size": 0}]}, "floors.1.size: found 0, expected a number above 0; correct it."),
        ({"floors": [{"size": 11}]}, "floors.0.size: found 11, expected a number up to 10; correct it."),
        (
            {"floors": [{"size": float("nan")}]},
            "floors.0.size: found nan, expected a finite number; correct it.",
        ),
        (
            {"floors": [{"draw": 0}]},
            "floors.0.draw: found 0, expected a number from 1 on or a mapping; correct it.",
        ),
        (
            {"floors": [{"draw": {"each": "2"}}]},
            "floors.0.draw.each: found '2', expected a whole number; correct it.",
        ),
        (
            {"floors": [{"draw": {"eahc": 2}}]},
            "no key 'floors.0.draw.each' found, expected it; add it.",
        ),
        (
            {"floors": [{"form": 3}]},
            "floors.0.form: found 3, expected round or {shape: NAME}; correct it.",
        ),
        (
            {"floors": [{"form": {"shape": 3}}]},
            "floors.0.form.shape: found 3, expected text; correct it.",
        ),
        ({"floors": [{"listed": []}]}, "floors.0.listed: found [], expected 1 or more entries; correct it."),
        ({"floors": [{"name": "A"}]}, "floors.0.name: found 'A', expected small letters; correct it."),
    ],
    ids=str,
)
def test_what_is_wrong_is_one_sentence(more: dict[str, Any], sentence: str) -> None:
    assert told({"door": "front", **more}) == sentence


def test_a_missing_key_is_named_with_what_belongs_there() -> None:
    assert told({}) == "no key 'door' found, expected a door such as front; add it."
    assert told([]) == "found [], expected a mapping; correct it."


def test_the_place_in_the_file_and_the_kind_of_error_are_the_callers() -> None:
    with pytest.raises(DataError, match=r"^a\.jsonl, line 3: house\.lit: found 1, expected true or false"):
        checked(House, {"door": "x", "lit": 1}, "a.jsonl, line 3", under="house", error=DataError)
    with pytest.raises(ConfigError, match=r"unknown key 'house\.lid'"):
        checked(House, {"door": "x", "lid": 1}, "a", under="house")


def test_a_reason_stands_in_a_sentence_with_a_step_of_its_own() -> None:
    with pytest.raises(ValidationError, match="lit") as caught:
        House.model_validate({"door": "x", "lit": 1})
    assert reason(caught.value, House) == "lit: found 1, expected true or false"


def test_a_long_value_is_cut_and_an_unprintable_key_escaped() -> None:
    sentence = told({"door": "x", "rooms": {"\x1b[31m": 5}, "lit": False})
    assert sentence == "rooms.'\\x1b[31m': found 5, expected a mapping; correct it."
    assert len(told({"door": "x", "lit": "y" * 10_000})) < 200


def test_fields_that_take_any_text() -> None:
    fields = Room.model_fields
    assert {name for name, field in fields.items() if takes_text(field)} == {"form", "name"}
