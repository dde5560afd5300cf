from gevent import monkey

monkey.patch_all()  # before anything else is imported

import os
from collections.abc import Iterator
from typing import Final

import hypothesis
import pytest
import pytest_timeout

from tests.helpers import deadline
from tests.helpers.leaks import LeakWatch, describe
from tests.helpers.outside import OutsideGuard
from tests.helpers.puppet import Puppet

_OPT_IN: Final = ("stress", "live")
_FAILED: Final = pytest.StashKey[bool]()

_leaks: Final = LeakWatch()
_outside: Final = OutsideGuard()
_outside.install()

# No deadline for one example: the machine's load is not the code's fault.
hypothesis.settings.register_profile("mead", deadline=None, print_blob=True)
hypothesis.settings.load_profile("mead")


# -- what runs -------------------------------------------------------------------------------------


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the opt-in tests unless `-m` names their marker."""
    asked = config.getoption("markexpr")
    closed = {name for name in _OPT_IN if name not in asked}
    left_out = [item for item in items if any(item.get_closest_marker(name) for name in closed)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def pytest_sessionstart() -> None:
    _leaks.install()


# -- the time limit --------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: pytest_timeout.Settings) -> bool:
    if not pytest_timeout.is_debugging():
        deadline.start(item, settings.timeout)
    late = settings._replace(timeout=settings.timeout + deadline.SIGNAL_LATER_S, method="signal")
    return pytest_timeout.pytest_timeout_set_timer(item, late)


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_cancel_timer(item: pytest.Item) -> None:
    deadline.stop(item)


# -- what every test must keep ---------------------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report = yield
    if report.failed:
        item.stash[_FAILED] = True
    return report


@pytest.fixture(autouse=True)
def nothing_is_left_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails the test that left a greenlet, a descriptor or a child process."""
    before = _leaks.holdings()
    yield
    left = _leaks.left_since(before)
    if left:
        told = describe(left)
        _leaks.clear(left)
        if _FAILED not in request.node.stash:  # a test that failed half-way had no chance to tidy
            pytest.fail(f"the test left behind:\n{told}", pytrace=False)


@pytest.fixture(autouse=True)
def nobody_outside_is_called(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails the test that tried to reach another machine, unless it is marked `live`."""
    _outside.allowed = request.node.get_closest_marker("live") is not None
    _outside.attempts.clear()
    yield
    _outside.allowed = False
    if _outside.attempts:
        pytest.fail(f"the test tried to reach {', '.join(_outside.attempts)}", pytrace=False)


# -- what several folders use ----------------------------------------------------------------------


@pytest.fixture
def puppet() -> Iterator[Puppet]:
    """A handler that does what its test says; nothing waits for it when the test is over."""
    made = Puppet()
    yield made
    made.release.set()


# -- what fails a run in which every test passed ---------------------------------------------------


def _faults(session: pytest.Session) -> list[str]:
    faults: list[str] = []
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = len(reporter.stats.get("skipped", ())) if reporter else 0
    if skipped and os.environ.get("MEAD_CI") == "1":
        faults.append(f"{skipped} skipped: on this machine every test has to run")
    if os.environ.get("MEAD_CHECK_FAILED") == "1":
        faults.append("lint or type check failed: see the top of this output")
    return faults


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if session.exitstatus == pytest.ExitCode.OK and _faults(session):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for fault in _faults(terminalreporter._session):
        terminalreporter.write_line(f"FAILED RUN: {fault}", red=True, bold=True)
