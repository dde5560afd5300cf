"""The frame of one record: the only bytes that Mead's logs are made of.  Pure.

Layout of a log: records, one after another, from the first byte of the file to the last.

    offset  size  field
    0       4     length of the payload in bytes, at most 16 MiB
    4       4     CRC-32 of the four length bytes
    8       4     CRC-32 of the payload
    12      n     payload

All numbers are unsigned and big-endian; the CRC is the one of zlib.  The length has a checksum of
its own, so that a damaged length is never mistaken for a record that was cut short.

The payload is one JSON object in UTF-8, without white space, its keys in this order:

    {"v":1,"n":7,"s":4096,"e":{...}}

    v  format version, 1
    n  sequence number: 1 for the first record of a file, then 2, 3 ... without gaps
    s  synced offset: all bytes of this file before it were known to be on the disk when the record
       was written.  In a file that was written anew it is the record's own offset, because such a
       file gets its name only after it was synced.
    e  the event, any JSON value; what it means is its writer's matter

No record can hide inside another: a header starts with a byte 0 or 1, and JSON text holds no such
byte.  Hence `find` may look for the first bytes of a payload.  Source: seed A8.
"""

from binascii import crc32
from struct import Struct
from typing import Any, Final, NamedTuple

import orjson

VERSION: Final = 1
MAX_PAYLOAD_BYTES: Final = 16 * 1024 * 1024
"""Far above any turn; a bound on what a reader holds in memory for one record."""

MAX_EVENT_BYTES: Final = MAX_PAYLOAD_BYTES - 64
"""What is left of the payload for the event."""

_HEADER: Final = Struct(">III")
HEADER_BYTES: Final = 12
assert _HEADER.size == HEADER_BYTES  # noqa: S101 - the layout above, checked once at import

_PAYLOAD_START: Final = b'{"v":'
_ENVELOPE: Final = b'{"v":1,"n":%d,"s":%d,"e":%b}'


Record = tuple[int, int, Any]
"""One record as it was read: sequence number, synced offset, event.

A bare tuple, because a long log has a hundred thousand of them.
"""


class Frames(NamedTuple):
    """The whole records at the front of some bytes."""

    payloads: list[bytes]
    used: int
    """Bytes that they take."""
    fault: str | None
    """What is wrong with the record after them; None when it is only not complete."""


class RecordTooLarge(ValueError):
    """The payload would exceed MAX_PAYLOAD_BYTES."""


class ForeignPayload(ValueError):
    """The checksums hold, but the payload is not one that this version writes."""


def encode_record(sequence: int, synced: int, event: bytes) -> bytes:
    """The record that holds `event` (ready JSON bytes).  Raises RecordTooLarge."""
    payload = _ENVELOPE % (sequence, synced, event)
    size = len(payload)
    if size > MAX_PAYLOAD_BYTES:
        raise RecordTooLarge(f"a record of {size} bytes is over the limit of {MAX_PAYLOAD_BYTES}")
    return _HEADER.pack(size, crc32(size.to_bytes(4, "big")), crc32(payload)) + payload


def split_frames(data: bytes) -> Frames:
    """The payloads of the whole records at the front of `data`, each with the right checksum."""
    payloads: list[bytes] = []
    at, size = 0, len(data)
    unpack, fault = _HEADER.unpack_from, None
    while size - at >= HEADER_BYTES:
        length, length_crc, payload_crc = unpack(data, at)
        if crc32(data[at : at + 4]) != length_crc or length > MAX_PAYLOAD_BYTES:
            fault = "a damaged header"
            break
        end = at + HEADER_BYTES + length
        if end > size:
            break
        payload = data[at + HEADER_BYTES : end]
        if crc32(payload) != payload_crc:
            fault = "a payload that fails its checksum"
            break
        payloads.append(payload)
        at = end
    return Frames(payloads, at, fault)


def record_end(data: bytes, at: int) -> int | None:
    """Where the record at `at` ends by its header; None when the header is damaged."""
    length, length_crc, _ = _HEADER.unpack_from(data, at)
    if crc32(data[at : at + 4]) != length_crc or length > MAX_PAYLOAD_BYTES:
        return None
    return at + HEADER_BYTES + length


def decode_payload(payload: bytes) -> Record:
    """The record that the payload holds.  Raises ForeignPayload."""
    try:
        shape = orjson.loads(payload)
        version, sequence, synced, event = shape["v"], shape["n"], shape["s"], shape["e"]
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise ForeignPayload("a payload is not a record of this format") from error
    if not (version == VERSION and type(sequence) is type(synced) is int):
        raise ForeignPayload(f"a payload of format version {version!r:.20}, not {VERSION}")
    return sequence, synced, event


def find_record(data: bytes, at: int) -> int:
    """Where, at `at` or later, a record may start; -1 when nowhere in `data`."""
    found = data.find(_PAYLOAD_START, at + HEADER_BYTES)
    return -1 if found < 0 else found - HEADER_BYTES
