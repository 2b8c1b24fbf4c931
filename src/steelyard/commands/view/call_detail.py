"""One call with all that is known of it: what was sent, what came back, how it was read, what it took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from steelyard.commands.view.viewed_run import Loaded, ViewedRun
from steelyard.datasheet.examples.explain import explain as reason_to_count
from steelyard.datasheet.examples.selection import ExampleSelector
from steelyard.run_folder.call_examples import reader_words, reply_words
from steelyard.store.trials import StoredCall
from steelyard.trials.trial import Trial
from steelyard.verdicts.call_answers import answer_word, reason_of
from steelyard.verdicts.observations import Observation


@dataclass(frozen=True)
class CallDetail:
    """A call as its page tells it."""

    id: str
    """Name in addresses."""
    observation: Observation
    """What was read."""
    outcomes: Sequence[str]
    """What it is a case of."""
    verdict: str
    """The answer as files spell it."""
    reason: str | None
    """Why there is no verdict."""
    why: str
    """Why it counts as it does."""
    reader: str = ""
    """How the reply was read; empty where that is not known."""
    stored: StoredCall | None = None
    """What lies in the run file; None for a call that was recorded elsewhere, or made of others."""
    dollars: float | None = None
    """What it cost, where a price is known."""
    members: Sequence[tuple[str, str]] = field(default_factory=tuple)
    """Calls that it was made of: name in words, and what they replied."""

    def to_json(self) -> dict[str, Any]:
        """A plain mapping, for who downloads it."""
        seen, stored = self.observation, self.stored
        body = {
            "id": self.id,
            "judge": seen.judge,
            "protocol": seen.protocol,
            "stimulus": seen.stimulus.id,
            "order": seen.order,
            "replicate": seen.replicate,
            "verdict": self.verdict,
            "reason": self.reason,
            "outcomes": list(self.outcomes),
            "why": self.why,
            "reader": self.reader or None,
            "dollars": self.dollars,
        }
        return body if stored is None else {**body, **stored.to_json()}


def call_detail(run: ViewedRun, loaded: Loaded, name: str) -> CallDetail | None:
    """The call of this name; None where there is none."""
    if name not in loaded.index.row:
        return None
    return details(run, loaded, [loaded.index.row[name]])[0]


def details(
    run: ViewedRun, loaded: Loaded, rows: Sequence[int], *, explained: bool = True
) -> list[CallDetail]:
    """The calls of these rows, from one look into the run file; a list needs no explanations."""
    index = loaded.index
    names = [index.ids[row] for row in rows]
    trials = [loaded.trial(row) for row in rows]
    wanted = [call.key for trial in trials if trial is not None for call in trial.calls]
    with run.store() as store:
        stored = {} if store is None else store.calls(wanted)
    return [
        _detail(loaded, row, name, seen, trial, stored, why=reason_of_count(loaded, row) if explained else "")
        for row, name, seen, trial in zip(rows, names, index.taken(rows), trials, strict=True)
    ]


def _detail(
    loaded: Loaded,
    row: int,
    name: str,
    seen: Observation,
    trial: Trial | None,
    stored: dict[str, StoredCall],
    *,
    why: str,
) -> CallDetail:
    plain = CallDetail(
        id=name,
        observation=seen,
        outcomes=loaded.index.ended(row),
        verdict=answer_word(seen.verdict),
        reason=reason_of(seen.verdict),
        why=why,
    )
    if trial is None:
        return plain
    price = loaded.price(trial.judge)
    dollars = None if price is None else price(seen.usage)
    if trial.members:
        members = [(_member(call), _said(stored.get(call.key))) for call in trial.calls]
        rule = trial.judge.composition.rule if trial.judge.composition else ""
        return CallDetail(
            **{**vars(plain), "members": members, "reader": f"{rule} of members", "dollars": dollars}
        )
    reader = reader_words(trial.judge.protocols[trial.protocol].reader)
    kept = stored.get(trial.key)
    return CallDetail(**{**vars(plain), "stored": kept, "reader": reader, "dollars": dollars})


def _member(call: Trial) -> str:
    return f"{call.judge.name}, {call.order}, repeat {call.replicate}"


def _said(stored: StoredCall | None) -> str:
    if stored is None or stored.reply is None:
        return "no reply"
    return reply_words(stored.reply.reply)


def reason_of_count(loaded: Loaded, row: int) -> str:
    """Why the call counts so, in the words of an exhibit of its group."""
    calls = loaded.index.calls
    mine = calls.of_judge(calls.judges[int(calls.judge[row])])
    item, stimulus = calls.shown.item, int(calls.stimulus[row])
    near = mine.filter(calls=(item[mine.stimulus] == item[stimulus]) & (mine.protocol == calls.protocol[row]))
    cases = ExampleSelector(near).choose(None, 1, loaded.index.evidence.seed, near.stimulus == stimulus)
    return reason_to_count(cases[0]) if cases else ""
