"""Commands that refuse what does not go together, and their inputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from geodp.cli.help import ALL, HELP_ALL, GroupedOption, group_options
from geodp.cli.recipes import follow_recipe, reads_recipe
from geodp.cli.values import find_inputs, join_bounds
from geodp.errors import UsageError
from geodp.options.option import check_together

SHORT = 20
"""Most options that ``--help`` shows; a command with more of them has ``--help-all``, too."""


class StrictCommand(click.Command):
    """A command that refuses a repeated option that takes one value, and options that conflict.

    Click silently ignores all values but the last.

    Parameters
    ----------
    rare : collection of str
        Names of options in everyday use elsewhere that the short help of this command leaves out.
    """

    def __init__(self, *args: Any, rare: Collection[str] = (), **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.rare = rare

    def list_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters without ``--help-all``."""
        return super().get_params(ctx)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters, with ``--help-all`` where the short help cannot show all."""
        params = self.list_params(ctx)
        shown = sum(isinstance(one, click.Option) and not one.hidden for one in params)
        return params if shown <= SHORT else [*params, HELP_ALL]

    def is_everyday(self, param: click.Parameter) -> bool:
        """Test whether the short help of a command with many options shows a parameter."""
        return getattr(param, "everyday", True) and param.name not in self.rare

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write all options; of many the everyday ones, or all, of every group that has any."""
        params = self.get_params(ctx)
        if HELP_ALL not in params:
            super().format_options(ctx, formatter)
            return
        help_option = self.get_help_option(ctx)
        groups = group_options(one for one in params if one is not help_option)
        groups["Output"] += [] if help_option is None else [help_option]
        for title, members in groups.items():
            shown = [one for one in members if ctx.meta.get(ALL) or self.is_everyday(one)]
            rows = [row for one in shown if (row := one.get_help_record(ctx)) is not None]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments; UsageError for a repeated option, and for options that conflict."""
        if ctx.resilient_parsing:
            return super().parse_args(ctx, args)
        # Click keeps only the last value of a repeated option, so the arguments are parsed once
        # more here.
        values, _, used = self.make_parser(ctx).parse_args(args=[*args])
        _require_once(self.get_params(ctx), Counter(one.name for one in used))
        if "recipe" in values and reads_recipe(ctx.command):
            follow_recipe(ctx, Path(values["recipe"]))
        rest = super().parse_args(ctx, args)
        # A preset may have what an option needs: check_applicable looks again.
        refuse_conflicts(ctx, complete="preset" not in ctx.params)
        return rest


def _require_once(params: Sequence[click.Parameter], used: Counter[str | None]) -> None:
    for one in params:
        times = used[one.name]
        if times < 2 or not isinstance(one, click.Option) or one.multiple or one.is_flag:
            continue
        raise UsageError(
            f"{one.opts[-1]} is given {times} times; it takes one value.",
            code="option-repeated",
        )


def is_stated(context: click.Context, name: str | None) -> bool:
    """Test whether the value of an option comes from the call, a recipe or a layout."""
    sources = (ParameterSource.COMMANDLINE, ParameterSource.DEFAULT_MAP)
    return context.get_parameter_source(str(name)) in sources


def refuse_conflicts(context: click.Context, *, complete: bool = True) -> None:
    """Raise UsageError for options of a call of which one needs, or excludes, another.

    ``complete``: whether all options are known, so that what another one needs is missing.
    """
    params = context.command.get_params(context)
    stated = [one.stated for one in params if isinstance(one, GroupedOption) and one.stated]
    if not complete:
        stated = [replace(one, needs=()) for one in stated]
    values = {name: value for name, value in context.params.items() if is_stated(context, name)}
    check_together(stated, values)


class GridCommand(StrictCommand):
    """A command with grid options, whose --bounds is followed by four words or one name."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments, with four numbers after ``--bounds`` as one value."""
        return super().parse_args(ctx, join_bounds(args))


inputs = click.argument("inputs", nargs=-1, required=True, type=click.Path(), callback=find_inputs)


def split_specs(texts: Sequence[str]) -> list[str]:
    """Split a list of methods at its commas, except those between settings of one method.

    Examples
    --------
    >>> split_specs(["hay:fanout=4,nonnegative=yes,topdown", "laplace"])
    ['hay:fanout=4,nonnegative=yes', 'topdown', 'laplace']
    """
    specs: list[str] = []
    for text in texts:
        for number, part in enumerate(text.split(",")):
            name = part.partition(":")[0].strip()
            if number and "=" in name:  # a further setting
                specs[-1] += f",{part.strip()}"
            elif part.strip():
                specs.append(part.strip())
    return specs
