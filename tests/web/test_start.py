"""Starting: what boots, what is refused, what the command line cannot change.  Real gunicorns."""

import json
import os

import psutil
import pytest

from mead.web.lifecycle import COLLECT_AFTER
from tests.helpers.mcp_http import use
from tests.helpers.server import MCP_TOKEN, Server, running

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(60)]


# -- starting --------------------------------------------------------------------------------------


def test_a_server_without_settings_boots_and_is_ready(tmp_path):
    with running(Server(tmp_path)) as server:
        assert server.get("/readyz").json() == {"ready": True}
        assert server.get("/healthz").json()["status"] == "ok"
        assert server.log.count("nothing is kept") == 1
        assert server.stop() == 0
        assert server.says("Mead has stopped")


def test_the_platform_concurrency_starts_one_worker_and_says_so(tmp_path):
    with running(Server(tmp_path), WEB_CONCURRENCY="4") as server:
        assert len(server.workers()) == 1
        assert server.says("WEB_CONCURRENCY=4 is not used")


@pytest.mark.parametrize(
    ("arguments", "environ"),
    [
        (["-w", "2"], {}),
        ([], {"GUNICORN_CMD_ARGS": "--workers=2"}),
        (["--preload"], {}),
        (["-k", "sync"], {}),
        (["--reuse-port"], {}),
    ],
)
def test_an_option_that_cannot_work_is_refused_at_start(tmp_path, arguments, environ):
    server = Server(tmp_path)
    try:
        server.start(*arguments, "--pid", str(tmp_path / "pid"), **environ)
        assert server.end() == os.EX_USAGE
        assert server.says("Refused: --")
        assert "Traceback" not in server.log
        assert not (tmp_path / "pid").exists()
    finally:
        server.destroy()


def test_a_faulty_configuration_ends_the_start_with_a_line_for_each_fault(tmp_path):
    server = Server(tmp_path, '[runtime]\nturn_timeout = 1\nmaximum_sessions = "many"\n')
    try:
        server.start()
        assert server.end() == os.EX_CONFIG
        assert len(server.lines) == 2
        assert server.says("mead: configuration: runtime.turn_timeout")
        assert server.says("mead: configuration: runtime.maximum_sessions")
    finally:
        server.destroy()


def test_a_handler_that_does_not_import_ends_the_start_without_a_loop(tmp_path):
    server = Server(tmp_path, '[runtime]\nhandlers = {odd = "nowhere.at_all:Handler"}\n')
    try:
        server.start()
        assert server.end() == os.EX_CONFIG
        assert "Traceback" not in server.log
        assert server.says("configuration: runtime.handlers.odd")
    finally:
        server.destroy()


def test_the_plain_gevent_worker_works_and_says_what_it_lacks(tmp_path):
    with running(Server(tmp_path), "-k", "gevent") as server:
        assert server.get("/readyz").status_code == 200
        assert server.says("worker class GeventWorker: no exact limit")
        assert server.stop() == 0
        assert server.says("Mead has stopped")


def test_the_port_of_the_platform_is_listened_on_at_every_address(tmp_path):
    server = Server(tmp_path)
    (tmp_path / "mead.toml").unlink()
    try:
        server.start(PORT=str(server.port), MEAD_CONFIG="")
        server.expect(f"Listening at: http://0.0.0.0:{server.port}")
    finally:
        server.destroy()


# -- what arguments cannot change ------------------------------------------------------------------


def test_gunicorn_arguments_do_not_bring_back_the_query_string(tmp_path):
    loud = "--access-logfile=- --access-logformat='%(r)s %(q)s %(f)s %({referer}i)s %(U)s'"
    with running(Server(tmp_path), GUNICORN_CMD_ARGS=loud) as server:
        server.get("/healthz?ticket=the-secret", headers={"Referer": "http://x/?the-secret"})
        server.get("/no-such-path%0D%0Aforged")
        server.expect('"GET /healthz HTTP/1.1" 200')
        server.expect('"GET /no-such-path%0D%0Aforged HTTP/1.1" 404')
        assert "the-secret" not in server.log
        assert server.says("Not taken from the command line: access_log_format")


def test_another_logger_class_is_not_taken(tmp_path):
    loud = "--access-logfile=- --logger-class=gunicorn.glogging.Logger --forwarded-allow-ips=*"
    with running(Server(tmp_path), GUNICORN_CMD_ARGS=loud) as server:
        server.get("/healthz?ticket=the-secret")
        server.expect('"GET /healthz HTTP/1.1" 200')
        assert "the-secret" not in server.log
        assert server.says("forwarded_allow_ips, logger_class")


def test_no_control_socket_is_opened(tmp_path):
    with running(Server(tmp_path), "--control-socket", str(tmp_path / "gunicorn.ctl")) as server:
        open_sockets = psutil.Process(server.process.pid).net_connections("all")
        assert [one.laddr.port for one in open_sockets] == [server.port]
    assert not list(tmp_path.rglob("*.ctl"))


def test_the_collector_never_looks_at_what_was_loaded_for_good(tmp_path):
    toml = f"""
[runtime]
turn_handler = "collector"
handlers = {{ collector = "tests.web.collector:Collector" }}
[mcp_server]
token = "{MCP_TOKEN}"
"""
    with running(Server(tmp_path, toml)) as server:
        session_id = use(server, "start_session")["session_id"]
        answer = use(server, "submit_turn", session_id=session_id, input="look")
        frozen, threshold = json.loads(answer["output"])
    assert frozen > 50_000
    assert threshold == COLLECT_AFTER
