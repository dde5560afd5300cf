"""How many files the process may have open, and how many it may need."""

import resource
from typing import Final

from mead.config import Settings

FILES_BESIDE: Final = 150
"""Listener, control socket, tool servers, model connections, the program itself."""

FILES_PER_SESSION: Final = 2
"""Its log and its deck's event log."""


def files_needed(settings: Settings) -> int:
    """Descriptors of a Mead that is as full as its settings allow."""
    sessions = settings.runtime.maximum_sessions
    stored = sessions * FILES_PER_SESSION if settings.storage.directory is not None else 0
    return FILES_BESIDE + stored + settings.mcp_server.maximum_connections


def raise_file_limit(settings: Settings) -> str | None:
    """Ask the system for as many as may be needed; what to do if it does not give them.

    The usual soft limit of 1024 is below the hard one, which a process may use as it likes.
    """
    needed = files_needed(settings)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return None
    most = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    if most >= needed:
        return None
    return (
        f"{needed} files may have to be open at once and the system allows {most}: raise its limit"
        " (ulimit -n), or lower runtime.maximum_sessions or mcp_server.maximum_connections"
    )
