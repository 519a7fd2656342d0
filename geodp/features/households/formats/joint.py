"""Persons, households and mean size of every cell in one table, with intervals of each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from geodp.features.households.estimates import HouseholdErrors
from geodp.io.folder.manifest import sha256
from geodp.io.write import csv, geopackage, parquet
from geodp.io.write.uncertainty import RowErrors, six_digits, widen
from geodp.io.write.view import View
from geodp.release.release import Release
from geodp.table.card import File, LeftOut
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


FORMATS = {
    "csv": (csv.MEDIA_TYPE, csv.write_csv),
    "parquet": (parquet.MEDIA_TYPE, parquet.write_parquet),
    "gpkg": (geopackage.MEDIA_TYPE, geopackage.write_geopackage),
}
"""Media types and writers by the endings of files."""


def write_files(view: View, folder: Path) -> list[str]:
    """Write the table in every format that the grid can have; return the endings of the files.

    Parameters
    ----------
    view : View
        See `view_joint`.
    folder : Path
    """
    endings = [one for one in FORMATS if one != "gpkg" or why_no_package(view) is None]
    for ending in endings:
        FORMATS[ending][1](view, folder / f"{NAME}.{ending}")
    return endings


def why_no_package(view: View) -> str | None:
    """Return why there is no GeoPackage of a table; None if there is one."""
    return geopackage.why_no_geopackage(view.table.grid)


def write_joint(
    view: View, max_size: int, folder: Path
) -> tuple[tuple[File, ...], tuple[LeftOut, ...]]:
    """Write the table in every format; return the index's entries of files, and of missing ones.

    Parameters
    ----------
    view : View
        See `view_joint`.
    max_size : int
        Most persons of a household.
    folder : Path
    """
    entries = []
    for ending in write_files(view, folder):
        path, media_type = folder / f"{NAME}.{ending}", FORMATS[ending][0]
        what, columns = describe_rows(max_size), view.columns
        if ending == "csv" and csv.is_marked(path):
            what += "; begins with the byte order mark of UTF-8"
        if ending != "csv" and view.located:
            what, columns = f"{what}; with the outlines of the cells", (*columns, "geometry")
        entries.append((path.name, media_type, what, {"columns": columns}))
        if ending == "csv":
            types = csv.types_entry(NAME)
            entries.append((types.name, types.media_type, types.what, {}))
    files = tuple(
        File(name=name, media_type=kind, what=what, extras=extras, sha256=sha256(folder / name))
        for name, kind, what, extras in entries
    )
    why = why_no_package(view)
    return files, () if why is None else (LeftOut(f"{NAME}.gpkg", why),)


def describe_rows(max_size: int) -> str:
    """Describe the rows for the index."""
    return (
        "persons, households and mean size (persons for each household) of every cell with "
        "released households, with standard errors and 95 % intervals; mean sizes are empty where "
        "they are not estimable. A cell that is not listed may have as many households as the card "
        f"of households says of cells that are not listed, with at most {max_size} persons each"
    )
