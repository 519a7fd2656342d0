"""Options of the commands of flows."""

from __future__ import annotations

from pathlib import Path

import click

from geodp.cli.help import add_options, hide, option
from geodp.cli.options import weight_options
from geodp.cli.readers import InputCommand, make_option
from geodp.cli.request_options import prior_options as vouching_options

COUNTED = ("missing", "flags", "round", "raster_unit", "duplicates")
"""Shared options on how counts are read, which rows of persons do not have."""


NEVER = ("pairs", "order", "attribute_order")
"""Options of grids that flows refuse: their pairs have an order of their own."""


class TripsCommand(InputCommand):
    """A command that reads trips, with the options of rows and files that all readers share."""

    counted = True
    """Whether rows may be counted."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the command's own options, with the shared ones after ``--outside``."""
        from geodp.kinds.flows.reading.options import RowOptions

        params = super().get_params(ctx)
        after = next(i for i, one in enumerate(params) if one.name == "outside") + 1
        shared = [
            make_option(one.option, one.default)
            for one in RowOptions.option_fields()
            if one.option.name not in ("outside", *(() if self.counted else COUNTED))
        ]
        return hide([*params[:after], *shared, *params[after:]], NEVER)


class PersonsCommand(TripsCommand):
    """A command that reads trips of persons alone."""

    counted = False


UNITS = ("person", "person-day", "person-week", "person-month")
"""Values of the library, repeated so that ``--help`` imports nothing heavy."""

level_option = option(
    "--level",
    group="Privacy",
    multiple=True,
    metavar="SIDE=SHARE",
    help="Side of the blocks whose pairs are measured, in zones and a power of two, and their "
    "share of the budget: 4=2/5; repeatable. Both maps of ends share the rest.  [default: by the "
    "trips of a person for each unit of epsilon]",
)
label_share_option = option(
    "--label-share",
    group="Privacy",
    metavar="SHARE",
    help="Share of the budget for what is measured by label (--by).  [default: 3/20]",
)
by_option = option(
    "--by",
    "attributes",
    group="Input",
    everyday=True,
    metavar="NAMES",
    help="Attributes by which trips are published, separated by commas: hour,mode; a trip has one "
    "label of each, in a column of this name, or of another one: mode=COLUMN. hour and daytype "
    "(weekday, weekend) are made from --time where it is given; of pings and stays they are those "
    "of the departure. Other labels are listed by --labels; of stays a trip has them from the stay "
    "at which it ends, and of pings from the last ping before it.",
)
method_option = option(
    "--method",
    group="Privacy",
    help="Method of both maps of ends: pyramid, with settings after a colon.  [default: pyramid]",
)
leave_out_option = option(
    "--leave-out-prior",
    group="Output",
    is_flag=True,
    help="Leave the prior, which has no noise, out of the public files. Errors and intervals then "
    "need it again (geodp flows estimate --prior).",
)

prior_options = add_options(
    option(
        "--prior",
        group="Input",
        type=click.Path(path_type=Path),
        help="Flows that are expected: the folder of an earlier release of flows, or a public file "
        "of flows with the columns of --from and --to, and of counts (--prior-value). The "
        "measurements stay the same; estimates use it as far as the noisy pairs show that it "
        "can be trusted. The release contains it, unless it is left out (--leave-out-prior).",
    ),
    *vouching_options,
    option(
        "--prior-value",
        group="Input",
        metavar="COLUMN",
        help="Column of counts in the file of the prior, which has no persons.  [default: --value]",
    ),
)
"""Options of a prior; those of other releases read another kind of file."""

trips_option = option(
    "--trips",
    group="Privacy",
    everyday=True,
    type=click.IntRange(1),
    help="Most trips that are kept of a person, chosen by a hash of the person's own trips. The "
    "noise grows with it.",
)

_RULES = (
    option(
        "--radius",
        group="Input",
        type=float,
        metavar="METRES",
        help="Distance from the first ping of a stay within which all others are.  [default: 200]",
    ),
    option(
        "--dwell",
        group="Input",
        metavar="DURATION",
        help="Least duration of a stay, such as 90s, 10min or 1h.  [default: 10min]",
    ),
    option(
        "--gap",
        group="Input",
        metavar="DURATION",
        help="Longest time without a ping that a stay or a trip may extend over: several times "
        "the interval at which the devices record, which is public. Where they record less often, "
        "most trips are lost; --check counts them for the operator, but must not choose the gap. "
        "Of stays, the longest time from one to the next with a trip.  [default: 2h for pings, "
        "none for stays]",
    ),
    option(
        "--speed",
        group="Input",
        type=float,
        metavar="KM/H",
        help="Speed above which a step from ping to ping is taken for an error: no stay or trip "
        "extends over it.  [default: 1000]",
    ),
    option(
        "--accuracy",
        group="Input",
        metavar="COLUMN",
        help="Column of accuracy radii of pings, in metres.",
    ),
    option(
        "--largest-accuracy",
        group="Input",
        type=float,
        metavar="METRES",
        help="Leave out pings with a larger accuracy radius.  [default: --radius]",
    ),
)
"""Options of the rules by which pings and stays become trips."""

simulations_option = option(
    "--simulations",
    group="Options",
    type=click.IntRange(20),
    default=40,
    show_default=True,
    help="Releases that are simulated from this one; more give steadier intervals.",
)

other_option = option(
    "--other",
    group="Input",
    metavar="NAME",
    help="Count trips from and to all other places in a zone of this name, which is added to areal "
    "units and to cells of H3 or S2; without it they are refused, or left out (--outside).",
)

_PLACES = (
    option(
        "--from",
        "origins",
        group="Input",
        everyday=True,
        metavar="COLUMN",
        help="Column of the codes of origins, or of point geometries (GeoPackage, GeoParquet); or "
        "two columns with a comma: latitude and longitude (y,x), or row and column on a grid that "
        "lies nowhere.",
    ),
    option(
        "--to",
        "destinations",
        group="Input",
        everyday=True,
        metavar="COLUMN",
        help="Column of the codes of destinations, or of points, or two columns, as for --from.",
    ),
    option(
        "--pings",
        group="Input",
        metavar="LAT,LON",
        help="In place of --from and --to: the two columns of coordinates of records of places, "
        "such as lat,lon, or one of point geometries, of which stays and trips are made; with "
        "--person and --time.",
    ),
    option(
        "--stays",
        group="Input",
        metavar="COLUMN",
        help="In place of --from and --to: the place of a stay, as for --from. A trip leads from a "
        "stay to the next one; with --person and --time.",
    ),
)
"""Options of the columns of places."""

_TIMES = (
    option(
        "--unit",
        group="Privacy",
        type=click.Choice(UNITS),
        default=UNITS[0],
        show_default=True,
        help="What is protected, and whose trips are bounded: a person, or a person in a day, a "
        "week or a month. The shorter the period, the weaker the protection of a person.",
    ),
    option(
        "--time",
        group="Input",
        metavar="COLUMN",
        help="Column of the times at which trips began, for units of periods, hours and day types; "
        "or of pings, or at which stays begin.",
    ),
    option(
        "--end",
        group="Input",
        metavar="COLUMN",
        help="Column of the times at which stays end.  [default: stays have no duration]",
    ),
    option(
        "--time-zone",
        group="Input",
        help="IANA name of the zone of days and hours, such as Asia/Tokyo, if times count from "
        "UTC.",
    ),
)
"""Options of the protected unit, and of times."""

_ROWS = (
    option(
        "--outside",
        group="Input",
        type=click.Choice(("error", "crop", "drop")),
        help="What to do with trips of which an end lies outside the domain.  [default: error]",
    ),
    other_option,
)
"""Options on places outside; those that other readers have, too, are of :class:`TripsCommand`."""

reading_options = add_options(
    *_PLACES,
    option(
        "--person",
        group="Input",
        everyday=True,
        metavar="COLUMN",
        help="Column of person ids; rows without an id are refused. Without it, state the "
        "--contribution.",
    ),
    trips_option,
    option(
        "--per-pair",
        group="Privacy",
        type=click.IntRange(1),
        help="Most trips that are kept of a person between two zones.  [default: --trips]",
    ),
    *_TIMES,
    by_option,
    option(
        "--value",
        group="Input",
        everyday=True,
        metavar="COLUMN",
        help="Column of counts, if a row is several trips; state the --contribution then.",
    ),
    weight_options,
    *_RULES,
    *_ROWS,
)
"""Options that describe trips."""


choosing_options = add_options(
    *_PLACES,
    option(
        "--person",
        group="Input",
        everyday=True,
        required=True,
        metavar="COLUMN",
        help="Column of person ids; rows without an id are refused.",
    ),
    option(
        "--largest",
        group="Privacy",
        everyday=True,
        required=True,
        type=click.IntRange(1),
        metavar="TRIPS",
        help="Largest number that may be chosen, public and chosen without the data.",
    ),
    option(
        "--share",
        group="Privacy",
        everyday=True,
        default="0.1",
        show_default=True,
        help="Share of the persons with trips who may have more than the chosen number.",
    ),
    option(
        "--per-pair",
        group="Privacy",
        type=click.IntRange(1),
        help="Most trips that count of a person between two zones.  [default: all]",
    ),
    *_TIMES,
    *_RULES,
    *_ROWS,
)
"""Options that describe trips that are only counted by person."""
