import pytest
from gunicorn.config import Config

from mead.config import McpServerSettings
from mead.web.options import WORKER_CLASS, bind, pin, pinned, refusals


@pytest.fixture
def cfg():
    made = Config()
    made.set("worker_class", WORKER_CLASS)
    return made


@pytest.mark.parametrize(
    ("address", "text"),
    [("127.0.0.1", "127.0.0.1:4040"), ("::1", "[::1]:4040"), ("0.0.0.0", "0.0.0.0:4040")],
)
def test_an_address_is_written_as_gunicorn_reads_it(address, text):
    made = Config()
    made.set("bind", bind(McpServerSettings(address=address)))
    assert made.settings["bind"].get() == [text]
    assert made.address == [(address, 4040)]


def test_pinned_options_replace_what_was_asked_for(cfg):
    cfg.set("forwarded_allow_ips", "*")
    cfg.set("access_log_format", "%(q)s")
    options = pinned(McpServerSettings(trusted_proxies=("10.0.0.0/8", "::1")))
    assert {"forwarded_allow_ips", "access_log_format"} <= set(pin(cfg, options))
    assert cfg.forwarded_allow_ips == ["10.0.0.0/8", "::1"]
    assert "%(q)s" not in cfg.access_log_format
    assert pin(cfg, options) == []


def test_without_trusted_proxies_nobody_is_believed(cfg):
    pin(cfg, pinned(McpServerSettings()))
    assert cfg.forwarded_allow_ips == []


def test_one_worker_of_our_class_is_not_refused(cfg):
    assert refusals(cfg) == []
    cfg.set("worker_class", "gevent")
    assert refusals(cfg) == []


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("workers", 0, "--workers 0"),
        ("workers", 4, "--workers 4"),
        ("reuse_port", True, "--reuse-port"),
        ("preload_app", True, "--preload"),
        ("worker_class", "sync", "--worker-class sync"),
        ("worker_class", "gthread", "--worker-class gthread"),
        ("worker_class", "gevent_pywsgi", "--worker-class gevent_pywsgi"),
    ],
)
def test_what_cannot_work_is_refused_with_a_reason(cfg, name, value, said):
    cfg.set(name, value)
    (line,) = refusals(cfg)
    assert line.startswith(said)
