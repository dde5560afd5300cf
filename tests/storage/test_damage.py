"""Damage of every kind: a correct prefix or `corrupt`, never a wrong event, never an exception."""

import random
from binascii import crc32

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.storage.damage import Misplaced, Scanner, Verdict
from mead.storage.records import encode_record
from tests.storage.conversation import is_prefix, read_all
from tests.storage.rules import judge

STEPS = (1, 7, 512, 4096)
"""Sizes of the pieces that a log is fed in."""


def log_of(sizes: list[int], lags: list[int] | None = None) -> bytes:
    """A log of events of these sizes; each names as synced the end of the record `lag` before."""
    data = b""
    ends = [0]
    synced = 0
    for number, size in enumerate(sizes):
        lag = lags[number % len(lags)] if lags else 0
        synced = max(synced, ends[max(0, len(ends) - 1 - lag)])
        data += encode_record(number + 1, synced, orjson.dumps(f"{number}:" + "x" * size))
        ends.append(len(data))
    return data


SYNCED = log_of([20, 300, 0, 5, 700, 20])
"""Every record was synced before the next was written, as `turn` and `always` do."""

UNSYNCED = log_of([20, 300, 0, 5, 700, 20], lags=[9])
"""Nothing was ever synced, as `never` does."""

MIXED = log_of([20, 300, 0, 5, 700, 20, 40], lags=[0, 1, 2])


@pytest.fixture(params=[SYNCED, UNSYNCED, MIXED], ids=["synced", "unsynced", "mixed"])
def log(request) -> bytes:
    return request.param


def check(data: bytes, original: list[object]) -> Verdict:
    """The verdict agrees with the rules as written, and no event is wrong."""
    events, verdict = read_all(data)
    expected, corrupt = judge(data)
    assert verdict.corrupt is corrupt
    assert is_prefix(events, original)
    assert events == expected
    assert verdict.size == len(data)
    assert (verdict.fault is None) == (verdict.cut == 0)
    return verdict


@pytest.mark.spec("storage.every-cut")
def test_a_log_cut_at_any_byte_keeps_every_whole_record(log) -> None:
    original, _ = read_all(log)
    for size in range(len(log)):
        verdict = check(log[:size], original)
        assert not verdict.corrupt


@pytest.mark.spec("storage.every-flip")
def test_a_log_with_any_byte_changed_gives_a_prefix_or_is_corrupt(log) -> None:
    original, _ = read_all(log)
    for place in range(len(log)):
        for change in (1 << place % 8, 0xFF):
            damaged = bytearray(log)
            damaged[place] ^= change
            check(bytes(damaged), original)


def test_a_changed_byte_below_what_was_synced_is_corrupt() -> None:
    _, whole = read_all(SYNCED)
    for place in range(whole.synced):
        damaged = bytearray(SYNCED)
        damaged[place] ^= 0x10
        assert read_all(bytes(damaged))[1].corrupt


def test_a_changed_byte_in_the_last_record_costs_that_record_alone() -> None:
    original, whole = read_all(SYNCED)
    for place in range(whole.synced, len(SYNCED)):
        damaged = bytearray(SYNCED)
        damaged[place] ^= 0x10
        events, verdict = read_all(bytes(damaged))
        assert not verdict.corrupt
        assert events == original[:-1]


@pytest.mark.spec("storage.zero-tails")
def test_zeros_of_every_length_behind_a_log_are_a_torn_tail(log) -> None:
    original, _ = read_all(log)
    for count in range(4097):
        events, verdict = read_all(log + bytes(count))
        assert events == original
        assert not verdict.corrupt
        assert verdict.cut == count


def test_zeros_from_any_byte_to_the_end_are_a_torn_tail_or_corrupt(log) -> None:
    original, _ = read_all(log)
    for start in range(len(log)):
        check(log[:start] + bytes(len(log) - start), original)


def test_a_log_of_zeros_alone_is_an_empty_one() -> None:
    events, verdict = read_all(bytes(4096))
    assert (events, verdict.corrupt, verdict.cut) == ([], False, 4096)


def test_the_size_of_the_pieces_changes_nothing(log) -> None:
    chance = random.Random(3)
    for _ in range(40):
        damaged = bytearray(log)
        damaged[chance.randrange(len(log))] ^= 1 << chance.randrange(8)
        whole = read_all(bytes(damaged))
        for step in STEPS:
            assert read_all(bytes(damaged), step) == whole


# -- records in the wrong place ------------------------------------------------------------------


def records_of(log: bytes) -> list[bytes]:
    """The records of a whole log."""
    pieces = []
    at = 0
    while at < len(log):
        end = at + 12 + int.from_bytes(log[at : at + 4], "big")
        pieces.append(log[at:end])
        at = end
    return pieces


@pytest.mark.spec("storage.splices")
def test_a_duplicate_a_gap_or_an_exchange_is_corrupt_anywhere(log) -> None:
    pieces = records_of(log)
    for place in range(len(pieces)):
        duplicate = [*pieces[: place + 1], *pieces[place:]]
        assert read_all(b"".join(duplicate))[1].corrupt
    for place in range(len(pieces) - 1):
        gap = pieces[:place] + pieces[place + 1 :]
        assert read_all(b"".join(gap))[1].corrupt
        exchanged = [*pieces[:place], pieces[place + 1], pieces[place], *pieces[place + 2 :]]
        assert read_all(b"".join(exchanged))[1].corrupt


def test_records_of_another_log_behind_the_beginning_of_this_one_are_corrupt() -> None:
    ours, theirs = records_of(SYNCED), records_of(log_of([21, 301, 1, 6, 701, 21]))
    for place in range(1, len(ours)):
        verdict = read_all(b"".join([*ours[:place], *theirs[place:]]))[1]
        assert verdict.corrupt
        assert verdict.fault is not None


def test_a_record_that_names_an_offset_it_cannot_know_is_corrupt() -> None:
    first = encode_record(1, 0, b"1")
    for synced in (1, len(first) - 1, len(first) + 1, 2**40, -1):
        assert read_all(first + encode_record(2, synced, b"2"))[1].corrupt


def test_a_synced_offset_never_goes_back() -> None:
    first = encode_record(1, 0, b"1")
    second = encode_record(2, len(first), b"2")
    assert read_all(first + second + encode_record(3, 0, b"3"))[1].corrupt


def test_a_newer_format_is_refused_and_not_cut() -> None:
    payload = b'{"v":2,"n":2,"s":0,"e":{}}'
    newer = encode_record(1, 0, b"1").replace(b'{"v":1,"n":1,"s":0,"e":1}', payload)
    assert read_all(newer)[1].fault == "a payload that fails its checksum"
    length = len(payload).to_bytes(4, "big")
    whole = length + crc32(length).to_bytes(4, "big") + crc32(payload).to_bytes(4, "big") + payload
    verdict = read_all(encode_record(1, 0, b"1") + whole)[1]
    assert verdict.corrupt
    assert verdict.fault == "a payload of format version 2, not 1"


# -- anything at all ------------------------------------------------------------------------------


@st.composite
def damaged_logs(draw) -> tuple[bytes, bytes]:
    """A log, and the same log after up to three mishaps."""
    sizes = draw(st.lists(st.integers(0, 90) | st.integers(400, 600), min_size=1, max_size=8))
    lags = draw(st.lists(st.integers(0, 3) | st.just(99), min_size=1, max_size=4))
    log = log_of(sizes, lags)
    data = bytearray(log)
    for _ in range(draw(st.integers(1, 3))):
        if not data:
            break
        start = draw(st.integers(0, len(data) - 1))
        end = draw(st.integers(start, len(data)))
        match draw(st.sampled_from(["flip", "zero", "cut", "remove", "insert", "noise", "copy"])):
            case "flip":
                data[start] ^= draw(st.integers(1, 255))
            case "zero":
                data[start:end] = bytes(end - start)
            case "cut":
                del data[start:]
            case "remove":
                del data[start:end]
            case "insert":
                data[start:start] = draw(st.binary(max_size=30))
            case "noise":
                data[start:end] = random.Random(start).randbytes(end - start)
            case _:
                data[start:start] = data[start:end]
    return log, bytes(data)


@given(damaged_logs(), st.sampled_from(STEPS))
def test_any_damage_is_judged_as_the_rules_say(logs, step) -> None:
    log, damaged = logs
    original, _ = read_all(log)
    check(damaged, original)
    assert read_all(damaged, step) == read_all(damaged)


@given(st.binary(max_size=2000))
def test_any_bytes_are_read_without_an_exception(data) -> None:
    events, verdict = read_all(data)
    assert events == [] or verdict.valid > 0


# -- the same checks, on rules that are weaker -----------------------------------------------------


class CutsEverything(Scanner):
    """Takes every fault for a torn tail."""

    def finish(self) -> Verdict:
        found = super().finish()
        return Verdict(
            size=found.size,
            valid=found.valid,
            records=found.records,
            synced=found.synced,
            fault=found.fault,
        )


class IgnoresTheSequence(Scanner):
    """Takes whole records wherever they stand."""

    def _place(self, sequence: int, synced: int, end: int) -> None:
        try:
            super()._place(sequence, synced, end)
        except Misplaced:
            self._records += 1


class SkipsTheChecksum(Scanner):
    """Believes every payload that parses."""

    def _read(self, data: bytes) -> int:
        at = 0
        while len(data) - at >= 12:
            end = at + 12 + int.from_bytes(data[at : at + 4], "big")
            try:
                shape = orjson.loads(data[at + 12 : end])
                self._on_event(shape["e"])
            except (ValueError, KeyError, TypeError):
                self._fault = "no JSON"
                break
            at = end
        return at


def faults_seen(kind: type[Scanner]) -> set[str]:
    """Which of the checks above notice that this scanner is not the right one."""
    seen = set()
    original, whole = read_all(SYNCED)
    for place in range(len(SYNCED)):
        damaged = bytearray(SYNCED)
        damaged[place] ^= 1
        events, verdict = read_all(bytes(damaged), kind=kind)
        if not is_prefix(events, original):
            seen.add("a wrong event")
        if place < whole.synced and not verdict.corrupt:
            seen.add("a hole that is not corrupt")
    pieces = records_of(SYNCED)
    if not read_all(b"".join(pieces[1:]), kind=kind)[1].corrupt:
        seen.add("a gap that is not corrupt")
    return seen


def test_the_checks_see_weakened_rules() -> None:
    assert faults_seen(Scanner) == set()
    assert "a hole that is not corrupt" in faults_seen(CutsEverything)
    assert faults_seen(IgnoresTheSequence) == {"a gap that is not corrupt"}
    assert "a wrong event" in faults_seen(SkipsTheChecksum)
