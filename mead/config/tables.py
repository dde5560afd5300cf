"""The kinds of setting that hold others: sections, lists and tables with free keys."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, cast

from marshmallow import EXCLUDE, Schema, ValidationError, pre_load, validates_schema

from mead.config.fields import Setting
from mead.config.values import EnvironmentValue, Refused, is_json, is_list, kind


@dataclass(frozen=True, slots=True)
class UnknownKey:
    """A fault that is put into words once the whole tree is known."""

    known: tuple[str, ...]
    """The keys of the table that it stands in."""
    remark: str | None = None


class Section(Schema):
    """A table with fixed keys; any other key is a fault."""

    class Meta:
        """What is unknown is reported below, with the keys that are known."""

        unknown = EXCLUDE

    @pre_load
    def _null_is_unset(self, data: Mapping[str, Any], **_: Any) -> dict[str, Any]:
        return {key: value for key, value in data.items() if value is not None}

    @validates_schema(pass_original=True, skip_on_field_errors=False)
    def refuse_unknown(
        self, data: Mapping[str, Any], original: Mapping[str, Any], **_: Any
    ) -> None:
        """Raises ValidationError with one UnknownKey for each key that this table does not have."""
        known = self.names()
        faults = {
            key: [UnknownKey(known, self.remark(key))] for key in original if key not in known
        }
        if faults:
            raise ValidationError(faults)

    def names(self) -> tuple[str, ...]:
        """The keys that this table has."""
        return tuple(cast(Any, self).fields)

    def field(self, key: str) -> Setting:
        """The kind of setting at this key."""
        return cast(Any, self).fields[key]

    def read(self, table: Mapping[str, Any]) -> Any:
        """The settings that the table describes.  Raises ValidationError."""
        return cast(Any, self).load(table)

    def remark(self, key: str) -> str | None:
        """What else there is to say of an unknown key."""
        return None


class Table(Setting):
    """A section inside another."""

    def __init__(self, section: type[Section]) -> None:
        super().__init__("a table")
        self.section = section()

    def convert(self, value: Any) -> Any:
        if not isinstance(value, dict):
            raise Refused(broken_or_kind(value))
        return self.section.read(cast(dict[str, Any], value))


class ListOf(Setting):
    """A list; every item is of one kind."""

    def __init__(self, item: Setting, allowed: str, *, at_least_one: bool = False) -> None:
        super().__init__(allowed, required=at_least_one)
        self.item = item
        self.at_least_one = at_least_one

    def convert(self, value: Any) -> tuple[Any, ...]:
        if not is_list(value):
            raise Refused(broken_or_kind(value))
        if self.at_least_one and not value:
            raise Refused("an empty list")
        faults: dict[int, Any] = {}
        made = [
            _collected(self.item, one, faults, index)
            for index, one in enumerate(cast(list[Any], value))
        ]
        if faults:
            raise ValidationError(cast(dict[str, Any], faults))
        return tuple(made)


class TableOf(Setting):
    """A table whose keys the operator chooses; every value is of one kind."""

    def __init__(
        self,
        item: Setting,
        allowed: str,
        *,
        key: Callable[[str], str],
        key_allowed: str,
    ) -> None:
        super().__init__(allowed)
        self.item = item
        self.key = key
        self.key_allowed = key_allowed

    def convert(self, value: Any) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            raise Refused(broken_or_kind(value))
        faults: dict[str, Any] = {}
        made: dict[str, Any] = {}
        for name, one in cast(dict[str, Any], value).items():
            try:
                made[self.key(name)] = _collected(self.item, one, faults, name)
            except ValueError:
                faults[name] = [f"is no name for this table; allowed: {self.key_allowed}"]
        if faults:
            raise ValidationError(faults)
        return MappingProxyType(made)


class JsonTable(Setting):
    """A table that is passed on as JSON, whatever is in it."""

    def __init__(self) -> None:
        super().__init__("a table of JSON values")

    def convert(self, value: Any) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            raise Refused(broken_or_kind(value))
        return MappingProxyType(
            {name: _json(name, one) for name, one in cast(dict[str, Any], value).items()}
        )


def broken_or_kind(value: object) -> str:
    """What was found where a list or table should be: its type, or where its JSON breaks off."""
    if isinstance(value, EnvironmentValue) and value.broken is not None:
        return f"JSON that breaks off at {value.broken}"
    return kind(value)


def unwrapped(value: Any) -> Any:
    """The value of an option that nobody here knows: from a variable, as JSON has it."""
    if not isinstance(value, EnvironmentValue):
        return value
    if value.broken is not None:
        raise Refused(broken_or_kind(value))
    return value.value


def _json(name: str, value: Any) -> Any:
    made = unwrapped(value)
    if not is_json(made):
        raise ValidationError({name: ["found what JSON cannot say; allowed: a JSON value"]})
    return made


def _collected(item: Setting, value: Any, faults: dict[Any, Any], key: Any) -> Any:
    try:
        return item.read(value)
    except ValidationError as error:
        faults[key] = cast(Any, error).messages
        return None
