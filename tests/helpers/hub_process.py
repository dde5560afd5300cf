"""A process that runs a hub, to be killed: `python -m tests.helpers.hub_process SERVERS`.

SERVERS is a JSON list of objects with the fields of ServerSettings.  It writes `started` at once
and `ready` when every server is connected, and ends with its standard input.
"""

import json
import sys
from pathlib import Path
from typing import Any

from mead.config import Secret, ServerSettings
from mead.mcp.client.hub import Hub
from tests.helpers.waiting import eventually


def main() -> None:
    hub = Hub([settings(one) for one in json.loads(sys.argv[1])])
    hub.start()
    say("started")
    eventually(lambda: all(one.state == "ready" for one in hub.status()), bound_s=60)
    say("ready")
    sys.stdin.read()
    hub.stop()


def say(word: str) -> None:
    sys.stdout.write(word + "\n")
    sys.stdout.flush()


def settings(fields: dict[str, Any]) -> ServerSettings:
    """A stdio server from JSON values."""
    directory = fields.get("directory")
    return ServerSettings(
        transport="stdio",
        name=fields["name"],
        command=fields["command"],
        arguments=tuple(fields["arguments"]),
        environment={key: Secret(text) for key, text in fields["environment"].items()},
        directory=None if directory is None else Path(directory),
    )


if __name__ == "__main__":
    main()
