"""What surrounds a run and fails: a disk without room, a certificate that nobody vouches for."""

from __future__ import annotations

import json
import re
import resource
import shutil
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from servers import ScriptedServer, says, wins
from test_hostile_run import CALLS, FAST, judge

MEASURE = ("measure", "-p", "vacuum", "--out", "run", *FAST)
LONG = says(json.dumps({"reason": "neither is better " * 1000, "winner": "tie"}))
"""A reply of some 18,000 bytes."""


def cramped(folder: Path, environment: dict[str, str], largest: int, *options: str) -> Any:
    """The command in a process that can write no file beyond so many bytes."""
    return subprocess.run(
        [sys.executable, "-m", "steelyard", *map(str, MEASURE), *options],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest)),
    )


@pytest.mark.parametrize(
    ("largest", "told"),
    [
        (1_000, r"run: cannot be written \(File too large\); free some space, then run again\."),
        (20_000, r"run/run\.db: cannot be written \(.*\): free some space, then run again to resume\."),
        (200_000, r"the run file cannot be written \(.*\): free some space, .*; (\d+) of 12 calls ha"),
    ],
)
def test_a_full_disk_is_one_sentence_and_nothing_is_paid_twice(
    steelyard: Any, environment: dict[str, str], tmp_path: Path, largest: int, told: str
) -> None:
    """No room for the stimuli, for the plan, for the replies; then there is room."""
    with ScriptedServer(LONG) as server:
        done = cramped(tmp_path, environment, largest, "-j", judge(server))
        assert done.returncode == 1
        assert done.stderr.count("\n") == 1
        found = re.search(told, done.stderr)
        assert found, done.stderr
        asked = len(server.requests)
        again = steelyard(*MEASURE, "-j", judge(server))
        assert (again.returncode, again.stderr) == (0, "")
        kept = int(found[1]) if found.groups() else 0
        assert len(server.requests) - asked == CALLS - kept
        assert 0 < kept <= asked if found.groups() else asked == 0
    assert steelyard("report", "run", "--verify").returncode == 0


@pytest.fixture(params=["self-signed certificate", "certificate has expired"])
def certificate(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path, ssl.SSLContext]:
    """What is wrong with it, its file, and the context of a server that shows it."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs openssl to make a certificate")
    key, asked, made = (tmp_path / name for name in ("key.pem", "request.pem", "certificate.pem"))
    names = tmp_path / "names"
    names.write_text("subjectAltName = IP:127.0.0.1\n")
    days = "-1" if "expired" in request.param else "2"
    ask = ["req", "-new", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", asked, "-subj", "/CN=j"]
    sign = ["x509", "-req", "-in", asked, "-signkey", key, "-out", made, "-days", days, "-extfile", names]
    for step in (ask, sign):
        subprocess.run([openssl, *map(str, step)], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made, key)
    return request.param, made, context


def test_a_certificate_that_is_not_accepted_is_told_at_once(
    process: Any, certificate: tuple[str, Path, ssl.SSLContext]
) -> None:
    fault, path, context = certificate
    with ScriptedServer(wins("tie"), tls=context) as server:
        command = ("measure", "-j", judge(server), "-p", "vacuum", "--out", "run", *FAST)
        done = process(*command, SSL_CERT_FILE=str(path) if "expired" in fault else "")
        assert done.returncode == 1
        assert f"at {server.url}: its certificate is not accepted ({fault}); renew it, or name" in done.stderr
        assert done.stderr.count("\n") == 1
        assert not server.requests
        trusted = process(*command, SSL_CERT_FILE=str(path))
        assert trusted.returncode == (1 if "expired" in fault else 0)
        assert len(server.requests) == (0 if "expired" in fault else CALLS)
