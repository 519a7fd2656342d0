"""Options of readers: made from the fields of ``READERS``, and a reader made from what was given.

Readers are looked for when a command that reads is asked for its options, not before.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from geodp.cli.help import ALL, HELP_ALL, GroupedOption, group_options
from geodp.cli.inputs import (
    CELLS,
    GRIDS,
    NEEDS,
    is_input,
    open_labels,
    opening_of_public,
    options_of_grid,
    read_named,
)
from geodp.cli.options import GridCommand
from geodp.cli.running import report_progress
from geodp.errors import PluginWarning, UsageError, printable

if TYPE_CHECKING:
    from geodp.grid.grid import Grid
    from geodp.io.read.reader import Asked, Reader
    from geodp.io.read.reader import Option as Field
    from geodp.privacy.key import NoiseKey
    from geodp.table.counts import CountTable
    from geodp.table.prior import Prior


FLAG = re.compile("--[a-z][a-z0-9-]*")
"""What others may ask for."""


LABELS = "labels"
"""The option of readers that the grid has, too: labels are a part of the public domain."""

ADDRESSES = 5 << 28
"""Bytes of addresses below which libraries that are loaded fail, or try again for ever."""


class ReadingCommand(GridCommand):
    """A command that reads confidential inputs: beside its own options it has those of readers."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Its own, those of readers after those of the grid."""
        own = super().get_params(ctx)
        grid = next(i for i, one in enumerate(own) if one.name == LABELS) + 1
        readers = [one for one in reader_options() if one.name != LABELS]
        return [*own[:grid], *readers, *own[grid:], HELP_ALL]

    def invoke(self, ctx: click.Context) -> object:
        """Refuse to begin what could not end, and fetch what is at URLs for as long as it runs."""
        require_addresses()
        with _fetched(ctx):
            return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a list of options for every group that has any: of everyday ones, or of all."""
        asks_for_help = self.get_help_option(ctx)
        own = [one for one in self.get_params(ctx) if one is not asks_for_help]
        groups = group_options(own)
        groups["Output"] += [asks_for_help] if asks_for_help is not None else []
        for title, params in groups.items():
            shown = [one for one in params if ctx.meta.get(ALL) or _is_everyday(one)]
            rows = [row for one in shown if (row := one.get_help_record(ctx)) is not None]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def _is_everyday(parameter: click.Parameter) -> bool:
    return parameter.everyday if isinstance(parameter, GroupedOption) else True


@contextmanager
def _fetched(context: click.Context) -> Iterator[None]:
    """Put fetched files in the places of URLs among the inputs; they go with the block."""
    options = context.params
    if not any(isinstance(one, str) for one in options["inputs"]):
        yield
        return
    from geodp.io.read.rows.forms.url import fetch_urls
    from geodp.io.read.rows.scratch import require_scratch

    if options.get("cluster") is not None or options.get("workers") is not None:
        raise UsageError(
            "Workers of a cluster read no URLs: fetch the file, and give its path.",
            code="cluster-reads-no-urls",
        )
    require_scratch(options["scratch"])
    with ExitStack() as held:
        with report_progress(lines=not options.get("pad_time")):
            fetched = held.enter_context(fetch_urls(options["inputs"], options["scratch"]))
        options["inputs"] = fetched
        yield


@cache
def _readers() -> Mapping[str, type[Reader]]:
    """Readers whose options the command line has: geodp's own, then those of others.

    One that asks for what it cannot have is left out, and a sentence says so.
    """
    from geodp.cli import geodp
    from geodp.io.read import READERS, own

    found = dict(own())
    others = sorted(READERS.keys() - found.keys())
    if not others:
        return found
    taken: dict[str, Field | None] = {"help": None}
    for command in _reading_commands(geodp):
        for one in command.params:
            taken |= dict.fromkeys(
                [str(one.name), *(opt.lstrip("-").replace("-", "_") for opt in one.opts)]
            )
    for reader in found.values():
        taken |= _options_of(reader)
    for name in others:
        reader = READERS[name]
        if flag := _refused_flag(reader, taken):
            warnings.warn(
                f"The reader {name} of {printable(reader.__module__)} asks for {printable(flag)}, "
                "which is taken or no option. It is left out.",
                PluginWarning,
                stacklevel=2,
            )
        else:
            found[name] = reader
            taken |= _options_of(reader)
    return found


def _reading_commands(group: click.Group) -> Iterator[ReadingCommand]:
    """Yield the commands of a group and of those in it that read confidential inputs."""
    for command in group.commands.values():
        if isinstance(command, ReadingCommand):
            yield command
        elif isinstance(command, click.Group):
            yield from _reading_commands(command)


def _options_of(reader: type[Reader]) -> dict[str, Field | None]:
    """Names of all options of a reader; None for what no other reader may share."""
    found: dict[str, Field | None] = {a.option.name: a.option for a in reader.asks()}
    return found | ({_flag_of(reader).name: None} if reader.flag else {})


def _refused_flag(reader: type[Reader], taken: Mapping[str, Field | None]) -> str:
    """Return the first flag that a reader asks for and cannot have; empty where there is none."""
    asking = _flag_of(reader)
    if reader.flag and (asking.name in taken or not _works(asking, False)):
        return asking.flag
    for asked in reader.asks():
        option = asked.option
        if taken.get(option.name, option) != option or not _works(option, asked.default):
            return str(option.flag) or "--"
    return ""


def _works(option: Field, default: Any) -> bool:
    """Whether an option of others can be made, shown and left at its default."""
    try:
        made, context = _option(option, default), click.Context(click.Command(""))
        made.get_help_record(context)
        made.type_cast_value(context, made.get_default(context))
        return FLAG.fullmatch(option.flag) is not None
    except Exception:
        return False


@cache
def reader_options() -> tuple[click.Parameter, ...]:
    """Return every option of every reader, once; those that all readers have come last."""
    from geodp.io.read.reader import Reader

    asked: dict[str, tuple[Field, Any]] = {}
    for reader in _readers().values():
        if reader.flag:
            asked[_flag_of(reader).name] = (_flag_of(reader), False)
        for one in _own(reader):
            asked.setdefault(one.option.name, (one.option, one.default))
    asked |= {one.option.name: (one.option, one.default) for one in Reader.asks()}
    return tuple(_option(field, default) for field, default in asked.values())


def _option(field: Field, default: Any) -> GroupedOption:
    """Return the option of the command line; a reader that requires it says so when it is made."""
    repeated = field.many or field.pairs
    more: dict[str, Any] = {}
    if field.type is bool:
        more["is_flag"] = True
    elif isinstance(field.type, tuple):
        more["type"] = click.Choice(field.type)
    else:
        more["type"] = click.Path(path_type=Path) if field.type is Path else field.type
    return GroupedOption(
        [field.flag],
        group="Input",
        everyday=field.everyday,
        help=field.help or None,
        multiple=repeated,
        default=None if repeated else default,
        show_default=field.show,
        **more,
    )


@cache
def _flag_of(reader: type[Reader]) -> Field:
    """Return the flag that asks for a reader."""
    from geodp.io.read.reader import Option as Field

    return Field(reader.flag, f"--{reader.name}", type=bool, everyday=True)


@cache
def _own(reader: type[Reader]) -> list[Asked]:
    """Return what a reader asks for beside what all of them do."""
    from geodp.io.read.reader import Reader

    common = {asked.option.name for asked in Reader.asks()}
    return [asked for asked in reader.asks() if asked.option.name not in common]


def _flags(reader: type[Reader]) -> dict[str, str]:
    """Options of a reader that not every reader has: names to flags."""
    asking = _flag_of(reader)
    asks_for = {asking.name: asking.flag} if reader.flag else {}
    return asks_for | {asked.option.name: asked.option.flag for asked in _own(reader)}


def choose_reader(options: Mapping[str, Any]) -> type[Reader]:
    """Choose the reader that the options and the names of the inputs ask for."""
    from geodp.io.read import choose
    from geodp.io.read.reader import Call

    return choose(
        Call(tuple(map(Path, options["inputs"])), str(options["spec"]), options), _readers()
    )


def check_applicable(context: click.Context) -> None:
    """Raise UsageError for options that would change nothing in this call, or are ill-formed."""
    options = context.params
    names = {str(o.name): o.opts[-1] for o in context.command.get_params(context)}
    sources = (ParameterSource.COMMANDLINE, ParameterSource.DEFAULT_MAP)
    given = [name for name in names if context.get_parameter_source(name) in sources]
    chosen = choose_reader(options)
    grid = str(options["spec"]).partition(":")[0]
    kinds = {
        reader.name: [name for name in _flags(reader) if name != LABELS]
        for reader in _readers().values()
    }
    grids = GRIDS if options["spec"] is None else {**GRIDS, grid: [*options_of_grid(grid)]}
    for table, key, words in (
        (kinds, chosen.name, chosen.kind),
        (grids, grid, f"{grid}: grids"),
    ):
        some = {name for allowed in table.values() for name in allowed}
        extra = [name for name in given if name in some and name not in table.get(key, some)]
        if extra:
            given_extra = ", ".join(names[name] for name in extra)
            if table is kinds and (other := _other_reader(extra)) is not None:
                flag = _flag_of(other).flag
                raise UsageError(
                    f"Not for {words}: {given_extra}. {flag} takes them, and reads {other.kind}.",
                    code="option-of-other-reader",
                )
            raise UsageError(
                f"Not for {words}: {given_extra}. "
                f"These take {', '.join(names[name] for name in table[key])}.",
                code="option-not-for-input",
            )
    needs = NEEDS | {a.option.name: a.needs for a in chosen.asks() if a.needs is not None}
    for name in given:
        if name in needs and options[needs[name]] in (None, False, ()):
            raise UsageError(
                f"{names[name]} goes with {names[needs[name]]} only.", code="option-needs-option"
            )
    for asked in chosen.asks():
        if asked.option.pairs:
            read_named(options[asked.option.name], asked.option.flag)


def _other_reader(extra: Sequence[str]) -> type[Reader] | None:
    """Return the reader with a flag that takes all these options; None where none does."""
    asked_for = [one for one in _readers().values() if one.flag]
    return next((one for one in asked_for if {*extra} <= {*_flags(one)}), None)


def read(options: Mapping[str, Any], grid: Grid, key: NoiseKey | None) -> CountTable:
    """Read the confidential table of the inputs on a public grid; see :func:`make_reader`."""
    return make_reader(options, grid, key).read(options["inputs"])


def make_reader(options: Mapping[str, Any], grid: Grid, key: NoiseKey | None) -> Reader:
    """Return the reader that the options ask for, on a public grid.

    ``key`` goes to readers of geodp's own only.
    """
    from geodp.io.read import own

    chosen = choose_reader(options)
    values = {asked.field: _type_of(asked, options[asked.option.name]) for asked in chosen.asks()}
    if "outside" in values:
        values["outside"] = values["outside"] or _ask_cropping(options)
    if values.get("labels"):
        values["labels"] = open_labels(options)
    if "secret" in chosen.__dataclass_fields__ and chosen in own().values():
        values["secret"] = key
    return chosen(grid=grid, **values)


def read_prior(options: Mapping[str, Any], grid: Grid) -> Prior | None:
    """Read the prior that the options name, if any, on the released grid."""
    from geodp.table.prior import Prior

    path = options["prior"]
    if path is None:
        return None
    if is_input(path, options["inputs"]):
        raise UsageError(
            "The prior is one of the inputs; a prior must not be made from them.",
            code="prior-is-input",
        )
    source = options["prior_source"] or ""
    if path.is_dir():
        from geodp.io.verify.readback import read_release_table
        from geodp.release.prior import describe_charge

        released, card = read_release_table(path)
        return Prior.of(grid, released, source or describe_charge(card.budget))
    value = options["prior_value"] or options["value"]
    given = {**options, "inputs": (path,), "value": value, **opening_of_public(options, "prior")}
    own, kind = choose_reader(given), choose_reader(options)
    try:
        cells = read(given, grid, None)
    except UsageError:
        if own is kind:
            raise
        raise UsageError(
            f"The prior is read with the options of the inputs, which are {kind.kind}, and these "
            f"do not say how it is read as {own.kind}; give a prior of the inputs' form, or the "
            "folder of a release (--prior, prior=).",
            code="prior-form-differs",
        ) from None
    return Prior.of(grid, cells, source)


def _type_of(asked: Asked, value: Any) -> Any:
    """Return what a field takes."""
    option = asked.option
    if option.pairs:
        value = read_named(value, option.flag)
    if asked.convert is not None:
        value = asked.convert(value)
    if asked.required and value is None:
        raise UsageError(f"Add {option.flag}: {option.help}", code="option-missing")
    return value


def _ask_cropping(options: Mapping[str, Any]) -> str:
    """Cropping is what bounds of a map are for; elsewhere a cell outside is a mistake."""
    if str(options["spec"]).partition(":")[0] in CELLS:
        return "error"
    return "drop" if options["primary"] else "crop" if options["bounds"] else "error"


def require_addresses() -> None:
    """Raise UsageError where the process may have too few addresses (``ulimit -v``) to start.

    BLAS and LLVM ask for more than they use, and one of them asks again without end.
    """
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    least = resource.getrlimit(resource.RLIMIT_AS)[0]
    if least != resource.RLIM_INFINITY and least < ADDRESSES:
        raise UsageError(
            f"The process may have {least >> 20} MiB of addresses (ulimit -v), and the libraries "
            f"ask for {ADDRESSES >> 20} MiB and more, most of which they never use. Raise that "
            "limit; --memory, or a limit of a container, keeps what is used small.",
            code="address-space-short",
        )
