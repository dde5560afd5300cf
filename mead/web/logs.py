"""gunicorn's logger without what must not be in a log: no traceback, no query string, no header."""

import logging
import sys
from typing import Any, Final

from gunicorn.glogging import Logger

ACCESS_LOG_FORMAT: Final = '%(h)s %(t)s "%(r)s" %(s)s %(b)s %(M)sms'

_OURS: Final = ("mead", "blueprints")


def where(error: BaseException) -> str:
    """The class of an exception and the line that raised it, never its text.

    A traceback or a message may quote a token or a prompt; a module's name and a line cannot.
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    name = type(error).__name__
    if trace is None:
        return name
    return f"{name} in {trace.tb_frame.f_globals.get('__name__')}, line {trace.tb_lineno}"


def _is_configured(handler: logging.Handler) -> bool:
    return not (isinstance(handler, logging.NullHandler) or hasattr(handler, "_gunicorn"))


class MeadLogger(Logger):
    """Also takes the lines of our own modules to where gunicorn's go."""

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        for name in _OURS:
            ours = logging.getLogger(name)
            if any(_is_configured(handler) for handler in ours.handlers):
                continue  # by the operator's --log-config
            ours.handlers = list(self.error_log.handlers)
            ours.setLevel(self.error_log.level)
            ours.propagate = self.error_log.propagate

    def exception(self, msg: object, *args: object, **kwargs: Any) -> None:
        """What gunicorn could not handle: its own words, and the class instead of the traceback."""
        error = sys.exc_info()[1]
        shown = [each.partition("?")[0] if isinstance(each, str) else each for each in args]
        self.error_log.error(f"{msg}: %s", *shown, "?" if error is None else where(error))

    def warning(self, msg: object, *args: object, **kwargs: Any) -> None:
        """Not the line of a request that was none, which gunicorn's own workers quote."""
        error = sys.exc_info()[1]
        head, quotes, _ = str(msg).partition(": ")
        if error is not None and quotes and head.startswith("Invalid request"):
            msg = f"{head}: {type(error).__name__}"
        super().warning(msg, *args, **kwargs)

    def atoms(self, resp: Any, req: Any, environ: Any, request_time: Any) -> Any:
        """What an access log line may be made of; gunicorn's own has every header and variable."""
        path = environ["RAW_URI"].partition("?")[0]
        return {
            "h": environ.get("REMOTE_ADDR", "-"),
            "t": self.now(),
            "r": f"{environ['REQUEST_METHOD']} {path} {environ['SERVER_PROTOCOL']}",
            "m": environ["REQUEST_METHOD"],
            "U": path,
            "H": environ["SERVER_PROTOCOL"],
            "s": str(resp.status).partition(" ")[0],
            "b": str(resp.sent),
            "B": resp.sent,
            "M": int(request_time.total_seconds() * 1000),
        }
