"""Commands of flows that read trips."""

from __future__ import annotations

import click

from geodp.cli.help import hide, make_option
from geodp.cli.readers import InputCommand

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
