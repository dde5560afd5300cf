"""The life of the process: signals, new settings, workers that die.  Real gunicorns."""

import os
import signal
import socket
from pathlib import Path

import gevent
import psutil
import pytest
import requests

from tests.helpers.server import MCP_TOKEN, READY, Server, running, tokens_toml
from tests.helpers.waiting import eventually

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(60)]

PROBE = "tests.helpers.probe:app"


def ask_in_background(server: Server, path: str) -> gevent.Greenlet:
    return gevent.spawn(server.get, path)


# -- SIGTERM, SIGINT -------------------------------------------------------------------------------


def test_a_running_request_finishes_after_sigterm(tmp_path):
    with running(Server(tmp_path, app=PROBE)) as server:
        asked = ask_in_background(server, "/probe/slow?ms=1500")
        server.expect("probe: slow began")
        idle = server.connect()
        server.signal(signal.SIGTERM)
        assert asked.get(timeout=10).json() == {"draining": True}
        assert idle.recv(1) == b""
        idle.close()
        assert server.end() == 0
        assert server.says("Mead has stopped")


def test_a_request_that_outlasts_the_grace_is_interrupted_in_order(tmp_path):
    with running(Server(tmp_path, app=PROBE), "--graceful-timeout", "4") as server:
        asked = ask_in_background(server, "/probe/slow?ms=60000")
        server.expect("probe: slow began")
        assert server.stop() == 0
        assert server.says("probe: slow ended")
        assert server.says("Mead has stopped")
        assert not server.says("SIGKILL")
        with pytest.raises(requests.ConnectionError):
            asked.get(timeout=5)


def test_a_turn_that_no_request_waits_for_finishes_after_sigterm(tmp_path):
    with running(Server(tmp_path, app=PROBE)) as server:
        server.get("/probe/turn?ms=1500")
        assert server.stop() == 0
        assert server.says("probe: turn slept")


def test_a_turn_that_outlasts_the_grace_is_interrupted(tmp_path):
    with running(Server(tmp_path, app=PROBE), "--graceful-timeout", "4") as server:
        server.get("/probe/turn?ms=60000")
        assert server.stop() == 0
        assert server.says("probe: turn session_stopped")
        assert server.says("Mead has stopped")


@pytest.mark.parametrize("moment", ["Listening at", "Booting worker", READY])
def test_sigterm_at_any_moment_of_the_boot_ends_in_order(tmp_path, moment):
    server = Server(tmp_path)
    try:
        server.start()
        server.expect(moment, bound_s=15)
        assert server.stop() == 0
        assert not server.says("SIGKILL")
    finally:
        server.destroy()


def test_sigint_interrupts_at_once_and_in_order(tmp_path):
    with running(Server(tmp_path, app=PROBE)) as server:
        asked = ask_in_background(server, "/probe/slow?ms=60000")
        server.expect("probe: slow began")
        server.signal(signal.SIGINT)
        assert server.end() == 0
        assert server.says("probe: slow ended")
        assert server.says("Mead has stopped")
        asked.join(5)


def test_a_worker_leaves_when_its_master_is_gone(tmp_path):
    with running(Server(tmp_path)) as server:
        worker = psutil.Process(server.workers()[0])
        server.signal(signal.SIGKILL)
        server.process.wait(5)
        server.expect("The master is gone")
        server.expect("Mead has stopped")
        eventually(lambda: not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE)


# -- SIGHUP ----------------------------------------------------------------------------------------


def test_sighup_with_good_settings_brings_a_new_worker(tmp_path):
    toml = tokens_toml() + f'[storage]\ndirectory = "{tmp_path / "var"}"\n'
    with running(Server(tmp_path, toml, app=PROBE)) as server:
        (before,) = server.workers()
        asked = ask_in_background(server, "/probe/slow?ms=2000")
        server.expect("probe: slow began")
        server.configure(toml.replace("[mcp_server]", "[mcp_server]\nmaximum_connections = 7"))
        server.signal(signal.SIGHUP)
        server.expect("Booting worker", times=2)
        assert not server.says("probe: slow ended")  # both are there, one holds the storage
        during = ask_in_background(server, "/readyz")
        assert asked.get(timeout=10).status_code == 200
        server.ready(times=2)
        assert during.get(timeout=10).json() == {"ready": True}
        eventually(lambda: server.workers() and before not in server.workers())
        answer = server.get("/metrics", headers={"Authorization": f"Bearer {MCP_TOKEN}"})
        assert "mead_connections_limit 7\n" in answer.text
        assert server.stop() == 0


def test_sighup_with_faulty_settings_changes_nothing(tmp_path):
    with running(Server(tmp_path)) as server:
        workers = server.workers()
        server.configure("[runtime]\nturn_timeout_ms = -1\n")
        server.signal(signal.SIGHUP)
        server.expect("The settings are not used")
        assert server.says("configuration: runtime.turn_timeout_ms")
        assert server.workers() == workers
        assert server.get("/readyz").status_code == 200
        assert server.stop() == 0


def test_sighup_to_a_port_in_use_changes_nothing(tmp_path):
    with running(Server(tmp_path)) as server, socket.create_server(("127.0.0.1", 0)) as taken:
        workers = server.workers()
        server.configure(f"[mcp_server]\nport = {taken.getsockname()[1]}\n")
        server.signal(signal.SIGHUP)
        server.expect("The settings are not used")
        assert server.says("configuration: mcp_server.port: cannot listen")
        assert server.workers() == workers
        assert server.get("/readyz").status_code == 200


def test_a_worker_started_again_serves_the_settings_that_were_validated(tmp_path):
    with running(Server(tmp_path)) as server:
        (tmp_path / "mead.toml").write_text("this is not TOML")
        os.kill(server.workers()[0], signal.SIGKILL)
        server.ready(times=2)
        assert server.get("/readyz").status_code == 200


def test_more_workers_by_signal_are_refused(tmp_path):
    with running(Server(tmp_path)) as server:
        server.signal(signal.SIGTTIN)
        server.expect("TTIN is refused")
        assert len(server.workers()) == 1


# -- ends ------------------------------------------------------------------------------------------


def test_a_killed_worker_is_replaced_by_one_that_works(tmp_path):
    with running(Server(tmp_path)) as server:
        (before,) = server.workers()
        os.kill(before, signal.SIGKILL)
        server.ready(times=2)
        assert server.get("/readyz").status_code == 200
        assert before not in server.workers()


def test_three_ends_of_the_tree_in_a_minute_stop_the_master(tmp_path):
    with running(Server(tmp_path, app=PROBE)) as server:
        for times in (1, 2, 3):
            server.ready(times)
            server.get("/probe/end")
            server.expect("the worker exits with 70", times)
        assert server.end() == os.EX_SOFTWARE
        assert server.says("Mead ended three times in a minute")
        assert server.log.count(READY) == 3


def test_two_servers_do_not_share_a_storage_directory(tmp_path):
    toml = f'[storage]\ndirectory = "{tmp_path / "var"}"\n'
    other = tmp_path / "other"
    other.mkdir()
    with running(Server(tmp_path, toml)) as first:
        second = Server(other, toml)
        try:
            second.start("--graceful-timeout", "0")
            assert second.end(bound_s=15) == os.EX_TEMPFAIL
            assert second.says(str(first.workers()[0]))
            assert "Traceback" not in second.log
        finally:
            second.destroy()
        assert first.get("/readyz").status_code == 200


def test_a_server_that_waits_for_the_storage_leaves_when_it_is_told(tmp_path):
    toml = f'[storage]\ndirectory = "{tmp_path / "var"}"\n'
    other = tmp_path / "other"
    other.mkdir()
    with running(Server(tmp_path, toml)):
        second = Server(other, toml)
        try:
            second.start()
            second.expect("Booting worker")
            (worker,) = eventually(second.workers)
            eventually(lambda: "SIGTERM" not in defaults_of(worker))
            assert second.stop() == 0
        finally:
            second.destroy()


def defaults_of(pid: int) -> str:
    """Until a worker has its own handlers, SIGTERM ends it by default."""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = int(
        next(line for line in status.splitlines() if line.startswith("SigCgt")).split()[1], 16
    )
    return "" if caught >> (signal.SIGTERM - 1) & 1 else "SIGTERM"
