"""Reading a query string and answering with JSON: what the deck's routes share."""

from typing import Any

import orjson
from flask import Response, request

from blueprints.bodies import JSON_TYPE
from mead.errors import InvalidInput


def json_response(value: Any) -> Response:
    """A JSON answer."""
    return Response(orjson.dumps(value), content_type=JSON_TYPE)


def whole_number(name: str, default: int, minimum: int = 0, maximum: int = 100) -> int:
    """The number of that name, or `default`.  Raises InvalidInput."""
    text = request.args.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise InvalidInput(f"{name} must be a whole number")
    number = int(text)
    if not minimum <= number <= maximum:
        raise InvalidInput(f"{name} must be {minimum} to {maximum}")
    return number
