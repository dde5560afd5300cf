"""The actor: one greenlet, one mailbox, one owner of its state.  OTP's GenServer.

Theory of operation.  `start()` runs `on_start` in the caller's greenlet (so that its error is the
caller's, as with `init`) and then spawns the loop.  The loop takes one message at a time.  A
MeadError that `handle_call` raises is the caller's answer and the actor goes on; anything else
ends the actor ("let it crash") and its supervisor decides.  However the loop ends, by return, by
error or by kill, the teardown runs once: linked tasks are killed, `on_stop` runs, every caller
still waiting gets ActorDied, and the watchers are told.
"""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

import gevent
from gevent import Greenlet, GreenletExit

from mead.actors.exits import (
    KILLED,
    NORMAL,
    ActorDied,
    CallTimeout,
    Exit,
    MailboxFull,
)
from mead.actors.mailbox import Envelope, Mailbox, Reply
from mead.errors import MeadError

log = logging.getLogger(__name__)

CALL_TIMEOUT_MS: Final = 5000
"""As GenServer.call: long enough for a slow disk, short enough that a hung actor shows."""

STOP_TIMEOUT_MS: Final = 5000

MAILBOX_LIMIT: Final = 10_000
"""Far above what any actor here holds in health; a bound so that a stuck one cannot eat memory."""

if TYPE_CHECKING:  # gevent's class is generic in its stubs alone
    AnyGreenlet = Greenlet[..., Any]


class _NoReply:
    """The type of NO_REPLY."""


NO_REPLY: Final = _NoReply()
"""What `handle_call` returns when the answer comes later, through `self.answer(reply, value)`."""


class _Stop:
    """The message that ends the loop in order."""


_STOP: Final = _Stop()


class Linked(Protocol):
    """Something that must not outlive the actor that started it."""

    def kill(self) -> None: ...


class ActorRef:
    """The address of an actor: all that others hold of it."""

    __slots__ = ("_actor",)

    def __init__(self, actor: "Actor") -> None:
        self._actor = actor

    @property
    def alive(self) -> bool:
        """Whether the actor still takes messages."""
        return self._actor.exit is None

    def call(self, message: object, timeout_ms: float | None = CALL_TIMEOUT_MS) -> Any:
        """Send `message` and wait for its answer.

        With `timeout_ms` None the wait ends with the answer or with the actor, whichever is first.
        Raises what `handle_call` raised (a MeadError), ActorDied, CallTimeout, MailboxFull.
        Blocks on: the actor's mailbox.
        """
        reply = Reply()
        self._actor.deliver((reply, message))
        try:
            return reply.get(None if timeout_ms is None else timeout_ms / 1000)
        except TimeoutError:
            raise CallTimeout(f"{self._actor.name} did not answer in {timeout_ms} ms") from None

    def cast(self, message: object) -> None:
        """Send `message` and go on; nothing happens if the actor has ended.

        Raises MailboxFull.  Blocks on: nothing (safe in the hub).
        """
        if self._actor.exit is None:
            self._actor.deliver((None, message))

    def stop(self, timeout_ms: float = STOP_TIMEOUT_MS) -> None:
        """End the actor once it has read what it was sent; kill it after `timeout_ms`."""
        self._actor.stop(timeout_ms)

    def kill(self) -> None:
        """End the actor at its next wait.  Blocks on: nothing."""
        self._actor.kill()

    def on_end(self, callback: Callable[[Exit], Any]) -> None:
        """Have `callback(exit)` called once at the end (it must not block); at once if ended."""
        self._actor.on_end(callback)


class Actor:
    """Base class.  Subclasses override the hooks; all of them but `on_start` run in the loop."""

    name: str = "actor"
    mailbox_limit: ClassVar[int] = MAILBOX_LIMIT

    exit: Exit | None = None
    _began = False
    _greenlet: "AnyGreenlet | None" = None
    _handling: Reply | None = None
    _deferred: set[Reply] | None = None
    _links: set[Linked] | None = None
    _watchers: tuple[Callable[[Exit], Any], ...] = ()

    # -- hooks -------------------------------------------------------------------------------------

    def on_start(self) -> None:
        """Prepare.  Runs in the greenlet that starts the actor; what it raises, `start` raises."""

    def on_stop(self, exit_: Exit) -> None:
        """Clean up.  Runs once, however the actor ends; an error here is logged and dropped."""

    def handle_call(self, message: Any, reply: Reply) -> Any:
        """Answer a call: return the answer, or NO_REPLY and `answer` later, or raise MeadError."""
        raise NotImplementedError(f"{self.name} takes no calls")

    def handle_cast(self, message: Any) -> None:
        """Take a message that wants no answer."""
        raise NotImplementedError(f"{self.name} takes no casts")

    # -- for subclasses ----------------------------------------------------------------------------

    def answer(self, reply: Reply, value: object) -> None:
        """Give a deferred call its answer; a MeadError is raised at the caller."""
        if self._deferred is not None:
            self._deferred.discard(reply)
        if isinstance(value, MeadError):
            reply.set_exception(value)
        else:
            reply.set(value)

    def link(self, task: Linked) -> None:
        """Have `task` killed when this actor ends."""
        if self._links is None:
            self._links = set()
        self._links.add(task)

    def unlink(self, task: Linked) -> None:
        """Forget a link; nothing happens if there is none."""
        if self._links is not None:
            self._links.discard(task)

    @property
    def ref(self) -> ActorRef:
        """This actor's own address, for messages to itself."""
        return self._ref

    # -- lifetime ----------------------------------------------------------------------------------

    def start(self) -> ActorRef:
        """Run `on_start`, spawn the loop, return the address.  Raises what `on_start` raises."""
        self._mailbox = Mailbox()
        self._ref = ActorRef(self)
        self.on_start()
        self._greenlet = Greenlet.spawn(self._loop)
        self._greenlet.rawlink(self._greenlet_ended)
        return self._ref

    def deliver(self, envelope: Envelope) -> None:
        """Put into the mailbox.  Raises ActorDied, MailboxFull."""
        if self.exit is not None:
            raise ActorDied(self.name, self.exit, unread=True)
        if len(self._mailbox) >= self.mailbox_limit:
            raise MailboxFull(f"{self.name} has {self.mailbox_limit} unread messages")
        self._mailbox.put(envelope)

    def stop(self, timeout_ms: float) -> None:
        """See ActorRef.stop."""
        greenlet = self._greenlet
        if greenlet is None or self.exit is not None:
            return
        self._mailbox.put((None, _STOP))
        if greenlet is gevent.getcurrent():
            return
        greenlet.join(timeout_ms / 1000)
        if not greenlet.ready():
            log.warning("%s did not stop in %d ms and is killed", self.name, timeout_ms)
            greenlet.kill(block=True, timeout=1)

    def kill(self) -> None:
        """See ActorRef.kill."""
        if self._greenlet is not None:
            self._greenlet.kill(block=False)

    def on_end(self, callback: Callable[[Exit], Any]) -> None:
        """See ActorRef.on_end."""
        if self.exit is not None:
            callback(self.exit)
        else:
            self._watchers = (*self._watchers, callback)

    def _loop(self) -> None:
        self._began = True
        exit_ = NORMAL
        get = self._mailbox.get
        try:
            while True:
                reply, message = get()
                if reply is not None:
                    self._handle_call(message, reply)
                elif message is _STOP:
                    break
                else:
                    self.handle_cast(message)
        except GreenletExit:
            exit_ = KILLED
        except BaseException as error:  # noqa: BLE001 - the supervisor is told, and decides
            exit_ = Exit("crashed", error)
        self._teardown(exit_)

    def _handle_call(self, message: object, reply: Reply) -> None:
        self._handling = reply  # so that a crash in between still answers the caller
        try:
            value = self.handle_call(message, reply)
        except MeadError as error:
            reply.set_exception(error)
        else:
            if value is not NO_REPLY:
                reply.set(value)
            elif not reply.ready():
                if self._deferred is None:
                    self._deferred = set()
                self._deferred.add(reply)
        self._handling = None

    def _teardown(self, exit_: Exit) -> None:
        self.exit = exit_
        for task in self._links or ():
            task.kill()
        try:
            self.on_stop(exit_)
        except GreenletExit:
            log.warning("%s was killed while it cleaned up", self.name)
        except Exception as error:  # noqa: BLE001 - it is ending anyway
            log.warning("%s failed while it cleaned up: %s", self.name, type(error).__name__)
        died = ActorDied(self.name, exit_)
        for reply in (self._handling, *(self._deferred or ())):
            if reply is not None and not reply.ready():
                reply.set_exception(died)
        unread = ActorDied(self.name, exit_, unread=True)
        while self._mailbox:
            reply, _ = self._mailbox.get()
            if reply is not None:
                reply.set_exception(unread)

    def _greenlet_ended(self, _: "AnyGreenlet") -> None:
        """Runs in the hub.  A greenlet killed before its first step never entered `_loop`."""
        if not self._began:
            self._began = True
            self._greenlet = Greenlet.spawn(self._teardown, KILLED)
            self._greenlet.rawlink(self._greenlet_ended)
            return
        watchers, self._watchers = self._watchers, ()
        for callback in watchers:
            callback(self.exit or KILLED)
