"""`python -m tests.peers`: install them now."""

from tests.peers import install

install()
