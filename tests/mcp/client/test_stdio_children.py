"""A stdio server as a process: what a bad one can do, what it is given, and its end."""

import json
import os
import signal

import gevent
import psutil
import pytest

from mead.mcp.client.command import INHERITED
from tests.helpers.mcp_settings import (
    fake_server,
    launcher_pid,
    running,
    status,
    wait_for,
)
from tests.helpers.waiting import eventually
from tests.mcp.client.asking import call

# -- what a bad server can do ----------------------------------------------------------------------


def test_garbage_on_standard_output_is_skipped_and_counted():
    with running(fake_server(hello="Welcome!\n")) as hub:
        assert call(hub, "noise").text == "still here"
        assert hub._connections["fake"]._transport.noise == 6
        assert status(hub).state == "ready"


def test_line_ends_of_windows_and_blank_lines_are_fine():
    with running(fake_server()) as hub:
        assert call(hub, "crlf").text == ""
        assert hub._connections["fake"]._transport.noise == 0


def test_a_line_of_ten_megabytes_fails_its_own_call_alone():
    with running(fake_server(), fake_server("other")) as hub:
        outcome = call(hub, "huge")
        assert outcome.text.startswith("response_too_large")
        assert call(hub, "echo", {"text": "alive"}).text == "alive"
        assert call(hub, "echo", {"text": "alive"}, server="other").text == "alive"


def test_a_flood_of_lines_does_not_hold_up_others():
    with running(fake_server(), fake_server("other")) as hub:
        flood = gevent.spawn(call, hub, "flood", {"lines": 200_000})
        done = 0
        while not flood.ready():
            assert call(hub, "echo", {"text": "me too"}, server="other").text == "me too"
            done += 1
        assert flood.value.text == "flooded"
        assert done > 10


def test_a_server_that_dies_in_a_call_gives_connection_lost_and_returns():
    with running(fake_server()) as hub:
        outcome = call(hub, "die")
        assert outcome.text == "connection_lost: the server ended (exit status 5)"
        wait_for(hub, "fake", "waiting")
        assert call(hub, "echo").text.startswith("not_connected")
        wait_for(hub, "fake", "ready")
        assert call(hub, "count").text == "1"


def test_a_server_that_exits_at_once_hurts_itself_alone():
    with running(fake_server("other"), fake_server(boot="exit"), ready=False) as hub:
        wait_for(hub, "other", "ready")
        eventually(lambda: (status(hub).fault or "").endswith("(exit status 3)"))
        assert hub.alive
        assert [tool.server for tool in hub.tools_for(None)] == ["other"] * len(hub.tools_for(None))


def test_a_command_that_does_not_exist_hurts_itself_alone():
    nobody = fake_server("nobody")
    nobody = type(nobody)(name="nobody", transport="stdio", command="no-such-command")
    with running(fake_server(), nobody, ready=False) as hub:
        wait_for(hub, "fake", "ready")
        wait_for(hub, "nobody", "waiting")
        assert status(hub, "nobody").fault == "cannot_start: there is no command 'no-such-command'"


def test_a_file_that_is_no_program_is_told_as_such(tmp_path):
    file = tmp_path / "readme"
    file.write_text("hello")
    server = fake_server()
    broken = type(server)(name="fake", transport="stdio", command=str(file))
    with running(broken, ready=False) as hub:
        wait_for(hub, "fake", "waiting")
        assert status(hub).fault.endswith("Permission denied")


# -- what a server gets ----------------------------------------------------------------------------


def test_a_server_gets_a_few_variables_and_no_descriptor(tmp_path, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    monkeypatch.setenv("LANG", "C.UTF-8")
    open_file = (tmp_path / "open").open("w")
    os.set_inheritable(open_file.fileno(), True)
    server = fake_server(
        environment={"TOKEN": "t0ken", "PYTHONPATH": "/nowhere"}, directory=tmp_path
    )
    with open_file, running(server) as hub:
        found = json.loads(call(hub, "surroundings").text)
    own = {name: os.environ[name] for name in INHERITED if name in os.environ}
    # Python itself may add LC_CTYPE to its own environment (PEP 538); LANG above prevents it.
    assert found["environment"] == {**own, "TOKEN": "t0ken", "PYTHONPATH": "/nowhere"}
    assert found["descriptors"] == [0, 1, 2, 3]  # 3 is the listing itself
    assert found["directory"] == str(tmp_path)


def test_no_shell_reads_the_arguments():
    odd = ("$HOME", "a b", "*", "; exit 1", "")
    with running(fake_server(extra_arguments=odd)) as hub:
        assert json.loads(call(hub, "surroundings").text)["arguments"] == list(odd)


def test_standard_error_is_logged_without_secrets(caplog):
    caplog.set_level("INFO")
    words = "starting with hunter22secret\n" + "noise\n" * 500
    server = fake_server(complain=words, environment={"KEY": "hunter22secret"})
    with running(server):
        lines = eventually(
            lambda: [one for one in caplog.messages if one.startswith("fake stderr:")]
        )
    assert lines[0] == "fake stderr: starting with ********"
    assert len(lines) <= 20
    assert "hunter22secret" not in caplog.text


# -- the end ---------------------------------------------------------------------------------------


def test_nothing_of_a_server_survives_a_stop():
    with running(fake_server()) as hub:
        family = json.loads(call(hub, "family").text)
        launcher = psutil.Process(launcher_pid(hub))
        tree = [launcher, *launcher.children(recursive=True)]
        assert {process.pid for process in tree} >= set(family)
    assert psutil.wait_procs(tree, timeout=0)[1] == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_of_a_server_survives_its_own_death(number):
    with running(fake_server()) as hub:
        call(hub, "family")
        launcher = psutil.Process(launcher_pid(hub))
        tree = [launcher, *launcher.children(recursive=True)]
        launcher.children()[0].send_signal(number)
        assert psutil.wait_procs(tree, timeout=5)[1] == []
        wait_for(hub, "fake", "ready")


def test_a_killed_launcher_takes_its_server_along():
    with running(fake_server()) as hub:
        launcher = psutil.Process(launcher_pid(hub))
        (server,) = launcher.children()
        launcher.kill()
        assert psutil.wait_procs([launcher, server], timeout=5)[1] == []
        eventually(lambda: status(hub).state == "ready" and launcher_pid(hub) != launcher.pid)


def test_a_deaf_server_is_ended_by_force():
    with running(fake_server(boot="sleep"), ready=False) as hub:
        launcher = eventually(
            lambda: (transport := hub._connections["fake"]._transport) and transport.pid
        )
        tree = eventually(lambda: psutil.Process(launcher).children())
    assert psutil.wait_procs(tree, timeout=0)[1] == []


def test_a_stop_during_the_handshake_leaves_nothing():
    for _ in range(5):
        with running(fake_server(), fake_server("other", probe="silence"), ready=False):
            gevent.sleep(0)


def test_a_connection_whose_actor_dies_returns_with_a_new_child():
    with running(fake_server()) as hub:
        first = psutil.Process(launcher_pid(hub))
        hub._connections["fake"].ref.kill()
        eventually(lambda: status(hub).state == "ready" and launcher_pid(hub) != first.pid)
        assert not first.is_running()
        assert call(hub, "echo", {"text": "again"}).text == "again"
        assert hub.alive
