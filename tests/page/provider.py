"""The scripted model of the page's tests, as a provider of a real server."""

from mead.providers.scripted import ScriptedProvider
from tests.page.scenarios import step_for


class PageProvider(ScriptedProvider):
    """Answers as tests/page/scenarios.py says; names a host, so that there is one to show."""

    def __init__(self, *, model: str, host: str) -> None:
        super().__init__(lambda request: step_for(request.prompt, len(request.rounds)), model=model)
        self.host = host
