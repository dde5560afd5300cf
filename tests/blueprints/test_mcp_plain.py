"""The way round Flask serves what the guards would serve, with the same answers, nothing else."""

import io
import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask

from blueprints.bodies import DEADLINE_KEY
from mead import Mead
from mead.actors.green import sleep_ms
from mead.config import Settings
from tests.helpers.server import DECK_TOKEN, MCP_TOKEN
from wsgi import create_app

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'

CHOICES: dict[str, list[str | None]] = {
    "REQUEST_METHOD": ["POST", "GET"],
    "PATH_INFO": ["/mcp", "/mcp/x"],
    "HTTP_HOST": ["127.0.0.1:4040", "evil.example", None],
    "HTTP_ORIGIN": [None, "null", "http://evil.example", "http://127.0.0.1:4040"],
    "HTTP_AUTHORIZATION": [f"Bearer {MCP_TOKEN}", f"Bearer {DECK_TOKEN}", "Bearer ", None],
    "CONTENT_TYPE": ["application/json", "application/json; charset=utf-8", "text/plain", None],
    "CONTENT_LENGTH": ["40", "39", "41", "1048577", "0", None],
    "HTTP_X_FORWARDED_HOST": [None, "evil.example"],
}


@pytest.fixture(params=[[], ["127.0.0.1"]], ids=["no proxy", "a proxy"])
def app(request: pytest.FixtureRequest) -> Iterator[Flask]:
    server = {"token": MCP_TOKEN, "trusted_proxies": request.param}
    settings = Settings.build({"mcp_server": server, "deck": {"token": DECK_TOKEN}})
    with Mead(settings) as mead:
        yield create_app(settings, mead)


def environ(body: Any = PING, **changes: Any) -> dict[str, Any]:
    usual = {name: values[0] for name, values in CHOICES.items()}
    named = {name: value for name, value in {**usual, **changes}.items() if value is not None}
    return {
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "4040",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body) if isinstance(body, bytes) else body,
        **named,
    }


def asked(serve: Any, given: dict[str, Any]) -> tuple[int, bytes, str | None]:
    """Status, body and type of the answer."""
    told: list[Any] = []
    chunks = serve(given, lambda status, headers, exc=None: told.append((status, dict(headers))))
    body = b"".join(chunks)
    if close := getattr(chunks, "close", None):
        close()
    (status, headers) = told[0]
    assert int(headers.get("Content-Length", len(body))) == len(body)
    return int(status[:3]), body, headers.get("Content-Type")


def pairs_of_choices() -> Iterator[dict[str, str | None]]:
    """Every combination of two choices, the rest as usual."""
    for (one, ones), (two, twos) in itertools.combinations(CHOICES.items(), 2):
        for first, second in itertools.product(ones, twos):
            yield {one: first, two: second}


def test_both_ways_answer_alike(app: Flask) -> None:
    served = 0
    for changes in pairs_of_choices():
        through_flask = asked(app.wsgi_app._flask, environ(**changes))
        assert asked(app.wsgi_app, environ(**changes)) == through_flask, changes
        served += through_flask[0] == 200
    assert served > 5


def test_a_plain_request_never_reaches_flask(app: Flask) -> None:
    def flask(environ: Any, start_response: Any) -> Any:
        raise AssertionError("reached")

    app.wsgi_app._flask = flask
    assert asked(app.wsgi_app, environ()) == (
        200,
        b'{"jsonrpc":"2.0","id":1,"result":{}}',
        "application/json",
    )
    with pytest.raises(AssertionError):
        asked(app.wsgi_app, environ(HTTP_ORIGIN="http://127.0.0.1:4040"))


def test_an_empty_answer_has_no_type(app: Flask) -> None:
    note = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
    for serve in (app.wsgi_app, app.wsgi_app._flask):
        assert asked(serve, environ(note, CONTENT_LENGTH=str(len(note)))) == (202, b"", None)


class Broken:
    def read(self, size: int) -> bytes:
        raise ValueError("what a parser says")


class Late:
    def read(self, size: int) -> bytes:
        sleep_ms(5000)
        return b""


@pytest.mark.parametrize(("body", "status"), [(Broken(), 400), (Late(), 408)])
def test_a_body_that_does_not_come_is_refused_alike(app: Flask, body: Any, status: int) -> None:
    app.config[DEADLINE_KEY] = 1
    for serve in (app.wsgi_app, app.wsgi_app._flask):
        assert asked(serve, environ(body))[0] == status


def test_a_wrong_token_still_counts(app: Flask) -> None:
    for _ in range(11):
        asked(app.wsgi_app, environ(HTTP_AUTHORIZATION="Bearer wrong"))
    assert asked(app.wsgi_app, environ(HTTP_AUTHORIZATION="Bearer wrong"))[0] == 429
    assert asked(app.wsgi_app, environ())[0] == 200
