"""The whole stack against a running Ollama: `pytest -m live tests/deck`.

MEAD_LIVE_MODEL names a model that can call tools (default llama3.2:3b); OLLAMA_HOST says where.
"""

import os

import pytest

from mead.actors.tasks import TaskSupervisor
from mead.api import Mead
from mead.config import ProviderOptions, SlotSettings
from mead.providers.factory import build_provider
from tests.deck.conftest import Tools, opened, router
from tests.deck.device import everyone, text_of

HOST = os.environ.get("OLLAMA_HOST", "127.0.0.1:11434")


@pytest.fixture
def device():
    options = ProviderOptions(
        model=os.environ.get("MEAD_LIVE_MODEL", "llama3.2:3b"),
        base_url=HOST if "://" in HOST else f"http://{HOST}",
    )
    provider = build_provider("local", SlotSettings(provider="ollama", options=options))
    tools, tasks = Tools(), TaskSupervisor()
    tools.add("notes__read", "effect", lambda **_: "The note says: buy green tea.")
    conf = {"runtime": {"turn_handler": "router", "turn_timeout_ms": 240_000}}
    handlers = {"router": router(provider, tools, tasks)}
    with Mead(conf, handlers=handlers) as mead, everyone() as devices:
        device = devices.at(*opened(mead)).come()
        device.socket.answers_pings = True
        yield device
    tasks.stop()
    provider.close()


@pytest.mark.live
@pytest.mark.timeout(300)
def test_a_real_model_streams_its_answer_to_a_device(device):
    text = device.ask("Answer with the one word: hello")
    assert text.strip()
    assert device.of("turn.completed")
    assert all(metric["value"] for metric in device.of("metric.updated"))
    assert text == device.mead.history(device.session_id)[0].output


@pytest.mark.live
@pytest.mark.timeout(300)
def test_a_real_model_asks_for_a_tool_and_a_person_allows_it(device):
    device.send("Call the tool notes__read, then tell me what to buy.")
    request = device.hear("permission.requested")["payload"]
    device.say("permission.respond", request_id=request["request_id"], answer="allow_once")
    events = device.hear_end()
    assert device.of("tool_call.finished")[0]["status"] == "ok"
    assert "tea" in text_of(events).lower()
