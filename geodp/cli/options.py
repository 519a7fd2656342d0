"""Options that several commands share: inputs, grid and output."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodp.cli.help import Command, add_options, json_option, option
from geodp.errors import UsageError

if TYPE_CHECKING:
    Param = click.ParamType[Any]
else:
    Param = click.ParamType  # not generic in the oldest supported Click


ORDERS = ("morton", "official")

EDGES = 4
"""Numbers of bounds: west, south, east, north."""


DEGREES = " degrees"
"""Suffix of bounds in degrees, whatever the grid's units."""


class BoundsType(Param):
    """Four numbers as a tuple of floats; bounds in degrees as a text; or the name of a public area.

    Numbers alone are in units of the grid's CRS, in degrees with the word ``degrees`` after them.
    """

    name = "W S E N [degrees]|NAME"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[float, ...] | str:
        """Convert a text or a list to four numbers, or return the name; fails for other lengths."""
        parts = value.replace(",", " ").split() if isinstance(value, str) else [*value]
        degrees = len(parts) > 1 and str(parts[-1]).lower() in UNITS
        try:
            numbers = tuple(map(float, parts[:-1] if degrees else parts))
        except ValueError:
            if isinstance(value, str) and not _is_number(parts[0]):
                return value
            numbers = ()
        if len(numbers) != EDGES:
            self.fail(
                "west south east north, in units of the grid's CRS or with the word degrees after "
                "them, or the name of a public area.",
                param,
                ctx,
            )
        if degrees:
            return " ".join(map(str, numbers)) + DEGREES
        return numbers


UNITS = ("degrees", "degree", "deg")
"""Words after bounds in degrees."""


def _split(word: str) -> list[str]:
    """Split a word at its commas."""
    return word.split(",")


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def join_bounds(args: list[str]) -> list[str]:
    """Join the numbers after ``--bounds``, and their unit, to one argument of a command line.

    Examples
    --------
    >>> join_bounds(["--bounds", "1", "2", "3", "4", "a.csv", "--bounds", "germany"])
    ['--bounds', '1 2 3 4', 'a.csv', '--bounds', 'germany']
    >>> join_bounds(["--bounds", "1,2,3,4", "degrees", "a.csv"])
    ['--bounds', '1,2,3,4 degrees', 'a.csv']
    """
    # Arguments after "--" are inputs, whatever they look like.
    end = args.index("--") if "--" in args else len(args)
    at = 0
    while "--bounds" in args[at:end]:
        at = args.index("--bounds", at, end) + 1
        count = edges = 0
        while edges < EDGES and at + count < end and all(map(_is_number, _split(args[at + count]))):
            edges += len(_split(args[at + count]))
            count += 1
        count += bool(count and at + count < end and args[at + count].lower() in UNITS)
        if count:
            args = [*args[:at], " ".join(args[at : at + count]), *args[at + count :]]
            end -= count - 1
    return args


class StrictCommand(click.Command):
    """A command that refuses a repeated option that takes one value.

    Click silently ignores all but the last.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments; UsageError for a repeated option."""
        if not ctx.resilient_parsing:
            # Click keeps only the last value of a repeated option, so the arguments are parsed once
            # more here.
            _, _, used = self.make_parser(ctx).parse_args(args=[*args])
            _require_once(self.get_params(ctx), Counter(one.name for one in used))
        return super().parse_args(ctx, args)


def _require_once(params: Sequence[click.Parameter], used: Counter[str | None]) -> None:
    for one in params:
        times = used[one.name]
        if times < 2 or not isinstance(one, click.Option) or one.multiple or one.is_flag:
            continue
        raise UsageError(
            f"{one.opts[-1]} is given {times} times; it takes one value.",
            code="option-repeated",
        )


class GridCommand(StrictCommand):
    """A command with grid options, whose --bounds is followed by four words or one name."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments, with four numbers after ``--bounds`` as one value."""
        return super().parse_args(ctx, join_bounds(args))


_GRID: tuple[Callable[[Any], Any], ...] = (
    option(
        "--bounds",
        group="Domain",
        everyday=True,
        type=BoundsType(),
        help="West south east north, along cell edges, in units of the grid's CRS; or in degrees, "
        "widened to whole cells, with the word degrees after them (5.1 52 5.2 52.1 degrees); or a "
        "public area by name: germany, bayern, 東京都 (countries in English, Länder, prefectures "
        "of Japan).",
    ),
    option(
        "--primary",
        group="Domain",
        multiple=True,
        help="JIS primary mesh of the domain; repeatable.",
    ),
    option(
        "--mask",
        group="Domain",
        everyday=True,
        type=click.Path(path_type=Path),
        help="File of the domain: codes, polygons or a raster; or land by name: land:world, "
        "land:europe, land:japan, with a buffer of 10 km, or of 5 km: land:japan:5km.",
    ),
    option(
        "--mask-source",
        group="Domain",
        help="Source of the mask, which the card quotes. By naming it you assert that the mask is "
        "public and not made from the inputs.",
    ),
    option(
        "--order",
        group="Domain",
        type=click.Choice(ORDERS),
        default="morton",
        show_default=True,
        help="Order of the cells. official: every published area of the code system (80, 10, 1 km "
        "for jis:, 100, 10, 1 km for inspire:) is a node of the tree, so that pyramid "
        "measures these areas.",
    ),
    option(
        "--regions",
        group="Domain",
        type=click.Path(path_type=Path),
        help="Public table of your own areas, instead of --order, with one row per cell: its "
        "code, then its regions from the finest level to the coarsest (cell, municipality, "
        "prefecture). The domain consists of these cells, and pyramid measures these areas.",
    ),
    option(
        "--regions-source",
        group="Domain",
        help="Source of the table of regions, which the card quotes. By naming it you assert that "
        "the table is public and not made from the inputs.",
    ),
    option(
        "--regions-columns",
        group="Domain",
        help="Columns of the table of --regions in this order, separated by commas. Default: all, "
        "in the order of the file.",
    ),
    option(
        "--units-source",
        group="Domain",
        help="Source of the table of --grid units:TABLE, which the card quotes. By naming it you "
        "assert that the table is public and not made from the inputs.",
    ),
    option(
        "--units-columns",
        group="Domain",
        help="Columns of the table of --grid units: from the finest level to the coarsest "
        "(block,tract,county), separated by commas. Default: all, in the order of the file; "
        "for a file of outlines, such as a Shapefile of tracts, the only column whose values "
        "are unique.",
    ),
    option(
        "--public-file",
        group="Domain",
        multiple=True,
        help="How to open a public file, with the options that INPUTS have: "
        "units.member=list.csv, regions.header-row=4, public-totals.layer=Sheet1, "
        "prior.last-row=90, labels.encoding=cp1252; repeatable.",
    ),
    option(
        "--attribute-order",
        group="Domain",
        help="Where the tree splits the attributes of --by: below the cells, above all areas, "
        "interleaved with the bits of places (morton), or under a level of areas, by its "
        "name. The method parts needs below.  [default: below]",
    ),
    option(
        "--crs",
        group="Domain",
        help="CRS of a regular grid (EPSG:3035), or datum of a jis: grid (EPSG:4612).",
    ),
    option(
        "--origin",
        group="Domain",
        nargs=2,
        type=float,
        help="X Y of the lower left corner of a regular grid.",
    ),
    option(
        "--cell",
        group="Domain",
        type=float,
        help="Cell size of a regular grid in units of its CRS.",
    ),
    option(
        "--domain-is-public",
        group="Domain",
        is_flag=True,
        help="Assert that the extent of like:INPUT may be public: it was not chosen by looking at "
        "where people are.",
    ),
    option(
        "--pairs",
        group="Domain",
        is_flag=True,
        help="Publish an origin-destination table on the grid.",
    ),
    option(
        "--labels",
        group="Domain",
        multiple=True,
        help="All labels of an attribute, from a public source and never from the inputs: "
        "NAME=LABEL,LABEL..., or a public list as NAME=FILE or FILE: one label per line, a "
        "table of attribute and label or of code and name, TOML or JSON; repeatable. Needs a "
        "--contribution, unless --person enforces one.",
    ),
)


def grid_options(command: Command, *, required: bool = True) -> Command:
    """Add the options of the public grid, which :mod:`geodp.cli.inputs` reads, to a command."""
    spec = option(
        "--grid",
        "spec",
        group="Domain",
        everyday=True,
        required=required,
        help="Public grid: jis:half, inspire:1km, cbs:100m, statpop:100m, national:3067:1km, "
        "quadkey:16, geohash:6, h3:7, s2:13, file:GRID.toml (your own), regular:ROWSxCOLS, "
        "like:RASTER.tif, units:TABLE.csv ...",
    )
    return add_options(spec, *_GRID)(command)


def grid_option_names() -> list[str]:
    """Return the names of the grid's options, except ``--grid`` itself."""
    # The options exist only as decorators; a throwaway command lists them.
    probe = click.command()(grid_options(lambda: None))
    return [str(one.name) for one in probe.params if one.name != "spec"]


def find_inputs(
    _context: click.Context, _parameter: click.Parameter, arguments: tuple[str, ...]
) -> tuple[Path | str, ...]:
    """Expand inputs to files, also from folders and patterns; URLs stay texts."""
    # The usual case needs no module for URLs and patterns, which keeps short runs quick.
    if all(os.path.isfile(path) for path in arguments):
        return tuple(map(Path, arguments))
    from geodp.io.read.rows.forms.locations import is_url, require_readable
    from geodp.io.read.rows.input_files import list_paths

    urls = [path for path in arguments if is_url(path)]
    for one in urls:
        require_readable(one)
    files = [path for path in arguments if path not in urls]
    return (*(Path(path) for path in (list_paths(files) if files else ())), *urls)


inputs = click.argument("inputs", nargs=-1, required=True, type=click.Path(), callback=find_inputs)
output_folder = option(
    "--output",
    group="Output",
    everyday=True,
    required=True,
    type=click.Path(path_type=Path),
    help="New folder for the release.",
)
pad_time_option = option(
    "--pad-time",
    group="Run",
    type=click.FloatRange(0),
    default=0.0,
    help="Minimum duration of the run in seconds, since its own duration depends on the data; "
    "nothing is printed earlier. Not with --profile.",
)
run_options = add_options(
    pad_time_option,
    output_folder,
    option(
        "--name",
        group="Output",
        default="population",
        show_default=True,
        help="Name of the column of counts and of the files.",
    ),
)
"""Options of a publishing run, apart from its request."""


folder_options = add_options(
    pad_time_option,
    output_folder,
    option(
        "--overwrite",
        group="Output",
        everyday=True,
        is_flag=True,
        help="Replace an earlier release.",
    ),
    option(
        "--resume",
        group="Run",
        is_flag=True,
        help="Complete an interrupted run of the same command from what it was charged for; "
        "nothing is read, drawn or charged.",
    ),
    json_option,
)
"""Options of a release of several tables in one folder, charged once."""


weight_options = add_options(
    option(
        "--weight",
        group="Input",
        metavar="COLUMN",
        help="Column of weights of a survey: a record counts as so many. The guarantee takes a "
        "weight as it is given.",
    ),
    option(
        "--max-weight",
        group="Privacy",
        type=click.IntRange(2),
        help="With --weight: the largest weight, public and chosen without the data; larger ones "
        "count as this.",
    ),
    option(
        "--raked-to",
        group="Input",
        metavar="TEXT",
        help="With --weight: to which totals of the same data the weights were raked. They are "
        "invariants outside the guarantee, and stand on the card.",
    ),
)
"""Options of weights, which :mod:`geodp.io.read.rows.decimals` describes."""


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


memory_option = click.option(
    "--memory",
    help="Memory limit for the release's data, such as 512MiB, in addition to about 320 MB of "
    "libraries; a release that needs more is refused.  [default: none]",
)


evaluation_options = add_options(
    option(
        "--key-file",
        group="Privacy",
        type=click.Path(path_type=Path),
        help="File of a stored noise key, which makes the result reproducible.",
    ),
    option(
        "--public-input",
        group="Input",
        everyday=True,
        is_flag=True,
        help="Assert that the inputs are public.",
    ),
    option(
        "--output",
        group="Output",
        everyday=True,
        type=click.Path(path_type=Path),
        help="JSON file to write; confidential, with permissions 0600.",
    ),
)
"""Options of a command that measures errors on confidential inputs."""
