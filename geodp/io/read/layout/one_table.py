"""The contribution that the layout of one official table states, recognised by its header.

A publisher's layout documents how often a person is in one of its tables. That says nothing about
two tables, two years, a copy or counts that are added up: there the operator is asked.
"""

from __future__ import annotations

from collections.abc import Sequence

from geodp.io.read.layout.presets import Preset, match, presets
from geodp.io.read.rows.columns import Table
from geodp.privacy.assumption import ContributionBound


class OneTable:
    """The headers of all tables of a call, and whether they are one table of one layout.

    Several files are one table where the layout is published in sheets and all of them have the
    same header, which carries the table's id. That no cell is in two of them is for whoever reads
    the rows: readers refuse it unless counts are to be added up.
    """

    def __init__(self) -> None:
        self._header: tuple[tuple[str, ...], tuple[str, ...]] | None = None
        self._value = -1
        self._tables = 0
        self._layouts: tuple[Preset, ...] = ()

    def add(self, table: Table, values: Sequence[int]) -> None:
        """Take in the header of another table.

        Parameters
        ----------
        table : Table
        values : sequence of int
            Positions of the columns of counts.
        """
        labels = tuple(getattr(table, "labels", ()))
        header = tuple(table.columns), labels
        self._tables += 1
        if self._tables == 1:
            self._header = header
            self._value = values[0]
            self._layouts = _layouts_of(*header, values)
        elif header != self._header or list(values) != [self._value]:
            self._layouts = ()
        else:
            sheets = (one for one in self._layouts if match(one.sheets, table.columns))
            self._layouts = tuple(sheets)

    def bound(self) -> ContributionBound | None:
        """Return the bound that the layout states; None where these are not one table of one."""
        if len(self._layouts) != 1:
            return None
        (layout,) = self._layouts
        assert layout.contribution is not None  # as all of them state one
        return ContributionBound(layout.contribution, "layout", f"{layout.name} ({layout.title})")


def _layouts_of(
    columns: Sequence[str], labels: Sequence[str], values: Sequence[int]
) -> tuple[Preset, ...]:
    """List the layouts with such a header that state a contribution for this column of counts."""
    if len(values) != 1:
        return ()
    (value,) = values
    title = labels[value].strip() if labels else ""
    names = [*columns, *(label.strip() for label in labels)]
    fitting = [one for one in presets() if one.columns and one.fits_columns(columns)]
    if len(fitting) != 1 or fitting[0].contribution is None:
        return ()
    counted = match(str(fitting[0].options["value"]), names)
    chosen = {columns[value].strip(), title} - {""}
    return tuple(fitting) if chosen & {one.strip() for one in counted} else ()
