"""People label the items of a run: blind to every judge, each in an own order, of a draw with known odds."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import Any

from steelyard.core.content_hash import rng_for
from steelyard.core.files import atomic_write_text
from steelyard.core.text import pluralize
from steelyard.errors import ConfigError, RunError
from steelyard.review.label_draw import DRAW_FILE, OPENED, TEST, LabelDraw
from steelyard.review.progress import Agreement, LabellingProgress, agreement
from steelyard.review.session import VoteSession
from steelyard.review.votes import by_stimulus, in_force
from steelyard.run_folder.run_folder import RunFolder
from steelyard.run_folder.snapshot import load_snapshot
from steelyard.stimuli.original import NATURAL, ORIGINAL
from steelyard.stimuli.stimulus import Stimulus, StimulusSet
from steelyard.store.review_log import Choice, Vote
from steelyard.tasks.task import parse_scale

LABELLED, SKIPPED = "labelled", "skipped"
DRAW = "draw"
LABELS, LABEL_LOG = "labels.jsonl", "labels.db"
PAIR_ANSWERS = ("1", "2", "tie")


class OpenedError(ConfigError):
    """The test part is open, so that no label may be added or changed."""


@dataclass(frozen=True)
class Draw:
    items: tuple[str, ...]
    odds: float
    """The chance of each item to be drawn: items drawn over items there are."""
    of: int
    seed: int


class LabelSession(VoteSession):
    def __init__(
        self, folder: Path, *, size: int | None = None, seed: int = 7, may_draw: bool = True
    ) -> None:
        """Open the folder; the first opening draws, and every later one goes on with that draw.

        A folder of `labels draw` brings its draw along. One without any draw is refused and left as it is,
        where this opening may not draw.
        """
        run = RunFolder(folder)
        run.check_format()
        self.recorded = LabelDraw.read(folder) if (folder / DRAW_FILE).exists() else None
        if not run.stimuli.exists():
            raise ConfigError(
                f"{folder}: no stimuli.jsonl found, expected a run folder whose items are to be labelled; "
                "name another."
            )
        self._items = {
            each.id: each
            for each in StimulusSet.read(run.stimuli)
            if each.kind in (ORIGINAL, NATURAL) and each.texts_known
        }
        if not self._items:
            raise ConfigError(
                f"{folder}: holds no single texts or pairs of your own data, so there is nothing to label; "
                "name another."
            )
        if not may_draw and self.recorded is None and not (folder / LABEL_LOG).exists():
            raise _undrawn(folder, size)
        super().__init__(run, folder / LABEL_LOG)
        try:
            self.draw = self._load_draw(size, seed, may_draw=may_draw)
        except BaseException:
            self.log.close()
            raise

    def _load_draw(self, size: int | None, seed: int, *, may_draw: bool) -> Draw:
        if self.recorded is not None:
            drawn, frame = self.recorded.drawn, self.recorded.units
            if size is not None:
                raise ConfigError(
                    f"--draw {size}: `steelyard labels draw` drew {pluralize(len(drawn), 'item')} for this "
                    "folder; leave the option out."
                )
            return Draw(tuple(sorted(drawn)), len(drawn) / len(frame), len(frame), self.recorded.seed)
        if self.log.get_meta(DRAW) is None:
            if not may_draw:
                raise _undrawn(self.folder.path, size)
            names = sorted(self._items)
            count = size = len(names) if size is None else min(size, len(names))
            chosen = sorted(rng_for(seed, "labels").sample(names, count))
            made = {"items": chosen, "odds": count / len(names), "of": len(names), "seed": seed}
            self.log.set_meta(DRAW, made, keep=True)  # somebody else may have drawn meanwhile
        noted = self.log.get_meta(DRAW)
        kept = Draw(tuple(noted["items"]), noted["odds"], noted["of"], noted["seed"])
        if size is not None and size != len(kept.items):
            raise ConfigError(
                f"--draw {size}: a draw of {pluralize(len(kept.items), 'item')} was made here before; a "
                "second one would change their odds: leave it out, or remove labels.db."
            )
        return kept

    def parents(self) -> dict[str, str]:
        """The item behind each name, drawn or not."""
        return {name: item.lineage.parent for name, item in self._items.items()}

    def item(self, name: str) -> Stimulus | None:
        return self._items.get(name) if name in self.draw.items else None

    def answers(self, item: Stimulus) -> tuple[str, ...]:
        return PAIR_ANSWERS if len(item.texts) == 2 else parse_scale(item.scale or "").answers

    @cached_property
    def _data(self) -> Mapping[str, Any] | None:
        """The settings that the user's own data were read with; None where there is no such data."""
        source = load_snapshot(self.folder.study).source if self.folder.study.exists() else None
        return None if source is None else source.settings

    def meanings(self, item: Stimulus) -> dict[str, str]:
        """What answers on a single text mean: in the words of the user's values, else as somebody has said.

        Which answer fails a run of own data is often taken for granted alone, so there it is never told.
        """
        answers = self.answers(item)
        if len(item.texts) == 2 or len(answers) < 2:
            return {}
        own: dict[str, list[str]] = {}
        for word, answer in ((self._data or {}).get("labels") or {}).items():
            if (answer := str(int(answer)) if isinstance(answer, bool) else str(answer)) != str(word):
                own.setdefault(answer, []).append(str(word))
        if own:
            return {answer: " or ".join(words) for answer, words in own.items()}
        low, high = answers[0], answers[-1]
        if item.failing in (low, high) and (item.transcript is None or self._data is None):
            return {
                item.failing: "breaks the rubric",
                low if item.failing == high else high: "keeps the rubric",
            }
        return {low: "lowest", high: "highest"} if len(answers) > 2 else {}

    @property
    def annotators(self) -> tuple[str, ...]:
        """Who labels, where the draw names them; others have nothing to label."""
        return () if self.recorded is None else self.recorded.annotators

    @property
    def opened(self) -> str | None:
        """When the test part was opened; None while it is sealed."""
        noted = self.log.get_meta(OPENED)
        return None if noted is None else str(noted["at"])

    def open(self, at: str) -> None:
        """Unseal the test part; from then on no label changes."""
        self.log.set_meta(OPENED, {"at": at})

    def refuse_opened(self) -> None:
        if self.opened is not None:
            raise OpenedError(
                f"{self.folder.path}: opened at {self.opened}, so no label may be added or changed any more; "
                "make another draw with `steelyard labels draw`."
            )

    def order(self, annotator: str) -> list[str]:
        names = list(self.draw.items) if self.recorded is None else self.recorded.assigned(annotator)
        rng_for(self.draw.seed, "order", annotator).shuffle(names)
        return names

    def shown_texts(self, annotator: str, item: Stimulus) -> tuple[str, ...]:
        return item.texts[::-1] if self._is_swapped(annotator, item) else item.texts

    def _is_swapped(self, annotator: str, item: Stimulus) -> bool:
        """Whether an annotator sees the second text of a pair first."""
        if self.recorded is not None and not self.annotators:
            annotator = ""  # a sheet for anybody shows everybody the same
        pair = len(item.texts) == 2
        return pair and bool(rng_for(self.draw.seed, "slots", annotator, item.id).randrange(2))

    def content_of(self, item: Stimulus, annotator: str, answer: str) -> str:
        """The answer as it is kept: a slot is the text that stood there."""
        if answer in ("1", "2") and len(item.texts) == 2:
            return "u" if (answer == "1") != self._is_swapped(annotator, item) else "v"
        return answer

    def votes_in_force(self) -> dict[str, dict[str, Vote]]:
        return {
            name: {d.reviewer: d for d in in_force(group, self._items[name].hash)}
            for name, group in by_stimulus(self.log.votes()).items()
            if name in self._items
        }

    def waiting(self, annotator: str) -> list[str]:
        said = self.votes_in_force()
        return [name for name in self.order(annotator) if annotator not in said.get(name, {})]

    def has_seen_rubric(self, annotator: str, item: Stimulus) -> bool:
        """Whether the annotator has labelled or skipped another item with the same rubric."""
        said = self.votes_in_force()
        return any(
            annotator in votes and self._items[name].rubric == item.rubric
            for name, votes in said.items()
            if name != item.id
        )

    def label(self, name: str, annotator: str, answer: str | None, note: str = "") -> None:
        """Keep a label, on disk when this returns; None skips the item. Slots are kept as contents."""
        item = self._items[name]
        word = SKIPPED if answer is None else LABELLED
        kept = None if answer is None else self.content_of(item, annotator, answer)
        with self.log.transaction():
            self.refuse_opened()
            self.log.append(Choice(name, item.hash, annotator, word, None, kept, "", note))

    def undo(self, reviewer: str) -> Vote | None:
        with self.log.transaction():
            self.refuse_opened()
            return super().undo(reviewer)

    def agreement(self) -> Agreement:
        ratings: dict[str, Mapping[str, str]] = {
            name: {who: d.label or "" for who, d in group.items() if d.decision == LABELLED}
            for name, group in self.votes_in_force().items()
        }
        return agreement("label", ratings)

    def progress(self, annotator: str | None = None) -> LabellingProgress:
        """How far labelling is, of all who label or of one of them.

        An item waits for each annotator whom the draw names for it; where it names none, for anybody.
        """
        names = self.annotators if annotator is None else (annotator,)
        said = self.votes_in_force()
        items = {name for who in names or ("",) for name in self.order(who)}
        waits = {name for who in names for name in self.waiting(who)}
        if not names:
            waits = {name for name in items if not said.get(name)}
        votes = [
            (name, who)
            for name in items
            for who, vote in said.get(name, {}).items()
            if vote.decision == LABELLED and who in (names or (who,))
        ]
        labelled = {name for name, _ in votes} - waits
        shared = self.agreement()
        return LabellingProgress(
            labelled=len(labelled),
            skipped=len(items - waits - labelled),
            total=len(items),
            annotators=dict(sorted({**dict.fromkeys(names, 0), **Counter(who for _, who in votes)}.items())),
            opened=self.opened,
            agreement=shared if shared.shared and annotator is None else None,
        )

    def lines(self, annotator: str | None = None) -> Iterator[str]:
        """Labels that may be read: of all but the sealed part, or all of one annotator's own.

        An annotator of a draw knows the key of an item alone.
        """
        for name, group in sorted(self.votes_in_force().items()):
            drawn = None if self.recorded is None else self.recorded.drawn[name]
            if annotator is None and drawn is not None and self.opened is None and drawn.part == TEST:
                continue
            for who, vote in sorted(group.items()):
                if annotator not in (None, who) or vote.decision != LABELLED:
                    continue
                parent = self._items[name].lineage.parent
                body = {
                    "item": parent if drawn is None or annotator is not None else drawn.item,
                    "stimulus": name,
                    "annotator": who,
                    "label": vote.label,
                    "note": vote.note or None,
                    "odds": self.draw.odds if drawn is None else None,
                    "part": None if drawn is None else drawn.part,
                    "drawn_of": self.draw.of,
                    "seed": self.draw.seed,
                    "at": datetime.fromtimestamp(vote.at, UTC).isoformat(),
                }
                yield json.dumps({k: v for k, v in body.items() if v is not None}, ensure_ascii=False) + "\n"

    def write(self) -> Path:
        """The labels that may be read, as a file: all that are kept, since nobody adds one meanwhile."""
        path = self.folder.path / LABELS
        with self.log.transaction():
            atomic_write_text(path, list(self.lines()))
        return path


def _undrawn(folder: Path, size: int | None) -> RunError:
    draw = "" if size is None else f" --draw {size}"
    return RunError(
        f"{folder}: no items drawn for labelling yet, expected a draw; make it with `steelyard review "
        f"{quote(str(folder))} --label{draw}`."
    )


def answer_words(answers: Sequence[str]) -> list[tuple[str, str]]:
    return [(answer, answer[0] if len(answer) == 1 else "t" if answer == "tie" else "") for answer in answers]
