"""What the channels of one deck have in common."""

from dataclasses import dataclass
from typing import Final

from mead.actors.tasks import TaskSupervisor
from mead.config.settings import DeckSettings
from mead.deck.titles import Titles
from mead.protocols import SessionAPI
from mead.storage.event_files import EventFiles

IDLE_END_MS: Final = 60_000
"""Without socket, turn and queue a channel ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Handed to every channel and every socket."""

    api: SessionAPI
    settings: DeckSettings
    files: EventFiles | None
    """None without a storage directory."""
    titles: Titles
    tasks: TaskSupervisor
    idle_end_ms: float = IDLE_END_MS
