"""How a device gets a token of its own: a code that somebody hands over, and what it becomes.

The operator makes a code (`flask mead deck link`, `make run`); whoever sends it first gets an
access token.  Only digests are kept, so the file gives nobody access:

    {"codes": {digest: expires at}, "tokens": {digest: expires at}}     times in seconds since 1970

Source: SPEC section 8, "HTTP beside it".
"""

import hashlib
import hmac
import logging
import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, cast

import orjson

from mead.actors.green import RLock
from mead.storage.private_file import PrivateFile

log = logging.getLogger(__name__)

CODE_BYTES: Final = 16
CODE_S: Final = 600
TOKEN_BYTES: Final = 32
TOKEN_S: Final = 30 * 86_400
LIVE_CODES: Final = 20
"""Far above what one person hands over within ten minutes; the oldest goes."""
LIVE_TOKENS: Final = 100
"""Devices of one person; the one that logged in longest ago has to log in again."""

Digests = dict[str, float]
"""Digest -> when it ends; the oldest first."""


class Login(NamedTuple):
    """What a code became."""

    token: str
    expires_in_ms: int


class Logins:
    """The codes and the access tokens of one deck.  Every call may be made from any greenlet."""

    def __init__(self, file: PrivateFile | None, clock: Callable[[], float] = time.time) -> None:
        """`file` is None without a storage directory: nothing then outlives the process.

        A file that cannot be read as such lets nobody in.  Raises PersistenceError.
        Blocks on: disk.
        """
        self._file = file
        self._clock = clock
        self._lock = RLock()
        self._codes, self._tokens = _loaded(None if file is None else file.read())

    def new_code(self) -> str:
        """A code that is good once, for ten minutes.  Raises PersistenceError.

        Blocks on: disk.
        """
        code = secrets.token_urlsafe(CODE_BYTES)
        with self._lock:
            codes = _with(self._living(self._codes), code, self._clock() + CODE_S, LIVE_CODES)
            self._keep(codes, self._tokens)
        return code

    def login(self, code: str) -> Login | None:
        """The token that the code becomes; None when it is not a live code.

        Raises PersistenceError; the code can then be tried again.  Blocks on: disk.
        """
        with self._lock:
            codes = self._living(self._codes)
            if codes.pop(_digest(code), None) is None:
                return None
            token = secrets.token_urlsafe(TOKEN_BYTES)
            ends_at = self._clock() + TOKEN_S
            self._keep(codes, _with(self._living(self._tokens), token, ends_at, LIVE_TOKENS))
        return Login(token, TOKEN_S * 1000)

    def matches(self, token: str) -> bool:
        """Whether it is a live access token; takes the same time whichever it is not.

        Blocks on: nothing.
        """
        digest, now = _digest(token), self._clock()
        answers = [
            hmac.compare_digest(known, digest) and now < ends_at
            for known, ends_at in self._tokens.items()
        ]
        return any(answers)

    def revoke(self) -> int:
        """Forget every code and token; how many tokens there were.  Raises PersistenceError.

        Blocks on: disk.
        """
        with self._lock:
            count = len(self._living(self._tokens))
            self._keep({}, {})
        return count

    def _living(self, digests: Digests) -> Digests:
        now = self._clock()
        return {digest: ends_at for digest, ends_at in digests.items() if now < ends_at}

    def _keep(self, codes: Digests, tokens: Digests) -> None:
        """The disk first: what it refuses has not happened."""
        if self._file is not None:
            self._file.replace(orjson.dumps({"codes": codes, "tokens": tokens}))
        self._codes, self._tokens = codes, tokens


def _with(digests: Digests, text: str, ends_at: float, most: int) -> Digests:
    newest = [*digests.items(), (_digest(text), ends_at)][-most:]
    return dict(newest)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _loaded(data: bytes | None) -> tuple[Digests, Digests]:
    if data is None:
        return {}, {}
    try:
        shape = cast("Mapping[str, Any]", orjson.loads(data))
        return _digests(shape["codes"]), _digests(shape["tokens"])
    except (orjson.JSONDecodeError, AttributeError, KeyError, TypeError, ValueError):
        log.warning("the file of the deck's logins is damaged: every device has to log in again")
        return {}, {}


def _digests(shape: Mapping[str, Any]) -> Digests:
    return {str(digest): float(ends_at) for digest, ends_at in shape.items()}
