"""Requests that no client sends, for a real server: as bytes on a bare socket.

Each is built in three steps that go wrong independently: the message, the headers, the framing.
"""

import json
from collections.abc import Callable
from typing import Any, Final

from hypothesis import strategies as st

from tests.helpers.mcp_messages import LEGACY_VERSIONS, META, MODERN_VERSION
from tests.helpers.server import MCP_TOKEN

PROMPT: Final = "a-prompt-that-nobody-may-log"
BROKEN_TOOL: Final = "broken"
"""A tool that raises: the one thing that may be answered with 500."""

TOOLS: Final = (
    "list_sessions",
    "start_session",
    "submit_turn",
    "history",
    "stop_session",
    "resume_session",
    "delete_session",
    "compact_session",
    "usage",
    "no_such_tool",
    BROKEN_TOOL,
)
METHODS: Final = (
    "initialize",
    "ping",
    "tools/list",
    "server/discover",
    "notifications/initialized",
    "resources/list",
    PROMPT,
)
KEYS: Final = ("session_id", "input", "limit", "cursor", "before", "recent", "handler", "tools")
NUMBERS: Final = (0, -1, 1, 2**31, 2**63, 2**64, 10**40, -(10**400), 0.5, 1e308, float("nan"))
TEXTS: Final = (
    PROMPT,
    "",
    "\0",
    "\ud800",
    "é" * 300,
    "x" * 20_000,
    "../../../etc/passwd",
    "0f0e0d0c-0b0a-4908-8706-050403020100",
    "effect",
    "echo",
    "2025-06-18",
)


def _mostly(usual: st.SearchStrategy[Any], odd: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.integers(0, 7).flatmap(lambda die: odd if die == 7 else usual)


# -- the message -----------------------------------------------------------------------------------

scalars = st.one_of(st.none(), st.booleans(), st.sampled_from(NUMBERS), st.sampled_from(TEXTS))
junk = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(TEXTS[:6]), inner, max_size=3)
    ),
    max_leaves=6,
)
arguments = st.dictionaries(st.sampled_from(KEYS), junk, max_size=4)
metas = st.sampled_from((None, {}, META, {"progressToken": 1}, {**META, "progressToken": "p"}))


def _call(name: str, given: Any, meta: Any) -> dict[str, Any]:
    params = {"name": name, "arguments": given}
    return {"method": "tools/call", "params": params if meta is None else {**params, "_meta": meta}}


def _plain(method: str, meta: Any) -> dict[str, Any]:
    return {"method": method} if meta is None else {"method": method, "params": {"_meta": meta}}


calls = st.builds(_call, st.sampled_from(TOOLS), _mostly(arguments, junk), metas)
others = st.builds(_plain, st.sampled_from(METHODS), metas)
envelopes = st.builds(
    lambda version, id_: {"jsonrpc": version} | ({} if id_ == "none" else {"id": id_}),
    _mostly(st.just("2.0"), junk),
    _mostly(st.integers(1, 9), st.one_of(junk, st.just("none"))),
)
messages = st.one_of(
    st.builds(lambda head, body: {**head, **body}, envelopes, st.one_of(calls, calls, others)),
    st.builds(lambda head, body: {**head, "method": "ping", "params": body}, envelopes, junk),
    st.builds(lambda head, body: {**head, "result": body}, envelopes, junk),
)


def _encoded(message: Any, coding: str, escape: bool) -> bytes:
    return json.dumps(message, ensure_ascii=escape).encode(coding, "surrogatepass")


def _damaged(body: bytes, kind: int, place: float) -> bytes:
    at = int(place * len(body))
    match kind:
        case 0:
            return body[:at]
        case 1:
            return body[:at] + b"\0" + body[at:]
        case 2:
            return body[:at] + b"\xff" + body[at:]
        case 3:  # a second key of the same name
            return body.replace(b"{", b'{"jsonrpc": "1.0", "id": [], ', 1)
        case 4:  # deeper than any parser likes
            return b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b"[" * 3000 + b"]" * 3000
        case 5:
            return body.replace(b"1", b"9" * 500)
        case 6:
            return body + body
        case 7:
            return b"\xef\xbb\xbf" + body
        case _:
            return b"[" + body + b"]"


encoded = st.builds(
    _encoded,
    _mostly(messages, junk),
    _mostly(st.just("utf-8"), st.sampled_from(("utf-16", "utf-32-le", "utf-7"))),
    st.booleans(),
)
bodies = _mostly(encoded, st.builds(_damaged, encoded, st.integers(0, 8), st.floats(0, 1)))

# -- the headers -----------------------------------------------------------------------------------

_VALUES: Final[dict[str, tuple[str, ...]]] = {
    "Content-Type": ("text/plain", "", "application/json; charset=utf-16", "application/json, x"),
    "Accept": ("text/event-stream", "application/json, text/event-stream", "*/*", "x;q=z", ""),
    "MCP-Protocol-Version": (*LEGACY_VERSIONS, MODERN_VERSION, "1999-01-01", "", PROMPT, "ü"),
    "Mcp-Method": ("tools/call", "ping", "=?base64?cGluZw==?=", "", PROMPT),
    "Mcp-Name": ("history", "=?base64?!?=", "=?base64?////?=", "", "\xff" * 50),
    "Mcp-Session-Id": ("x", ""),
    "Origin": ("null", "http://127.0.0.1", "http://evil.example", "x", ""),
    "Authorization": ("Bearer", "Bearer  ", "Basic eDp4", "Bearer ü", "x" * 4000),
    "Expect": ("100-continue", "200-ok"),
    "Connection": ("keep-alive", "upgrade, close", ""),
    "Upgrade": ("websocket", "h2c"),
    "X-Forwarded-For": ("1.2.3.4", "\0"),
    "X-Http-Method-Override": ("DELETE",),
    "Cookie": ("a=" + "b" * 3000,),
    "Bad Name": ("x",),
    "": ("x",),
}
extra_headers = st.lists(
    st.sampled_from([(name, value) for name, values in _VALUES.items() for value in values]),
    max_size=3,
)
usual_headers = st.sampled_from(
    (
        {},
        {"Accept": "application/json, text/event-stream"},
        {"MCP-Protocol-Version": "2025-06-18"},
        {"MCP-Protocol-Version": "2025-11-25"},
        *(
            {"MCP-Protocol-Version": MODERN_VERSION, "Mcp-Method": "tools/call", "Mcp-Name": name}
            for name in TOOLS[:2]
        ),
    )
)

# -- the framing -----------------------------------------------------------------------------------

Lines = list[bytes]
Framed = tuple[Lines, bytes]

FIRST: Final = b"POST /mcp HTTP/1.1"
HOST: Final = b"Host: 127.0.0.1"
CHUNKED: Final = b"Transfer-Encoding: chunked"
UNKNOWN_CODING: Final = b"Transfer-Encoding: zip, chunked"


def _length(body: bytes) -> bytes:
    return b"Content-Length: %d" % len(body)


def _chunks(body: bytes) -> bytes:
    return b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) if body else b"0\r\n\r\n"


def _with(*more: bytes) -> Callable[[Lines, bytes], Framed]:
    return lambda lines, body: ([*lines, *more, _length(body)], body)


def _instead(old: bytes, *new: bytes) -> Callable[[Lines, bytes], Framed]:
    def framed(lines: Lines, body: bytes) -> Framed:
        at = lines.index(old)
        return [*lines[:at], *new, *lines[at + 1 :], _length(body)], body

    return framed


FRAMINGS: Final[dict[str, Callable[[Lines, bytes], Framed]]] = {
    "right": _with(),
    "chunked": lambda lines, body: ([*lines, CHUNKED], _chunks(body)),
    "chunked badly": lambda lines, body: ([*lines, CHUNKED], b"zz\r\n" + body),
    "chunked with trailers": lambda lines, body: (
        [*lines, CHUNKED],
        _chunks(body)[:-2] + b"Authorization: x\r\n\r\n",
    ),
    "too long": lambda lines, body: ([*lines, _length(body + b"x" * 10)], body),
    "too short": lambda lines, body: ([*lines, _length(body[: len(body) // 2])], body),
    "none": lambda lines, body: (lines, body),
    "two lengths": _with(b"Content-Length: 0"),
    "length and chunked": _with(CHUNKED),
    "unknown coding": _with(UNKNOWN_CODING),
    "signed length": lambda lines, body: ([*lines, b"Content-Length: +%d" % len(body)], body),
    "huge length": lambda lines, body: ([*lines, b"Content-Length: " + b"9" * 30], body),
    "obsolete fold": _with(b"X: a\r\n b"),
    "space before colon": lambda lines, body: (
        [*lines, b"Content-Length : %d" % len(body)],
        body,
    ),
    "another inside": _with(b"X: a\r\n\r\nGET /mcp HTTP/1.1\r\nHost: 127.0.0.1"),
    "another behind": lambda lines, body: (
        [*lines, _length(body)],
        body + b"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    ),
    "an old version": _instead(FIRST, b"POST /mcp HTTP/1.0"),
    "absolute form": _instead(FIRST, b"POST http://127.0.0.1/mcp HTTP/1.1"),
    "another method": _instead(FIRST, b"QUERY /mcp HTTP/1.1"),
    "a query": _instead(FIRST, b"POST /mcp?token=" + PROMPT.encode() + b" HTTP/1.1"),
    "no host": _instead(HOST),
    "two hosts": _with(b"Host: evil.example"),
}


def _framed(
    body: bytes, usual: dict[str, str], extra: list[tuple[str, str]], framing: str, end: bytes
) -> bytes:
    lines = [FIRST, HOST, b"Authorization: Bearer " + MCP_TOKEN.encode()]
    if "Content-Type" not in dict(extra):
        lines.append(b"Content-Type: application/json")
    lines += [f"{name}: {value}".encode("latin-1") for name, value in (*usual.items(), *extra)]
    lines, body = FRAMINGS[framing](lines, body)
    return end.join(lines) + end + end + body


requests = st.builds(
    _framed,
    bodies,
    usual_headers,
    _mostly(st.just([]), extra_headers),
    _mostly(st.just("right"), st.sampled_from(sorted(FRAMINGS))),
    _mostly(st.just(b"\r\n"), st.sampled_from((b"\r\n", b"\n"))),
)
"""A request, or what is none, as bytes."""
