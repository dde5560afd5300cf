"""Whatever is thrown at the settings: refused in plain lines or taken, and no secret shown."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.config import Settings, effective, load_settings
from mead.config.schema import known_keys
from mead.errors import ConfigurationError

NOWHERE: Final = Path("/nowhere")
WORDS: Final = sorted(
    {part for key in known_keys() for part in key.replace("[]", "").split(".")}
    | {"local", "cloud", "ollama", "anthropic", "embedded", "scripted", "stdio", "http", "m:C"}
)

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=40),
    st.sampled_from(WORDS),
    st.dates(),
    st.binary(max_size=4),
    st.builds(object),
)
keys = st.one_of(st.sampled_from(WORDS), st.text(max_size=8), st.integers())
junk = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(keys, inner, max_size=5)),
    max_leaves=30,
)

# Trees of the right shape with wrong leaves reach deeper than junk does.
SECTIONS: Final = ("runtime", "storage", "router", "mcp", "mcp_server", "deck")
leaf_keys = st.sampled_from([key.rpartition(".")[2] for key in known_keys()])
slot = st.fixed_dictionaries(
    {"provider": st.sampled_from(["ollama", "anthropic", "openai", "embedded", "scripted", "m:C"])},
    optional={
        "model": scalars,
        "proxy": scalars,
        "extra": junk,
        "script": junk,
        "base_url": scalars,
    },
)
server = st.dictionaries(leaf_keys, st.one_of(scalars, junk), max_size=6)
tree = st.fixed_dictionaries(
    {},
    optional={
        **{name: st.dictionaries(leaf_keys, scalars, max_size=6) for name in SECTIONS},
        "router": st.fixed_dictionaries(
            {},
            optional={"slots": st.fixed_dictionaries({}, optional={"local": slot, "cloud": slot})},
        ),
        "mcp": st.fixed_dictionaries({}, optional={"servers": st.lists(server, max_size=3)}),
    },
)


def outcome(make: Callable[[], Settings]) -> Settings | ConfigurationError:
    try:
        return make()
    except ConfigurationError as error:
        return error


def built(values: Any) -> Settings | ConfigurationError:
    return outcome(lambda: Settings.build(values, directory=NOWHERE, environ={}))


def check(made: Settings | ConfigurationError) -> None:
    if isinstance(made, Settings):
        assert effective(made)
        return
    assert made.faults
    for line in made.faults:
        assert line.isprintable()
        assert len(line) < 2000


@given(values=st.one_of(junk, tree))
def test_junk_is_taken_or_refused_in_lines(values: Any) -> None:
    check(built(values))


variable_names = st.one_of(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(
        lambda parts: "MEAD_" + "__".join(parts).upper()
    ),
    st.text(st.characters(exclude_characters="\0=")).map(lambda text: f"MEAD_DECK__{text}"),
    st.sampled_from(
        ["PORT", "OLLAMA_HOST", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "MEAD_CONFIG"]
    ),
)
variable_values = st.one_of(
    st.text(st.characters(exclude_characters="\0"), max_size=30),
    st.sampled_from(["{", "[1", "1e999", "NaN", "null", '{"a": {}}', "[" * 5000, "9" * 5000]),
)


@given(environ=st.dictionaries(variable_names, variable_values, max_size=6), toml=st.text())
def test_any_environment_and_file_are_taken_or_refused_in_lines(
    tmp_path_factory: pytest.TempPathFactory, environ: dict[str, str], toml: str
) -> None:
    directory = tmp_path_factory.getbasetemp() / "any"
    directory.mkdir(exist_ok=True)
    (directory / "mead.toml").write_bytes(toml.encode("utf-8", "surrogatepass"))
    check(outcome(lambda: load_settings(environ, directory)))


# -- secrets ---------------------------------------------------------------------------------------

SECRET: Final = "hunter2hunter2"
secret = st.one_of(
    st.just(SECRET),  # too short for a token
    st.just(SECRET * 3),
    st.just(f"{SECRET} with spaces"),
    st.just(f"{SECRET}\r\nX-Injected: 1"),
    st.just([SECRET]),
    st.just({"a": SECRET}),
)
addresses = st.sampled_from(
    [f"http://user:{SECRET}@h", f"https://h/x?key={SECRET}", f"no {SECRET} address", [SECRET]]
)
noise = st.dictionaries(leaf_keys, st.integers(), max_size=2)


@st.composite
def trees_with_secrets(draw: st.DrawFn) -> dict[str, Any]:
    """A tree in which every place for a secret holds one, among right and wrong neighbours."""
    providers = ["ollama", "anthropic", "openai", "embedded", "scripted", "m:C", "nonsense"]
    slots = {
        name: {
            **draw(noise),
            "provider": draw(st.sampled_from(providers)),
            "model": "m",
            "api_key": draw(secret),
            **draw(st.fixed_dictionaries({}, optional={"base_url": addresses, "proxy": addresses})),
        }
        for name in draw(st.lists(st.sampled_from(["local", "cloud", "clod"]), unique=True))
    }
    servers = [
        {
            **draw(noise),
            "name": "a",
            "transport": "stdio",
            "command": "c",
            "environment": {"K": draw(secret)},
        },
        {
            **draw(noise),
            "name": "b",
            "transport": "http",
            "url": draw(addresses),
            "headers": {"K": draw(secret)},
        },
    ]
    return {
        "router": {"slots": slots},
        "mcp": {"servers": draw(st.lists(st.sampled_from(servers), max_size=2))},
        "mcp_server": {**draw(noise), "token": draw(secret)},
        "deck": {**draw(noise), draw(st.sampled_from(["token", "tokn"])): draw(secret)},
    }


@given(values=trees_with_secrets())
def test_no_secret_is_ever_shown(values: dict[str, Any]) -> None:
    made = built(values)
    texts = [repr(made), str(made), *getattr(made, "args", ())]
    if isinstance(made, Settings):
        texts.append(str(effective(made)))
    else:
        texts.extend(made.faults)
        assert made.__cause__ is None
        assert made.__context__ is None  # marshmallow's error holds the values
    for text in texts:
        assert SECRET not in text


@given(values=trees_with_secrets())
def test_no_secret_of_a_variable_is_ever_shown(values: dict[str, Any]) -> None:
    environ = {
        f"MEAD_{section.upper()}__{key.upper()}": value if isinstance(value, str) else str(value)
        for section in ("mcp_server", "deck")
        for key, value in values[section].items()
    }
    environ["ANTHROPIC_API_KEY"] = f"{SECRET} {SECRET}"
    environ["MEAD_ROUTER__SLOTS__CLOUD__PROVIDER"] = "anthropic"
    environ["MEAD_ROUTER__SLOTS__CLOUD__MODEL"] = "m"
    with pytest.raises(ConfigurationError) as caught:
        load_settings(environ, NOWHERE)
    assert any("api_key (ANTHROPIC_API_KEY)" in line for line in caught.value.faults)
    assert SECRET not in str(caught.value)
