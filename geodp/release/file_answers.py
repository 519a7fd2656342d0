"""Questions that a file can answer: :data:`FILE_QUESTIONS` of all kinds, with its columns."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from geodp.io.read.layout.inspect import DEGREES, PLANE, name_roles
from geodp.io.read.layout.propose import REQUEST_CRS, request_grid
from geodp.io.read.rows.input_files import FilePath
from geodp.io.read.rows.members import list_members
from geodp.io.read.rows.names import list_names
from geodp.options.file_question import (
    ASK_CONTRIBUTION,
    ASK_TIMES,
    OF_GRID,
    OF_OUTLINES,
    OF_ROWS,
    OF_UNITS,
    WHERE,
    FileQuestion,
)
from geodp.registry import list_of_parts
from geodp.release.periods import find_period


@dataclass(frozen=True)
class FileAnswer:
    """A question that a file can answer, and what is known of the command that answers it.

    Attributes
    ----------
    question : str
        In whole sentences.
    command : str
        Without ``geodp``.
    options : mapping of str to tuple of str
        Values by flags; in capitals what only the operator knows.
    blanks : collection of str
        Flags whose values are in capitals.
    asks : tuple of str
        What the operator decides, in whole sentences.
    python : tuple of str
        Lines of Python with fields in braces, as of :class:`FileQuestion`.
    """

    question: str
    command: str
    options: Mapping[str, tuple[str, ...]]
    blanks: Collection[str]
    asks: tuple[str, ...]
    python: tuple[str, ...] = ()


def list_answers(description: Mapping[str, Any], files: Sequence[FilePath]) -> list[FileAnswer]:
    """List the questions that other kinds of release than counts answer.

    Parameters
    ----------
    description : mapping
        Result of :func:`geodp.io.read.layout.inspect.inspect`. Tables of an archive answer a
        question if the columns of all have the same roles.
    files : sequence of path
        All inputs, of which the first is described.
    """
    tables = [one for one in description.get("tables", ()) if one["columns"]]
    roles = name_roles(tables[0]) if tables else {}
    if not tables or any(name_roles(one) != roles for one in tables[1:]):
        return []
    table = tables[0]
    answers, dated = [], _are_dated(files)
    for one in list_of_parts("options", "FILE_QUESTIONS"):
        place = _name_place(roles, table, one) if one.located else {}
        if not one.fits(roles) or place is None or (one.dated and not dated):
            continue
        options = {**one.list_options(roles), **place, **_name_grid(table, roles)}
        times = _list_further_times(table, roles, one)
        stated = [(WHERE, f"{column}=VALUE") for column in times]
        options |= {WHERE: tuple(chain.from_iterable(stated))[1:]} if times else {}
        known = {*roles.values(), DEGREES} - {PLANE}
        blanks = {
            flag
            for flag, values in options.items()
            if flag == WHERE or any(_is_blank(word, known) for word in values)
        }
        asks = [] if table["grid"] else [request_grid(table)]
        asks += [ASK_TIMES.format(list_names(times))] if times else []
        asks += [ASK_CONTRIBUTION] if "--contribution" in blanks else []
        asks += [REQUEST_CRS] if "--points-crs" in blanks else []
        question = one.question.format_map(roles)
        decided = (*one.asks, *asks)
        answers.append(FileAnswer(question, one.command, options, blanks, decided, one.python))
    return answers


def are_trips(description: Mapping[str, Any]) -> bool:
    """Return whether rows are trips, which have two places."""
    ends = ("ends", "cells_of_ends", "destination")
    return any(table[one] for table in description.get("tables", ()) for one in ends)


def _are_dated(files: Sequence[FilePath]) -> bool:
    """Test whether the names of several files, or members of an archive, say a period each."""
    names = [Path(one).name for one in files]
    if len(files) == 1:
        names = list_members(Path(files[0]))
    periods = {*map(find_period, names)}
    return len(periods) == len(names) > 1 and None not in periods


def _name_place(
    roles: Mapping[str, str], table: Mapping[str, Any], question: FileQuestion
) -> dict[str, tuple[str, ...]] | None:
    """Return the options for the place of a row; None where no column says it."""
    if {"x", "y"} <= roles.keys():
        crs = {"--points-crs": (roles["crs"],)} if question.records else {}
        return {"--x": (roles["x"],), "--y": (roles["y"],), **crs}
    if "code" in roles:
        return {"--code": (roles["code"],)}
    return {} if table["points"] else None


def _is_blank(word: str, known: Collection[str]) -> bool:
    """Test whether a word is in capitals, and no column, nor several with commas between them."""
    return word.isupper() and word not in known and not {*word.split(",")}.issubset(known)


def _list_further_times(
    table: Mapping[str, Any], roles: Mapping[str, str], question: FileQuestion
) -> list[str]:
    """List columns of times, such as hours, by which a cell has several counts in a period."""
    if not ("{period}" in question.columns and "{count}" in question.columns):
        return []
    return [one for one in table["times"] if one not in roles["period"].split(",")]


def _name_grid(table: Mapping[str, Any], roles: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the option for the grid of a table's codes, or what stands for it."""
    if table["grid"]:
        return {"--grid": (str(table["grid"]),)}
    words = OF_GRID.split()
    if "from_row" in roles:
        words = OF_ROWS.split()
    elif "code" in roles and "x" not in roles and not table["grids"]:
        words = OF_UNITS.split()
    elif "origin" in roles and not table["grids"]:
        words = OF_OUTLINES.split()
    return {flag: (value,) for flag, value in zip(words[::2], words[1::2], strict=True)}
