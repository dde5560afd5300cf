"""Waiting for something to become true, without guessing how long it takes."""

import time
from collections.abc import Callable
from typing import Final, TypeVar

import gevent

Result = TypeVar("Result")

_POLL_S: Final = 0.005


def eventually(predicate: Callable[[], Result], bound_s: float = 5) -> Result:
    """The first true value of `predicate`, asked again while other greenlets run.

    Raises AssertionError when `bound_s` seconds have passed, with what it said last.  Prefer an
    event that the code under test sets; this is for what announces itself nowhere.
    """
    limit = time.monotonic() + bound_s
    while not (last := predicate()):
        if time.monotonic() >= limit:
            raise AssertionError(f"still {last!r} after {bound_s} s: {_name(predicate)}")
        gevent.sleep(_POLL_S)
    return last


def _name(predicate: Callable[[], object]) -> str:
    code = getattr(predicate, "__code__", None)
    where = f" ({code.co_filename}:{code.co_firstlineno})" if code else ""
    return getattr(predicate, "__qualname__", repr(predicate)) + where
