"""docs/mcp.md says what is there."""

import re
from pathlib import Path

from mead.mcp.server.dispatcher import Dispatcher
from mead.mcp.server.revisions import LEGACY, MODERN
from tests.helpers.mcp_messages import legacy, request, result

PAGE = (Path(__file__).parents[3] / "docs" / "mcp.md").read_text()


def test_every_tool_is_in_the_docs_with_its_arguments(dispatcher: Dispatcher) -> None:
    for tool in result(dispatcher, legacy(request("tools/list")))["tools"]:
        row = re.search(rf"^\| `{tool['name']}` \|(.*?)\|", PAGE, re.MULTILINE)
        assert row is not None, tool["name"]
        required = tool["inputSchema"].get("required", ())
        for name, schema in tool["inputSchema"].get("properties", {}).items():
            assert f"`{name}`" in row[1] if name in required else f"`{name}?`" in row[1]
            if "maximum" in schema and tool["name"] != "resume_session":
                assert f"{schema['minimum']} to {schema['maximum']}" in row[1]


def test_every_revision_is_in_the_docs() -> None:
    assert all(version in PAGE for version in (*LEGACY, *MODERN))
