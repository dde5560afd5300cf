"""What gunicorn must be told, and what its command line and environment may not change.

gunicorn reads its configuration file first, then GUNICORN_CMD_ARGS, then the command line; so what
must hold is set once more when the master starts, and after every reload.
"""

from typing import Any, Final

from gunicorn.config import Config
from gunicorn.util import load_class
from gunicorn.workers.ggevent import GeventPyWSGIWorker, GeventWorker

from mead.config import McpServerSettings
from mead.web.logs import ACCESS_LOG_FORMAT

WORKER_CLASS: Final = "mead.web.worker.MeadWorker"
LOGGER_CLASS: Final = "mead.web.logs.MeadLogger"
GRACEFUL_TIMEOUT_S: Final = 25
"""Heroku and Kubernetes kill 30 s after SIGTERM."""

KEEPALIVE_S: Final = 15
"""Longer than HTTP clients keep an idle connection (4 to 5 s), so that they are the ones to close
it and no request meets a closed one."""

HEARTBEAT_S: Final = 60
"""The master aborts a worker whose hub was held for that long."""


def bind(server: McpServerSettings) -> str:
    """`address:port` as gunicorn takes it."""
    host = f"[{server.address}]" if ":" in server.address else server.address
    return f"{host}:{server.port}"


def pinned(server: McpServerSettings) -> dict[str, Any]:
    """Options that hold whatever the command line says: who is believed, and what is logged."""
    return {
        "worker_connections": server.maximum_connections,
        "forwarded_allow_ips": ",".join(server.trusted_proxies),
        "forwarder_headers": "",
        "header_map": "drop",
        "access_log_format": ACCESS_LOG_FORMAT,
        "logger_class": LOGGER_CLASS,
        "control_socket_disable": True,
        "protocol": "http",
        "http_protocols": "h1",
        "http2_cleartext": "off",
    }


def pin(cfg: Config, options: dict[str, Any]) -> list[str]:
    """Set them; the names of those that had another value."""
    changed: list[str] = []
    for name, value in options.items():
        before = cfg.settings[name].get()
        cfg.set(name, value)
        if cfg.settings[name].get() != before:
            changed.append(name)
    return changed


def refusals(cfg: Config) -> list[str]:
    """Why the server must not start as it was asked to, one line each."""
    lines: list[str] = []
    if cfg.workers != 1:
        lines.append(
            f"--workers {cfg.workers}: Mead runs one worker, because its conversations live in one"
            " process; leave the option out"
        )
    if cfg.reuse_port:
        lines.append("--reuse-port: a second server would have conversations of its own")
    if cfg.preload_app:
        lines.append("--preload: SIGHUP could not bring new settings; leave the option out")
    kind = load_class(cfg.settings["worker_class"].get())
    if not issubclass(kind, GeventWorker) or issubclass(kind, GeventPyWSGIWorker):
        lines.append(f"--worker-class {cfg.worker_class_str}: use {WORKER_CLASS} or gevent")
    return lines
