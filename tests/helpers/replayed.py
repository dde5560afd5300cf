"""A provider in front of a replay server, as the fixtures of its tests hand it out."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mead.errors import TurnFailed
from tests.helpers.model_words import options
from tests.helpers.replay_server import ReplayServer, Reply


def replaying(build: Callable[[Any], Any], path: str = "") -> Iterator[Callable[..., Any]]:
    """Gives a function that starts a server with its replies, and returns it with a provider.

    Changes to the provider's options are keyword arguments.  Everything is closed at the end.
    """
    closing: list[Callable[[], object]] = []

    def start(*replies: Reply, **changes: Any) -> tuple[ReplayServer, Any]:
        server = ReplayServer(*replies)
        provider = build(options(base_url=server.url + path, **changes))
        closing.extend([provider.close, server.__exit__])
        return server, provider

    yield start
    for close in closing:
        close()


def failure(call: Callable[..., object], *arguments: object) -> TurnFailed:
    """How the call fails."""
    with pytest.raises(TurnFailed) as failed:
        call(*arguments)
    return failed.value
