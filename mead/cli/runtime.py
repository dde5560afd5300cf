"""Where a command's calls go: to the process that holds the storage directory, else to its own."""

import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

from flask import current_app

from mead.actors.green import sleep_ms
from mead.api import Mead
from mead.config import Settings
from mead.control.client import ControlClient
from mead.errors import StorageLocked

Runtime = Mead | ControlClient

FAULTS: Final = "mead.faults"
"""Where wsgi.create_app keeps the ConfigurationError that it met."""

_SOCKET_WAIT_S: Final = 5.0
"""A process that has just taken the lock opens its control socket within moments."""


def settings_here() -> Settings:
    """The settings that the application was made with.  Raises ConfigurationError."""
    extensions: dict[str, Any] = current_app.extensions
    if FAULTS in extensions:
        raise extensions[FAULTS]
    return extensions["mead.settings"]


@contextmanager
def connected() -> Generator[Runtime]:
    """The runtime to call.  Raises ConfigurationError, StorageLocked.

    Commands try the control socket before the lock, and never open files that another process
    holds (SPEC section 10).
    """
    settings = settings_here()
    directory = settings.storage.directory
    give_up = time.monotonic() + _SOCKET_WAIT_S
    while True:
        client = None if directory is None else ControlClient.find(directory)
        if client is not None:
            yield client
            return
        mead = Mead(settings)
        try:
            mead.start()
        except StorageLocked:
            if time.monotonic() > give_up:
                raise
            sleep_ms(100)
            continue
        break
    try:
        yield mead
        mead.finish_commands(settings.runtime.turn_timeout_ms)
    finally:
        mead.stop()
