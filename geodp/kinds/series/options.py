"""Questions that a file can answer by a series of counts."""

from __future__ import annotations

from geodp.options.file_question import ASK_PERIODS, ASK_PERSON_IN, FileQuestion

_OF_A_SERIES = "--person-in all --delta 1e-10"

FILE_QUESTIONS = (
    FileQuestion(
        "How many persons, or other units, are where in every period? Every row counts those of a "
        "cell in a period.",
        "publish-series",
        "--period {period} --value {count}",
        more=f"--periods FIRST..LAST {_OF_A_SERIES} --contribution NUMBER",
        without=("person",),
        records=False,
        asks=(ASK_PERIODS, ASK_PERSON_IN),
        python=(
            "times = {times}",
            "tables = [geodp.read({file}, grid, {where}, {reading}) for one in times]",
            "release = geodp.publish_series(tables, times=times, {terms})",
        ),
    ),
    FileQuestion(
        "How many persons, or other units, are where in every period? Every row counts those of a "
        "cell, with a column for each period.",
        "publish-series",
        "--period-columns {period_columns}",
        more=f"{_OF_A_SERIES} --contribution NUMBER",
        without=("person",),
        records=False,
        asks=(ASK_PERSON_IN,),
        python=(
            "columns = {columns}",
            "tables = [geodp.read({file}, grid, value=one, {reading}) for one in columns.values()]",
            "release = geodp.publish_series(tables, times=[*columns], {terms})",
        ),
    ),
    FileQuestion(
        "How many persons, or other units, are where in every period? Every row counts those of a "
        "cell, with a column for each period.",
        "publish-series",
        "--period-columns {parts_of_periods}",
        more=f"--periods FIRST..LAST {_OF_A_SERIES} --contribution NUMBER",
        without=("person",),
        records=False,
        asks=(ASK_PERIODS, ASK_PERSON_IN),
        python=(
            "columns = {columns}",
            "tables = [geodp.read({file}, grid, value=one, {reading}) for one in columns.values()]",
            "release = geodp.publish_series(tables, times=[*columns], {terms})",
        ),
    ),
    FileQuestion(
        "How many persons, or other units, are where in every period? Every file counts those of "
        "the period in its name.",
        "publish-series",
        "--value {count}",
        more=f"{_OF_A_SERIES} --contribution NUMBER",
        without=("person", "period"),
        records=False,
        dated=True,
        asks=(ASK_PERSON_IN,),
        python=(
            "files = {files}",
            "tables = [geodp.read({one}, grid, {reading}) for one in files.values()]",
            "release = geodp.publish_series(tables, times=[*files], {terms})",
        ),
    ),
    FileQuestion(
        "How many persons, or other units, are where in every period? Every row is one person in "
        "a period.",
        "publish-series",
        "--points --period {period}",
        ("--person {person}", "--contribution NUMBER"),
        more=f"--periods FIRST..LAST {_OF_A_SERIES}",
        without=("count",),
        asks=(ASK_PERIODS, ASK_PERSON_IN),
        python=(
            "times = {times}",
            "tables = [geodp.read_points({file}, grid=grid, {where}, {reading}) for one in times]",
            "release = geodp.publish_series(tables, times=times, {terms})",
        ),
    ),
)
