"""What may be called through the control socket."""

from collections.abc import Mapping
from functools import partial

from mead.control.server import Call
from mead.protocols import OperatorAPI


def control_calls(api: OperatorAPI) -> Mapping[str, Call]:
    """The calls by their names on the wire: those of the library, for the user's own commands."""
    return {
        "status": api.status,
        "listener": lambda: None if api.listener is None else api.listener._asdict(),
        "start_session": api.start_session,
        "submit": partial(api.submit, origin="cli"),
        "cancel_turn": api.cancel_turn,
        "history": api.history,
        "stop_session": api.stop_session,
        "resume_session": api.resume_session,
        "delete_session": api.delete_session,
        "list_sessions": api.list_sessions,
        "set_title": api.set_title,
        "compact_session": api.compact_session,
        "repair_session": api.repair_session,
        "export_session": api.export_session,
        "usage": api.usage,
        "session_usage": api.session_usage,
        "deck_code": lambda: api.deck().new_code(),
        "deck_revoke": lambda: api.deck().revoke(),
    }
