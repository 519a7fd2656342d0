"""Options of flows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from geodp.options.file_question import ASK_PERSON_IN, FileQuestion
from geodp.options.option import KindOptions, Option, grouped, joined
from geodp.options.shared import DOMAIN, PERIODS, PERSON_IN, REQUEST, WEIGHTS
from geodp.options.shared import QUERY as SHARED_QUERY

UNITS = ("person", "person-day", "person-week", "person-month")
"""Values of the library, repeated so that ``--help`` imports nothing heavy."""

OTHER = Option(
    "--other",
    "Count trips from and to all other places in a zone of this name, which is added to areal "
    "units and to cells of H3 or S2; without it they are refused, or left out (--outside).",
    metavar="NAME",
    group="Input",
)

LABELS = joined(
    Option(
        "--by",
        "Attributes by which trips are published, separated by commas: hour,mode; a trip has "
        "one label of each, in a column of this name, or of another one: mode=COLUMN. hour "
        "and daytype (weekday, weekend) are made from --time where it is given; of pings and "
        "stays they are those of the departure. Other labels are listed by --labels; of stays "
        "a trip has them from the stay at which it ends, and of pings from the last ping "
        "before it.",
        name="attributes",
        everyday=True,
        metavar="NAMES",
        group="Input",
    ),
    Option(
        "--label-share",
        "Share of the budget for what is measured by label (--by).  [default: 3/20]",
        metavar="SHARE",
        needs=("attributes",),
        group="Privacy",
    ),
)
"""Options of attributes of trips."""

MEASURED = joined(
    Option(
        "--level",
        "Side of the blocks whose pairs are measured, in zones and a power of two, and their "
        "share of the budget: 4=2/5; repeatable. Both maps of ends share the rest.  [default: "
        "by --expected-trips and --concentrated; without them, by the trips of a person for each "
        "unit of epsilon]",
        name="levels",
        many=True,
        metavar="SIDE=SHARE",
        excludes=("expected_trips", "concentrated"),
        group="Privacy",
    ),
    Option(
        "--expected-trips",
        "A public guess of all trips that are counted, such as 2e5; of a series those of one "
        "period. The fewer, the larger are the blocks whose pairs are measured. Make it without "
        "the data; geodp flows plan shows what it chooses.",
        low=1.0,
        metavar="NUMBER",
        everyday=True,
        group="Privacy",
    ),
    Option(
        "--concentrated",
        "Most trips of a zone are expected to lead to a few zones, as flights do: the smallest "
        "blocks whose pairs can be measured are. Know it without the data.",
        type=bool,
        group="Privacy",
    ),
    LABELS.one("label_share"),
    Option(
        "--method",
        "Method of both maps of ends: pyramid, with settings after a colon.  [default: pyramid]",
        group="Privacy",
    ),
)
"""Options of what is measured, and how."""

PRIOR = joined(
    REQUEST.one(
        "prior",
        help="Flows that are expected: the folder of an earlier release of flows, or a public file "
        "of flows with the columns of --from and --to, and of counts (--prior-value). The "
        "measurements stay the same; estimates use it as far as the noisy pairs show that it "
        "can be trusted. The release contains it, unless it is left out (--leave-out-prior).",
    ),
    REQUEST.one("prior_source"),
    REQUEST.one("prior_is_public"),
    Option(
        "--prior-value",
        "Column of counts in the file of the prior, which has no persons.  [default: --value]",
        metavar="COLUMN",
        needs=("prior",),
        group="Input",
    ),
)
"""Options of a prior; those of other releases read another kind of file."""

LEFT_OUT = Option(
    "--leave-out-prior",
    "Leave the prior, which has no noise, out of the public files. Errors and intervals then "
    "need it again (geodp estimate --prior).",
    type=bool,
    needs=("prior",),
    group="Output",
)

TRIPS = Option(
    "--trips",
    "Most trips that are kept of a person, chosen by a hash of the person's own trips. The "
    "noise grows with it.",
    low=1,
    everyday=True,
    group="Privacy",
)

_PLACES = grouped(
    "Input",
    Option(
        "--from",
        "Column of the codes of origins, or of point geometries (GeoPackage, GeoParquet); or "
        "two columns with a comma: longitude and latitude (x,y), or row and column on a grid that "
        "lies nowhere.",
        name="origins",
        everyday=True,
        metavar="COLUMN",
    ),
    Option(
        "--to",
        "Column of the codes of destinations, or of points, or two columns, as for --from.",
        name="destinations",
        everyday=True,
        metavar="COLUMN",
    ),
    Option(
        "--pings",
        "In place of --from and --to: the two columns of coordinates of records of places, "
        "such as lon,lat, or one of point geometries, of which stays and trips are made; with "
        "--person and --time.",
        metavar="LON,LAT",
        excludes=("stays", "origins", "destinations", "value"),
    ),
    Option(
        "--stays",
        "In place of --from and --to: the place of a stay, as for --from. A trip leads from a "
        "stay to the next one; with --person and --time.",
        metavar="COLUMN",
        excludes=("origins", "destinations", "value"),
    ),
)
"""Options of the columns of places."""

_RULES = grouped(
    "Input",
    Option(
        "--radius",
        "Distance from the first ping of a stay within which all others are.  [default: 200]",
        type=float,
        metavar="METRES",
        needs=("pings",),
    ),
    Option(
        "--dwell",
        "Least duration of a stay, such as 90s, 10min or 1h.  [default: 10min]",
        metavar="DURATION",
        needs=("pings",),
    ),
    Option(
        "--gap",
        "Longest time without a ping that a stay or a trip may extend over: several times "
        "the interval at which the devices record, which is public. Where they record less often, "
        "most trips are lost; --check counts them for the operator, but must not choose the gap. "
        "Of stays, the longest time from one to the next with a trip.  [default: 2h for pings, "
        "none for stays]",
        metavar="DURATION",
        needs=("pings", "stays"),
    ),
    Option(
        "--speed",
        "Speed above which a step from ping to ping is taken for an error: no stay or trip "
        "extends over it.  [default: 1000]",
        type=float,
        metavar="KM/H",
        needs=("pings",),
    ),
    Option(
        "--accuracy",
        "Column of accuracy radii of pings, in metres.",
        metavar="COLUMN",
        needs=("pings",),
    ),
    Option(
        "--largest-accuracy",
        "Leave out pings with a larger accuracy radius.  [default: --radius]",
        type=float,
        metavar="METRES",
        needs=("pings",),
    ),
)
"""Options of the rules by which pings and stays become trips."""

_TIMES = joined(
    Option(
        "--unit",
        "What is protected, and whose trips are bounded: a person, or a person in a day, a "
        "week or a month. The shorter the period, the weaker the protection of a person.",
        choices=UNITS,
        default=UNITS[0],
        group="Privacy",
    ),
    grouped(
        "Input",
        Option(
            "--time",
            "Column of the times at which trips began, for units of periods, hours and day types; "
            "or of pings, or at which stays begin.",
            metavar="COLUMN",
        ),
        Option(
            "--end",
            "Column of the times at which stays end.  [default: stays have no duration]",
            metavar="COLUMN",
            needs=("stays",),
        ),
        Option(
            "--time-zone",
            "IANA name of the zone of days and hours, such as Asia/Tokyo, if times count from UTC.",
        ),
    ),
)
"""Options of the protected unit, and of times."""

_ROWS = joined(
    Option(
        "--outside",
        "What to do with trips of which an end lies outside the domain.  [default: error]",
        choices=("error", "crop", "drop"),
        group="Input",
    ),
    OTHER,
)
"""Options on places outside; those that other readers have, too, are of ``TripsCommand``."""

READING = joined(
    _PLACES,
    Option(
        "--person",
        "Column of person ids; rows without an id are refused. Without it, state the "
        "--contribution.",
        everyday=True,
        metavar="COLUMN",
        group="Input",
    ),
    TRIPS,
    Option(
        "--per-pair",
        "Most trips that are kept of a person between two zones.  [default: --trips]",
        low=1,
        group="Privacy",
    ),
    _TIMES,
    LABELS.one("attributes"),
    Option(
        "--value",
        "Column of counts, if a row is several trips; state the --contribution then.",
        metavar="COLUMN",
        group="Input",
    ),
    WEIGHTS.one("weight", excludes=("pings", "stays")),
    WEIGHTS,
    _RULES,
    _ROWS,
)
"""Options that describe trips."""

CHOICE = joined(
    _PLACES,
    Option(
        "--person",
        "Column of person ids; rows without an id are refused.",
        required=True,
        everyday=True,
        metavar="COLUMN",
        group="Input",
    ),
    grouped(
        "Privacy",
        Option(
            "--largest",
            "Largest number that may be chosen, public and chosen without the data.",
            low=1,
            required=True,
            everyday=True,
            metavar="TRIPS",
        ),
        Option(
            "--share",
            "Share of the persons with trips who may have more than the chosen number.",
            default="0.1",
            everyday=True,
        ),
        Option(
            "--per-pair",
            "Most trips that count of a person between two zones.  [default: all]",
            low=1,
        ),
    ),
    _TIMES,
    _RULES,
    _ROWS,
)
"""Options that describe trips that are only counted by person."""

PUBLISHED = joined(
    READING,
    MEASURED,
    PRIOR,
    LEFT_OUT,
    REQUEST.one(
        "contribution",
        help="Most trips of one person, or other --unit, in all inputs together, which you assert. "
        "Required unless --person names persons.",
    ),
)
"""Options of a release."""

SERIES = joined(PERIODS, PERSON_IN, PUBLISHED)
"""Options of a release for every period."""

EVALUATED = joined(
    READING,
    MEASURED,
    PRIOR,
    Option("--trials", "Number of releases.", low=1, default=5, everyday=True, group="Run"),
)
"""Options of an evaluation."""

PLANNED = joined(
    replace(
        TRIPS,
        help="Most trips that are kept of a person; repeatable, to compare.",
        many=True,
        required=True,
    ),
    OTHER,
    MEASURED,
    LABELS,
    Option(
        "--mean-trips",
        "A public guess of the mean trips of a person, for the share that each bound keeps.",
        type=float,
        group="Privacy",
        everyday=True,
    ),
)
"""Options of a plan."""

QUERY = joined(
    DOMAIN.one(
        "mask",
        help="Zones are the cells of this public mask, as of geodp flows publish: trips with "
        "coordinates outside are left out before the trips of a person are bounded.",
        type=str,
        everyday=False,
        metavar="FILE",
    ),
    DOMAIN.one(
        "mask_source",
        help="Source of the mask. By naming it you assert that the mask is public and not made "
        "from the trips.",
    ),
    DOMAIN.one(
        "units_source",
        help="Source of the units of --grid units:FILE: trips with other codes are left out before "
        "the trips of a person are bounded. Leave it out to publish with a zone of other places "
        "(--other).",
        needs=("origins",),
    ),
    DOMAIN.one(
        "units_columns",
        help="Columns of the table of units, as of geodp flows publish.",
        needs=("units_source",),
        metavar="NAMES",
    ),
    grouped(
        "Input",
        Option(
            "--points",
            "Columns of x and y of where a trip begins, in the grid's CRS.  [default: from_lon, "
            "from_lat]",
            values=2,
            metavar="X Y",
        ),
        Option(
            "--points-to",
            "Columns of x and y of where it ends.  [default: to_lon, to_lat]",
            name="to",
            values=2,
            metavar="X Y",
        ),
        Option(
            "--from",
            "In place of coordinates: the column of the codes of origins, in the form that geodp "
            "flows publish reads. The grid may be any one then, such as units:zones.csv.",
            name="origins",
            metavar="COLUMN",
            needs=("destinations",),
            excludes=("points", "to"),
        ),
        Option(
            "--to",
            "The column of the codes of destinations, with --from.",
            name="destinations",
            metavar="COLUMN",
            needs=("origins",),
            excludes=("points", "to"),
        ),
    ),
    SHARED_QUERY.one(
        "table", default="trips", help="Table expression for the trips, inserted as it is."
    ),
    SHARED_QUERY.one(
        "person", required=True, help="Column of person ids. Trips without one are left out."
    ),
    LABELS.one(
        "attributes",
        everyday=False,
        help="Attributes by which trips are published, separated by commas: hour,mode; each is a "
        "column of this name, or of another one: hour=departure_hour.",
    ),
    replace(TRIPS, required=True),
    READING.one("per_pair"),
    READING.one(
        "unit",
        help="What is protected, and whose trips are bounded, as of geodp flows publish; a unit of "
        "periods with --period.",
    ),
    Option(
        "--period",
        "Column of the days, weeks or months of --unit, such as one of CAST(departure AS DATE) "
        "in --table. Trips without one are left out.",
        metavar="COLUMN",
        group="Privacy",
    ),
    SHARED_QUERY,
)
"""Options of a query."""

BETWEEN = grouped(
    "Flows",
    Option(
        "--from",
        "Area or zone from which trips begin, named as for --area; repeatable, together with --to.",
        name="origins",
        many=True,
        metavar="AREA",
    ),
    Option(
        "--to",
        "Area or zone in which they end.",
        name="destinations",
        many=True,
        metavar="AREA",
    ),
    Option(
        "--across",
        "File of lines that trips cross, in any CRS: GeoJSON, GeoPackage, Shapefile, "
        "FlatGeobuf or GeoParquet. Each divides the map in two: from its left to its right, as "
        "seen along it, from its right to its left, and both together.",
        type=Path,
        excludes=("polygons", "area", "origins"),
    ),
    everyday=True,
)
"""Options of flows between two areas."""

ON_A_PAGE = grouped(
    "Flows",
    Option(
        "--from",
        "Code of an area, or name of one of --places: the page is about trips out of it alone.",
        name="origin",
        metavar="AREA",
    ),
    Option(
        "--to",
        "Area or place: the page is about trips into it alone; with --from, about both ways.",
        name="destination",
        metavar="AREA",
    ),
    everyday=True,
)
"""Options of a page."""

PRIOR_AGAIN = Option(
    "--prior",
    "The prior of the release, given again where it is not among its files: the folder of an "
    "earlier release.",
    type=Path,
)

OWN = {
    "estimate": KindOptions("flows", joined(BETWEEN, PRIOR_AGAIN)),
    "compare": KindOptions("flows", BETWEEN),
    "diff": KindOptions("flows", BETWEEN),
    "page": KindOptions("flows", ON_A_PAGE),
}
"""Options that commands have for flows alone, by what they do."""

_MOST = (
    "How many trips of a person are kept at most (--trips)? The noise grows with the number, which "
    "is chosen without the data."
)

FILE_QUESTIONS = (
    FileQuestion(
        "How many trips lead from where to where? Every row is one trip.",
        "flows publish",
        "--from {from_x},{from_y} --to {to_x},{to_y} --points-crs {crs} --person {person}",
        more="--trips 10",
        located=False,
        asks=(_MOST,),
        python=("release = geodp.flows.publish({file}, grid=grid, {reading}, {terms})",),
    ),
    FileQuestion(
        "How many trips lead from where to where? Every row is one trip.",
        "flows publish",
        "--from {from_x},{from_y} --to {to_x},{to_y} --points-crs {crs}",
        more="--contribution NUMBER",
        without=("person", "count"),
        located=False,
        python=("release = geodp.flows.publish({file}, grid=grid, {reading}, {terms})",),
    ),
    FileQuestion(
        "How many trips lead from where to where? Every row counts the trips between two places.",
        "flows publish",
        "--from {from_x},{from_y} --to {to_x},{to_y} --points-crs {crs} --value {count}",
        more="--contribution NUMBER",
        without=("person",),
        located=False,
        python=("release = geodp.flows.publish({file}, grid=grid, {reading}, {terms})",),
    ),
    FileQuestion(
        "How many trips lead from where to where? Every row counts the trips between two places.",
        "flows publish",
        "--from {from_row},{from_column} --to {to_row},{to_column} --value {count}",
        more="--contribution NUMBER",
        without=("person",),
        located=False,
        python=("release = geodp.flows.publish({file}, grid=grid, {reading}, {terms})",),
    ),
    FileQuestion(
        "How many trips lead from where to where? Every row is one trip.",
        "flows publish",
        "--from {origin} --to {destination} --person {person}",
        more="--trips 10",
        located=False,
        asks=(_MOST,),
        python=("release = geodp.flows.publish({file}, grid=grid, {reading}, {terms})",),
    ),
    FileQuestion(
        "How many trips lead from where to where? Every row counts the trips between two places.",
        "flows publish",
        "--from {origin} --to {destination} --value {count}",
        more="--contribution NUMBER",
        without=("person",),
        located=False,
        python=("release = geodp.flows.publish({file}, grid=grid, {reading}, {terms})",),
    ),
    FileQuestion(
        "How many trips lead from where to where in every period? Every row counts the trips "
        "between two places, with a column for each period.",
        "flows publish-series",
        "--from {origin} --to {destination} --period-columns {period_columns}",
        more="--person-in all --contribution NUMBER",
        without=("person",),
        located=False,
        asks=(ASK_PERSON_IN,),
        python=(
            "columns = {columns}",
            "read = geodp.flows.read_trips",
            "tables = [read({file}, grid=grid, value=one, {reading}) for one in columns.values()]",
            "release = geodp.flows.publish_series(tables, times=[*columns], {terms})",
        ),
    ),
    FileQuestion(
        "How many trips lead from where to where? "
        "Every row is where a person was at a time, and trips are made of them.",
        "flows publish",
        "--pings {x},{y} --points-crs {crs} --time {time} --person {person}",
        more="--trips 10",
        located=False,
        asks=(_MOST,),
        python=(
            "table = geodp.flows.read_pings({file}, grid=grid, {reading})",
            "release = geodp.flows.publish(table, {terms})",
        ),
    ),
    FileQuestion(
        "How many trips lead from where to where? "
        "Every row is a stay of a person, and trips lead from one stay to the next.",
        "flows publish",
        "--stays {code} --time {time} --person {person}",
        more="--trips 10",
        without=("x",),
        located=False,
        asks=(_MOST,),
        python=(
            "table = geodp.flows.read_stays({file}, grid=grid, {reading})",
            "release = geodp.flows.publish(table, {terms})",
        ),
    ),
)
"""Questions that a file can answer by releases of flows."""
