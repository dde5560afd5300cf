"""Bytes into lines and events, wherever they are cut, and however large they are."""

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.mcp.client.events import Event, EventBuffer
from mead.mcp.client.faults import ServerFault
from mead.mcp.client.lines import LineBuffer, Oversize
from mead.mcp.client.stderr_log import StderrLog


def pieces(data, cuts):
    """The data, cut at these places."""
    places = sorted({min(cut, len(data)) for cut in cuts})
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]


# -- lines -----------------------------------------------------------------------------------------


@given(
    st.lists(st.binary(max_size=40).filter(lambda line: b"\n" not in line), max_size=8),
    st.binary(max_size=10).filter(lambda line: b"\n" not in line),
    st.lists(st.integers(0, 400), max_size=10),
)
def test_lines_are_the_same_wherever_they_are_cut(lines, unfinished, cuts):
    buffer = LineBuffer()
    data = b"".join(line + b"\n" for line in lines) + unfinished
    found = [line for piece in pieces(data, cuts) for line in buffer.feed(piece)]
    assert found == lines


@given(
    st.integers(0, 60), st.lists(st.integers(0, 200), max_size=6), st.binary(min_size=1, max_size=9)
)
def test_a_line_beyond_the_limit_is_thrown_away_and_the_next_one_is_whole(size, cuts, after):
    after = after.replace(b"\n", b"")
    buffer = LineBuffer(limit=30)
    data = b"x" * size + b"\n" + after + b"\n"
    first, second = [line for piece in pieces(data, cuts) for line in buffer.feed(piece)]
    assert isinstance(first, Oversize) == (size > 30)
    assert second == after


HUGE = '"' + "x" * 2000 + '"'


@pytest.mark.parametrize(
    ("line", "request_id"),
    [
        ('{"jsonrpc":"2.0","id":7,"result":{"a":%s}}', 7),
        ('{"jsonrpc": "2.0", "id": 7, "result": %s}', 7),
        ('{"id":7,"result":%s}', 7),
        ('{"result":{"a":%s},"jsonrpc":"2.0","id":7}', 7),
        ('{"result":%s,"id":7,"jsonrpc":"2.0"}\r', 7),
        ('{"jsonrpc":"2.0","method":"m","params":{"id":7,"a":%s}}', None),
        ('{"result":{"a":%s,"id":7}}', None),
        ('{"jsonrpc":"2.0","id":"7","result":%s}', None),
    ],
)
def test_a_line_beyond_the_limit_tells_whose_answer_it_was(line, request_id):
    (found,) = LineBuffer(limit=1000).feed(line.replace("%s", HUGE).encode() + b"\n")
    assert found.request_id == request_id


# -- events ----------------------------------------------------------------------------------------

words = st.text(
    st.characters(exclude_characters="\r\n\x00", exclude_categories=["Cs"]), max_size=12
)


@given(
    st.lists(st.tuples(st.lists(words, min_size=1, max_size=3), st.none() | words), max_size=5),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.lists(st.integers(0, 300), max_size=12),
    st.booleans(),
)
def test_events_are_the_same_whatever_ends_their_lines_and_wherever_they_are_cut(
    events, end, cuts, bom
):
    blocks = []
    for lines, id_ in events:
        fields = [f"data: {line}" for line in lines]
        fields += [] if id_ is None else [f"id: {id_}"]
        blocks.append("".join(field + end for field in [": comment", *fields]) + end)
    data = (b"\xef\xbb\xbf" if bom else b"") + "".join(blocks).encode()
    buffer = EventBuffer()
    found = [event for piece in pieces(data, cuts) for event in buffer.feed(piece)]
    found += buffer.flush()
    assert found == [Event("\n".join(lines), id_) for lines, id_ in events]


def test_an_event_without_its_blank_line_counts_at_the_end():
    buffer = EventBuffer()
    assert buffer.feed(b"id: 4\nretry: 250\ndata: last") == []
    assert buffer.flush() == [Event("last", "4", 250)]


def test_a_retry_that_is_no_number_is_ignored():
    assert EventBuffer().feed(b"retry: soon\ndata: x\n\n") == [Event("x")]
    assert EventBuffer().feed(b"retry: " + b"1" * 5000 + b"\ndata: x\n\n") == [Event("x")]


@pytest.mark.parametrize("line", [b"data:\n", b":\n", b"data: " + b"x" * 300 + b"\n"])
def test_an_event_of_very_many_lines_is_a_fault_before_it_ends(line):
    with pytest.raises(ServerFault, match="bad_response: an event has too many lines"):
        EventBuffer().feed(line * 11_000)


def test_an_event_of_many_lines_is_read():
    (event,) = EventBuffer().feed(b"data: 0123456789\n" * 4000 + b"\n")
    assert event.data.split("\n") == ["0123456789"] * 4000


def test_an_event_beyond_the_limit_is_a_fault():
    buffer = EventBuffer(limit=100)
    buffer.feed(b"data: " + b"x" * 80 + b"\n\n")
    with pytest.raises(ServerFault, match="response_too_large"):
        buffer.feed(b"data: " + b"x" * 100)


def test_an_event_that_is_no_unicode_is_a_fault():
    with pytest.raises(ServerFault, match="bad_response"):
        EventBuffer().feed(b"data: \xff\n\n")


# -- standard error --------------------------------------------------------------------------------


def test_standard_error_is_logged_in_short_clean_lines(caplog):
    caplog.set_level(logging.INFO)
    log = StderrLog("fake", ["hunter22", "ok"])
    log.feed(b"\x1b[31mred\x1b[0m hun")
    log.feed(b"ter22 ok\n" + b"y" * 5000 + b"\n\n")
    assert caplog.messages[0] == "fake stderr:  [31mred [0m ******** ok".replace(":  ", ": ")
    assert caplog.messages[1] == "fake stderr: " + "y" * 300
    assert len(caplog.messages) == 2


def test_each_line_of_a_secret_is_masked_the_longest_first(caplog):
    caplog.set_level(logging.INFO)
    log = StderrLog("fake", ["secret", "secret-and-more", "-----BEGIN\r\nMIIEabcdef\n=\n-----END"])
    log.feed(b"secret-and-more secret\nkey MIIEabcdef = -----END\n")
    assert caplog.messages == [
        "fake stderr: ******** ********",
        "fake stderr: key ******** = ********",
    ]


def test_a_flood_on_standard_error_is_a_few_lines(caplog):
    caplog.set_level(logging.INFO)
    log = StderrLog("fake", [])
    log.feed(b"again\n" * 10_000)
    assert len(caplog.messages) == 20
