"""MCP over Streamable HTTP: each request is a POST whose answer is JSON or a stream of events.

Legacy revisions may have a session (its id comes with `initialize`) and a standing GET stream for
what the server says unasked, and a stream that breaks is taken up again behind its last event.
The modern revision has none of that; its requests name their method, tool and marked arguments in
headers, and closing the answer cancels the request.  Source: SPEC section 7.
"""

import logging
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from mead.actors.exits import Outcome
from mead.actors.green import Timeout, sleep_ms, time_limit
from mead.actors.tasks import Task, TaskSupervisor, kill_all
from mead.config import ServerSettings
from mead.mcp.client.events import Event, EventBuffer
from mead.mcp.client.faults import ServerFault
from mead.mcp.client.http_session import MAXIMUM_BODY_BYTES, Answer, HttpSession
from mead.mcp.client.http_stream import Stream, addressed, answers, messages_in
from mead.mcp.client.offers import header_value
from mead.mcp.client.refusals import error_in
from mead.mcp.client.transport import NO_HEADERS, Sink
from mead.mcp.client.versions import batch_limit, is_modern
from mead.mcp.jsonrpc import (
    Id,
    Malformed,
    Message,
    Notification,
    NotJson,
    Request,
    Response,
    decode_each,
    encode,
    object_or_empty,
)

log = logging.getLogger(__name__)

ERRAND_MS: Final = 5000
"""In all, for a notification, a reply or a DELETE; nobody depends on what is answered."""
STREAM_SILENCE_MS: Final = 300_000
"""A standing stream that says nothing for so long, not even a comment, is opened anew."""

_TASKS_END_MS: Final = 1000
_LAST_STEP: Final = "notifications/initialized"
_OPEN_ENDED: Final = "subscriptions/listen"
_BOTH: Final = {"Accept": "application/json, text/event-stream"}
_STREAM: Final = {"Accept": "text/event-stream"}


class HttpTransport:
    """See Transport."""

    def __init__(self, settings: ServerSettings, tasks: TaskSupervisor) -> None:
        self._name = settings.name
        headers = {name: secret.reveal() for name, secret in settings.headers.items()}
        self._http = HttpSession(settings.url or "", headers, settings.proxy)
        self._handshake_ms = settings.handshake_timeout_ms
        self._silence_ms = max(settings.call_timeout_ms, settings.handshake_timeout_ms)
        self._tasks = tasks
        self._running: dict[Id, Task[None]] = {}
        self._errands: set[Task[None]] = set()
        self._sink: Sink | None = None
        self._version: str | None = None
        self._session_id: str | None = None
        self._forgotten = False
        """The server does not know the session any more."""
        self._closed = False
        self.noise = 0
        """Events that were no JSON-RPC."""

    def open(self, sink: Sink) -> None:
        """See Transport: nothing is sent before there is something to say."""
        self._sink = sink

    def agree(self, version: str | None) -> None:
        """See Transport."""
        self._version = version

    def send(self, message: Message, headers: Mapping[str, str] = NO_HEADERS) -> None:
        """See Transport."""
        sink = self._sink
        if sink is None or self._closed:
            raise ServerFault("connection_lost", "the connection is closed")
        try:
            body = encode(message)
        except NotJson:
            raise ServerFault("not_json", "the arguments cannot be written as JSON") from None
        if isinstance(message, Request):
            work = partial(self._exchange, sink, message, body, dict(headers))
            task = self._tasks.start(
                work,
                name=f"{self._name} {message.method}",
                on_end=partial(self._exchanged, sink, message),
            )
            self._running[message.id] = task
            return
        last_step = isinstance(message, Notification) and message.method == _LAST_STEP
        self._tell(message, body, self._handshake_ms if last_step else ERRAND_MS)
        if last_step:
            self._errand(partial(self._stand, sink))

    def abandon(self, request_id: Id, *, cancel: bool) -> None:
        """See Transport."""
        task = self._running.pop(request_id, None)
        if task is not None:
            task.kill()
        if cancel and not self._modern and not self._closed:
            gone = Notification("notifications/cancelled", {"requestId": request_id})
            self._errand(partial(self._tell, gone, encode(gone), ERRAND_MS))

    def close(self) -> None:
        """See Transport.  Blocks on: network, ERRAND_MS at most, to end a session."""
        if self._closed:
            return
        self._closed = True
        kill_all([*self._running.values(), *self._errands], _TASKS_END_MS)
        if self._session_id is not None and not self._forgotten:
            ending = self._tasks.start(self._delete, name=f"{self._name}: end the session")
            ending.wait(ERRAND_MS)
            ending.kill()
        self._http.close()

    # -- requests ----------------------------------------------------------------------------------

    @property
    def _modern(self) -> bool:
        return self._version is not None and is_modern(self._version)

    def _headers(self, message: Message | None = None) -> dict[str, str]:
        headers = {"Content-Type": "application/json", **_BOTH}
        if self._session_id is not None:
            headers["Mcp-Session-Id"] = self._session_id
        if self._version is not None:
            headers["MCP-Protocol-Version"] = self._version
        if self._modern and isinstance(message, Request | Notification):
            headers["Mcp-Method"] = message.method
            name = object_or_empty(message.params).get("name")
            if message.method == "tools/call" and isinstance(name, str):
                headers["Mcp-Name"] = header_value(name)
        return headers

    def _exchange(self, sink: Sink, request: Request, body: bytes, headers: dict[str, str]) -> None:
        """In a task: one request and its answer.  Raises ServerFault."""
        own = self._headers(request)
        open_ended = request.method == _OPEN_ENDED
        silence_ms = STREAM_SILENCE_MS if open_ended else self._silence_ms
        stream = Stream(request.id, None if open_ended else MAXIMUM_BODY_BYTES)
        with self._http.ask("POST", {**own, **headers}, body, silence_ms=silence_ms) as answer:
            if answer.status != 200:
                self._refused(sink, request, answer)
                return
            if request.method == "initialize":
                # Only here: some servers put a fresh id on every refusal too.
                stream.session = answer.headers.get("mcp-session-id")
            if answer.media_type != "text/event-stream":
                self._json(sink, request, answer, stream)
                return
            done = self._follow(sink, answer, stream)
        if not done:
            self._resume(sink, stream)

    def _exchanged(self, sink: Sink, request: Request, outcome: Outcome[None]) -> None:
        """Runs in the hub."""
        self._running.pop(request.id, None)
        fault = outcome.error
        if not isinstance(fault, Exception):
            return
        if not isinstance(fault, ServerFault):
            log.error("%s: an exchange failed: %s", self._name, type(fault).__name__)
            fault = ServerFault("bad_response", "the answer could not be read")
        if fault.code in ("unauthorized", "unreachable"):
            sink.unusable(fault)  # first: its caller may at once ask for the next handshake
        sink.failed(request.id, fault)

    def _json(self, sink: Sink, request: Request, answer: Answer, stream: Stream) -> None:
        if answer.media_type != "application/json":
            raise ServerFault("bad_response", "the answer is neither JSON nor a stream of events")
        answered = False
        for message in messages_in(answer.body(), batch_limit(self._version)):
            answered |= self._receive(sink, addressed(message, request.id), stream)
        if not answered:
            raise ServerFault("bad_response", "the answer is for another request")

    def _refused(self, sink: Sink, request: Request, answer: Answer) -> None:
        """Every status but 200.  Raises ServerFault, unless the body holds the server's error."""
        status = answer.status
        if status in (401, 403):
            raise ServerFault("unauthorized", f"the server answered HTTP {status}; check headers")
        if status < 400:
            raise ServerFault("rejected", f"the server answered a request with HTTP {status}")
        body = answer.body() if answer.media_type == "application/json" else b""
        try:
            error = error_in(status, body, request.id, in_session=self._session_id is not None)
        except ServerFault as fault:
            self._forgotten |= fault.code == "unknown_session"
            raise
        sink.received(error)

    # -- streams -----------------------------------------------------------------------------------

    def _follow(self, sink: Sink, answer: Answer, stream: Stream) -> bool:
        """Hand on what a stream says; whether the awaited answer was in it.

        A stream that breaks just ends.  Raises ServerFault for one that cannot be read.
        """
        buffer = EventBuffer()
        try:
            for data in answer.chunks(stream.limit):
                if self._hand_on(sink, buffer.feed(data), stream):
                    answer.drain()
                    return True
        except ServerFault as fault:
            if fault.code not in ("connection_lost", "timeout"):
                raise
        return self._hand_on(sink, buffer.flush(), stream)

    def _hand_on(self, sink: Sink, events: list[Event], stream: Stream) -> bool:
        done = False
        for event in events:
            stream.note(event)
            if not event.data or event.kind != "message":
                continue  # without data: a priming event, for its id alone
            try:
                messages = decode_each(event.data, batch_limit(self._version))
            except Malformed:
                self.noise += 1
                continue
            for message in messages:
                done |= self._receive(sink, message, stream)
        return done

    def _receive(self, sink: Sink, message: Message, stream: Stream) -> bool:
        """Hand on one message; whether it is the awaited answer."""
        done = answers(message, stream.awaited)
        if done and stream.session is not None and isinstance(message, Response):
            self._session_id = stream.session
        sink.received(message)
        return done

    def _resume(self, sink: Sink, stream: Stream) -> None:
        """Take up a stream that broke, behind its last event.  Raises ServerFault."""
        lost = ServerFault("connection_lost", "the stream ended before the answer")
        if self._modern:
            raise lost
        while stream.may_resume():
            sleep_ms(stream.retry_ms)
            headers = {**self._headers(), **_STREAM, "Last-Event-ID": stream.last_id or ""}
            if stream.session is not None:
                headers["Mcp-Session-Id"] = stream.session
            try:
                with self._http.ask("GET", headers, silence_ms=self._silence_ms) as answer:
                    if answer.status == 200 and answer.media_type == "text/event-stream":
                        if self._follow(sink, answer, stream):
                            return
                    elif 400 <= answer.status < 500:
                        break
            except ServerFault as fault:
                if fault.code not in ("unreachable", "connection_lost", "timeout"):
                    raise
        raise lost

    def _stand(self, sink: Sink) -> None:
        """In a task: the standing GET stream of a legacy server, for as long as it has one."""
        stream = Stream(None, None)
        stream.note(Event("", ""))
        while stream.may_resume():
            began = time.monotonic()
            headers = {**self._headers(), **_STREAM}
            if stream.last_id:
                headers["Last-Event-ID"] = stream.last_id
            try:
                with self._http.ask("GET", headers, silence_ms=STREAM_SILENCE_MS) as answer:
                    if answer.status != 200 or answer.media_type != "text/event-stream":
                        return  # 405: it has none; 409: another one is open
                    stream.opened()
                    self._follow(sink, answer, stream)
            except ServerFault as fault:
                log.debug("%s: standing stream: %s", self._name, fault)
            sleep_ms(stream.pause_ms(time.monotonic() - began))

    # -- errands: what has no answer ---------------------------------------------------------------

    def _errand(self, work: Callable[[], None]) -> None:
        task = self._tasks.start(work, name=f"{self._name}: errand", on_end=self._ran)
        self._errands.add(task)

    def _ran(self, outcome: Outcome[None]) -> None:
        del outcome
        self._errands = {task for task in self._errands if not task.done}

    def _tell(self, message: Message, body: bytes, limit_ms: float) -> None:
        """Post what wants no answer.  Raises ServerFault.  Blocks on: network, `limit_ms`."""
        headers = self._headers(message)
        limit = time_limit(limit_ms)
        try:
            with self._http.ask("POST", headers, body, silence_ms=limit_ms) as answer:
                if answer.status in (401, 403):
                    raise ServerFault("unauthorized", f"the server answered HTTP {answer.status}")
                answer.drain()
        except Timeout as expired:
            if expired is not limit:
                raise
            raise ServerFault("timeout", "the server did not take a message in time") from None
        finally:
            limit.close()

    def _delete(self) -> None:
        with self._http.ask("DELETE", self._headers(), silence_ms=ERRAND_MS) as answer:
            answer.drain()
