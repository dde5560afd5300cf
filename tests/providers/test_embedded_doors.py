"""What the embedded model's child lets in, and what it knows.  Spec: section 5."""

import logging
import os
from pathlib import Path

import pytest

from tests.helpers.embedded import ask, child_of, get


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
