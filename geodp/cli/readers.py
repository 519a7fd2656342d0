"""Options of readers: made from the fields of ``READERS``, and a reader made from what was given.

Readers are looked for when a command that reads is asked for its options, not before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from geodp.cli.inputs import GRIDS, NEEDS, named
from geodp.errors import UsageError

if TYPE_CHECKING:
    from geodp.grid.grid import Grid
    from geodp.io.read.reader import Asked, Option, Reader
    from geodp.privacy.key import NoiseKey
    from geodp.table.counts import CountTable


class ReadingCommand(click.Command):
    """A command that reads confidential inputs: beside its own options it has those of readers."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Its own, those of readers after those of the grid."""
        own = super().get_params(ctx)
        grid = next(i for i, one in enumerate(own) if one.name == "axis") + 1
        made = reader_options()
        if both := {one.name for one in own} & {one.name for one in made}:
            flags = ", ".join(one.opts[-1] for one in own if one.name in both)
            raise UsageError(
                f"A reader of another package asks for {flags}, which {ctx.info_name} has."
            )
        return [*own[:grid], *made, *own[grid:]]


def reader_options() -> list[click.Parameter]:
    """Every option of every reader, once; those that all readers have come last."""
    from geodp.io.read import READERS
    from geodp.io.read.reader import Reader

    found: dict[str, click.Parameter] = {}
    for reader in READERS.values():
        if reader.flag:
            found[reader.name] = click.Option([_flag(reader)], is_flag=True, help=reader.flag)
        for asked in _own(reader):
            found.setdefault(asked.option.name, _option(asked.option, asked.default))
    for asked in Reader.asked():
        found[asked.option.name] = _option(asked.option, asked.default)
    return list(found.values())


def _option(option: Option, default: Any) -> click.Option:
    """The option of the command line; a reader that requires it says so when it is made."""
    repeated = option.many or option.pairs
    more: dict[str, Any] = {}
    if option.type is bool:
        more["is_flag"] = True
    elif isinstance(option.type, tuple):
        more["type"] = click.Choice(option.type)
    else:
        from pathlib import Path

        more["type"] = click.Path(path_type=Path) if option.type is Path else option.type
    return click.Option(
        [option.flag],
        help=option.help or None,
        multiple=repeated,
        default=None if repeated else default,
        show_default=option.show,
        **more,
    )


def _flag(reader: type[Reader]) -> str:
    return f"--{reader.name}"


def _own(reader: type[Reader]) -> list[Asked]:
    """What a reader asks for beside what all of them do."""
    from geodp.io.read.reader import Reader

    common = {asked.field for asked in Reader.asked()}
    return [asked for asked in reader.asked() if asked.field not in common]


def _flags(reader: type[Reader]) -> dict[str, str]:
    """Options of a reader that not every reader has: names to flags."""
    asks_for = {reader.name: _flag(reader)} if reader.flag else {}
    return asks_for | {asked.option.name: asked.option.flag for asked in _own(reader)}


def chosen_reader(options: Mapping[str, Any]) -> type[Reader]:
    """The reader that the options and the names of the inputs ask for."""
    from geodp.io.read import choose
    from geodp.io.read.reader import Call

    return choose(Call(tuple(options["inputs"]), str(options["spec"]), options))


def require_known(context: click.Context) -> None:
    """Raise UsageError for options that would change nothing in this call, or are ill-formed."""
    from geodp.io.read import READERS

    options = context.params
    names = {str(o.name): o.opts[-1] for o in context.command.get_params(context)}
    given = [
        name for name in names if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]
    chosen = chosen_reader(options)
    grid = str(options["spec"]).partition(":")[0]
    kinds = {reader.name: list(_flags(reader)) for reader in READERS.values()}
    for table, key, words in (
        (kinds, chosen.name, chosen.kind),
        (GRIDS, grid, f"{grid}: grids"),
    ):
        some = {name for allowed in table.values() for name in allowed}
        extra = [name for name in given if name in some and name not in table.get(key, some)]
        if extra:
            raise UsageError(
                f"Not for {words}: {', '.join(names[name] for name in extra)}. "
                f"These take {', '.join(names[name] for name in table[key])}."
            )
    needs = NEEDS | {a.option.name: a.needs for a in chosen.asked() if a.needs is not None}
    for name in given:
        if name in needs and options[needs[name]] is None:
            raise UsageError(f"{names[name]} goes with {names[needs[name]]} only.")
    for asked in chosen.asked():
        if asked.option.pairs:
            named(options[asked.option.name], asked.option.flag)


def read(options: Mapping[str, Any], grid: Grid, key: NoiseKey | None) -> CountTable:
    """The confidential table of the inputs on a public grid."""
    chosen = chosen_reader(options)
    values = {asked.field: _given(asked, options[asked.option.name]) for asked in chosen.asked()}
    if "outside" in values:
        values["outside"] = values["outside"] or _cropping(options)
    if "secret" in chosen.__dataclass_fields__:
        values["secret"] = key
    return chosen(grid=grid, **values).read(options["inputs"])


def _given(asked: Asked, value: Any) -> Any:
    """What a field takes."""
    option = asked.option
    value = asked.convert(named(value, option.flag) if option.pairs else value)
    if asked.required and value is None:
        raise UsageError(f"{option.flag} is needed here.")
    return value


def _cropping(options: Mapping[str, Any]) -> str:
    """Cropping is what bounds are for; elsewhere a cell outside the domain is a mistake."""
    return "drop" if options["primary"] else "crop" if options["bounds"] else "error"
