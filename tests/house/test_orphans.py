"""Tests that are killed leave no server behind, though each has a session of its own."""

import subprocess
import sys

import psutil
import pytest

from tests.helpers.server import ROOT
from tests.helpers.waiting import eventually

TEST = """
from gevent import monkey; monkey.patch_all()
import sys, time
from pathlib import Path
from tests.helpers.server import Server

server = Server(Path(sys.argv[1])).start().ready()
print(server.process.pid, *server.workers(), flush=True)
time.sleep(60)
"""


@pytest.mark.e2e
@pytest.mark.timeout(60)
def test_a_test_that_is_killed_leaves_no_server_behind(tmp_path):
    command = [sys.executable, "-c", TEST, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as test:
        pids = [int(pid) for pid in test.stdout.readline().split()]
        processes = [psutil.Process(pid) for pid in pids]
        test.kill()
        test.wait(5)
    assert len(processes) == 2
    try:
        eventually(lambda: not any(each.is_running() for each in processes), 20)
    finally:
        for each in processes:
            if each.is_running():
                each.kill()
