"""The tool servers of the hub.  Source: SPEC section 7."""

import re
from collections.abc import Mapping
from typing import Any, Final, cast

from marshmallow import ValidationError, post_load, validates_schema

from mead.config import network
from mead.config.fields import (
    Choice,
    Converted,
    Location,
    PrivateText,
    SecretText,
    Text,
    Whole,
    matching,
)
from mead.config.settings import McpSettings, ServerSettings
from mead.config.tables import ListOf, Section, Table, TableOf
from mead.config.values import encodes

SERVER_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?")
TOOL_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""What every provider takes as the name of a tool."""

_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_HEADER_VALUE: Final = re.compile(r"[\t -~\xa0-\xff]*")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

OWN_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "stdio": ("command", "arguments", "environment", "directory"),
    "http": ("url", "headers", "proxy"),
}
_NEEDED: Final = {"stdio": "command", "http": "url"}


def _argument(value: Any) -> str:
    if not isinstance(value, str) or "\0" in value or not encodes(value):
        raise ValueError
    return value


def _tool(text: str) -> str:
    if not text:
        raise ValueError
    return text


class Server(Section):
    """One entry of `mcp.servers`."""

    name = Text(
        "1 to 32 of a-z, 0-9 and -, neither first nor last a -",
        matching(SERVER_NAME),
        required=True,
    )
    transport = Choice("stdio", "http", required=True)
    tools = TableOf(
        Choice("read", "effect"),
        "a table: the name of a tool = read or effect",
        key=_tool,
        key_allowed="the name of a tool",
    )
    call_timeout_ms = Whole(1, 3_600_000)
    handshake_timeout_ms = Whole(1, 600_000)
    command = Text("the program to run")
    arguments = ListOf(Converted(_argument, "a text"), "a list of texts")
    environment = TableOf(
        SecretText("a text"),
        "a table of texts",
        key=matching(_VARIABLE),
        key_allowed="the name of a variable: letters, digits and _",
    )
    directory = Location("a path", lambda path: True)
    url = PrivateText(
        "an address http(s)://host[:port][/path] without name and password", network.server_url
    )
    headers = TableOf(
        SecretText("a text that a header can carry", matching(_HEADER_VALUE)),
        "a table of texts",
        key=matching(_HEADER_NAME),
        key_allowed="the name of a header",
    )
    proxy = PrivateText("an address http(s)://host[:port]", network.proxy_url)

    @validates_schema(pass_original=True, skip_on_field_errors=False)
    def _fits_its_transport(
        self, data: Mapping[str, Any], original: Mapping[str, Any], **_: Any
    ) -> None:
        transport = data.get("transport")
        if transport is None:
            return
        faults: dict[str, Any] = {}
        for other, keys in OWN_KEYS.items():
            if other != transport:
                line = f"is for the transport {other}; this server is {transport}"
                faults.update({key: [line] for key in keys if original.get(key) is not None})
        needed = _NEEDED[transport]
        if original.get(needed) is None:
            faults[needed] = [f"is missing; allowed: {self.field(needed).allowed}"]
        if faults:
            raise ValidationError(faults)

    @validates_schema(skip_on_field_errors=False)
    def _tools_can_be_shown(self, data: Mapping[str, Any], **_: Any) -> None:
        server, tools = data.get("name"), data.get("tools")
        if server is None or tools is None:
            return
        faults = {
            tool: [
                "cannot be shown to a model; allowed: together with the server's name and __ at"
                " most 64 of a-z, A-Z, 0-9, _ and -"
            ]
            for tool in tools
            if TOOL_NAME.fullmatch(f"{server}__{tool}") is None
        }
        if faults:
            raise ValidationError({"tools": faults})

    @post_load
    def _settings(self, data: dict[str, Any], **_: Any) -> ServerSettings:
        return ServerSettings(**data)


class Mcp(Section):
    """`mcp`"""

    servers = ListOf(Table(Server), "a list of tables")

    @validates_schema(pass_original=True, skip_on_field_errors=False)
    def _names_differ(self, data: Mapping[str, Any], original: Mapping[str, Any], **_: Any) -> None:
        servers = original.get("servers")
        if not isinstance(servers, list):
            return
        seen: dict[str, int] = {}
        faults: dict[Any, Any] = {}
        for index, one in enumerate(cast(list[Any], servers)):
            name = cast(dict[str, Any], one).get("name") if isinstance(one, dict) else None
            if not isinstance(name, str):
                continue
            if name in seen:
                faults[index] = {"name": [f"is also the name of mcp.servers[{seen[name]}]"]}
            seen.setdefault(name, index)
        if faults:
            raise ValidationError({"servers": faults})

    @post_load
    def _settings(self, data: dict[str, Any], **_: Any) -> McpSettings:
        return McpSettings(**data)
