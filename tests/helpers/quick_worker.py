"""The worker with short deadlines, so that a test sees them pass."""

from mead.web.worker import MeadWorker


class QuickWorker(MeadWorker):
    """As the real one, sooner."""

    head_deadline_s = 0.5
    handshake_deadline_s = 0.5
    unread_deadline_ms = 1000
