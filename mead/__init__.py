"""Mead keeps AI-assistant conversations alive.  `from mead import Mead`."""

from mead.api import Mead as Mead
from mead.errors import MeadError as MeadError
