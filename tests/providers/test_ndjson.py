"""Lines from bytes that may be cut anywhere.  Spec: section 5, Bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.errors import TurnFailed
from mead.providers.ndjson import read_lines
from tests.helpers.cutting import cut_at

LINES = [b'{"a":"\xc3\xa9 \xe2\x80\xa8 \xc2\x85 \xf0\x9f\x8d\xaf"}', b'{"b":1}', b"{}"]


@given(st.lists(st.integers(0, 500)), st.sampled_from([b"\n", b"\r\n", b"\n\n", b" \r\n\r\n"]))
def test_the_same_lines_however_the_bytes_are_cut(cuts, end):
    """U+2028 and U+0085 end no line, UTF-8 may be split anywhere."""
    data = b"".join(line + end for line in LINES)
    assert list(read_lines(cut_at(data, cuts))) == LINES


def test_a_byte_order_mark_belongs_to_no_line():
    """openai-python PR#3819: a mark at the beginning dropped the first event."""
    assert list(read_lines([b"\xef", b"\xbb\xbf{}\n", b"{}"])) == [b"{}", b"{}"]


def test_the_last_line_needs_no_end():
    assert list(read_lines([b'{"done"', b":true}"])) == [b'{"done":true}']


def test_nothing_is_no_line():
    assert list(read_lines([])) == []
    assert list(read_lines([b"\n\r\n  \n"])) == []


def test_a_line_comes_as_soon_as_its_end():
    def chunks():
        yield b"{}\n{"
        raise AssertionError("read on before the first line was handed over")

    assert next(read_lines(chunks())) == b"{}"


def test_a_line_of_ten_megabytes_is_read():
    line = b"x" * (10 * 1024 * 1024)
    chunks = [line[at : at + 65536] for at in range(0, len(line), 65536)]
    assert list(read_lines([*chunks, b"\n"])) == [line]


@pytest.mark.parametrize("chunks", [[b"x" * 11], [b"x" * 6] * 2, [b"x" * 11 + b"\n"]])
def test_a_line_past_the_limit_is_a_bad_response(chunks):
    assert list(read_lines([b"x" * 10, b"\n"], limit=10)) == [b"x" * 10]
    with pytest.raises(TurnFailed) as failed:
        list(read_lines(chunks, limit=10))
    assert failed.value.reason == "bad_response"
