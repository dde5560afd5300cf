"""`python -m mead.web.check DIRECTORY ADDRESS PID...`: whether a new worker could start there.

A process of its own, because finding out takes what must not stay in the master: it makes the
runtime, and with it imports the handlers and providers that the settings name.  ADDRESS is where
the server listens already, PID are its workers: what they hold, they will let go of.
"""

import os
import socket
import sys
from collections.abc import Collection, Sequence
from contextlib import redirect_stdout
from pathlib import Path

from gevent import subprocess

from mead.config import McpServerSettings, load_settings
from mead.errors import ConfigurationError, PersistenceError, StorageLocked
from mead.storage import lock
from mead.web.logs import where
from mead.web.options import bind

LIMIT_S = 20


def faults_in_a_new_process(directory: Path, address: str, workers: Collection[int]) -> list[str]:
    """What this module, run, says about the settings as they are now; none if they are good."""
    # A runtime needs a patched process, and patched before anything else is imported.
    patched = [sys.executable, "-m", "gevent.monkey", "--module", "mead.web.check"]
    command = [*patched, str(directory), address, *map(str, workers)]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, timeout=LIMIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return [f"they could not be checked: {type(error).__name__}"]
    if done.returncode == 0:
        return []
    return done.stdout.decode(errors="replace").splitlines() or ["they could not be checked"]


def check_listening(server: McpServerSettings, address: str) -> None:
    """Whether the listener could move; gunicorn would only find out once the old one is closed.

    Raises ConfigurationError.
    """
    if bind(server) == address:
        return
    family = socket.AF_INET6 if ":" in server.address else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((server.address, server.port))
        except OSError as error:
            fault = f"mcp_server.port: cannot listen on {bind(server)}: {error.strerror}"
            raise ConfigurationError([fault]) from None


def check_storage(directory: Path | None, workers: Collection[int]) -> None:
    """Whether a new worker would get the storage directory.

    Raises StorageLocked, PersistenceError.
    """
    pid = None if directory is None else lock.holder(directory)
    if directory is not None and pid is not None and pid not in workers:
        raise lock.locked(directory, pid)


def faults_in(directory: Path, address: str, workers: Collection[int]) -> Sequence[str]:
    """One line for each fault.  Blocks on: disk, DNS and network, bounded."""
    from mead.api import Mead

    try:
        settings = load_settings(os.environ, directory)
        check_listening(settings.mcp_server, address)
        Mead(settings).check()
        check_storage(settings.storage.directory, workers)
    except ConfigurationError as error:
        return error.faults
    except (PersistenceError, StorageLocked) as error:
        return [f"storage.directory: {error}"]
    except Exception as error:  # noqa: BLE001 - of the operator's classes, as a new worker's start
        return [f"Mead could not start: {where(error)}"]
    return []


def main(directory: str, address: str, *workers: str) -> int:
    """Print one line for each fault; the exit status says whether there was one."""
    with redirect_stdout(sys.stderr):  # what the operator's classes print is no fault
        faults = faults_in(Path(directory), address, [int(pid) for pid in workers])
    sys.stdout.writelines(f"{fault}\n" for fault in faults)
    return os.EX_CONFIG if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
