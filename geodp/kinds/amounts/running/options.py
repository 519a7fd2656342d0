"""Options of commands that read amounts, and the reader and scale that they describe."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from geodp.cli.help import add_options, hide, option
from geodp.cli.options import StrictCommand, weight_options
from geodp.cli.readers import ReadingCommand, make_reader, reader_options
from geodp.errors import UsageError

if TYPE_CHECKING:
    from geodp.grid.grid import Grid
    from geodp.kinds.amounts.records import AmountRecords
    from geodp.kinds.amounts.streams import AmountAxes
    from geodp.release.request import Request

OTHER_LIMITS = ("cells", "per_cell", "truncation")
"""Options of points that bound counts of cells, and no records of amounts."""

OF_OTHERS = (
    *OTHER_LIMITS, "band", "round", "anchor", "flags", "duplicates",
    "suppressed", "other",
)  # fmt: skip
"""Options of readers that do not read records of amounts: help leaves them out."""

BEYOND = (
    "How many records lie beyond the clip is told in {} alone, as records_beyond_clip, for the "
    "operator only."
)
"""Sentence of every run, whatever the data are; with the file of the operator's record."""

PERSON = "Column of person ids: of each person, the first --contribution records count."
"""Help for an option whose limits are others here."""


class RecordsCommand(ReadingCommand):
    """A command that reads records of amounts, whose help has the options of these alone."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the options, those of other readers hidden: :func:`check_reading` refuses them."""
        params = hide(super().get_params(ctx), OF_OTHERS)
        return [_describe_person(one) if one.name == "person" else one for one in params]


def _describe_person(parameter: click.Parameter) -> click.Parameter:
    """Return the option for persons with help on the limits that it has here."""
    described = copy(parameter)
    if isinstance(described, click.Option):
        described.help = PERSON
    return described


method_option = option(
    "--method",
    group="Privacy",
    help="Method of all streams: pyramid, with settings after a colon.  [default: pyramid]",
)
contribution_option = option(
    "--contribution",
    group="Privacy",
    everyday=True,
    type=click.IntRange(1),
    help="Most records of one person. With --person, the first ones count; otherwise you assert "
    "it.",
)
amount_option = option(
    "--amount",
    group="Input",
    everyday=True,
    required=True,
    metavar="COLUMN",
    help="Column of amounts: plain numbers, all in one unit.",
)
step_option = option(
    "--step",
    group="Privacy",
    default="1",
    show_default=True,
    help="Amounts are counted exactly on multiples of it, in the unit of the amount.",
)
unit_of_amount_option = option(
    "--unit-of-amount",
    group="Input",
    everyday=True,
    required=True,
    metavar="TEXT",
    help='What one amount is counted in, such as "10,000 yen" or EUR; it is published.',
)
clip_option = option(
    "--clip",
    group="Privacy",
    everyday=True,
    required=True,
    nargs=2,
    metavar="LOWER UPPER",
    help="Smallest and largest amount, public and chosen without the data (see geodp amounts "
    "plan): smaller and larger ones count as these.",
)
time_option = option(
    "--time",
    group="Options",
    metavar="TIME",
    help="Period of a series whose folder is RELEASE, such as 2020.",
)


PRIOR_READING = (
    *("points", "x", "y", "points_crs", "allow_ballpark", "column", "by", "labels"),
    *("encoding", "delimiter", "decimal", "layer", "header_row", "first_row", "last_row"),
    *("member", "code"),
)
"""Options of readers with which records are read, and a file of their prior with them."""


label_option = option(
    "--label",
    "labels_of",
    group="Options",
    multiple=True,
    metavar="NAME=LABEL",
    help="Of records with this label alone, such as sex=f; of several labels of one attribute "
    "together; repeatable.",
)


class PriorCommand(StrictCommand):
    """A command that reads the prior of a release again, with the options of its publication."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the command's own options, with those of readers after those of the prior."""
        params = super().get_params(ctx)
        at = next(i for i, one in enumerate(params) if one.name == "prior_value") + 1
        reading = [one for one in reader_options() if one.name in PRIOR_READING]
        return [*params[:at], *reading, *params[at:]]


release_options = add_options(
    amount_option,
    unit_of_amount_option,
    clip_option,
    step_option,
    option(
        "--classes",
        group="Privacy",
        everyday=True,
        metavar="EDGE,EDGE...",
        help="Public edges of classes, for medians and other quantiles; the ends of the clip are "
        "added.",
    ),
    weight_options,
    option(
        "--no-means",
        group="Privacy",
        is_flag=True,
        help="Release classes only: each then has the whole budget.",
    ),
    option(
        "--share",
        group="Privacy",
        default="1/2",
        show_default=True,
        help="With --classes: the part of the budget for sums and means.",
    ),
    method_option,
    contribution_option,
)
"""Options of what is released of amounts, and with which method."""


def check_reading(context: click.Context, options: dict[str, Any]) -> None:
    """Raise UsageError for options of other readers, and for a share of what is not divided."""

    def is_typed(name: str | None) -> bool:
        return context.get_parameter_source(str(name)) is ParameterSource.COMMANDLINE

    other = [one for one in reader_options() if one.name in OF_OTHERS and is_typed(one.name)]
    if other:
        listed = ", ".join(one.opts[-1] for one in other)
        raise UsageError(f"Not for records of amounts: {listed}.", code="amounts-other-reader")
    alone = options.get("classes", "") is None or options.get("no_means")
    if alone and is_typed("share"):
        raise UsageError(
            "--share divides the budget between means and classes: leave it out where only one of "
            "them is released.",
            code="amounts-share-unused",
        )
    if len(options["value"]) > 1:
        raise UsageError(
            "Name one column of numbers of records (--value).", code="amounts-one-value"
        )


def make_records_reader(options: dict[str, Any], grid: Grid, request: Request) -> AmountRecords:
    """Make the reader of amounts from the options."""
    from geodp.io.read.points import Points
    from geodp.kinds.amounts.records import AmountRecords

    # Read as points, whose options are those of amounts but for the column of codes.
    points = make_reader({**options, "points": True, "code": None}, grid, request.key)
    names = ("amount", "clip", "unit_of_amount", "step", "contribution", "code", "missing")
    return AmountRecords.of(
        grid,
        **points.shared(Points),
        **{name: options[name] for name in (*names, "weight", "max_weight", "raked_to")},
        classes=split_amounts(options["classes"]),
        value=options["value"][0] if options["value"] else None,
        value_unit=options["raster_unit"],
    )


def read_axes(options: dict[str, Any], grid: Grid) -> AmountAxes:
    """Return the scale of the amounts, the edges of classes, and the grid."""
    from geodp.kinds.amounts.scale import Scale
    from geodp.kinds.amounts.streams import AmountAxes

    scale = Scale.of(options["clip"], options["step"], options["unit_of_amount"], options["amount"])
    edges = scale.read_edges(split_amounts(options["classes"]))
    return AmountAxes(scale, edges, grid, options["max_weight"] or 1)


def split_amounts(text: str | None) -> list[str]:
    """Return the amounts that commas separate; empty without any."""
    return [one for one in (text or "").split(",") if one.strip()]
