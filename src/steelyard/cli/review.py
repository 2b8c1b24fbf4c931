"""`steelyard review`: a page on which people accept, edit and reject written stimuli."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from steelyard.cli.options import option, whole
from steelyard.cli.say import shown
from steelyard.errors import ConfigError


@click.command(short_help="Review written stimuli on a page.")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@option("--reviewer", metavar="NAME", help="Name that decisions carry [yours on this machine].")
@option("--reviewers", type=whole(1), metavar="N", help="Reviewers that each text needs [1].")
@option("--blind", is_flag=True, help="Hide the validator's opinion and other reviewers.")
@option("--status", is_flag=True, help="Print how far the review is, and open nothing.")
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
    status: bool,
    as_json: bool,
    host: str,
    port: int,
    allow_remote: bool,
    no_browser: bool,
) -> None:
    """Open a page on which people accept, edit, reject or defer what was written for a study.

    Every decision is on disk before the page says so. The server ends with Finish on the page, with Enter in
    the terminal once nothing waits, or with Ctrl-C, after which the same command goes on. --status is for
    scripts: it ends with 0 where nothing waits, and with 1 otherwise.
    """
    if status:
        sys.exit(_print_status(folder, reviewers, as_json))
    if as_json:
        raise ConfigError("--json: belongs to --status; add that, or leave it out.")
    from steelyard.cli.browse import announce, own_name
    from steelyard.lab.review.bench import Bench
    from steelyard.web.review.app import ReviewPages
    from steelyard.web.server import Server, require_loopback

    require_loopback(host, remote=allow_remote)
    bench = Bench(folder, reviewers=reviewers)
    server = Server(host, port)
    pages = ReviewPages(
        bench,
        reviewer or own_name(),
        blind=blind,
        finished=server.stop,
        stopping=lambda: server.stopping,
    )
    server.serve(pages.app(), lambda url: announce(f"Reviewing {shown(folder)}", url, browser=not no_browser))
    bench.close()


def _print_status(folder: Path, reviewers: int | None, as_json: bool) -> int:
    import json

    from steelyard.lab.review.bench import Bench
    from steelyard.lab.review.status import status_of

    bench = Bench(folder, reviewers=reviewers)
    status = status_of(bench)
    bench.close()
    click.echo(json.dumps(status.to_json(), indent=1) if as_json else status.sentence)
    return 0 if not status.waiting else 1
