"""Turn handlers by name: the built-in ones and those that the operator configured.  Source: SPEC 2."""

from collections.abc import Mapping

from mead.errors import InvalidInput
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
