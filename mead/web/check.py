"""`python -m mead.web.check DIRECTORY`: whether a server there would find its settings good.

A process of its own, because finding out takes what must not stay in the master: it makes the
runtime, and with it imports the handlers and providers that the settings name.
"""

import os
import sys
from pathlib import Path

from gevent import subprocess

from mead.config import Settings, load_settings
from mead.errors import ConfigurationError
from mead.web.certificate import certificate_faults

LIMIT_S = 20


def load_checked(directory: Path) -> Settings:
    """The settings, their certificate found usable.  Raises ConfigurationError."""
    settings = load_settings(os.environ, directory)
    if faults := certificate_faults(settings.mcp_server):
        raise ConfigurationError(faults)
    return settings


def faults_in_a_new_process(directory: Path) -> list[str]:
    """What `python -m mead.web.check` says about the settings as they are now; none if good."""
    command = [sys.executable, "-m", "mead.web.check", str(directory)]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, timeout=LIMIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return [f"they could not be checked: {type(error).__name__}"]
    lines = done.stdout.decode(errors="replace").splitlines()
    return lines or ([] if done.returncode == 0 else ["they could not be checked"])


def main() -> int:
    """Print one line for each fault; the exit status says whether there was one."""
    from mead.api import Mead

    try:
        Mead(load_checked(Path(sys.argv[1])))
    except ConfigurationError as error:
        sys.stdout.writelines(f"{fault}\n" for fault in error.faults)
        return os.EX_CONFIG
    return 0


if __name__ == "__main__":
    sys.exit(main())
