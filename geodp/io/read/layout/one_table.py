"""Contribution bound that the layout of one official table states, recognised by its header.

A publisher's layout documents how often a person occurs in one of its tables. That says nothing
about two tables, two years, a copy or counts that are added up: then the operator must declare it.
"""

from __future__ import annotations

from collections.abc import Sequence

from geodp.io.read.layout.presets import Preset, find_layout
from geodp.io.read.rows.columns import InputTable
from geodp.io.read.rows.names import match
from geodp.privacy.assumption import ContributionBound


class OneTable:
    """Headers of all tables of a call, and whether they are one table of one layout.

    Several files are one table if the layout is published in sheets and all of them have the
    same header, which carries the table's id. That no cell is in two of them is checked with the
    rows: readers refuse it unless counts are to be added up.
    """

    def __init__(self) -> None:
        self._header: tuple[tuple[str, ...], ...] | None = None
        self._values: list[int] = []
        self._layout: Preset | None = None

    def add(self, table: InputTable, values: Sequence[int]) -> None:
        """Record the header of another table.

        Parameters
        ----------
        table : InputTable
        values : sequence of int
            Positions of the columns of counts.
        """
        columns, labels = tuple(table.columns), tuple(getattr(table, "labels", ()))
        if self._header is None:
            self._header, self._values = (columns, labels), [*values]
            self._layout = _find_layout(columns, labels, values)
        elif self._layout is not None:
            same = (columns, labels) == self._header and [*values] == self._values
            sheets = self._layout.sheets
            # Two tables of one layout may hold the same people, so only sheets of one table keep
            # the bound.
            if not (same and sheets and match(sheets, columns)):
                self._layout = None

    def bound(self) -> ContributionBound | None:
        """Return the bound that the layout states; None unless all tables are one of its tables."""
        layout = self._layout
        if layout is None or layout.contribution is None:
            return None
        return ContributionBound(layout.contribution, "layout", f"{layout.name} ({layout.title})")


def _find_layout(
    columns: Sequence[str], labels: Sequence[str], values: Sequence[int]
) -> Preset | None:
    """Find the one layout with such a header that states a contribution for these counts."""
    layout = find_layout(columns)
    if len(values) != 1 or layout is None or layout.contribution is None:
        return None
    (value,) = values
    titles = {columns[value].strip(), labels[value].strip() if labels else ""} - {""}
    names = [*columns, *(label.strip() for label in labels)]
    counted = {name.strip() for name in match(str(layout.options["value"]), names)}
    return layout if titles & counted else None
