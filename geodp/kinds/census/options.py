"""Options of whole tables of a census."""

from __future__ import annotations

from dataclasses import replace

from geodp.options.file_question import FileQuestion
from geodp.options.option import KindOptions, Option, grouped, joined
from geodp.options.shared import MAX_SIZE, REQUEST

MARGINS = grouped(
    "Input",
    Option(
        "--all-columns",
        "Publish all columns that the layout of the file relates to each other (see geodp inspect "
        "FILE), or a layout of your own does (--preset).",
        type=bool,
        everyday=True,
        excludes=("margin", "part", "households", "members", "household_margin"),
    ),
    Option(
        "--margin",
        "NAME=COLUMN,COLUMN...: columns that divide the persons of --value, such as sex=M,F; every "
        "person is in one of them at most; repeatable.",
        many=True,
        pairs=True,
        everyday=True,
        metavar="NAME=COLUMNS",
    ),
    Option(
        "--part",
        "Column of a part of the persons, such as the employed: a margin of this name, with all "
        "others as its rest; repeatable.",
        many=True,
        everyday=True,
        metavar="COLUMN",
    ),
    Option(
        "--rest",
        "MARGIN=LABEL: name of those who are in no column of a margin, such as sex='not stated'; "
        "repeatable. Without it, the columns of a margin add up to what it divides.",
        many=True,
        pairs=True,
        everyday=True,
        metavar="MARGIN=LABEL",
    ),
    Option(
        "--households",
        "Column of households, which are counted, too.",
        everyday=True,
        metavar="COLUMN",
    ),
    Option(
        "--members",
        "Column of the persons who live in households, so that households, persons in them and "
        "persons outside agree with all persons.",
        needs=("households",),
        excludes=("household_margin",),
        everyday=True,
        metavar="COLUMN",
    ),
    replace(MAX_SIZE, needs=("members",), everyday=False),
    Option(
        "--household-margin",
        "NAME=COLUMN,COLUMN...: columns that divide the households; repeatable.",
        many=True,
        pairs=True,
        needs=("households",),
        metavar="NAME=COLUMNS",
    ),
    Option(
        "--contradictions",
        "What happens where counts do not add up in a cell, as where an office has perturbed or "
        "hidden them: refuse the file, or fit the parts to the persons, which changes as little as "
        "possible and counts hidden parts as 0 before. The card states the choice, and not whether "
        "it mattered.",
        choices=("refuse", "fit"),
        required=True,
        everyday=True,
    ),
)
"""Options of columns and their relations."""

METHOD = Option(
    "--method", "Method of all tables: pyramid, with settings after a colon.  [default: pyramid]"
)
"""Option of the method of all tables."""

PUBLISHED = joined(
    MARGINS,
    grouped(
        "Privacy",
        Option(
            "--given",
            "Folder of an earlier release of the same persons, a map or a census. Its counts of "
            "persons are kept to the last cell, and the whole budget goes to the other columns.",
            metavar="RELEASE",
            everyday=True,
        ),
        Option(
            "--given-source",
            "Where the given release was published and charged, which census.json quotes. A "
            "release whose card states a charge to a ledger needs none.",
            needs=("given",),
        ),
        METHOD,
        REQUEST.one(
            "contribution",
            help="How often one person is counted, and in how many households, which you assert: "
            "1, usually. Required, as no layout states it of all columns.",
        ),
    ),
)
"""Options of a release."""

PLANNED = joined(
    MARGINS.without("all_columns", "contradictions"),
    grouped(
        "Privacy",
        PUBLISHED.one(
            "given",
            help="Folder of an earlier release of the same persons: compare a release of the other "
            "columns, which keeps its persons, with one of all columns afresh.",
        ),
        PUBLISHED.one("given_source"),
        METHOD,
        REQUEST.one(
            "contribution",
            default=1,
            everyday=False,
            help="How often one person is counted, and in how many households.",
        ),
    ),
    grouped(
        "Output",
        Option(
            "--cells",
            "Number of cells of an area whose errors are shown, such as a municipality.",
            low=1,
            default=64,
            everyday=True,
        ),
    ),
)
"""Options of a plan."""

_QUESTION = (
    "How many persons of each sex, age and so on are where, and how many households, so that all "
    "columns agree? Every row counts those of a cell."
)

_MORE = "--all-columns --contradictions refuse --contribution NUMBER"

FILE_QUESTIONS = (
    FileQuestion(
        _QUESTION,
        "census publish",
        more=f"{_MORE} --suppressed merge",
        roles=("related", "receiver"),
        records=False,
        python=(
            "tables = geodp.census.read_table({file}, grid=grid, {reading})",
            "release = geodp.census.publish(tables, {terms})",
        ),
    ),
    FileQuestion(
        _QUESTION,
        "census publish",
        more=_MORE,
        roles=("related",),
        without=("receiver",),
        records=False,
        python=(
            "tables = geodp.census.read_table({file}, grid=grid, {reading})",
            "release = geodp.census.publish(tables, {terms})",
        ),
    ),
)
"""Questions that a file can answer by a release of a census."""

OWN = {
    "estimate": KindOptions(
        "census",
        grouped(
            "Output",
            Option(
                "--share",
                "Also estimate one column for each of another, as A/B: the share of a part in its "
                "whole, such as EMP/T; repeatable.",
                many=True,
                everyday=True,
                metavar="A/B",
                excludes=("within",),
            ),
            Option(
                "--difference",
                "Also estimate a column less another one, as A-B; repeatable.",
                many=True,
                metavar="A-B",
                excludes=("within",),
            ),
        ),
    ),
}
"""Options that commands have for a census alone, by what they do."""
