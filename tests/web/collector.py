"""A handler that answers with the state of the garbage collector, for a look into a real worker."""

import gc
import json
from typing import Any


class Collector:
    """See TurnHandler."""

    def handle_turn(self, history: Any, text: str, context: Any) -> str:
        """How many objects are never looked at, and after how many new ones it looks."""
        return json.dumps([gc.get_freeze_count(), gc.get_threshold()[0]])
