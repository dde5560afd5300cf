"""What `flask mead doctor` says of a slot, whatever its server answers."""

import gevent
import pytest

from mead.config.settings import ProviderOptions, SlotSettings
from mead.providers.diagnosis import diagnose
from tests.helpers.replay_server import BOUND_S, ReplayServer, Reply, answer


def found(provider, *replies, **given):
    with ReplayServer(*replies) as server:
        path = "/v1" if provider == "openai" else ""
        options = {"model": "tiny", "base_url": server.url + path, "max_retries": 0, **given}
        slot = SlotSettings(provider=provider, options=ProviderOptions(**options))
        with gevent.Timeout(BOUND_S):
            return list(diagnose("cloud", slot))


def test_a_listed_model_is_well():
    assert found("openai", answer({"data": [{"id": "a"}, {"id": "tiny"}]})) == [
        (True, "the server has the model tiny")
    ]


def test_a_model_that_is_not_listed_is_told_with_those_that_are():
    listed = {"data": [{"id": "a"}, {"id": "b\x1b[2J"}, {"id": "x" * 1000}, {"id": "c"}]}
    assert found("openai", answer(listed)) == [
        (False, "the server does not list the model tiny, but a, c")
    ]


@pytest.mark.parametrize(
    "body",
    [
        *({"data": odd} for odd in (None, [None], 5, "tiny", True, {}, [[]], [5], [{"id": None}])),
        *({"data": [{"id": []}]}, [], 5, None, "data"),
    ],
)
def test_an_odd_list_of_models_is_a_list_without_the_model(body):
    assert found("openai", answer(body)) == [
        (False, "the server does not list the model tiny"),
    ]


@pytest.mark.parametrize("odd", [None, True, 5, "tools", {"tools": 1}, [None, 5, ["tools"]]])
def test_odd_capabilities_are_none(odd):
    told = found("ollama", answer({"capabilities": odd}))
    assert told[0] == (True, "Ollama has the model tiny")
    assert told[1][0] is False


def test_a_model_that_can_call_tools_is_well():
    told = found("ollama", answer({"capabilities": ["completion", "tools"]}))
    assert told[1] == (True, "tiny can call tools")


@pytest.mark.parametrize("body", [5, [], {"type": []}, b"", b"\xff", b"<html>"])
@pytest.mark.parametrize("status", [200, 302, 404, 500, 999])
@pytest.mark.parametrize("provider", ["openai", "ollama", "anthropic"])
def test_any_answer_gives_findings(provider, status, body):
    told = found(provider, answer(body, status), api_key=None)
    assert told
    assert all(isinstance(well, bool) and sentence for well, sentence in told)


def test_an_answer_that_does_not_end_is_not_waited_for():
    drip = [step for _ in range(1000) for step in (b"x", lambda: gevent.sleep(0.02))]
    told = found("openai", Reply(drip), connect_timeout_ms=50, receive_timeout_ms=100)
    assert told == [(False, "the server does not finish its answer in time")]
