"""Completeness of text tables: the last line has an end, as all others have."""

from __future__ import annotations

from geodp.table.source import Fact


def fact_of_end(*, ended: bool) -> Fact:
    """Make the fact on the last line of a text: without its end, the file may have been cut off."""
    return Fact("line end at the end", "there" if ended else "missing", "file")
