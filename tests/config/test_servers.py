"""The tool servers of the hub."""

from pathlib import Path

import pytest

from mead.config import Secret, ServerSettings, Settings
from tests.config.conftest import refused

STDIO: dict[str, object] = {"name": "files", "transport": "stdio", "command": "npx"}
HTTP: dict[str, object] = {"name": "web", "transport": "http", "url": "https://h/mcp"}


def server(table: dict[str, object], environ: dict[str, str] | None = None) -> ServerSettings:
    settings = Settings.build({"mcp": {"servers": [table]}}, environ=environ or {})
    return settings.mcp.servers[0]


def fault(table: dict[str, object]) -> str:
    (line,) = refused({"mcp": {"servers": [table]}})
    return line.removeprefix("mcp.servers[0].")


def test_a_stdio_server_arrives_whole(tmp_path: Path) -> None:
    table = {
        **STDIO,
        "arguments": ["-y", ""],
        "environment": {"TOKEN": "env:T", "Mode": "quiet"},
        "directory": tmp_path,
        "tools": {"read_file": "read", "write_file": "effect"},
        "call_timeout_ms": 1,
        "handshake_timeout_ms": 2,
    }
    assert server(table, {"T": "hidden"}) == ServerSettings(
        name="files",
        transport="stdio",
        command="npx",
        arguments=("-y", ""),
        environment={"TOKEN": Secret("hidden"), "Mode": Secret("quiet")},
        directory=tmp_path,
        tools={"read_file": "read", "write_file": "effect"},
        call_timeout_ms=1,
        handshake_timeout_ms=2,
    )


def test_an_http_server_arrives_whole() -> None:
    table = {
        **HTTP,
        "url": "env:URL",
        "headers": {"Authorization": "Bearer x", "X-Accent": "é"},
        "proxy": "http://proxy:3128/",
    }
    assert server(table, {"URL": "https://h/mcp?key=1"}) == ServerSettings(
        name="web",
        transport="http",
        url="https://h/mcp?key=1",
        headers={"Authorization": Secret("Bearer x"), "X-Accent": Secret("é")},
        proxy="http://proxy:3128",
    )


@pytest.mark.parametrize("name", ["a", "7", "a-b", "a" * 32, "a--b"])
def test_a_servers_name_may_be(name: str) -> None:
    assert server({**STDIO, "name": name}).name == name


@pytest.mark.parametrize("name", ["", "A", "a_b", "-a", "a-", "a" * 33, "a.b", "á", "a\n", 7])
def test_a_servers_name_may_not_be(name: object) -> None:
    assert fault({**STDIO, "name": name}).startswith("name (code): found ")


def test_two_servers_have_two_names() -> None:
    assert refused({"mcp": {"servers": [STDIO, HTTP, STDIO]}}) == (
        "mcp.servers[2].name (code): is also the name of mcp.servers[0]",
    )


@pytest.mark.parametrize(
    ("tool", "shown"),
    [
        ("a" * 57, True),
        ("a" * 58, False),  # 64 with `files__` before it is the limit
        ("get-sum", True),
        ("get.sum", False),
        ("get sum", False),
        ("é", False),
    ],
)
def test_a_tool_that_no_provider_could_be_shown_is_refused(tool: str, shown: bool) -> None:
    table = {**STDIO, "tools": {tool: "read"}}
    if shown:
        assert server(table).tools == {tool: "read"}
    else:
        assert "cannot be shown to a model" in fault(table)


def test_a_tool_has_a_name() -> None:
    assert fault({**STDIO, "tools": {"": "read"}}) == (
        'tools."" (code): is no name for this table; allowed: the name of a tool'
    )


def test_a_class_of_tools_is_read_or_effect() -> None:
    assert fault({**STDIO, "tools": {"x": "write"}}) == (
        'tools.x (code): found "write"; allowed: one of read, effect'
    )
    assert fault({**STDIO, "tools": ["x"]}) == (
        "tools (code): found a list; allowed: a table: the name of a tool = read or effect"
    )


@pytest.mark.parametrize(
    ("table", "needed"), [({**STDIO, "command": None}, "command"), ({**HTTP, "url": None}, "url")]
)
def test_each_transport_needs_its_own_key(table: dict[str, object], needed: str) -> None:
    assert fault(table).startswith(f"{needed} (code): is missing; allowed: ")


@pytest.mark.parametrize("key", ["url", "headers", "proxy"])
def test_a_key_of_the_other_transport_is_a_fault(key: str) -> None:
    value = {"A": "b"} if key == "headers" else "http://h"
    assert fault({**STDIO, key: value}) == (
        f"{key} (code): is for the transport http; this server is stdio"
    )


@pytest.mark.parametrize("transport", [None, "sse", "HTTP"])
def test_the_transport_is_named(transport: str | None) -> None:
    lines = refused({"mcp": {"servers": [{**STDIO, "transport": transport}]}})
    assert lines[0].startswith("mcp.servers[0].transport (code): ")
    assert lines[0].endswith("; allowed: one of stdio, http")


@pytest.mark.parametrize(
    ("key", "table"),
    [
        ("headers", {**HTTP, "headers": {"X": "one\r\nInjected: two"}}),
        ("headers", {**HTTP, "headers": {"X": "snow ☃"}}),
        ("headers", {**HTTP, "headers": {"X": ""}}),
        ("headers", {**HTTP, "headers": {"X": 7}}),
        ("headers", {**HTTP, "headers": {"X Y": "a"}}),
        ("environment", {**STDIO, "environment": {"A=B": "a"}}),
        ("environment", {**STDIO, "environment": {"A": "nul\0"}}),
        ("environment", {**STDIO, "environment": {"A": True}}),
        ("url", {**HTTP, "url": "ftp://h"}),
        ("url", {**HTTP, "url": "https://user:word@h/mcp"}),
        ("arguments", {**STDIO, "arguments": "-y"}),
        ("arguments", {**STDIO, "arguments": ["-y", 3]}),
        ("call_timeout_ms", {**STDIO, "call_timeout_ms": 0}),
    ],
)
def test_a_wrong_key_is_one_line(key: str, table: dict[str, object]) -> None:
    line = fault(table)
    assert line.startswith(key)
    assert "user:word" not in line
    assert "Injected" not in line


def test_servers_are_a_list_of_tables() -> None:
    assert refused({"mcp": {"servers": {"files": {}}}}) == (
        "mcp.servers (code): found a table; allowed: a list of tables",
    )
    assert refused({"mcp": {"servers": [3]}}) == (
        "mcp.servers[0] (code): found a number; allowed: a table",
    )
