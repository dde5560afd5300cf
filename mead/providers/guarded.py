"""A provider of the operator's own on the slot `local`, held to the promise of that slot.

What is checked is the host that the provider names, at boot and before each call.  Where it really
connects only the provider itself can see.  Source: SPEC section 5.
"""

from collections.abc import Callable
from typing import ParamSpec, cast

from mead.errors import TurnFailed
from mead.protocols import (
    ModelReply,
    ModelRequest,
    Provider,
    StartedProvider,
    StreamingProvider,
    ToolProvider,
)
from mead.providers.locality import NOT_LOCAL, BootCheck, LocalGuard

Given = ParamSpec("Given")

_UNREADABLE = (
    "the slot local asks its provider for its host as address:port, and what this one names is not"
    " that; nothing was sent"
)


class GuardedProvider:
    """Passes each call on once the named host is known to be here.

    Has `converse` and `converse_stream` where the provider has them.
    """

    converse: Callable[[ModelRequest], ModelReply]
    converse_stream: Callable[[ModelRequest, Callable[[str], None]], ModelReply]

    def __init__(self, provider: Provider, *, allow_remote: bool = False) -> None:
        self._provider = provider
        self._allow_remote = allow_remote
        if hasattr(provider, "converse"):
            self.converse = self._guarded(cast(ToolProvider, provider).converse)
        if hasattr(provider, "wait_ready"):
            self.wait_ready = cast(StartedProvider, provider).wait_ready
        if hasattr(provider, "converse_stream"):
            self.converse_stream = self._guarded(cast(StreamingProvider, provider).converse_stream)

    @property
    def name(self) -> str:
        """The provider's."""
        return self._provider.name

    @property
    def model(self) -> str:
        """The provider's."""
        return self._provider.model

    @property
    def host(self) -> str | None:
        """The provider's, which may change."""
        return self._provider.host

    def complete(self, request: ModelRequest) -> ModelReply:
        """Raises TurnFailed `not_local`, and what the provider raises.  Blocks on: DNS, and it."""
        return self._guarded(self._provider.complete)(request)

    def close(self) -> None:
        """Close the provider, if it can be closed."""
        close = getattr(self._provider, "close", None)
        if callable(close):
            close()

    def boot_check(self) -> BootCheck:
        """What the provider says of itself, if it does, and what its host says.

        Blocks on: the provider, DNS and a connection.
        """
        own, host = _own_check(self._provider), BootCheck()
        try:
            guard = self._guard()
            if guard is not None:
                host = guard.boot_check()
        except TurnFailed as failed:
            host = BootCheck(fault=failed.message)
        return BootCheck(fault=own.fault or host.fault, warning=own.warning or host.warning)

    def _guarded(self, call: Callable[Given, ModelReply]) -> Callable[Given, ModelReply]:
        def guarded(*args: Given.args, **kwargs: Given.kwargs) -> ModelReply:
            guard = self._guard()
            if guard is not None:
                guard.check()
            return call(*args, **kwargs)

        return guarded

    def _guard(self) -> LocalGuard | None:
        """The guard of the host named now; None if nothing is to be checked.  Raises TurnFailed."""
        host = self.host
        if host is None or self._allow_remote:
            return None
        try:
            guard = LocalGuard(f"http://{host}")
        except ValueError:
            raise TurnFailed(NOT_LOCAL, _UNREADABLE) from None
        if not guard.host:
            raise TurnFailed(NOT_LOCAL, _UNREADABLE)
        return guard


def _own_check(provider: Provider) -> BootCheck:
    check = cast(object, getattr(provider, "boot_check", None))
    found = check() if callable(check) else None
    return found if isinstance(found, BootCheck) else BootCheck()
