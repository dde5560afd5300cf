"""The embedded model's server as an actor: starts the child, watches it, starts it again.

A child that ends is replaced at once; one that ends again soon, or does not come up, is tried again
after a growing pause.  The actor itself lives on, so that a model that cannot be loaded costs its
own slot and never the rest of the tree.
"""

import logging
import os
import secrets
import time
from dataclasses import dataclass
from typing import Any, Final

from mead.actors.actor import Actor
from mead.actors.exits import Exit, Outcome
from mead.actors.tasks import TaskSupervisor
from mead.actors.timer import Timer
from mead.config.settings import ProviderOptions
from mead.providers.answer import Answer
from mead.providers.embedded_endpoint import NOT_STARTED, Address, Endpoint
from mead.providers.embedded_model import (
    BUNDLED_REPEAT_PENALTY,
    BUNDLED_TEMPERATURE,
    bundled_model,
    missing_part,
)
from mead.providers.embedded_process import ModelProcess, StartFailed
from mead.providers.errors import ProviderFault
from mead.providers.http import Call, HttpClient
from mead.providers.shape import object_in, read_object

log = logging.getLogger(__name__)

PARALLEL: Final = 2
"""Calls that the model answers at once, each with a context of its own."""
CONTEXT: Final = 4096
"""Tokens of one conversation where the operator names none."""
CHECKS_MISSED: Final = 3
"""So many checks in a row must fail: one may come late on a machine that is busy answering."""
STABLE_S: Final = 10.0
"""After so long in health earlier ends are forgotten."""
_FIRST_PAUSE_MS: Final = 500
_LONGEST_PAUSE_MS: Final = 30_000
_MOST_THREADS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthCheck:
    """How often the child is asked for its health, and how long an answer may take."""

    every_ms: int = 10_000
    timeout_ms: int = 5000


@dataclass(frozen=True, slots=True)
class _Launch:
    """Start a child."""


@dataclass(frozen=True, slots=True)
class _Ready:
    """The child answers at this address."""

    child: ModelProcess
    address: Address


@dataclass(frozen=True, slots=True)
class _Ended:
    """The child is gone, or did not come up."""

    child: ModelProcess
    error: BaseException | None


@dataclass(frozen=True, slots=True)
class _Check:
    """Ask the child for its health."""


@dataclass(frozen=True, slots=True)
class _Checked:
    """What came of it."""

    child: ModelProcess
    well: bool


class EmbeddedServer(Actor):
    """Owns the child process.  Where it is reached stands in `endpoint`."""

    name = "embedded model"

    def __init__(
        self,
        options: ProviderOptions,
        endpoint: Endpoint,
        *,
        health_check: HealthCheck,
        show_slots: bool = False,
    ) -> None:
        """`show_slots` opens llama.cpp's /slots, which shows prompts: for tests alone."""
        self._options = options
        self._endpoint = endpoint
        self._health_check = health_check
        self._show_slots = show_slots
        self._tasks = TaskSupervisor("embedded model")
        self._child: ModelProcess | None = None
        self._probe: HttpClient | None = None
        self._timer: Timer | None = None
        self._ready_at: float | None = None
        self._failures = 0
        self._missed = 0

    # -- hooks -------------------------------------------------------------------------------------

    def on_start(self) -> None:
        self._endpoint.starts()
        self.ref.cast(_Launch())

    def on_stop(self, exit_: Exit) -> None:
        self._forget_child()
        self._tasks.stop()
        self._endpoint.withdraw(NOT_STARTED)

    def handle_cast(self, message: Any) -> None:
        match message:
            case _Launch():
                self._launch()
            case _Ready(child, address) if child is self._child:
                self._ready(address)
            case _Ended(child, error) if child is self._child:
                self._ended(error)
            case _Check():
                self._check()
            case _Checked(child, well) if child is self._child:
                self._checked(well)
            case _:
                pass  # about a child that is gone

    # -- the child's life --------------------------------------------------------------------------

    def _launch(self) -> None:
        trouble = missing_part(self._options.model_file)
        if trouble is not None:
            self._again_later(trouble)
            return
        self._endpoint.starts()
        key = secrets.token_urlsafe(32)
        try:
            child = ModelProcess(self._settings(key))
        except OSError:
            self._again_later("the embedded model's server could not be started")
            return
        self._child = child
        self._tasks.start(child.drain, name="embedded model stderr")

        def ended(outcome: Outcome[None]) -> None:
            self.ref.cast(_Ended(child, outcome.error))

        self._tasks.start(
            lambda: self._attend(child, key), name="embedded model child", on_end=ended
        )

    def _attend(self, child: ModelProcess, key: str) -> None:
        """A task: bring the child up, say where it is, wait for its end.  Raises StartFailed."""
        url = child.url()
        probe = _client(url, key, self._health_check.timeout_ms)
        try:
            tools = _knows_tools(probe)
        finally:
            probe.close()
        self.ref.cast(_Ready(child, Address(url, key, tools)))
        child.wait()

    def _ready(self, address: Address) -> None:
        self._ready_at = time.monotonic()
        self._missed = 0
        self._probe = _client(address.url, address.key, self._health_check.timeout_ms)
        self._endpoint.publish(address)
        log.info("the embedded model %s is ready", self._options.model)
        self._later(self._health_check.every_ms, _Check())

    def _ended(self, error: BaseException | None) -> None:
        ready_at = self._ready_at
        self._forget_child()
        if ready_at is None:
            cause = str(error) if isinstance(error, StartFailed) else "the model did not start"
            self._again_later(cause)
            return
        if time.monotonic() - ready_at >= STABLE_S:
            self._failures = 0
        if self._failures:
            self._again_later("the embedded model's server ended again")
            return
        self._failures = 1
        log.warning("the embedded model's server ended and is started again")
        self._launch()

    def _again_later(self, trouble: str) -> None:
        pause_ms = min(_FIRST_PAUSE_MS * 2**self._failures, _LONGEST_PAUSE_MS)
        self._failures += 1
        log.warning("%s; tried again in %d ms", trouble, pause_ms)
        self._endpoint.withdraw(trouble)
        self._later(pause_ms, _Launch())

    def _forget_child(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._probe is not None:
            self._probe.close()
        child, self._child, self._probe, self._ready_at = self._child, None, None, None
        if child is not None:
            child.stop()

    # -- its health --------------------------------------------------------------------------------

    def _check(self) -> None:
        child, probe = self._child, self._probe
        if child is None or probe is None:
            return

        def checked(outcome: Outcome[bool]) -> None:
            self.ref.cast(_Checked(child, outcome.value is True))

        self._tasks.start(lambda: _is_well(probe), name="embedded model check", on_end=checked)

    def _checked(self, well: bool) -> None:
        self._missed = 0 if well else self._missed + 1
        if self._missed >= CHECKS_MISSED and self._child is not None:
            log.warning("the embedded model's server does not answer and is ended")
            self._child.kill()
        else:
            self._later(self._health_check.every_ms, _Check())

    def _later(self, delay_ms: float, message: object) -> None:
        self._timer = Timer(self.ref, delay_ms, message)

    # -- its settings ------------------------------------------------------------------------------

    def _settings(self, key: str) -> dict[str, Any]:
        """What the child reads from stdin."""
        options = self._options
        bundled = options.model_file is None
        return {
            "model_file": str(bundled_model() if bundled else options.model_file),
            "alias": options.model,
            "api_key": key,
            "slots": self._show_slots,
            "context": (options.context or CONTEXT) * PARALLEL,
            "parallel": PARALLEL,
            "threads": options.threads or min(_cores(), _MOST_THREADS),
            "cache_prompt": True,
            "temperature": BUNDLED_TEMPERATURE if bundled else None,
            "repeat_penalty": BUNDLED_REPEAT_PENALTY if bundled else None,
        }


def _cores() -> int:
    """The cores that this process may use; where that cannot be asked, all of them."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _client(url: str, key: str, timeout_ms: int) -> HttpClient:
    return HttpClient(
        url,
        headers={"Authorization": f"Bearer {key}"},
        connect_timeout_ms=timeout_ms,
        receive_timeout_ms=timeout_ms,
        max_retries=0,
    )


def _knows_tools(client: HttpClient) -> bool:
    """Whether llama.cpp found tools in the model's chat template.  Raises StartFailed."""

    def read(answer: Answer) -> bool:
        capabilities = object_in(read_object(answer.body()), "chat_template_caps")
        return capabilities.get("supports_tools") is True

    try:
        return client.run(Call("GET", "/props"), read)
    except ProviderFault:
        raise StartFailed("the embedded model's server started and does not answer") from None


def _is_well(client: HttpClient) -> bool:
    try:
        return client.run(Call("GET", "/health"), lambda answer: answer.status == 200)
    except ProviderFault:
        return False
