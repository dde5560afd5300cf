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
from pathlib import Path
from typing import Any, Final, Self

import orjson

from mead.deck.event_index import EventIndex
from mead.deck.event_log import Overtaken, kept_of
from mead.deck.events import Event
from mead.deck.fold import apply
from mead.deck.state import DeckState
from mead.errors import CorruptHistory, PersistenceError
from mead.ids import new_uuid
from mead.storage.event_files import EventFiles
from mead.storage.log import RecordLog
from mead.storage.record_reader import RecordReader

log = logging.getLogger(__name__)

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
_CLOSED: Final = orjson.dumps({"closed": True})


def boot_id() -> str:
    """Names this run of the operating system; empty where it cannot be known."""
    with suppress(OSError):
        return _BOOT_ID.read_text().strip()
    return ""


class _Contents:
    """What the records of a file say, as they are read."""

    def __init__(self) -> None:
        self.state = DeckState()
        self.log_id: str | None = None
        self.events = 0
        self._boot = ""
        self._is_closed = False

    def take(self, record: Any) -> None:
        """The next record.  Raises CorruptHistory when it cannot follow the ones before."""
        try:
            if "type" in record:
                self._event(record)
            elif "opened" in record:
                self._opened(record["opened"])
            elif "closed" in record:
                self._is_closed = True
            else:
                self._head(record["head"])
        except (KeyError, TypeError, ValueError):
            raise CorruptHistory("the event log holds what cannot stand there") from None

    def lost_its_end(self, boot: str) -> bool:
        """Whether clients may have seen events that are not in the file any more."""
        return not self._is_closed and (not boot or self._boot != boot)

    def _event(self, record: Any) -> None:
        if self.log_id is None:
            raise ValueError("an event before the head")
        apply(self.state, Event.decode(record))
        self.events += 1
        self._is_closed = False

    def _opened(self, opened: Any) -> None:
        self.log_id, self._boot = opened["log_id"], opened["boot"]
        self._is_closed = False

    def _head(self, head: Any) -> None:
        if self.log_id is not None:
            raise ValueError("a second head")
        self.log_id, self._boot = head["log_id"], head["boot"]
        self.state = DeckState.restored(head["kept"], head["first_sequence"])


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
        limit: int,
    ) -> None:
        self.durable = True
        self.log_id = log_id
        self._files = files
        self._session_id = session_id
        self._records = records
        self._events = events
        """How many events the file holds."""
        self._limit = limit
        self._generation = 0
        """Counts the files that this log has had: a compaction makes a new one."""
        self._index = EventIndex()
        self._is_sound = True

    @classmethod
    def open(
        cls,
        files: EventFiles,
        session_id: str,
        limit: int,
        *,
        boot: Callable[[], str] = boot_id,
    ) -> tuple[Self, DeckState]:
        """The log and the state that it comes to; a damaged one is set aside for a new one.

        Raises PersistenceError.  Blocks on: disk.
        """
        contents = _Contents()
        try:
            records = files.open(session_id, contents.take)
        except CorruptHistory:
            files.set_aside(session_id)
            records, contents = None, _Contents()
        if records is None:
            records = files.create(session_id)
        # A record names no offset beyond its own start: all is known to be synced only after a cut.
        was_cut = records.synced == records.size > 0
        log_id, now = contents.log_id, boot()
        if log_id is None or was_cut or contents.lost_its_end(now):
            log_id = new_uuid()
        events_log = cls(files, session_id, records, log_id, events=contents.events, limit=limit)
        try:
            events_log._begin(contents, now)
        except BaseException:
            records.close()
            raise
        return events_log, contents.state

    def append(self, events: Sequence[Event], *, sync: bool) -> None:
        policy = self._files.policy.fsync
        sync = policy == "always" or (sync and policy == "turn")
        self._write([event.encode() for event in events], events[0].sequence, sync=sync)
        self._events += len(events)

    def compact(self, state: DeckState) -> None:
        """Only before a prompt.accepted at which nothing ran or waited."""
        if self._events <= self._limit or not state.is_idle or not state.quiet:
            return
        oldest_wanted = state.last_sequence - kept_of(self._limit) + 1
        first = next((each for each in state.quiet if each >= oldest_wanted), state.quiet[-1])
        if first <= state.first_sequence:
            return
        try:
            before, after = self._records.rewrite(self._rewritten(state, first))
        except (PersistenceError, CorruptHistory) as error:
            log.warning("session %s: event log not compacted: %s", self._session_id, error)
            return
        self._events = state.last_sequence - first + 1
        self._generation += 1
        self._index = EventIndex()
        state.forget_before(first)
        log.info(
            "session %s: event log compacted, %d bytes before, %d after",
            self._session_id,
            before,
            after,
        )

    def reader(self, after: int) -> "FileEventReader":
        return FileEventReader(self, after)

    def close(self) -> None:
        if self._is_sound and self._files.policy.syncs_turns:
            with suppress(PersistenceError):  # the next channel then takes it for a crash
                self._records.append_many((_CLOSED,), sync=True)
        self._files.close(self._records)

    # -- for its readers ---------------------------------------------------------------------------

    def place(self, sequence: int) -> tuple[RecordReader, EventIndex, int]:
        """A reader of the present file that starts at or before the event; which file that is."""
        reader = self._files.reader(self._session_id, self._index.before(sequence))
        return reader, self._index, self._generation

    # -- inside ------------------------------------------------------------------------------------

    def _begin(self, contents: _Contents, boot: str) -> None:
        """Say who writes from here on; before anyone is sent an event, so that a crash shows."""
        if contents.log_id is None:
            record = self._head(contents.state, 1, boot)
        else:
            record = orjson.dumps({"opened": {"log_id": self.log_id, "boot": boot}})
        self._records.append_many((record,), sync=self._files.policy.syncs_turns)
        self._files.written(self._records)

    def _head(self, state: DeckState, first_sequence: int, boot: str) -> bytes:
        head = {
            "log_id": self.log_id,
            "first_sequence": first_sequence,
            "boot": boot,
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

    def _rewritten(self, state: DeckState, first: int) -> Iterator[bytes]:
        yield self._head(state, first, boot_id())
        reader = self.reader(first - 1)
        try:
            while events := reader.read(state.last_sequence):
                yield from events
        finally:
            reader.close()


class FileEventReader:
    """See EventReader.  Reads one file to its end, then goes on in the one after a compaction."""

    def __init__(self, events: FileEventLog, after: int) -> None:
        self._events = events
        self._next = after + 1
        self._records, self._index, self._generation = events.place(self._next)
        self._ahead: list[bytes] = []
        """Events that were read before they were asked for, the next one first."""

    @property
    def position(self) -> int:
        return self._next - 1

    def read(self, upto: int) -> Sequence[bytes]:
        while self._next <= upto:
            if not self._ahead and not self._fetch():
                self._change_file()
                continue
            count = min(len(self._ahead), upto - self._next + 1)
            taken, self._ahead = self._ahead[:count], self._ahead[count:]
            self._next += count
            return taken
        return ()

    def close(self) -> None:
        self._records.close()

    def _fetch(self) -> bool:
        """Read on until there are events from `_next` on; False at the end of the file."""
        while found := self._records.read():
            for offset, record in found:
                sequence = record.get("sequence")
                if sequence is None:
                    continue
                self._index.note(sequence, offset)
                if sequence >= self._next:
                    if not self._ahead and sequence > self._next:
                        raise Overtaken
                    self._ahead.append(orjson.dumps(record))
            if self._ahead:
                return True
        return False

    def _change_file(self) -> None:
        """What was asked for is in the file that a compaction made."""
        self._records.close()
        generation = self._generation
        self._records, self._index, self._generation = self._events.place(self._next)
        if self._generation == generation:
            raise CorruptHistory("the event log ends before its last event")
