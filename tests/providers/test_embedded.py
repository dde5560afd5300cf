"""The embedded model: a real llama.cpp server as Mead's child.  Spec: section 5, issue 2."""

import hashlib
import json
import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

import gevent
import psutil
import pytest
import requests
from gevent.event import Event

import mead
from mead.config.settings import ProviderOptions
from mead.errors import TurnFailed
from mead.protocols import ModelRequest, StreamingProvider, Tool, ToolProvider
from mead.providers.embedded import EmbeddedProvider
from mead.providers.embedded_model import bundled_model
from mead.providers.embedded_server import HealthCheck
from tests.helpers.model_server import SCRIPT, child_settings, start_child
from tests.helpers.waiting import eventually

ROOT = Path(mead.__file__).parent.parent
HEALTH_CHECK = HealthCheck()
STORY = "Tell me a very long story about bees."
TOOL = Tool(
    name="files__read",
    server="files",
    tool="read",
    kind="read",
    description="Read a file",
    schema={"type": "object", "properties": {}},
)


@pytest.fixture
def start(tiny_model):
    """Makes a provider on the tiny model and starts its server."""
    made = []

    def starter(*, health_check=HEALTH_CHECK, show_slots=False, **given):
        defaults = {
            "model": "tiny",
            "model_file": tiny_model,
            "temperature": 0.0,
            "max_tokens": 8,
            "threads": 1,
        }
        provider = EmbeddedProvider(ProviderOptions(**{**defaults, **given}))
        ref = provider.start_server(health_check=health_check, show_slots=show_slots)
        made.append((provider, ref))
        return provider

    starter.made = made
    yield starter
    for provider, ref in made:
        ref.stop()
        provider.close()


def ask(prompt: str = "hello", **more) -> ModelRequest:
    return ModelRequest(history=(), prompt=prompt, **more)


def child_of(provider: EmbeddedProvider) -> psutil.Process:
    """The provider's child, found by the port that it listens on."""
    provider.endpoint.wait(5000)
    port = int(provider.host.rpartition(":")[2])
    for child in psutil.Process().children():
        if any(each.laddr.port == port for each in child.net_connections(kind="inet")):
            return child
    raise AssertionError("no child listens there")


def get(provider: EmbeddedProvider, path: str, *, key: bool, method: str = "GET", **headers):
    address = provider.endpoint.wait(5000)
    if key:
        headers["Authorization"] = f"Bearer {address.key}"
    with requests.Session() as session:
        session.trust_env = False
        return session.request(method, address.url + path, headers=headers, timeout=5)


# -- answers ---------------------------------------------------------------------------------------


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


# -- doors -----------------------------------------------------------------------------------------


def test_only_this_machine_with_this_starts_key_gets_an_answer(start):
    provider = start()
    child = child_of(provider)
    assert {each.laddr.ip for each in child.net_connections(kind="inet")} == {"127.0.0.1"}
    assert get(provider, "/v1/models", key=False).status_code == 401
    assert get(provider, "/v1/models", key=True).status_code == 200
    assert len(provider.endpoint.address.key) >= 32


def test_two_starts_have_two_keys(start):
    first, second = (start().endpoint.wait(5000) for _ in range(2))
    assert first.key != second.key
    assert first.url != second.url


@pytest.mark.parametrize("path", ["/slots", "/metrics"])
def test_endpoints_that_show_prompts_are_closed(start, path):
    assert get(start(), path, key=True).status_code == 501


def test_no_web_page_may_call_the_server(start):
    provider = start()
    evil = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    for method, path in (("OPTIONS", "/v1/chat/completions"), ("GET", "/v1/models")):
        answer = get(provider, path, key=True, method=method, **evil)
        assert answer.headers.get("Access-Control-Allow-Origin", "") == ""
        assert "true" not in answer.headers.get("Access-Control-Allow-Credentials", "false")


def test_the_child_knows_none_of_our_secrets(start, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    monkeypatch.setenv("MEAD_DECK__TOKEN", "secret-token")
    monkeypatch.setenv("LANG", "C.UTF-8")
    provider = start()
    child = child_of(provider)
    environment = child.environ()
    assert environment["OMP_WAIT_POLICY"] == "passive"
    assert environment["LANG"] == "C.UTF-8"
    allowed = {"PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "OMP_WAIT_POLICY"}
    allowed |= {"LD_LIBRARY_PATH", "PYTHONHOME", "PYTHONPATH"}
    assert set(environment) <= allowed
    assert provider.endpoint.address.key not in " ".join(child.cmdline())


def test_a_signal_to_our_group_does_not_reach_the_child(start):
    """Ctrl-C in a terminal goes to the whole group; the child ends when its parent is done."""
    child = child_of(start())
    assert os.getpgid(child.pid) == os.getsid(child.pid) == child.pid


def test_the_child_inherits_no_descriptor(start):
    with Path(os.devnull).open() as ours:
        os.set_inheritable(ours.fileno(), True)
        child = child_of(start())
        targets = [Path(f"/proc/{child.pid}/fd/{each}").readlink() for each in (0, 1, 2)]
        assert all(str(target).startswith("pipe:") for target in targets)
        opened = {Path(each.path) for each in child.open_files()}
        assert Path(os.devnull) not in opened


def test_prompts_answers_and_the_key_stay_out_of_the_log(start, caplog):
    caplog.set_level(logging.DEBUG)
    provider = start()
    reply = provider.complete(ask("a secret prompt"))
    key = provider.endpoint.address.key
    start.made[0][1].stop()
    assert "lines to stderr" in caplog.text
    assert "secret prompt" not in caplog.text
    assert reply.text not in caplog.text
    assert key not in caplog.text
    assert key not in repr(provider.endpoint.address)


# -- life and death --------------------------------------------------------------------------------


def test_a_child_that_was_killed_is_replaced(start):
    provider = start()
    before = provider.endpoint.wait(5000)
    child_of(provider).kill()
    after = provider.endpoint.wait(5000, other_than=before)
    assert after.key != before.key
    assert provider.complete(ask()).text


def test_a_child_that_ends_again_is_replaced_after_a_pause(start):
    provider = start()
    for _ in range(2):
        before = provider.endpoint.wait(5000)
        child_of(provider).kill()
        eventually(lambda before=before: provider.endpoint.address != before)
        last = before
    with pytest.raises(TurnFailed, match="ended again"):
        provider.complete(ask())
    assert eventually(lambda: provider.endpoint.address not in (None, last))
    assert provider.complete(ask()).text


def test_a_child_that_hangs_is_replaced(start):
    """Health checked: a stopped process takes connections and answers nothing."""
    provider = start(health_check=HealthCheck(every_ms=20, timeout_ms=100))
    before = provider.endpoint.wait(5000)
    child_of(provider).send_signal(signal.SIGSTOP)
    assert eventually(lambda: provider.endpoint.address not in (None, before), bound_s=10)
    assert provider.complete(ask()).text


def test_a_busy_child_is_healthy(start):
    provider = start(health_check=HealthCheck(every_ms=10, timeout_ms=2000), max_tokens=3000)
    before = provider.endpoint.wait(5000)
    assert provider.complete(ask()).usage.output == 3000
    assert provider.endpoint.address == before


def test_a_call_whose_child_died_goes_on_with_the_next_one(start):
    """Nothing was shown yet, so the person sees a slow answer and no failure."""
    provider = start()
    assert provider.complete(ask()).text
    child_of(provider).kill()
    assert provider.complete(ask()).text


def test_a_call_whose_child_died_after_text_was_shown_fails(start):
    provider = start(max_tokens=4000)
    child = child_of(provider)
    with pytest.raises(TurnFailed) as failed:
        provider.converse_stream(ask(), lambda text: child.kill())
    assert failed.value.reason == "bad_response"


def test_a_stopped_server_leaves_no_child(start):
    provider = start()
    child = child_of(provider)
    start.made[0][1].stop()
    assert not child.is_running()
    assert provider.host is None


def test_a_killed_server_leaves_no_child(start):
    provider = start()
    child = child_of(provider)
    start.made[0][1].kill()
    assert eventually(lambda: not child.is_running())


def test_a_file_that_is_no_model_is_said_to_be_none_and_tried_again(start, tmp_path, tiny_model):
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(100))
    provider = start(model_file=broken)
    with pytest.raises(TurnFailed) as failed:
        provider.complete(ask())
    assert failed.value.reason == "provider_unavailable"
    assert "could not be loaded" in failed.value.message
    broken.write_bytes(tiny_model.read_bytes())
    assert eventually(lambda: provider.endpoint.address is not None)
    assert provider.complete(ask()).text


def test_the_boot_is_refused_without_the_model_file(tmp_path):
    options = ProviderOptions(model="x", model_file=tmp_path / "none.gguf")
    assert "no model file" in EmbeddedProvider(options).boot_check().fault


def test_the_boot_is_refused_without_the_packages(monkeypatch):
    monkeypatch.setattr(sys, "path", [])
    fault = EmbeddedProvider(ProviderOptions(model="x")).boot_check().fault
    assert "requirements-embedded.txt" in fault


def test_the_boot_is_content_when_everything_is_there():
    assert EmbeddedProvider(ProviderOptions(model="x")).boot_check().fault is None


PARENT = """
from gevent import monkey; monkey.patch_all()
import os, sys, psutil
from mead.actors.green import sleep_ms
from mead.config.settings import ProviderOptions
from mead.providers.embedded import EmbeddedProvider

provider = EmbeddedProvider(ProviderOptions(model="smollm2"))
provider.start_server()
if sys.argv[1] == "ready":
    provider.endpoint.wait(10000)
while not (children := psutil.Process().children()):
    sleep_ms(1)
print(children[0].pid, flush=True)
sleep_ms(60000)
"""


@pytest.mark.parametrize("moment", ["ready", "loading"])
def test_the_child_is_gone_with_a_parent_that_is_killed(moment):
    """Issue 2: gone with its parent even when that is killed with -9, also while it loads."""
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, moment],
        stdout=subprocess.PIPE,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
    )
    child = psutil.Process(int(parent.stdout.readline()))
    assert child.is_running()
    parent.kill()
    parent.wait(5)
    parent.stdout.close()
    assert eventually(lambda: is_gone(child))


def is_gone(process: psutil.Process) -> bool:
    """Whether it has ended; one whose new parent does not reap it stays a zombie."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


# -- the child's script by itself ------------------------------------------------------------------


def test_the_script_says_when_llama_cpp_is_not_there(tiny_model):
    settings = json.dumps(child_settings(tiny_model)).encode() + b"\n"
    bare = [sys.executable, "-I", "-S", str(SCRIPT)]
    said = subprocess.Popen(bare, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    said.stdin.write(settings)
    said.stdin.flush()
    assert json.loads(said.stdout.readline()) == {"error": "import_failed"}
    assert said.wait(5) == 1
    said.stdin.close()
    said.stdout.close()


def test_the_script_ends_with_its_stdin_before_it_got_settings():
    process = subprocess.Popen([sys.executable, "-P", str(SCRIPT)], stdin=subprocess.PIPE)
    process.stdin.close()
    assert process.wait(5) == 2


def test_the_kernel_ends_the_script_while_the_model_loads():
    """llama.cpp holds the interpreter then, so no code of the script could notice the end."""
    process = start_child(child_settings(bundled_model()))
    maps = Path(f"/proc/{process.pid}/maps")
    assert eventually(lambda: ".gguf" in maps.read_text())
    process.stdin.close()
    assert process.wait(5) == -signal.SIGIO
    process.stdout.close()


def test_the_script_writes_one_line_to_stdout(tiny_model):
    process = start_child(child_settings(tiny_model))
    assert json.loads(process.stdout.readline())["address"].startswith("http://127.0.0.1:")
    assert process.stdout.read() == b""
    process.stdin.close()
    process.wait(5)
    process.stdout.close()
