"""``geodp options``: the options of commands as data, for programs that call geodp."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from geodp.cli.help import GroupedOption, with_options
from geodp.cli.options import StrictCommand
from geodp.cli.translation import translate_option
from geodp.errors import UsageError
from geodp.options.option import Option
from geodp.options.shared import JSON


@click.command(cls=StrictCommand)
@click.argument("words", metavar="[COMMAND]", nargs=-1)
@with_options(JSON)
def options(words: tuple[str, ...], as_json: bool) -> None:
    """List the options of a COMMAND, or of all: values, ranges, and what each needs and excludes.

    \b
    geodp options publish
    geodp options flows publish --json

    The names of options in needs and excludes are those of keywords. An option needs one of those
    that it names; what excludes another one is excluded by it, too.
    """
    root = click.get_current_context().find_root().command
    found = {" ".join(path): [*_list(one)] for path, one in _find(root, words)}
    if as_json:
        document = {name: [one.describe() for one in every] for name, every in found.items()}
        click.echo(json.dumps(document, ensure_ascii=False, indent=1))
        return
    for name, every in found.items():
        click.echo("\n".join([f"geodp {name}", *(line for one in every for line in _show(one))]))


def _find(
    command: click.Command, words: Sequence[str], path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield the commands that words name, or begin to name, each with its words."""
    inner = getattr(command, "commands", {})
    if not words and not inner:
        yield path, command
        return
    for name in words[:1] or [*inner]:
        if name not in inner:
            raise UsageError(
                f"There is no command {' '.join(('geodp', *path, name))}; geodp --help lists them.",
                code="command-unknown",
            )
        yield from _find(inner[name], words[1:], (*path, name))


def _list(command: click.Command) -> Iterator[Option]:
    """Yield the options of a command, as its table states them or Click has them."""
    context = click.Context(command, help_option_names=[])
    params = command.get_params(context)
    names = {one.name for one in params}
    for one in params:
        if isinstance(one, click.Option) and not one.hidden and one.expose_value:
            everyday = not isinstance(command, StrictCommand) or command.is_everyday(one)
            stated = one.stated if isinstance(one, GroupedOption) else None
            found = stated or _state(one)
            needs, excludes = (
                tuple(name for name in listed if name in names)
                for listed in (found.needs, found.excludes)
            )
            yield replace(found, everyday=everyday, needs=needs, excludes=excludes)


TYPES: dict[str, type] = {
    **{"integer": int, "integer range": int, "float": float, "float range": float},
    **{"path": Path, "file": Path, "directory": Path},
}
"""Types of options by the names that Click has for them; others are texts."""


def _state(one: click.Option) -> Option:
    """State an option that is declared to Click alone."""
    choices = tuple(one.type.choices) if isinstance(one.type, click.Choice) else ()
    kind: Any = bool if one.is_flag else TYPES.get(one.type.name)
    default = one.to_info_dict()["default"]
    return Option(
        one.opts[-1],
        one.help or "",
        name=str(one.name),
        group=one.group if isinstance(one, GroupedOption) else "Options",
        type=kind,
        choices=choices,
        low=getattr(one.type, "min", None),
        high=getattr(one.type, "max", None),
        default=default if isinstance(default, str | int | float) else None,
        metavar=one.metavar,
        many=one.multiple,
        values=one.nargs,
        required=one.required,
    )


def _show(one: Option) -> Iterator[str]:
    """Yield the lines on an option: its values, conditions and help."""
    said = one.describe()
    limits = [f"{name} {said[name]:,.10g}" for name in ("low", "high") if name in said]
    kind = " ".join(["|".join(one.choices) or said["type"], *limits])
    if one.values > 1:
        kind += f" ({one.values} values)"
    marks: list[str] = [name for name in ("required", "many", "everyday") if name in said]
    marks += [f"default {said['default']}"] if "default" in said else []
    marks += [f"{name} {' '.join(said[name])}" for name in ("needs", "excludes") if name in said]
    yield f"  {one.flag}  {kind}  {', '.join([one.group, *marks])}"
    yield f"      {translate_option(one.help)}"
