"""The dispatcher: one message in, one answer out, in either era.  Pure: only the tools act.

Theory of operation.  A body becomes a message; a message that is no request is accepted with 202.
A request's revision decides its era, the era its methods and how answers look.  A call whose caller
wants to see it grow is handed back as a WatchedCall instead of an answer: whoever owns the
connection runs it.  Source: seed A7, SPEC section 6, MCP.md section 2.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import orjson

from mead.mcp import jsonrpc
from mead.mcp.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    Error,
    Failure,
    Id,
    Malformed,
    Notification,
    Request,
    Response,
    object_or_empty,
)
from mead.mcp.server.envelope import Incoming, Refused, check_capabilities, check_version, era_of
from mead.mcp.server.revisions import LEGACY, LEGACY_ERA, META, MODERN, MODERN_ERA, Era, server_info
from mead.mcp.server.tool import ServerTool, ToolFault, ToolResult, Watch, plain

log = logging.getLogger(__name__)

ProgressToken = str | int | float

_CAPABILITIES: Final[Mapping[str, Any]] = {"tools": {}}
_INTERNAL: Final = Error(INTERNAL_ERROR, "internal error")


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: an HTTP status, and a JSON-RPC message or nothing."""

    status: int
    body: bytes = b""


ACCEPTED: Final = Reply(202)


class Dispatcher:
    """Answers MCP messages with a fixed list of tools, in their order."""

    def __init__(self, tools: Sequence[ServerTool], instructions: str) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._definitions = orjson.Fragment(orjson.dumps([tool.definition() for tool in tools]))
        self._instructions = instructions
        self._legacy: Mapping[str, _Method] = {
            "initialize": self._initialize,
            "ping": _ping,
            "tools/list": self._list_tools,
        }
        self._modern: Mapping[str, _Method] = {
            "server/discover": self._discover,
            "tools/list": self._list_tools,
        }

    def answer(self, incoming: Incoming) -> "Reply | WatchedCall":
        """The answer to a POST.

        Blocks on: what the called tool blocks on.
        """
        id_: Id | None = None
        try:
            message = jsonrpc.decode(incoming.body)
            if not isinstance(message, Request):
                check_version(incoming)
                return ACCEPTED
            id_ = message.id
            return self._request(message, era_of(message, incoming), incoming.takes_events)
        except Malformed as fault:
            return Reply(400, jsonrpc.encode(Failure(None, Error(fault.code, fault.message))))
        except Refused as refused:
            return Reply(refused.status, jsonrpc.encode(Failure(id_, refused.error)))
        except Exception as error:  # noqa: BLE001 - a bug: its text may hold anything
            log.error("a bug in an MCP request: %s", type(error).__name__)
            return Reply(500, jsonrpc.encode(Failure(id_, _INTERNAL)))

    # -- methods -----------------------------------------------------------------------------------

    def _request(self, request: Request, era: Era, takes_events: bool) -> "Reply | WatchedCall":
        if request.method == "tools/call":
            call = self._call(request, era)
            return call if takes_events and call.can_be_watched else Reply(200, call.run(None))
        methods = self._legacy if era is LEGACY_ERA else self._modern
        method = methods.get(request.method)
        if method is None:
            raise _refused(era, METHOD_NOT_FOUND, "there is no such method")
        result = {**method(_params(request, era), era), **era.stamp}
        return Reply(200, jsonrpc.encode(Response(request.id, result)))

    def _initialize(self, params: Mapping[str, Any], era: Era) -> dict[str, Any]:
        del era
        asked = params.get("protocolVersion")
        return {
            "protocolVersion": asked if asked in LEGACY else LEGACY[-1],
            "capabilities": _CAPABILITIES,
            "serverInfo": dict(server_info()),
            "instructions": self._instructions,
        }

    def _discover(self, params: Mapping[str, Any], era: Era) -> dict[str, Any]:
        del params
        return {
            "supportedVersions": MODERN,
            "capabilities": _CAPABILITIES,
            "instructions": self._instructions,
            **era.list_stamp,
        }

    def _list_tools(self, params: Mapping[str, Any], era: Era) -> dict[str, Any]:
        if params.get("cursor") is not None:
            raise _refused(era, INVALID_PARAMS, "cursor: the list of tools has one page")
        return {"tools": self._definitions, **era.list_stamp}

    def _call(self, request: Request, era: Era) -> "WatchedCall":
        params = _params(request, era)
        name, arguments = params.get("name"), params.get("arguments")
        if not isinstance(name, str):
            raise _refused(era, INVALID_PARAMS, "params.name must be the name of a tool")
        if arguments is not None and not isinstance(arguments, dict):
            raise _refused(era, INVALID_PARAMS, "params.arguments must be an object")
        tool = self._tools.get(name)
        if tool is None:
            raise _refused(era, INVALID_PARAMS, "there is no such tool")
        if era is MODERN_ERA:
            check_capabilities(request, tool.needs)
        token = object_or_empty(params.get(META)).get("progressToken")
        if token is not None and (isinstance(token, bool) or not isinstance(token, ProgressToken)):
            raise _refused(era, INVALID_PARAMS, "progressToken must be a string or a number")
        return WatchedCall(request.id, era, tool, cast("dict[str, Any]", arguments or {}), token)


_Method = Callable[[Mapping[str, Any], Era], dict[str, Any]]


def _ping(params: Mapping[str, Any], era: Era) -> dict[str, Any]:
    del params, era
    return {}


def _params(request: Request, era: Era) -> Mapping[str, Any]:
    params: object = {} if request.params is None else request.params
    if not isinstance(params, dict):
        raise _refused(era, INVALID_PARAMS, "params must be an object")
    return cast("dict[str, Any]", params)


def _refused(era: Era, code: int, message: str) -> Refused:
    return Refused(era.status(code), Error(code, message))


@dataclass(frozen=True, slots=True)
class WatchedCall:
    """A tool call that has been checked and not yet run."""

    id: Id
    era: Era
    tool: ServerTool
    arguments: Mapping[str, Any]
    token: ProgressToken | None

    @property
    def can_be_watched(self) -> bool:
        """Whether its caller asked for progress, and the tool has any to show."""
        return self.token is not None and self.tool.shows_progress

    def run(self, watch: Watch | None) -> bytes:
        """Run it; the message that answers it.  Blocks on: the tool."""
        try:
            result: ToolResult = self.tool.run(self.arguments, watch)
        except ToolFault as fault:
            result = plain(fault.text, is_error=True)
        return jsonrpc.encode(Response(self.id, {**result.shape(), **self.era.stamp}))

    def progress(self, text: str) -> bytes:
        """The message that shows how far the answer has grown."""
        shown = text.encode(errors="replace").decode()  # half of a surrogate pair is no JSON
        params = {"progressToken": self.token, "progress": len(text), "message": shown}
        return jsonrpc.encode(Notification("notifications/progress", params))

    def bug(self, error: BaseException) -> bytes:
        """The message for a run that raised; the log is told the class alone."""
        log.error("a bug in an MCP request: %s", type(error).__name__)
        return jsonrpc.encode(Failure(self.id, _INTERNAL))
