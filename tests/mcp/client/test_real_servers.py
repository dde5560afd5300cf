"""The hub and tool servers that others wrote: listed, called, cancelled, restarted."""

import os
import socket
import subprocess
from contextlib import contextmanager

import gevent
import psutil
import pytest

from mead.config import Secret, ServerSettings
from tests.helpers.mcp_settings import launcher_pid, running, status, wait_for
from tests.helpers.waiting import eventually
from tests.peers import HERE

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(90)]

SLOW_S = 30
"""A Python server takes four seconds to start on a busy machine."""


def stdio(name, command, *arguments, tools, environment=None):
    return ServerSettings(
        name=name,
        transport="stdio",
        command=str(command),
        arguments=tuple(map(str, arguments)),
        tools=tools,
        environment={key: Secret(str(text)) for key, text in (environment or {}).items()},
    )


def http(name, port, *, tools):
    return ServerSettings(
        name=name, transport="http", url=f"http://127.0.0.1:{port}/mcp", tools=tools
    )


def npm(peers, name, *arguments, tools, environment=None):
    """One of the official Node servers."""
    script = peers.module(f"@modelcontextprotocol/server-{name}/dist/index.js")
    return stdio(name, peers.node, script, *arguments, tools=tools, environment=environment)


@contextmanager
def listening(*command, port=None):
    """A server process on a free port, which it may not have reached yet; gives both."""
    if port is None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
    process = subprocess.Popen(
        [str(part).format(port=port) for part in command],
        env={"PATH": os.environ["PATH"], "HOME": "/", "PORT": str(port)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield port, process
    finally:
        process.kill()
        process.wait()


EVERYTHING = {
    "echo": "read",
    "get-sum": "read",
    "get-structured-content": "read",
    "get-tiny-image": "read",
    "get-resource-links": "read",
    "get-env": "effect",
    "trigger-long-running-operation": "read",
}


def uses_everything(hub):
    """What the reference server is for: a bit of each kind of content."""

    def call(tool, **arguments):
        return hub.call_tool(f"everything__{tool}", arguments, "effect")

    assert status(hub, "everything").revision == "2025-11-25"
    assert len(hub.tools_for("effect")) == len(EVERYTHING)
    assert len(hub.tools_for(None)) == len(EVERYTHING) - 1
    assert call("echo", message="hello").text == "Echo: hello"
    assert call("get-sum", a=2, b=3).text == "The sum of 2 and 3 is 5."
    assert '"conditions"' in call("get-structured-content", location="New York").text
    assert "[image: image/png, 4033 bytes]" in call("get-tiny-image").text
    assert "[resource link: demo://" in call("get-resource-links", count=2).text
    wrong = call("get-sum", a="two")
    assert wrong.is_error
    assert "expected number" in wrong.text


def test_everything_over_standard_streams(peers, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with running(npm(peers, "everything", "stdio", tools=EVERYTHING), bound_s=SLOW_S) as hub:
        uses_everything(hub)
        assert "sk-secret" not in hub.call_tool("everything__get-env", {}, "effect").text


def test_everything_over_http_and_restarted_under_our_feet(peers):
    script = peers.module("@modelcontextprotocol/server-everything/dist/index.js")
    command = (peers.node, script, "streamableHttp")
    with listening(*command) as (port, process):
        server = http("everything", port, tools=EVERYTHING)
        with running(server, bound_s=SLOW_S) as hub:
            uses_everything(hub)
            process.kill()
            process.wait()
            with listening(*command, port=port):
                eventually(lambda: _reachable(port), bound_s=SLOW_S)
                outcome = hub.call_tool("everything__echo", {"message": "again"}, None)
                assert outcome.text == "Echo: again"


def _reachable(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_a_running_operation_is_cancelled_and_the_server_goes_on(peers):
    with running(npm(peers, "everything", "stdio", tools=EVERYTHING), bound_s=SLOW_S) as hub:
        peer = hub._catalog.line("everything").peer
        long = {"duration": 1, "steps": 2}
        calling = gevent.spawn(
            hub.call_tool, "everything__trigger-long-running-operation", long, None
        )
        eventually(lambda: peer._pending)
        calling.kill()
        finished = hub.call_tool("everything__trigger-long-running-operation", long, None)
        assert finished.text.startswith("Long running operation completed")
        assert peer.dropped <= 1  # it may answer the cancelled call, too late


def test_a_node_server_that_is_killed_comes_back(peers):
    with running(npm(peers, "everything", "stdio", tools=EVERYTHING), bound_s=SLOW_S) as hub:
        first = launcher_pid(hub, "everything")
        psutil.Process(first).children()[0].kill()
        wait_for(hub, "everything", "waiting")
        wait_for(hub, "everything", "ready", SLOW_S)
        assert hub.call_tool("everything__echo", {"message": "back"}, None).text == "Echo: back"


def test_files_are_read_and_written_through_server_filesystem(peers, tmp_path):
    (tmp_path / "in.txt").write_text("found")
    tools = {"read_text_file": "read", "list_directory": "read", "write_file": "effect"}
    server = npm(peers, "filesystem", tmp_path, tools=tools)
    with running(server, bound_s=SLOW_S) as hub:
        read = {"path": str(tmp_path / "in.txt")}
        assert hub.call_tool("filesystem__read_text_file", read, None).text == "found"
        write = {"path": str(tmp_path / "out.txt"), "content": "written"}
        denied = hub.call_tool("filesystem__write_file", write, None)
        assert denied.is_error
        assert not (tmp_path / "out.txt").exists()
        assert not hub.call_tool("filesystem__write_file", write, "effect").is_error
        assert (tmp_path / "out.txt").read_text() == "written"
        outside = hub.call_tool("filesystem__read_text_file", {"path": "/etc/passwd"}, None)
        assert outside.is_error


def test_server_memory_remembers_across_its_death(peers, tmp_path):
    tools = {"create_entities": "effect", "read_graph": "read"}
    memory = {"MEMORY_FILE_PATH": tmp_path / "memory.json"}
    server = npm(peers, "memory", tools=tools, environment=memory)
    with running(server, bound_s=SLOW_S) as hub:
        known = {"name": "Ada", "entityType": "person", "observations": ["counts"]}
        hub.call_tool("memory__create_entities", {"entities": [known]}, "effect")
        psutil.Process(launcher_pid(hub, "memory")).children()[0].kill()
        wait_for(hub, "memory", "waiting")
        wait_for(hub, "memory", "ready", SLOW_S)
        assert '"Ada"' in hub.call_tool("memory__read_graph", {}, None).text


def test_the_python_servers_speak_the_newest_revision(peers, tmp_path):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    clock = stdio(
        "time",
        peers.script("mcp-server-time"),
        "--local-timezone",
        "UTC",
        tools={"get_current_time": "read"},
    )
    git = stdio(
        "git",
        peers.script("mcp-server-git"),
        "--repository",
        tmp_path,
        tools={"git_status": "read"},
    )
    with running(clock, git, bound_s=SLOW_S) as hub:
        assert {one.revision for one in hub.status()} == {"2026-07-28"}
        now = hub.call_tool("time__get_current_time", {"timezone": "UTC"}, None)
        assert '"timezone": "UTC"' in now.text
        state = hub.call_tool("git__git_status", {"repo_path": str(tmp_path)}, None)
        assert "No commits yet" in state.text


# -- fastmcp and the Python SDK, both ways ---------------------------------------------------------

FAST = {"add": "read", "weather": "read", "slow": "effect"}


def uses_fastmcp(hub, record):
    assert status(hub, "fast").revision == "2026-07-28"
    assert hub.call_tool("fast__add", {"a": 2, "b": 3}, None).text == "5"
    assert hub.call_tool("fast__weather", {"city": "Lisbon"}, None).text == (
        '{"city":"Lisbon","degrees":21}'
    )
    calling = gevent.spawn(hub.call_tool, "fast__slow", {"seconds": 60}, "effect")
    eventually(lambda: record.exists() and record.read_text() == "started\n")
    calling.kill()
    eventually(lambda: record.read_text() == "started\ncancelled\n")


def test_a_fastmcp_server_over_standard_streams(peers, tmp_path):
    record = tmp_path / "record"
    script = HERE / "servers" / "fastmcp_server.py"
    server = stdio("fast", peers.python, script, "stdio", record, tools=FAST)
    with running(server, bound_s=SLOW_S) as hub:
        uses_fastmcp(hub, record)


def test_a_fastmcp_server_over_http(peers, tmp_path):
    record = tmp_path / "record"
    script = HERE / "servers" / "fastmcp_server.py"
    command = (peers.python, script, "http", record, "{port}")
    with (
        listening(*command) as (port, _),
        running(http("fast", port, tools=FAST), bound_s=SLOW_S) as hub,
    ):
        uses_fastmcp(hub, record)


def hears_of_a_change(hub):
    assert status(hub, "sdk").revision == "2026-07-28"
    assert hub.call_tool("sdk__echo", {"text": "hi"}, None).text == "hi"
    assert status(hub, "sdk").missing == ("fresh",)

    def grown():
        """Told again and again: what happens before the subscription stands is not heard."""
        hub.call_tool("sdk__grow", {}, None)
        return status(hub, "sdk").missing == ()

    eventually(grown)
    assert hub.call_tool("sdk__fresh", {}, None).text == "fresh"


SDK = {"echo": "read", "grow": "read", "fresh": "read"}


def test_a_server_of_the_official_sdk_tells_of_changes_over_standard_streams(peers):
    script = HERE / "servers" / "sdk_server.py"
    with running(stdio("sdk", peers.python, script, "stdio", tools=SDK), bound_s=SLOW_S) as hub:
        hears_of_a_change(hub)


def test_a_server_of_the_official_sdk_tells_of_changes_over_http(peers):
    script = HERE / "servers" / "sdk_server.py"
    with (
        listening(peers.python, script, "http", "{port}") as (port, _),
        running(http("sdk", port, tools=SDK), bound_s=SLOW_S) as hub,
    ):
        hears_of_a_change(hub)
