"""What waits for a person: permissions of tool calls, and questions of the model.

Deciding: the level of the policy first, then the rules that a person made with `allow_always`, then
the person.  The first valid answer wins; nobody's answer in time resolves a permission as expired
and a choice with no option.  Source: seed A9, "Permissions" and "Questions"; SPEC section 8.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final, Literal, NamedTuple

from mead.actors.actor import NO_REPLY, Actor, Reply
from mead.actors.timer import Timer
from mead.config.settings import DeckSettings, PolicyLevel
from mead.deck import builders
from mead.deck.endings import close_request, close_requests
from mead.deck.entries import Request
from mead.deck.events import NewEvent
from mead.deck.frames import ExtendRequest, FrameFault, RespondChoice, RespondPermission
from mead.deck.messages import AskerGone, Authorize, Choose, Expire
from mead.deck.recorder import Recorder
from mead.protocols import ToolClass
from mead.turn import iso_ms, utc_now

MAXIMUM_EXTENSIONS: Final = 10

_STRICTNESS: Final[Sequence[PolicyLevel]] = (
    "allow_all",
    "ask_for_risky",
    "ask_for_all",
    "read_only",
)

Verdict = Literal["allow", "reject", "ask"]


class Ruling(NamedTuple):
    """What becomes of a call before anyone is asked."""

    verdict: Verdict
    by_rule: str | None = None
    by_policy: PolicyLevel | None = None


def rule_on(level: PolicyLevel, kind: ToolClass, tool: str, *, is_remembered: bool) -> Ruling:
    """Whether a call of that class may run, may not, or has to be asked about."""
    if level == "ask_for_all":
        return Ruling("ask")
    if kind == "read" or level == "allow_all":
        return Ruling("allow", by_policy=level)
    if level == "read_only":
        return Ruling("reject", by_policy=level)
    return Ruling("allow", by_rule=tool) if is_remembered else Ruling("ask")


class _Waiting:
    """Whoever waits for an answer, and until when."""

    __slots__ = ("asked", "reply", "timer")

    def __init__(self, asked: Authorize | Choose, reply: Reply, timer: Timer) -> None:
        self.asked = asked
        self.reply = reply
        self.timer = timer


class Requests:
    """The requests of one conversation; used by its channel alone."""

    def __init__(self, channel: Actor, recorder: Recorder, settings: DeckSettings) -> None:
        self._channel = channel
        self._recorder = recorder
        self._settings = settings
        self._waiting: dict[str, _Waiting] = {}
        self._is_leaving = False

    @property
    def _level(self) -> PolicyLevel:
        return self._recorder.state.policy_level or self._settings.default_policy_level

    # -- asking ------------------------------------------------------------------------------------

    def authorize(self, asked: Authorize, reply: Reply) -> object:
        """Show the call, and what it may; answers a bool, now or later."""
        use, state = asked.use, self._recorder.state
        ruling = rule_on(
            self._level,
            use.kind,
            use.name,
            is_remembered=use.name in state.remembered,
        )
        request = builders.permission_requested(asked.turn_id, use, use.arguments, self._expiry())
        request_id: str = request.payload["request_id"]
        events = [builders.tool_call_started(asked.turn_id, use, use.arguments), request]
        if ruling.verdict != "ask":
            events.append(_ruled(request_id, ruling))
        elif self._is_leaving:
            events.append(builders.permission_resolved(request_id, "expired"))
        self._recorder.record(events)
        if ruling.verdict != "ask" or self._is_leaving:
            return ruling.verdict == "allow"
        return self._wait(request_id, asked, reply)

    def choose(self, asked: Choose, reply: Reply) -> object:
        """Show the question; answers an option or None, later."""
        request = builders.choice_requested(
            asked.turn_id, asked.prompt, asked.options, self._expiry()
        )
        request_id: str = request.payload["request_id"]
        if self._is_leaving:
            self._recorder.record([request, builders.choice_resolved(request_id, None, None)])
            return None
        self._recorder.record([request])
        return self._wait(request_id, asked, reply)

    def _wait(self, request_id: str, asked: Authorize | Choose, reply: Reply) -> object:
        self._waiting[request_id] = _Waiting(asked, reply, self._timer(request_id))
        return NO_REPLY

    def set_policy(self, level: PolicyLevel, device: str) -> None:
        """From now on; `read_only` also refuses the effects that wait for an answer.

        Nothing is logged where that level was set already.  Raises FrameFault for a looser level
        while the log is full; a stricter one is always taken, which cannot go on for long.
        """
        log, state = self._recorder.log, self._recorder.state
        if state.policy_level == level:
            return
        if log.is_full and _STRICTNESS.index(level) < _STRICTNESS.index(self._level):
            raise FrameFault("log_full", "policy.set")
        refused = [
            id_ for id_, each in state.pending.items() if level == "read_only" and _is_effect(each)
        ]
        ruling = Ruling("reject", by_policy=level)
        self._recorder.record(
            [builders.policy_updated(level, device), *(_ruled(id_, ruling) for id_ in refused)]
        )
        for id_ in refused:
            self._answer(id_, False)

    # -- answers -----------------------------------------------------------------------------------

    def respond_permission(self, frame: RespondPermission, device: str) -> Sequence[int]:
        """A device answered; the sequences that it is to be sent again, if it was late."""
        request = self._recorder.state.pending.get(frame.request_id)
        if request is None or request.kind != "permission":
            return self._late(frame.request_id, "permission.respond")
        tool = request.payload["tool"]
        remember = tool if frame.answer == "allow_always" else None
        events = [
            builders.permission_resolved(
                frame.request_id, frame.answer, by_device=device, remember=remember
            )
        ]
        alike = self._alike(frame.request_id, tool) if remember is not None else []
        events += (builders.permission_resolved(id_, "allow_once", by_rule=tool) for id_ in alike)
        self._recorder.record(events)
        allowed = frame.answer != "reject_once"
        for id_ in (frame.request_id, *alike):
            self._answer(id_, allowed)
        return ()

    def respond_choice(self, frame: RespondChoice, device: str) -> Sequence[int]:
        """As `respond_permission`.  Raises FrameFault for an option that was not offered."""
        request = self._recorder.state.pending.get(frame.request_id)
        if request is None or request.kind != "choice":
            return self._late(frame.request_id, "choice.respond")
        if frame.option not in request.payload["options"]:
            raise FrameFault("unknown_option", "choice.respond", frame.request_id)
        self._recorder.record([builders.choice_resolved(frame.request_id, frame.option, device)])
        self._answer(frame.request_id, frame.option)
        return ()

    def extend(self, frame: ExtendRequest, device: str) -> Sequence[int]:
        """A person wants more time.  Raises FrameFault after too many times."""
        request = self._recorder.state.pending.get(frame.request_id)
        if request is None:
            return self._late(frame.request_id, "request.extend")
        if request.extensions >= MAXIMUM_EXTENSIONS:
            raise FrameFault("extended_too_often", "request.extend", frame.request_id)
        self._recorder.record([builders.request_extended(frame.request_id, self._expiry(), device)])
        waiting = self._waiting.get(frame.request_id)
        if waiting is not None:
            waiting.timer.cancel()
            waiting.timer = self._timer(frame.request_id)
        return ()

    def _late(self, request_id: str, type_: str) -> Sequence[int]:
        resolved = self._recorder.state.resolved.get(request_id)
        if resolved is None:
            raise FrameFault("unknown_id", type_, request_id)
        return (resolved,)

    def _alike(self, request_id: str, tool: str) -> list[str]:
        """Other permissions that the same rule decides; none where the level outranks the rules."""
        state = self._recorder.state
        if self._level in ("ask_for_all", "read_only"):
            return []
        return [id_ for id_, each in state.pending.items() if id_ != request_id and _is(each, tool)]

    # -- ends without an answer --------------------------------------------------------------------

    def expire(self, message: Expire) -> None:
        """Nobody answered in time."""
        if message.request_id in self._recorder.state.pending:
            self._recorder.record([close_request(self._recorder.state, message.request_id)])
            self._answer(message.request_id, None)

    def asker_gone(self, message: AskerGone) -> None:
        """The call or the turn that asked was ended."""
        for request_id, waiting in self._waiting.items():
            if waiting.asked is message.asked:
                self.expire(Expire(request_id))
                return

    def withdraw_all(self) -> None:
        """The turn is being cancelled: nobody shall answer, and whoever asks is about to end."""
        self._recorder.record(close_requests(self._recorder.state))

    def expire_all(self) -> None:
        """The server is leaving: nobody will answer, nor what is still going to be asked."""
        self._is_leaving = True
        self.withdraw_all()
        self.release_all()

    def release_all(self) -> None:
        """Tell whoever still waits that nobody answered."""
        for request_id in list(self._waiting):
            self._answer(request_id, None)

    def _answer(self, request_id: str, answer: bool | str | None) -> None:
        waiting = self._waiting.pop(request_id, None)
        if waiting is not None:
            waiting.timer.cancel()
            is_call = isinstance(waiting.asked, Authorize)
            self._channel.answer(waiting.reply, bool(answer) if is_call else answer)

    # -- time --------------------------------------------------------------------------------------

    def _timer(self, request_id: str) -> Timer:
        return Timer(self._channel.ref, self._settings.permission_timeout_ms, Expire(request_id))

    def _expiry(self) -> str:
        return iso_ms(utc_now() + timedelta(milliseconds=self._settings.permission_timeout_ms))


def _ruled(request_id: str, ruling: Ruling) -> NewEvent:
    return builders.permission_resolved(
        request_id,
        "allow_once" if ruling.verdict == "allow" else "reject_once",
        by_rule=ruling.by_rule,
        by_policy=ruling.by_policy,
    )


def _is(request: Request, tool: str) -> bool:
    return request.kind == "permission" and request.payload["tool"] == tool


def _is_effect(request: Request) -> bool:
    return request.kind == "permission" and request.payload["risk"] == builders.risk_of("effect")
