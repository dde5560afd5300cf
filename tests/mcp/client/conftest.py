"""What only the hub's tests share."""

import pytest

from tests import peers as others


def pytest_collection_finish(session: pytest.Session) -> None:
    """Install the peers before the first test's clock runs, if a test wants them."""
    if any("peers" in getattr(item, "fixturenames", ()) for item in session.items):
        others.install()


@pytest.fixture(scope="session")
def peers() -> others.Peers:
    """Tool servers that others wrote."""
    return others.install()
