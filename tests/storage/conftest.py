"""Stores in a directory of the test's own."""

from pathlib import Path

import pytest

from mead.config.settings import StorageSettings
from mead.storage.session_store import FileStore


@pytest.fixture
def directory(tmp_path) -> Path:
    return tmp_path / "sessions"


@pytest.fixture
def open_store(directory):
    stores = []

    def make(**more) -> FileStore:
        stores.append(FileStore(StorageSettings(directory=directory, **more)))
        return stores[-1]

    yield make
    for store in stores:
        store.close()


@pytest.fixture
def store(open_store) -> FileStore:
    return open_store()
