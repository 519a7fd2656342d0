"""Persons, households and mean size of every cell in one table, with intervals of each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from geodp.features.households.estimates import HouseholdErrors
from geodp.io.folder.publication import write_rows
from geodp.io.write.uncertainty import RowErrors, six_digits, widen
from geodp.io.write.view import View
from geodp.release.release import Release
from geodp.table.index import Joint
from geodp.typing import KeyArray

NAME = "persons-and-households"
"""Name of the files, without their endings."""

COUNTS = ("persons", "households", "mean_size")
"""Columns of counts and of their ratio."""

ENDS = ("low", "high")
"""Endings of the columns of a 95 % interval."""

ERROR = "standard_error"
"""Ending of the columns of standard errors of counts."""

COLUMNS = tuple(
    f"{name}{end}"
    for name in COUNTS
    for end in ("", *([] if name == COUNTS[2] else [f"_{ERROR}"]), *(f"_{end}" for end in ENDS))
)
"""Columns after those that name the cell."""

DECIMALS = 4
"""Decimals of mean sizes."""


@dataclass(frozen=True, eq=False)
class JointColumns(RowErrors):
    """The columns after persons: their errors, households, and the mean size.

    Attributes
    ----------
    errors : HouseholdErrors
    """

    errors: HouseholdErrors | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return COLUMNS[1:]

    def columns(self, key: KeyArray, rows: slice) -> list[NDArray[np.float64]]:
        """Return the columns of cells: int64[n] households, float64[n] others; see `RowErrors`.

        Mean sizes are masked where they are not estimable. Ends of intervals are rounded outwards.
        """
        assert self.errors is not None  # as only `view_joint` makes these columns
        bounds = self.errors.of_cells(key)
        persons, homes = (
            [six_digits(one.error), *widen(one.low, one.high)]
            for one in (bounds.persons, bounds.households)
        )
        count = bounds.households.count.astype(np.int64)
        unknown = np.isnan(bounds.mean_size)
        means = (
            np.ma.masked_array(each(mean * 10**DECIMALS) / 10**DECIMALS, unknown)
            for each, mean in (
                (np.round, bounds.mean_size),
                (np.floor, bounds.mean_low),
                (np.ceil, bounds.mean_high),
            )
        )
        return [*persons, count, *homes, *means]


def view_joint(persons: Release, errors: HouseholdErrors) -> View:
    """Return the view of persons with the columns of households and of the mean size."""
    # The id of the table of persons is none of this table's.
    card = replace(persons.view(COUNTS[0]).card, release_id="")
    return View(persons.table, card, JointColumns(0.0, None, errors))


def write_joint(view: View, max_size: int, folder: Path) -> Joint:
    """Write the table in every format that the grid can have; return the entries of the index.

    Parameters
    ----------
    view : View
        See `view_joint`.
    max_size : int
        Most persons of a household.
    folder : Path
    """
    return write_rows(view, NAME, folder, describe_rows(max_size))


def describe_rows(max_size: int) -> str:
    """Describe the rows for the index."""
    return (
        "persons, households and mean size (persons for each household) of every cell with "
        "released households, with standard errors and 95 % intervals; mean sizes are empty where "
        "they are not estimable. A cell that is not listed may have as many households as the card "
        f"of households says of cells that are not listed, with at most {max_size} persons each"
    )
