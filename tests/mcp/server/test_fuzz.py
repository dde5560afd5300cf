"""Whatever is sent: no 5xx but for the injected bug, no secret told, no prompt logged."""

import re
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings

from tests.helpers.mcp_fuzz import BROKEN_TOOL, PROMPT, requests
from tests.helpers.mcp_http import AUTHORIZED, post, watch
from tests.helpers.mcp_messages import call, request
from tests.helpers.server import (
    DECK_TOKEN,
    MCP_TOKEN,
    Server,
    receive_all,
    running,
    tokens_toml,
)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")
UNHURRIED = settings(
    deadline=None, database=None, suppress_health_check=list(HealthCheck), print_blob=True
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(
        tmp_path_factory.mktemp("fuzzed"), tokens_toml(), app="tests.mcp.server.broken_app:app"
    )
    with running(server) as started:
        yield started


def answers(server: Server, sent: bytes) -> bytes:
    """All that comes back until the server closes, which it does once it knows the end came."""
    with server.connect() as connection:
        try:
            connection.sendall(sent)
            connection.shutdown(1)
        except OSError:  # it has closed already
            pass
        return receive_all(connection)


def hold(server: Server, sent: bytes, seen: Counter[int]) -> None:
    received = answers(server, sent)
    statuses = [int(status) for status in STATUS.findall(received)]
    seen.update(statuses or [0])
    for status in statuses:
        assert status < 500 or may_fail(status, sent), received
    for token in (MCP_TOKEN, DECK_TOKEN):
        assert token.encode() not in received
    assert b"Traceback" not in received


def may_fail(status: int, sent: bytes) -> bool:
    """The injected bug alone."""
    return status == 500 and BROKEN_TOOL.encode() in sent


def check_after(server: Server, seen: Counter[int], worker: list[int]) -> None:
    assert post(server, request("ping")).status_code == 200
    assert server.workers() == worker
    for secret in (MCP_TOKEN, DECK_TOKEN, PROMPT, "Traceback"):
        assert secret not in server.log
    assert seen[200] >= 100, seen  # it was not all refused at the door
    assert {202, 400, 403, 405} <= set(seen), seen


def test_two_thousand_requests_do_no_harm(server: Server) -> None:
    seen: Counter[int] = Counter()
    worker = server.workers()

    @settings(UNHURRIED, max_examples=2000)
    @given(requests)
    def fuzz(sent: bytes) -> None:
        hold(server, sent, seen)

    fuzz()
    check_after(server, seen, worker)


@pytest.mark.stress
@pytest.mark.timeout(900)
def test_twenty_thousand_requests_do_no_harm(server: Server) -> None:
    seen: Counter[int] = Counter()
    worker = server.workers()

    @settings(UNHURRIED, max_examples=20_000)
    @given(requests)
    def fuzz(sent: bytes) -> None:
        hold(server, sent, seen)

    fuzz()
    check_after(server, seen, worker)


def test_an_injected_bug_is_a_plain_500_and_a_line_with_its_class(server: Server) -> None:
    answer = post(server, call(BROKEN_TOOL))
    assert answer.status_code == 500
    assert answer.json() == {
        "jsonrpc": "2.0",
        "id": 1,
        "error": {"code": -32603, "message": "internal error"},
    }
    line = server.expect("a bug in an MCP request")
    assert line.endswith("a bug in an MCP request: RuntimeError")
    connection, events = watch(server, call(BROKEN_TOOL, _meta={"progressToken": 1}))
    with connection:
        assert list(events)[-1] == answer.json()
    assert DECK_TOKEN not in server.log
    assert AUTHORIZED["Authorization"] not in server.log
