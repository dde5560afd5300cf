"""Settings: what an operator may choose, where each value came from, and what was wrong with it."""

from mead.config.effective import effective
from mead.config.load import load_settings
from mead.config.secrets import MASK, Secret, TokenDigest
from mead.config.settings import (
    EMBEDDED_MODEL,
    ClassifierSettings,
    DeckSettings,
    McpServerSettings,
    McpSettings,
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
    "EMBEDDED_MODEL",
    # secrets
    "Secret",
    "TokenDigest",
    "MASK",
]
