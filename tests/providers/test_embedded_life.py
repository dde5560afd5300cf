"""The life and death of the embedded model's child.  Spec: section 5, issue 2."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

import mead
from mead.config.settings import ProviderOptions
from mead.errors import TurnFailed
from mead.providers.embedded import EmbeddedProvider
from mead.providers.embedded_model import bundled_model
from mead.providers.embedded_server import HealthCheck
from tests.helpers.embedded import ask, child_of
from tests.helpers.model_server import SCRIPT, child_settings, start_child
from tests.helpers.waiting import eventually

ROOT = Path(mead.__file__).parent.parent


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
