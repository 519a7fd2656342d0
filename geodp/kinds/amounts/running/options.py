"""Options of commands that read amounts, and the reader and scale that they describe."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from geodp.cli.help import hide, with_options
from geodp.cli.options import StrictCommand
from geodp.cli.readers import ReadingCommand, make_reader, reader_options
from geodp.errors import UsageError
from geodp.options.option import Option

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

    def list_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the options, those of other readers hidden: :func:`check_reading` refuses them."""
        params = hide(super().list_params(ctx), OF_OTHERS)
        return [_describe_person(one) if one.name == "person" else one for one in params]


def _describe_person(parameter: click.Parameter) -> click.Parameter:
    """Return the option for persons with help on the limits that it has here."""
    described = copy(parameter)
    if isinstance(described, click.Option):
        described.help = PERSON
    return described


PRIOR_READING = (
    *("points", "x", "y", "points_crs", "allow_ballpark", "column", "by", "labels"),
    *("encoding", "delimiter", "decimal", "layer", "header_row", "first_row", "last_row"),
    *("member", "code"),
)
"""Options of readers with which records are read, and a file of their prior with them."""


time_option = with_options(
    Option("--time", "Period of a series whose folder is RELEASE, such as 2020.", metavar="TIME")
)
label_option = with_options(
    Option(
        "--label",
        "Of records with this label alone, such as sex=f; of several labels of one attribute "
        "together; repeatable.",
        name="labels_of",
        many=True,
        metavar="NAME=LABEL",
    )
)


class PriorCommand(StrictCommand):
    """A command that reads the prior of a release again, with the options of its publication."""

    def list_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the command's own options, with those of readers after those of the prior."""
        params = super().list_params(ctx)
        at = next(i for i, one in enumerate(params) if one.name == "prior_value") + 1
        reading = [one for one in reader_options() if one.name in PRIOR_READING]
        return [*params[:at], *reading, *params[at:]]


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
