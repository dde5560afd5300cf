"""Mead before replay_server.py, and its turns through the MCP face; plans for turns_load."""

from benchmarks.turns_load import PROMPT

MCP_TOKEN = "mcp-token-of-the-benchmark-0123456789"


def slots(model: int, pace: str) -> str:
    """The tables of both slots: the replay server on that port; `auto` chooses between them."""
    slot = f'provider = "openai"\nmodel = "replay"\nbase_url = "http://127.0.0.1:{model}/{pace}/v1"'
    return f"[router.slots.local]\n{slot}\n[router.slots.cloud]\n{slot}\n"


def mcp_turns(handler: str, *, watched: bool = False) -> dict:
    """Turns of sessions of that handler; `watched` ones show their progress."""
    started = {
        "path": "/mcp",
        "body": called("start_session", {"handler": handler}),
        "id": "result.structuredContent.session_id",
    }
    body = called("submit_turn", {"session_id": "{id}", "input": PROMPT})
    if watched:
        body["params"]["_meta"] = {"progressToken": 1}
    return {"path": "/mcp", "body": body, "token": MCP_TOKEN, "open": started}


def called(tool: str, arguments: dict) -> dict:
    """The message that calls a tool."""
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
