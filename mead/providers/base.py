"""What the providers that ask a model over HTTP have in common."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Final, cast

from mead.config.settings import ProviderOptions
from mead.protocols import ModelReply, ModelRequest
from mead.providers.allowance import Allowance
from mead.providers.errors import Details, Finding, ProviderFault, is_passing, reason_for_status
from mead.providers.http import Answer, Call, HttpClient
from mead.providers.locality import BootCheck, LocalGuard
from mead.providers.relay import TextRelay
from mead.providers.shape import Json, as_object, dumped, read_json, read_object

_PAGES: Final = ("text/html", "application/xhtml+xml", "text/xml", "application/xml")
"""What a proxy, a login page or the wrong port answers with status 200."""

MAX_INQUIRY_BYTES: Final = 4 * 1024 * 1024
"""A list of models may be long; it is not this long."""


class HttpProvider(ABC):
    """A model behind an HTTP address.  `complete`, `converse` and `converse_stream` are one call.

    The model is always asked for a stream, also when nobody watches: only then is silence the sign
    of a dead server and not of a long answer.  A server that answers with one JSON object all the
    same is understood; both become the same body, read by the same function.
    """

    name: str

    def __init__(
        self, options: ProviderOptions, client: HttpClient, guard: LocalGuard | None = None
    ) -> None:
        """A `guard` makes it the slot `local`; the client connects where the guard says."""
        self._options = options
        self._client = client
        self._guard = guard

    @property
    def model(self) -> str:
        """The model asked for."""
        return self._options.model

    @property
    def host(self) -> str | None:
        """`address:port` that calls go to."""
        return self._client.host

    def close(self) -> None:
        """Close the idle connections."""
        self._client.close()

    def boot_check(self) -> BootCheck:
        """Whether the slot keeps its promise now.  Blocks on: DNS and a connection, bounded."""
        return BootCheck() if self._guard is None else self._guard.boot_check()

    def inquire(self, call: Call) -> tuple[int, Json]:
        """One question beside a conversation (what models are there?): status and JSON object.

        An answer that is no JSON object is an empty one.  Raises ProviderFault.
        """
        with self._client.send(call) as answer:
            value = read_json(answer.body(MAX_INQUIRY_BYTES))
            return answer.status, cast(Json, value) if isinstance(value, dict) else {}

    def complete(self, request: ModelRequest) -> ModelReply:
        """Raises TurnFailed.  Blocks on: network."""
        return self._ask(request, TextRelay(None))

    def converse(self, request: ModelRequest) -> ModelReply:
        """Raises TurnFailed.  Blocks on: network."""
        return self._ask(request, TextRelay(None))

    def converse_stream(self, request: ModelRequest, on_text: Callable[[str], None]) -> ModelReply:
        """Raises TurnFailed, and what `on_text` raises.  Blocks on: network, `on_text`."""
        return self._ask(request, TextRelay(on_text))

    @abstractmethod
    def _ask(self, request: ModelRequest, relay: TextRelay) -> ModelReply:
        """The model's answer to the request."""

    @abstractmethod
    def _fold(self, answer: Answer, relay: TextRelay) -> Json:
        """The body that a plain call would have got, from the events of a stream."""

    @abstractmethod
    def _show(self, body: Json, relay: TextRelay) -> None:
        """Hand on the text of a body that came in one piece."""

    @abstractmethod
    def _find(self, answer: Answer, body: Json) -> Finding | None:
        """What an error object in the body tells; None if there is none."""

    def _post(self, path: str, body: Json, relay: TextRelay) -> Json:
        """The answer's body, from whichever form it came in.  Raises ProviderFault."""
        relay.begin_call()
        call = Call("POST", path, dumped(body), {"Content-Type": "application/json"})
        return self._client.run(
            call, lambda answer: self._body(answer, relay), shown=lambda: relay.shown
        )

    def _body(self, answer: Answer, relay: TextRelay) -> Json:
        if not 200 <= answer.status < 300:
            raise self._refusal(answer)
        if answer.content_type in _PAGES:
            raise ProviderFault(
                "bad_response",
                "the answer is a web page and not a model's; check base_url",
                details=self._details(answer),
            )
        relay.begin_block()
        if "json" not in answer.content_type:
            return self._fold(answer, relay)
        body = read_object(answer.body())
        Allowance().take_value(body)
        finding = self._find(answer, body)
        if finding is not None:
            raise self._fault(answer, finding)
        self._show(body, relay)
        return body

    def _refusal(self, answer: Answer) -> ProviderFault:
        """The fault of an answer with an error status."""
        finding = self._find(answer, as_object(read_json(answer.refusal_body())))
        if finding is not None:
            return self._fault(answer, finding)
        kind = 300 if answer.status < 400 else answer.status
        return self._fault(answer, Finding(reason_for_status(answer.status)), _SENTENCES.get(kind))

    def _fault(
        self, answer: Answer, finding: Finding, sentence: str | None = None
    ) -> ProviderFault:
        """The finding as an error; what the server says about a retry wins over our rule."""
        passing = is_passing(answer.status, finding.reason)
        return ProviderFault(
            finding.reason,
            sentence,
            details=self._details(answer, finding.error_type),
            retryable=passing if answer.should_retry is None else answer.should_retry,
            retry_after_ms=answer.retry_after_ms,
        )

    def _unfinished(self, answer: Answer) -> ProviderFault:
        """The fault of a stream that ended before its end marker, whatever came until then."""
        return ProviderFault(
            "bad_response",
            "the provider's answer stopped before its end",
            details=self._details(answer),
        )

    def _details(self, answer: Answer, error_type: str = "") -> Details:
        """What a message may say about this answer."""
        return Details(
            model=self.model,
            status=None if answer.status < 300 else answer.status,
            error_type=error_type if error_type and answer.safe(error_type) else None,
            request_id=answer.request_id,
        )


_SENTENCES: Final[Mapping[int, str]] = {
    300: "the provider's address redirects elsewhere, and redirects are not followed",
    404: "nothing is there at the provider's address; check base_url and model",
}
"""For a status whose body was not the provider's own error object."""


def client_for(
    base_url: str,
    options: ProviderOptions,
    headers: Mapping[str, str],
    resolve: Callable[[], str] | None,
    advice: str = "",
) -> HttpClient:
    """The client that a slot's options describe.  Raises ConfigurationError."""
    return HttpClient(
        base_url,
        headers=headers,
        connect_timeout_ms=options.connect_timeout_ms,
        receive_timeout_ms=options.receive_timeout_ms,
        max_retries=options.max_retries,
        proxy=options.proxy,
        resolve=resolve,
        advice=advice,
    )
