"""Where the embedded model is reached now: written by its server, read by its provider."""

from dataclasses import dataclass, field

from mead.actors.green import Event
from mead.providers.errors import ProviderFault

NOT_STARTED = "the embedded model is not started"


@dataclass(frozen=True, slots=True)
class Address:
    """One started server; another start has another address and another key."""

    url: str
    """`http://127.0.0.1:PORT`"""
    key: str = field(repr=False)
    tools: bool
    """Whether the model's chat template knows tools."""


class Endpoint:
    """The address, while there is one.  Waiting for it blocks on nothing but the server's start."""

    def __init__(self) -> None:
        self._address: Address | None = None
        self._trouble: str | None = NOT_STARTED
        self._changed = Event()

    @property
    def address(self) -> Address | None:
        """The running server's, or None."""
        return self._address

    @property
    def trouble(self) -> str | None:
        """Why there is no server and none is being started; None otherwise."""
        return self._trouble

    def starts(self) -> None:
        """A server is being started: who asks now waits."""
        self._tell(None, None)

    def publish(self, address: Address) -> None:
        """The server is ready."""
        self._tell(address, None)

    def withdraw(self, trouble: str) -> None:
        """There is no server for a while; who asks now is told why."""
        self._tell(None, trouble)

    def wait(self, timeout_ms: float, other_than: Address | None = None) -> Address:
        """The address of the running server, or of one that runs instead of `other_than`.

        Raises ProviderFault `provider_unavailable` when there is none within `timeout_ms`.
        """
        while self._address is None or self._address == other_than:
            if self._trouble is not None:
                raise ProviderFault("provider_unavailable", self._trouble)
            changed = self._changed
            if not changed.wait(timeout_ms / 1000):
                raise ProviderFault(
                    "provider_unavailable", "the embedded model is still loading; try again soon"
                )
        return self._address

    def _tell(self, address: Address | None, trouble: str | None) -> None:
        self._address = address
        self._trouble = trouble
        changed, self._changed = self._changed, Event()
        changed.set()
