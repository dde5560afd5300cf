"""Classes that the operator names as `package.module:Class`."""

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from mead.errors import ConfigurationError


def load(path: str, what: str) -> Callable[..., object]:
    """The class at `path`.

    `what` begins the fault's line (`runtime.handlers.mine`).  Raises ConfigurationError; the fault
    names the class of what went wrong, never its text.
    """
    module_name, _, class_name = path.partition(":")
    if not module_name or not class_name:
        raise ConfigurationError([f"{what} {path} is not package.module:Class"])
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        raise ConfigurationError(
            [f"{what} {path}: the module {module_name} does not import ({named(error)})"]
        ) from error
    found: object = getattr(module, class_name, None)
    if not callable(found):
        raise ConfigurationError([f"{what} {path}: {module_name} has no class {class_name}"])
    return found


def make(path: str, what: str, options: Mapping[str, Any]) -> object:
    """An instance of the class at `path`, made with `options`.  Raises ConfigurationError."""
    build = load(path, what)
    try:
        return build(**options)
    except ConfigurationError:
        raise
    except Exception as error:
        raise ConfigurationError(
            [f"{what} {path} does not take its options ({named(error)})"]
        ) from error


def named(error: Exception) -> str:
    """The error's class; for a missing module also its name, which is what one needs to know."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"no module named {error.name}"
    return type(error).__name__
