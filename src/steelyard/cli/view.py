"""`steelyard view`: pages on which every figure leads to the calls behind it."""

from __future__ import annotations

from pathlib import Path

import click

from steelyard.cli.options import PORT, option
from steelyard.cli.output import display_path
from steelyard.core.text import pluralize


@click.command(short_help="Browse runs and every call behind a figure.")
@click.argument(
    "folders", metavar="DIR...", nargs=-1, required=True, type=click.Path(file_okay=False, path_type=Path)
)
@option(
    "--bundle",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write pages that open from a disk or any web server, instead of serving them.",
)
@option("--host", default="127.0.0.1", metavar="ADDRESS", help="Address to listen on.")
@option("--port", type=PORT, default=0, metavar="N", help="Port; 0 picks a free one.")
@option("--allow-remote", is_flag=True, help="Allow a --host that other machines can reach.")
@option("--no-browser", is_flag=True, help="Print the link without opening a browser.")
def view(
    folders: tuple[Path, ...], bundle: Path | None, host: str, port: int, allow_remote: bool, no_browser: bool
) -> None:
    """Open a local web page to browse runs and imports: datasheets whose numbers link to their calls, every
    call with its prompt and raw reply, pairs in both orders, comparisons of judges. The pages are read-only;
    a run may continue meanwhile.
    """
    from steelyard.cli.output import open_link
    from steelyard.web.server import Server, require_loopback
    from steelyard.web.view.app import ViewPages

    if bundle is not None:
        from steelyard.web.view.bundle import write_bundle

        count = write_bundle(folders, bundle, lambda words: click.echo(f"writing {words}", err=True))
        click.echo(f"{pluralize(count, 'file')}: {display_path(bundle / 'index.html')}")
        return
    require_loopback(host, remote=allow_remote)
    pages = ViewPages(folders)
    server = Server(host, port)
    what = f"Showing {pluralize(len(pages.runs), 'run')}"
    server.serve(pages.app(), lambda url: open_link(what, url, browser=not no_browser, host=host))
