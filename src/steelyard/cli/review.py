"""`steelyard review`: a page on which people accept, edit and reject generated stimuli."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.cli.options import PageOptions, takes
from steelyard.cli.output import display_path, on_enter, system_user
from steelyard.core.settings import argument, flag, group, setting
from steelyard.core.text import pluralize
from steelyard.errors import ConfigError, RunError

if TYPE_CHECKING:
    from steelyard.review.labelling import LabelSession
    from steelyard.review.progress import LabellingProgress, ReviewProgress


@dataclass(frozen=True, kw_only=True)
class ReviewOptions:
    folder: Path = argument("DIR", "folder")
    reviewer: str | None = setting("Name for your votes [your user name].", "NAME")
    reviewers: int | None = setting("Reviewers required per text [1].", "N", kind="count")
    blind: bool = flag("Hide the validator's opinion and other reviewers.")
    label: bool = flag("Label the items of a run, blind to its judges.")
    draw: int | None = setting(
        "Items to sample for --label, with known probabilities [all].", "N", kind="count"
    )
    status: bool = flag("Print the progress of the review or of labelling; start no server.")
    export: Path | None = setting(
        "Write all votes, or with --label all labels, as JSONL; start no server.", "FILE", kind="file"
    )
    taken: Path | None = setting(
        "Read votes from JSONL; start no server.", "FILE", ("--import",), kind="file"
    )
    finish: bool = flag("Save the decisions as a version; start no server.")
    as_json: bool = flag("Print --status as JSON.", ("--json",))
    pages: PageOptions = group(PageOptions)

    @property
    def name(self) -> str:
        return self.reviewer or system_user()


@click.command(short_help="Review generated stimuli on a web page.")
@takes(ReviewOptions)
def review(options: ReviewOptions) -> None:
    """Open a local web page to accept, edit, reject or defer the generated texts of a study.

    The page confirms a vote only after it is saved. To stop the server press Finish on the page, Enter in the
    terminal once no text is pending, or Ctrl-C; the same command resumes the review. --status is for scripts:
    it exits 0 if no text is pending, or with --label no item, otherwise 1.
    """
    if options.draw is not None and not options.label:
        raise ConfigError("--draw: works only with --label; add --label, or remove --draw.")
    if options.as_json and not options.status:
        raise ConfigError("--json: works only with --status; add --status, or remove --json.")
    for_review = {
        "--reviewers": options.reviewers,
        "--blind": options.blind,
        "--import": options.taken,
        "--finish": options.finish,
    }
    for name, value in for_review.items() if options.label else ():
        if value:
            raise ConfigError(
                f"{name}: works on generated texts under review, not with --label; remove {name}, or --label."
            )
    if options.status:
        found = _label_progress(options) if options.label else _review_progress(options)
        click.echo(json.dumps(found.to_json(), indent=1) if options.as_json else found.sentence)
        sys.exit(1 if found.waiting else 0)
    if options.label and options.export is not None:
        _export_labels(options, options.export)
    elif options.label:
        _label(options)
    elif options.export is not None or options.taken is not None or options.finish:
        _exchange(options)
    else:
        _review(options)


def _review(options: ReviewOptions) -> None:
    from steelyard.review.progress import review_progress
    from steelyard.review.session import RefusedError, ReviewSession
    from steelyard.web.review_app import ReviewPages
    from steelyard.web.server import Server, require_loopback

    require_loopback(options.pages.host, remote=options.pages.allow_remote)
    with closing(ReviewSession(options.folder, reviewers=options.reviewers, waits_for_file=False)) as session:
        server = Server(options.pages.host, options.pages.port, "review", options.folder)
        pages = ReviewPages(
            session, options.name, blind=options.blind, finished=server.stop, stopping=lambda: server.stopping
        )

        def finish() -> None:
            try:
                click.echo(f"Finished: version {session.finish(options.name).version}.")
                server.stop()
            except RefusedError as refusal:
                click.echo(f"Not finished: {refusal}")

        def ready(url: str) -> None:
            options.pages.open(f"Reviewing {display_path(options.folder)}", url)
            on_enter(finish)

        server.serve(pages.app(), ready)
        click.echo(review_progress(session).sentence)


def _label(options: ReviewOptions) -> None:
    from steelyard.review.labelling import LabelSession
    from steelyard.web.review_app import LabelPages
    from steelyard.web.server import Server, require_loopback

    require_loopback(options.pages.host, remote=options.pages.allow_remote)
    with closing(LabelSession(options.folder, size=options.draw)) as session:
        named = session.annotators
        _refuse_stranger(options.reviewer, named)
        server = Server(options.pages.host, options.pages.port, "label", options.folder)
        pages = LabelPages(session, options.reviewer or (named[0] if len(named) == 1 else system_user()))
        what = f"Labelling {display_path(options.folder)}"
        server.serve(pages.app(), lambda url: options.pages.open(what, url))
        click.echo(f"Labels: {display_path(session.write())}")
        if session.agreement().shared:
            click.echo(session.agreement().sentence)


def _refuse_stranger(reviewer: str | None, named: Sequence[str]) -> None:
    if reviewer is not None and named and reviewer not in named:
        raise ConfigError(
            f"--reviewer {reviewer}: not an annotator of this draw, expected one of {', '.join(named)}; "
            "correct it."
        )


def _exchange(options: ReviewOptions) -> None:
    from steelyard.core.files import atomic_write_text
    from steelyard.review.progress import review_progress
    from steelyard.review.session import RefusedError, ReviewSession
    from steelyard.review.vote_file import export_votes, import_votes

    with closing(ReviewSession(options.folder, reviewers=options.reviewers)) as session:
        try:
            if options.taken is not None:
                result = import_votes(session, options.taken, options.name)
                click.echo(f"{pluralize(result.kept, 'vote')} taken in, {result.known} known already.")
            if options.export is not None:
                atomic_write_text(options.export, export_votes(session))
                click.echo(f"Votes: {display_path(options.export)}")
            if options.finish:
                click.echo(f"Finished: version {session.finish(options.name).version}.")
            elif review_progress(session).pending:
                click.echo(review_progress(session).sentence)
        except RefusedError as refusal:
            raise RunError(f"{options.folder}: not finished: {refusal}") from refusal


def _review_progress(options: ReviewOptions) -> ReviewProgress:
    from steelyard.review.progress import review_progress
    from steelyard.review.session import ReviewSession

    with closing(ReviewSession(options.folder, reviewers=options.reviewers)) as session:
        return review_progress(session)


def _label_progress(options: ReviewOptions) -> LabellingProgress:
    with closing(_drawn(options)) as session:
        return session.progress(options.reviewer)


def _export_labels(options: ReviewOptions, path: Path) -> None:
    from steelyard.core.files import atomic_write_text

    with closing(_drawn(options)) as session:
        atomic_write_text(path, list(session.lines()))
        click.echo(f"Labels: {display_path(path)}")
        click.echo(session.progress().sentence)


def _drawn(options: ReviewOptions) -> LabelSession:
    from steelyard.review.labelling import LabelSession

    session = LabelSession(options.folder, size=options.draw, may_draw=False)
    try:
        _refuse_stranger(options.reviewer, session.annotators)
    except ConfigError:
        session.close()
        raise
    return session
