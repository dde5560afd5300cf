"""The real application over a runtime that runs, for the deck's routes without a server."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flask.testing import FlaskClient

from mead.api import Mead
from mead.config import Settings
from tests.helpers.server import DECK_TOKEN, MCP_TOKEN
from wsgi import create_app

KEY = {"Authorization": f"Bearer {DECK_TOKEN}"}


class Page:
    """What a page does: asks with the deck token, unless told otherwise."""

    def __init__(self, mead: Mead, client: FlaskClient) -> None:
        self.mead = mead
        self.client = client

    def ask(self, method: str, path: str, *, token: str | None = DECK_TOKEN, **options: Any) -> Any:
        headers = {"Host": "localhost", **options.pop("headers", {})}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        return self.client.open(f"/deck/{path}", method=method, headers=headers, **options)

    def get(self, path: str, **options: Any) -> Any:
        return self.ask("GET", path, **options)

    def post(self, path: str, **options: Any) -> Any:
        return self.ask("POST", path, **options)

    def conversation(self, *prompts: str) -> str:
        """A conversation that runs, with these turns."""
        session_id = self.mead.start_session()
        for prompt in prompts:
            self.mead.submit_turn(session_id, prompt)
        return session_id


@contextmanager
def page(directory: Path | None = None, **sections: dict[str, Any]) -> Iterator[Page]:
    """An application with both tokens, and its runtime."""
    values: dict[str, dict[str, Any]] = {name: dict(each) for name, each in sections.items()}
    values.setdefault("mcp_server", {})["token"] = MCP_TOKEN
    values.setdefault("deck", {})["token"] = DECK_TOKEN
    if directory is not None:
        values["storage"] = {"directory": str(directory)}
    settings = Settings.build(values, environ={})
    with Mead(settings) as mead:
        app = create_app(settings, mead)
        yield Page(mead, app.test_client())
