"""Coming to a conversation through a real gunicorn: tickets, upgrade, resume, being heard."""

import json

import pytest

from tests.deck.e2e.client import Client, ask, connections, offer, text_of, ticket
from tests.deck.e2e.conftest import deck_toml
from tests.helpers.raw_websocket import (
    BINARY,
    CLOSE,
    PING,
    PONG,
    Got,
    RawClient,
    close,
    closing,
    masked,
    upgrade_request,
)
from tests.helpers.server import Server, running
from tests.web.conftest import with_tls

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(60)]


def answer_to(server, head: bytes) -> str:
    with RawClient.open(server.port) as client:
        client.send(head)
        return client.receive_head()


# -- tickets and the upgrade -----------------------------------------------------------------------


def test_a_device_talks_through_a_real_server(server, arrive):
    device = arrive(server)
    assert device.ask("hello") == "hello"
    turns = ask(server, "GET", f"sessions/{device.session_id}/history").json()["turns"]
    assert [(turn["input"], turn["output"], turn["durable"]) for turn in turns] == [
        ("hello", "hello", True)
    ]
    assert turns[0]["id"] == device.of("turn.started")[0]["turn_id"]


def test_a_device_talks_over_tls(tmp_path):
    toml = with_tls(deck_toml(tmp_path / "store"))
    server = Server(tmp_path, toml, scheme="https")
    with running(server), Client(server) as device:
        assert device.come().ask("stream 20 1") == "".join(f"{n} " for n in range(20))


def test_a_device_talks_through_gunicorns_own_gevent_worker(make_server):
    server = make_server("-k", "gevent")
    with Client(server).come() as device:
        assert device.ask("stream 20 1") == "".join(f"{n} " for n in range(20))
        device.leave()
        assert device.come().ask("again", "m2") == "again"


def test_a_ticket_in_the_query_upgrades_without_a_subprotocol(server):
    issued = ticket(server)
    with RawClient.open(server.port) as client:
        client.send(upgrade_request(f"/deck/socket?ticket={issued['ticket']}"))
        head = client.receive_head()
        assert head.startswith("HTTP/1.1 101 ")
        assert "Sec-WebSocket-Protocol" not in head
        client.send_text('{"type": "session.resume", "payload": {"last_sequence": 0}}')
        snapshot = json.loads(client.receive_text())
        assert snapshot["payload"]["session_id"] == issued["session_id"]


def test_one_ticket_opens_one_socket(server):
    value = ticket(server)["ticket"]
    head = upgrade_request("/deck/socket", offer(value))
    with RawClient.open(server.port) as first, RawClient.open(server.port) as second:
        first.send(head)
        second.send(head)
        statuses = sorted(client.receive_head().split()[1] for client in (first, second))
    assert statuses == ["101", "401"]


def test_what_is_no_upgrade_is_refused_and_the_ticket_stays_good(server):
    value = ticket(server)["ticket"]
    path = f"/deck/socket?ticket={value}"
    plain = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    assert answer_to(server, plain).startswith("HTTP/1.1 426 ")
    assert answer_to(server, upgrade_request(path, version="8")).startswith("HTTP/1.1 426 ")
    assert answer_to(server, upgrade_request(path, key=None)).startswith("HTTP/1.1 400 ")
    evil = upgrade_request(path, "Origin: http://evil.example")
    assert answer_to(server, evil).startswith("HTTP/1.1 403 ")
    assert answer_to(server, upgrade_request(path)).startswith("HTTP/1.1 101 ")
    assert answer_to(server, upgrade_request(path)).startswith("HTTP/1.1 401 ")


def test_a_frame_in_the_same_packet_as_the_handshake_is_heard(server):
    value = ticket(server)["ticket"]
    resume = json.dumps({"type": "session.resume", "payload": {"last_sequence": 0}})
    with RawClient.open(server.port) as client:
        client.send(upgrade_request("/deck/socket", offer(value)) + masked(1, resume.encode()))
        client.receive_head()
        assert json.loads(client.receive_text())["type"] == "session.snapshot"


def test_no_ticket_and_no_token_reaches_a_log(make_server):
    server = make_server("--access-logfile", "-", "--log-level", "debug")
    with Client(server).come() as device:
        device.ask("a-prompt-that-nobody-logs")
    value = ticket(server, device.session_id)["ticket"]
    answer_to(server, upgrade_request(f"/deck/socket?ticket={value}"))
    answer_to(server, upgrade_request(f"/deck/socket?ticket={value}"))
    server.stop()
    assert "GET /deck/socket" in server.log
    for secret in (value, "deck-token-for-tests", "a-prompt-that-nobody-logs", "ticket="):
        assert secret not in server.log


# -- resume ----------------------------------------------------------------------------------------


def test_a_device_that_comes_back_lacks_nothing(server, arrive):
    stays, moves = arrive(server, name="desk"), None
    for number in range(4):
        with Client(server, stays.session_id) as moves_now:
            moves_now.events = [] if moves is None else moves.events
            moves_now.come()
            moves_now.ask(f"stream {10 + number} 1", f"m{number}")
            moves = moves_now
    while stays.last_sequence < moves.last_sequence:
        stays.receive()
    assert moves.events == stays.events
    assert text_of(moves.events).count("9 ") == 4


def test_without_a_resume_in_time_the_socket_is_closed(make_server):
    server = make_server(resume_deadline_ms=200)
    with Client(server).connect() as device:
        assert device.hear_out() == (4401, "no session.resume in time")


# -- frames ----------------------------------------------------------------------------------------


def test_a_frame_that_means_nothing_is_rejected_and_the_next_is_heard(server, arrive):
    device = arrive(server)
    device.socket.send(masked(BINARY, b"{}"))
    assert device.hear("frame.rejected")["payload"] == {"reason": "binary"}
    device.socket.send_text("{" + " " * 70_000)
    assert device.hear("frame.rejected")["payload"] == {"reason": "too_large"}
    assert device.ask("still here") == "still here"


def test_too_many_of_them_close_the_socket(server, arrive):
    device = arrive(server)
    for _ in range(21):
        device.socket.send_text("nonsense")
    assert device.hear_out()[0] == 1008
    assert len(device.others) == 1 + 21


def test_a_message_over_a_mebibyte_is_refused_by_the_transport(server, arrive):
    device = arrive(server)
    device.socket.send(masked(BINARY, b"x" * 1_048_577))
    assert device.hear_out()[0] == 1009


def test_a_client_that_says_goodbye_is_answered(server, arrive):
    device = arrive(server)
    device.socket.send(close(1000))
    assert device.socket.receive_rest() == [closing(1000)]


# -- silence ---------------------------------------------------------------------------------------


@pytest.fixture
def hasty(make_server):
    return make_server(heartbeat_ms=100, idle_timeout_ms=1000)


def test_heartbeats_come_with_pings_while_a_turn_runs(hasty):
    with Client(hasty).come() as device:
        device.send("hold")
        device.hear("turn.started")
        frames = [device.socket.receive() for _ in range(6)]
        beats = [frame for frame in frames if frame.opcode is not PING]
        assert len(beats) == 3
        assert {json.loads(frame.data)["type"] for frame in beats} == {"heartbeat"}


def test_who_answers_pings_stays_and_who_does_not_is_closed_as_idle(hasty):
    with Client(hasty).come() as answers, Client(hasty).come() as silent:
        got, beats = None, 0
        while got is None or got.opcode is not CLOSE:
            got = silent.socket.receive()
            answers.hear("heartbeat")
            beats += 1
        assert got == closing(1001, "idle")
        assert beats > 5
        answers.socket.send(masked(PING, b"here"))
        frames = []
        while Got(PONG, b"here") not in frames:
            frames.append(answers.socket.receive())
        assert answers.closed is None


def test_a_device_that_falls_silent_is_given_up_and_its_replacement_is_right(hasty):
    """It neither reads nor ends; test_black_hole.py has one whose packets are lost."""
    with Client(hasty).come() as lost:
        lost.ask("before")
        with Client(hasty, lost.session_id).come() as replacement:
            replacement.hear_end()
            replacement.ask("while it was gone", "m2")
            places = connections(hasty)
            while connections(hasty) == places:
                replacement.hear("heartbeat")
            assert replacement.ask("after", "m3") == "after"
            assert [each["text"] for each in replacement.of("prompt.accepted")] == [
                "before",
                "while it was gone",
                "after",
            ]
            lost_events = lost.events
            assert replacement.events[: len(lost_events)] == lost_events
