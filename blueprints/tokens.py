"""Bearer tokens: told apart in constant time, and a bound on guessing.  Source: SPEC section 6."""

import ipaddress
import logging
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Final

from blueprints.origins import parse_address

log = logging.getLogger(__name__)

Matcher = Callable[[str], bool]
"""Whether a text is the token; takes the same time whatever the text (`TokenDigest.matches`)."""

WRONG_LIMIT: Final = 10
WINDOW_S: Final = 60.0

ADDRESSES: Final = 10_000
"""How many clients are remembered at once; the one that guessed longest ago is forgotten."""

_IPV6_HOME: Final = 64
"""One customer of an IPv6 provider has at least a /64, so its addresses count together."""


def bearer(header: str | None) -> str | None:
    """The token of an Authorization header; None when there is no bearer token in it."""
    scheme, _, token = (header or "").partition(" ")
    token = token.strip()
    return token if scheme.lower() == "bearer" and token else None


def matches_any(token: str, matchers: list[Matcher]) -> bool:
    """Whether one of them knows the token; all are asked, so that time does not tell which."""
    answers = [matches(token) for matches in matchers]
    return any(answers)


class WrongTokens:
    """Counts wrong tokens by client address in a sliding window."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.total = 0
        """All wrong tokens since the start."""
        self._clock = clock
        self._times: OrderedDict[str, deque[float]] = OrderedDict()

    def count(self, address: str) -> bool:
        """Count one from that address; whether it may guess on (False: too many in a minute)."""
        self.total += 1
        now = self._clock()
        times = self._times.setdefault(_home(address), deque(maxlen=WRONG_LIMIT + 1))
        self._times.move_to_end(_home(address))
        while times and now - times[0] > WINDOW_S:
            times.popleft()
        if len(times) == WRONG_LIMIT:
            log.warning("%s sent more than %d wrong tokens in a minute", address, WRONG_LIMIT)
        times.append(now)
        if len(self._times) > ADDRESSES:
            self._times.popitem(last=False)
        return len(times) <= WRONG_LIMIT


def _home(address: str) -> str:
    parsed = parse_address(address)
    if isinstance(parsed, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((parsed, _IPV6_HOME), strict=False))
    return address
