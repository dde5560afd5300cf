"""The hooks of gunicorn's master: what it refuses, what SIGHUP needs first, when it gives up."""

import os
import signal
import ssl
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from gunicorn.arbiter import Arbiter
from gunicorn.errors import HaltServer
from gunicorn.sock import ssl_context

from mead.actors.supervisor import RestartWindow
from mead.config import Settings, load_settings
from mead.errors import ConfigurationError
from mead.web.check import faults_in_a_new_process
from mead.web.lifecycle import EndMark
from mead.web.options import bind, pin, pinned, refusals
from mead.web.served import served

MAX_ENDS: Final = 2
ENDS_WINDOW_S: Final = 60.0
"""The third worker whose tree gave up within a minute is the last.  Source: SPEC section 3."""

LEAVE: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)


def settings_or_exit(directory: Path) -> Settings:
    """The settings to start with.  Raises SystemExit after one line for each fault."""
    try:
        return load_settings(os.environ, directory)
    except ConfigurationError as error:
        for fault in error.faults:
            sys.stderr.write(f"mead: configuration: {fault}\n")
        sys.exit(os.EX_CONFIG)


class Master:
    """gunicorn calls these in its master, `post_fork` in the new worker."""

    def __init__(self, settings: Settings, directory: Path) -> None:
        self._settings = settings
        self._directory = directory
        self._tls: ssl.SSLContext | None = None
        self._ends = RestartWindow(MAX_ENDS, ENDS_WINDOW_S)

    # -- starting and reloading --------------------------------------------------------------------

    def on_starting(self, server: Any) -> None:
        """Refuse what cannot work; raises SystemExit."""
        lines = refusals(server.cfg)
        for line in lines:
            server.log.error("Refused: %s", line)
        if lines:
            if server.pidfile is not None:
                server.pidfile.unlink()
            sys.exit(os.EX_USAGE)
        self.on_reload(server)

    def on_reload(self, server: Any) -> None:
        """Have the pinned options hold, and the signals handled here."""
        changed = pin(server.cfg, pinned(self._settings.mcp_server))
        if server.cfg.is_ssl:
            ssl_context(server.cfg)
        if not isinstance(server.log, server.cfg.logger_class):
            server.log = server.cfg.logger_class(server.cfg)
        if changed:
            server.log.warning("Not taken from the command line: %s", ", ".join(changed))
        self._mention(server)
        # gunicorn looks its signal handlers up on the instance, and has no hook before a reload
        server.handle_hup = lambda: self._reload(server)
        server.handle_ttin = lambda: server.log.warning("TTIN is refused: Mead runs one worker")

    def _mention(self, server: Any) -> None:
        concurrency = os.environ.get("WEB_CONCURRENCY", "1")
        if concurrency != "1":
            server.log.info("WEB_CONCURRENCY=%s is not used: Mead runs one worker", concurrency)
        if self._settings.storage.directory is None:
            server.log.warning(
                "storage.directory is not set: nothing is kept, conversations end with this server"
            )
        asked = bind(self._settings.mcp_server)
        if server.cfg.settings["bind"].get() != [asked]:
            server.log.warning(
                "The command line chose where to listen; Host is still checked as for %s", asked
            )

    def _reload(self, server: Any) -> None:
        """SIGHUP: a new worker if the settings are good, else nothing."""
        address = bind(self._settings.mcp_server)
        faults = faults_in_a_new_process(self._directory, address, list(server.WORKERS))
        for fault in faults:
            server.log.error("configuration: %s", fault)
        if faults:
            server.log.error("The settings are not used; the worker stays as it is")
            return
        try:
            Arbiter.handle_hup(server)
        except SystemExit:
            # in the new worker: its end.  In the master: gunicorn found a fault that we did not
            if os.getpid() != server.pid:
                raise
            server.log.error("The reload failed; the worker stays as it is")

    def ssl_context(self, config: Any, make: Callable[[], ssl.SSLContext]) -> ssl.SSLContext:
        """The TLS side of the listener, made once in the master.

        So a worker that is started again has the certificate that was found good, and need not be
        able to read the key.
        """
        del config
        if self._tls is None:
            self._tls = make()
        return self._tls

    # -- workers -----------------------------------------------------------------------------------

    def pre_fork(self, server: Any, worker: Any) -> None:
        """Give the worker a way to say why it ends."""
        del server
        worker.end_mark = EndMark()

    def post_fork(self, server: Any, worker: Any) -> None:
        """Hand over the settings, and take away the master's signal handlers.

        A new worker has them until it sets its own: they would queue an order to leave that nobody
        reads.
        """
        del worker
        served.set(self._settings)
        for number in LEAVE:
            signal.signal(number, signal.SIG_DFL)
        while not server.SIG_QUEUE.empty():
            if server.SIG_QUEUE.get_nowait() in LEAVE:
                sys.exit(0)

    def child_exit(self, server: Any, worker: Any) -> None:
        """Stop the master when a new worker would fare no better.  Raises HaltServer."""
        status = worker.end_mark.take()
        if status == 0 or not server.LISTENERS:  # no listeners: the master is stopping anyway
            return
        if status != os.EX_SOFTWARE:
            raise HaltServer("Mead cannot start", status)
        if not self._ends.allows(time.monotonic()):
            raise HaltServer("Mead ended three times in a minute", status)
