"""A runtime whose conversations a puppet answers; with a directory where a module says so."""

from collections.abc import Iterator
from typing import Any

import pytest

from mead import Mead
from tests.helpers.puppet import Puppet


@pytest.fixture
def tree() -> dict[str, Any]:
    """The settings.  A module about stored conversations has its own."""
    return {}


@pytest.fixture
def mead(tree: dict[str, Any], puppet: Puppet) -> Iterator[Mead]:
    with Mead(tree, handlers={"puppet": puppet}) as running:
        yield running


def stored_in(directory: object) -> dict[str, Any]:
    return {"storage": {"directory": str(directory)}}


def statuses(mead: Mead, session_id: str) -> list[str]:
    return [turn.status.value for turn in mead.history(session_id)]
