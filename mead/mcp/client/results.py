"""A tool's result as the text that a model reads.  Pure.

Text as it is; what is no text as a placeholder; structured content as JSON text, unless the text
already says the same; all of it cut at MAXIMUM_CHARACTERS.  Source: seed A6, Policy.
"""

from collections.abc import Mapping
from typing import Any, Final, cast

import orjson

from mead.mcp.client.faults import RemoteError, ServerFault
from mead.mcp.jsonrpc import object_or_empty
from mead.protocols import ToolOutcome

MAXIMUM_CHARACTERS: Final = 50_000
_MAXIMUM_NAME_CHARACTERS: Final = 300
"""Of an address or type inside a placeholder."""


def outcome(result: Mapping[str, Any]) -> ToolOutcome:
    """What the model is told about a finished call.

    Raises ServerFault for an unknown kind, and for content that is nested deeper than JSON is
    written.
    """
    if result.get("resultType", "complete") != "complete":
        raise ServerFault("bad_response", "the tool answered with an unknown type of result")
    text = _content(result.get("content"))
    structured = result.get("structuredContent")
    try:
        if structured is not None and not _says_the_same(text, structured):
            said = orjson.dumps(structured).decode()
            text = f"{text}\n{said}" if text else said
    except (TypeError, RecursionError):
        raise ServerFault("bad_response", "the result is nested too deeply") from None
    return ToolOutcome(text=truncated(text), is_error=result.get("isError") is True)


def error_outcome(fault: ServerFault) -> ToolOutcome:
    """What the model is told about a call that failed."""
    if isinstance(fault, RemoteError):
        text = f"{fault.code}: {fault.words or fault.sentence}"
    else:
        text = str(fault)
    return ToolOutcome(text=truncated(text), is_error=True)


def truncated(text: str) -> str:
    """At most MAXIMUM_CHARACTERS, and a marker when something was cut."""
    if len(text) <= MAXIMUM_CHARACTERS:
        return text
    left_out = len(text) - MAXIMUM_CHARACTERS
    return f"{text[:MAXIMUM_CHARACTERS]}\n[truncated: {left_out} more characters]"


def _content(content: object) -> str:
    if not isinstance(content, list):
        return ""
    blocks = cast("list[object]", content)
    if len(blocks) == 1:  # as almost always
        return _block(object_or_empty(blocks[0]))
    return "\n".join(_block(object_or_empty(block)) for block in blocks)


def _block(block: Mapping[str, Any]) -> str:
    kind = block.get("type")
    text = block.get("text")
    if kind == "text" and isinstance(text, str):
        return text
    if kind in ("image", "audio"):
        return f"[{kind}: {_name(block, 'mimeType')}, {_decoded_bytes(block.get('data'))} bytes]"
    if kind == "resource_link":
        return f"[resource link: {_name(block, 'uri')}]"
    if kind == "resource":
        return _resource(object_or_empty(block.get("resource")))
    return "[content of an unknown type]"


def _resource(resource: Mapping[str, Any]) -> str:
    """A resource that is text is shown: it is what the tool was asked for."""
    head = f"resource: {_name(resource, 'uri')}"
    text = resource.get("text")
    if isinstance(text, str):
        return f"[{head}]\n{text}"
    return f"[{head}, {_name(resource, 'mimeType')}, {_decoded_bytes(resource.get('blob'))} bytes]"


def _name(block: Mapping[str, Any], key: str) -> str:
    value = block.get(key)
    return value[:_MAXIMUM_NAME_CHARACTERS] if isinstance(value, str) else "unknown"


def _decoded_bytes(base64: object) -> int:
    return len(base64.rstrip("=")) * 3 // 4 if isinstance(base64, str) else 0


def _says_the_same(text: str, structured: object) -> bool:
    """Whether the text is a copy of the structured content.

    Servers are told to add one.  What is no object travels in an object with one key.
    """
    values = [structured]
    if isinstance(structured, dict) and len(cast("dict[str, object]", structured)) == 1:
        values += cast("dict[str, object]", structured).values()
    if text in values:
        return True
    try:
        return orjson.loads(text) in values
    except ValueError:
        return False
