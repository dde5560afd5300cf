"""Texts that must not be seen: a secret that is needed again, a token that only has to match."""

import hashlib
import hmac
from typing import Final, NoReturn

MASK: Final = "********"
"""How every secret is shown."""


class Secret:
    """A text that shows as asterisks everywhere but in `reveal()`.

    It cannot be pickled, is no key of a dict and compares in constant time.
    """

    __slots__ = ("_text",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself, for the one line that sends it."""
        return self._text

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(_bytes(self._text), _bytes(other._text))

    def __bool__(self) -> bool:
        return bool(self._text)

    def __str__(self) -> str:
        return MASK

    def __repr__(self) -> str:
        return f"Secret({MASK!r})"

    def __format__(self, spec: str) -> str:
        return format(MASK, spec)

    def __copy__(self) -> "Secret":
        return self

    def __deepcopy__(self, memo: object) -> "Secret":
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not written anywhere")


class TokenDigest:
    """The SHA-256 digest of a token: enough to recognise the token, not to tell it."""

    __slots__ = ("_digest",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, token: str) -> None:
        self._digest = hashlib.sha256(_bytes(token)).digest()

    def matches(self, candidate: str) -> bool:
        """Whether `candidate` is the token, in constant time.  Never raises, whatever the text."""
        return hmac.compare_digest(self._digest, hashlib.sha256(_bytes(candidate)).digest())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TokenDigest):
            return NotImplemented
        return hmac.compare_digest(self._digest, other._digest)

    def __str__(self) -> str:
        return MASK

    def __repr__(self) -> str:
        return f"TokenDigest({MASK!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a token digest is not written anywhere")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
