"""The frame of a record, byte by byte."""

from binascii import crc32

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.storage.records import (
    MAX_EVENT_BYTES,
    MAX_PAYLOAD_BYTES,
    ForeignPayload,
    RecordTooLarge,
    decode_payload,
    encode_record,
    find_record,
    record_end,
    split_frames,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@pytest.mark.spec("storage.record-layout")
def test_the_layout_is_the_documented_one() -> None:
    record = encode_record(7, 4096, b'{"type":"interrupt"}')
    payload = b'{"v":1,"n":7,"s":4096,"e":{"type":"interrupt"}}'
    length = len(payload).to_bytes(4, "big")
    assert record == (
        length + crc32(length).to_bytes(4, "big") + crc32(payload).to_bytes(4, "big") + payload
    )


def test_the_payload_is_plain_json_that_any_program_can_read() -> None:
    record = encode_record(1, 0, orjson.dumps({"text": "naïve ✓"}))
    assert orjson.loads(record[12:]) == {"v": 1, "n": 1, "s": 0, "e": {"text": "naïve ✓"}}


@given(JSON, st.integers(1, 2**40), st.integers(0, 2**40))
def test_what_is_encoded_is_decoded(event, sequence, synced) -> None:
    data = b"before" + encode_record(sequence, synced, orjson.dumps(event)) + b"after"
    end = record_end(data, 6)
    assert end == len(data) - len(b"after")
    frames = split_frames(data[6:end])
    assert (len(frames.payloads), frames.used, frames.fault) == (1, end - 6, None)
    assert decode_payload(frames.payloads[0]) == (sequence, synced, event)


def test_a_record_of_sixteen_mebibytes_is_the_largest() -> None:
    envelope = len(b'{"v":1,"n":1,"s":0,"e":}')
    largest = b'"' + b"x" * (MAX_PAYLOAD_BYTES - envelope - 2) + b'"'
    record = encode_record(1, 0, largest)
    assert record_end(record, 0) == len(record) == 12 + MAX_PAYLOAD_BYTES
    with pytest.raises(RecordTooLarge):
        encode_record(1, 0, largest + b" ")


def test_an_event_of_the_announced_size_fits_with_the_longest_numbers() -> None:
    encode_record(2**62, 2**62, b"1" * MAX_EVENT_BYTES)


def test_a_length_over_the_limit_is_a_damaged_header_even_with_its_checksum() -> None:
    length = (MAX_PAYLOAD_BYTES + 1).to_bytes(4, "big")
    header = length + crc32(length).to_bytes(4, "big") + bytes(4)
    assert record_end(header, 0) is None


@pytest.mark.parametrize(
    "payload",
    [
        b"[]",
        b"7",
        b"{}",
        b'{"v":1,"n":1,"s":0}',
        b'{"v":2,"n":1,"s":0,"e":null}',
        b'{"v":1,"n":"1","s":0,"e":null}',
        b'{"v":1,"n":true,"s":0,"e":null}',
        b'{"v":1,"n":1,"s":0.5,"e":null}',
        b'{"v":1,"n":1,"s":0,"e":nul}',
        b"\xff",
    ],
)
def test_a_payload_of_another_shape_is_foreign(payload) -> None:
    with pytest.raises(ForeignPayload):
        decode_payload(payload)


@given(st.lists(st.binary(max_size=60)), JSON)
def test_a_record_is_found_behind_any_bytes(noise, event) -> None:
    before = b"".join(noise)
    data = before + encode_record(1, 0, orjson.dumps(event))
    found = find_record(data, 0)
    while 0 <= found < len(before):
        found = find_record(data, found + 1)
    assert found == len(before)


@given(JSON)
def test_no_record_hides_inside_the_json_of_another(event) -> None:
    """A prompt that holds the bytes of a record is only text."""
    inner = encode_record(1, 0, orjson.dumps(event)).decode("latin-1")
    data = encode_record(
        1, 0, orjson.dumps({"text": inner, "nested": {"v": 1, "n": 2, "e": event}})
    )
    at = find_record(data, 1)
    while at >= 0:
        assert record_end(data, at) is None
        at = find_record(data, at + 1)
