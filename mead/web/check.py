"""`python -m mead.web.check DIRECTORY ADDRESS`: whether a new worker could use the settings there.

A process of its own, because finding out takes what must not stay in the master: it makes the
runtime, and with it imports the handlers and providers that the settings name.  ADDRESS is where
the server listens already.
"""

import os
import socket
import sys
from pathlib import Path

from gevent import subprocess

from mead.config import McpServerSettings, load_settings
from mead.errors import ConfigurationError
from mead.web.options import bind

LIMIT_S = 20


def faults_in_a_new_process(directory: Path, address: str) -> list[str]:
    """What `python -m mead.web.check` says about the settings as they are now; none if good."""
    command = [sys.executable, "-m", "mead.web.check", str(directory), address]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, timeout=LIMIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return [f"they could not be checked: {type(error).__name__}"]
    lines = done.stdout.decode(errors="replace").splitlines()
    return lines or ([] if done.returncode == 0 else ["they could not be checked"])


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


def main(directory: str, address: str) -> int:
    """Print one line for each fault; the exit status says whether there was one."""
    from mead.api import Mead

    try:
        settings = load_settings(os.environ, Path(directory))
        check_listening(settings.mcp_server, address)
        Mead(settings)
    except ConfigurationError as error:
        sys.stdout.writelines(f"{fault}\n" for fault in error.faults)
        return os.EX_CONFIG
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
