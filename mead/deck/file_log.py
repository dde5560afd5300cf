"""The event log in its file.

Records of the file (the frame of `mead.storage.records` around each):

    {"head":{"log_id":"...","first_sequence":1,"boot":"...","kept":{...}}}    the first, and only it
    {"opened":{"log_id":"...","boot":"..."}}                                  a channel goes on
    {"closed":true}                                                           and has ended in order
    {"type":"...","sequence":1,"at":"...","payload":{...}}                    an event

`kept` is what outlives the events before first_sequence (DeckState.kept).  `boot` names the run of
the operating system: a process that is killed loses nothing of what it wrote, so events can be
missing at the end only after another boot, where the last channel did not close the log (which
syncs it), or where a torn tail was cut.  Then the log gets a new log_id, because clients may have
seen what is lost.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Final, Self

import orjson

from mead.deck.event_index import EventIndex
from mead.deck.event_log import Limits, kept_of
from mead.deck.events import Event
from mead.deck.file_contents import Contents
from mead.deck.file_reader import FileEventReader, Place
from mead.deck.state import DeckState
from mead.errors import CorruptHistory, PersistenceError
from mead.ids import new_uuid
from mead.storage.event_files import EventFiles
from mead.storage.log import RecordLog

log = logging.getLogger(__name__)

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
_CLOSED: Final = orjson.dumps({"closed": True})


def boot_id() -> str:
    """Names this run of the operating system; empty where it cannot be known."""
    with suppress(OSError):
        return _BOOT_ID.read_text().strip()
    return ""


class FileEventLog:
    """See EventLog."""

    def __init__(
        self,
        files: EventFiles,
        session_id: str,
        records: RecordLog,
        log_id: str,
        *,
        events: int,
        limits: Limits,
        boot: str,
    ) -> None:
        self.durable = True
        self.log_id = log_id
        self._boot = boot
        self._files = files
        self._session_id = session_id
        self._records = records
        self._events = events
        """How many events the file holds."""
        self._limits = limits
        self._generation = 0
        """Counts the files that this log has had: a compaction makes a new one."""
        self._index = EventIndex()
        self._is_moving = False
        """Whether a compaction is under way: which file has the log's name is not known then."""
        self._is_sound = True

    @classmethod
    def open(
        cls,
        files: EventFiles,
        session_id: str,
        limits: Limits,
        *,
        boot: Callable[[], str] = boot_id,
    ) -> tuple[Self, DeckState]:
        """The log and the state that it comes to; a damaged one is set aside for a new one.

        Raises PersistenceError.  Blocks on: disk.
        """
        contents = Contents()
        try:
            records = files.open(session_id, contents.take)
        except CorruptHistory:
            files.set_aside(session_id)
            records, contents = None, Contents()
        if records is None:
            records = files.create(session_id)
        # A record names no offset beyond its own start: all is known to be synced only after a cut.
        was_cut = records.synced == records.size > 0
        log_id, now = contents.log_id, boot()
        if log_id is None or was_cut or contents.lost_its_end(now):
            log_id = new_uuid()
        events_log = cls(
            files, session_id, records, log_id, events=contents.events, limits=limits, boot=now
        )
        try:
            events_log._begin(contents)
        except BaseException:
            records.close()
            raise
        return events_log, contents.state

    def append(self, events: Sequence[Event], *, sync: bool) -> Sequence[bytes]:
        policy = self._files.policy.fsync
        sync = policy == "always" or (sync and policy == "turn")
        encoded = [event.encode() for event in events]
        self._write(encoded, events[0].sequence, sync=sync)
        self._events += len(events)
        return encoded

    @property
    def is_full(self) -> bool:
        return self._records.size > self._limits.bytes

    def compact(self, state: DeckState) -> None:
        """Only before a prompt.accepted at which nothing ran or waited.

        Too many events wait until nothing runs or waits again; too many bytes do not.
        """
        is_due = self.is_full or (state.is_idle and self._events > self._limits.events)
        if not is_due or not state.quiet or state.quiet[-1] <= state.first_sequence:
            return
        try:
            first = self._cut(state)
            before, after = self._move(state, first)
        except (PersistenceError, CorruptHistory) as error:
            log.warning("session %s: event log not compacted: %s", self._session_id, error)
            return
        self._events = state.last_sequence - first + 1
        state.forget_before(first)
        log.info(
            "session %s: event log compacted, %d bytes before, %d after",
            self._session_id,
            before,
            after,
        )

    def reader(self, after: int) -> "FileEventReader":
        return FileEventReader(self._place, after)

    def close(self) -> None:
        was_sound, self._is_sound = self._is_sound, False  # a second close says nothing more
        if was_sound and self._files.policy.syncs_turns:
            with suppress(PersistenceError):  # the next channel then takes it for a crash
                self._records.append_many((_CLOSED,), sync=True)
        self._files.close(self._records)

    # -- inside ------------------------------------------------------------------------------------

    def _place(self, sequence: int) -> Place:
        index = EventIndex() if self._is_moving else self._index
        reader = self._files.reader(self._session_id, index.before(sequence))
        return reader, index, self._generation

    def _move(self, state: DeckState, first: int) -> tuple[int, int]:
        """Put the events from `first` on into a new file.  Raises as `RecordLog.rewrite`."""
        here = self._place(first)
        kept = _drained(FileEventReader(lambda _: here, first - 1), state.last_sequence)
        self._is_moving = True
        try:
            return self._records.rewrite(chain((self._head(state, first),), kept))
        finally:
            # Also where it failed: the old file may be gone even so.
            self._is_moving = False
            self._index = EventIndex()
            self._generation += 1

    def _cut(self, state: DeckState) -> int:
        """The prompt.accepted before which the log is cut.  Raises as an EventReader."""
        oldest = state.last_sequence - kept_of(self._limits.events) + 1
        oldest = max(oldest, state.first_sequence + 1)
        wanted = [each for each in state.quiet if each >= oldest]
        if self.is_full and wanted:
            sizes = self._sizes(wanted, state)
            wanted = [each for each in wanted if sizes[each] <= kept_of(self._limits.bytes)]
        return wanted[0] if wanted else state.quiet[-1]

    def _sizes(self, sequences: Sequence[int], state: DeckState) -> dict[int, int]:
        """The bytes of all events from each of these on."""
        before, size = dict.fromkeys(sequences, 0), 0
        events = _drained(self.reader(sequences[0] - 1), state.last_sequence)
        for sequence, event in enumerate(events, start=sequences[0]):
            if sequence in before:
                before[sequence] = size
            size += len(event)
        return {sequence: size - passed for sequence, passed in before.items()}

    def _begin(self, contents: Contents) -> None:
        """Say who writes from here on; before anyone is sent an event, so that a crash shows."""
        if contents.log_id is None:
            record = self._head(contents.state, 1)
        else:
            record = orjson.dumps({"opened": {"log_id": self.log_id, "boot": self._boot}})
        self._records.append_many((record,), sync=self._files.policy.syncs_turns)
        self._files.written(self._records)

    def _head(self, state: DeckState, first_sequence: int) -> bytes:
        head = {
            "log_id": self.log_id,
            "first_sequence": first_sequence,
            "boot": self._boot,
            "kept": state.kept(first_sequence),
        }
        return orjson.dumps({"head": head})

    def _write(self, events: Sequence[bytes], sequence: int, *, sync: bool) -> None:
        try:
            if len(events) == 1:
                offset = self._records.append(events[0], sync=sync)
            else:
                offset = self._records.append_many(events, sync=sync)
        except PersistenceError:
            self._is_sound = False
            raise
        self._index.note(sequence, offset)
        self._files.written(self._records)


def _drained(reader: FileEventReader, upto: int) -> Iterator[bytes]:
    """What it gives, up to that sequence; it is closed then."""
    try:
        while events := reader.read(upto):
            yield from events
    finally:
        reader.close()
