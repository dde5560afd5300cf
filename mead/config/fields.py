"""The kinds of setting, as marshmallow fields.

Each knows in one phrase what it allows; a value that it refuses becomes the line of a fault: what
was found, and that phrase.  Where the value may be a secret, the fault tells its type alone.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, cast

from marshmallow import ValidationError, fields

from mead.config.places import absolute, fetched
from mead.config.secrets import Secret, TokenDigest
from mead.config.values import EnvironmentValue, Refused, encodes, found, kind

TOKEN_MINIMUM_CHARACTERS: Final = 32
TEXT_MAXIMUM_CHARACTERS: Final = 100_000

_VISIBLE: Final = re.compile(r"[!-~]+")


class Setting(fields.Field[Any]):
    """Base of the kinds.  A kind overrides `convert`, which raises ValueError or Refused."""

    is_text = False
    """Whether an environment variable's text is taken as it stands."""
    is_private = False
    """Whether a fault tells the type of the value alone."""

    def __init__(self, allowed: str, *, required: bool = False) -> None:
        messages: Any = {
            "required": f"is missing; allowed: {allowed}",
            "null": f"found {found(None)}; allowed: {allowed}",
        }
        cast(Any, super()).__init__(required=required, error_messages=messages)
        self.allowed = allowed

    def convert(self, value: Any) -> Any:
        """The value as the settings keep it."""
        raise NotImplementedError

    def read(self, value: Any) -> Any:
        """The value as the settings keep it, once it is found to be right.

        Raises ValidationError.
        """
        return cast(Any, self).deserialize(value)

    def refusal(self, what: str) -> ValidationError:
        """The fault: what was found and what is allowed."""
        return ValidationError(f"found {what}; allowed: {self.allowed}")

    def _deserialize(
        self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any
    ) -> Any:
        try:
            return self.convert(self._as_read(value))
        except Refused as refused:
            raise self.refusal(refused.found) from None
        except ValueError:
            raise self.refusal(kind(value) if self.is_private else found(value)) from None

    def _as_read(self, value: Any) -> Any:
        if not isinstance(value, EnvironmentValue):
            return value
        if self.is_text:
            return value.raw
        if value.broken is not None:
            raise Refused(f"JSON that breaks off at {value.broken}")
        return value.value


class Converted(Setting):
    """Whatever a function makes of the value; it raises ValueError or Refused."""

    def __init__(self, convert: Callable[[Any], Any], allowed: str) -> None:
        super().__init__(allowed)
        self._convert = convert

    def convert(self, value: Any) -> Any:
        return self._convert(value)


class Whole(Setting):
    """A whole number within bounds."""

    def __init__(self, lowest: int, highest: int) -> None:
        super().__init__(f"a whole number from {lowest} to {highest}")
        self.lowest = lowest
        self.highest = highest

    def convert(self, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError
        if not self.lowest <= value <= self.highest:
            raise ValueError
        return int(value)


class Number(Setting):
    """A number within bounds."""

    def __init__(self, lowest: float, highest: float) -> None:
        super().__init__(f"a number from {lowest} to {highest}")
        self.lowest = lowest
        self.highest = highest

    def convert(self, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError
        if not self.lowest <= value <= self.highest:  # also refuses what is not a number (nan)
            raise ValueError
        return float(value)


class Switch(Setting):
    """True or false."""

    def __init__(self) -> None:
        super().__init__("true or false")

    def convert(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise ValueError
        return value


class Choice(Setting):
    """One of a few words."""

    is_text = True

    def __init__(self, *words: str, required: bool = False) -> None:
        super().__init__("one of " + ", ".join(words), required=required)
        self.words = words

    def convert(self, value: Any) -> str:
        if not isinstance(value, str) or value not in self.words:
            raise ValueError
        return str(value)


class Text(Setting):
    """A text of a certain shape: `parse` gives its normal form or raises ValueError."""

    is_text = True

    def __init__(
        self,
        allowed: str,
        parse: Callable[[str], str] = str,
        *,
        required: bool = False,
    ) -> None:
        super().__init__(allowed, required=required)
        self.parse = parse

    def convert(self, value: Any) -> str:
        if not isinstance(value, str) or len(value) > TEXT_MAXIMUM_CHARACTERS:
            raise ValueError
        if not value.strip() or "\0" in value or not encodes(value):
            raise ValueError
        return self.parse(value)


class PrivateText(Text):
    """A text that may hold a secret, and may come from `env:NAME` or `file:PATH`."""

    is_private = True

    def convert(self, value: Any) -> str:
        if isinstance(value, Secret):
            return super().convert(value.reveal())
        if isinstance(value, str):
            if not value.strip():
                raise Refused("an empty text")
            return super().convert(fetched(value))
        raise ValueError


class SecretText(PrivateText):
    """A secret that is needed again."""

    def convert(self, value: Any) -> Any:
        return Secret(super().convert(value))


class Token(PrivateText):
    """A bearer token, of which only the digest is kept."""

    def __init__(self) -> None:
        super().__init__(
            f"{TOKEN_MINIMUM_CHARACTERS} or more visible ASCII characters (see `flask mead token`)",
            visible,
        )

    def convert(self, value: Any) -> Any:
        text = super().convert(value)
        if len(text) < TOKEN_MINIMUM_CHARACTERS:
            raise Refused(f"a text of {len(text)} characters")
        return TokenDigest(text)


class Location(Setting):
    """A path, made absolute."""

    is_text = True

    def __init__(self, allowed: str, accepts: Callable[[Path], bool]) -> None:
        super().__init__(allowed)
        self.accepts = accepts

    def convert(self, value: Any) -> Path:
        if not isinstance(value, str | Path) or not encodes(str(value)):
            raise ValueError
        path = absolute(str(value))
        try:
            accepted = self.accepts(path)
        except OSError:
            accepted = False
        if not accepted:
            raise ValueError
        return path


def visible(text: str) -> str:
    """A text that any header can carry: visible ASCII, no space.  Raises ValueError."""
    return matching(_VISIBLE)(text)


def matching(pattern: re.Pattern[str]) -> Callable[[str], str]:
    """A parser that takes the texts that match the pattern as a whole."""

    def parse(text: str) -> str:
        if pattern.fullmatch(text) is None:
            raise ValueError
        return text

    return parse
