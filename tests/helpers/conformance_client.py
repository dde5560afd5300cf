"""The client that the official conformance suite drives: Mead's hub, told by environment and URL.

`python -m tests.helpers.conformance_client URL`; ends with 0 when the scenario's steps were taken.
The suite names the tools in its own sources; a hub calls only tools that it was granted by name.
"""

from gevent import monkey

monkey.patch_all()  # before anything else is imported

# ruff: noqa: E402, T201 - the first lines patch; what happens is told on stderr

import json
import os
import sys
from typing import Any, Final

from mead.config import ServerSettings
from mead.mcp.client.hub import Hub
from tests.helpers.waiting import eventually

Step = tuple[str, dict[str, Any]]

STEPS: Final[dict[str, list[Step]]] = {
    "tools_call": [("add_numbers", {"a": 5, "b": 3})],
    "sse-retry": [("test_reconnection", {})],
    "http-standard-headers": [("test_headers", {})],
    "http-invalid-tool-headers": [("valid_tool", {"region": "us-west1"})],
    "json-schema-2020-12-preservation": [
        ("json_schema_2020_12_tool", {}),
        ("json_schema_echo", {}),
    ],
    "sep-2322-client-request-state": [
        ("test_mrtr_echo_state", {}),
        ("test_mrtr_unrelated", {}),
        ("test_mrtr_no_state", {}),
        ("test_mrtr_no_result_type", {}),
    ],
}


def main() -> None:
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    steps = STEPS.get(scenario, [])
    steps += [(one["name"], one.get("arguments", {})) for one in context.get("toolCalls", [])]
    server = ServerSettings(
        name="suite",
        transport="http",
        url=sys.argv[-1],
        tools={name: "read" for name, _ in steps},
    )
    hub = Hub([server])
    hub.start()
    try:
        eventually(lambda: hub.status()[0].state == "ready", bound_s=20)
        print(hub.status()[0], file=sys.stderr)
        for name, arguments in steps:
            take(hub, name, arguments)
    finally:
        hub.stop()


def take(hub: Hub, name: str, arguments: dict[str, Any]) -> None:
    """Call the tool; the echo wants the schema of its neighbour, as a model would see it."""
    if name == "json_schema_echo":
        arguments = {"schema": dict(hub.tools_for(None)[0].schema)}
    print(name, hub.call_tool(f"suite__{name}", arguments, None), file=sys.stderr)


if __name__ == "__main__":
    main()
