"""Options of readers, made from the fields of readers, and readers made from these options.

Readers are imported when a reading command needs its options, and not before.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodp.cli.help import GroupedOption, make_option
from geodp.cli.inputs import (
    CELLS,
    check_grid,
    open_labels,
    opening_of_public,
    read_named,
    require_public,
)
from geodp.cli.options import GridCommand, is_stated, refuse_conflicts
from geodp.cli.running import pad_time, report_progress
from geodp.cli.values import find_inputs
from geodp.errors import PluginWarning, UsageError, printable
from geodp.options.option import Option

if TYPE_CHECKING:
    from geodp.grid.grid import Grid
    from geodp.io.read.reader import Reader
    from geodp.privacy.key import NoiseKey
    from geodp.table.counts import CountTable
    from geodp.table.prior import Prior


FLAG = re.compile("--[a-z][a-z0-9-]*")
"""Form of the flags that plugins may add."""


LABELS = "labels"
"""Option that readers share with the grid, since labels are part of the public domain."""

ADDRESSES = 5 << 28
"""Bytes of address space below which libraries fail on import, or retry for ever."""


class InputCommand(GridCommand):
    """A command that reads confidential inputs, which may be URLs."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command with URLs fetched; UsageError if there is too little address space.

        With ``--pad-time``, all of it takes that long, and prints nothing earlier.
        """
        require_addresses()
        with pad_time(ctx.params), _fetched(ctx):
            return super().invoke(ctx)


class ReadingCommand(InputCommand):
    """A command that reads confidential inputs, with the options of readers."""

    def list_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the command's own options, with those of readers after those of the grid."""
        params = super().list_params(ctx)
        # Readers' options follow those of the grid in help and in printed commands.
        grid = next(i for i, one in enumerate(params) if one.name == LABELS) + 1
        readers = [one for one in reader_options() if one.name != LABELS]
        return [*params[:grid], *readers, *params[grid:]]


@contextmanager
def _fetched(context: click.Context) -> Iterator[None]:
    """Replace URLs among the inputs by fetched files, which are removed after the block."""
    options = context.params
    # Households, and persons outside them, may have files of their own.
    of_inputs = {one.name for one in context.command.params if one.callback is find_inputs}
    names = [
        name
        for name in options
        if name in {"inputs", *of_inputs} and any(isinstance(one, str) for one in options[name])
    ]
    if not names:
        yield
        return
    from geodp.io.read.rows.forms.locations import fetch_urls
    from geodp.io.read.rows.scratch import require_scratch

    # Workers run on other machines, where a file that was fetched here does not exist.
    if options.get("cluster") is not None or options.get("workers") is not None:
        raise UsageError(
            "Workers of a cluster read no URLs: fetch the file, and give its path.",
            code="cluster-reads-no-urls",
        )
    require_scratch(options["scratch"])
    with ExitStack() as held:
        with report_progress():
            for name in names:
                options[name] = held.enter_context(fetch_urls(options[name], options["scratch"]))
        yield


@cache
def _readers() -> Mapping[str, type[Reader]]:
    """Return the readers with options on the command line: geodp's own, then those of plugins.

    A plugin with an invalid or taken option is left out, with a warning.
    """
    from geodp.cli import geodp
    from geodp.io.read import builtin_readers, find_readers

    readers = dict(builtin_readers())
    found = find_readers()
    others = sorted(found.keys() - readers.keys())
    if not others:
        return readers
    # A plugin may share an option with another reader, but only if both mean exactly the same.
    taken: dict[str, Option | None] = {"help": None}
    for command in _reading_commands(geodp):
        for one in command.params:
            taken |= dict.fromkeys(
                [str(one.name), *(opt.lstrip("-").replace("-", "_") for opt in one.opts)]
            )
    for reader in readers.values():
        taken |= _options_of(reader)
    for name in others:
        reader = found[name]
        if flag := _refused_flag(reader, taken):
            warnings.warn(
                f"The reader {name} of {printable(reader.__module__)} needs {printable(flag)}, "
                "which is taken or not a valid option. It is left out.",
                PluginWarning,
                stacklevel=2,
            )
        else:
            readers[name] = reader
            taken |= _options_of(reader)
    return readers


def _reading_commands(group: click.Group) -> Iterator[ReadingCommand]:
    """Yield the commands that read confidential inputs, in a group and its subgroups."""
    for command in group.commands.values():
        if isinstance(command, ReadingCommand):
            yield command
        elif isinstance(command, click.Group):
            yield from _reading_commands(command)


def _options_of(reader: type[Reader]) -> dict[str, Option | None]:
    """Return all options of a reader by name; None for one that no other reader may share."""
    options: dict[str, Option | None] = {a.name: _shared(a) for a in reader.option_fields()}
    return options | ({_flag_of(reader).name: None} if reader.flag else {})


def _shared(option: Option) -> Option:
    """Return an option without its default, in which readers may differ."""
    return replace(option, default=None, required=False)


def _refused_flag(reader: type[Reader], taken: Mapping[str, Option | None]) -> str:
    """Return the first flag that a reader needs but cannot have; empty if there is none."""
    flag = _flag_of(reader)
    if reader.flag and (flag.name in taken or not _works(flag)):
        return flag.flag
    for option in reader.option_fields():
        # Equal options may be shared; a different one under the same name would break the other
        # reader.
        shared = _shared(option)
        if taken.get(option.name, shared) != shared or not _works(option):
            return str(option.flag) or "--"
    return ""


def _works(option: Option) -> bool:
    """Return whether a plugin's option can be made, shown and left at its default."""
    try:
        made, context = make_option(option), click.Context(click.Command(""))
        made.get_help_record(context)
        if option.default is not None:
            made.type_cast_value(context, option.default)
        return FLAG.fullmatch(option.flag) is not None
    except Exception:
        return False


@cache
def reader_options() -> tuple[GroupedOption, ...]:
    """Return every option of every reader once; those of all readers come last."""
    from geodp.io.read.reader import Reader

    stated: dict[str, Option] = {}
    for reader in _readers().values():
        if reader.flag:
            stated[_flag_of(reader).name] = _flag_of(reader)
        for one in _specific_options(reader):
            stated.setdefault(one.name, one)
    stated |= {one.name: one for one in Reader.option_fields()}
    # A reader checks itself whether an option is required, as another one may do without.
    return tuple(make_option(replace(one, required=False)) for one in stated.values())


@cache
def _flag_of(reader: type[Reader]) -> Option:
    """Return the flag that selects a reader."""
    return Option(f"--{reader.name}", reader.flag, group="Input", type=bool, everyday=True)


@cache
def _specific_options(reader: type[Reader]) -> list[Option]:
    """Return a reader's options that are not common to all readers."""
    from geodp.io.read.reader import Reader

    common = {one.name for one in Reader.option_fields()}
    return [one for one in reader.option_fields() if one.name not in common]


def _flags(reader: type[Reader]) -> dict[str, str]:
    """Return the flags of a reader's specific options, by name."""
    selecting = [_flag_of(reader)] if reader.flag else []
    return {one.name: one.flag for one in (*selecting, *_specific_options(reader))}


def choose_reader(options: Mapping[str, Any]) -> type[Reader]:
    """Choose the reader by the options and the names of the inputs."""
    from geodp.io.read import choose
    from geodp.io.read.reader import Call

    return choose(
        Call(tuple(map(Path, options["inputs"])), str(options["spec"]), options), _readers()
    )


def check_applicable(context: click.Context) -> None:
    """Raise UsageError for options that have no effect in this call, or are malformed."""
    options = context.params
    names = {str(o.name): o.opts[-1] for o in context.command.get_params(context)}
    used = [name for name in names if is_stated(context, name)]
    chosen = choose_reader(options)
    # For each reader the options that only some readers have; --labels belongs to the grid as well.
    kinds = {
        reader.name: [name for name in _flags(reader) if name != LABELS]
        for reader in _readers().values()
    }
    some = {name for allowed in kinds.values() for name in allowed}
    takes = kinds.get(chosen.name, some)
    if extra := [name for name in used if name in some and name not in takes]:
        listed = ", ".join(names[name] for name in extra)
        if (other := _other_reader(extra)) is not None:
            flag = _flag_of(other).flag
            raise UsageError(
                f"Not for {chosen.kind}: {listed}. {flag} takes them, and reads {other.kind}.",
                code="option-of-other-reader",
            )
        raise UsageError(
            f"Not for {chosen.kind}: {listed}. These take {', '.join(names[n] for n in takes)}.",
            code="option-not-for-input",
        )
    check_grid(context)
    refuse_conflicts(context)
    for one in chosen.option_fields():
        if one.pairs:
            read_named(options[one.name], one.flag)


def _other_reader(extra: Sequence[str]) -> type[Reader] | None:
    """Return the reader with a flag that accepts all these options; None if there is none."""
    selectable = [one for one in _readers().values() if one.flag]
    return next((one for one in selectable if {*extra} <= {*_flags(one)}), None)


def read(options: Mapping[str, Any], grid: Grid, key: NoiseKey | None) -> CountTable:
    """Read the confidential table of the inputs on a public grid; see :func:`make_reader`."""
    return make_reader(options, grid, key).read(options["inputs"])


def make_reader(options: Mapping[str, Any], grid: Grid, key: NoiseKey | None) -> Reader:
    """Make the reader for the options, on a public grid.

    Only geodp's own readers receive ``key``.
    """
    from geodp.io.read import give_key

    chosen = choose_reader(options)
    values = read_fields(chosen.option_fields(), options)
    if "outside" in values:
        values["outside"] = values["outside"] or default_outside(options)
    if values.get("labels"):
        values["labels"] = open_labels(options)
    return chosen.of(grid, **values, **give_key(chosen, key))


def read_fields(fields: Iterable[Option], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a reader's fields that are options; UsageError for a missing one."""
    values: dict[str, Any] = {}
    for one in fields:
        value = options[one.name]
        if one.required and value is None:
            raise UsageError(f"Add {one.flag}: {one.help}", code="option-missing")
        values[one.field] = read_named(value, one.flag) if one.pairs else value
    return values


def require_public_prior(options: Mapping[str, Any], charge: object = None) -> None:
    """Raise UsageError for a prior that is neither asserted to be public nor was charged itself.

    ``charge``: that of the release that is the prior, if it is one.
    """
    # A source is a text: "our own survey" is one, too, and asserts nothing.
    if charge is None and not options["prior_is_public"]:
        raise UsageError(
            "The prior is used without noise, so that the release tells of it: assert that it is "
            "published already, where --prior-source says, and that everybody may have it "
            "(--prior-is-public). Data of your own that are not published must not be a prior; a "
            "release that was charged to a ledger may be one without any assertion.",
            code="prior-not-asserted",
        )


def require_no_persons(path: Path, options: Mapping[str, Any], named: str | None) -> None:
    """Raise UsageError for the file of a prior with a column that identifies persons.

    Parameters
    ----------
    path : Path
    options : mapping
        With the opening options of the file. Its columns of counts (``value``) are none of persons.
    named : str or None
        The column of persons of the inputs.
    """
    from contextlib import closing

    from geodp.io.read.layout.recognise import find_named, fold_columns
    from geodp.io.read.rows.columns import open_tables
    from geodp.io.read.rows.names import fold
    from geodp.io.read.rows.span import OPENING

    opening: dict[str, Any] = {name: options.get(name) for name in (*OPENING, "scratch")}
    with closing(open_tables([path], **opening)) as tables:
        columns = next(tables).columns
    counts = {fold(name) for name in options["value"] or ()}
    persons = {*find_named("person", fold_columns(columns))}
    for at, name in enumerate(columns):
        if fold(name) in counts:
            continue
        if at in persons or (named is not None and fold(name) == fold(named)):
            raise UsageError(
                f"The prior {path} has a column of persons, {name}: it holds records, and a prior "
                "is used without noise. Give a published table of counts, and name its column of "
                "counts (--prior-value), or an earlier release; where the column is none of "
                "persons, leave it out of the file.",
                code="prior-of-persons",
            )


def read_prior(options: Mapping[str, Any], grid: Grid) -> Prior | None:
    """Read the prior of the options, if any, on the released grid."""
    from geodp.table.prior import RECORDS, Prior

    path = options["prior"]
    if path is None:
        return None
    require_public(path, "--prior", options)
    source = options["prior_source"] or ""
    # A folder is an earlier release, whose card says how it was charged and on which grid.
    if path.is_dir():
        from geodp.io.verify.readback import read_release_table
        from geodp.release.inputs import describe_charge

        released, card = read_release_table(path)
        require_public_prior(options, card.budget)
        return Prior.of(grid, released, source or describe_charge(card.budget))
    require_public_prior(options)
    # A file has counts of people, whatever the inputs are: no persons, and no rows of points.
    prior_options = {
        **options,
        "inputs": (path,),
        "value": options["prior_value"] or options["value"],
        "person": None,
        "points": options["points"] and not options["prior_value"],
        **opening_of_public(options, "prior"),
    }
    prior_kind, kind = choose_reader(prior_options), choose_reader(options)
    if prior_kind.name == "points":
        raise UsageError(RECORDS)
    if prior_kind.name == "table":
        require_no_persons(path, prior_options, options["person"])
    # A prior says where people are likely to be, in any numbers, such as floor areas.
    if prior_kind.name == "table" and prior_options.get("raster_unit") is None:
        prior_options["raster_unit"] = 1
    try:
        cells = read(prior_options, grid, None)
    # Options of the inputs may not fit a prior in another format; that message is more helpful.
    except UsageError:
        if prior_kind is kind:
            raise
        raise UsageError(
            f"The prior is read with the options of the inputs, which are {kind.kind}, and these "
            f"do not say how it is read as {prior_kind.kind}; give a prior of the inputs' form, or "
            "the folder of a release (--prior, prior=).",
            code="prior-form-differs",
        ) from None
    return Prior.of(grid, cells, source)


def default_outside(options: Mapping[str, Any]) -> str:
    """Return the default for rows outside: crop with map bounds; otherwise they are errors."""
    if str(options["spec"]).partition(":")[0] in CELLS:
        return "error"
    return "drop" if options["primary"] else "crop" if options["bounds"] else "error"


def require_addresses() -> None:
    """Raise UsageError if the process has too little address space (``ulimit -v``) to start.

    BLAS and LLVM reserve more than they use, and one of them retries for ever.
    """
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY and limit < ADDRESSES:
        raise UsageError(
            f"The process is limited to {limit >> 20} MiB of address space (ulimit -v), but the "
            f"libraries reserve {ADDRESSES >> 20} MiB and more, most of which they never use. "
            "Raise that limit; to limit the memory in use, take --memory or a container.",
            code="address-space-short",
        )
