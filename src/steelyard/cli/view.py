"""`steelyard view`: pages on which every figure leads to the calls behind it."""

from __future__ import annotations

from pathlib import Path

import click

from steelyard.cli.options import option, whole
from steelyard.cli.say import shown
from steelyard.core.text import pluralize


@click.command(short_help="Look at runs and every call behind a figure.")
@click.argument(
    "folders", metavar="DIR...", nargs=-1, required=True, type=click.Path(file_okay=False, path_type=Path)
)
@option(
    "--bundle",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write the pages as files that any web server serves, and open nothing.",
)
@option("--host", default="127.0.0.1", metavar="ADDRESS", help="Address to listen at.")
@option("--port", type=whole(0, 65535), default=0, metavar="N", help="Port; 0 picks a free one.")
@option("--allow-remote", is_flag=True, help="Let --host be one that other machines can reach.")
@option("--no-browser", is_flag=True, help="Print the link and open no browser.")
def view(
    folders: tuple[Path, ...],
    bundle: Path | None,
    host: str,
    port: int,
    allow_remote: bool,
    no_browser: bool,
) -> None:
    """Open pages on which runs and imports can be looked at: datasheets whose numbers lead to their calls,
    every call with its prompt and raw reply, pairs in both orders, judges compared. Nothing is changed, and a
    run may go on meanwhile.
    """
    from steelyard.cli.browse import announce
    from steelyard.web.server import Server, require_loopback
    from steelyard.web.view.app import ViewPages

    if bundle is not None:
        from steelyard.web.view.bundle import write_bundle

        count = write_bundle(folders, bundle)
        click.echo(f"{pluralize(count, 'file')}: {shown(bundle / 'index.html')}")
        return
    require_loopback(host, remote=allow_remote)
    pages = ViewPages(folders)
    server = Server(host, port)
    what = f"Showing {pluralize(len(folders), 'run')}"
    server.serve(pages.app(), lambda url: announce(what, url, browser=not no_browser))
