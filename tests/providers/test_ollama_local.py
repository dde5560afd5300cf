"""Ollama on the slot local: nothing leaves, not by its cloud either.  Spec: section 5."""

import pytest
from gevent.event import Event

from mead.protocols import ModelReply, ModelRequest, ToolAnswer, ToolRound
from mead.providers.locality import LocalGuard
from mead.providers.ollama import OllamaProvider
from tests.helpers.ollama_words import (
    HELLO,
    REQUEST,
    error,
    failure,
    lines,
    options,
    paths,
    stream,
)
from tests.helpers.replay_server import ReplayServer, Reply, answer


@pytest.fixture
def server():
    with ReplayServer() as replay:
        yield replay


def local(server: ReplayServer, model: str = "llama3.1", **given) -> OllamaProvider:
    given = options(server, model=model, **given)
    return OllamaProvider(given, guard=LocalGuard(given.base_url, allow_remote=given.allow_remote))


HERE = answer({"capabilities": ["completion", "tools"]})
REMOTE = {"remote_host": "https://ollama.com:443", "remote_model": "gpt-oss:120b"}


@pytest.mark.parametrize("shown", [REMOTE, {"remote_model": "x"}, {"remote_host": "https://x"}])
def test_a_model_that_runs_elsewhere_is_refused_before_the_prompt_leaves(server, shown):
    provider = local(server)
    assert failure(provider, server, answer(shown)).reason == "not_local"
    assert paths(server) == ["/api/show"]
    assert server.seen[0].json == {"model": "llama3.1"}
    assert "llama3.1" in provider.boot_check().fault
    provider.close()


@pytest.mark.parametrize("model", ["gpt-oss:120b-cloud", "glm-4.6:cloud", "Qwen3:Cloud", "x-cloud"])
def test_a_name_that_says_cloud_is_refused_without_asking(server, model):
    provider = local(server, model)
    assert failure(provider, server, stream(lines(*HELLO))).reason == "not_local"
    assert model in provider.boot_check().fault
    assert server.seen == []
    provider.close()


def test_another_model_named_in_extra_is_the_one_that_is_checked(server):
    provider = local(server, extra={"model": "gpt-oss:120b-cloud"})
    assert failure(provider, server, stream(lines(*HELLO))).reason == "not_local"
    assert server.seen == []
    provider.close()


def test_a_slot_may_allow_remote_models(server):
    server.replies = [stream(lines({**HELLO[-1], **REMOTE}))]
    provider = local(server, "gpt-oss:120b-cloud", allow_remote=True)
    assert provider.complete(REQUEST).stop_reason == "end_turn"
    assert paths(server) == ["/api/chat"]
    assert provider.boot_check().fault is None
    provider.close()


def test_each_turn_asks_anew_where_the_model_runs(server):
    """An alias can be pointed elsewhere at any time; only a tool loop believes the last answer."""
    call = {"function": {"name": "a__b", "arguments": {}}}
    wants = {"message": {"role": "assistant", "content": "", "tool_calls": [call]}, "done": True}
    server.replies = [HERE, answer(wants), stream(lines(*HELLO))]
    provider = local(server)
    provider.complete(with_round(provider.converse(REQUEST)))
    assert paths(server) == ["/api/show", "/api/chat", "/api/chat"]
    assert failure(provider, server, answer(REMOTE)).reason == "not_local"
    provider.close()


def with_round(reply: ModelReply) -> ModelRequest:
    answers = tuple(
        ToolAnswer(id=each.id, name=each.name, text="done") for each in reply.tool_requests
    )
    return ModelRequest(history=(), prompt="p", rounds=(ToolRound(reply=reply, answers=answers),))


def test_an_answer_that_comes_from_elsewhere_fails_the_turn(server):
    """The model was replaced between the question and the answer."""
    provider = local(server)
    line = {**HELLO[0], **REMOTE}
    assert failure(provider, server, HERE, stream(lines(line))).reason == "not_local"
    plain = {**HELLO[-1], **REMOTE}
    assert failure(provider, server, HERE, answer(plain)).reason == "not_local"
    provider.close()


def test_a_host_elsewhere_is_refused_before_anything_is_sent(server):
    given = options(server, base_url=f"http://models.example:{server.port}")
    guard = LocalGuard(given.base_url, resolver=lambda host, port: ("8.8.8.8",))
    provider = OllamaProvider(given, guard=guard)
    failed = failure(provider, server, stream(lines(*HELLO)))
    assert failed.reason == "not_local"
    assert server.seen == []
    assert provider.boot_check().fault
    provider.close()


def test_the_connection_goes_to_the_address_that_was_checked(server):
    """The name itself could not be resolved here: nothing but the guard's address is used."""
    server.replies = [HERE, stream(lines(*HELLO))]
    given = options(server, base_url=f"http://models.example:{server.port}")
    guard = LocalGuard(given.base_url, resolver=lambda host, port: ("127.0.0.1",))
    provider = OllamaProvider(given, guard=guard)
    assert provider.complete(REQUEST).text == "Hello there 🍯"
    assert server.seen[0].headers["host"] == f"models.example:{server.port}"
    provider.close()


def test_a_model_that_is_not_there_is_a_warning_at_boot_and_a_failure_at_the_turn(server):
    server.replies = [error(404, "model 'llama3.1' not found")]
    provider = local(server)
    boot = provider.boot_check()
    assert boot.fault is None
    assert "ollama pull llama3.1" in boot.warning
    assert failure(provider, server, *server.replies).reason == "model_not_found"
    provider.close()


def test_a_server_that_does_not_say_where_the_model_runs_is_a_warning_at_boot(server):
    never = Event()
    server.replies = [Reply([never], framing="raw")]
    provider = local(server)
    boot = provider.boot_check(limit_ms=50)
    never.set()
    assert boot.fault is None
    assert "in time" in boot.warning
    provider.close()
