"""The whole tree as marshmallow reads it, with the bounds of every value.

The defaults stand in `settings`; a bound is where a value stops being of any use (a day for most
times, a listed figure of SPEC where there is one).  Source: SPEC section 2.
"""

import re
import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, cast, get_args

from marshmallow import ValidationError, post_load, validates_schema

from mead.config import network
from mead.config.fields import Choice, Location, Setting, Switch, Text, Token, Whole, matching
from mead.config.secrets import TokenDigest
from mead.config.servers import Mcp
from mead.config.settings import (
    ClassifierSettings,
    DeckSettings,
    FsyncMode,
    McpServerSettings,
    PolicyLevel,
    RouterSettings,
    RuntimeSettings,
    Settings,
    StorageSettings,
)
from mead.config.slots import CLASS_PATH, CLASS_PATH_ALLOWED, PROVIDERS, Slots
from mead.config.tables import ListOf, Section, Table, TableOf
from mead.config.values import found
from mead.turn import RequestedRoute

_DAY_MS: Final = 86_400_000
_HOUR_MS: Final = 3_600_000
_TEBIBYTE: Final = 2**40
_HANDLER_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
BUILT_IN_HANDLERS: Final = ("router", "echo")


def _handler_name(text: str) -> str:
    if text in BUILT_IN_HANDLERS:
        raise ValueError
    return matching(_HANDLER_NAME)(text)


class Runtime(Section):
    """`runtime`"""

    turn_handler = Text("router, echo or a name of runtime.handlers")
    handlers = TableOf(
        Text(CLASS_PATH_ALLOWED, matching(CLASS_PATH)),
        f"a table: name = {CLASS_PATH_ALLOWED}",
        key=_handler_name,
        key_allowed="1 to 64 letters, digits, _ and -, other than router and echo",
    )
    default_route = Choice(*get_args(RequestedRoute))
    turn_timeout_ms = Whole(1, _HOUR_MS)
    maximum_sessions = Whole(1, 1_000_000)

    @validates_schema(pass_original=True, skip_on_field_errors=False)
    def _handler_is_known(
        self, data: Mapping[str, Any], original: Mapping[str, Any], **_: Any
    ) -> None:
        handler, named = data.get("turn_handler"), original.get("handlers")
        own = cast(dict[str, Any], named) if isinstance(named, dict) else {}
        known = [*BUILT_IN_HANDLERS, *own]
        if handler is not None and handler not in known:
            line = f"found {found(handler)}; allowed: router, echo or a name of runtime.handlers"
            raise ValidationError({"turn_handler": [line]})

    @post_load
    def _settings(self, data: dict[str, Any], **_: Any) -> RuntimeSettings:
        return RuntimeSettings(**data)


def _may_be_made(path: Path) -> bool:
    existing = next(one for one in (path, *path.parents) if one.exists())
    return existing.is_dir()


class Storage(Section):
    """`storage`"""

    directory = Location("the path of a directory, which may not exist yet", _may_be_made)
    fsync = Choice(*get_args(FsyncMode))
    fsync_interval_ms = Whole(1, _HOUR_MS)
    compact_after_bytes = Whole(1, _TEBIBYTE)
    ledger_journal_max_bytes = Whole(1, _TEBIBYTE)
    max_turns = Whole(1, 1_000_000)

    @post_load
    def _settings(self, data: dict[str, Any], **_: Any) -> StorageSettings:
        return StorageSettings(**data)


class Classifier(Section):
    """`router.classifier`"""

    maximum_characters = Whole(0, 100_000)
    maximum_turns = Whole(0, 100_000)
    maximum_history_characters = Whole(0, 10_000_000)
    local_words = ListOf(Text("a word or words"), "a list of words")
    cloud_words = ListOf(Text("a word or words"), "a list of words")

    @post_load
    def _settings(self, data: dict[str, Any], **_: Any) -> ClassifierSettings:
        return ClassifierSettings(**data)


class RouterSection(Section):
    """`router`"""

    slots = Table(Slots)
    classifier = Table(Classifier)

    @post_load
    def _settings(self, data: dict[str, Any], **_: Any) -> RouterSettings:
        return RouterSettings(**data)


class McpServer(Section):
    """`mcp_server`"""

    token = Token()
    port = Whole(1, 65_535)
    address = Text("an IP address", network.ip_address)
    allow_effect = Switch()
    allowed_origins = ListOf(
        Text("an origin scheme://host[:port]", network.origin), "a list of origins"
    )
    allowed_hosts = ListOf(Text("host or host:port", network.host), "a list of hosts")
    trusted_proxies = ListOf(
        Text("an IP address or a network like 10.0.0.0/8", network.ip_network),
        "a list of IP addresses and networks",
    )
    maximum_connections = Whole(1, 100_000)
    certfile = Location("the path of a readable PEM file", lambda path: path.is_file())
    keyfile = Location("the path of a readable PEM file", lambda path: path.is_file())

    @validates_schema(pass_original=True, skip_on_field_errors=False)
    def _both_or_neither(
        self, data: Mapping[str, Any], original: Mapping[str, Any], **_: Any
    ) -> None:
        given = {key for key in ("certfile", "keyfile") if original.get(key) is not None}
        if len(given) == 1:
            (other,) = {"certfile", "keyfile"} - given
            line = "is missing; allowed: both or neither of certfile and keyfile"
            raise ValidationError({other: [line]})
        certificate, key = data.get("certfile"), data.get("keyfile")
        if certificate is not None and key is not None:
            _check_pair(certificate, key)

    @post_load
    def _settings(self, data: dict[str, Any], **_: Any) -> McpServerSettings:
        return McpServerSettings(**data)


class Deck(Section):
    """`deck`"""

    token = Token()
    ticket_ttl_ms = Whole(1, _HOUR_MS)
    permission_timeout_ms = Whole(1, _DAY_MS)
    heartbeat_ms = Whole(1, _HOUR_MS)
    idle_timeout_ms = Whole(2, _DAY_MS)
    resume_deadline_ms = Whole(1, _HOUR_MS)
    queue_limit = Whole(1, 1000)
    event_log_limit = Whole(1, 10_000_000)
    event_log_bytes = Whole(1_048_576, 1_073_741_824)
    default_policy_level = Choice(*get_args(PolicyLevel))

    @validates_schema(pass_original=True, skip_on_field_errors=False)
    def _idle_exceeds_heartbeat(
        self, data: Mapping[str, Any], original: Mapping[str, Any], **_: Any
    ) -> None:
        defaults = DeckSettings()
        idle = data.get("idle_timeout_ms", defaults.idle_timeout_ms)
        heartbeat = data.get("heartbeat_ms", defaults.heartbeat_ms)
        given = {
            key for key in ("idle_timeout_ms", "heartbeat_ms") if original.get(key) is not None
        }
        if given <= data.keys() and idle <= heartbeat:
            if "idle_timeout_ms" in given:
                line = f"found {idle}; allowed: more than deck.heartbeat_ms, which is {heartbeat}"
                raise ValidationError({"idle_timeout_ms": [line]})
            line = f"found {heartbeat}; allowed: less than deck.idle_timeout_ms, which is {idle}"
            raise ValidationError({"heartbeat_ms": [line]})

    @post_load
    def _settings(self, data: dict[str, Any], **_: Any) -> DeckSettings:
        return DeckSettings(**data)


class Root(Section):
    """The whole tree."""

    runtime = Table(Runtime)
    storage = Table(Storage)
    router = Table(RouterSection)
    mcp = Table(Mcp)
    mcp_server = Table(McpServer)
    deck = Table(Deck)

    @validates_schema(pass_original=True, skip_on_field_errors=False)
    def _tokens_differ(
        self, data: Mapping[str, Any], original: Mapping[str, Any], **_: Any
    ) -> None:
        tokens = [_token(original.get(section)) for section in ("mcp_server", "deck")]
        if tokens[0] is not None and tokens[0] == tokens[1]:
            line = "is the same as mcp_server.token; allowed: a token of its own"
            raise ValidationError({"deck": {"token": [line]}})

    @post_load
    def _settings(self, data: dict[str, Any], **_: Any) -> Settings:
        return Settings(**data)


def known_keys() -> tuple[str, ...]:
    """Every key of the tree; `<slot>`, `<name>` and `[]` stand for what an operator names."""
    return tuple(_keys_of(Root(), ""))


def _keys_of(section: Section, prefix: str) -> Iterator[str]:
    for name in section.names():
        yield from _keys_at(section.field(name), f"{prefix}{name}")


def _keys_at(field: Setting, path: str) -> Iterator[str]:
    if isinstance(field, Table):
        if isinstance(field.section, Slots):
            options = dict.fromkeys(key for one in PROVIDERS.values() for key in one.names())
            yield from (f"{path}.<slot>.{key}" for key in options)
        else:
            yield from _keys_of(field.section, f"{path}.")
    elif isinstance(field, ListOf) and isinstance(field.item, Table):
        yield from _keys_at(field.item, f"{path}[]")
    elif isinstance(field, TableOf):
        yield f"{path}.<name>"
    else:
        yield path


def _token(section: object) -> TokenDigest | None:
    value = cast(dict[str, Any], section).get("token") if isinstance(section, dict) else None
    try:
        return None if value is None else Token().read(value)
    except ValidationError:
        return None


def _check_pair(certificate: Path, key: Path) -> None:
    """Raises ValidationError unless a TLS server could use the two.  Blocks on: disk."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        # an empty password, so that an encrypted key is a fault and not a question on a terminal
        context.load_cert_chain(certificate, key, password="")
    except OSError as error:  # ssl.SSLError is one
        mismatch = isinstance(error, ssl.SSLError) and "MISMATCH" in str(error)
        what = "two files that do not belong together" if mismatch else "what is not usable PEM"
        line = f"found {what}; allowed: the unencrypted key of mcp_server.certfile, as readable PEM"
        raise ValidationError({"keyfile": [line]}) from None
