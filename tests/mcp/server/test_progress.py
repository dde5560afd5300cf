"""A watched call: progress as server-sent events, comments in silence, then the answer."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import gevent
import pytest
from gevent.event import Event

from mead import Mead
from mead.actors.tasks import TaskSupervisor
from mead.mcp.server.dispatcher import Dispatcher, Reply, WatchedCall
from mead.mcp.server.progress import ProgressStream
from mead.mcp.server.tool import ServerTool, Watch, plain
from tests.helpers.mcp_messages import META, call, legacy, modern
from tests.helpers.puppet import Puppet
from tests.helpers.waiting import eventually
from tests.mcp.server.conftest import Call


@pytest.fixture
def tasks() -> Iterator[TaskSupervisor]:
    supervisor = TaskSupervisor("watched")
    yield supervisor
    supervisor.stop()


def tool(run: Callable[[Watch | None], Any]) -> ServerTool:
    return ServerTool(
        name="watched",
        title="Watched",
        description="A tool that shows how far it is.",
        input_schema={"type": "object"},
        run=lambda arguments, watch: run(watch),
        shows_progress=True,
    )


def watched(run: Callable[[Watch | None], Any], token: Any = "t", era: Any = legacy) -> WatchedCall:
    dispatcher = Dispatcher([tool(run)], "")
    message = call("watched", _meta={"progressToken": token})
    if era is modern:
        message["params"]["_meta"] |= META
    answer = dispatcher.answer(era(message, takes_events=True))
    assert isinstance(answer, WatchedCall)
    return answer


def messages(chunks: Any) -> list[Any]:
    """The data of each event; None for a comment."""
    read = []
    for chunk in chunks:
        if chunk.startswith(b":"):
            assert chunk.endswith(b"\n\n")
            read.append(None)
        else:
            assert chunk.startswith(b"event: message\ndata: ")
            assert chunk.endswith(b"\n\n")
            assert chunk.count(b"\n") == 3
            read.append(json.loads(chunk.removeprefix(b"event: message\ndata: ")))
    return read


@pytest.mark.parametrize("token", ["t", "", 7, 0, 1.5])
def test_progress_shows_the_text_so_far_and_then_the_answer(
    tasks: TaskSupervisor, token: Any
) -> None:
    steps = [Event() for _ in range(3)]

    def run(watch: Watch | None) -> Any:
        assert watch is not None
        for step, text in zip(steps, ("Once", " upon", " a time"), strict=True):
            watch(text)
            step.wait(5)
        return plain("Once upon a time")

    stream = iter(ProgressStream(watched(run, token), tasks, pace_s=0.001))
    assert next(stream).startswith(b":")
    shown = []
    for step in steps:
        shown += messages([next(stream)])
        step.set()
    shown += messages(stream)
    assert [one["params"] for one in shown[:-1]] == [
        {"progressToken": token, "progress": 4, "message": "Once"},
        {"progressToken": token, "progress": 9, "message": "Once upon"},
        {"progressToken": token, "progress": 16, "message": "Once upon a time"},
    ]
    assert {one["method"] for one in shown[:-1]} == {"notifications/progress"}
    assert shown[-1]["id"] == 1
    assert shown[-1]["result"]["content"][0]["text"] == "Once upon a time"


def test_a_silent_call_is_kept_alive_by_comments(tasks: TaskSupervisor) -> None:
    release = Event()

    def run(watch: Watch | None) -> Any:
        release.wait(5)
        return plain("done")

    stream = iter(ProgressStream(watched(run), tasks, comment_s=0.001))
    assert [next(stream)[:1] for _ in range(4)] == [b":"] * 4
    release.set()
    assert messages(stream)[-1]["result"]["content"][0]["text"] == "done"


def test_showing_a_long_text_costs_a_small_multiple_of_its_length(tasks: TaskSupervisor) -> None:
    def run(watch: Watch | None) -> Any:
        assert watch is not None
        for _ in range(400):
            watch("0123456789" * 10)
            gevent.sleep(0.0005)  # as a model would: the stream gets its turn
        return plain("done")

    sent = sum(map(len, ProgressStream(watched(run), tasks, pace_s=0)))
    assert 40_000 < sent < 20 * 40_000


def test_an_answer_of_the_stateless_era_says_what_it_is(tasks: TaskSupervisor) -> None:
    answer = watched(lambda watch: plain("done"), era=modern)
    assert messages(ProgressStream(answer, tasks))[-1]["result"]["resultType"] == "complete"


def test_a_bug_ends_the_stream_with_an_error_that_says_nothing(
    tasks: TaskSupervisor, caplog: pytest.LogCaptureFixture
) -> None:
    def run(watch: Watch | None) -> Any:
        raise RuntimeError("Bearer a-secret")

    (_, last) = messages(ProgressStream(watched(run), tasks))
    assert last == {
        "jsonrpc": "2.0",
        "id": 1,
        "error": {"code": -32603, "message": "internal error"},
    }
    assert [record.getMessage() for record in caplog.records] == [
        "a bug in an MCP request: RuntimeError"
    ]


def test_only_a_client_that_takes_events_and_gives_a_token_watches(dispatcher: Dispatcher) -> None:
    arguments = {"session_id": "x", "input": "x"}
    token = {"progressToken": 1}
    for message, takes_events in (
        (call("submit_turn", arguments, _meta=token), False),
        (call("submit_turn", arguments), True),
        (call("history", arguments, _meta=token), True),
    ):
        assert isinstance(dispatcher.answer(legacy(message, takes_events=takes_events)), Reply)


def test_a_turn_is_watched_as_it_grows(
    mead: Mead, dispatcher: Dispatcher, tasks: TaskSupervisor
) -> None:
    shown, release = Event(), Event()

    class Handler:
        def handle_turn(self, history: Any, text: str, context: Any) -> str:
            context.text_delta("half \ud83d")
            shown.set()
            release.wait(5)
            return "half and half"

    arguments = {"session_id": mead.start_session(handler=Handler()), "input": "x"}
    answer = dispatcher.answer(
        legacy(call("submit_turn", arguments, _meta={"progressToken": 1}), takes_events=True)
    )
    assert isinstance(answer, WatchedCall)
    stream = iter(ProgressStream(answer, tasks, pace_s=0.001))
    next(stream)
    (progress,) = messages([next(stream)])
    assert progress["params"]["message"] == "half ?"
    release.set()
    assert messages(stream)[-1]["result"]["structuredContent"]["output"] == "half and half"


def test_a_client_that_goes_away_does_not_abort_the_turn(
    dispatcher: Dispatcher, ask: Call, puppet: Puppet, tasks: TaskSupervisor
) -> None:
    session_id = ask("start_session", handler="puppet")["session_id"]
    arguments = {"session_id": session_id, "input": "hold"}
    answer = dispatcher.answer(
        legacy(call("submit_turn", arguments, _meta={"progressToken": 1}), takes_events=True)
    )
    stream = iter(ProgressStream(answer, tasks))
    next(stream)
    stream.close()
    eventually(lambda: puppet.started)
    puppet.release.set()
    eventually(lambda: puppet.ended)
    (turn,) = ask("history", session_id=session_id)["turns"]
    assert turn["status"] == "completed"
