"""Scripts of a model that calls tools and asks, and what a device hears of it."""

READ = {"name": "notes__read", "arguments": {"id": 7}}
WRITE = {"name": "notes__write", "arguments": {"text": "tea"}}


def calling(*calls, rounds=1):
    """A script that asks for these calls, so many times in a turn, and then answers."""
    return [{"tool_calls": list(calls)}] * rounds + [{"text": "done"}]


def resolved(device) -> dict:
    """How the permission that was just asked for was decided, without its id."""
    payload = dict(device.hear("permission.resolved")["payload"])
    del payload["request_id"]
    return payload
