"""What surrounds a run and fails: a disk without room, a certificate that nobody vouches for."""

from __future__ import annotations

import json
import re
import shutil
import ssl
import subprocess
from pathlib import Path
from typing import Any

import pytest

from commands import run_forked
from servers import ScriptedServer, says, wins
from test_hostile_run import CALLS, FAST, judge

MEASURE = ("measure", "-p", "vacuum", "--out", "run", *FAST)
LONG = says(json.dumps({"reason": "neither is better " * 1000, "winner": "tie"}))
"""A reply of some 18,000 bytes."""


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
        done = run_forked((*MEASURE, "-j", judge(server)), tmp_path, environment, largest)
        assert done.code == 1
        assert done.err.count("\n") == 1
        found = re.search(told, done.err)
        assert found, done.err
        asked = len(server.requests)
        again = steelyard(*MEASURE, "-j", judge(server))
        kept = int(found[1]) if found.groups() else 0
        lost = rf"steelyard: {asked - kept} calls? had been sent when the last run broke off; .*\n"
        assert again.returncode == 0
        assert re.fullmatch(lost if asked > kept else "", again.stderr), again.stderr
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
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    ask = ["req", "-new", *curve, "-nodes", "-keyout", key, "-out", asked, "-subj", "/CN=j"]
    sign = ["x509", "-req", "-in", asked, "-signkey", key, "-out", made, "-days", days, "-extfile", names]
    for step in (ask, sign):
        subprocess.run([openssl, *map(str, step)], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made, key)
    return request.param, made, context


def test_a_certificate_that_is_not_accepted_is_told_at_once(
    tmp_path: Path, environment: dict[str, str], certificate: tuple[str, Path, ssl.SSLContext]
) -> None:
    fault, path, context = certificate
    with ScriptedServer(wins("tie"), tls=context) as server:
        command = ("measure", "-j", judge(server), "-p", "vacuum", "--out", "run", *FAST)
        known = {**environment, "SSL_CERT_FILE": str(path)}
        done = run_forked(command, tmp_path, known if "expired" in fault else {**known, "SSL_CERT_FILE": ""})
        assert done.code == 1
        assert f"at {server.url}: its certificate is not accepted ({fault}); renew it, or name" in done.err
        assert done.err.count("\n") == 1
        assert not server.requests
        if "expired" not in fault:
            assert run_forked(command, tmp_path, known).code == 0
            assert len(server.requests) == CALLS
