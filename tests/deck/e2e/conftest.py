"""Real gunicorns with a deck."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.deck.e2e.client import Client
from tests.helpers.server import DECK_TOKEN, MCP_TOKEN, Server, running

MakeServer = Callable[..., Server]


def deck_toml(
    store: Path | None = None, *, storage: str = "", listener: str = "", **deck: Any
) -> str:
    """A mead.toml with both tokens and the playing handler."""
    kept = "" if store is None else f'[storage]\ndirectory = "{store}"\n{storage}\n'
    lines = "\n".join(f"{name} = {value!r}".replace("'", '"') for name, value in deck.items())
    return f"""
[runtime]
turn_handler = "player"
handlers = {{ player = "tests.deck.e2e.player:Player" }}
{kept}
[mcp_server]
token = "{MCP_TOKEN}"
{listener}
[deck]
token = "{DECK_TOKEN}"
{lines}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[Server]:
    """A server with storage that a module's tests share, each in conversations of its own."""
    directory = tmp_path_factory.mktemp("deck")
    with running(Server(directory, deck_toml(directory / "store"))) as server:
        yield server


@pytest.fixture
def make_server(tmp_path) -> Iterator[MakeServer]:
    """`make_server(*arguments, stored=True, **deck settings)`: a server of the test's own."""
    with ExitStack() as held:

        def make(*arguments: str, stored: bool = True, **options: Any) -> Server:
            toml = deck_toml(tmp_path / "store" if stored else None, **options)
            return held.enter_context(running(Server(tmp_path, toml), *arguments))

        yield make


@pytest.fixture
def arrive() -> Iterator[Callable[..., Client]]:
    """`arrive(server, session_id, name)`: a device that has resumed; it leaves after the test."""
    with ExitStack() as held:

        def come(server: Server, session_id: str | None = None, name: str = "phone") -> Client:
            return held.enter_context(Client(server, session_id, name).come())

        yield come
