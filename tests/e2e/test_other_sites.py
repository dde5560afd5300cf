"""What a page of another site can make a browser send to Mead, and what it gets to see."""

import pytest

from tests.helpers.server import DECK_TOKEN, MCP_TOKEN, Server, receive_answer, running, tokens_toml

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(60)]

EVIL = {"Origin": "https://evil.example"}
DECK = {"Authorization": f"Bearer {DECK_TOKEN}"}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    directory = tmp_path_factory.mktemp("sites")
    storage = f'[storage]\ndirectory = "{directory}/var"\n'
    with running(Server(directory, tokens_toml() + storage)) as server:
        yield server


def upgrade(server: Server, *headers: str, ticket: str) -> bytes:
    """The answer to a handshake."""
    lines = [
        "GET /deck/socket HTTP/1.1",
        f"Host: 127.0.0.1:{server.port}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Protocol: mead.deck.v1, ticket.{ticket}",
        *headers,
    ]
    with server.connect() as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        return connection.recv(12)


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://"]
)
@pytest.mark.parametrize("path", ["/mcp", "/deck/login", "/deck/ticket"])
def test_a_form_or_script_of_another_site_is_refused_before_its_token(server, origin, path):
    for token in (MCP_TOKEN, DECK_TOKEN):
        headers = {"Origin": origin, "Authorization": f"Bearer {token}"}
        answer = server.request("POST", path, json={}, headers=headers)
        assert answer.status_code == 403
        assert "Access-Control-Allow-Origin" not in answer.headers


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded"])
def test_what_a_form_can_send_is_no_login(server, kind):
    answer = server.request(
        "POST", "/deck/login", data='{"code": "x"}', headers={"Content-Type": kind}
    )
    assert answer.status_code == 415


@pytest.mark.parametrize("origin", ["https://evil.example", "null"])
def test_another_site_opens_no_socket_even_with_a_ticket(server, origin):
    ticket = server.request("POST", "/deck/ticket", json={}, headers=DECK).json()["ticket"]
    assert upgrade(server, f"Origin: {origin}", ticket=ticket) == b"HTTP/1.1 403"
    own = f"Origin: http://127.0.0.1:{server.port}"
    assert upgrade(server, own, ticket=ticket) == b"HTTP/1.1 101"


def test_a_name_that_was_made_to_point_here_is_refused(server):
    for path in ("/deck/", "/deck/info", "/mcp", "/metrics"):
        for name in ("evil.example", f"evil.example:{server.port}", "127.0.0.1.evil.example"):
            answer = server.get(path, headers={"Host": name, **DECK})
            assert answer.status_code == 403


def test_no_preflight_of_another_site_is_answered(server):
    asked = {"Access-Control-Request-Method": "POST", **EVIL}
    answer = server.request("OPTIONS", "/mcp", headers=asked)
    assert answer.status_code == 403
    assert not [name for name in answer.headers if name.startswith("Access-Control")]


def test_the_page_is_in_no_frame_and_tells_no_referrer(server):
    headers = server.get("/deck/").headers
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert "form-action 'none'" in headers["Content-Security-Policy"]
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/deck/ticket"),
        ("POST", "/deck/login"),
        ("GET", "/deck/info"),
        ("GET", "/deck/usage"),
        ("GET", "/deck/sessions"),
        ("GET", "/deck/sessions/x/history"),
        ("GET", "/deck/sessions/x/export"),
        ("GET", "/metrics"),
    ],
)
@pytest.mark.parametrize("headers", [DECK, {}], ids=["with the token", "without"])
def test_no_answer_of_the_deck_is_kept_by_a_cache(server, method, path, headers):
    options = {"json": {}} if method == "POST" else {}
    answer = server.request(method, path, headers=headers, **options)
    if path == "/metrics" and not headers:
        assert answer.content == b""
    else:
        assert answer.headers["Cache-Control"] == "no-store"


def test_no_cookie_is_set(server):
    for path in ("/deck/", "/deck/info", "/healthz", "/nothing"):
        assert "Set-Cookie" not in server.get(path, headers=DECK).headers


def test_a_token_counts_in_its_header_alone(server):
    for path in (f"/deck/info?token={DECK_TOKEN}", f"/deck/info?access_token={DECK_TOKEN}"):
        assert server.get(path).status_code == 401
    cookie = {"Cookie": f"token={DECK_TOKEN}; Authorization=Bearer {DECK_TOKEN}"}
    assert server.get("/deck/info", headers=cookie).status_code == 401


def test_one_faces_token_opens_no_other_face(server):
    assert (
        server.get("/deck/info", headers={"Authorization": f"Bearer {MCP_TOKEN}"}).status_code
        == 401
    )
    assert server.request("POST", "/mcp", json={}, headers=DECK).status_code == 401


@pytest.mark.parametrize(
    "identity",
    ["%2e%2e%2f%2e%2e%2fetc%2fpasswd", 'x"%0d%0aX-Injected:%20y', "%00", "..%5c..%5c", "x" * 3000],
)
@pytest.mark.parametrize("action", ["export", "history"])
def test_what_is_no_id_reaches_neither_a_path_nor_a_header(server, identity, action):
    answer = server.get(f"/deck/sessions/{identity}/{action}", headers=DECK)
    assert answer.status_code == 404
    assert "Content-Disposition" not in answer.headers
    assert "X-Injected" not in answer.headers


def test_a_request_that_names_another_server_in_its_line_is_judged_by_its_host(server):
    with server.connect() as connection:
        connection.sendall(
            b"GET http://127.0.0.1/deck/info HTTP/1.1\r\nHost: evil.example\r\n"
            b"Authorization: Bearer " + DECK_TOKEN.encode() + b"\r\n\r\n"
        )
        assert receive_answer(connection).startswith(b"HTTP/1.1 403")
