"""Turn handlers by name: the built-in ones and those that the operator configured."""

from collections.abc import Mapping
from typing import cast

from mead.errors import ConfigurationError, InvalidInput
from mead.loading import make
from mead.protocols import TurnHandler


class Handlers:
    """Which handler a session gets."""

    def __init__(self, handlers: Mapping[str, TurnHandler], default: str) -> None:
        self._handlers = dict(handlers)
        self._default = default

    @property
    def names(self) -> tuple[str, ...]:
        """The names that `find` knows."""
        return tuple(self._handlers)

    def find(self, handler: str | TurnHandler | None) -> TurnHandler:
        """The handler of that name, the default one for None, an object as it is.

        Raises InvalidInput for an unknown name and for what is no handler.
        """
        if handler is None:
            handler = self._default
        if not isinstance(handler, str):
            if not callable(getattr(handler, "handle_turn", None)):
                raise InvalidInput("handler must be a name or an object with a method handle_turn")
            return handler
        try:
            return self._handlers[handler]
        except KeyError:
            known = ", ".join(self._handlers)
            raise InvalidInput(f"handler must be one of {known}") from None


def configured(handlers: Mapping[str, str]) -> dict[str, TurnHandler]:
    """The handlers of `runtime.handlers`, each made without arguments.

    Raises ConfigurationError for a class that does not import or has no `handle_turn`.
    """
    made: dict[str, TurnHandler] = {}
    for name, path in handlers.items():
        what = f"runtime.handlers.{name}:"
        handler = make(path, what, {})
        if not callable(getattr(handler, "handle_turn", None)):
            raise ConfigurationError([f"{what} {path} has no method handle_turn"])
        made[name] = cast("TurnHandler", handler)
    return made
