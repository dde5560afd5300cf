"""What lies behind an exception of requests."""

from collections.abc import Iterator


def causes_of(error: BaseException) -> Iterator[BaseException]:
    """The error, and those that urllib3 and requests have wrapped into its arguments."""
    yield error
    for wrapped in (*error.args, getattr(error, "reason", None)):
        if isinstance(wrapped, BaseException):
            yield from causes_of(wrapped)
