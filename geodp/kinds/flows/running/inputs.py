"""Grids of zones, readers of trips, priors and releases, from the options of flows.

Commands that read trips have all options of rows and files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodp.cli.help import hide, make_option
from geodp.cli.inputs import (
    grid_of,
    open_labels,
    opening_of_public,
    read_attributes,
    require_public,
)
from geodp.cli.readers import (
    InputCommand,
    default_outside,
    read_fields,
    require_no_persons,
    require_public_prior,
)
from geodp.errors import UsageError

if TYPE_CHECKING:
    from geodp.grid.grid import Grid
    from geodp.kinds.flows.flows import Flows
    from geodp.kinds.flows.prior_flows import FlowsPrior
    from geodp.release.request import Request

NOT_COUNTED: dict[str, Any] = {
    "missing": (),
    "flags": (),
    "round": None,
    "raster_unit": None,
    "duplicates": "error",
}
"""Values of shared options on counts, where rows are not counted."""


def read_measured(options: Mapping[str, Any]) -> dict[str, Any]:
    """Read the fields of FlowsOptions; UsageError for levels of another form."""
    from geodp.kinds.flows.streams import LEVELS_FORM

    levels: dict[int, str] = {}
    for text in options["levels"]:
        side, equals, share = (part.strip() for part in text.partition("="))
        if not equals or not side.isdecimal() or int(side) in levels:
            raise UsageError(LEVELS_FORM)
        levels[int(side)] = share
    names = ("expected_trips", "concentrated", "label_share")
    return {"levels": levels or None, **{name: options[name] for name in names}}


def read_by(options: Mapping[str, Any]) -> dict[str, str]:
    """Return the columns of the attributes of ``--by``; an empty one has the attribute's name."""
    from geodp.kinds.flows.reading.labels import split_names

    texts = split_names(options["attributes"])
    parts = [text.partition("=") for text in texts]
    return {name.strip(): column.strip() for name, _, column in parts}


def split_grid(options: Mapping[str, Any]) -> tuple[Grid, dict[str, tuple[str, ...]]]:
    """Return the grid of zones, and the labels of ``--labels`` by attribute."""
    for path in open_labels(options).values():
        require_public(Path(path), "--labels", options)
    labels = {one.name: one.labels for one in read_attributes(options)}
    grid = grid_of({**options, "labels": ()})
    if options["other"] is not None:
        from geodp.kinds.flows.reading.reader import find_other

        find_other(grid, options["other"])
    return grid, labels


def read_prior(options: Mapping[str, Any], grid: Grid) -> FlowsPrior | None:
    """Read and declare the prior of the options, if any, of a release on a grid of zones."""
    from geodp.io.read.rows.span import OPENING
    from geodp.kinds.flows.publish import declare_prior
    from geodp.kinds.flows.reading.options import RowOptions
    from geodp.kinds.flows.reading.trips import Trips
    from geodp.kinds.flows.zones import Zones
    from geodp.table.prior import RECORDS

    path, source = options["prior"], options["prior_source"]
    if path is None:
        return None
    require_public(path, "--prior", options)
    # An evaluation writes no release that could have a prior.
    zones, left_out = Zones.of(grid), bool(options.get("leave_out_prior"))
    if path.is_dir():
        release = open_flows(path)
        require_public_prior(options, release.index.budget)
        return declare_prior(zones, release, source, left_out=left_out)
    require_public_prior(options)
    ends = [_place(options[name]) for name in ("origins", "destinations")]
    if None in ends:
        raise UsageError(
            "A file of a prior has one row for each flow: name the columns of both ends (--from, "
            "--to), or give the folder of a release of flows.",
            code="flows-prior-places",
        )
    value = options["prior_value"] or options["value"]
    # Written as the inputs are, but opened, and selected, as a file of its own.
    shared = {**options, "where": (), **dict.fromkeys(OPENING)}
    shared |= opening_of_public(options, "prior")
    counts = () if value is None else (value,)
    require_no_persons(path, {**shared, "value": counts}, options["person"])
    if value is None:
        raise UsageError(RECORDS)
    # A prior says where trips are likely, in any numbers.
    if shared["raster_unit"] is None:
        shared["raster_unit"] = 1
    trips = Trips.of(
        grid,
        origin=ends[0],
        destination=ends[1],
        value=value,
        other=options["other"],
        **read_fields(RowOptions.option_fields(), shared),
    )
    return declare_prior(zones, trips.read([path]), source, left_out=left_out)


def make_trips_reader(
    options: dict[str, Any], grid: Grid, request: Request, labels: Mapping[str, Sequence[str]]
) -> Any:
    """Make the reader of trips, stays or pings from the options."""
    from geodp.kinds.flows.reading.options import RowOptions

    form = _find_form(options)
    common = {name: options[name] for name in COMMON} | {
        **read_fields(RowOptions.option_fields(), options),
        "grid": grid,
        "by": read_by(options),
        "labels": labels,
        "key": request.key,
    }
    # Places outside are counted in a zone of their own, or treated as in all tables.
    if options["other"] is None:
        common["outside"] = common["outside"] or default_outside(options)
    rules = {name: options[name] for name in RULES[form]}
    # Imported when a command reads rows of this form.
    if form == "pings":
        from geodp.kinds.flows.reading.stays import Pings

        return Pings.of(place=_place(options["pings"]), **rules, **common)
    if form == "stays":
        from geodp.kinds.flows.reading.stays import Stays

        return Stays.of(place=_place(options["stays"]), **rules, **common)
    from geodp.kinds.flows.reading.trips import Trips
    from geodp.kinds.flows.reading.units import TRIPS_MISSING

    # Readers of stays and pings refuse it themselves.
    if options["person"] is not None and options["trips"] is None:
        raise UsageError(TRIPS_MISSING)
    ends = [_place(options[name]) for name in ("origins", "destinations")]
    if options["person"] is None:
        # Nothing is bounded by unit: the operator states the contribution of one.
        common["unit"] = None
    places = {"origin": ends[0], "destination": ends[1]}
    return Trips.of(**places, value=options["value"], **rules, **common)


COMMON = ("person", "trips", "per_pair", "unit", "time", "time_zone", "other")
"""Options that readers of all forms have under the same name."""

RULES = {
    "trips": ("weight", "max_weight", "raked_to"),
    "stays": ("end", "gap"),
    "pings": ("radius", "dwell", "gap", "speed", "accuracy", "largest_accuracy"),
}
"""Forms of rows, and the options of rules that are for these alone."""


def _find_form(options: Mapping[str, Any]) -> str:
    """Return the form of the rows."""
    return next((one for one in ("stays", "pings") if options[one] is not None), "trips")


def _place(text: str | None) -> str | tuple[str, str] | None:
    """Return one column, or two that a comma separates."""
    if text is None or "," not in text:
        return text
    first, _, second = text.partition(",")
    return first.strip(), second.strip()


def open_flows(path: Path) -> Flows:
    """Open a written release of flows; UsageError for another one."""
    from geodp.kinds.flows.flows import Flows
    from geodp.release.opening import open_written

    release = open_written(path)
    if not isinstance(release, Flows):
        raise UsageError(
            "This is no release of flows; geodp estimate and geodp report know others.",
            code="flows-release-expected",
        )
    return release


COUNTED = ("missing", "flags", "round", "raster_unit", "duplicates")
"""Shared options on how counts are read, which rows of persons do not have."""


NEVER = ("pairs", "order", "attribute_order")
"""Options of grids that flows refuse: their pairs have an order of their own."""


class TripsCommand(InputCommand):
    """A command that reads trips, with the options of rows and files that all readers share."""

    counted = True
    """Whether rows may be counted."""

    def list_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the command's own options, with the shared ones after ``--outside``."""
        from geodp.kinds.flows.reading.options import RowOptions

        params = super().list_params(ctx)
        after = next(i for i, one in enumerate(params) if one.name == "outside") + 1
        shared = [
            make_option(one)
            for one in RowOptions.option_fields()
            if one.name not in ("outside", *(() if self.counted else COUNTED))
        ]
        return hide([*params[:after], *shared, *params[after:]], NEVER)


class PersonsCommand(TripsCommand):
    """A command that reads trips of persons alone."""

    counted = False
