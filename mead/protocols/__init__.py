"""The seams between the parts of Mead: who calls each, from which greenlet, what it may raise.

The parts (sessions, router, providers, ledger, deck, both sides of MCP) know each other
only through this package; `tree.py` and `assembly.py` join them.
"""

from mead.protocols.faces import OperatorAPI, Origin, SessionAPI, TurnReceipt
from mead.protocols.listener import Listener
from mead.protocols.models import (
    Exchange,
    ModelReply,
    ModelRequest,
    Provider,
    StartedProvider,
    StreamingProvider,
    ToolAnswer,
    ToolProvider,
    ToolRequest,
    ToolRound,
)
from mead.protocols.sockets import FrameSocket, SocketEngine
from mead.protocols.storage import (
    RepairReport,
    SessionStore,
    StoredSession,
    TurnAppended,
    TurnEvent,
    TurnLog,
    TurnReplaced,
    TurnsInterrupted,
    UsageLedger,
)
from mead.protocols.tools import Tool, ToolClass, ToolHub, ToolOutcome
from mead.protocols.turns import CallStatus, Interaction, ToolUse, TurnContext, TurnHandler

__all__ = [
    # the public calls
    "OperatorAPI",
    "Origin",
    "SessionAPI",
    "TurnReceipt",
    # the listener
    "Listener",
    # models
    "Exchange",
    "ModelReply",
    "ModelRequest",
    "Provider",
    "StartedProvider",
    "StreamingProvider",
    "ToolAnswer",
    "ToolProvider",
    "ToolRequest",
    "ToolRound",
    # sockets
    "FrameSocket",
    "SocketEngine",
    # storage
    "RepairReport",
    "SessionStore",
    "StoredSession",
    "TurnAppended",
    "TurnEvent",
    "TurnLog",
    "TurnReplaced",
    "TurnsInterrupted",
    "UsageLedger",
    # tools
    "Tool",
    "ToolClass",
    "ToolHub",
    "ToolOutcome",
    # turns
    "CallStatus",
    "Interaction",
    "ToolUse",
    "TurnContext",
    "TurnHandler",
]
