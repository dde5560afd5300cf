"""The embedded model: a real llama.cpp server answers.  Spec: section 5, issue 2."""

import hashlib

import gevent
import pytest
from gevent.event import Event

from mead.config.settings import ProviderOptions
from mead.errors import TurnFailed
from mead.protocols import StreamingProvider, Tool, ToolProvider
from mead.providers.embedded import EmbeddedProvider
from mead.providers.embedded_model import bundled_model
from tests.helpers.embedded import ask, get
from tests.helpers.waiting import eventually

STORY = "Tell me a very long story about bees."
TOOL = Tool(
    name="files__read",
    server="files",
    tool="read",
    kind="read",
    description="Read a file",
    schema={"type": "object", "properties": {}},
)


def test_the_bundled_model_says_real_words_without_a_key_or_a_server(start):
    """Issue 2: a new user gets real answers with no key and no server."""
    provider = start(model="smollm2", model_file=None, threads=2)
    shown: list[str] = []
    reply = provider.converse_stream(ask("Say hello"), shown.append)
    assert len(shown) > 3
    assert "".join(shown) == reply.text
    assert reply.text.isascii()
    assert reply.text.count(" ") > 2
    assert reply.stop_reason == "max_tokens"
    assert reply.usage.output == 8


def test_the_bundled_model_is_the_one_that_was_chosen():
    """PROVIDERS section 6."""
    digest = hashlib.sha256(bundled_model().read_bytes()).hexdigest()
    assert digest == "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def test_a_call_waits_for_the_model_to_load(start):
    assert start().complete(ask()).text


def test_a_call_does_not_wait_longer_than_its_receive_timeout(start):
    provider = start(model_file=None, receive_timeout_ms=1)
    with pytest.raises(TurnFailed) as failed:
        provider.complete(ask())
    assert failed.value.reason == "provider_unavailable"
    assert "still loading" in failed.value.message


def test_without_its_server_the_provider_is_unavailable(tiny_model):
    provider = EmbeddedProvider(ProviderOptions(model="tiny", model_file=tiny_model))
    with pytest.raises(TurnFailed) as failed:
        provider.complete(ask())
    assert failed.value.reason == "provider_unavailable"
    assert provider.host is None


def test_it_is_a_provider_with_tools_and_streams(start):
    provider = start()
    assert isinstance(provider, ToolProvider)
    assert isinstance(provider, StreamingProvider)
    assert (provider.name, provider.model) == ("embedded", "tiny")
    provider.endpoint.wait(5000)
    assert provider.host.startswith("127.0.0.1:")


def test_a_model_without_tools_fails_the_turn_as_soon_as_one_is_visible(start):
    """Seed R: a local model that does not support tools fails with tools_unsupported."""
    provider = start()
    with pytest.raises(TurnFailed) as failed:
        provider.converse(ask(tools=(TOOL,)))
    assert failed.value.reason == "tools_unsupported"
    assert provider.converse(ask()).text


def test_a_model_with_a_tool_template_is_shown_the_tools(start, tiny_tool_model):
    """The template itself writes them into the prompt, so the prompt has more tokens."""
    provider = start(model_file=tiny_tool_model)
    without = provider.converse(ask()).usage
    shown = provider.converse(ask(tools=(TOOL,))).usage
    assert shown.input + shown.cache_read > without.input + without.cache_read + 50


def test_a_prompt_longer_than_the_context_is_refused(start):
    provider = start(context=256)
    with pytest.raises(TurnFailed) as failed:
        provider.complete(ask("hello " * 200))
    assert failed.value.reason == "context_too_long"


def test_calls_beyond_the_places_wait_their_turn(start):
    provider = start(max_tokens=16)
    calls = [gevent.spawn(provider.complete, ask(str(number))) for number in range(6)]
    gevent.joinall(calls, timeout=15, raise_error=True)
    assert [call.value.usage.output for call in calls] == [16] * 6


def test_a_call_that_finds_no_place_in_time_is_told_so(start):
    provider = start(max_tokens=4000, receive_timeout_ms=300)
    answering = [Event(), Event()]
    busy = [
        gevent.spawn(provider.converse_stream, ask(), lambda text, each=each: each.set())
        for each in answering
    ]
    assert all(each.wait(5) for each in answering)
    with pytest.raises(TurnFailed) as failed:
        provider.complete(ask())
    assert failed.value.reason == "overloaded"
    gevent.killall(busy)


def test_a_killed_call_frees_its_slot_within_a_second(start):
    """Issue 2: cancelling a turn frees the model server's slot within a second.

    Left alone, the bundled model would go on for more than a minute.
    """
    provider = start(model_file=None, max_tokens=4000, show_slots=True)

    def busy() -> int:
        return sum(slot["is_processing"] for slot in get(provider, "/slots", key=True).json())

    shown = Event()
    call = gevent.spawn(provider.converse_stream, ask(STORY), lambda text: shown.set())
    assert shown.wait(5)
    assert busy() == 1
    call.kill()
    assert eventually(lambda: busy() == 0, bound_s=1)
