"""A device's socket: coming, heartbeats, silence, nonsense, and how each end is told."""

import pytest
from gevent.event import Event

from mead.actors.tasks import TaskSupervisor
from mead.deck.memory_socket import MemorySocket
from tests.deck.conftest import opened
from tests.helpers.waiting import eventually

UUID = "11111111-1111-4111-8111-111111111111"


# -- resume ----------------------------------------------------------------------------------------


def test_a_socket_that_does_not_resume_in_time_is_closed(arrive):
    device = arrive(resume_deadline_ms=30)
    assert device.gone()[0] == 4401


def test_other_frames_do_not_put_the_deadline_off(arrive):
    device = arrive(resume_deadline_ms=100)
    device.send("hi")
    assert device.hear("frame.rejected")["payload"]["reason"] == "not_resumed"
    assert device.gone()[0] == 4401


def test_a_second_resume_is_rejected(arrive):
    device = arrive()
    device.resume()
    device.say("session.resume", last_sequence=0)
    assert device.hear("frame.rejected")["payload"]["reason"] == "already_resumed"


def test_the_snapshot_tells_the_state_and_the_limits(arrive):
    device = arrive(queue_limit=3, heartbeat_ms=1000, idle_timeout_ms=5000)
    assert device.resume() == {
        "session_id": device.session_id,
        "log_id": device.snapshot["log_id"],
        "first_sequence": 1,
        "last_sequence": 0,
        "reset": False,
        "gap": False,
        "durable": False,
        "turn": None,
        "queue": [],
        "policy_level": "ask_for_risky",
        "remembered_tools": [],
        "pending": [],
        "title": None,
        "limits": {
            "frame_bytes": 65536,
            "text_characters": 60000,
            "heartbeat_ms": 1000,
            "idle_timeout_ms": 5000,
            "queue_limit": 3,
        },
    }


def test_the_snapshot_shows_the_running_turn_and_the_queue(make_mead, devices):
    go = Event()

    def script(request):
        go.wait(5)
        return "done"

    mead, session_id = opened(make_mead(script))
    one = devices.at(mead, session_id).come()
    one.send("first", "m1")
    one.send("second", "m2")
    accepted = [one.hear("prompt.accepted") for _ in range(2)]
    two = devices.at(mead, session_id).come()
    assert two.snapshot["turn"]["turn_id"] == accepted[0]["payload"]["turn_id"]
    assert two.snapshot["turn"]["client_message_id"] == "m1"
    assert two.snapshot["turn"]["open_calls"] == []
    assert two.snapshot["queue"] == [accepted[1]["payload"]]
    go.set()
    two.hear_end()
    two.hear_end()
    one.hear_all(two.last_sequence)
    assert one.events == two.events


# -- replay ----------------------------------------------------------------------------------------


def test_a_device_that_comes_back_is_sent_what_it_lacks(make_mead, devices):
    mead, session_id = opened(make_mead())
    writer = devices.at(mead, session_id).come()
    writer.ask("one", "m1")
    for after in range(writer.last_sequence + 1):
        reader = devices.at(mead, session_id)
        reader.come(last_sequence=after)
        reader.hear_all(writer.last_sequence) if after < writer.last_sequence else None
        assert reader.events == writer.events[after:]
        assert not reader.snapshot["reset"]
        reader.leave()


@pytest.mark.parametrize(
    ("resume", "expected"),
    [
        ({"last_sequence": 3}, (False, False, 4)),
        ({"last_sequence": 3, "log_id": "same"}, (False, False, 4)),
        ({"last_sequence": 3, "log_id": UUID}, (True, False, 1)),
        ({"last_sequence": 0, "log_id": UUID}, (True, False, 1)),
        ({"last_sequence": 1000}, (True, False, 1)),
        ({"last_sequence": 1000, "log_id": "same"}, (True, False, 1)),
    ],
)
def test_a_client_of_another_log_or_of_a_lost_future_starts_over(
    make_mead, devices, resume, expected
):
    mead, session_id = opened(make_mead())
    writer = devices.at(mead, session_id).come()
    writer.ask("hi")
    if resume.get("log_id") == "same":
        resume = {**resume, "log_id": writer.snapshot["log_id"]}
    reader = devices.at(mead, session_id).come(**resume)
    reader.hear_all(writer.last_sequence)
    first = reader.events[0]["sequence"]
    assert (reader.snapshot["reset"], reader.snapshot["gap"], first) == expected


def test_a_client_that_is_too_far_behind_is_told_of_the_gap(make_mead, devices):
    mead, session_id = opened(make_mead(event_log_limit=20))
    writer = devices.at(mead, session_id).come()
    for number in range(10):
        writer.ask("hi", f"m{number}")
    reader = devices.at(mead, session_id).come(last_sequence=2)
    assert reader.snapshot["gap"]
    assert not reader.snapshot["reset"]
    reader.hear_all(writer.last_sequence)
    assert reader.events[0]["sequence"] == reader.snapshot["first_sequence"] > 20
    writer.send("hi", "m0")  # its events are compacted away
    rejected = writer.hear("frame.rejected")["payload"]
    assert rejected == {"reason": "already_finished", "type": "prompt.send", "id": "m0"}
    writer.send("hi", "m9")
    assert writer.hear("prompt.accepted")["payload"]["client_message_id"] == "m9"


# -- slow clients ----------------------------------------------------------------------------------


def test_a_client_that_stops_reading_is_closed_and_slows_nobody(make_mead, devices):
    script = [{"chunks": ["x" * 20_000] * 100, "delay_ms": 1}]
    mead, session_id = opened(make_mead(script))
    slow = devices.at(mead, session_id).come()
    quick = devices.at(mead, session_id).come()
    slow.socket.stop_reading()
    for number in range(2):
        quick.ask("hi", f"m{number}")
    assert slow.gone()[0] == 1013
    slow.come(last_sequence=0)
    slow.hear_all(quick.last_sequence)
    assert slow.events == quick.events


def test_a_long_replay_to_a_slow_client_is_not_cut(make_mead, devices):
    mead, session_id = opened(make_mead([{"chunks": ["x" * 9000] * 100}]))
    writer = devices.at(mead, session_id).come()
    for number in range(4):
        writer.ask("hi", f"m{number}")
    slow = devices.at(mead, session_id).come(last_sequence=0)
    slow.hear()
    writer.ask("hi", "more")
    slow.hear_all(writer.last_sequence)
    assert slow.events == writer.events
    assert slow.socket.closed is None


def test_a_snapshot_of_any_size_leaves_the_queue_of_live_events_free(make_mead, devices):
    go, callers = Event(), TaskSupervisor("callers")
    mead, session_id = opened(make_mead(lambda request: "x" if go.wait(5) else ""))
    device = devices.at(mead, session_id).come()
    device.send("runs")
    device.hear("turn.started")
    for _ in range(6):
        callers.start(lambda: mead.submit(session_id, "é" * 100_000))
        device.hear("prompt.accepted")
    late = devices.at(mead, session_id, "late").connect()
    late.socket.stop_reading()
    late.say("session.resume", last_sequence=device.last_sequence)
    eventually(lambda: late.socket._sent)
    for level in ("read_only", "allow_all"):
        device.say("policy.set", level=level)
        device.hear("policy.updated")
    assert late.socket.closed is None
    late.socket._reads = True
    assert len(late.hear("session.snapshot")["payload"]["queue"]) == 6
    assert [late.hear()["payload"]["level"] for _ in range(2)] == ["read_only", "allow_all"]
    go.set()
    callers.stop()


# -- heartbeat and silence -------------------------------------------------------------------------


def test_a_heartbeat_comes_with_a_ping_whatever_a_turn_does(make_mead, devices):
    go = Event()
    mead, session_id = opened(
        make_mead(lambda request: "done" if go.wait(5) else "", heartbeat_ms=20)
    )
    device = devices.at(mead, session_id).come()
    device.send("hi")
    device.hear("turn.started")
    beat = device.hear("heartbeat")
    assert set(beat) == {"type", "at", "payload"}
    device.hear("heartbeat")
    assert device.socket.pings >= 1
    go.set()


def test_a_silent_socket_is_closed_as_idle_and_its_replacement_is_right(make_mead, devices):
    mead, session_id = opened(make_mead(heartbeat_ms=20, idle_timeout_ms=120))
    device = devices.at(mead, session_id).come()
    device.ask("hi")
    assert device.gone() == (1001, "idle")
    again = devices.at(mead, session_id).come(last_sequence=device.last_sequence)
    assert again.snapshot["last_sequence"] == device.last_sequence
    assert again.ask("more", "m2") == "Hello"


def test_any_frame_of_the_client_counts_as_life(arrive):
    device = arrive(heartbeat_ms=20, idle_timeout_ms=800)
    device.socket.answers_pings = True
    device.resume()
    for _ in range(50):
        device.hear("heartbeat")
    assert device.socket.closed is None


# -- nonsense --------------------------------------------------------------------------------------


def test_devices_are_named_by_themselves_or_by_their_number(make_mead, devices):
    mead, session_id = opened(make_mead())
    names = []
    for name, level in ((None, "read_only"), ("phone", "allow_all"), (None, "read_only")):
        device = devices.at(mead, session_id, name).come()
        device.hear_all(device.snapshot["last_sequence"])
        device.say("policy.set", level=level)
        names.append(device.hear("policy.updated")["payload"]["device_id"])
    assert names[1] == "phone"
    assert names[0] == "device-1"
    assert names[2] == "device-3"


def test_a_socket_for_a_conversation_that_has_gone_is_told_not_to_come_back(make_mead, devices):
    mead, session_id = opened(make_mead())
    mead.stop_session(session_id)
    device = devices.at(mead, session_id).connect()
    device.say("session.resume", last_sequence=0)
    assert device.gone() == (4404, "gone")


@pytest.mark.parametrize(("end", "told"), [("stop", (4409, "stopped")), ("delete", (4404, "gone"))])
def test_a_conversation_that_ends_before_its_socket_resumes_is_told_as_any_other(
    make_mead, devices, tmp_path, end, told
):
    mead, session_id = opened(make_mead(directory=tmp_path))
    device = devices.at(mead, session_id).connect()
    getattr(mead, f"{end}_session")(session_id)
    device.say("session.resume", last_sequence=0)
    assert device.gone() == told


def test_the_in_memory_socket_keeps_the_limits_of_the_real_one():
    socket = MemorySocket()
    frame = b'{"type": "x"}'
    assert all(socket.send(frame) for _ in range(1000))
    assert not socket.send(frame)
    assert socket.closed.code == 1013
    big = MemorySocket()
    assert big.send(b"x" * 2_000_000)
    assert not big.send(b"x")
