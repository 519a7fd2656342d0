"""Layout of help: commands in the order of use, and options in groups."""

from __future__ import annotations

from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    MutableMapping,
)
from copy import copy
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import click

from geodp.cli.values import BoundsType, find_inputs
from geodp.options.option import Option, as_flag, joined

Command = TypeVar("Command", bound=Callable[..., Any])

STEPS: Mapping[str, tuple[str, ...]] = {
    "Explore": ("inspect", "methods", "mesh", "sql", "options"),
    "Prepare": ("new", "plan", "key", "budget"),
    "Publish": (
        "publish",
        "publish-series",
        "select",
        "amounts",
        "households",
        "census",
        "flows",
        "local",
        "join",
        "export",
        "withdraw",
    ),
    "Use a release": ("report", "map", "estimate", "statistics", "compare", "diff", "verify"),
    "Evaluate and explain": ("evaluate", "explain", "audit"),
    "This machine": ("doctor", "warmup"),
}
"""Commands in the order of use; commands of plugins come last."""

RARE = ("methods", "mesh", "options", "join", "audit", "warmup")
"""Commands that ``geodp --help-all`` lists alone."""

GROUPS = (
    *("Input", "Domain", "Counts", "Flows", "Amounts", "Privacy", "Output", "Run", "Cluster"),
    "Options",
)
"""Groups of the options of a command, in the order in which they are shown."""


class GroupedOption(click.Option):
    """An option with a group for help, and whether it is in everyday use.

    Attributes
    ----------
    group : str
        One of :data:`GROUPS`.
    everyday : bool
        Whether ``--help`` shows it, as it does required options; ``--help-all`` shows every option.
    stated : Option or None
        The entry of a table of which the option was made.
    """

    def __init__(
        self,
        *args: Any,
        group: str,
        everyday: bool = False,
        stated: Option | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(*args, **settings)
        self.group, self.stated = group, stated
        # A required option must be visible in the short help, or the first call cannot succeed.
        self.everyday = everyday or self.required


class _InRange:
    """A number in the range of an option, which words the refusal."""

    plain: ClassVar[Any]

    def __init__(self, stated: Option) -> None:
        super().__init__(stated.low, stated.high)  # type: ignore[call-arg]
        self._stated = stated

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Convert a text; UsageError for a number out of range."""
        return self._stated.check(self.plain.convert(value, param, ctx), as_flag)


class _Whole(_InRange, click.IntRange):
    """A whole number in a range."""

    plain = click.INT


class _Real(_InRange, click.FloatRange):
    """A real number in a range."""

    plain = click.FLOAT


def make_option(one: Option) -> GroupedOption:
    """Make an option of the command line of an entry of a table."""
    return GroupedOption(_declare(one), **_settings(one))


def with_options(*parts: Option | Iterable[Option]) -> Callable[[Command], Command]:
    """Return a decorator that gives a command the options of entries and tables, in their order.

    Of several options of one name the first is taken.
    """

    def decorate(command: Command) -> Command:
        for one in reversed(joined(*parts)):
            command = click.option(*_declare(one), cls=GroupedOption, **_settings(one))(command)
        return command

    return decorate


def _declare(one: Option) -> list[str]:
    """Return the flags and the name of an option, as Click declares them."""
    return [*one.others, one.flag, one.name]


def _settings(one: Option) -> dict[str, Any]:
    """Return the other settings of an option, as Click names them."""
    settings: dict[str, Any] = {"is_flag": True} if one.type is bool else {"type": _type_of(one)}
    if one.type == "files":
        settings["callback"] = find_inputs
    # Click takes a default of None for one that was given.
    return {
        **settings,
        **({} if one.default is None else {"default": one.default}),
        "stated": one,
        "group": one.group,
        "everyday": one.everyday,
        "required": one.required,
        "show_default": one.shows_default,
        "multiple": one.many,
        "nargs": one.values,
        "metavar": one.metavar,
        "help": one.help or None,
    }


def _type_of(one: Option) -> Any:
    """Return Click's type of the values of an option."""
    if one.choices:
        return click.Choice(one.choices)
    if one.low is not None:
        return _Whole(one) if one.type is int else _Real(one)
    known = {"bounds": BoundsType(), "files": click.Path(), Path: click.Path(path_type=Path)}
    return known.get(one.type, one.type)


def hide(params: Iterable[click.Parameter], names: Collection[str]) -> list[click.Parameter]:
    """Return parameters, of which those of these names are left out of help.

    For options that many commands share, and that a command refuses with a reason.
    """
    found = [copy(one) if one.name in names else one for one in params]
    for one in found:
        if isinstance(one, click.Option) and one.name in names:
            one.hidden = True
    return found


ALL = "geodp.help-all"
"""Key in a context's ``meta``: help shows all options."""


def _show_all(context: click.Context, _parameter: click.Parameter, requested: bool) -> None:
    """Show the help with all options, and exit."""
    if requested and not context.resilient_parsing:
        context.meta[ALL] = True
        click.echo(context.get_help(), color=context.color)
        context.exit()


HELP_ALL = GroupedOption(
    ["--help-all"],
    group="Output",
    everyday=True,
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_all,
    help="Show all options and exit.",
)
"""``--help-all`` of a command whose ``--help`` shows its everyday options only."""

HELP_ALL_COMMANDS = click.Option(
    ["--help-all"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_all,
    help="Show all commands and exit.",
)
"""``--help-all`` of geodp, whose ``--help`` leaves :data:`RARE` commands out."""


class CommandFiles(MutableMapping[str, click.Command]):
    """Commands by name, each in a file that is imported on first use.

    Parameters
    ----------
    modules : mapping of str to str
        From the name of a command, or of its file (``publish_series`` becomes ``publish-series``),
        to its place: the module, which has it under the name of the file, or ``module:name``.
    prepare : callable, optional
        Called with every command on import; returns the command to use.
    """

    def __init__(
        self,
        modules: Mapping[str, str],
        prepare: Callable[[click.Command], click.Command] | None = None,
    ) -> None:
        # A command is only its module's name until it is imported, which keeps help quick.
        self._commands: dict[str, click.Command | str] = {
            name.replace("_", "-"): module for name, module in modules.items()
        }
        self._prepare = prepare

    def __getitem__(self, name: str) -> click.Command:
        command = self._commands[name]
        if isinstance(command, str):
            module, _, named = command.partition(":")
            own = named or module.rpartition(".")[2]
            # Names that Python has, such as map, have an underscore behind them.
            file = vars(import_module(module))
            found: click.Command = file[own if own in file else f"{own}_"]
            command = found if self._prepare is None else self._prepare(found)
            self._commands[name] = command
        return command

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._commands[name] = command

    def __delitem__(self, name: str) -> None:
        del self._commands[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._commands)

    def __len__(self) -> int:
        return len(self._commands)


class Room(click.Group):
    """A group of commands below ``geodp``; where it lacks one, it names that of all kinds."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, with the language of the group."""
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            command.context_class = self.context_class
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; UsageError of Click for one that is not here."""
        everywhere = ctx.find_root().command
        if args[0] not in self.commands and args[0] in getattr(everywhere, "commands", {}):
            ctx.fail(
                f"No such command {args[0]!r} here: geodp {args[0]} takes releases of all kinds."
            )
        return super().resolve_command(ctx, args)


class Steps(click.Group):
    """A group that lists commands in the order of use, each with its full first sentence."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of :data:`STEPS` in their order, then others by name."""
        ordered = [name for names in STEPS.values() for name in names]
        names = super().list_commands(ctx)
        return [name for name in ordered if name in names] + sorted({*names} - {*ordered})

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a list of commands for every step."""
        steps = dict(STEPS)
        steps["Others"] = tuple(
            name for name in self.list_commands(ctx) if not any(name in s for s in STEPS.values())
        )
        hidden = () if ctx.meta.get(ALL) else RARE
        for title, names in steps.items():
            commands = [(name, self.get_command(ctx, name)) for name in names if name not in hidden]
            # Click's default cuts the first sentence at 45 characters.
            rows = [(name, one.get_short_help_str(limit=300)) for name, one in commands if one]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows, col_spacing=2)


def group_options(params: Iterable[click.Parameter]) -> dict[str, list[click.Parameter]]:
    """Return the parameters of a command by group, in the order in which groups are shown."""
    groups: dict[str, list[click.Parameter]] = {name: [] for name in GROUPS}
    for one in params:
        # Options of plugins have no group of their own.
        plain = "Input" if isinstance(one, click.Argument) else "Options"
        groups[one.group if isinstance(one, GroupedOption) else plain].append(one)
    return groups
