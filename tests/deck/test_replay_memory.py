"""What a device that does not read costs while it is sent what it missed."""

import tracemalloc

from mead.deck import builders
from mead.deck.event_log import Limits
from mead.deck.file_log import FileEventLog
from mead.ids import new_session_id, new_uuid
from mead.storage.disk import RealDisk
from mead.storage.event_files import EventFiles
from mead.storage.syncer import Syncer
from mead.storage.turn_log import WritePolicy
from tests.deck.story import numbered

EVENTS = 2000


def test_a_batch_of_a_replay_takes_the_memory_of_its_bytes(tmp_path):
    disk, turn = RealDisk(), new_uuid()
    policy = WritePolicy(fsync="never", compact_after_bytes=1)
    files = EventFiles(disk, tmp_path, policy, Syncer(3_600_000))
    log, _ = FileEventLog.open(files, new_session_id(), Limits(EVENTS, 10**8))
    log.append(numbered(builders.text_deltas(turn, "a word") * EVENTS), sync=False)
    reader = log.reader(0)
    tracemalloc.start()
    try:
        batch = reader.read(EVENTS)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    sent = sum(map(len, batch))
    assert sent > 50_000
    assert held < 5 * sent  # the rest: a chunk of the file, a thread
    reader.close()
    log.close()
    disk.close()
