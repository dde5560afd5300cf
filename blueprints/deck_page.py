"""The deck's page at `/deck/`: files for anyone, because they hold no secret."""

from functools import cache
from pathlib import Path
from typing import Final

from flask import Blueprint, Response, request

from blueprints.guards import Access, access
from blueprints.static_page import StaticPage

ROOT: Final = "/deck/"
FOLDER: Final = Path(__file__).parent / "static" / "deck"


def page_blueprint(folder: Path = FOLDER) -> Blueprint:
    """A route for each file: what is no file is a 404 whatever the method.  Blocks on: disk."""
    blueprint = Blueprint("deck_page", __name__)
    page = _read(folder)

    @access(Access.OPEN)
    def files() -> Response:
        return page.answer(request.path.removeprefix(ROOT))

    @blueprint.get("/deck")
    @access(Access.OPEN)
    def home() -> Response:
        """The page's links are relative, as this is, for path prefixes; so it needs the slash."""
        return Response(status=308, headers={"Location": "deck/"})

    @blueprint.get("/")
    @access(Access.OPEN)
    def front() -> Response:
        """Who types the server's name alone means the page; not for good, as a cache would."""
        return Response(status=302, headers={"Location": "deck/", "Cache-Control": "no-store"})

    for path in ("", *page.paths):
        blueprint.add_url_rule(ROOT + path, view_func=files, methods=["GET"])
    return blueprint


@cache
def _read(folder: Path) -> StaticPage:
    """Once in a process, however many applications it makes."""
    return StaticPage(folder)
