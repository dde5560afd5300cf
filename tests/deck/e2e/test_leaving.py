"""How a stay ends: the server restarts, the conversation is stopped or deleted, a token revoked."""

import signal

import pytest

from mead.control.client import ControlClient
from tests.deck.e2e.client import Client, ask, text_of, ticket
from tests.helpers.raw_websocket import RawClient, upgrade_request
from tests.helpers.server import DECK_TOKEN, running

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(90)]


def test_a_restart_loses_nothing_and_what_waited_runs_afterwards(make_server):
    server = make_server()
    with Client(server).come() as device:
        device.send("stream 40 20", "running")
        device.hear("turn.started")
        device.send("later", "waiting")
        device.hear("prompt.accepted")
        while not device.of("text.delta"):
            device.receive()
        server.signal(signal.SIGTERM)
        assert device.hear_out() == (1001, "restart")
    assert server.end(30) == 0
    server.lines.clear()
    with running(server), device.come():
        while len(device.of("metric.updated")) < 4:
            device.receive()
        first, second = device.of("turn.started")
        assert device.of("turn.completed")[0]["turn_id"] == first["turn_id"]
        assert device.of("turn.completed")[1]["turn_id"] == second["turn_id"]
        assert text_of(device.events) == "".join(f"{n} " for n in range(40)) + "later"


def test_who_is_asked_when_the_server_leaves_is_not_waited_for(make_server):
    server = make_server()
    with Client(server).come() as device:
        device.send("write")
        device.hear("permission.requested")
        server.signal(signal.SIGTERM)
        assert device.hear_out() == (1001, "restart")
    assert server.end(10) == 0, "it does not wait for the answer"
    server.lines.clear()
    with running(server), device.come():
        device.hear_end()
        assert [each["outcome"] for each in device.of("permission.resolved")] == ["expired"]
        assert text_of(device.events) == "did not write"


def test_a_server_that_leaves_takes_nobody_in(make_server):
    server = make_server()
    with (
        Client(server).come() as device,
        RawClient.open(server.port) as asks,
        RawClient.open(server.port) as upgrades,
    ):
        # Requests that have begun before the signal are still answered.
        asks.send(b"POST /deck/ticket HTTP/1.1\r\n")
        upgrades.send(b"GET /deck/socket?ticket=")
        value = ticket(server, device.session_id)["ticket"]
        server.signal(signal.SIGTERM)
        assert device.hear_out() == (1001, "restart")
        asks.send(f"Host: localhost\r\nAuthorization: Bearer {DECK_TOKEN}\r\n\r\n".encode())
        head = asks.receive_head()
        assert head.startswith("HTTP/1.1 503 ")
        assert "Retry-After: 2\r\n" in head
        upgrades.send(upgrade_request(value).removeprefix(b"GET "))
        assert upgrades.receive_head().startswith("HTTP/1.1 503 ")


def test_a_stopped_conversation_closes_its_devices_and_a_ticket_resumes_it(server, arrive):
    phone = arrive(server)
    desk = arrive(server, phone.session_id, "desk")
    phone.send("hold", "running")
    phone.hear("turn.started")
    phone.send("later", "waiting")
    phone.hear("prompt.accepted")
    assert ask(server, "POST", f"sessions/{phone.session_id}/stop").status_code == 204
    assert phone.hear_out() == desk.hear_out() == (4409, "stopped")
    phone.come()
    assert phone.of("turn.failed")[0]["reason"] == "session_stopped"
    assert phone.of("prompt.cancelled")[0]["reason"] == "stopped"
    assert phone.ask("again", "m3") == "again"


def test_a_deleted_conversation_closes_its_devices_for_good(server, arrive):
    device = arrive(server)
    device.ask("hello")
    assert ask(server, "DELETE", f"sessions/{device.session_id}").status_code == 204
    assert device.hear_out() == (4404, "gone")
    gone = ask(server, "POST", "ticket", json={"session_id": device.session_id})
    assert gone.status_code == 404
    store = server.directory / "store"
    assert not list(store.glob(f"{device.session_id}*"))


def test_deleted_in_the_middle_of_an_answer_a_conversation_is_gone_every_time(server, arrive):
    for _ in range(10):
        device = arrive(server)
        device.send("stream 2000 5")
        while not device.of("text.delta"):
            device.receive()
        assert ask(server, "DELETE", f"sessions/{device.session_id}").status_code == 204
        assert device.hear_out() == (4404, "gone")
        assert not list((server.directory / "store").glob(f"{device.session_id}*"))
    assert not server.says("LogFailed")


def test_a_new_name_is_told_to_every_device(server, arrive):
    device = arrive(server)
    device.ask("hello")
    answer = ask(server, "PATCH", f"sessions/{device.session_id}", json={"title": "Tea"})
    assert answer.json()["title"] == "Tea"
    assert device.hear("session.titled")["payload"]["title"] == "Tea"
    rows = ask(server, "GET", "sessions").json()["sessions"]
    assert [row["title"] for row in rows if row["session_id"] == device.session_id] == ["Tea"]


def test_a_login_opens_the_deck_until_it_is_revoked(make_server):
    server = make_server()
    control = ControlClient(server.directory / "store")
    code = control.call("deck_code")
    answer = server.request("POST", "/deck/login", json={"code": code})
    token = answer.json()["token"]
    assert ask(server, "GET", "info", token=token).status_code == 200
    with Client(server).come() as device:
        assert control.call("deck_revoke") == 1
        assert device.hear_out() == (1001, "restart")
    assert ask(server, "POST", "ticket", token=token).status_code == 401
    assert token not in server.log
    assert code not in server.log


def test_a_reload_with_new_settings_cuts_no_answer(make_server):
    server = make_server()
    with Client(server).come() as device:
        device.send("stream 30 10")
        while not device.of("text.delta"):
            device.receive()
        server.signal(signal.SIGHUP)
        assert device.hear_out() == (1001, "restart")
        server.ready(2)
        device.come()
        while not device.of("turn.completed") and not device.of("turn.failed"):
            device.receive()
        assert device.of("turn.failed") == []
        assert text_of(device.events) == "".join(f"{n} " for n in range(30))
