import logging
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sseclient import SSEClient

from mead.providers.errors import ProviderFault
from mead.providers.sse import MAX_EVENT_BYTES, read_events
from tests.helpers.cutting import cut_at


def data_of(*chunks, **options):
    return [event.data for event in read_events(chunks, **options)]


def names_of(*chunks):
    return [event.event for event in read_events(chunks)]


def cut(body, size):
    return [body[at : at + size] for at in range(0, len(body), size)]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_every_line_end_of_the_standard_ends_an_event(end):
    body = b"event: a%sdata: 1%s%sdata: 2%s%s".replace(b"%s", end)
    assert data_of(body) == ["1", "2"]
    assert names_of(body) == ["a", "message"]


def test_mixed_line_ends_make_a_blank_line_too():
    assert data_of(b"data: 1\n\r\ndata: 2\r\n\ndata: 3\r\r\ndata: 4\n\n") == ["1", "2", "3", "4"]


def test_an_event_comes_as_soon_as_its_blank_line_is_here():
    seen = []

    def chunks():
        yield b"data: 1\n"
        assert seen == []
        yield b"\n"
        assert seen == ["1"]
        yield b"data: 2\r\n\r"  # the LF that may follow is not waited for
        assert seen == ["1", "2"]
        yield b"\ndata: 3\r\n\r\n"
        assert seen == ["1", "2", "3"]

    for event in read_events(chunks()):
        seen.append(event.data)  # noqa: PERF401 - `chunks` looks at it meanwhile
    assert seen == ["1", "2", "3"]


@pytest.mark.parametrize("tail", [b"data: half", b"data: half\n", b"data: half\r\n", b"event: x"])
def test_an_event_without_its_end_is_none(tail):
    assert data_of(b"data: whole\n\n" + tail) == ["whole"]


def test_a_byte_order_mark_leaves_the_first_event_its_name():
    body = b"\xef\xbb\xbfevent: first\ndata: 1\n\n"
    assert names_of(body) == ["first"]
    assert names_of(*cut(body, 1)) == ["first"]


def test_comments_and_unknown_fields_are_no_data():
    assert data_of(b": hello\n\n:\n\n: x\ndata: 1\nnonsense\nfield: x\nid: 7\n\n") == ["1"]


def test_data_of_several_lines_is_joined_by_line_feeds():
    assert data_of(b"data: one\ndata:two\ndata\ndata:  four\n\n") == ["one\ntwo\n\n four"]


def test_only_real_line_ends_split_lines():
    text = "a\u2028b\u0085c\x0bd\x1ce"
    assert data_of(f"data: {text}\n\n".encode()) == [text]


def test_invalid_utf8_becomes_replacement_characters_and_ends_nothing():
    assert data_of(b"data: a\xff\xe2\x82b\n\ndata: \xe2\x82\xac\n\n") == ["a\ufffd\ufffdb", "€"]


def test_an_event_without_a_data_field_is_none():
    assert data_of(b"event: ping\n\ndata\n\ndata: 1\n\n") == ["", "1"]


def test_a_line_of_ten_megabytes_takes_time_in_proportion_to_its_length():
    def seconds(length):
        body = b"data: " + b"x" * length + b"\n\n"
        began = time.process_time()
        assert [len(text) for text in data_of(*cut(body, 16_384))] == [length]
        return time.process_time() - began

    seconds(1_000_000)  # warm up
    small = min(seconds(1_000_000) for _ in range(3))
    large = seconds(10_000_000)
    assert large < small * 60  # quadratic would be a hundred times; linear is ten


def test_an_event_larger_than_the_limit_is_a_bad_response():
    with pytest.raises(ProviderFault) as fault:
        data_of(*[b"data: " + b"x" * 100] * 3, limit=250)
    assert fault.value.reason == "bad_response"
    assert MAX_EVENT_BYTES == 16 * 1024 * 1024


def test_an_endless_line_is_given_up_at_the_limit():
    taken = 0

    def chunks():
        nonlocal taken
        while True:
            taken += 1
            yield b"x" * 1000

    with pytest.raises(ProviderFault):
        list(read_events(chunks(), limit=10_000))
    assert taken == 11


def test_an_event_of_very_many_lines_is_a_bad_response_and_holds_nobody_up():
    with pytest.raises(ProviderFault, match="too many lines"):
        data_of(b"data: x\n" * 500_000 + b"\n")


def test_debug_logging_quotes_nothing_that_was_sent(caplog):
    with caplog.at_level(logging.DEBUG):
        data_of(b"a secret field: x\ndata: 1\n\n")
    assert "secret" not in caplog.text


BODIES = [
    b"\xef\xbb\xbfevent: a\r\ndata: h\xc3\xa9\xe2\x82\xac\r\n\r\n: c\r\n\r\ndata: 2\r\n\r\n",
    b"data: 1\ndata: 2\n\n\n\nevent: x\rdata: 3\r\rdata: 4\n\r\ndata: unfinished",
    b"data: \xff\xfe\n\n\xef\xbb\xbfdata: not first\n\ndata:\xe2\x80\xa8x\n\n",
]


@given(body=st.sampled_from(BODIES), cuts=st.lists(st.integers(0, 80), max_size=20))
def test_however_the_bytes_are_cut_the_events_are_the_same(body, cuts):
    parts = cut_at(body, cuts)
    whole = [(event.event, event.data) for event in read_events([body])]
    assert [(event.event, event.data) for event in read_events(parts)] == whole
    assert len(whole) >= 2


@given(body=st.binary(max_size=200), size=st.integers(1, 7))
def test_any_bytes_at_all_give_the_same_events_however_they_are_cut(body, size):
    assert data_of(*cut(body, size)) == data_of(body)


@given(
    name=st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    data=st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
)
@example(name=" two spaces", data=" two spaces")
@example(name="", data="")
@example(name="a:b", data='{"a": "\u2028\x85"}')
def test_a_plain_event_is_read_as_the_library_reads_it(name, data):
    lines = [line for line in (None if name is None else f"event: {name}", f"data: {data}") if line]
    sent = "\n".join(lines).replace("\r", "").encode() + b"\n\n"
    theirs = [(event.event, event.data) for event in SSEClient([sent]).events()]
    assert [(event.event, event.data) for event in read_events([sent])] == theirs
