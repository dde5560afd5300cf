"""No process of a tool server outlives its hub: not a stop, not a kill -9, whoever wraps it.

Every process of a server carries a mark in its environment, so that one that escaped from its tree
is found too.
"""

import itertools
import json
import random
import subprocess
import sys
import uuid
from pathlib import Path

import psutil
import pytest

from tests.helpers.hub_process import settings
from tests.helpers.mcp_settings import FAKE, PYTHON, running, wait_for
from tests.helpers.waiting import eventually

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

REPOSITORY = Path(__file__).parents[3]
MARK = "MEAD_TEST_MARK"
PROGRAM = (
    "from gevent import monkey; monkey.patch_all();"
    "from tests.helpers.hub_process import main; main()"
)


def servers(peers, mark):
    """A plain one, one behind a shell, one in the background of a shell, one behind npx."""
    python = " ".join([*PYTHON, FAKE, "{}"])
    environment = {MARK: mark, "PATH": peers.path, "HOME": "/tmp"}
    return [
        {"name": "plain", "command": PYTHON[0], "arguments": [*PYTHON[1:], FAKE, "{}"]}
        | {"environment": environment},
        {"name": "shell", "command": "sh", "arguments": ["-c", f"{python}; echo never"]}
        | {"environment": environment},
        {
            "name": "background",
            "command": "sh",
            "arguments": ["-c", f"exec 3<&0; {python} <&3 & wait"],
            "environment": environment,
        },
        {
            "name": "npx",
            "command": peers.npx[0],
            "arguments": [*peers.npx[1:], "mcp-server-everything", "stdio"],
            "directory": str(peers.modules.parent),
            "environment": environment,
        },
    ]


def marked(mark):
    """Every process whose environment has the mark."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == mark:
                found.append(process)
        except psutil.Error:
            continue
    return found


def launchers(pid):
    """The launchers below a process (their environment has no mark)."""
    return [
        child
        for child in psutil.Process(pid).children()
        if any("launcher.py" in part for part in child.cmdline())
    ]


def stop_and_look(peers, rounds):
    dice = random.Random(7)
    for number in range(rounds):
        mark = str(uuid.uuid4())
        configured = [settings(one) for one in servers(peers, mark)]
        with running(*configured, ready=False) as hub:
            # In one round out of three the stop strikes while servers still start.
            if number % 3:
                wait_for(hub, dice.choice(configured).name, "ready", 30)
        assert marked(mark) == []


def kill_and_look(peers, rounds):
    dice = random.Random(11)
    for number in range(rounds):
        mark = str(uuid.uuid4())
        hub = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, json.dumps(servers(peers, mark))],
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        try:
            assert hub.stdout.readline() == b"started\n"
            if number % 3:
                assert hub.stdout.readline() == b"ready\n"
            else:
                eventually(lambda: len(launchers(hub.pid)) >= dice.randint(1, 3))  # noqa: B023
            above = launchers(hub.pid)
        finally:
            hub.kill()
            hub.wait()
            hub.stdin.close()
            hub.stdout.close()
        eventually(lambda: marked(mark) == [])  # noqa: B023
        assert psutil.wait_procs(above, timeout=5)[1] == []


def test_stops_leave_no_process(peers):
    stop_and_look(peers, 20)


def test_kills_of_the_hubs_process_leave_no_process(peers):
    kill_and_look(peers, 5)


@pytest.mark.stress
@pytest.mark.timeout(1800)
def test_two_hundred_stops_leave_no_process(peers):
    stop_and_look(peers, 200)


@pytest.mark.stress
@pytest.mark.timeout(1800)
def test_fifty_kills_of_the_hubs_process_leave_no_process(peers):
    kill_and_look(peers, 50)


def test_a_started_server_really_carries_the_mark(peers):
    """The search would find what it looks for."""
    mark = str(uuid.uuid4())
    configured = settings(servers(peers, mark)[2])
    with running(configured):
        names = sorted(itertools.chain(process.name() for process in marked(mark)))
        assert len(names) == 2
        assert "sh" in names
