"""The settings that the master found valid, as its workers inherit them.

A worker that is started again, after a crash, serves what the master validated, not a file that
someone is just editing.  The value is set in the worker's main greenlet right after the fork, and
read there when the application is made.
"""

from contextvars import ContextVar

from mead.config import Settings

served: ContextVar[Settings | None] = ContextVar("served", default=None)
