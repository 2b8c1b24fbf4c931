"""`steelyard review`: a page on which people accept, edit and reject written stimuli."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.cli.options import option, whole
from steelyard.cli.say import shown
from steelyard.core.text import pluralize
from steelyard.errors import ConfigError, RunError

if TYPE_CHECKING:
    from steelyard.review.bench import Bench


@click.command(short_help="Review written stimuli on a page.")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@option("--reviewer", metavar="NAME", help="Name that votes carry [yours on this machine].")
@option("--reviewers", type=whole(1), metavar="N", help="Reviewers that each text needs [1].")
@option("--blind", is_flag=True, help="Hide the validator's opinion and other reviewers.")
@option("--label", is_flag=True, help="Have people label the items of a run, blind to its judges.")
@option("--draw", type=whole(1), metavar="N", help="Items to draw for --label, with recorded odds [all].")
@option("--status", is_flag=True, help="Print how far the review is, and open nothing.")
@option(
    "--export",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write every vote as a line of JSON, and open nothing.",
)
@option(
    "--import",
    "taken",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Take votes from lines of JSON, and open nothing.",
)
@option("--finish", is_flag=True, help="Freeze what was decided as a version, and open nothing.")
@option("--json", "as_json", is_flag=True, help="Print --status as JSON.")
@option("--host", default="127.0.0.1", metavar="ADDRESS", help="Address to listen at.")
@option("--port", type=whole(0, 65535), default=0, metavar="N", help="Port; 0 picks a free one.")
@option("--allow-remote", is_flag=True, help="Let --host be one that other machines can reach.")
@option("--no-browser", is_flag=True, help="Print the link and open no browser.")
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
    """Open a page on which people accept, edit, reject or defer what was written for a study.

    Every vote is on disk before the page says so. The server ends with Finish on the page, with Enter in
    the terminal once nothing waits, or with Ctrl-C, after which the same command goes on. --status is for
    scripts: it ends with 0 where nothing waits, and with 1 otherwise.
    """
    if draw is not None and not label:
        raise ConfigError("--draw: belongs to --label; add that, or leave it out.")
    if label:
        _label(folder, draw, reviewer, host, port, allow_remote=allow_remote, browser=not no_browser)
        return
    if status:
        sys.exit(_print_status(folder, reviewers, as_json))
    if export is not None or taken is not None or finish:
        _exchange(folder, reviewers, taken, export, reviewer, finish=finish)
        return
    if as_json:
        raise ConfigError("--json: belongs to --status; add that, or leave it out.")
    from steelyard.cli.browse import announce, on_enter, own_name
    from steelyard.review.bench import Bench
    from steelyard.review.status import status_of
    from steelyard.web.review.app import ReviewPages
    from steelyard.web.server import Server, require_loopback

    require_loopback(host, remote=allow_remote)
    name = reviewer or own_name()
    with closing(Bench(folder, reviewers=reviewers, waits_for_file=False)) as bench:
        server = Server(host, port)
        pages = ReviewPages(bench, name, blind=blind, finished=server.stop, stopping=lambda: server.stopping)

        def ready(url: str) -> None:
            announce(f"Reviewing {shown(folder)}", url, browser=not no_browser)
            on_enter(lambda: _finish(bench, name, server.stop))

        server.serve(pages.app(), ready)
        click.echo(status_of(bench).sentence)


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
    from steelyard.cli.browse import announce, own_name
    from steelyard.review.labelling import LabelBench
    from steelyard.web.review.label_app import LabelPages
    from steelyard.web.server import Server, require_loopback

    require_loopback(host, remote=allow_remote)
    with closing(LabelBench(folder, size=draw)) as bench:
        server = Server(host, port)
        pages = LabelPages(bench, reviewer or own_name())
        server.serve(pages.app(), lambda url: announce(f"Labelling {shown(folder)}", url, browser=browser))
        click.echo(f"Labels: {shown(bench.write())}")
        if bench.agreement().shared:
            click.echo(bench.agreement().sentence)


def _finish(bench: Bench, reviewer: str, stop: Callable[[], None]) -> None:
    """Freeze a version and end; while a text waits, say so and go on."""
    from steelyard.review.bench import RefusedError

    try:
        click.echo(f"Finished: version {bench.finish(reviewer).version}.")
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
    """Votes in, votes out, and the end of a review, without a page."""
    from steelyard.cli.browse import own_name
    from steelyard.core.atomic_write import atomic_write_text
    from steelyard.review.bench import Bench, RefusedError
    from steelyard.review.lines import lines, take_in
    from steelyard.review.status import status_of

    bench = Bench(folder, reviewers=reviewers)
    try:
        if taken is not None:
            told = take_in(bench, taken, reviewer or own_name())
            click.echo(f"{pluralize(told.kept, 'vote')} taken in, {told.known} known already.")
        if export is not None:
            atomic_write_text(export, lines(bench))
            click.echo(f"Votes: {shown(export)}")
        if finish:
            click.echo(f"Finished: version {bench.finish(reviewer or own_name()).version}.")
        elif status_of(bench).pending:
            click.echo(status_of(bench).sentence)
    except RefusedError as refusal:
        raise RunError(f"{folder}: not finished: {refusal}") from refusal
    finally:
        bench.close()


def _print_status(folder: Path, reviewers: int | None, as_json: bool) -> int:
    import json

    from steelyard.review.bench import Bench
    from steelyard.review.status import status_of

    with closing(Bench(folder, reviewers=reviewers)) as bench:
        status = status_of(bench)
    click.echo(json.dumps(status.to_json(), indent=1) if as_json else status.sentence)
    return 0 if not status.waiting else 1
