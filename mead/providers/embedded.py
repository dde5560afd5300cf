"""The provider `embedded`: a model in Mead's own installation, with no key and no other server.

`start_server` runs llama.cpp as a child process (`mead.providers.embedded_server`); what is asked
of the model goes to that child through the same code as to any other OpenAI-compatible server.
Source: SPEC section 5, issue 2.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final
from urllib.parse import urlsplit

from mead.actors.actor import ActorRef
from mead.actors.green import BoundedSemaphore
from mead.config import Secret
from mead.config.settings import ProviderOptions
from mead.protocols import ModelReply, ModelRequest
from mead.providers.embedded_endpoint import Address, Endpoint
from mead.providers.embedded_model import missing_part
from mead.providers.embedded_server import PARALLEL, EmbeddedServer, HealthCheck
from mead.providers.errors import Details, ProviderFault
from mead.providers.locality import BootCheck
from mead.providers.openai import OpenAiProvider

_RESTART_MS: Final = 5000
"""How long a call whose server died before it said anything waits for the next one."""

_HEALTH_CHECK: Final = HealthCheck()


class EmbeddedProvider:
    """The model of a llama.cpp server that is Mead's own child."""

    name = "embedded"

    def __init__(self, options: ProviderOptions) -> None:
        self._options = options
        self.endpoint = Endpoint()
        self._places = BoundedSemaphore(PARALLEL)
        self._asked: tuple[Address, OpenAiProvider] | None = None

    @property
    def model(self) -> str:
        """The name that the operator gave it."""
        return self._options.model

    @property
    def host(self) -> str | None:
        """The child's address and port; None while it is not ready."""
        address = self.endpoint.address
        return None if address is None else _host(address)

    def start_server(
        self, *, health_check: HealthCheck = _HEALTH_CHECK, show_slots: bool = False
    ) -> ActorRef:
        """Start the child under an actor, for the tree; the model loads meanwhile.

        `show_slots` opens an endpoint of llama.cpp that shows prompts: for tests alone.
        """
        server = EmbeddedServer(
            self._options, self.endpoint, health_check=health_check, show_slots=show_slots
        )
        return server.start()

    def boot_check(self) -> BootCheck:
        """A fault when the packages or the model file are not there."""
        return BootCheck(fault=missing_part(self._options.model_file))

    def close(self) -> None:
        """Close the idle connections."""
        asked, self._asked = self._asked, None
        if asked is not None:
            asked[1].close()

    def wait_ready(self) -> None:
        """See StartedProvider; within `receive_timeout_ms`."""
        self.endpoint.wait(self._options.receive_timeout_ms)

    def complete(self, request: ModelRequest) -> ModelReply:
        """Raises TurnFailed.  Blocks on: the child's start, a free place, network."""
        return self._ask(request, None)

    def converse(self, request: ModelRequest) -> ModelReply:
        """See `complete`; `tools_unsupported` when the chat template knows no tools."""
        return self._ask(request, None)

    def converse_stream(self, request: ModelRequest, on_text: Callable[[str], None]) -> ModelReply:
        """See `converse`; raises what `on_text` raises too."""
        return self._ask(request, on_text)

    def _ask(self, request: ModelRequest, on_text: Callable[[str], None] | None) -> ModelReply:
        shown = False

        def show(text: str) -> None:
            nonlocal shown
            shown = True
            if on_text is not None:
                on_text(text)

        address = self.endpoint.wait(self._options.receive_timeout_ms)
        for left in range(self._options.max_retries, -1, -1):
            try:
                return self._at(address, request, show)
            except ProviderFault as fault:
                if shown or left == 0 or not fault.retryable:
                    raise
            address = self.endpoint.wait(_RESTART_MS, other_than=address)
        raise AssertionError  # the last round returned or raised

    def _at(
        self, address: Address, request: ModelRequest, show: Callable[[str], None]
    ) -> ModelReply:
        if request.tools and not address.tools:
            raise ProviderFault("tools_unsupported", details=Details(model=self.model))
        with self._place():
            reply = self._provider(address).converse_stream(request, show)
        return replace(reply, host=_host(address))

    @contextmanager
    def _place(self) -> Generator[None]:
        """One of the calls that the model answers at once; the others wait here, in order."""
        if not self._places.acquire(timeout=self._options.receive_timeout_ms / 1000):
            raise ProviderFault(
                "overloaded", "the embedded model is busy with other turns; try again later"
            )
        try:
            yield
        finally:
            self._places.release()

    def _provider(self, address: Address) -> OpenAiProvider:
        if self._asked is None or self._asked[0] != address:
            self.close()
            options = replace(
                self._options,
                base_url=f"{address.url}/v1",
                api_key=Secret(address.key),
                max_retries=0,  # another attempt may have to go to another address
                proxy=None,
            )
            self._asked = (address, OpenAiProvider(options))
        return self._asked[1]


def _host(address: Address) -> str:
    return urlsplit(address.url).netloc
