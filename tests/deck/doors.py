"""Calls through other doors, which wait while a test looks at a device."""

from collections.abc import Callable
from typing import Any, Final

from mead.actors.tasks import TaskSupervisor

CALLERS: Final = TaskSupervisor("callers")


def call(function: Callable[..., Any], *arguments: Any, **options: Any) -> Callable[[], Any]:
    """Begin a call; calling what this returns waits for its result, or raises its error."""
    task = CALLERS.start(lambda: function(*arguments, **options))

    def result() -> Any:
        outcome = task.wait(5000)
        assert outcome is not None, "the call did not return"
        if outcome.error is not None:
            raise outcome.error
        return outcome.value

    return result
