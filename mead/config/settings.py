"""The settings tree: what an operator may choose, with the value that holds when nobody chose.

Times are whole milliseconds and sizes bytes.  `load_settings` and `Settings.build` check what goes
in here; a tree put together by hand is taken as it is.  Source: SPEC section 2.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal

from mead.config.secrets import Secret, TokenDigest
from mead.turn import RequestedRoute, Route

FsyncMode = Literal["always", "turn", "interval", "never"]
PolicyLevel = Literal["ask_for_all", "ask_for_risky", "allow_all", "read_only"]
ServerTransport = Literal["stdio", "http"]
ServerToolClass = Literal["read", "effect"]
ThinkLevel = Literal["low", "medium", "high", "max"]
EffortLevel = Literal["low", "medium", "high", "xhigh", "max"]
CacheLifetime = Literal["5m", "1h"]
ScriptStep = str | Mapping[str, object]

EMBEDDED_MODEL: Final = "smollm2-135m-instruct"
"""The model that comes with the `embedded` extra."""

DEFAULT_BASE_URLS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "anthropic": "https://api.anthropic.com",
        "openai": "https://api.openai.com/v1",
        "ollama": "http://127.0.0.1:11434",
    }
)
"""Where each provider is asked when nobody says otherwise, as its maker's own client has it."""


def _nothing() -> Mapping[Any, Any]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeSettings:
    """Sessions and their turns."""

    turn_handler: str = "echo"
    """`router`, `echo` or a name of `handlers`."""
    handlers: Mapping[str, str] = field(default_factory=_nothing)
    """More turn handlers: name -> `package.module:Class`."""
    default_route: RequestedRoute = "auto"
    turn_timeout_ms: int = 30_000
    maximum_sessions: int = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageSettings:
    """What is written to disk, and when it is synced."""

    directory: Path | None = None
    """Absolute; None writes nothing."""
    fsync: FsyncMode = "turn"
    fsync_interval_ms: int = 1000
    compact_after_bytes: int = 1_048_576
    ledger_journal_max_bytes: int = 1_048_576
    max_turns: int | None = None
    """Keep only the newest N turns of a conversation; None keeps all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderOptions:
    """Options of one slot; those that its provider does not know stay at their defaults."""

    model: str
    api_key: Secret | None = None
    base_url: str | None = field(default=None, repr=False)
    """No slash at the end.  Filled for anthropic, openai and ollama, None for the others."""
    system: str | None = field(default=None, repr=False)
    max_tokens: int = 4096
    temperature: float | None = None
    connect_timeout_ms: int = 5000
    receive_timeout_ms: int = 25_000
    """Silence between bytes, not the length of an answer."""
    max_retries: int = 2
    proxy: str | None = field(default=None, repr=False)
    """May hold a name and password."""
    allow_remote: bool = False
    keep_alive: int | str | None = None
    """ollama: seconds or a Go duration, sent as it is."""
    num_ctx: int | None = None
    """ollama"""
    think: bool | ThinkLevel | None = None
    """ollama"""
    effort: EffortLevel | None = None
    """anthropic"""
    cache: CacheLifetime | None = None
    """anthropic: how long the prompt's prefix is cached; None does not ask for it."""
    threads: int | None = None
    """embedded"""
    context: int | None = None
    """embedded: context window of one conversation in tokens; None is 4096."""
    model_file: Path | None = None
    """embedded: a GGUF file; None is the bundled model."""
    script: tuple[ScriptStep, ...] = field(default=(), repr=False)
    """scripted"""
    extra: Mapping[str, object] = field(default_factory=_nothing, repr=False)
    """Merged into the request body."""
    custom: Mapping[str, object] = field(default_factory=_nothing, repr=False)
    """Every option of a `package.module:Class` but allow_remote; `api_key` and whatever came from
    `env:` or `file:` is a Secret, the rest is as written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotSettings:
    """The provider behind a route."""

    provider: str
    """ollama, anthropic, openai, embedded, scripted or `package.module:Class`."""
    options: ProviderOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassifierSettings:
    """What still counts as a routine turn."""

    maximum_characters: int = 400
    maximum_turns: int = 20
    maximum_history_characters: int = 8000
    local_words: tuple[str, ...] = ()
    cloud_words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RouterSettings:
    """The slots and how a turn finds its own."""

    slots: Mapping[Route, SlotSettings] = field(default_factory=_nothing)
    """Only the filled ones."""
    classifier: ClassifierSettings = ClassifierSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """One MCP server that the hub connects to."""

    name: str
    transport: ServerTransport
    tools: Mapping[str, ServerToolClass] = field(default_factory=_nothing)
    """The tools a model may be shown; any other does not exist for it."""
    call_timeout_ms: int = 60_000
    handshake_timeout_ms: int = 15_000
    command: str | None = None
    """stdio (always set there)"""
    arguments: tuple[str, ...] = field(default=(), repr=False)
    """stdio"""
    environment: Mapping[str, Secret] = field(default_factory=_nothing)
    """stdio: added to the few variables that a child gets."""
    directory: Path | None = None
    """stdio: where the child runs; absolute."""
    url: str | None = field(default=None, repr=False)
    """http (always set there); may hold a key in its path or query"""
    headers: Mapping[str, Secret] = field(default_factory=_nothing)
    """http"""
    proxy: str | None = field(default=None, repr=False)
    """http"""


@dataclass(frozen=True, slots=True, kw_only=True)
class McpSettings:
    """The hub: the client side of MCP."""

    servers: tuple[ServerSettings, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServerSettings:
    """The listener, and the MCP face on it."""

    token: TokenDigest | None = None
    port: int = 4040
    address: str = "127.0.0.1"
    """An IP address, without brackets."""
    allow_effect: bool = False
    allowed_origins: tuple[str, ...] = ()
    """`scheme://host[:port]`, lower case."""
    allowed_hosts: tuple[str, ...] = ()
    """`host` or `host:port`, lower case."""
    trusted_proxies: tuple[str, ...] = ()
    """IP addresses and networks (`10.0.0.0/8`)."""
    maximum_connections: int = 250
    certfile: Path | None = None
    keyfile: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeckSettings:
    """The deck: the WebSocket front end."""

    token: TokenDigest | None = None
    ticket_ttl_ms: int = 10_000
    permission_timeout_ms: int = 120_000
    heartbeat_ms: int = 15_000
    idle_timeout_ms: int = 90_000
    resume_deadline_ms: int = 10_000
    queue_limit: int = 10
    event_log_limit: int = 10_000
    event_log_bytes: int = 16_777_216
    default_policy_level: PolicyLevel = "ask_for_risky"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that one runtime is told."""

    runtime: RuntimeSettings = RuntimeSettings()
    storage: StorageSettings = StorageSettings()
    router: RouterSettings = RouterSettings()
    mcp: McpSettings = McpSettings()
    mcp_server: McpServerSettings = McpServerSettings()
    deck: DeckSettings = DeckSettings()
    sources: Mapping[str, str] = field(default_factory=_nothing, repr=False, compare=False)
    """Key path -> where its value came from; a key that is not here has its default."""
    masked: frozenset[str] = field(default=frozenset(), repr=False, compare=False)
    """Key paths whose value came from `env:` or `file:`."""

    @staticmethod
    def build(
        values: Mapping[str, object],
        *,
        directory: Path | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> "Settings":
        """Settings from a mapping shaped like mead.toml; no file and no variable is a source.

        `directory` (default: the current one) is what relative paths are relative to; `environ`
        (default: the process's) serves `env:NAME` alone.  Raises ConfigurationError.
        """
        from mead.config.load import build_settings  # the loader needs this module

        return build_settings(
            values,
            directory=Path.cwd() if directory is None else directory,
            environ=os.environ if environ is None else environ,
        )
