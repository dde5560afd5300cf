"""The deletion of a conversation, as its deck sees it.

    its channel is told -> the session stops -> the channel logs the ends and lets go of its log
    -> the files are removed, or the disk refuses -> the channel tells its devices which

So nothing is written to a file that is removed, no channel makes one anew, and no device is told
that a conversation is gone which is not.  Source: SPEC section 8, "Closing".
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager

from mead.deck.channels import ChannelPool
from mead.deck.titles import Titles


@contextmanager
def deletion(
    channels: ChannelPool | None, titles: Titles, session_id: str
) -> Generator[Callable[[], None]]:
    """Around the deletion; what it yields is called once the session has stopped.

    A block that raises has removed nothing: the name is back then, and devices hear of a stop.
    Blocks on: nothing; the call on the channel and on a name being written.
    """
    name: str | None = None

    def let_go() -> None:
        nonlocal name
        if channels is not None:
            channels.let_go(session_id)
        name = titles.get(session_id)
        titles.forget(session_id)

    is_removed = False
    try:
        if channels is not None:
            channels.deleting(session_id)
        yield let_go
        is_removed = True
    finally:
        if name is not None and not is_removed:
            titles.put_soon(session_id, name)
        if channels is not None:
            channels.deleted(session_id, is_removed=is_removed)
