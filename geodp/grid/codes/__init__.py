"""Published cell codes and the integer cell indices behind them.

A *code* is the label under which a cell is published ("533946113", "1kmN2599E4695"); its
*index* is the place ``(row, col)`` on the lattice of a code system, row counting northwards
and col eastwards. Between the two there is integer arithmetic only.

Sources: JIS X 0410:2002 (area partition codes, with the integrated partitions); INSPIRE
D2.8.I.2 v3.1 (geographical grid systems); Regulation (EU) 2018/1799, article 3 (code and
extent of the 1 km reference grid).
"""

from __future__ import annotations

from geodp.errors import UsageError
from geodp.grid.codes.inspire import SIZES, InspireGrid
from geodp.grid.codes.jis import LEVELS, JISMesh, infer_jis_level
from geodp.grid.codes.national import NationalGrid, national_grid
from geodp.grid.codes.quadkey import Quadkeys
from geodp.grid.codes.system import CodeSystem

__all__ = [
    "CodeSystem",
    "InspireGrid",
    "JISMesh",
    "NationalGrid",
    "Quadkeys",
    "code_system",
    "infer_jis_level",
]


def code_system(spec: str) -> CodeSystem:
    """Return the code system of a name; UsageError if unknown.

    Names are "jis:<level>"; "inspire:<size>", size "1km", or "1000" for metres; "cbs:<size>",
    "statpop:100m", "national:<epsg>:<size>"; "quadkey:<zoom>".

    >>> code_system("jis:half"), code_system("inspire:1km") == code_system("inspire:1000")
    (JISMesh(level='half', crs='EPSG:6668'), True)
    """
    family, _, size = spec.partition(":")
    if family == "jis" and size in LEVELS:
        return JISMesh(size)
    for metres, label in SIZES.items():
        if family == "inspire" and size in (label, str(metres)):
            return InspireGrid(metres)
    if (found := national_grid(spec)) is not None:
        return found
    if family == "quadkey" and size.isdecimal() and len(size) < 3:
        return Quadkeys(int(size))
    raise UsageError(
        f"code systems are jis:<level>, level one of {', '.join(LEVELS)}, "
        f"inspire:<size>, size one of {', '.join(SIZES.values())}, cbs:<size>, statpop:100m, "
        "national:<epsg>:<size> and quadkey:<zoom>"
    )
