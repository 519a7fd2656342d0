"""Options from recipes: TOML files with the layout and the domain of an earlier run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from geodp.cli.values import BoundsType
from geodp.errors import UsageError

METADATA = "recipe_metadata"
"""Key among the options for a recipe's metadata; no option has this name."""

# A recipe is reused for other inputs, for which nobody has made this assertion.
OF_OPERATOR = frozenset({"domain_is_public"})
"""Options that assert something about the inputs of one call, and are never in a recipe."""

PLAIN = "recipes and presets hold texts, numbers, true or false, and lists of these."

OF_LAYOUT = frozenset({"Input", "Domain"})
"""Groups of the options that recipes and presets set."""


def reads_recipe(command: click.Command) -> bool:
    """Test whether a command has an option for the recipe that it follows; others write one."""
    return any(
        one.name == "recipe" and getattr(one, "group", None) == "Input" for one in command.params
    )


def follow_recipe(context: click.Context, path: Path) -> None:
    """Let options that a call leaves out have the values of a recipe, before it is parsed.

    Its metadata are kept in the context. UsageError for what recipes cannot set.
    """
    from geodp.io.read.layout.presets import read_text, read_toml

    document = read_toml(read_text(path), f"The recipe {path}")
    options, metadata = document.pop("options", None), document.pop("metadata", {})
    if document or not isinstance(options, dict) or not isinstance(metadata, dict):
        raise UsageError(
            f"The recipe {path} has one table, [options], and beside it only [metadata].",
            code="recipe-tables",
        )
    flags = {one.opts[-1]: one.name for one in context.command.get_params(context)}
    values = {
        str(flags.get(f"--{name}", name_of_flag(name.replace("-", "_")))): value
        for name, value in options.items()
    }
    checked = _check_all(context, values)
    context.default_map = {name: plain for name, (plain, _) in checked.items()}
    context.meta[METADATA] = metadata


def cast_all(context: click.Context, values: Mapping[str, Any]) -> dict[str, Any]:
    """Convert values as options do; UsageError for what recipes and presets cannot set."""
    return {name: cast for name, (_, cast) in _check_all(context, values).items()}


def _check_all(context: click.Context, values: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return each value as Click takes it, and converted; see `cast_all`."""
    names = layout_names(context.command)
    parameters = {
        str(one.name): one for one in context.command.get_params(context) if one.name in names
    }
    checked = {}
    for name, value in values.items():
        flag = write_flag(name)
        if name not in parameters:
            raise UsageError(
                f"Recipes and presets hold options of layout and domain, and no --{flag}.",
                code="recipe-option-unknown",
            )
        several = isinstance(value, list | tuple)
        parts = value if several else [value]
        if not all(isinstance(one, str | int | float) for one in parts):
            raise UsageError(f"--{flag} cannot have this value; {PLAIN}", code="recipe-value-kind")
        if several and not _takes_several(parameters[name]):
            raise UsageError(
                f"--{flag} cannot have this value; it takes one, and no list.",
                code="recipe-value-list",
            )
        # Values go through the option's own conversion, so that recipes are checked like a command
        # line.
        listed = several or parameters[name].multiple
        plain = [write_value(one) for one in parts] if listed else value
        try:
            checked[name] = plain, parameters[name].type_cast_value(context, plain)
        except (click.ClickException, TypeError, ValueError):
            raise UsageError(
                f"--{flag} cannot have this value.", code="recipe-value-wrong"
            ) from None
    return checked


def layout_names(command: click.Command) -> set[str]:
    """Return the options that a recipe or a preset may set, which exclude budgets and outputs."""
    columns, never = ("COLUMN", "NAME=COLUMN"), {"recipe", "preset", *OF_OPERATOR}
    return {
        str(one.name)
        for one in command.get_params(click.Context(command))
        if (getattr(one, "group", None) in OF_LAYOUT or one.metavar in columns)
        and one.name not in never
    }


def _takes_several(option: click.Parameter) -> bool:
    return option.multiple or option.nargs > 1 or isinstance(option.type, BoundsType)


def write_flag(name: str) -> str:
    """Return the name of an option on the command line, without hyphens before it."""
    return "grid" if name == "spec" else name.replace("_", "-")


def name_of_flag(name: str) -> str:
    """Return the name of the value of an option."""
    return "spec" if name == "grid" else name


def write_value(value: Any) -> str:
    """Format a value for the command line: 4e6 as 4000000."""
    is_integer = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
    return str(int(value) if is_integer else value)
