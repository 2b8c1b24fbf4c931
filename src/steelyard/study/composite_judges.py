"""Judges as people write them: `provider/model?key=value`, keys in YAML, or composite judges, made of others.

A composite judge is both orders as one, a majority of repeats, a mean of scores, or a jury. In a study file
`{consensus: orders, of: JUDGE}` (or `average`), `{majority: 3, of: JUDGE}`, `{mean: 3, of: JUDGE}` and
`{jury: [JUDGE, …]}`, each with a `name` if wanted; as a string `consensus/orders?of=JUDGE`, where all that
follows `of=` is the member as it is written alone, and `jury/vote?of=JUDGE&of=JUDGE&of=JUDGE`. A member is
written like any judge, or is the name of another judge of the study.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel, Field

from steelyard.core.dotenv import holds_key
from steelyard.core.validation import Expected, StrictModel, checked, format_value, takes_text, unknown_key
from steelyard.errors import ConfigError
from steelyard.providers.provider import PROVIDERS, provider_info
from steelyard.providers.provider_info import Name, Options
from steelyard.tasks.task import BestOf, Pairwise, Scale, scale_name
from steelyard.trials.judge import Composition, Judge

DEEPEST = 20
"""Depth of nesting in a judge's mapping; more would exhaust the stack when it is written or hashed."""

_WORDS = {"null": None, "none": None, "": None, "true": True, "false": False}


class QueryValue(str):
    """A value after `?`: text that has no type of its own yet."""

    __slots__ = ()


def judge_place(given: str | Mapping[str, Any]) -> str:
    """The judge by name or model; the query is left out, since an address in it may hold a secret."""
    title = given if isinstance(given, str) else given.get("name") or given.get("model")
    return f"judge {format_value(plain_address(title) if isinstance(title, str) else title)}"


def plain_address(text: str) -> str:
    """Provider and model, without the query and without what may be a key."""
    address = text.partition("?")[0]
    return f"{address.partition('/')[0]}/…" if holds_key(address) else address


def as_mapping(given: str | Mapping[str, Any], where: str) -> dict[str, Any]:
    """A model and its settings, wherever they stand: in the mapping or in the query of its address."""
    if _deeper_than(DEEPEST, given):
        raise ConfigError(f"{where}: nested more than {DEEPEST} levels deep; flatten the mapping.")
    if not isinstance(given, str):
        body = dict(given)
        if isinstance(body.get("model"), str) and "?" in body["model"]:
            body = {**as_mapping(body["model"], where), **{k: v for k, v in body.items() if k != "model"}}
        return body
    model, _, query = given.partition("?")
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError as error:
        raise ConfigError(f"{where}: the query after '?' must read key=value&key=value ({error}).") from error
    return {"model": model, **{key: QueryValue(value) for key, value in pairs}}


def convert_query(body: Mapping[str, Any], kind: type[BaseModel]) -> dict[str, Any]:
    """Values of a query as the fields want them: numbers and words become what they look like."""
    fields = kind.model_fields
    return {
        key: value
        if not isinstance(value, QueryValue)
        else str(value)
        if key in fields and takes_text(fields[key])
        else _typed(value)
        for key, value in body.items()
    }


def _typed(value: str) -> object:
    if value in _WORDS:
        return _WORDS[value]
    for convert in (int, float):
        try:
            return convert(value)
        except ValueError:
            continue
    return str(value)


def _deeper_than(depth: int, value: Any) -> bool:
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return depth == 0 or any(_deeper_than(depth - 1, part) for part in inner)


Own = TypeVar("Own", bound=Options)


def provider_options(
    kind: type[Own], body: Mapping[str, Any], common: Collection[str], where: str, under: str = ""
) -> Own:
    """What a mapping says to the provider; `common` are the keys that every provider shares.

    A common key that the provider also names is given to both; null is as good as not said.
    """
    for key in body:
        if key not in common and key not in kind.model_fields:
            raise ConfigError(f"{where}: {_stray(str(key), [*common, *kind.model_fields], under)}")
    options = {key: value for key, value in body.items() if key in kind.model_fields and value is not None}
    return checked(kind, convert_query(options, kind), where, under=under)


def _stray(key: str, known: Collection[str], under: str) -> str:
    owners = list(dict.fromkeys(_owners(key)))
    if owners:
        place = f"{under}: " if under else ""
        more = ["others"] if len(owners) > 2 else []
        return f"{place}key {key!r} belongs to {' and '.join(owners[:2] + more)} only; remove it."
    return unknown_key(f"{under}.{key}" if under else key, dict.fromkeys(known))


def _owners(key: str) -> Iterator[str]:
    for name in PROVIDERS.in_order():
        try:
            info = provider_info(name)
        except ConfigError:
            continue
        for each in (info, *info.models.values()):
            for kind in (*each.options.__mro__, *each.settings.__mro__):
                owner = vars(kind).get("owner", f"{name} judges")
                inherited = any(key in getattr(base, "model_fields", ()) for base in kind.__bases__)
                if owner and key in getattr(kind, "model_fields", ()) and not inherited:
                    yield owner


Given = str | Mapping[str, Any]
CONSENSUS, MAJORITY, MEAN, JURY = "consensus", "majority", "mean", "jury"
KINDS = (CONSENSUS, MAJORITY, MEAN, JURY)
PLURALITIES = {"vote": "plurality", "vote_first": "plurality_first", "vote_lowest": "plurality_lowest"}
"""How a jury votes: a split decides nothing, goes to the first member, or to the lowest score."""
ORDER_RULES = {"orders": "agreement", "average": "average_of_orders"}
"""How both orders become one verdict: a tie where they differ, or the text with most of the points."""
MOST_REPEATS = 99
_EXAMPLES = {
    CONSENSUS: "consensus/orders?of=JUDGE",
    MAJORITY: "majority/3?of=JUDGE",
    MEAN: "mean/3?of=JUDGE",
    JURY: "jury/vote?of=JUDGE&of=JUDGE&of=JUDGE",
}
EXAMPLES = {
    _EXAMPLES[CONSENSUS]: "a judge asked in both orders; a tie where they differ",
    "consensus/average?of=JUDGE": "both orders averaged: a text that wins one and ties the other wins",
    _EXAMPLES[MAJORITY]: "the most frequent of 3 answers to the same question",
    _EXAMPLES[MEAN]: "the mean of 3 scores of the same text, rounded",
    _EXAMPLES[JURY]: "the most frequent answer of several judges; jury/mean averages their scores",
}

_Member = Annotated[str | dict[str, Any], Expected("a judge")]
_Repeats = Annotated[int, Field(ge=2, le=MOST_REPEATS)]


class CompositeConfig(StrictModel):
    name: Name | None = None
    consensus: Literal["orders", "average"] | None = None
    majority: _Repeats | None = None
    mean: _Repeats | None = None
    jury: Annotated[list[_Member], Field(min_length=2, max_length=MOST_REPEATS)] | None = None
    by: Literal["vote", "vote_first", "vote_lowest", "mean"] = "vote"
    of: _Member | None = None


@dataclass(frozen=True)
class CompositeJudge:
    where: str
    kind: str
    config: CompositeConfig

    @classmethod
    def of(cls, given: Given) -> CompositeJudge | None:
        body = _from_text(given) if isinstance(given, str) else dict(given)
        kinds = [kind for kind in KINDS if kind in body]
        if not kinds or "model" in body:
            return None
        where = f"judge {body.get('name') or kinds[0]}"
        if len(kinds) > 1:
            raise ConfigError(
                f"{where}: found {' and '.join(kinds)}, expected one of them; nest the other under of."
            )
        as_mapping(body, where)  # refuses what is nested too deep
        config = checked(CompositeConfig, convert_query(body, CompositeConfig), where)
        if (config.of is None) == (kinds[0] != JURY):
            lack = (
                "no member, expected of: JUDGE" if kinds[0] != JURY else "of, expected the members under jury"
            )
            raise ConfigError(f"{where}: found {lack}, as in {_EXAMPLES[kinds[0]]}.")
        return cls(where, kinds[0], config)

    @property
    def member_specs(self) -> Sequence[str | dict[str, Any]]:
        return self.config.jury or [self.config.of or ""]

    @property
    def setting(self) -> str | int:
        """What stands after the slash where the judge is written as a string."""
        return self.config.consensus or self.config.majority or self.config.mean or self.config.by

    @property
    def averages(self) -> bool:
        """It takes the mean of scores, which two texts have not."""
        return self.kind == MEAN or (self.kind == JURY and self.config.by == "mean")

    def judge(self, parse: Callable[[Given], Judge], known: Mapping[str, Judge], scale: Scale) -> Judge:
        self._check_scale(scale)
        parsed = [
            known[one] if isinstance(one, str) and one in known else parse(one) for one in self.member_specs
        ]
        members = disambiguate(self.member_specs, parsed)
        for member in members:
            if sum(other.fingerprint("base") == member.fingerprint("base") for other in members) > 1:
                raise ConfigError(
                    f"{self.where}: {member.name} sits on it twice, and its calls would be made once; leave "
                    f"one out, or repeat it with {_EXAMPLES[MAJORITY]}."
                )
        shared = [name for name in members[0].protocols if all(name in one.protocols for one in members)]
        averages = self.config.mean or (self.kind == JURY and self.config.by == "mean")
        voted = "average" if averages else PLURALITIES.get(self.config.by, "plurality")
        return Judge(
            name=self.config.name or self._name(members),
            provider=self.kind,
            model=str(self.setting),
            protocols={name: members[0].protocols[name] for name in shared},
            composition=Composition(
                ORDER_RULES.get(self.config.consensus or "", voted),
                tuple(members),
                self.config.majority or self.config.mean or 1,
                both_orders=self.kind == CONSENSUS,
            ),
        )

    def _name(self, members: Sequence[Judge]) -> str:
        first = members[0].name
        name = {
            CONSENSUS: f"{first}, both orders{' averaged' if self.config.consensus == 'average' else ''}",
            MAJORITY: f"{first}, majority of {self.config.majority}",
            MEAN: f"{first}, mean of {self.config.mean}",
            JURY: f"jury of {', '.join(member.name for member in members)}",
        }[self.kind]
        return name if len(name) <= 80 else f"{self.kind} of {len(members)} ({first[:60]})"

    def _check_scale(self, scale: Scale) -> None:
        paired = isinstance(scale, Pairwise)
        if isinstance(scale, BestOf) and (self.kind == CONSENSUS or self.averages):
            raise ConfigError(
                f"{self.where}: slots of several texts have neither two orders nor a mean, found the scale "
                f"{scale_name(scale)!r}; let it vote: {_EXAMPLES[MAJORITY]} or {_EXAMPLES[JURY]}."
            )
        if self.kind == CONSENSUS and not paired:
            raise ConfigError(
                f"{self.where}: single texts have no order to reverse, found the scale "
                f"{scale_name(scale)!r}; repeat the judge instead: {_EXAMPLES[MAJORITY]} or "
                f"{_EXAMPLES[MEAN]}."
            )
        if self.config.by == "vote_lowest" and (paired or isinstance(scale, BestOf)):
            raise ConfigError(
                f"{self.where}: by: vote_lowest needs scores, found the scale {scale_name(scale)!r}; let a "
                "split go to the first member: by: vote_first."
            )
        if self.averages and paired:
            raise ConfigError(
                f"{self.where}: two texts have no score to average, found a pairwise scale; let it vote: "
                f"{_EXAMPLES[MAJORITY]} or {_EXAMPLES[JURY]}."
            )


def address_of(given: Given, written: Mapping[str, str]) -> str | None:
    """How the command line writes a judge made of others, from how it writes these; None where it can not."""
    composite = None if isinstance(given, str) else CompositeJudge.of(given)
    if composite is None:
        return written.get(str(given))
    members = [address_of(one, written) for one in composite.member_specs]
    known = [member for member in members if member is not None]
    if len(known) < len(members) or (composite.kind == JURY and any("&of=" in member for member in known)):
        return None
    return f"{composite.kind}/{composite.setting}?of={'&of='.join(known)}"


def with_known_names(judges: Sequence[Judge]) -> list[Judge]:
    """The same judges, members under the names that they have in the study; two of one name are refused."""
    names = {judge.fingerprint("base"): judge.name for judge in judges}
    renamed = [_rename_members(judge, names) for judge in judges]
    asked: dict[str, str] = {}
    for one in (one for judge in renamed for one in judge.leaf_judges):
        if asked.setdefault(one.name, one.fingerprint("base")) != one.fingerprint("base"):
            raise ConfigError(f"two judges are named {one.name!r}: give each a 'name' of its own.")
    return renamed


def _rename_members(judge: Judge, names: Mapping[str, str]) -> Judge:
    composite = judge.composition
    if composite is None:
        return judge
    members = [_rename_members(member, names) for member in composite.members]
    known = (replace(one, name=names.get(one.fingerprint("base"), one.name)) for one in members)
    return replace(judge, composition=replace(composite, members=tuple(known)))


def disambiguate(written: Iterable[Given], judges: list[Judge]) -> list[Judge]:
    """Judges of one name are called what was written."""
    names = [judge.name for judge in judges]
    return [
        replace(judge, name=text[:80])
        if names.count(judge.name) > 1 and isinstance(text, str) and text.isprintable() and text
        else judge
        for text, judge in zip(written, judges, strict=True)
    ]


def _from_text(given: str) -> dict[str, Any]:
    """`kind/what?name=NAME&of=MEMBER`: all after `of=` is the member; a jury parts several at `&of=`."""
    address, _, query = given.partition("?")
    kind, _, what = address.partition("/")
    if kind not in KINDS:
        return {}
    head, found, rest = f"&{query}".partition("&of=")
    settings = as_mapping(f"{kind}/{what}?{head.removeprefix('&')}".rstrip("?"), f"judge {address}")
    del settings["model"]
    if kind == JURY:
        members = rest.split("&of=") if found else []
        return {**settings, "by": what, JURY: members}
    return {**settings, kind: QueryValue(what), **({"of": rest} if found else {})}


def distinct_judges(judges: list[Judge], given: list[str | dict[str, Any]]) -> list[Judge]:
    """Two judges of one model are told apart by what was written; two of one name are refused."""
    named = disambiguate(given, judges)
    shown = [" ".join(judge.name.split()) for judge in named]
    for name in shown:
        if shown.count(name) > 1:
            raise ConfigError(f"two judges are named {name!r}: give each a 'name' of its own.")
    named = with_known_names(named)
    seen: dict[str, str] = {}
    for judge in named:
        twin = seen.setdefault(judge.fingerprint("base"), judge.name)
        if twin != judge.name:
            raise ConfigError(
                f"judges {twin!r} and {judge.name!r} are one instrument: leave one of them out."
            )
    return named
