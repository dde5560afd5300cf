"""A provider of the operator's own on the slot local is held to its promise.  Spec: section 5."""

import pytest

from mead.errors import TurnFailed
from mead.protocols import ModelReply, ModelRequest, StreamingProvider, ToolProvider
from mead.providers.factory import boot_check
from mead.providers.guarded import GuardedProvider
from mead.providers.locality import BootCheck
from tests.helpers.model_words import ask
from tests.helpers.server import free_port

HERE = "127.0.0.1:11434"
ELSEWHERE = "203.0.113.7:80"


class Plain:
    """Answers, and counts how often."""

    name = "own"
    model = "m"

    def __init__(self, host: str | None = HERE) -> None:
        self.host = host
        self.asked: list[str] = []

    def complete(self, request: ModelRequest) -> ModelReply:
        return self.answer("complete", request)

    def answer(self, how: str, request: ModelRequest) -> ModelReply:
        self.asked.append(how)
        return ModelReply(text=request.prompt, stop_reason="end_turn")


class Able(Plain):
    """Can all that a provider can."""

    closed = False

    def converse(self, request: ModelRequest) -> ModelReply:
        return self.answer("converse", request)

    def converse_stream(self, request, on_text) -> ModelReply:
        on_text(request.prompt)
        return self.answer("converse_stream", request)

    def close(self) -> None:
        self.closed = True


class Trusting(Plain):
    """Says of itself that all is well."""

    def boot_check(self) -> BootCheck:
        return BootCheck()


class Careful(Plain):
    def boot_check(self) -> BootCheck:
        return BootCheck(fault="no", warning="maybe")


def calls(provider):
    """Every way to ask it."""
    return (
        lambda: provider.complete(ask()),
        lambda: provider.converse(ask()),
        lambda: provider.converse_stream(ask(), lambda _: None),
    )


def reason(call) -> str:
    with pytest.raises(TurnFailed) as failed:
        call()
    return failed.value.reason


def test_every_call_goes_through_to_a_host_here():
    own = Able()
    guarded = GuardedProvider(own)
    for call in calls(guarded):
        assert call().text == ask().prompt
    assert own.asked == ["complete", "converse", "converse_stream"]
    shown: list[str] = []
    guarded.converse_stream(ask(), shown.append)
    assert shown == [ask().prompt]
    assert (guarded.name, guarded.model, guarded.host) == ("own", "m", HERE)


def test_no_call_goes_through_to_a_host_elsewhere():
    own = Able(ELSEWHERE)
    assert [reason(call) for call in calls(GuardedProvider(own))] == ["not_local"] * 3
    assert own.asked == []


def test_a_host_that_changes_after_the_boot_is_noticed_at_the_turn():
    own = Able()
    guarded = GuardedProvider(own)
    assert boot_check("local", guarded).fault is None
    guarded.complete(ask())
    own.host = ELSEWHERE
    assert [reason(call) for call in calls(guarded)] == ["not_local"] * 3
    own.host = "localhost:1"
    guarded.complete(ask())
    assert own.asked == ["complete", "complete"]


@pytest.mark.parametrize("host", ["", ":80", "::1:80", "127.0.0.1:port", "[::1", "127.0.0.1:99999"])
def test_a_host_that_cannot_be_read_is_refused(host):
    own = Able(host)
    guarded = GuardedProvider(own)
    assert [reason(call) for call in calls(guarded)] == ["not_local"] * 3
    assert boot_check("local", guarded).fault is not None
    assert own.asked == []


def test_a_host_without_an_address_is_asked_nothing():
    own = Plain("nowhere.invalid:80")
    guarded = GuardedProvider(own)
    assert reason(lambda: guarded.complete(ask())) == "provider_unavailable"
    assert boot_check("local", guarded).warning is not None
    assert own.asked == []


def test_a_provider_that_names_no_host_uses_no_network():
    guarded = GuardedProvider(Plain(None))
    assert boot_check("local", guarded) == BootCheck()
    assert guarded.complete(ask()).text == ask().prompt


def test_allow_remote_lifts_it_at_boot_and_at_the_turn():
    own = Able(ELSEWHERE)
    guarded = GuardedProvider(own, allow_remote=True)
    assert boot_check("local", guarded).fault is None
    assert [call().text for call in calls(guarded)] == [ask().prompt] * 3


def test_it_can_what_its_provider_can_and_no_more():
    plain, able = GuardedProvider(Plain()), GuardedProvider(Able())
    assert not isinstance(plain, ToolProvider | StreamingProvider)
    assert isinstance(able, ToolProvider)
    assert isinstance(able, StreamingProvider)


def test_closing_it_closes_its_provider():
    own = Able()
    GuardedProvider(own).close()
    assert own.closed
    GuardedProvider(Plain()).close()


def test_what_a_provider_says_of_itself_adds_to_the_check_and_does_not_replace_it():
    assert boot_check("local", GuardedProvider(Trusting(ELSEWHERE))).fault is not None
    assert boot_check("local", GuardedProvider(Trusting(None))) == BootCheck()
    assert boot_check("local", GuardedProvider(Careful(None))).fault == "no"
    port = free_port()
    unreachable = boot_check("local", GuardedProvider(Trusting(f"127.0.0.1:{port}")))
    assert unreachable.fault is None
    assert str(port) in str(unreachable.warning)
