"""`steelyard review`: a page on which people accept, edit and reject generated stimuli."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.cli.options import COUNT, PORT, option
from steelyard.cli.output import display_path
from steelyard.core.text import pluralize
from steelyard.errors import ConfigError, RunError

if TYPE_CHECKING:
    from steelyard.review.progress import LabellingProgress, ReviewProgress
    from steelyard.review.session import ReviewSession


@click.command(short_help="Review generated stimuli on a web page.")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@option("--reviewer", metavar="NAME", help="Name for your votes [your user name].")
@option("--reviewers", type=COUNT, metavar="N", help="Reviewers required per text [1].")
@option("--blind", is_flag=True, help="Hide the validator's opinion and other reviewers.")
@option("--label", is_flag=True, help="Label the items of a run, blind to its judges.")
@option(
    "--draw", type=COUNT, metavar="N", help="Items to sample for --label, with known probabilities [all]."
)
@option("--status", is_flag=True, help="Print the progress of the review or of labelling; start no server.")
@option(
    "--export",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write all votes as JSONL; start no server.",
)
@option(
    "--import",
    "taken",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Read votes from JSONL; start no server.",
)
@option("--finish", is_flag=True, help="Save the decisions as a version; start no server.")
@option("--json", "as_json", is_flag=True, help="Print --status as JSON.")
@option("--host", default="127.0.0.1", metavar="ADDRESS", help="Address to listen on.")
@option("--port", type=PORT, default=0, metavar="N", help="Port; 0 picks a free one, the same each time.")
@option("--allow-remote", is_flag=True, help="Allow a --host that other machines can reach.")
@option("--no-browser", is_flag=True, help="Print the link without opening a browser.")
def review(
    folder: Path,
    reviewer: str | None,
    reviewers: int | None,
    blind: bool,
    label: bool,
    draw: int | None,
    status: bool,
    export: Path | None,
    taken: Path | None,
    finish: bool,
    as_json: bool,
    host: str,
    port: int,
    allow_remote: bool,
    no_browser: bool,
) -> None:
    """Open a local web page to accept, edit, reject or defer the generated texts of a study.

    The page confirms a vote only after it is saved. To stop the server press Finish on the page, Enter in the
    terminal once no text is pending, or Ctrl-C; the same command resumes the review. --status is for scripts:
    it exits 0 if no text is pending, or with --label no item, otherwise 1.
    """
    if draw is not None and not label:
        raise ConfigError("--draw: works only with --label; add --label, or remove --draw.")
    if as_json and not status:
        raise ConfigError("--json: works only with --status; add --status, or remove --json.")
    for_review = {
        "--reviewers": reviewers,
        "--blind": blind,
        "--export": export,
        "--import": taken,
        "--finish": finish,
    }
    for name, value in for_review.items() if label else ():
        if value:
            raise ConfigError(
                f"{name}: works on generated texts under review, not with --label; remove {name}, or --label."
            )
    if status:
        import json

        found = _label_progress(folder, draw, reviewer) if label else _review_progress(folder, reviewers)
        click.echo(json.dumps(found.to_json(), indent=1) if as_json else found.sentence)
        sys.exit(1 if found.waiting else 0)
    if label:
        _label(folder, draw, reviewer, host, port, allow_remote=allow_remote, browser=not no_browser)
        return
    if export is not None or taken is not None or finish:
        _exchange(folder, reviewers, taken, export, reviewer, finish=finish)
        return
    from steelyard.cli.output import on_enter, open_link, system_user
    from steelyard.review.progress import review_progress
    from steelyard.review.session import ReviewSession
    from steelyard.web.review.app import ReviewPages
    from steelyard.web.server import Server, require_loopback, usual_port

    require_loopback(host, remote=allow_remote)
    name = reviewer or system_user()
    with closing(ReviewSession(folder, reviewers=reviewers, waits_for_file=False)) as session:
        server = Server(host, port, usual_port(folder))
        pages = ReviewPages(
            session, name, blind=blind, finished=server.stop, stopping=lambda: server.stopping
        )

        def ready(url: str) -> None:
            open_link(f"Reviewing {display_path(folder)}", url, browser=not no_browser, host=host)
            on_enter(lambda: _finish(session, name, server.stop))

        server.serve(pages.app(), ready)
        click.echo(review_progress(session).sentence)


def _label(
    folder: Path,
    draw: int | None,
    reviewer: str | None,
    host: str,
    port: int,
    *,
    allow_remote: bool,
    browser: bool,
) -> None:
    from steelyard.cli.output import open_link, system_user
    from steelyard.review.labelling import LabelSession
    from steelyard.web.review.label_app import LabelPages
    from steelyard.web.server import Server, require_loopback, usual_port

    require_loopback(host, remote=allow_remote)
    with closing(LabelSession(folder, size=draw)) as session:
        named = session.annotators
        _refuse_stranger(reviewer, named)
        server = Server(host, port, usual_port(folder))
        pages = LabelPages(session, reviewer or (named[0] if len(named) == 1 else system_user()))
        server.serve(
            pages.app(),
            lambda url: open_link(f"Labelling {display_path(folder)}", url, browser=browser, host=host),
        )
        click.echo(f"Labels: {display_path(session.write())}")
        if session.agreement().shared:
            click.echo(session.agreement().sentence)


def _refuse_stranger(reviewer: str | None, named: Sequence[str]) -> None:
    if reviewer is not None and named and reviewer not in named:
        raise ConfigError(
            f"--reviewer {reviewer}: not an annotator of this draw, expected one of {', '.join(named)}; "
            "correct it."
        )


def _finish(session: ReviewSession, reviewer: str, stop: Callable[[], None]) -> None:
    from steelyard.review.session import RefusedError

    try:
        click.echo(f"Finished: version {session.finish(reviewer).version}.")
        stop()
    except RefusedError as refusal:
        click.echo(f"Not finished: {refusal}")


def _exchange(
    folder: Path,
    reviewers: int | None,
    taken: Path | None,
    export: Path | None,
    reviewer: str | None,
    *,
    finish: bool,
) -> None:
    from steelyard.cli.output import system_user
    from steelyard.core.atomic_write import atomic_write_text
    from steelyard.review.progress import review_progress
    from steelyard.review.session import RefusedError, ReviewSession
    from steelyard.review.vote_file import export_votes, import_votes

    session = ReviewSession(folder, reviewers=reviewers)
    try:
        if taken is not None:
            result = import_votes(session, taken, reviewer or system_user())
            click.echo(f"{pluralize(result.kept, 'vote')} taken in, {result.known} known already.")
        if export is not None:
            atomic_write_text(export, export_votes(session))
            click.echo(f"Votes: {display_path(export)}")
        if finish:
            click.echo(f"Finished: version {session.finish(reviewer or system_user()).version}.")
        elif review_progress(session).pending:
            click.echo(review_progress(session).sentence)
    except RefusedError as refusal:
        raise RunError(f"{folder}: not finished: {refusal}") from refusal
    finally:
        session.close()


def _review_progress(folder: Path, reviewers: int | None) -> ReviewProgress:
    from steelyard.review.progress import review_progress
    from steelyard.review.session import ReviewSession

    with closing(ReviewSession(folder, reviewers=reviewers)) as session:
        return review_progress(session)


def _label_progress(folder: Path, draw: int | None, reviewer: str | None) -> LabellingProgress:
    from steelyard.review.labelling import LabelSession

    with closing(LabelSession(folder, size=draw, may_draw=False)) as session:
        _refuse_stranger(reviewer, session.annotators)
        return session.progress(reviewer)
