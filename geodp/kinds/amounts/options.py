"""Options of amounts."""

from __future__ import annotations

from geodp.options.file_question import ASK_PERIODS, ASK_PERSON_IN, FileQuestion
from geodp.options.option import KindOptions, Option, grouped, joined
from geodp.options.shared import (
    PERIODS,
    PERSON_IN,
    PLANNED_PERSON_IN,
    REQUEST,
    SNAPSHOTS,
    WEIGHTS,
)
from geodp.options.shared import QUERY as SHARED_QUERY

AMOUNT = joined(
    grouped(
        "Input",
        Option(
            "--amount",
            "Column of amounts: plain numbers, all in one unit.",
            required=True,
            metavar="COLUMN",
        ),
        Option(
            "--unit-of-amount",
            'What one amount is counted in, such as "10,000 yen" or EUR; it is published.',
            required=True,
            metavar="TEXT",
        ),
        everyday=True,
    ),
    grouped(
        "Privacy",
        Option(
            "--clip",
            "Smallest and largest amount, public and chosen without the data (see geodp amounts "
            "plan): smaller and larger ones count as these.",
            values=2,
            required=True,
            everyday=True,
            metavar="LOWER UPPER",
        ),
        Option(
            "--step",
            "Amounts are counted exactly on multiples of it, in the unit of the amount.",
            default="1",
        ),
    ),
)
"""Options of an amount, its unit and its scale."""

CONTRIBUTION = REQUEST.one(
    "contribution",
    help="Most records of one person. With --person, the first ones count; otherwise you assert "
    "it.",
)

METHOD = Option(
    "--method",
    "Method of all streams: pyramid, with settings after a colon.  [default: pyramid]",
    group="Privacy",
)

PUBLISHED = joined(
    AMOUNT,
    Option(
        "--classes",
        "Public edges of classes, for medians and other quantiles; the ends of the clip are added.",
        everyday=True,
        metavar="EDGE,EDGE...",
        group="Privacy",
    ),
    WEIGHTS,
    grouped(
        "Privacy",
        Option("--no-means", "Release classes only: each then has the whole budget.", type=bool),
        Option(
            "--share", "With --classes: the part of the budget for sums and means.", default="1/2"
        ),
    ),
    METHOD,
    CONTRIBUTION,
)
"""Options of what is released of amounts, and with which method."""

KEPT = grouped(
    "Privacy",
    Option(
        "--given",
        "Folder of an earlier release of the same persons, a map or a census. Its counts of "
        "persons are kept to the last cell, and the whole budget goes to the amounts.",
        metavar="RELEASE",
        excludes=("classes", "prior"),
    ),
    Option(
        "--given-source",
        "Where the given release was published and charged, which amounts.json quotes. A release "
        "whose card states a charge to a ledger needs none.",
        needs=("given",),
    ),
    Option(
        "--relation",
        "With --given, which you assert: every person has one record (same), so that records are "
        "its persons; or a part of them has one each (part), so that no cell has more.",
        choices=("same", "part"),
        needs=("given",),
    ),
)
"""Options of an earlier release of the same persons."""

SERIES = joined(PERIODS, PERSON_IN, PUBLISHED)
"""Options of amounts of several periods."""

CHOICE = joined(
    AMOUNT.one("amount"),
    AMOUNT.one("unit_of_amount"),
    grouped(
        "Privacy",
        Option(
            "--candidates",
            "Public upper ends among which one is chosen, in increasing order.",
            everyday=True,
            metavar="UPPER,UPPER...",
            excludes=("lowest", "highest"),
        ),
        Option(
            "--lowest",
            "In place of --candidates, with --highest: the lowest upper end of a logarithmic "
            "scale of round ones.",
            everyday=True,
            metavar="UPPER",
            needs=("highest",),
        ),
        Option(
            "--highest",
            "With --lowest: the highest upper end that may be chosen.",
            everyday=True,
            metavar="UPPER",
            needs=("lowest",),
        ),
        Option("--lower", "Lower end of the clip.", default="0"),
        Option(
            "--share",
            "Share of the records that may lie above the chosen end.",
            default="0.01",
            everyday=True,
        ),
    ),
    AMOUNT.one("step"),
    WEIGHTS,
    CONTRIBUTION,
)
"""Options of a choice of the clip."""

PLANNED = joined(
    grouped(
        "Options",
        Option(
            "--median",
            "A public guess of the amount that one record in two exceeds.",
            type=float,
            required=True,
        ),
        Option(
            "--upper-tenth",
            "A public guess of the amount that one record in ten exceeds.",
            type=float,
            required=True,
        ),
        Option(
            "--clip",
            "Upper end of the clip to compare; repeatable.  [default: those that 20 % to 0.1 % of "
            "records would exceed]",
            name="clips",
            many=True,
            metavar="UPPER",
        ),
        Option("--lower", "Lower end of the clip.", default="0"),
        Option(
            "--area-records",
            "Records of the area whose mean is to be right.",
            name="records",
            type=float,
            default=1000.0,
        ),
    ),
    Option(
        "--share",
        "Part of the budget for sums, if classes are released, too.",
        default="1",
        group="Privacy",
    ),
    REQUEST.one("contribution", help="Most records of one person.", default=1, everyday=False),
    METHOD,
    SNAPSHOTS,
    PLANNED_PERSON_IN,
)
"""Options of a plan of the clip."""

QUERY = joined(
    AMOUNT,
    REQUEST.one(
        "contribution", help="With --person: most records that are kept of a person.", default=1
    ),
    Option(
        "--order-by",
        "Column, such as a time, whose first records of a person are kept. Default: a random "
        "sample.",
        name="by",
        group="Input",
    ),
    SHARED_QUERY,
)
"""Options of a query."""

OWN = {
    "estimate": KindOptions(
        "amounts",
        joined(
            grouped(
                "Amounts",
                Option(
                    "--quantile",
                    "Also estimate a quantile above 0 and below 1, such as 0.9, by classes; "
                    "repeatable.",
                    many=True,
                    low=0.0,
                    high=1.0,
                ),
                Option(
                    "--below",
                    "Also estimate the share of records below an amount, by classes; repeatable.",
                    many=True,
                    type=float,
                ),
                everyday=True,
            ),
        ),
    )
}
"""Options that commands have for amounts, by what they do."""

_CLIP = (
    "Which amounts are the smallest and the largest that count as they are (--clip)? They are "
    "public and chosen without the data: geodp amounts plan shows what they cost."
)

FILE_QUESTIONS = (
    FileQuestion(
        "What are the numbers, sums and means of {amount} by place? Every row is one record.",
        "amounts publish",
        "--amount {amount}",
        ("--person {person} --contribution 1", "--contribution NUMBER"),
        more="--clip LOWER UPPER --unit-of-amount UNIT",
        asks=(_CLIP,),
        python=("release = geodp.amounts.publish({file}, grid=grid, {reading}, {terms})",),
    ),
    FileQuestion(
        "What are the numbers, sums and means of {amount} by place in every period? Every row is "
        "one record of a period.",
        "amounts publish-series",
        "--period {period} --amount {amount}",
        ("--person {person} --contribution 1", "--contribution NUMBER"),
        more="--periods FIRST..LAST --person-in all --clip LOWER UPPER --unit-of-amount UNIT",
        asks=(_CLIP, ASK_PERIODS, ASK_PERSON_IN),
        python=(
            "times = {times}",
            "read = geodp.amounts.read_records",
            "tables = [read({file}, grid=grid, {where}, {reading}) for one in times]",
            "release = geodp.amounts.publish_series(tables, times=times, {terms})",
        ),
    ),
    FileQuestion(
        "What are the numbers, sums and means of {amount} by place in every period? Every row is "
        "one record of the period in the file's name.",
        "amounts publish-series",
        "--amount {amount}",
        ("--person {person} --contribution 1", "--contribution NUMBER"),
        more="--person-in all --clip LOWER UPPER --unit-of-amount UNIT",
        without=("period",),
        dated=True,
        asks=(_CLIP, ASK_PERSON_IN),
        python=(
            "files = {files}",
            "read = geodp.amounts.read_records",
            "tables = [read({one}, grid=grid, {reading}) for one in files.values()]",
            "release = geodp.amounts.publish_series(tables, times=[*files], {terms})",
        ),
    ),
)
"""Questions that a file can answer by releases of amounts."""
