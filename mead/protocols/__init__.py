"""The seams between the parts of Mead: who calls each, from which greenlet, what it may raise.

The parts of layer 4 (sessions, router, providers, ledger, deck, both sides of MCP) know each other
only through this package; `tree.py` and `assembly.py` join them.
"""

from mead.protocols.faces import (
    OperatorAPI as OperatorAPI,
)
from mead.protocols.faces import (
    Origin as Origin,
)
from mead.protocols.faces import (
    SessionAPI as SessionAPI,
)
from mead.protocols.faces import (
    TurnReceipt as TurnReceipt,
)
from mead.protocols.listener import (
    Listener as Listener,
)
from mead.protocols.models import (
    Exchange as Exchange,
)
from mead.protocols.models import (
    ModelReply as ModelReply,
)
from mead.protocols.models import (
    ModelRequest as ModelRequest,
)
from mead.protocols.models import (
    Provider as Provider,
)
from mead.protocols.models import (
    StreamingProvider as StreamingProvider,
)
from mead.protocols.models import (
    ToolAnswer as ToolAnswer,
)
from mead.protocols.models import (
    ToolProvider as ToolProvider,
)
from mead.protocols.models import (
    ToolRequest as ToolRequest,
)
from mead.protocols.models import (
    ToolRound as ToolRound,
)
from mead.protocols.sockets import (
    Closed as Closed,
)
from mead.protocols.sockets import (
    FrameSocket as FrameSocket,
)
from mead.protocols.sockets import (
    ServedSocket as ServedSocket,
)
from mead.protocols.sockets import (
    SocketEngine as SocketEngine,
)
from mead.protocols.sockets import (
    UpgradeRefused as UpgradeRefused,
)
from mead.protocols.storage import (
    RepairReport as RepairReport,
)
from mead.protocols.storage import (
    SessionStore as SessionStore,
)
from mead.protocols.storage import (
    StoredSession as StoredSession,
)
from mead.protocols.storage import (
    TurnAppended as TurnAppended,
)
from mead.protocols.storage import (
    TurnEvent as TurnEvent,
)
from mead.protocols.storage import (
    TurnLog as TurnLog,
)
from mead.protocols.storage import (
    TurnReplaced as TurnReplaced,
)
from mead.protocols.storage import (
    TurnsInterrupted as TurnsInterrupted,
)
from mead.protocols.storage import (
    UsageLedger as UsageLedger,
)
from mead.protocols.tools import (
    Tool as Tool,
)
from mead.protocols.tools import (
    ToolClass as ToolClass,
)
from mead.protocols.tools import (
    ToolHub as ToolHub,
)
from mead.protocols.tools import (
    ToolOutcome as ToolOutcome,
)
from mead.protocols.turns import (
    CallStatus as CallStatus,
)
from mead.protocols.turns import (
    Clock as Clock,
)
from mead.protocols.turns import (
    Interaction as Interaction,
)
from mead.protocols.turns import (
    ToolUse as ToolUse,
)
from mead.protocols.turns import (
    TurnContext as TurnContext,
)
from mead.protocols.turns import (
    TurnHandler as TurnHandler,
)
