"""Suggestion of a description of unknown codes, as far as their form allows."""

from __future__ import annotations

import re
from collections.abc import Sequence

AXES = {
    **dict.fromkeys(("N", "Y", "R", "ROW", "S"), "north"),
    **dict.fromkeys(("E", "X", "C", "COL", "W"), "east"),
}
"""Letters before a number that identify its axis."""

SHORTEST = 8
"""Minimal digits of a number that may be two coordinates written one after the other."""

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
    """Return a TOML file for codes of an unknown grid; empty if their form gives no clue.

    A form is recognised if all codes have the same letters and two numbers that vary, or are one
    number with the same number of digits. No number of a code appears in the text.

    Examples
    --------
    >>> [line for line in suggest_description(["X120Y455", "X121Y460"]).splitlines()][6]
    'codes = "X{east}Y{north}"   # {east/1000}: in kilometres; {east:7}: seven digits'
    >>> suggest_description(["Oslo", "Bergen"])
    ''
    """
    parted = [_PARTS.findall(code.strip()) for code in codes]
    # One code is no evidence of what varies between codes.
    if len(parted) < 2 or len({tuple(map(_letters, parts)) for parts in parted}) > 1:
        return ""
    columns = [*zip(*parted, strict=True)]
    # Numbers that are the same in all codes, such as a size or an EPSG code, are literals.
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
    pieces = [
        f"{{{fields[at]}}}" if at in fields else _escape(column[0])
        for at, column in enumerate(columns)
    ]
    return _TEXT.format(codes="".join(pieces), advice=advice)


def _letters(part: str) -> str:
    return "0" if part.isdecimal() else part


def _axis(before: str) -> str:
    match = re.search(r"[A-Za-z]+$", before.rstrip("_-: "))
    return AXES.get(match[0].upper()[-3:], AXES.get(match[0].upper()[-1:], "")) if match else ""


def _of_one_number(codes: Sequence[str]) -> str:
    lengths = {len(code) for code in codes}
    length = lengths.pop()
    if lengths or length < SHORTEST:
        return ""
    # Northings in metres often have a digit more than eastings: the odd digit goes to them.
    half = length // 2
    spelling = f"{{east:{half}}}{{north:{length - half}}}"
    return _TEXT.format(codes=spelling, advice="or north first; {east/100:4}: in hectometres")


def _escape(text: str) -> str:
    """Escape the braces and quotes of a literal for a spelling."""
    doubled = text.replace("{", "{{").replace("}", "}}")
    return doubled.replace("\\", "\\\\").replace('"', '\\"')
