"""What a thousand configured servers cost: counted, not timed."""

import sys

from mead.config import ServerSettings
from mead.mcp.client.hub import Hub


def lines_of_status(servers: int) -> int:
    """How many lines and instructions Python runs to tell how that many servers do."""
    hub = Hub(
        [
            ServerSettings(
                name=f"far-{number}",
                transport="http",
                url="http://127.0.0.1:1/mcp",
                tools={"add": "read"},
            )
            for number in range(servers)
        ]
    )
    steps = 0

    def count(frame, event, argument):
        nonlocal steps
        frame.f_trace_opcodes = True
        steps += 1
        return count

    sys.settrace(count)
    try:
        told = hub.status()
    finally:
        sys.settrace(None)
    assert len(told) == servers
    return steps


def test_ten_times_the_servers_take_ten_times_the_work_to_tell_how_they_do():
    assert lines_of_status(300) < 11 * lines_of_status(30)
