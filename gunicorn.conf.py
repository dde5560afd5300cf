from gevent import monkey

monkey.patch_all()  # before anything else is imported

# ruff: noqa: D100 - the first line patches
#
# What `gunicorn wsgi:app` runs with.  What an operator sets is in mead.toml and MEAD_* variables
# (docs/configuration.md); the logic is in mead/web/.  docs/deployment.md says which of gunicorn's
# own options may be added.

from pathlib import Path
from typing import Any

import gevent

from mead.web import lifecycle, options
from mead.web.master import Master, settings_or_exit

gevent.config.track_greenlet_tree = False  # nobody reads who spawned whom, and a turn pays for it

_directory = Path(__file__).absolute().parent
_settings = settings_or_exit(_directory)
_server = _settings.mcp_server
_master = Master(_settings, _directory)

# -- one worker, of our own class ------------------------------------------------------------------

wsgi_app = "wsgi:app"
worker_class = options.WORKER_CLASS
workers = 1  # whatever WEB_CONCURRENCY says: a conversation lives in one process
timeout = options.HEARTBEAT_S
graceful_timeout = options.GRACEFUL_TIMEOUT_S

# -- the listener ----------------------------------------------------------------------------------

bind = options.bind(_server)
backlog = 256
keepalive = options.KEEPALIVE_S
certfile = None if _server.certfile is None else str(_server.certfile)
keyfile = None if _server.keyfile is None else str(_server.keyfile)

# Who is believed and what is logged; also set against GUNICORN_CMD_ARGS and the command line.
globals().update(options.pinned(_server))

# -- the master ------------------------------------------------------------------------------------

on_starting = _master.on_starting
on_reload = _master.on_reload
ssl_context = _master.ssl_context
pre_fork = _master.pre_fork
post_fork = _master.post_fork
child_exit = _master.child_exit

# -- the worker ------------------------------------------------------------------------------------


def post_worker_init(worker: Any) -> None:
    """Start the tree, before the first connection is taken."""
    lifecycle.start(worker)


def worker_exit(server: Any, worker: Any) -> None:
    """Stop the tree, after the last connection has gone."""
    lifecycle.stop(worker)


def pre_request(worker: Any, request: Any) -> None:
    """Let the others run once: a client with requests in a row would never give way."""
    gevent.sleep(0)
