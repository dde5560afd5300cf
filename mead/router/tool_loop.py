"""The tool loop: the model answers or asks for tools, and is told their results, until it answers.

Of several calls in one answer those of class read run together; a call of class effect, and a
question to the person, run alone and in the model's order, so that every call sees what the calls
before it changed.  Source: seed A6, R; SPEC section 4.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

from mead.actors.green import BoundedSemaphore
from mead.actors.tasks import Task, TaskSupervisor
from mead.errors import TurnFailed
from mead.protocols import (
    ModelReply,
    ModelRequest,
    Tool,
    ToolAnswer,
    ToolHub,
    ToolOutcome,
    ToolRequest,
    ToolRound,
    TurnContext,
)
from mead.router import ask_user
from mead.router.progress import CUT
from mead.router.tool_call import FAILED, ToolCall

log = logging.getLogger(__name__)

MAXIMUM_MODEL_CALLS: Final = 8
"""Seed R: then `tool_loop_limit`."""
MAXIMUM_CONCURRENT_CALLS: Final = 8
MAXIMUM_CALLS_OF_AN_ANSWER: Final = 64
"""Far above what models ask for.  A model that was talked into thousands would otherwise fill the
memory with results, or a person's evening with questions."""

_TOO_MANY: Final = (
    f"The call was not run: one answer may ask for {MAXIMUM_CALLS_OF_AN_ANSWER} calls."
)
_MAXIMUM_NAME_CHARACTERS: Final = 100
"""How much of a name that the model made up it is told again."""


def run_tool_loop(
    request: ModelRequest,
    call_model: Callable[[ModelRequest], ModelReply],
    run_tools: Callable[[Sequence[ToolRequest]], tuple[ToolAnswer, ...]],
) -> None:
    """Call the model until it asks for no more tools.  Raises TurnFailed(`tool_loop_limit`)."""
    for number in range(1, MAXIMUM_MODEL_CALLS + 1):
        reply = call_model(request)
        if not reply.tool_requests or reply.stop_reason in CUT:
            return
        if number < MAXIMUM_MODEL_CALLS:
            answers = run_tools(reply.tool_requests)
            request = replace(
                request, rounds=(*request.rounds, ToolRound(reply=reply, answers=answers))
            )
    raise TurnFailed(
        "tool_loop_limit",
        f"the model still asked for tools after {MAXIMUM_MODEL_CALLS} calls in one turn",
    )


def visible_tools(hub: ToolHub | None, context: TurnContext) -> tuple[Tool, ...]:
    """The tools to offer in this turn: the hub's, and `ask_user` where someone can be asked."""
    tools = () if hub is None else hub.tools_for(context.tools)
    return (*tools, ask_user.TOOL) if tools and context.interaction is not None else tools


@dataclass(frozen=True, slots=True)
class _Job:
    """A requested call and how it is done."""

    request: ToolRequest
    run: Callable[[], ToolOutcome]
    alone: bool = False
    """Whether nothing else of the same answer may run beside it."""
    call: ToolCall | None = None


class ToolRunner:
    """Does the tool calls of one turn."""

    def __init__(
        self,
        *,
        hub: ToolHub,
        tools: Iterable[Tool],
        context: TurnContext,
        tasks: TaskSupervisor,
    ) -> None:
        self._hub = hub
        self._tools: Mapping[str, Tool] = {tool.name: tool for tool in tools}
        self._context = context
        self._tasks = tasks

    def run(self, requests: Sequence[ToolRequest]) -> tuple[ToolAnswer, ...]:
        """The answers to the calls of one model answer, in its order.

        Never raises for a call that fails.  Being killed here kills every call that still runs.
        Blocks on: the person, the tool servers.
        """
        answers: list[ToolAnswer] = []
        jobs = [self._job(request) for request in requests[:MAXIMUM_CALLS_OF_AN_ANSWER]]
        for alone, group in groupby(jobs, lambda job: job.alone):
            if alone:
                for job in group:
                    answers += self._run_together([job])
            else:
                answers += self._run_together(list(group))
        return (*answers, *map(_refused, requests[MAXIMUM_CALLS_OF_AN_ANSWER:]))

    def _job(self, request: ToolRequest) -> _Job:
        if request.fault is not None:
            return _Job(request, _saying(f"The call was not run: {request.fault}"))
        if request.name == ask_user.NAME:
            return _Job(
                request, lambda: ask_user.answer(request.arguments, self._context), alone=True
            )
        tool = self._tools.get(request.name)
        if tool is None:
            name = request.name[:_MAXIMUM_NAME_CHARACTERS]
            return _Job(request, _saying(f"There is no tool {name}."))
        call = ToolCall(request, tool, self._hub, self._context)
        return _Job(request, call.run, alone=tool.kind == "effect", call=call)

    def _run_together(self, jobs: Sequence[_Job]) -> list[ToolAnswer]:
        gate = BoundedSemaphore(MAXIMUM_CONCURRENT_CALLS)
        tasks: list[Task[ToolOutcome]] = []
        try:
            for job in jobs:
                gate.acquire()
                tasks.append(self._start(job, gate))
            return [_answer(job, task) for job, task in zip(jobs, tasks, strict=True)]
        finally:
            for task in tasks:
                task.kill()

    def _start(self, job: _Job, gate: BoundedSemaphore) -> Task[ToolOutcome]:
        task = self._tasks.start(job.run, name="tool call", on_end=lambda _: gate.release())
        if job.call is not None:
            job.call.kill = task.kill
        return task


def _refused(request: ToolRequest) -> ToolAnswer:
    return ToolAnswer(id=request.id, name=request.name, text=_TOO_MANY, is_error=True)


def _saying(text: str) -> Callable[[], ToolOutcome]:
    return lambda: ToolOutcome(text=text, is_error=True)


def _answer(job: _Job, task: Task[ToolOutcome]) -> ToolAnswer:
    """The answer that a task's end comes to.  Blocks on: the task."""
    ended = task.wait()
    outcome = None if ended is None else ended.value
    if outcome is None:
        outcome = FAILED if job.call is None else job.call.fail()
    return ToolAnswer(
        id=job.request.id, name=job.request.name, text=outcome.text, is_error=outcome.is_error
    )
