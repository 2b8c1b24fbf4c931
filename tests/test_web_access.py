"""What a server of pages refuses: other sites, other names, other people, other files, too much."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from review_sessions import Client, serving, written_folder
from steelyard.errors import ConfigError
from steelyard.review.session import ReviewSession
from steelyard.web.review_app import ReviewPages
from steelyard.web.server import BODY_LIMIT, Access, Server, require_loopback

ITEM = "sky-0/label_flip/0"
ACCEPT = {"item": ITEM, "decision": "accepted", "seen": 0}


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReviewSession]:
    session = ReviewSession(written_folder(tmp_path_factory.mktemp("access") / "run").path)
    yield session
    session.close()


@pytest.fixture(scope="module")
def server(session: ReviewSession) -> Iterator[Server]:
    def pages(server: Server) -> object:
        return ReviewPages(session, "Ada", stopping=lambda: server.stopping).app()

    with serving(pages) as server:
        yield server


@pytest.fixture
def client(server: Server) -> Client:
    return Client.of(server)


def test_the_token_becomes_a_cookie_that_scripts_and_other_sites_do_not_get(server: Server) -> None:
    stranger = Client(server.access.port)
    answer = stranger.get(f"/?token={server.access.token}&status=waiting")
    assert answer.status == 303
    assert answer.headers["location"] == "/?status=waiting"
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert server.access.token not in answer.headers["set-cookie"]


def test_a_known_browser_gets_the_page_and_it_holds_no_inline_script(client: Client) -> None:
    answer = client.get("/")
    assert answer.status == 200
    assert "sky-0" in answer.text
    assert "<script>" not in answer.text
    assert " style=" not in answer.text
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in answer.headers
    assert "http://" not in answer.text.replace(f"http://127.0.0.1:{client.port}", "")


@pytest.mark.parametrize(
    "path", ["/", "/item?item=x", "/queue", "/events", "/nothing", "/?token=guess", "/?token="]
)
def test_a_stranger_gets_a_sentence_and_nothing_else(server: Server, path: str) -> None:
    answer = Client(server.access.port).get(path)
    assert answer.status == 403
    assert "sky-0" not in answer.text


@pytest.mark.parametrize(
    "cookie",
    ["steelyard-{port}=", "steelyard-{port}=guess", "steelyard-1={session}", "{session}", "\x7f=;;=="],
)
def test_other_cookies_open_nothing(server: Server, cookie: str) -> None:
    access = server.access
    told = cookie.format(port=access.port, session=access.session)
    assert Client(access.port, cookie=told).get("/").status in (400, 403)  # the wire may refuse it first


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "127.0.0.1.evil.example:{port}",
        "[::]",
    ],
)
def test_a_foreign_host_is_refused_with_cookie_and_token(server: Server, client: Client, host: str) -> None:
    named = host.format(port=server.access.port)
    assert client.get("/", host=named).status == 421
    assert client.get(f"/?token={server.access.token}", host=named).status == 421


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1"]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_foreign_origin_is_refused(
    session: ReviewSession, client: Client, origin: str, method: str
) -> None:
    named = origin.format(port=client.port)
    answer = (
        client.get("/", origin=named) if method == "GET" else client.post("/decide", ACCEPT, origin=named)
    )
    assert answer.status == 403
    assert session.log.votes() == []


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"x_steelyard_csrf": ""}, 403),
        ({"x_steelyard_csrf": "guess"}, 403),
        ({"origin": ""}, 403),
        ({"sec_fetch_site": "cross-site"}, 403),
        ({"sec_fetch_site": "same-site"}, 403),
        ({"content_type": "text/plain"}, 415),
        ({"content_type": "application/x-www-form-urlencoded"}, 415),
        ({"content_type": ""}, 415),
        ({"cookie": "steelyard-1=x"}, 403),
    ],
)
def test_a_change_from_elsewhere_is_refused(
    session: ReviewSession, client: Client, headers: dict[str, str], status: int
) -> None:
    assert client.post("/decide", ACCEPT, **headers).status == status
    assert session.log.votes() == []


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS"])
def test_other_methods_are_refused(client: Client, method: str) -> None:
    assert client.ask(method, "/decide", None, {}).status == 405


@pytest.mark.parametrize("path", ["/decide", "/undo", "/draft", "/finish", "/reviewer"])
def test_reading_changes_nothing(session: ReviewSession, client: Client, path: str) -> None:
    assert client.get(f"{path}?item={ITEM}&decision=accepted").status == 405
    assert session.log.votes() == []


@pytest.mark.parametrize(
    "path",
    [
        "/static/../access.py",
        "/static/..%2f..%2faccess.py",
        "/static/%2e%2e/x",
        "/static//etc/passwd",
        "/../../etc/passwd",
        "/static/review.html.j2",
    ],
)
def test_no_other_file_is_served(client: Client, path: str) -> None:
    answer = client.get(path)
    assert answer.status == 404
    assert "import" not in answer.text


def test_scripts_and_styles_are_served_from_here(client: Client) -> None:
    for name, kind in (
        ("review.js", "text/javascript"),
        ("words.js", "text/javascript"),
        ("style.css", "text/css"),
    ):
        answer = client.get(f"/static/{name}")
        assert (answer.status, answer.headers["content-type"].partition(";")[0]) == (200, kind)
        assert "https://" not in answer.text


def test_a_body_that_is_too_long_is_refused_by_its_length(client: Client) -> None:
    assert client.post("/draft", b"{}", content_length=str(BODY_LIMIT + 1)).status == 413
    assert client.post("/draft", b"{}", content_length="x").status in (400, 413)


def test_a_body_that_tells_no_length_is_counted(client: Client) -> None:
    chunk = b"x" * 1024 * 1024
    chunks = [f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n" for _ in range(BODY_LIMIT // len(chunk) + 1)]
    headers = {
        "origin": f"http://127.0.0.1:{client.port}",
        "content-type": "application/json",
        "x-steelyard-csrf": client.csrf,
        "transfer-encoding": "chunked",
    }
    assert client.ask("POST", "/draft", [*chunks, b"0\r\n\r\n"], headers).status == 413


@pytest.mark.parametrize("body", [b"", b"[]", b"nonsense", b'"x"', b"\xff\xfe"])
def test_a_body_that_is_no_object_is_refused(client: Client, body: bytes) -> None:
    assert client.post("/decide", body).status == 400


def test_names_of_a_server_that_others_may_reach() -> None:
    here = Access("0.0.0.0", 8000)
    assert here.knows("192.0.2.7:8000")
    assert here.knows("localhost:8000")
    assert not here.knows("evil.example:8000")
    assert not here.knows("192.0.2.7:80")
    assert Access("192.0.2.7", 8000).url().startswith("http://192.0.2.7:8000/?token=")
    assert Access("::1", 8000).url().startswith("http://[::1]:8000/?token=")


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.7", "::", "my-machine"])
def test_other_machines_are_let_in_only_on_purpose(host: str) -> None:
    with pytest.raises(ConfigError, match="--allow-remote"):
        require_loopback(host, remote=False)
    require_loopback(host, remote=True)
    require_loopback("127.0.0.1", remote=False)


def test_two_servers_have_other_secrets(tmp_path: Path) -> None:
    first, second = Access("127.0.0.1", 1), Access("127.0.0.1", 1)
    assert len({first.token, first.session, first.csrf, second.token, second.session, second.csrf}) == 6


def test_a_link_lasts_for_one_folder_and_one_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def token(folder: str) -> str:
        return Access.lasting("127.0.0.1", 1, "view", folder).token

    cache = tmp_path / "mine"
    monkeypatch.setenv("STEELYARD_CACHE", str(cache))
    first = token("run")
    assert first == token("run") != token("other")
    (cache / "stamp.key").unlink()
    assert token("run") == token("run") != first
