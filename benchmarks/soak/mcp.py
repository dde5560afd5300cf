"""A program that talks MCP to Mead, over one connection that is kept or one for each call."""

import json
from collections.abc import Iterator
from typing import Any, Self

import requests

from tests.helpers.mcp_messages import call
from tests.helpers.server import MCP_TOKEN, Server

HEADERS = {"Authorization": f"Bearer {MCP_TOKEN}", "Content-Type": "application/json"}
TIMEOUT_S = 60


class Refused(Exception):
    """The tool said `isError`; the text is the exception's."""


class Mcp:
    """A context manager; used from one greenlet."""

    def __init__(self, server: Server) -> None:
        self._url = server.url("/mcp")
        self._http = requests.Session()
        self._http.trust_env = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def use(self, name: str, **arguments: Any) -> dict[str, Any]:
        """What a tool answers.  Raises Refused."""
        answer = self._http.post(
            self._url, data=json.dumps(call(name, arguments)), headers=HEADERS, timeout=TIMEOUT_S
        )
        return _result(answer.json())

    def turn(self, session_id: str, text: str, **more: Any) -> str:
        """The output of a turn, or what it failed with."""
        try:
            return self.use("submit_turn", session_id=session_id, input=text, **more)["output"]
        except Refused as refused:
            return str(refused)

    def watched(self, session_id: str, text: str) -> Iterator[dict[str, Any]]:
        """The messages of a turn whose progress is shown; the result is the last one."""
        arguments = {"session_id": session_id, "input": text}
        message = call("submit_turn", arguments, _meta={"progressToken": "p"})
        answer = self._http.post(
            self._url,
            data=json.dumps(message),
            headers={**HEADERS, "Accept": "application/json, text/event-stream"},
            timeout=TIMEOUT_S,
            stream=True,
        )
        with answer:
            for line in answer.iter_lines():
                if line.startswith(b"data: "):
                    yield json.loads(line[6:])


def _result(message: dict[str, Any]) -> dict[str, Any]:
    result = message["result"]
    if result["isError"]:
        raise Refused(result["content"][0]["text"])
    return result["structuredContent"]
