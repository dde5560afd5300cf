"""Chunks are taken apart a little at a time, and as gunicorn does it."""

from typing import Any

import gevent
import pytest
from gunicorn.http.body import ChunkedReader
from gunicorn.http.unreader import IterUnreader
from hypothesis import given
from hypothesis import strategies as st

from mead.actors.green import pause
from mead.web.request_body import FRAMING_BYTES, BoundedChunks, FramingTooLong


def chunks(data: bytes, packet: int = 8192) -> BoundedChunks:
    return BoundedChunks(None, unreader(data, packet))


def unreader(data: bytes, packet: int) -> Any:
    return IterUnreader(data[at : at + packet] for at in range(0, len(data), packet))


def test_other_greenlets_run_while_a_body_is_taken_apart() -> None:
    turns: list[None] = []

    def other() -> None:
        while True:
            turns.append(None)
            pause()

    running = gevent.spawn(other)
    try:
        read = chunks(b"1\r\nx\r\n" * 25_000 + b"0\r\n\r\n").read(1_048_576)
    finally:
        running.kill()
    assert len(read) == 25_000
    assert turns


def test_framing_has_a_limit_however_little_content_there_is() -> None:
    count = FRAMING_BYTES // 5 + 1700  # what was read ahead of the content counts as framing
    with pytest.raises(FramingTooLong):
        chunks(b"1\r\nx\r\n" * count).read(1_048_576)


@given(st.lists(st.binary(min_size=1, max_size=50), max_size=20), st.integers(1, 40), st.data())
def test_content_is_what_gunicorn_makes_of_it(
    pieces: list[bytes], packet: int, data: st.DataObject
) -> None:
    wire = b"".join(b"%x;a=b\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
    ours = chunks(wire + b"GET", packet)
    theirs = ChunkedReader(None, unreader(wire + b"GET", packet))
    while True:
        size = data.draw(st.integers(1, 200))
        read = ours.read(size)
        assert read == theirs.read(size)
        if not read:
            break
    assert ours.parser is None
