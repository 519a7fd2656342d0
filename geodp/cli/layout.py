"""Options that inputs settle themselves: recipes, presets, and what is unambiguous in a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from geodp.cli.help import Command, add_options, option
from geodp.cli.inputs import (
    FACTS,
    ask_sources,
    ask_units,
    list_stated,
    read_named,
    require_system,
    resolve_attributes,
)
from geodp.cli.options import BoundsType
from geodp.cli.output import quote
from geodp.cli.stated import METADATA
from geodp.cli.translation import translate, translate_message
from geodp.errors import GeodpError, UsageError, is_utf8

if TYPE_CHECKING:
    from geodp.io.read.layout.presets import Preset
    from geodp.io.read.layout.propose import Proposal
    from geodp.io.read.rows.input_files import FilePath

RECIPE = "recipe.toml"

OF_OPERATOR = frozenset({"domain_is_public"})
"""Options of the domain that are a statement about the inputs of one call, and in no recipe."""

PLAIN = "recipes and presets hold texts, numbers, true or false, and lists of these."

INPUTS = "geodp.inputs"
"""Under which a context has the words of inputs that are not their paths."""

ASKS = "asks"
"""Under which what is still asked stands beside options; no option has this name."""

ASK_BY = (
    "where labels in each row tell rows of one cell apart, name them (--by {names}) with all "
    "labels from a public list (--labels NAME=LABEL,LABEL... or NAME=FILE), or choose one of them "
    "(--where COLUMN=VALUE)"
)

BEFORE = "Before it can be published, {asks}. So far: {command}"

READ_AS = "Read as: {command}"

WHOLE_EXTENT = (
    "Domain: the whole extent of {grid}, as no --bounds, --primary, --mask or --regions names a "
    "smaller public one."
)

preset_option = option(
    "--preset",
    group="Input",
    help="How a publisher's files are laid out: its name, or a TOML file of your own.  "
    "[default: the one that fits]",
)

_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    preset_option,
    option(
        "--recipe",
        group="Input",
        type=click.Path(path_type=Path),
        help="TOML file of an earlier run's options (restricted/recipe.toml), or of geodp new; "
        "others are added.",
    ),
)


def layout_options(command: Command) -> Command:
    """Give a command the options of presets and recipes."""
    return add_options(command, _OPTIONS)


def complete(context: click.Context, options: dict[str, Any]) -> bool:
    """Fill in what the recipe, a preset or the first input's layout settles; whether any did.

    What was given stays as it is. UsageError for what remains to be said, before anything is read
    beyond the layout; the whole command is shown on stderr.
    """
    recipe, preset = options.pop("recipe"), options.pop("preset")
    known, metadata = ({}, {}) if recipe is None else _read_recipe(context, recipe)
    if metadata:
        options[METADATA] = metadata
    found = settle(context, options, known, preset)
    if found.asks:
        far = write_command(context, options)
        # Each is a sentence of its own in other languages, too.
        asked = "; ".join(map(translate_message, found.asks))
        raise UsageError(
            translate(BEFORE).format(asks=asked, command=far), code="layout-incomplete"
        )
    if not found.settled:
        return False
    _tell_reading(context, options, found.names)
    return True


@dataclass(frozen=True)
class Settled:
    """What a call knows of its inputs once their layout was looked at.

    Attributes
    ----------
    settled : bool
        Whether the recipe, a preset or the layout gave any option.
    asks : tuple of str
        What must still be said, a sentence each.
    names : tuple of str
        Attributes of ``--by``.
    proposal : Proposal or None
        Of the layout, where it was looked at.
    """

    settled: bool
    asks: tuple[str, ...]
    names: tuple[str, ...]
    proposal: Proposal | None


def settle(
    context: click.Context,
    options: dict[str, Any],
    known: Mapping[str, Any],
    preset: str | None,
) -> Settled:
    """Fill in what is known of an earlier run, a preset or the first input's layout.

    What was given stays as it is.
    """
    from geodp.cli.readers import check_applicable
    from geodp.io.read.reader import convert_by

    _apply(context, options, known)
    check_applicable(context)  # what would change nothing is told before a file is looked at
    require_system(options)
    asks: tuple[str, ...] = ()
    settled = bool(known)
    found: Proposal | None = None
    chosen, names = _find_preset(context, preset), convert_by(options["by"])
    if chosen is not None and "by" in chosen.options:
        _apply(context, options, {"by": chosen.options["by"]})
    by = _find_attributes(options, chosen)
    if chosen is not None or _lacks_layout({**options, **by}):
        found = _propose(context, options, by, chosen)
        settled, asks = settled or bool(found.options), found.asks
    elif _is_table(options):
        found = _propose_more(context, options, by)
        if found is not None:
            settled, asks = settled or bool(found.options), found.levels
    # Once more, as columns of codes and coordinates, which are known now, are no attributes.
    by = _find_attributes(options, chosen)
    if found is None or not found.levels:
        asks = (*asks, *ask_units(options))
    asks = (*asks, *by.pop(ASKS, ()), *ask_sources(options))
    options[FACTS] = by.pop(FACTS, ())
    if by:
        _replace(context, options, {**by, "by": ()})
    if asks and found is not None and found.by and not options["labels"]:
        asks = (*asks, ASK_BY.format(names=",".join(found.by)))
    return Settled(settled or bool(by), asks, names, found)


def _tell_reading(
    context: click.Context, options: Mapping[str, Any], names: tuple[str, ...]
) -> None:
    """Write on stderr the whole command, and what it leaves to geodp."""
    from geodp.io.read.reader import SERIES_OR_ATTRIBUTE
    from geodp.io.read.rows.known_attributes import find_standard

    click.echo(translate(READ_AS).format(command=write_command(context, options)), err=True)
    if any(map(find_standard, names)):
        click.echo(translate_message(SERIES_OR_ATTRIBUTE), err=True)
    if not any(options[name] for name in ("bounds", "primary", "mask", "regions")):
        kind = str(options["spec"]).partition(":")[0]
        if kind not in ("regular", "like", "units"):
            click.echo(translate(WHOLE_EXTENT).format(grid=options["spec"]), err=True)


def _propose_more(
    context: click.Context, options: dict[str, Any], by: Mapping[str, Any]
) -> Proposal | None:
    """Propose what the layout adds to a call that names all columns; None where there is none.

    What is named adds to the layout that is known, and takes nothing of it away. Of a file without
    a known one only the header is looked at, but where levels of units may stand beside their
    codes. One that cannot be looked at is told of when it is read, after all options.
    """
    from geodp.io.read.layout.presets import (
        OF_FILE,
        RefusedLayoutError,
        SeveralLayoutsError,
        choose_of_file,
    )

    try:
        own = choose_of_file(options["inputs"][0], **{name: options[name] for name in OF_FILE})
        if own is not None or str(options["spec"]).startswith("units:"):
            return _propose(context, options, by, own)
    except (RefusedLayoutError, SeveralLayoutsError):
        raise
    except (GeodpError, OSError):
        pass
    return None


def _find_preset(context: click.Context, name: str | None) -> Preset | None:
    """Return the preset that is named, if one is; UsageError for an option that it cannot state."""
    from geodp.io.read.layout.presets import find_preset

    if name is None:
        return None
    chosen = find_preset(name)
    stated = {_name(name.replace("-", "_")): v for name, v in chosen.options.items()}
    _cast_all(context, stated)
    return chosen


def _find_attributes(options: Mapping[str, Any], preset: Preset | None) -> dict[str, Any]:
    """Return the options that --by and patterns of --value stand for, and what they ask."""
    found = resolve_attributes(options, preset)
    if found is None:
        return {}
    axes = [f"{one.name}={','.join(one.labels)}" for one in found.axes]
    columns = read_named(options["column"] or (), "--column") | {**found.columns}
    values: Any = options["value"]
    if isinstance(found.values, str):
        values = (found.values,)
    elif found.values is not None:
        values = tuple(f"{','.join(labels)}={one}" for labels, one in found.values.items())
    return {
        "labels": (*list_stated(options), *axes),
        "column": tuple(f"{name}={column}" for name, column in columns.items()),
        "value": values,
        ASKS: found.asks,
        FACTS: found.facts,
    }


def _replace(context: click.Context, options: dict[str, Any], found: Mapping[str, Any]) -> None:
    """Put other options in the place of those that stand for them."""
    for name, value in found.items():
        options[name] = context.params[name] = value
        source = ParameterSource.DEFAULT_MAP if value else ParameterSource.DEFAULT
        context.set_parameter_source(name, source)


def _propose(
    context: click.Context,
    options: dict[str, Any],
    by: Mapping[str, Any],
    chosen: Preset | None,
) -> Proposal:
    """Apply what the first input's layout settles, and return it; ``by``: what --by stands for."""
    from geodp.io.read.layout.propose import propose

    given = _given(context, options)
    given |= {name: by[name] for name in ("labels", "value") if by.get(name)}
    given["column"] = _columns_of_places({**options, **by}) or None
    given.pop("by", None)
    found = propose(options["inputs"][0], given, chosen, named=_named_columns(options, by))
    columns = found.options.get("column")
    if columns and options["column"]:  # those of places stand beside those of attributes
        _replace(context, options, {"column": (*columns, *options["column"])})
    _apply(context, options, {_name(name): value for name, value in found.options.items()})
    return found


def _named_columns(options: Mapping[str, Any], by: Mapping[str, Any]) -> list[str]:
    """Return the columns that options name for something else than codes and counts."""
    columns = read_named(by.get("column") or options["column"] or (), "--column")
    where = read_named(options["where"] or (), "--where")
    single = [options[name] for name in ("x", "y", "person") if options.get(name) is not None]
    return [*columns.values(), *where, *single]


def write_command(context: click.Context, options: Mapping[str, Any]) -> str:
    """Return the command line that gives these options, ready to paste."""
    inputs = context.meta.get(INPUTS, options["inputs"])
    words = [*map(str, inputs), *list_words(context, options)]
    return " ".join([context.command_path, *map(quote, words)])


def list_words(
    context: click.Context, options: Mapping[str, Any], without: Collection[str] = ()
) -> list[str]:
    """Return the words of a command line, not quoted, that give these options.

    ``without``: names of options that are left out.
    """
    words: list[str] = []
    for one in context.command.get_params(context):
        value: Any = options.get(str(one.name))
        if one.name in without or not isinstance(one, click.Option):
            continue
        if _is_set(context, one, value):
            flag = one.opts[-1]
            if one.is_flag:
                words.append(flag)
            elif one.multiple:
                words += [word for each in value for word in (flag, str(each))]
            else:
                several = value if isinstance(value, tuple | list) else [value]
                words += [flag, *map(_text, several)]
    return words


def write_recipe(options: Mapping[str, Any], folder: Path) -> None:
    """Write this run's options of layout and domain into a staged release, for its operator.

    Before anything is drawn or charged: a recipe that fails costs nothing.
    """
    from geodp.io.folder.publication import write_private

    lines = list_recipe(click.get_current_context(), options)
    if stated := options.get(METADATA):
        lines += ["", "[metadata]", *(f"{name} = {_toml(one)}" for name, one in stated.items())]
    write_private(folder / "restricted" / RECIPE, "\n".join(lines) + "\n")


def list_recipe(context: click.Context, options: Mapping[str, Any]) -> list[str]:
    """Return the lines of a recipe with these options of layout and domain."""
    known, lines = layout_names(), ["[options]"]
    for one in context.command.get_params(context):
        name, value = str(one.name), options.get(str(one.name))
        if name in known and isinstance(one, click.Option) and _is_set(context, one, value):
            lines.append(_recipe_line(one.opts[-1].removeprefix("--"), value))
    return lines


def _recipe_line(name: str, value: Any) -> str:
    """Return an option as TOML; a comment where the name of a file is not UTF-8, as TOML is.

    Such a file is always asked for with its source, which the recipe has: without the file it is
    refused, and not forgotten.
    """
    line = f"{name} = {_toml(value)}"
    if is_utf8(line):
        return line
    return f"# {name}: its name is not UTF-8, which no TOML file can hold; give --{name} again."


def command_of(
    publish: click.Command, path: FilePath, found: Proposal, blanks: Sequence[str]
) -> str:
    """Return the command that publishes a file as proposed, under a budget to be changed.

    ``blanks``: options as they are written whose values are still to be filled in.
    """
    options: dict[str, Any] = {"inputs": (path,), "epsilon": "0.1", "output": "out"}
    context = click.Context(publish, info_name="geodp publish", **publish.context_settings)
    options |= {_name(name): value for name, value in found.options.items()}
    for name in options:
        context.set_parameter_source(name, ParameterSource.DEFAULT_MAP)
    written, mark, budget = write_command(context, options).rpartition(" --epsilon ")
    each: dict[str, str] = {}
    for blank in blanks:  # the first of several of one option, and none of those that are known
        each.setdefault(blank.partition(" ")[0], blank)
    known = {f"--{_flag(name)}" for name in options} | {""}
    words = (blank for flag, blank in each.items() if flag not in known)
    return " ".join((written, *words)) + mark + budget


def _lacks_layout(options: Mapping[str, Any]) -> bool:
    """Whether the grid, or what says where a row is or what it counts, is left out."""
    if options["spec"] is None:
        return True
    from geodp.cli.readers import choose_reader
    from geodp.io.read.layout.propose import lacks_layout

    reader = choose_reader(options).name
    return lacks_layout(reader, {**options, "column": _columns_of_places(options)})


def _columns_of_places(options: Mapping[str, Any]) -> tuple[str, ...]:
    """Return columns that are given for places, and not for attributes."""
    from geodp.io.read.reader import convert_by

    named = read_named(list_stated(options), "--labels")
    attributes = {*named, *convert_by(options["by"])}
    found = read_named(options["column"] or (), "--column")
    return tuple(f"{name}={found[name]}" for name in found if name not in attributes)


def _is_table(options: Mapping[str, Any]) -> bool:
    """Whether the call is read as a table."""
    from geodp.cli.readers import choose_reader

    return choose_reader(options).name == "table"


def _given(context: click.Context, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options that were given or read from a recipe, the grid by its option's name."""
    return {
        "grid" if name == "spec" else name: value
        for name, value in options.items()
        if _source(context, name) and value not in (None, (), False)
    }


def _source(context: click.Context, name: str) -> bool:
    sources = (ParameterSource.COMMANDLINE, ParameterSource.DEFAULT_MAP)
    return context.get_parameter_source(name) in sources


def _is_set(context: click.Context, option: click.Option, value: Any) -> bool:
    return _source(context, str(option.name)) and value not in (None, (), [], False)


def _name(name: str) -> str:
    return "spec" if name == "grid" else name


def _apply(context: click.Context, options: dict[str, Any], settled: Mapping[str, Any]) -> None:
    """Set options that were not given; UsageError for a value that an option does not take."""
    if not settled:
        return
    for name, value in _cast_all(context, settled).items():
        if not _source(context, name):
            options[name] = context.params[name] = value
            context.set_parameter_source(name, ParameterSource.DEFAULT_MAP)


def _cast_all(context: click.Context, settled: Mapping[str, Any]) -> dict[str, Any]:
    """Return values as options take them; UsageError for what no recipe or preset may state."""
    names = layout_names()
    known = {str(one.name): one for one in context.command.get_params(context) if one.name in names}
    found = {}
    for name, value in settled.items():
        if name not in known:
            raise UsageError(
                f"Recipes and presets hold options of layout and domain, and no --{_flag(name)}.",
                code="recipe-option-unknown",
            )
        several = isinstance(value, list | tuple)
        parts = value if several else [value]
        if not all(isinstance(one, str | int | float) for one in parts):
            raise UsageError(
                f"--{_flag(name)} cannot have this value; {PLAIN}", code="recipe-value-kind"
            )
        if several and not _takes_several(known[name]):
            raise UsageError(
                f"--{_flag(name)} cannot have this value; it takes one, and no list.",
                code="recipe-value-list",
            )
        plain = [_text(one) for one in parts] if several or known[name].multiple else value
        try:
            found[name] = known[name].type_cast_value(context, plain)
        except (click.ClickException, TypeError, ValueError):
            raise UsageError(
                f"--{_flag(name)} cannot have this value.", code="recipe-value-wrong"
            ) from None
    return found


def _flag(name: str) -> str:
    return "grid" if name == "spec" else name.replace("_", "-")


def _takes_several(option: click.Parameter) -> bool:
    return option.multiple or option.nargs > 1 or isinstance(option.type, BoundsType)


def layout_names() -> set[str]:
    """Return names of the options that a recipe or a preset may set: none of budgets and files."""
    from geodp.cli.options import grid_option_names
    from geodp.cli.readers import reader_options

    names = {str(one.name) for one in reader_options()} | {*grid_option_names(), "spec"}
    return names - OF_OPERATOR


def _read_recipe(context: click.Context, path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options of a recipe, and what it says of the release."""
    from geodp.io.read.layout.presets import read_text, read_toml

    said = read_toml(read_text(path), f"The recipe {path}")
    options, metadata = said.pop("options", None), said.pop("metadata", {})
    if said or not isinstance(options, dict) or not isinstance(metadata, dict):
        raise UsageError(
            f"The recipe {path} has one table, [options], and beside it only [metadata].",
            code="recipe-tables",
        )
    return {_name(name.replace("-", "_")): value for name, value in options.items()}, metadata


def _text(value: Any) -> str:
    """Return a value as the command line takes it: 4000000 of 4e6."""
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
    return str(int(value) if whole else value)


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
