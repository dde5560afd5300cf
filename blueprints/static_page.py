"""A folder of files as a page: read at boot, kept in memory, served with the headers it needs.

Nothing outside the folder can be asked for, because a request only ever looks into a table that was
made at boot.  Links inside the page are relative, so it works behind any path prefix; no cookie is
set or read.  Source: DECK-PAGE section 6, SPEC section 8.
"""

import gzip
import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from flask import Response, request
from werkzeug.exceptions import NotFound

INDEX: Final = "index.html"

CONTENT_TYPES: Final[Mapping[str, str]] = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
}
"""What is served; a file of another kind (a licence, a note) stays on the disk."""

CONTENT_SECURITY_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types lit-html dompurify",
    )
)
"""No inline script, no other host, and text never becomes HTML without one of two policies."""

HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

_FRESH: Final = "no-cache"
"""Ask each time; the answer is mostly an empty 304."""
_FOR_EVER: Final = "public, max-age=31536000, immutable"
_VERSIONED: Final = re.compile(r"vendor/[^/]+-\d[^/]*/")
"""A path that another version would not have."""
_SMALL_BYTES: Final = 200
"""Below that gzip gains nothing."""


@dataclass(frozen=True, slots=True)
class _File:
    content_type: str
    cache_control: str
    etag: str
    plain: bytes
    zipped: bytes | None


class StaticPage:
    """The files of one folder, as they were when it was made."""

    def __init__(self, folder: Path) -> None:
        """Blocks on: disk."""
        self._files = dict(_read(folder))

    @property
    def paths(self) -> list[str]:
        """What can be asked for, relative to where the page is mounted."""
        return sorted(self._files)

    def answer(self, path: str) -> Response:
        """The response to the current request for `path`; an empty one is the page itself.

        Raises NotFound.  Blocks on: nothing.
        """
        file = self._files.get(path or INDEX)
        if file is None:
            raise NotFound
        response = Response(content_type=file.content_type, headers=HEADERS)
        response.headers["Cache-Control"] = file.cache_control
        response.vary.add("Accept-Encoding")
        response.set_etag(file.etag)
        if request.if_none_match.contains_weak(file.etag):
            response.status_code = 304
            return response
        if file.zipped is not None and request.accept_encodings["gzip"] > 0:
            response.headers["Content-Encoding"] = "gzip"
            response.set_etag(file.etag, weak=True)  # other bytes, same meaning
            response.set_data(file.zipped)
        else:
            response.set_data(file.plain)
        return response


def _read(folder: Path) -> Iterator[tuple[str, _File]]:
    for path in sorted(folder.rglob("*")):
        content_type = CONTENT_TYPES.get(path.suffix)
        if content_type is None or path.is_symlink() or not path.is_file():
            continue
        name = path.relative_to(folder).as_posix()
        plain = path.read_bytes()
        zipped = gzip.compress(plain, 9, mtime=0) if len(plain) > _SMALL_BYTES else None
        yield (
            name,
            _File(
                content_type=content_type,
                cache_control=_FOR_EVER if _VERSIONED.match(name) else _FRESH,
                etag=hashlib.sha256(plain).hexdigest()[:32],
                plain=plain,
                zipped=zipped,
            ),
        )
