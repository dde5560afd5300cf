"""A request that two servers could read in two ways is refused: what is hidden in it never runs."""

import pytest

from tests.helpers.server import MCP_TOKEN, Server, receive_all, running, tokens_toml

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(60)]

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
LENGTH = b"Content-Length: %d" % len(PING)
CHUNKS = b"%x\r\n%b\r\n0\r\n\r\n" % (len(PING), PING)
HIDDEN = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
HEAD = (
    b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Authorization: Bearer " + MCP_TOKEN.encode() + b"\r\n"
)

AMBIGUOUS = {
    "length and chunks": HEAD + LENGTH + b"\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKS,
    "chunks and length": HEAD + b"Transfer-Encoding: chunked\r\n" + LENGTH + b"\r\n\r\n" + CHUNKS,
    "two lengths": HEAD + LENGTH + b"\r\nContent-Length: 4\r\n\r\n" + PING,
    "the same length twice": HEAD + LENGTH + b"\r\n" + LENGTH + b"\r\n\r\n" + PING,
    "a list of lengths": HEAD + LENGTH + b", 40\r\n\r\n" + PING,
    "a length with a sign": HEAD + b"Content-Length: +40\r\n\r\n" + PING,
    "a negative length": HEAD + b"Content-Length: -1\r\n\r\n" + PING,
    "a length with an underscore": HEAD + b"Content-Length: 4_0\r\n\r\n" + PING,
    "an unknown coding": HEAD + b"Transfer-Encoding: xchunked\r\n\r\n" + CHUNKS,
    "chunks that are not last": HEAD + b"Transfer-Encoding: chunked, gzip\r\n\r\n" + CHUNKS,
    "chunks in chunks": HEAD + b"Transfer-Encoding: chunked, chunked\r\n\r\n" + CHUNKS,
    "a vertical tab": HEAD + b"Transfer-Encoding: \x0bchunked\r\n\r\n" + CHUNKS,
    "a space before the colon": HEAD + b"Transfer-Encoding : chunked\r\n\r\n" + CHUNKS,
    "chunks in HTTP/1.0": HEAD.replace(b"1.1", b"1.0", 1)
    + b"Transfer-Encoding: chunked\r\n\r\n"
    + CHUNKS,
    "a folded header": HEAD + b"X: a\r\n " + LENGTH + b"\r\n\r\n" + PING,
    "bare line feeds": HEAD.replace(b"\r\n", b"\n") + LENGTH + b"\n\n" + PING,
    "a bare carriage return": HEAD + b"X: a\r" + LENGTH + b"\r\n\r\n" + PING,
    "a null byte": HEAD + b"X: a\0\r\n" + LENGTH + b"\r\n\r\n" + PING,
    "two hosts": HEAD + b"Host: evil.example\r\n" + LENGTH + b"\r\n\r\n" + PING,
    "a chunk's size in another way": HEAD + b"Transfer-Encoding: chunked\r\n\r\n0x" + CHUNKS,
    "a chunk without its end": HEAD
    + b"Transfer-Encoding: chunked\r\n\r\n"
    + CHUNKS.replace(b"}\r\n0", b"}XX0"),
    "a proxy's own line": b"PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\n" + HEAD + b"\r\n",
    "an escape in the path": b"GET /\x1b[2J HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    directory = tmp_path_factory.mktemp("smuggling")
    with running(Server(directory, tokens_toml()), "--access-logfile", "-") as server:
        yield server


@pytest.mark.parametrize("request_", AMBIGUOUS.values(), ids=AMBIGUOUS.keys())
def test_an_ambiguous_request_ends_its_connection_and_nothing_behind_it_runs(server, request_):
    with server.connect() as connection:
        connection.sendall(request_ + HIDDEN)
        answers = receive_all(connection)
    assert answers.startswith(b"HTTP/1.1 400 ")
    assert answers.count(b"HTTP/1.1 ") == 1
    assert b"Connection: close\r\n" in answers


def test_a_header_with_an_underscore_is_no_header(server):
    """`Mcp_Name` and `Mcp-Name` would be one name where the application reads them."""
    other = b"\r\nMcp_Protocol_Version: 1999-01-01\r\nConnection: close\r\n\r\n"
    with server.connect() as connection:
        connection.sendall(HEAD + LENGTH + other + PING)
        assert receive_all(connection).startswith(b"HTTP/1.1 200 ")
        assert b"-32022" in _refused(server, HEAD + LENGTH + other.replace(b"_", b"-") + PING)


def _refused(server: Server, request: bytes) -> bytes:
    with server.connect() as connection:
        connection.sendall(request)
        return receive_all(connection)


def test_no_request_can_write_a_line_of_its_own_into_the_log(server):
    for path in (b"/%0d%0aMead%20is%20ready", b"/%1b%5b2J", b"/?token=secret", b"/\\x1b"):
        with server.connect() as connection:
            connection.sendall(
                b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\nReferer: \x9b2J\r\n"
                b"User-Agent: \x9b2J\r\nConnection: close\r\n\r\n"
            )
            receive_all(connection)
    server.expect("GET /\\x1b HTTP/1.1")
    assert server.log.count("Mead is ready") == 1
    assert "secret" not in server.log
    assert not {"\x1b", "\x9b"} & set(server.log)
