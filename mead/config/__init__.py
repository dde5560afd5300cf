"""Settings: what an operator may choose, where each value came from, and what was wrong with it."""

from mead.config.effective import EffectiveSetting, effective
from mead.config.load import load_settings
from mead.config.secrets import MASK, Secret, TokenDigest
from mead.config.settings import (
    DEFAULT_BASE_URLS,
    EMBEDDED_MODEL,
    ClassifierSettings,
    DeckSettings,
    FsyncMode,
    McpServerSettings,
    McpSettings,
    PolicyLevel,
    ProviderOptions,
    RouterSettings,
    RuntimeSettings,
    ServerSettings,
    Settings,
    SlotSettings,
    StorageSettings,
)

__all__ = [
    # reading
    "load_settings",
    "effective",
    "EffectiveSetting",
    # the tree
    "Settings",
    "RuntimeSettings",
    "StorageSettings",
    "RouterSettings",
    "SlotSettings",
    "ProviderOptions",
    "ClassifierSettings",
    "McpSettings",
    "ServerSettings",
    "McpServerSettings",
    "DeckSettings",
    # its words
    "FsyncMode",
    "PolicyLevel",
    "DEFAULT_BASE_URLS",
    "EMBEDDED_MODEL",
    # secrets
    "Secret",
    "TokenDigest",
    "MASK",
]
