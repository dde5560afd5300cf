"""The real application, which offers the conformance suite's fixture tools beside the nine.

Loaded by gunicorn as `tests.mcp.conformance.fixture_app:app`.
"""

import base64
from collections.abc import Callable, Mapping
from typing import Any, Final

import gevent

from mead.mcp.server.tool import ServerTool, ToolFault, ToolResult, Watch, plain
from wsgi import create_app

PIXEL: Final = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360"
        "f8cf500f0003860180a5e36c650000000049454e44ae426082"
    )
).decode()
SILENCE: Final = base64.b64encode(
    b"RIFF\x25\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x40\x1f\x00\x00"
    b"\x01\x00\x08\x00data\x01\x00\x00\x00\x80"
).decode()

IMAGE: Final = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
AUDIO: Final = {"type": "audio", "data": SILENCE, "mimeType": "audio/wav"}

SCHEMA_2020_12: Final[Mapping[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def resource(name: str, type_: str, text: str) -> dict[str, Any]:
    """A content block that embeds a resource."""
    inside = {"uri": f"test://{name}", "mimeType": type_, "text": text}
    return {"type": "resource", "resource": inside}


def fail() -> ToolResult:
    """What test_error_handling does."""
    raise ToolFault("This tool intentionally returns an error for testing")


def slowly(_: Mapping[str, Any], watch: Watch | None) -> ToolResult:
    """Three steps, each shown before the next."""
    for step in ("a third", ", two thirds", ", all"):
        if watch is not None:
            watch(step)
        gevent.sleep(0.3)
    return plain("all done")


def fixture(name: str, make: Callable[[], ToolResult]) -> ServerTool:
    """A tool without arguments."""
    return tool(name, lambda arguments, watch: make())


def tool(name: str, run: Any, **more: Any) -> ServerTool:
    """A fixture tool."""
    schema = more.pop("input_schema", {"type": "object", "additionalProperties": False})
    return ServerTool(
        name=name,
        title=name,
        description="A fixture of the conformance suite.",
        input_schema=schema,
        run=run,
        **more,
    )


FIXTURES: Final = (
    fixture("test_simple_text", lambda: plain("This is a simple text response for testing.")),
    fixture("test_image_content", lambda: ToolResult((IMAGE,))),
    fixture("test_audio_content", lambda: ToolResult((AUDIO,))),
    fixture(
        "test_embedded_resource",
        lambda: ToolResult(
            (resource("embedded-resource", "text/plain", "This is an embedded resource content."),)
        ),
    ),
    fixture(
        "test_multiple_content_types",
        lambda: ToolResult(
            (
                {"type": "text", "text": "Multiple content types test:"},
                IMAGE,
                resource(
                    "mixed-content-resource", "application/json", '{"test":"data","value":123}'
                ),
            )
        ),
    ),
    fixture("test_error_handling", fail),
    tool("test_tool_with_progress", slowly, shows_progress=True),
    tool("test_missing_capability", lambda arguments, watch: plain("ok"), needs=("sampling",)),
    tool(
        "json_schema_2020_12_tool",
        lambda arguments, watch: plain("ok"),
        input_schema=SCHEMA_2020_12,
    ),
)

app = create_app(more_tools=FIXTURES)
