"""Attempts to leave loopback are refused and noted in the file WATCH_LOG, in each Python process of a run."""

import os
import sys

LOOPBACK = ("127.", "::1", "localhost")


def watch(event: str, arguments: tuple) -> None:
    if event == "socket.getaddrinfo" or event.startswith("socket.gethostby"):
        host = arguments[0]
    elif event in ("socket.connect", "socket.sendto") and isinstance(arguments[1], tuple):
        host = arguments[1][0]
    else:
        return
    host = host.decode() if isinstance(host, bytes) else host
    if host and not str(host).startswith(LOOPBACK):
        with open(os.environ["WATCH_LOG"], "a") as log:
            log.write(f"{host}\n")
        raise OSError(f"{host}: no way out of this machine")


if "WATCH_LOG" in os.environ:
    sys.addaudithook(watch)
