"""How help is laid out: commands in the order of use, and many options in groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from importlib import import_module
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

STEPS: Mapping[str, tuple[str, ...]] = {
    "Explore": ("inspect", "methods", "mesh", "sql"),
    "Prepare": ("new", "plan", "key", "budget"),
    "Publish": ("publish", "publish-series", "select", "local", "join", "export", "withdraw"),
    "Use a release": ("report", "map", "estimate", "statistics", "compare", "diff", "verify"),
    "Evaluate and explain": ("evaluate", "explain", "audit"),
    "This machine": ("doctor", "warmup"),
}
"""Commands in the order of use. Those that are not here, such as others', come last."""

GROUPS = ("Input", "Domain", "Privacy", "Output", "Run", "Cluster", "Options")
"""Groups of the options of a command, in the order in which they are shown."""


class GroupedOption(click.Option):
    """An option that says in which group help shows it, and whether people meet it every day.

    Attributes
    ----------
    group : str
        One of :data:`GROUPS`.
    everyday : bool
        Whether ``--help`` shows it; ``--help-all`` shows every one. Those that are required are.
    """

    def __init__(self, *args: Any, group: str, everyday: bool = False, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.group = group
        self.everyday = everyday or self.required


def option(
    *flags: str, group: str, everyday: bool = False, **settings: Any
) -> Callable[[Any], Any]:
    """Return a decorator that gives a command a :class:`GroupedOption`; the rest is Click's."""
    return click.option(*flags, cls=GroupedOption, group=group, everyday=everyday, **settings)


def add_options(command: Command, options: Sequence[Callable[[Any], Any]]) -> Command:
    """Give a command options, which its help shows in this order."""
    for decorate in reversed(options):
        command = decorate(command)
    return command


ALL = "geodp.help-all"
"""Says in a context that all options are shown."""


def _show_all(context: click.Context, _parameter: click.Parameter, asked: bool) -> None:
    """Show the help with all options, and end."""
    if asked and not context.resilient_parsing:
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
"""Of a command that shows its everyday options unless it is asked for all."""


class CommandFiles(MutableMapping[str, click.Command]):
    """Commands by name, each the ``COMMAND`` of a file, which is imported when it is asked for.

    Parameters
    ----------
    modules : mapping of str to str
        From the name of a file to that of its module. ``publish_series`` is ``publish-series``.
    prepare : callable
        Called with every command that was just imported; it returns what is to be used.
    """

    def __init__(
        self, modules: Mapping[str, str], prepare: Callable[[click.Command], click.Command]
    ) -> None:
        # The name of its module stands for a command until that is imported.
        self._commands: dict[str, click.Command | str] = {
            name.replace("_", "-"): module for name, module in modules.items()
        }
        self._prepare = prepare

    def __getitem__(self, name: str) -> click.Command:
        found = self._commands[name]
        if isinstance(found, str):
            self._commands[name] = found = self._prepare(import_module(found).COMMAND)
        return found

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._commands[name] = command

    def __delitem__(self, name: str) -> None:
        del self._commands[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._commands)

    def __len__(self) -> int:
        return len(self._commands)


class Steps(click.Group):
    """A group whose commands stand in the order of use, each with its whole first sentence."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of :data:`STEPS` in their order, then others by name."""
        known = [name for names in STEPS.values() for name in names]
        names = super().list_commands(ctx)
        return [name for name in known if name in names] + sorted({*names} - {*known})

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a list of commands for every step."""
        steps = dict(STEPS)
        steps["Others"] = tuple(
            name for name in self.list_commands(ctx) if not any(name in s for s in STEPS.values())
        )
        for title, names in steps.items():
            found = [(name, self.get_command(ctx, name)) for name in names]
            rows = [(name, one.get_short_help_str(limit=300)) for name, one in found if one]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows, col_spacing=2)


def group_options(params: Iterable[click.Parameter]) -> dict[str, list[click.Parameter]]:
    """Return the parameters of a command by group, in the order in which groups are shown."""
    groups: dict[str, list[click.Parameter]] = {name: [] for name in GROUPS}
    for one in params:
        plain = "Input" if isinstance(one, click.Argument) else "Options"
        groups[one.group if isinstance(one, GroupedOption) else plain].append(one)
    return groups
