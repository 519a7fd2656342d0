"""Options of commands that read amounts: of the reader, scales, priors and opened releases."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from geodp.cli.help import hide
from geodp.cli.readers import (
    ReadingCommand,
    make_reader,
    read_prior,
    reader_options,
    require_public_prior,
)
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

    points = make_reader({**options, "points": True}, grid, request.key)
    names = ("amount", "clip", "unit_of_amount", "step", "contribution", "missing")
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


def read_amounts_prior(options: dict[str, Any], grid: Grid) -> tuple[Any, str | None]:
    """Read the prior of the options, if any, and return it with the source that it still needs."""
    path, source = options["prior"], options["prior_source"]
    if path is None:
        return None, source
    # An earlier release of amounts has a prior for every stream.
    if path.is_dir():
        from geodp.io.verify.verify import verify
        from geodp.release.opening import open_written

        if options["prior_value"]:
            raise UsageError(
                "--prior-value is a column of a file, and the prior is a release: leave it out.",
                code="amounts-prior-value-unused",
            )
        # Its charge vouches for what was released, and not for what was changed afterwards.
        if failed := [check.name for check in verify(path) if not check.ok]:
            raise UsageError(
                f"The prior {path} is no consistent release ({', '.join(failed)}): geodp verify "
                "says what differs; take it as it was published.",
                code="amounts-prior-inconsistent",
            )
        release: Any = open_written(path)
        # A map of people states its charge itself, and a release of amounts in its index.
        stated = release.index.budget if hasattr(release, "index") else release.charge
        require_public_prior(options, stated)
        return release, source
    # A file has counts of people, and nothing of what selects records.
    return read_prior({**options, "where": ()}, grid), None
