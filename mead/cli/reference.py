"""docs/cli.md, made from the commands themselves.

python -m mead.cli.reference > docs/cli.md
"""

import click

from mead.cli import mead_group

HEAD = """\
# Commands

Made by `make docs` from the commands themselves; `flask mead COMMAND --help` shows the same.

A command first tries the control socket of the process that holds `storage.directory`, and runs
a Mead of its own only if there is none. It ends with 1 after an error (`code: what to do`) and
with 2 if the settings are not usable.

SESSION is a conversation's id, or as much of its beginning as no other's has, from 4 characters on.
Of all doors only the commands take that.
"""


def reference() -> str:
    """The page."""
    return HEAD + "".join(_described(mead_group, "flask mead"))


def _described(command: click.Command, path: str) -> list[str]:
    context = click.Context(command, info_name=path, max_content_width=96)
    if isinstance(command, click.Group):
        children = [(f"{path} {name}", each) for name, each in sorted(command.commands.items())]
        return [part for name, each in children for part in _described(each, name)]
    return [f"\n## {path}\n\n```\n{command.get_help(context)}\n```\n"]


if __name__ == "__main__":
    click.echo(reference(), nl=False)
