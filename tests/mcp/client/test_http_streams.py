"""Answers of servers over HTTP, and the streams that they come in."""

import gevent
import pytest

from mead.mcp.client.events import Event
from mead.mcp.client.http_stream import Stream
from tests.helpers.mcp_http_fake import (
    STREAM,
    FakeHttp,
    Reply,
    event,
    http_server,
    result,
    text,
)
from tests.helpers.mcp_settings import running
from tests.helpers.waiting import eventually
from tests.mcp.client.asking import call, says


@pytest.mark.parametrize("streamed", [False, True])
def test_an_answer_of_more_than_four_mebibytes_fails_its_call(streamed):
    fake = FakeHttp()
    large = text("x" * (4 * 1024 * 1024))
    with fake.serving() as port, running(http_server(port)) as hub:
        if streamed:
            fake.on["tools/call"] = lambda heard: Reply(
                body=event(heard.message["id"], large), media_type=STREAM
            )
        else:
            fake.on["tools/call"] = lambda heard: result(heard, large)
        assert call(hub, "echo").text.startswith("response_too_large")
        del fake.on["tools/call"]
        assert says(hub)


STREAMS = {
    "plain": lambda id_: [event(id_, text("ok"))],
    "no blank line": lambda id_: [event(id_, text("ok"), end="")],
    "windows": lambda id_: [event(id_, text("ok")).replace(b"\n", b"\r\n")],
    "old mac": lambda id_: [event(id_, text("ok")).replace(b"\n", b"\r")],
    "bom": lambda id_: [b"\xef\xbb\xbf" + event(id_, text("ok"))],
    "bytewise": lambda id_: [
        event(id_, text("ok")).replace(b"\n", b"\r\n")[n : n + 1]
        for n in range(len(event(id_, text("ok")).replace(b"\n", b"\r\n")))
    ],
    "comments": lambda id_: [b": hello\n\n", b":\n", event(id_, text("ok"))],
    "no space": lambda id_: [event(id_, text("ok")).replace(b"data: ", b"data:")],
    "two lines": lambda id_: [event(id_, text("ok")).replace(b', "id"', b',\ndata: "id"')],
    "named": lambda id_: [event(id_, text("ok"), event="message")],
    "primed": lambda id_: [b"id: 1\ndata:\n\n", event(id_, text("ok"), id=2)],
    "garbage before": lambda id_: [b"data: hello\n\n", event(id_, text("ok"))],
    "ping before": lambda id_: [b'data: {"jsonrpc":"2.0","id":"p","method":"ping"}\n\n',
                                event(id_, text("ok"))],
    "other kind": lambda id_: [b"event: endpoint\ndata: /x\n\n", event(id_, text("ok"))],
}  # fmt: skip


@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS.keys())
def test_a_stream_is_read_whatever_its_style(stream):
    fake = FakeHttp()
    fake.on["tools/call"] = lambda heard: Reply(body=stream(heard.message["id"]), media_type=STREAM)
    with fake.serving() as port, running(http_server(port)) as hub:
        assert call(hub, "echo").text == "ok"


def test_an_answer_is_taken_from_a_stream_that_stays_open():
    fake = FakeHttp()
    leave = gevent.event.Event()

    def stays(heard):
        def body():
            yield event(heard.message["id"], text("ok"))
            leave.wait(5)

        return Reply(body=body(), media_type=STREAM)

    fake.on["tools/call"] = stays
    with fake.serving() as port, running(http_server(port)) as hub:
        assert call(hub, "echo").text == "ok"
        leave.set()


def test_a_broken_stream_is_taken_up_behind_its_last_event():
    fake = FakeHttp()
    asked = []

    def breaks(heard):
        asked.append(heard.message["id"])
        return Reply(body=[b"id: e1\nretry: 20\ndata:\n\n"], media_type=STREAM)

    def goes_on(heard):
        if heard.headers.get("last-event-id") != "e1":
            return None
        return Reply(body=[event(asked[0], text("resumed"), id="e2")], media_type=STREAM)

    fake.on["tools/call"] = breaks
    fake.on["GET"] = goes_on
    with fake.serving() as port, running(http_server(port)) as hub:
        assert call(hub, "echo").text == "resumed"
        assert fake.calls().count("tools/call") == 1


def test_a_stream_that_cannot_be_taken_up_is_lost():
    fake = FakeHttp()
    fake.on["tools/call"] = lambda heard: Reply(body=[b": nothing\n\n"], media_type=STREAM)
    with fake.serving() as port, running(http_server(port)) as hub:
        assert call(hub, "echo").text == "connection_lost: the stream ended before the answer"


def test_attempts_to_take_up_a_stream_end():
    fake = FakeHttp()
    primed = Reply(body=[b"id: e1\nretry: 5\ndata:\n\n"], media_type=STREAM)
    fake.on["tools/call"] = lambda heard: primed
    fake.on["GET"] = lambda heard: (
        Reply(body=[b": still nothing\n\n"], media_type=STREAM)
        if "last-event-id" in heard.headers
        else None
    )
    with fake.serving() as port, running(http_server(port)) as hub:
        assert call(hub, "echo").text.startswith("connection_lost")
        resumed = [heard for heard in fake.heard if "last-event-id" in heard.headers]
        assert len(resumed) == 2


def test_the_standing_stream_tells_of_a_changed_list():
    fake = FakeHttp(echo={})
    changed = gevent.event.Event()

    def stands(heard):
        def body():
            yield b"retry: 20\nid: s1\ndata:\n\n"
            changed.wait(5)
            yield b'data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n'

        return Reply(body=body(), media_type=STREAM)

    fake.on["GET"] = stands
    with fake.serving() as port, running(http_server(port)) as hub:
        assert [tool.tool for tool in hub.tools_for(None)] == ["echo"]
        eventually(lambda: "GET" in fake.calls())
        fake.tools["big"] = {}
        changed.set()
        eventually(lambda: "big" in [tool.tool for tool in hub.tools_for(None)])
        eventually(lambda: fake.last("GET").headers.get("last-event-id") == "s1")


def test_a_standing_stream_that_ends_at_once_is_opened_ever_less_often():
    stream = Stream(None, None)
    stream.note(Event("", "1", retry_ms=0))
    assert [stream.pause_ms(0.1) for _ in range(7)] == [
        1000, 2000, 4000, 8000, 16_000, 30_000, 30_000,
    ]  # fmt: skip
    assert stream.pause_ms(60) == 1000
    assert stream.retry_ms > 0


def test_a_standing_stream_that_wants_no_pause_gets_one():
    fake = FakeHttp()
    fake.on["GET"] = lambda heard: Reply(body=[b"retry: 0\nid: 1\ndata:\n\n"], media_type=STREAM)
    with fake.serving() as port, running(http_server(port)) as hub:
        eventually(lambda: "GET" in fake.calls())
        for _ in range(30):
            assert says(hub)
        assert fake.calls().count("GET") <= 3


def test_a_stream_of_an_array_that_is_too_long_is_noise_and_the_answer_counts():
    fake = FakeHttp()
    told = b",".join([b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'] * 101)
    fake.on["tools/call"] = lambda heard: Reply(
        body=[b"data: [" + told + b"]\n\n", event(heard.message["id"], text("ok"))],
        media_type=STREAM,
    )
    with fake.serving() as port, running(http_server(port)) as hub:
        assert call(hub, "echo").text == "ok"
        assert hub._connections["fake"]._transport.noise == 1
