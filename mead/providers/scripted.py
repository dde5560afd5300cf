"""A provider that says what it is told to: for tests, demonstrations and trying out a deck.

    [router.slots.local]
    provider = "scripted"
    script = [
        { tool_calls = [{ name = "notes__search", arguments = { text = "tea" } }] },
        { chunks = ["Green ", "tea."], delay_ms = 200, usage = { input = 12, output = 3 } },
    ]

The rule: a turn begins at the first step, and each round of its tool loop takes the next one; the
last step answers every round after it.  So conversations never influence each other.  A step that
is only a text is the text of an answer.  In Python, `ScriptedProvider(steps)` takes the same, and a
function `request -> step` instead of them.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from mead.actors.green import sleep_ms
from mead.errors import ConfigurationError
from mead.protocols import ModelReply, ModelRequest
from mead.providers.errors import ProviderFault
from mead.providers.script_step import Step

Script = Sequence[str | Mapping[str, object] | Step]
"""The steps, as a configuration file or a test writes them."""
StepFor = Callable[[ModelRequest], str | Mapping[str, object] | Step]
"""Gives the step for a request."""

_REQUESTS_KEPT: Final = 100


class ScriptedProvider:
    """Answers from a script, with tools and streaming.  No network, so no host."""

    name = "scripted"
    host: str | None = None

    def __init__(self, script: Script | StepFor, *, model: str = "scripted") -> None:
        """Raises ConfigurationError with one line for each fault of the script."""
        self._step_for = script if callable(script) else _in_order(script)
        self._model = model
        self.requests: deque[ModelRequest] = deque(maxlen=_REQUESTS_KEPT)
        """The newest requests, for tests to look at."""

    @property
    def model(self) -> str:
        """The name that turns show."""
        return self._model

    def complete(self, request: ModelRequest) -> ModelReply:
        """Raises TurnFailed where the script says so.  Blocks on: the script's delays."""
        return self.converse_stream(request, _unseen)

    def converse(self, request: ModelRequest) -> ModelReply:
        """Raises TurnFailed where the script says so.  Blocks on: the script's delays."""
        return self.converse_stream(request, _unseen)

    def converse_stream(self, request: ModelRequest, on_text: Callable[[str], None]) -> ModelReply:
        """Raises TurnFailed where the script says so.  Blocks on: its delays, `on_text`."""
        self.requests.append(request)
        step = Step.read(self._step_for(request))
        for chunk in step.chunks or ("",):
            if step.delay_ms:
                sleep_ms(step.delay_ms)
            if chunk:
                on_text(chunk)
        if step.error is not None:
            raise ProviderFault(step.error, "the script says so")
        return step.reply(len(request.rounds))

    def close(self) -> None:
        """Nothing is open."""


def _unseen(text: str) -> None:
    del text


def _in_order(script: Script) -> StepFor:
    """The step of a round.  Raises ConfigurationError."""
    if isinstance(cast(Any, script), str | Mapping) or not script:
        raise ConfigurationError(["script must be a list with at least one step"])
    steps: list[Step] = []
    faults: list[str] = []
    for number, value in enumerate(script):
        try:
            steps.append(Step.read(value))
        except ConfigurationError as error:
            faults += [f"script[{number}]{fault}" for fault in error.faults]
    if faults:
        raise ConfigurationError(faults)
    return lambda request: steps[min(len(request.rounds), len(steps) - 1)]
