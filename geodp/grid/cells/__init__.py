"""Cells of discrete global grid systems, H3 and S2, as areal units; look-up of these systems.

A system is found by its name, or as the one whose cells are a grid's units.
"""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np

from geodp.errors import UsageError
from geodp.grid.cells.h3_cells import H3
from geodp.grid.cells.s2_cells import S2
from geodp.grid.cells.system import CellSystem
from geodp.grid.hierarchy import COUNTED_AS, Hierarchy

SYSTEMS: dict[str, CellSystem] = {one.name: one for one in (H3(), S2())}
"""All systems of cells, by the prefix of a grid's name."""


def find_cells(spec: str) -> tuple[CellSystem, int]:
    """Return the system and level of ``h3:RESOLUTION`` or ``s2:LEVEL``; UsageError otherwise.

    >>> system, level = find_cells("h3:7")
    >>> system.title, level
    ('H3', 7)
    """
    name, _, level = spec.partition(":")
    if name not in SYSTEMS:
        raise UsageError(
            f"Global systems of cells are {', '.join(SYSTEMS)}; name one with a level, as in h3:7.",
            code="cell-system-unknown",
        )
    digits = re.fullmatch("0|[1-9][0-9]?", level)
    SYSTEMS[name].require_level(int(level) if digits else -1)
    return SYSTEMS[name], int(level)


def is_cells(spec: str | None) -> bool:
    """Whether a grid's name denotes cells of H3 or S2, of any level.

    >>> is_cells("s2:10"), is_cells("jis:half"), is_cells(None)
    (True, False, False)
    """
    return str(spec).partition(":")[0] in SYSTEMS


@lru_cache(maxsize=4)
def cells_of(table: Hierarchy) -> tuple[CellSystem, int] | None:
    """Return the system and level of a table's finest units, if they are cells of H3 or S2.

    The last level has their name (``h3_7``), and all its codes but those of units for other codes
    are cells of that level in their usual spelling. None for any other table.
    """
    match = re.fullmatch(r"([a-z0-9]+)_([0-9]{1,2})", table.levels[-1])
    if match is None or match[1] not in SYSTEMS:
        return None
    system, level, codes = SYSTEMS[match[1]], int(match[2]), np.array(table.codes[-1], np.str_)
    numbers = [system.hexadecimal(code) for code in codes.tolist()]
    cells = np.array([number or 0 for number in numbers], np.uint64)
    plain = (system.levels_of(cells) == level) & (system.format(cells) == codes)
    # The name of a level alone proves nothing, as a publisher may call any column h3_7; one code
    # may differ, or those that `add_other` adds to every level, and to the source.
    others = {*codes[~plain].tolist()}
    added = COUNTED_AS in table.source and all(others <= {*above} for above in table.codes)
    few = len(others) <= 1 or added
    return (system, level) if few and len(others) < codes.size else None
