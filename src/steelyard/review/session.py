"""A review session: people accept, edit or reject written stimuli; every vote goes to the log."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from steelyard.core.files import no_such
from steelyard.core.text import plural, pluralize
from steelyard.core.threads import Debouncer
from steelyard.errors import ConfigError, DataError, RunError
from steelyard.review.stimuli_file import (
    ArgumentsError,
    ReviewerEdit,
    edited_run,
    flips,
    read_manual_edits,
    run_of,
    run_text,
    under_review,
)
from steelyard.review.votes import (
    DEFERRED,
    REQUIRED,
    REVIEWED,
    TASK,
    UNDONE,
    ReviewItem,
    ReviewStatus,
    apply_vote,
    apply_votes,
    by_stimulus,
    freeze_version,
    import_manual_edits,
    in_force,
    in_order,
    required_of,
    review_status,
    task_words,
    write_decisions,
)
from steelyard.run_folder.run_folder import RunFolder
from steelyard.run_folder.snapshot import load_snapshot
from steelyard.stimuli.original import ORIGINAL
from steelyard.stimuli.stimulus import ACCEPTED, EDITED, REJECTED, REVIEWS, Label, Stimulus, StimulusSet
from steelyard.store.authoring import AuthoredStimulus, AuthoringCall
from steelyard.store.review_log import Choice, ReviewedSet, ReviewLog, Vote
from steelyard.tasks.task import parse_scale

Version = tuple[int, tuple[int, int, int], int, bool]
"""Texts of the run, stamp of the file, newest arrival, whether people are waited for."""


class RefusedError(Exception):
    """A vote that can not be kept as it is; the message says what to change."""


@dataclass(frozen=True)
class VoteRequest:
    decision: str
    text: str | None = None
    label: str | None = None
    turns: Mapping[int, ReviewerEdit] = field(default_factory=dict)
    reason: str = ""
    note: str = ""
    final: bool = False
    """True where it settles what others disagree about."""


QUIET = 2.0
"""Seconds without a vote after which the file follows the log, which has every vote at once."""


class VoteSession:
    """A folder and the log of what people said about its stimuli."""

    def __init__(self, folder: RunFolder, log: Path) -> None:
        self.folder, self.log = folder, ReviewLog(log)

    def close(self) -> None:
        self.log.close()

    @property
    def task(self) -> dict[str, str]:
        noted = self.log.get_meta(TASK)
        if noted is None and self.folder.study.exists():
            noted = task_words(load_snapshot(self.folder.study).task)
        return {"instruction": "", "rubric": "", **(noted or {})}

    def undo(self, reviewer: str) -> Vote | None:
        """Take back the newest vote of somebody that stands; None where none does."""
        mine = [vote for vote in self.log.votes() if vote.reviewer == reviewer]
        undone = {vote.undoes for vote in mine if vote.decision == UNDONE}
        active = [vote for vote in mine if vote.decision != UNDONE and vote.id not in undone]
        if not active:
            return None
        last = active[-1]
        self.log.append(Choice(last.stimulus, last.base, reviewer, UNDONE, undoes=last.id))
        return last


class ReviewSession(VoteSession):
    def __init__(self, folder: Path, *, reviewers: int | None = None, waits_for_file: bool = True) -> None:
        """Open the folder; what was decided in its file by hand is taken into the log.

        Each vote waits until the stimuli's file has it, or for the log alone: then the file follows.
        """
        run = RunFolder(folder)
        if not run.database.exists() and not run.reviews.exists():
            lack = "no run.db found" if folder.is_dir() else no_such(folder, "folder")
            raise ConfigError(
                f"{folder}: {lack}, expected a folder that `steelyard generate` writes into; run "
                "that first, or name another folder."
            )
        run.check_format()
        super().__init__(run, run.reviews)
        self._lock = threading.Lock()
        self._file_writer = None if waits_for_file else Debouncer(self.publish, QUIET)
        self._lines: tuple[tuple[int, int, int], Sequence[Stimulus]] | None = None
        self._texts: tuple[int, Sequence[AuthoredStimulus]] | None = None
        self._items: tuple[Version, Mapping[str, ReviewItem]] | None = None
        self._standings: (
            tuple[tuple[int, int], Mapping[str, ReviewItem], Mapping[str, ReviewStatus]] | None
        ) = None
        try:
            if reviewers is not None:
                self.log.set_meta(REQUIRED, reviewers)
            self._import_manual_edits()
        except BaseException:
            self.log.close()
            raise

    def close(self) -> None:
        try:
            if self._file_writer is not None:
                self._file_writer.close()
        finally:
            super().close()

    # Items and votes

    @property
    def required(self) -> int:
        return required_of(self.log)

    def items(self) -> Mapping[str, ReviewItem]:
        """Every written stimulus by id: those of the run file, and those that have just arrived.

        They are read again when file, run or arrivals have changed, and not for each page.
        """
        if not self.folder.reviews.exists():
            raise RunError(f"{self.folder.path}: its file of decisions is gone; restore the folder.")
        version = self._version
        with self._lock:
            if self._items is None or self._items[0] != version:
                self._items = version, self._read()
            return self._items[1]

    @property
    def _version(self) -> Version:
        """What items depend on; a run that goes on writes much that is no stimulus."""
        written = 0
        if self.folder.database.exists():
            with self.folder.store(read_only=True) as store:
                written = store.authored_count
        return written, self._stamp, self.log.position[1], bool(self.log.get_meta(REVIEWED))

    def _read(self) -> dict[str, ReviewItem]:
        held = {each.id: each for each in self._file()}
        rows: list[tuple[AuthoredStimulus, Stimulus | None]] = []
        if self.folder.database.exists():
            originals = (held.get(f"{w.stimulus.lineage.parent}/{ORIGINAL}") for w in self._written())
            rows += zip(self._written(), originals, strict=True)
        known = {row.stimulus.id for row, _ in rows}
        arrived = (AuthoredStimulus.from_arrival(body) for body in self.log.arrivals())
        rows += [row for row in arrived if row[0].stimulus.id not in known]
        waits = self._waits(held.values())
        return {
            w.stimulus.id: ReviewItem.of(w, original, waits=waits)
            for w, original in sorted(rows, key=lambda row: in_order(row[0].stimulus.id))
        }

    def _file(self) -> Sequence[Stimulus]:
        """The lines of the stimuli's file, read again when it has changed."""
        stamp = self._stamp
        if self._lines is None or self._lines[0] != stamp:
            read = tuple(StimulusSet.read(self.folder.stimuli)) if self.folder.stimuli.exists() else ()
            self._lines = stamp, read
        return self._lines[1]

    @property
    def _stamp(self) -> tuple[int, int, int]:
        file = self.folder.stimuli
        state = file.stat() if file.exists() else None
        return (state.st_mtime_ns, state.st_size, state.st_ino) if state else (0, 0, 0)

    def _written(self) -> Sequence[AuthoredStimulus]:
        """What the authors made, read again when there is more of it."""
        with self.folder.store(read_only=True) as store:
            count = store.authored_count
            if self._texts is None or self._texts[0] != count:
                self._texts = count, tuple(map(AuthoredStimulus.of, store.authored().values()))
        return self._texts[1]

    def _waits(self, held: Iterable[Stimulus]) -> bool:
        """Whether the study waits for people: said by its author's run, or to be seen in its file."""
        said = self.log.get_meta(REVIEWED)
        return bool(said) or any(each.lineage.review in REVIEWS[:3] for each in held)

    def statuses(self, items: Mapping[str, ReviewItem]) -> Mapping[str, ReviewStatus]:
        """What the votes on each stimulus come to; counted again when somebody has voted."""
        newest = self.log.position[0], self.required
        with self._lock:
            known = self._standings
            if known is None or known[0][1] != newest[1] or known[1] is not items:
                votes = by_stimulus(self.log.votes())
                counted = {
                    name: review_status(votes.get(name, ()), item.base if name in votes else "", newest[1])
                    for name, item in items.items()
                }
                self._standings = newest, items, counted
            elif known[0] != newest:
                names = items.keys() & self.log.voted_since(known[0][0])
                changed = {
                    name: review_status(self.log.votes(name), items[name].base, newest[1]) for name in names
                }
                self._standings = newest, items, {**known[2], **changed}
            return self._standings[2] if self._standings is not None else {}

    def asked_about(self, name: str) -> list[AuthoringCall]:
        if not self.folder.database.exists():
            return []
        with self.folder.store(read_only=True) as store:
            return store.authoring_calls(name)

    # What may be done

    def decide(
        self, item: ReviewItem, reviewer: str, request: VoteRequest, seen: int, *, own: bool = False
    ) -> Vote:
        """Keep a reviewer's vote; refused where it makes no sense or another was faster."""
        choice = self._choice(item, reviewer, request)
        kept = self.log.append(choice, seen, own=own)
        self._update_file()
        return kept

    def check(self, item: ReviewItem, request: VoteRequest) -> None:
        self._choice(item, "", request)

    def add(self, item: ReviewItem, reviewer: str, request: VoteRequest) -> bool:
        """Keep a vote that was made elsewhere; False where it is that reviewer's already."""
        choice = self._choice(item, reviewer, request)
        active = in_force(self.log.votes(item.made.id), item.base)
        own = [vote for vote in active if vote.reviewer == reviewer]
        if own and all(getattr(own[-1], name) == value for name, value in vars(choice).items()):
            return False
        self.log.append(choice)
        return True

    def _choice(self, item: ReviewItem, reviewer: str, request: VoteRequest) -> Choice:
        made = item.made
        text = _new_text(item, request)
        label = request.label if request.label is not None and request.label != item.label else None
        word = request.decision
        if word in (ACCEPTED, EDITED):
            word = EDITED if text is not None or label is not None else ACCEPTED
        elif word not in (REJECTED, DEFERRED):
            raise RefusedError(f"no decision {word!r}: expected accepted, edited, rejected or deferred.")
        choice = Choice(
            made.id, item.base, reviewer, word, reason=request.reason, note=request.note, final=request.final
        )
        if word == EDITED:
            choice = replace(choice, text=text, label=label)
        if word in (ACCEPTED, EDITED):
            _require_sense(item, choice)
        return choice

    def undo(self, reviewer: str) -> Vote | None:
        last = super().undo(reviewer)
        if last is not None:
            self._update_file()
        return last

    def finish(self, reviewer: str, *, accept_waiting: bool = False) -> ReviewedSet:
        """Freeze what was decided as a version of its own; refused while a stimulus waits."""
        items = self.items()
        statuses = self.statuses(items)
        if not items:
            raise RefusedError("no text has arrived yet: there is nothing to finish.")
        waiting = [name for name, item in items.items() if item.waits and not statuses[name].decided]
        if accept_waiting:
            for name in waiting:
                item = items[name]
                choice = Choice(name, item.base, reviewer, ACCEPTED, reason="accepted unseen", final=True)
                self.log.append(choice)
        elif waiting:
            verb = plural(len(waiting), "waits", "wait")
            raise RefusedError(
                f"{pluralize(len(waiting), 'text')} {verb}: decide, or accept the rest unseen."
            )
        made = [item.made for item in items.values()]
        fresh = freeze_version(self.log, apply_votes(self.log, made), reviewer)
        self._update_file()
        if self._file_writer is not None:
            self._file_writer.flush()
        return fresh

    # The file

    def _update_file(self) -> None:
        """Have the file hold what the log does: to write it takes time with the number of stimuli."""
        if self._file_writer is None:
            self.publish()
        else:
            self._file_writer.trigger()

    def publish(self) -> bool:
        """Write what was decided into the stimuli's file; False where a run holds the folder or was frozen.

        The log has it in any case, and `measure` reads the log.
        """
        if self.folder.study.exists() or not self.folder.database.exists():
            return False
        made = self._authored_stimuli()
        if not made:
            return False
        try:
            with self.folder.locked():
                write_decisions(self.folder, made, {each.id for each in self._file()})
            self._keep_items()
        except (RunError, DataError):
            return False
        return True

    def _keep_items(self) -> None:
        """The file has got decisions that the log had: the texts are the same, and are not read again."""
        now = self._version
        with self._lock:
            if self._items is not None:
                written, _, arrived, reviewed = self._items[0]
                if (written, arrived, reviewed) == (now[0], *now[2:]):
                    self._items = now, self._items[1]

    def _authored_stimuli(self) -> tuple[Stimulus, ...]:
        made = tuple(text.stimulus for text in self._written())
        return under_review(made) if self._waits(self._file()) else made

    def _import_manual_edits(self) -> None:
        """Take what was decided in the file by hand into the log; a frozen file is no draft."""
        if (
            self.folder.study.exists()
            or not self.folder.stimuli.exists()
            or not self.folder.database.exists()
        ):
            return
        known = {each.id for each in self._file()}
        here = [each for each in self._authored_stimuli() if each.id in known]
        by_hand = read_manual_edits(here, self.folder.stimuli, known, self._file())
        import_manual_edits(self.log, here, by_hand, keep=True)
        published = self.log.published()
        if any(vote.id > published.get(vote.stimulus, 0) for vote in self.log.votes()):
            self.publish()  # an interrupted session left votes that the file does not have


def _new_text(item: ReviewItem, request: VoteRequest) -> str | None:
    made = item.made
    if made.transcript is None:
        return request.text if request.text is not None and request.text != made.texts[0] else None
    try:
        run = edited_run(made.transcript, request.turns)
    except ArgumentsError as error:
        raise RefusedError(str(error)) from error
    if request.text is not None and not request.turns:
        with suppress(ValueError, KeyError, TypeError):  # the rendering of a run is no run
            run = run_of(request.text)
    return run_text(run) if run != made.transcript else None


def _require_sense(item: ReviewItem, choice: Choice) -> None:
    after = apply_vote(item.made, Vote(**vars(choice), id=1))
    if not after.texts[0].strip():
        raise RefusedError("the text is empty: write one, or reject it.")
    if choice.label is not None:
        answers = parse_scale(item.made.scale or "").answers
        if not isinstance(item.made.expectation, Label) or choice.label not in answers:
            raise RefusedError(f"the label {choice.label!r} is not on the scale ({', '.join(answers)}).")
        if not choice.reason.strip():
            raise RefusedError("a changed label needs a reason: say why.")
    if not flips(after, item.original):
        raise RefusedError(
            "the label is the item's own, so nothing was flipped: reject it, or write a text that deserves "
            "another label."
        )
