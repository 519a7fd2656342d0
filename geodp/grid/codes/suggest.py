"""A description of unknown codes to be filled in, as far as their form tells it."""

from __future__ import annotations

import re
from collections.abc import Sequence

AXES = {
    **dict.fromkeys(("N", "Y", "R", "ROW", "S"), "north"),
    **dict.fromkeys(("E", "X", "C", "COL", "W"), "east"),
}
"""Letters in front of a number that tell what it is."""

SHORTEST = 8
"""Digits of a number that may be two coordinates written one after the other."""

_PARTS = re.compile(r"[0-9]+|[^0-9]+")
_TEXT = """\
name = "mine"
title = ""    # what the publisher calls the grid
source = ""   # where the publisher says how its codes are made
crs = "EPSG:"
sizes = {{ 1km = 1000 }}   # sides of cells in units of the CRS, by their labels
extent = []   # west, south, east, north of all cells, in units of the CRS
codes = "{codes}"   # {advice}
examples = {{}}   # a code = [x, y] of its lower left corner
"""


def suggest_description(codes: Sequence[str]) -> str:
    """Return a TOML file for codes of no known grid; empty where their form tells nothing.

    Codes fit where all of them have the same letters, and two numbers that differ from code to
    code, or are one number of as many digits in every code. No number of a code is in the text.

    Examples
    --------
    >>> [line for line in suggest_description(["X120Y455", "X121Y460"]).splitlines()][6]
    'codes = "X{east}Y{north}"   # {east/1000}: in kilometres; {east:7}: seven digits'
    >>> suggest_description(["Oslo", "Bergen"])
    ''
    """
    parted = [_PARTS.findall(code.strip()) for code in codes]
    if len(parted) < 2 or len({tuple(map(_letters, parts)) for parts in parted}) > 1:
        return ""
    columns = [*zip(*parted, strict=True)]
    differ = [at for at, column in enumerate(columns) if len({*column}) > 1]
    if len(columns) == 1 and differ:
        return _of_one_number(columns[0])
    if len(differ) != 2:
        return ""
    axes = [_axis(columns[at - 1][0]) if at else "" for at in differ]
    advice = "{east/1000}: in kilometres; {east:7}: seven digits"
    if {*axes} != {"east", "north"}:
        axes = ["east", "north"]
        advice = "or north first; {east/1000}: in kilometres"
    fields = dict(zip(differ, axes, strict=True))
    words = [
        f"{{{fields[at]}}}" if at in fields else _escape(column[0])
        for at, column in enumerate(columns)
    ]
    return _TEXT.format(codes="".join(words), advice=advice)


def _letters(part: str) -> str:
    return "0" if part.isdecimal() else part


def _axis(before: str) -> str:
    found = re.search(r"[A-Za-z]+$", before.rstrip("_-: "))
    return AXES.get(found[0].upper()[-3:], AXES.get(found[0].upper()[-1:], "")) if found else ""


def _of_one_number(codes: Sequence[str]) -> str:
    lengths = {len(code) for code in codes}
    length = lengths.pop()
    if lengths or length < SHORTEST:
        return ""
    half = length // 2  # northings of metres often have a digit more
    spelling = f"{{east:{half}}}{{north:{length - half}}}"
    return _TEXT.format(codes=spelling, advice="or north first; {east/100:4}: in hectometres")


def _escape(text: str) -> str:
    """Return a literal of every code with the braces and quotes of a spelling."""
    doubled = text.replace("{", "{{").replace("}", "}}")
    return doubled.replace("\\", "\\\\").replace('"', '\\"')
