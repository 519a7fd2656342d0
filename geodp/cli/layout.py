"""Options from recipes, presets and file headers, so that a call need not name them."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from geodp.cli.inputs import (
    FACTS,
    check_units,
    list_inline_labels,
    reaches,
    read_named,
    request_sources,
    require_system,
    resolve_attributes,
)
from geodp.cli.options import is_stated
from geodp.cli.output import quote
from geodp.cli.recipes import (
    METADATA,
    cast_all,
    layout_names,
    name_of_flag,
    write_flag,
    write_value,
)
from geodp.cli.translation import translate, translate_message
from geodp.errors import GeodpError, UsageError, is_utf8

if TYPE_CHECKING:
    from geodp.io.read.layout.presets import Preset
    from geodp.io.read.layout.propose import Proposal
    from geodp.io.read.rows.input_files import FilePath

RECIPE = "recipe.toml"

INPUTS = "geodp.inputs"
"""Key in a context's ``meta`` for arguments of inputs that are not their paths."""

QUESTIONS = "asks"
"""Key among the options for open questions; no option has this name."""

QUESTION_BY = (
    "if labels in each row distinguish rows of one cell, name them (--by {names}) with all "
    "labels from a public list (--labels NAME=LABEL,LABEL... or NAME=FILE), or choose one of them "
    "(--where COLUMN=VALUE)"
)

BEFORE = "Before it can be published, {asks}. So far: {command}"

READ_AS = "Read as: {command}"

FULL_EXTENT = (
    "Domain: the full extent of {grid}, as no --bounds, --primary, --mask or --regions names a "
    "smaller public one."
)


def complete(
    context: click.Context,
    options: dict[str, Any],
    implied: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None,
) -> bool:
    """Fill in options from a preset or the first input's layout, and report on stderr.

    ``implied``: returns options that explicit ones, and those of the recipe, imply.

    Returns whether any was filled in, or came from the recipe. Explicit options stay unchanged.
    UsageError for missing options, before anything is read beyond the layout; the full command is
    shown on stderr.
    """
    preset = options.pop("preset")
    if implied is not None:
        set_options(context, options, implied(options))
    resolved = resolve_inputs(context, options, preset)
    if resolved.questions:
        far = write_command(context, options)
        # Each question is one key of the catalogue.
        questions = "; ".join(map(translate_message, resolved.questions))
        raise UsageError(
            translate(BEFORE).format(asks=questions, command=far), code="layout-incomplete"
        )
    if not (resolved.filled or METADATA in context.meta):
        return False
    _print_reading(context, options, resolved.names)
    return True


def take_recipe(context: click.Context, options: dict[str, Any]) -> bool:
    """Take the recipe out of options, whose values they have; return whether there was one."""
    options.pop("recipe", None)
    if metadata := context.meta.get(METADATA):
        options[METADATA] = metadata
    return METADATA in context.meta


@dataclass(frozen=True)
class ResolvedInputs:
    """Result of resolving a call's options by the layout of its inputs.

    Attributes
    ----------
    filled : bool
        Whether a preset or the layout set any option.
    questions : tuple of str
        Open questions, one sentence each.
    names : tuple of str
        Attributes of ``--by``.
    proposal : Proposal or None
        Proposal for the layout, if it was examined.
    """

    filled: bool
    questions: tuple[str, ...]
    names: tuple[str, ...]
    proposal: Proposal | None


def resolve_inputs(
    context: click.Context,
    options: dict[str, Any],
    preset: str | None,
) -> ResolvedInputs:
    """Fill in options from a preset or the first input's layout.

    Explicit options stay unchanged.
    """
    from geodp.cli.readers import check_applicable
    from geodp.io.read.reader import convert_by

    check_applicable(context)  # options without effect are refused before a file is read
    require_system(options)
    questions: tuple[str, ...] = ()
    filled = False
    proposal: Proposal | None = None
    chosen, names = _find_preset(context, preset), convert_by(options["by"])
    if chosen is not None and "by" in chosen.options:
        _apply(context, options, {"by": chosen.options["by"]})
    by = _find_attributes(options, chosen)
    if chosen is not None or _lacks_layout({**options, **by}):
        proposal = _propose(context, options, by, chosen)
        filled, questions = bool(proposal.options), proposal.questions
    elif _is_table(options):
        proposal = _propose_more(context, options, by)
        if proposal is not None:
            filled, questions = bool(proposal.options), proposal.levels
    # Resolved again: columns of codes and coordinates are known now, and are not attributes.
    by = _find_attributes(options, chosen)
    if proposal is None or not proposal.levels:
        questions = (*questions, *check_units(options))
    questions = (*questions, *by.pop(QUESTIONS, ()), *request_sources(options))
    options[FACTS] = by.pop(FACTS, ())
    # The expansion replaces --by, so that the printed command and the recipe need no header to
    # resolve it.
    if by:
        set_options(context, options, {**by, "by": ()})
    # Rows that are persons need no labels; several rows of counts of one cell do.
    labelled = options["labels"] or options["points"]
    if questions and proposal is not None and proposal.by and not labelled:
        questions = (*questions, QUESTION_BY.format(names=",".join(proposal.by)))
    return ResolvedInputs(filled or bool(by), questions, names, proposal)


def _print_reading(
    context: click.Context, options: Mapping[str, Any], names: tuple[str, ...]
) -> None:
    """Print the full command on stderr, and the defaults that it relies on."""
    from geodp.io.read.reader import SERIES_OR_ATTRIBUTE
    from geodp.io.read.rows.names import find_standard

    click.echo(translate(READ_AS).format(command=write_command(context, options)), err=True)
    # Hours and months are often meant as a series, which costs the budget differently.
    if any(map(find_standard, names)):
        click.echo(translate_message(SERIES_OR_ATTRIBUTE), err=True)
    if not any(options[name] for name in ("bounds", "primary", "mask", "regions")):
        kind = str(options["spec"]).partition(":")[0]
        if kind not in ("regular", "like", "units"):
            click.echo(translate(FULL_EXTENT).format(grid=options["spec"]), err=True)


def _propose_more(
    context: click.Context, options: dict[str, Any], by: Mapping[str, Any]
) -> Proposal | None:
    """Propose the additions of a known layout to a call with all columns; None without one.

    Explicit columns extend a known layout and do not replace it. In other files only the header is
    read, unless levels of units may stand next to their codes. A file that cannot be opened is
    reported later, when it is read, after the errors in options.
    """
    from geodp.io.read.layout.presets import RefusedLayoutError, SeveralLayoutsError, choose_of_file
    from geodp.io.read.rows.span import OPENING

    try:
        layout = choose_of_file(options["inputs"][0], **{name: options[name] for name in OPENING})
        if layout is not None or str(options["spec"]).startswith("units:"):
            return _propose(context, options, by, layout)
    # These say what to do about the layout; other errors are reported when the file is read.
    except (RefusedLayoutError, SeveralLayoutsError):
        raise
    except (GeodpError, OSError):
        pass
    return None


def _find_preset(context: click.Context, name: str | None) -> Preset | None:
    """Return the selected preset, if any; UsageError for an option that presets cannot set."""
    from geodp.io.read.layout.presets import find_preset

    if name is None:
        return None
    chosen = find_preset(name)
    stated = {name_of_flag(name.replace("-", "_")): v for name, v in chosen.options.items()}
    # Casting checks the preset's options even if explicit ones override them.
    cast_all(context, stated)
    return chosen


def _find_attributes(options: Mapping[str, Any], preset: Preset | None) -> dict[str, Any]:
    """Return the options that --by and patterns of --value expand to, and their open questions."""
    resolved = resolve_attributes(options, preset)
    if resolved is None:
        return {}
    axes = [f"{one.name}={','.join(one.labels)}" for one in resolved.axes]
    columns = read_named(options["column"] or (), "--column") | {**resolved.columns}
    values: Any = options["value"]
    if isinstance(resolved.values, str):
        values = (resolved.values,)
    elif resolved.values is not None:
        values = tuple(f"{','.join(labels)}={one}" for labels, one in resolved.values.items())
    return {
        "labels": (*list_inline_labels(options), *axes),
        "column": tuple(f"{name}={column}" for name, column in columns.items()),
        "value": values,
        QUESTIONS: resolved.questions,
        FACTS: resolved.facts,
    }


def set_options(context: click.Context, options: dict[str, Any], values: Mapping[str, Any]) -> None:
    """Set options to what others expand to or imply, as if they were stated."""
    for name, value in values.items():
        options[name] = context.params[name] = value
        source = ParameterSource.DEFAULT_MAP if value else ParameterSource.DEFAULT
        context.set_parameter_source(name, source)


def _propose(
    context: click.Context,
    options: dict[str, Any],
    by: Mapping[str, Any],
    chosen: Preset | None,
) -> Proposal:
    """Apply the proposal of the first input's layout; ``by``: the expansion of --by."""
    from geodp.io.read.layout.propose import propose

    explicit = _explicit_options(context, options)
    explicit |= {name: by[name] for name in ("labels", "value") if by.get(name)}
    explicit["column"] = _columns_of_places({**options, **by}) or None
    explicit.pop("by", None)
    proposal = propose(
        options["inputs"][0],
        explicit,
        chosen,
        named=_named_columns(context, options, by),
        reaches=partial(reaches, explicit),
    )
    columns = proposal.options.get("column")
    if columns and options["column"]:  # those of places are kept with those of attributes
        set_options(context, options, {"column": (*columns, *options["column"])})
    _apply(
        context, options, {name_of_flag(name): value for name, value in proposal.options.items()}
    )
    return proposal


def _named_columns(
    context: click.Context, options: Mapping[str, Any], by: Mapping[str, Any]
) -> list[str]:
    """Return the columns that options use for anything but codes and counts."""
    columns = read_named(by.get("column") or options["column"] or (), "--column")
    where = read_named(options["where"] or (), "--where")
    params = context.command.get_params(context)
    single = ["x", "y", "person", *(str(one.name) for one in params if one.metavar == "COLUMN")]
    texts = [one for name in single if isinstance(one := options.get(name), str)]
    return [*columns.values(), *where, *(part for one in texts for part in {one, *one.split(",")})]


def write_command(context: click.Context, options: Mapping[str, Any]) -> str:
    """Return the command line with these options, ready to paste."""
    inputs = context.meta.get(INPUTS, options["inputs"])
    arguments = [*map(str, inputs), *list_arguments(context, options)]
    return " ".join([context.command_path, *map(quote, arguments)])


def list_arguments(
    context: click.Context, options: Mapping[str, Any], without: Collection[str] = ()
) -> list[str]:
    """Return the arguments of a command line with these options, not quoted.

    ``without``: names of options to leave out.
    """
    arguments: list[str] = []
    left_out = {*without, *_list_implied(options)}
    for one in context.command.get_params(context):
        value: Any = options.get(str(one.name))
        if one.name in left_out or not isinstance(one, click.Option) or one.hidden:
            continue
        if _is_set(context, one, value):
            # The last name is the long one that help shows first.
            flag = one.opts[-1]
            if one.is_flag:
                arguments.append(flag)
            elif one.multiple:
                arguments += [word for each in value for word in (flag, str(each))]
            else:
                several = value if isinstance(value, tuple | list) else [value]
                arguments += [flag, *map(write_value, several)]
    return arguments


def write_recipe(options: Mapping[str, Any], folder: Path) -> None:
    """Write this run's options of layout and domain into a staged release, for its operator.

    Before anything is drawn or charged: a recipe that fails costs nothing.
    """
    from geodp.io.folder.publication import write_private

    lines = list_recipe(click.get_current_context(), options)
    if metadata := options.get(METADATA):
        lines += ["", "[metadata]", *(f"{name} = {_toml(one)}" for name, one in metadata.items())]
    write_private(folder / "restricted" / RECIPE, "\n".join(lines) + "\n")


def list_recipe(context: click.Context, options: Mapping[str, Any]) -> list[str]:
    """Return the lines of a recipe with these options of layout and domain."""
    names, lines = layout_names(context.command), ["[options]"]
    for one in context.command.get_params(context):
        name, value = str(one.name), options.get(str(one.name))
        if not isinstance(one, click.Option) or one.hidden or name in _list_implied(options):
            continue
        if name in names and _is_set(context, one, value):
            lines.append(_recipe_line(one.opts[-1].removeprefix("--"), value))
    return lines


def _recipe_line(name: str, value: Any) -> str:
    """Return an option as TOML; a comment if the name of a file is not UTF-8, as TOML requires.

    The recipe still has the source of such a file, and a source without its file is refused, so
    that the file cannot be forgotten.
    """
    line = f"{name} = {_toml(value)}"
    if is_utf8(line):
        return line
    return f"# {name}: its name is not UTF-8, which no TOML file can hold; give --{name} again."


def command_of(
    publish: click.Command, path: FilePath, proposal: Proposal, blanks: Sequence[str]
) -> str:
    """Return the command that publishes a file as proposed, with an example budget.

    ``blanks``: options with placeholders for values that are still missing.
    """
    options: dict[str, Any] = {"inputs": (path,), "epsilon": "0.1", "output": "out"}
    # A context without a run, only to format the options as publish would.
    context = click.Context(publish, info_name="geodp publish", **publish.context_settings)
    options |= {name_of_flag(name): value for name, value in proposal.options.items()}
    for name in options:
        context.set_parameter_source(name, ParameterSource.DEFAULT_MAP)
    written, separator, budget = write_command(context, options).rpartition(" --epsilon ")
    each: dict[str, str] = {}
    for blank in blanks:  # the first of several of one option, and none of those that are known
        each.setdefault(blank.partition(" ")[0], blank)
    present = {f"--{write_flag(name)}" for name in options} | {""}
    additions = (blank for flag, blank in each.items() if flag not in present)
    return " ".join((written, *additions)) + separator + budget


def _lacks_layout(options: Mapping[str, Any]) -> bool:
    """Return whether the grid, or the columns of places or counts, are missing."""
    if options["spec"] is None:
        return True
    from geodp.cli.readers import choose_reader
    from geodp.io.read.layout.propose import lacks_layout

    reader = choose_reader(options).name
    return lacks_layout(reader, {**options, "column": _columns_of_places(options)})


def _columns_of_places(options: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the columns of --column that are for places, and not for attributes."""
    from geodp.io.read.reader import convert_by

    named = read_named(list_inline_labels(options), "--labels")
    attributes = {*named, *convert_by(options["by"])}
    columns = read_named(options["column"] or (), "--column")
    return tuple(f"{name}={columns[name]}" for name in columns if name not in attributes)


def _is_table(options: Mapping[str, Any]) -> bool:
    """Return whether the inputs are read as tables."""
    from geodp.cli.readers import choose_reader

    return choose_reader(options).name == "table"


def _explicit_options(context: click.Context, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return explicit options and those from a recipe, the grid by its option's name."""
    return {
        "grid" if name == "spec" else name: value
        for name, value in options.items()
        if is_stated(context, name) and value not in (None, (), False)
    }


def _list_implied(options: Mapping[str, Any]) -> tuple[str, ...]:
    """List options that others have set: that of counts of one period of a series."""
    return ("value",) if options.get("period_columns") else ()


def _is_set(context: click.Context, option: click.Option, value: Any) -> bool:
    return is_stated(context, str(option.name)) and value not in (None, (), [], False)


def _apply(context: click.Context, options: dict[str, Any], values: Mapping[str, Any]) -> None:
    """Set options that are not explicit; UsageError for an invalid value."""
    if not values:
        return
    for name, value in cast_all(context, values).items():
        if not is_stated(context, name):
            options[name] = context.params[name] = value
            context.set_parameter_source(name, ParameterSource.DEFAULT_MAP)


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
