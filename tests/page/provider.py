"""The scripted model of the page's tests, as a provider of a real server."""

from mead.providers.scripted import ScriptedProvider
from tests.page.scenarios import step_for


class PageProvider(ScriptedProvider):
    """Answers as tests/page/scenarios.py says."""

    def __init__(self, *, model: str = "scripted", **_: object) -> None:
        super().__init__(lambda request: step_for(request.prompt, len(request.rounds)), model=model)
