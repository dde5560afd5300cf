"""One tool call on one line: the request, and the rounds in which a modern server wants more first.

A server may answer that it needs input (`input_required`) and wants the same call again with it, or
after a pause.  Mead declared no such ability, so what a person would be asked is declined; the call
then goes on as its server decides.
"""

from collections.abc import Mapping
from typing import Any, Final

from mead.actors.green import sleep_ms
from mead.mcp.client.catalog import Line
from mead.mcp.client.deadline import Deadline
from mead.mcp.client.faults import ServerFault
from mead.mcp.client.results import outcome
from mead.mcp.jsonrpc import object_or_empty
from mead.protocols import ToolOutcome

MAXIMUM_ROUNDS: Final = 10
"""As the official clients."""

_PAUSE_MS: Final = 50
"""Before a call that only its state is sent with again."""

_DECLINED: Final[Mapping[str, str]] = {"action": "decline"}


def call(line: Line, tool: str, arguments: Mapping[str, Any], deadline: Deadline) -> ToolOutcome:
    """What the tool answered.  Raises ServerFault.  Blocks on: the server, until the deadline."""
    headers = line.offers[tool].headers(arguments)
    own: Mapping[str, Any] = {"name": tool, "arguments": arguments}
    params = own
    for _ in range(MAXIMUM_ROUNDS):
        result = line.peer.request(
            "tools/call", params, timeout_ms=deadline.left_ms(), headers=headers
        )
        if result.get("resultType") != "input_required":
            return outcome(result)
        params = {**own, **_more(result)}
        if "inputResponses" not in params:
            sleep_ms(min(_PAUSE_MS, deadline.left_ms()))
    raise ServerFault("input_required", "the tool asks for input again and again")


def _more(result: Mapping[str, Any]) -> dict[str, Any]:
    """What the same call is sent again with.  Raises ServerFault for what cannot be declined."""
    more: dict[str, Any] = {}
    if "requestState" in result:
        more["requestState"] = result["requestState"]  # opaque: as it came
    requests = object_or_empty(result.get("inputRequests"))
    if requests:
        if any(object_or_empty(one).get("method") != _ASKS_A_PERSON for one in requests.values()):
            raise ServerFault("input_required", "the tool wants input that Mead cannot give")
        more["inputResponses"] = dict.fromkeys(requests, _DECLINED)
    return more


_ASKS_A_PERSON: Final = "elicitation/create"
