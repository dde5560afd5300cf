"""The state of a conversation's deck: a fold of its events.  Pure.

`mead.deck.fold` changes it.  Source: SPEC section 8.
"""

from collections.abc import Mapping
from typing import Any, Self

from mead.config.settings import PolicyLevel
from mead.deck.entries import Known, Prompt, Request, RunningTurn


class DeckState:
    """What every device is shown, and what decides about its frames."""

    def __init__(self) -> None:
        self.first_sequence = 1
        """The oldest event that a replay can start from."""
        self.last_sequence = 0
        self.last_at: str | None = None
        self.policy_level: PolicyLevel | None = None
        """What a person set; None is the configured default."""
        self.remembered: set[str] = set()
        """Tools that are always allowed, as `server__tool`."""
        self.title: str | None = None
        self.turn: RunningTurn | None = None
        self.queue: dict[str, Prompt] = {}
        """The prompts that wait, by turn_id, in their order."""
        self.pending: dict[str, Request] = {}
        self.resolved: dict[str, int] = {}
        """Which event resolved a request."""
        self.known: dict[str, Known] = {}
        self.quiet: list[int] = []
        """The sequence of each prompt.accepted before which nothing ran or waited."""

    # -- questions ---------------------------------------------------------------------------------

    @property
    def is_idle(self) -> bool:
        """Whether no turn runs and none waits."""
        return self.turn is None and not self.queue

    @property
    def open_prompts(self) -> list[Prompt]:
        """The prompt that runs and those that wait, in their order."""
        running = [] if self.turn is None else [self.turn.prompt]
        return [*running, *self.queue.values()]

    def known_turn(self, turn_id: str) -> Known | None:
        """What is known of the prompt with that turn."""
        for known in reversed(self.known.values()):
            if known.turn_id == turn_id:
                return known
        return None

    # -- keeping a part of it ----------------------------------------------------------------------

    def kept(self, first_sequence: int) -> dict[str, Any]:
        """What must outlive the events before `first_sequence`, as JSON values."""
        return {
            "policy_level": self.policy_level,
            "remembered": sorted(self.remembered),
            "title": self.title,
            "known": [
                [id_, known.turn_id, known.accepted, known.ending]
                for id_, known in self.known.items()
                if known.accepted < first_sequence
            ],
        }

    @classmethod
    def restored(cls, kept: Mapping[str, Any], first_sequence: int) -> Self:
        """The state before the event `first_sequence`, of which only `kept` is left."""
        state = cls()
        state.first_sequence = first_sequence
        state.last_sequence = first_sequence - 1
        state.policy_level = kept["policy_level"]
        state.remembered = set(kept["remembered"])
        state.title = kept["title"]
        for id_, turn_id, accepted, ending in kept["known"]:
            state.known[id_] = Known(turn_id, accepted, ending, is_started=True)
        return state

    def forget_before(self, first_sequence: int) -> None:
        """The log begins there now."""
        self.first_sequence = first_sequence
        self.quiet = [each for each in self.quiet if each >= first_sequence]
        self.resolved = {
            id_: sequence for id_, sequence in self.resolved.items() if sequence >= first_sequence
        }
