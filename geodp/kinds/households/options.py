"""Options of persons and households."""

from __future__ import annotations

from geodp.options.file_question import FileQuestion
from geodp.options.option import Option, grouped, joined
from geodp.options.shared import MAX_SIZE, PERIODS, PERSON_IN, REQUEST, WEIGHTS
from geodp.options.shared import QUERY as SHARED_QUERY

PROTECTED = grouped(
    "Privacy",
    Option(
        "--protect",
        "Whom the guarantee protects: a person, so that a household of k has k times epsilon; or "
        "a household, counted by size, which costs accuracy and gives a person epsilon, too.",
        choices=("person", "household"),
        required=True,
        everyday=True,
    ),
    MAX_SIZE,
    Option(
        "--method",
        "Method of persons and households, if persons are protected: pyramid, with settings "
        "after a colon.  [default: pyramid]",
    ),
)
"""Options of the guarantee, and of what is measured under it."""

PUBLISHED = joined(
    grouped(
        "Input",
        Option(
            "--households",
            "Column of households; --value is then that of the persons who live in them.",
            name="of_households",
            everyday=True,
            metavar="COLUMN",
        ),
        Option(
            "--households-file",
            "File of households, if INPUTS are those of persons; repeatable.",
            type="files",
            many=True,
            metavar="FILE",
        ),
        Option(
            "--others",
            "Column of persons outside households, such as those in institutions, if persons are "
            "protected: a table of its own, at no further cost.",
            metavar="COLUMN",
        ),
        Option(
            "--others-file",
            "File of persons outside households; repeatable.",
            type="files",
            many=True,
            metavar="FILE",
        ),
        Option(
            "--household",
            "Column of household ids, or several with commas. Every row is one person at the "
            "place of the household, which geodp counts by size.",
            name="household_id",
            everyday=True,
            metavar="COLUMN",
        ),
        Option(
            "--size",
            "Column of the persons of a household, if every row is a household; larger ones count "
            "as of --max-size.",
            name="size_column",
            everyday=True,
            metavar="COLUMN",
        ),
        Option(
            "--rows-are-persons",
            "With --household: assert that every row is one person, where a column is named for "
            "the size of a household.",
            type=bool,
            needs=("household_id",),
        ),
        Option(
            "--size-attribute",
            "Attribute of households by size, if it is not named size or household-size.",
            metavar="NAME",
        ),
    ),
    WEIGHTS,
    PROTECTED,
    REQUEST.one(
        "contribution",
        help="In how many households one person is counted at most, or how often a household, "
        "which you assert: 1, usually. Required unless a household is protected and "
        "--household names it.",
    ),
)
"""Options of a release."""

SERIES = joined(PERIODS, PERSON_IN, PUBLISHED.without("households_file", "others_file"))
"""Options of a release for every period."""

PLANNED = joined(
    PROTECTED,
    grouped(
        "Privacy",
        REQUEST.one(
            "contribution",
            default=1,
            everyday=False,
            help="In how many households one person is counted at most, or how often a household.",
        ),
        Option(
            "--mean-size",
            "With --people: a public guess of persons for each household.",
            type=float,
            default=2.3,
            needs=("people",),
        ),
    ),
)
"""Options of a plan."""

QUERY = joined(
    SHARED_QUERY.one(
        "points", help="Columns of x and y of the household's place, in the grid's CRS."
    ),
    SHARED_QUERY.one(
        "table",
        help="Table expression for the records, one row a person, inserted as it is.",
    ),
    Option(
        "--household",
        "Column of household ids. Records without one are left out.",
        group="Input",
        required=True,
        metavar="COLUMN",
    ),
    PROTECTED.one("max_size"),
    SHARED_QUERY.without("person"),
)
"""Options of a query."""

_WHOM = (
    "Whom does the guarantee protect? With --protect household, a household with all of its "
    "members; with --protect person and --contribution, one person, whose numbers are more "
    "accurate."
)

FILE_QUESTIONS = (
    FileQuestion(
        "How many households of each size, and how many persons, live where? "
        "Every row is one household.",
        "households publish",
        "--household {household} --size {size}",
        more="--protect household",
        asks=(_WHOM,),
        python=(
            "table = geodp.households.read_records({file}, grid=grid, {reading})",
            "release = geodp.households.publish(by_size=table, {terms})",
        ),
    ),
    FileQuestion(
        "How many households of each size, and how many persons, live where? "
        "Every row is one person.",
        "households publish",
        "--household {household}",
        more="--protect household",
        without=("size",),
        asks=(_WHOM,),
        python=(
            "table = geodp.households.read_records({file}, grid=grid, {reading})",
            "release = geodp.households.publish(by_size=table, {terms})",
        ),
    ),
    FileQuestion(
        "How many households of each size, and how many persons, live where? "
        "Every row counts the households of a size in a cell.",
        "households publish",
        "--by size --column size={size} --value {households}",
        more="--labels size=1,2,3,4,5,6,7+ --protect household --contribution NUMBER",
        without=("household",),
        records=False,
        asks=(_WHOM,),
        python=(
            "table = geodp.read({file}, grid, {reading})",
            "release = geodp.households.publish(by_size=table, {terms})",
        ),
    ),
    FileQuestion(
        "How many persons and how many households live where? Every row counts those of a cell.",
        "households publish",
        "--value {count} --households {households}",
        more="--protect person --contribution NUMBER",
        without=("household", "size"),
        records=False,
        python=(
            "persons = geodp.read({file}, grid, {reading})",
            "households = geodp.read({file}, grid, {reading_households})",
            "release = geodp.households.publish(persons, households, {terms})",
        ),
    ),
)
"""Questions that a file can answer by releases of households."""
