"""The form of H3's indices, which is told without the library."""

from __future__ import annotations

BASE_CELLS, DIGITS, BITS = 122, 15, 3
"""Cells of resolution 0; digits of an index; bits of each."""

UNUSED = 7
"""The digit of every resolution finer than the cell's."""


def resolution_of(code: str) -> int | None:
    """Return the resolution of the H3 cell that a text is the index of; None for no such index.

    Its 15 hexadecimal digits hold the mode (8), the resolution, the base cell and 15 digits of
    three bits, of which those beyond the resolution are 7, and no other is.

    >>> resolution_of("872830828ffffff"), resolution_of("872830828fffff0"), resolution_of("8728")
    (7, None, None)
    """
    if len(code) != DIGITS or code[0] != "8" or not {*code} <= {*"0123456789abcdef"}:
        return None
    resolution, number = int(code[1], 16), int(code[2:], 16)
    digits = [number >> BITS * place & UNUSED for place in range(DIGITS - 1, -1, -1)]
    used = digits[:resolution]
    if number >> BITS * DIGITS >= BASE_CELLS or UNUSED in used:
        return None
    return resolution if {*digits[resolution:]} <= {UNUSED} else None
