"""Whole turns that use tools, on both routes: Mead, a scripted model, real tool servers."""

import gevent
import psutil
import pytest

from mead import Mead
from mead.errors import TurnCancelled
from mead.providers.scripted import ScriptedProvider
from tests.helpers.mcp_settings import FAKE, PYTHON
from tests.helpers.waiting import eventually

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(60)]

ROUTES = ["local", "cloud"]


def fake(**changes):
    """The fake server, as settings."""
    tools = {"echo": "read", "slow": "read", "error": "read", "big": "read", "mixed": "read"}
    return {
        "name": "fake",
        "transport": "stdio",
        "command": PYTHON[0],
        "arguments": [*PYTHON[1:], FAKE],
        "tools": tools,
        **changes,
    }


def mead_with(model, server):
    slot = {"provider": "scripted", "model": "script", "script": ["never used"]}
    settings = {
        "router": {"slots": {"local": slot, "cloud": slot}},
        "mcp": {"servers": [server]},
    }
    return Mead(settings, providers={"local": model, "cloud": model})


def ready(mead, count):
    """Wait until the hub shows so many tools of either class."""
    hub = mead._parts.tree.hub
    eventually(lambda: len(hub.tools_for("effect")) == count, bound_s=30)


def answers(model):
    """What the model was told in the last request's rounds."""
    return [
        (answer.name, answer.text, answer.is_error)
        for round_ in model.requests[-1].rounds
        for answer in round_.answers
    ]


def calls(*pairs):
    return {"tool_calls": [{"name": name, "arguments": given} for name, given in pairs]}


@pytest.mark.parametrize("route", ROUTES)
def test_a_turn_reads_and_writes_files_through_server_filesystem(peers, tmp_path, route):
    (tmp_path / "in.txt").write_text("found")
    model = ScriptedProvider(
        [
            calls(("files__read_text_file", {"path": str(tmp_path / "in.txt")})),
            calls(
                ("files__write_file", {"path": str(tmp_path / "out.txt"), "content": "written"}),
                ("files__read_text_file", {"path": str(tmp_path / "out.txt")}),
            ),
            {"text": "Done."},
        ]
    )
    script = peers.module("@modelcontextprotocol/server-filesystem/dist/index.js")
    server = {
        "name": "files",
        "transport": "stdio",
        "command": str(peers.node),
        "arguments": [str(script), str(tmp_path)],
        "tools": {"read_text_file": "read", "write_file": "effect"},
    }
    with mead_with(model, server) as mead:
        ready(mead, 2)
        session = mead.start_session()

        receipt = mead.submit(session, "Copy it.", route=route)
        assert receipt.turn.facts.route == route
        denied = [one for one in answers(model) if one[0] == "files__write_file"]
        assert denied[0][2]
        assert not (tmp_path / "out.txt").exists()

        receipt = mead.submit(session, "Copy it.", route=route, tools="effect")
        assert receipt.output == "Done."
        assert receipt.turn.facts.tool_calls == 3
        assert (tmp_path / "out.txt").read_text() == "written"
        told = answers(model)
        assert told[0] == ("files__read_text_file", "found", False)
        assert [name for name, _, _ in told[1:]] == ["files__write_file", "files__read_text_file"]
        assert told[2] == ("files__read_text_file", "written", False)


@pytest.mark.parametrize("route", ROUTES)
def test_results_of_every_kind_reach_the_model_in_its_order(route):
    image = {"type": "image", "data": "QUJD", "mimeType": "image/png"}
    model = ScriptedProvider(
        [
            calls(
                ("fake__big", {"size": 60_000}),
                ("fake__error", {}),
                ("fake__mixed", {"content": [{"type": "text", "text": "see"}, image]}),
                ("fake__ghost", {}),
                ("fake__echo", {"text": "last"}),
            ),
            {"text": "Done."},
        ]
    )
    with mead_with(model, fake()) as mead:
        ready(mead, 5)
        assert mead.submit(mead.start_session(), "Go.", route=route).output == "Done."
        big, error, mixed, ghost, echo = answers(model)
        assert big[1].endswith("[truncated: 10000 more characters]")
        assert error == ("fake__error", "it went wrong", True)
        assert mixed == ("fake__mixed", "see\n[image: image/png, 3 bytes]", False)
        assert ghost[2]
        assert echo == ("fake__echo", "last", False)


def test_a_cancelled_turn_cancels_its_call_at_the_server(tmp_path):
    record = tmp_path / "record"
    model = ScriptedProvider([calls(("fake__slow", {})), {"text": "never"}])
    behaviour = '{"record": "%s"}' % record  # noqa: UP031
    with mead_with(model, fake(arguments=[*PYTHON[1:], FAKE, behaviour])) as mead:
        ready(mead, 5)
        session = mead.start_session()
        turn = gevent.spawn(_outcome, lambda: mead.submit(session, "Go.", route="cloud"))
        eventually(lambda: "tools/call" in record.read_text())
        mead.cancel_turn(session)
        assert isinstance(turn.get(timeout=5), TurnCancelled)
        eventually(lambda: "notifications/cancelled" in record.read_text())


def test_a_server_that_dies_in_a_turn_does_not_fail_the_turn(tmp_path):
    record = tmp_path / "record"
    model = ScriptedProvider([calls(("fake__slow", {})), {"text": "Never mind."}])
    behaviour = '{"record": "%s"}' % record  # noqa: UP031
    with mead_with(model, fake(arguments=[*PYTHON[1:], FAKE, behaviour])) as mead:
        ready(mead, 5)
        session = mead.start_session()
        turn = gevent.spawn(_outcome, lambda: mead.submit(session, "Go.", route="local"))
        eventually(lambda: "tools/call" in record.read_text())
        (server,) = [
            process
            for process in psutil.Process().children(recursive=True)
            if FAKE in process.cmdline()
        ]
        server.kill()
        assert turn.get(timeout=5).output == "Never mind."
        assert answers(model)[0][1].startswith("connection_lost")


def test_a_dead_server_delays_neither_boot_nor_turns():
    model = ScriptedProvider(["Here."])
    dead = {"name": "dead", "transport": "stdio", "command": "no-such-command"}
    with mead_with(model, dead) as mead:
        assert mead.submit(mead.start_session(), "Anyone?", route="cloud").output == "Here."


def _outcome(work):
    try:
        return work()
    except Exception as error:  # noqa: BLE001 - whatever it is, the test looks at it
        return error
