"""SIGHUP with settings that read well and would not start: the old worker stays.  Spec: section 9.

Real gunicorns; each test ends with the worker that was there before, still serving.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.helpers.server import Server, running

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(60)]

ELSEWHERE = """
[router.slots.local]
provider = "openai"
model = "m"
base_url = "http://8.8.8.8/v1"
"""
CLOUD_MODEL = """
[router.slots.local]
provider = "ollama"
model = "x-cloud"
"""
NO_DIRECTORY = '[storage]\ndirectory = "/proc/nowhere"\n'


@contextmanager
def refused(server: Server) -> Iterator[None]:
    """A reload within that changes nothing."""
    workers = server.workers()
    yield
    server.signal(signal.SIGHUP)
    server.expect("The settings are not used", bound_s=25)
    assert server.workers() == workers
    assert server.get("/readyz").json() == {"ready": True}
    assert "Traceback" not in server.log


@pytest.mark.parametrize(
    ("toml", "line"),
    [
        (ELSEWHERE, "configuration: router.slots.local: the slot local may only reach"),
        (CLOUD_MODEL, "configuration: router.slots.local: the slot local must not hand prompts on"),
        (NO_DIRECTORY, "configuration: storage.directory: the storage disk refused"),
    ],
    ids=["a host elsewhere", "a model elsewhere", "no directory"],
)
def test_a_reload_to_what_could_not_start_changes_nothing(tmp_path: Path, toml: str, line: str):
    with running(Server(tmp_path)) as server:
        with refused(server):
            server.configure(toml)
        assert server.says(line)
        assert server.stop() == 0


def test_a_reload_to_the_storage_of_another_server_changes_nothing(tmp_path: Path):
    taken = f'[storage]\ndirectory = "{tmp_path / "taken"}"\n'
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    with (
        running(Server(tmp_path / "other", taken)) as other,
        running(Server(tmp_path / "one")) as server,
    ):
        with refused(server):
            server.configure(taken)
        line = server.expect("configuration: storage.directory: ")
        assert f"pid {other.workers()[0]}" in line


def test_a_provider_that_cannot_be_asked_changes_nothing(tmp_path: Path):
    with running(Server(tmp_path)) as server:
        with refused(server):
            server.configure(
                '[router.slots.cloud]\nprovider = "tests.helpers.odd_providers:Raising"\n'
            )
        assert server.says("Mead could not start: ZeroDivisionError")
        assert not server.says("a secret")


def test_what_a_class_prints_is_no_fault(tmp_path: Path):
    with running(Server(tmp_path)) as server:
        server.configure('[router.slots.cloud]\nprovider = "tests.helpers.odd_providers:Chatty"\n')
        server.signal(signal.SIGHUP)
        server.ready(times=2)
        assert not server.says("The settings are not used")
        assert server.stop() == 0
