"""What a turn says about why its model stopped, whatever a provider called it."""

import pytest

from mead.protocols import ModelReply, ModelRequest
from mead.router.progress import OTHER
from tests.helpers.routing import Setting, make_router


class Stops:
    """A provider that stops for a reason of its own."""

    name, model, host = "odd", "m", None

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def complete(self, request: ModelRequest) -> ModelReply:
        return ModelReply(text="x", stop_reason=self._reason)


@pytest.mark.parametrize("reason", ["end_turn", "SAFETY", "v1.2 - done", "s" * 64])
def test_a_short_word_is_kept(reason: str) -> None:
    setting = Setting()
    make_router({"local": Stops(reason)}).handle_turn((), "hi", setting.context)
    assert setting.facts.stop_reason == reason


@pytest.mark.parametrize("reason", ["", "s" * 65, "s" * 60_000, "end_turn\n", "fertig ü", "\ud800"])
def test_anything_else_is_other(reason: str) -> None:
    setting = Setting()
    make_router({"local": Stops(reason)}).handle_turn((), "hi", setting.context)
    assert setting.facts.stop_reason == OTHER
