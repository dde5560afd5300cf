"""A turn handler that counts what its own process holds.  The answer is JSON.

It comes in through `runtime.handlers`, so that the server itself is the one that everybody runs.
`count` is cheap and asked under load; `list` also collects garbage and tells everything by name.
"""

import gc
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import gevent

from mead.protocols import TurnContext

NUMBER = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|0x[0-9a-f]+|\d+")


class Census:
    """See the module."""

    def handle_turn(self, history: Sequence[Any], text: str, context: TurnContext) -> str:
        del history, context
        return json.dumps(counted() if text == "count" else listed())


def counted() -> dict[str, Any]:
    """How many greenlets live, and how many timers and other watchers the loop waits for."""
    return {
        "greenlets": len(_living(gc.get_objects())),
        "watchers": gevent.get_hub().loop.activecnt,
    }


def listed() -> dict[str, Any]:
    """The same after a collection, with names and with all objects by type."""
    gc.collect()
    objects = gc.get_objects()
    living = _living(objects)
    types = Counter(f"{type(each).__module__}.{type(each).__qualname__}" for each in objects)
    return {
        "greenlets": len(living),
        "watchers": gevent.get_hub().loop.activecnt,
        "objects": len(objects),
        "names": Counter(map(_name, living)),
        "types": {name: count for name, count in types.items() if count >= 20},
    }


def _living(objects: Iterable[object]) -> list[gevent.Greenlet]:
    # type(), not isinstance(): the latter would wake Flask's proxies and weak references.
    return [each for each in objects if issubclass(type(each), gevent.Greenlet) and not each.dead]


def _name(greenlet: gevent.Greenlet) -> str:
    run = getattr(greenlet, "_run", None)
    return NUMBER.sub("#", f"{greenlet.name} {getattr(run, '__qualname__', run)}")
