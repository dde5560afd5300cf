"""The client's stream, without a socket."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.web.websocket.incoming import Ending, Incoming
from tests.helpers.cutting import cut_at
from tests.helpers.raw_websocket import BINARY, CLOSE, CONT, PING, PONG, TEXT, close, masked


def fed(*parts: bytes, maximum: int = 1000) -> Incoming:
    incoming = Incoming(maximum)
    for part in parts:
        incoming.feed(part)
    return incoming


def messages(incoming: Incoming) -> list[str | bytes]:
    taken = []
    while (message := incoming.take()) is not None:
        taken.append(message)
    return taken


# -- messages --------------------------------------------------------------------------------------


def test_text_and_binary_come_as_what_they_are():
    incoming = fed(masked(TEXT, "héllo".encode()) + masked(BINARY, b"\xff\0") + masked(TEXT))
    assert messages(incoming) == ["héllo", b"\xff\0", ""]
    assert incoming.ending is None


def test_a_message_in_fragments_comes_whole_with_pings_between_them():
    incoming = fed(
        masked(TEXT, "h\u20ac".encode()[:2], fin=False),
        masked(PING, b"now?"),
        masked(CONT, "h\u20ac".encode()[2:], fin=False) + masked(CONT, b"", fin=False),
        masked(PONG),
        masked(CONT, b"!"),
        masked(BINARY, b"1", fin=False) + masked(CONT, b"2"),
    )
    assert messages(incoming) == ["h\u20ac!", b"12"]
    assert incoming.pings == [b"now?"]


@given(
    st.lists(st.tuples(st.text(max_size=300), st.integers(0, 600)), max_size=6),
    st.lists(st.integers(0, 3000), max_size=20),
)
def test_bytes_that_are_split_anywhere_make_the_same_messages(texts, cuts):
    stream = b""
    for text, cut in texts:
        data = text.encode()
        stream += masked(TEXT, data[:cut], fin=False) + masked(PING) + masked(CONT, data[cut:])
    incoming = fed(*cut_at(stream, cuts), maximum=10_000)
    assert messages(incoming) == [text for text, _ in texts]
    assert len(incoming.pings) == len(texts)


def test_only_whole_frames_count_as_activity():
    incoming = Incoming(1000)
    frame = masked(PING, b"1234")
    assert [incoming.feed(frame[:5]), incoming.feed(frame[5:] + masked(PONG))] == [0, 2]


# -- ends ------------------------------------------------------------------------------------------


def test_the_end_waits_until_what_came_before_it_was_taken():
    incoming = fed(masked(TEXT, b"last words") + close(1000, "bye"))
    assert incoming.over
    assert incoming.ending is None
    assert messages(incoming) == ["last words"]
    assert incoming.ending == Ending(1000, "bye", answered=True)
    assert incoming.feed(masked(TEXT, b"after")) == 0
    assert messages(incoming) == []


def test_a_close_between_fragments_is_a_close():
    incoming = fed(masked(TEXT, b"half", fin=False) + close(1001, "gone"))
    assert messages(incoming) == []
    assert incoming.ending == Ending(1001, "gone", answered=True)


def test_a_close_without_a_code_is_1005():
    incoming = fed(masked(TEXT) + masked(CLOSE))
    assert messages(incoming) == [""]
    assert incoming.ending == Ending(1005, "", answered=True)


def test_a_stream_that_just_ends_is_lost():
    incoming = fed(masked(TEXT, b"whole") + masked(TEXT, b"half")[:-1], b"")
    assert messages(incoming) == ["whole"]
    assert incoming.ending == Ending(1006, "", answered=False)


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (b"\x81\x01x", 1002),  # no mask
        (masked(CONT, b"x"), 1002),  # nothing to continue
        (masked(TEXT, b"x", fin=False) + masked(TEXT, b"y"), 1002),
        (masked(PING, b"x" * 126), 1002),
        (masked(PING, b"x", fin=False), 1002),
        (b"\xc1\x80\0\0\0\0", 1002),  # a reserved bit: no extension was agreed
        (b"\x83\x80\0\0\0\0", 1002),  # no such opcode
        (close(1006), 1002),
        (masked(TEXT, b"\xff"), 1007),
        (masked(TEXT, b"\xe2\x82", fin=False) + masked(CONT), 1007),
        (masked(CLOSE, b"\x03\xe8\xff"), 1007),
        (masked(CLOSE, b"\x03"), 1002),
    ],
)
def test_what_breaks_the_protocol_ends_the_stream_behind_what_was_right(bad, code):
    incoming = fed(masked(TEXT, b"right") + bad + masked(TEXT, b"ignored"))
    assert messages(incoming) == ["right"]
    assert incoming.ending is not None
    assert incoming.ending.code == code
    assert incoming.ending.answered


def test_bad_text_ends_at_its_first_bad_fragment():
    incoming = fed(masked(TEXT, b"ok", fin=False))
    assert messages(incoming) == []
    incoming.feed(masked(CONT, b"\xed\xa0\x80", fin=False))
    assert messages(incoming) == []
    assert incoming.ending == Ending(1007, "invalid UTF-8", answered=True)


@given(st.lists(st.binary(min_size=1, max_size=60), max_size=8))
def test_no_bytes_at_all_make_it_fail(parts):
    incoming = fed(*parts, b"", maximum=100)
    messages(incoming)
    assert incoming.ending.code in {1002, 1005, 1006, 1007, 1009, *range(1000, 5000)} - {1011}


# -- bounds ----------------------------------------------------------------------------------------


def test_a_header_that_announces_too_much_is_enough():
    incoming = fed(masked(BINARY, b"x" * 1000)[:8])
    assert not incoming.over
    incoming = fed(b"\x82\xff" + (1 << 40).to_bytes(8, "big"))
    assert incoming.over
    assert messages(incoming) == []
    assert incoming.ending.code == 1009


def test_fragments_count_together():
    incoming = fed(masked(TEXT, b"x" * 600, fin=False), masked(CONT, b"x" * 401))
    assert messages(incoming) == []
    assert incoming.ending.code == 1009
    incoming = fed(masked(TEXT, b"x" * 600, fin=False), masked(CONT, b"x" * 400))
    assert messages(incoming) == ["x" * 1000]
