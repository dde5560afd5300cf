"""A test's time limit under gevent.

pytest-timeout's signal would be raised in whatever greenlet happens to run, the hub included, and
its thread ends the whole run.  Here the hub raises the failure in the test's own greenlet; only if
the hub itself is held (a busy loop, a blocking call) does the plugin's signal strike, later.
"""

from typing import Any, Final

import gevent
import pytest
from gevent.util import format_run_info

SIGNAL_LATER_S: Final = 10
_TIMER: Final = pytest.StashKey[Any]()


def start(item: pytest.Item, seconds: float) -> None:
    """Fail the test that runs in this greenlet when `seconds` have passed."""
    main = gevent.getcurrent()

    def strike() -> None:
        stacks = "\n".join(format_run_info())
        item.add_report_section("call", "greenlets at the time limit", stacks)
        main.throw(pytest.fail.Exception(f"still running after {seconds:g} s"))

    timer = gevent.get_hub().loop.timer(seconds)
    # The loop's clock stands still while no greenlet waits: after tests that only compute, a timer
    # started by it would be late from its first moment.
    timer.start(strike, update=True)
    item.stash[_TIMER] = timer


def stop(item: pytest.Item) -> None:
    """Call the limit off."""
    timer = item.stash.get(_TIMER, None)
    if timer is not None:
        timer.stop()
        timer.close()
        del item.stash[_TIMER]
