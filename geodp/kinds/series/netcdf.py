"""A series as NetCDF: one variable over time, y and x, by the CF conventions 1.8."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from geodp.io.write.export.netcdf import add_variable, why_not, write_counts, write_places
from geodp.io.write.view import View
from geodp.kinds.series.kind import SeriesCard
from geodp.release.periods import Periods

__all__ = ["ENDING", "MEDIA_TYPE", "WHAT", "why_not", "write"]

ENDING = "nc"
MEDIA_TYPE = "application/x-netcdf"
WHAT = (
    "all snapshots as NetCDF (CF 1.8): counts over time, y and x; cells of the domain that the "
    "tables do not list are 0, cells outside it have the fill value"
)


def write(path: Path, periods: Periods, snapshots: Sequence[View], card: SeriesCard) -> None:
    """Write the file."""
    from scipy.io import netcdf_file

    place = snapshots[0].table.grid.places[0]
    with netcdf_file(path, "w", version=2) as file:
        _write_attributes(file, card)
        file.createDimension("time", len(snapshots))
        file.createDimension("y", place.rows)
        file.createDimension("x", place.cols)
        file.createDimension("bounds", 2)
        _write_times(file, periods)
        write_places(file, place)
        write_counts(file, snapshots, ("time", "y", "x"))


def _write_attributes(file: Any, card: SeriesCard) -> None:
    """Write the global attributes of the file."""
    attributes = {
        "Conventions": "CF-1.8",
        "title": card.name,
        "source": f"{card.software}, {card.guarantee.mechanism}",
        "comment": card.guarantee.in_words,
        "geodp_spends": card.guarantee.spends,
        "geodp_each_spends": card.guarantee.each_spends,
        "geodp_unit": card.guarantee.unit,
        "geodp_private": "yes" if card.private else "NO",
        "geodp_release_ids": " ".join(one.release_id for one in card.snapshots),
    }
    for name, value in attributes.items():
        setattr(file, name, value.encode())


def _write_times(file: Any, periods: Periods) -> None:
    """Write the start of every period, and its bounds."""
    starts, ends = periods.starts, periods.ends
    time = add_variable(file, "time", np.dtype("f8"), ("time",))
    time.standard_name = "time"
    time.units = f"hours since {periods.origin}"
    # CF's standard calendar is Julian before October 1582, ISO 8601 Gregorian throughout.
    time.calendar = "standard" if periods.names[0] >= "1582-11" else "proleptic_gregorian"
    time.axis = "T"
    time.bounds = "time_bounds"
    time[:] = starts
    bounds = add_variable(file, "time_bounds", np.dtype("f8"), ("time", "bounds"))
    bounds[:] = np.stack([starts, ends], axis=1)
