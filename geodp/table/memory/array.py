"""What an array of xarray says beside its numbers: packing, missing values, unit and CRS.

``attrs`` hold what is still to be applied, ``encoding`` what was applied when a file was opened: so
xarray and rioxarray keep them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.errors import UsageError
from geodp.grid.crs import same_plane
from geodp.table.source import ARRAY_IN_MEMORY, Fact
from geodp.table.stored import (
    Stored,
    describe_stored,
    exact,
    read_stored,
    require_counts,
    signed_as,
)

PACKED = ("scale_factor", "add_offset")
NAMES = ("spatial_ref", "crs")
"""Coordinates that hold a CRS where nothing names one."""


def numbers_of(array: Any, dimensions: Sequence[str]) -> NDArray[Any]:
    """Return an array's numbers in an order of dimensions, in the type that ``_Unsigned`` says.

    UsageError where they are no real numbers.
    """
    dense = np.asarray(array.transpose(*dimensions).values)
    if dense.dtype.kind == "b":
        return dense.astype(np.uint8)
    if dense.dtype.kind not in "iuf":
        raise UsageError(
            f"Counts are real numbers, and the array has the type {dense.dtype}; convert it first: "
            "array.astype('int64').",
            code="array-not-real",
        )
    return dense.view(signed_as(array.attrs, dense.dtype))


def read_array(
    array: Any, dtype: np.dtype[Any], unit: float | None, missing: Sequence[float]
) -> Stored:
    """Return how an array's numbers of a type mean counts; see :func:`read_stored`.

    UsageError for numbers that are no counts, and for packing that is said twice.
    """
    attributes, applied = dict(array.attrs), dict(array.encoding)
    require_counts(attributes, unit)
    before = [name for name in PACKED if applied.get(name) is not None]
    if before and any(attributes.get(name) is not None for name in PACKED):
        raise UsageError(
            "The array says in attrs that it is still packed and in encoding that it is not "
            f"({before[0]}); delete the one that is wrong.",
            code="array-packed-twice",
        )
    found = read_stored(attributes, dtype, unit=unit, missing=missing)
    if before:
        found = _unpack_limits(found, applied)
    written = applied.get("dtype")
    if dtype.kind == "f" and written is not None and np.dtype(written).kind == "f":
        found = replace(found, digits=np.finfo(np.dtype(written)).nmant + 1)
    return found


def describe_array(
    array: Any,
    stored: Stored,
    dtype: np.dtype[Any],
    unit: float | None,
    missing: Sequence[float],
) -> list[Fact]:
    """Return the facts of an array, as :func:`describe_stored` does."""
    found = [ARRAY_IN_MEMORY]
    found += describe_stored(stored, str(dtype), unit, missing)
    found += [
        Fact(f"{name}, applied before", str(array.encoding[name]), "file")
        for name in (*PACKED, "_FillValue", "missing_value")
        if array.encoding.get(name) is not None
    ]
    if array.attrs.get("units"):
        found.append(Fact("unit", str(array.attrs["units"]), "file"))
    return found


def require_plane(array: Any, wanted: str | None) -> None:
    """Raise UsageError where an array states another CRS than a grid's.

    One that states none is taken by its coordinates, which are those of the grid.
    """
    for written in _crs_of(array):
        if not same_plane(written, wanted):
            raise UsageError(
                f"The array is in another CRS than the grid ({wanted}), or in none that is known; "
                "choose a grid in its CRS, as warping makes counts of fractions.",
                code="array-crs-differs",
            )


def _unpack_limits(stored: Stored, applied: dict[str, Any]) -> Stored:
    """Return limits of valid values, which files state of packed numbers, of unpacked ones."""
    scale = exact(np.asarray(applied.get("scale_factor", 1)).item())
    offset = exact(np.asarray(applied.get("add_offset", 0)).item())
    limits = [
        None if one is None else exact(one) * scale + offset for one in (stored.low, stored.high)
    ]
    if scale < 0:
        limits.reverse()
    room = abs(scale) / Fraction(4)  # unpacking rounds, and the next packed number is a scale away
    low, high = limits
    return replace(
        stored,
        low=None if low is None else float(low - room),
        high=None if high is None else float(high + room),
    )


def _crs_of(array: Any) -> Iterator[Any]:
    """Yield every CRS that an array states: of its grid mapping, its attribute, its accessor."""
    named = array.attrs.get("grid_mapping") or array.encoding.get("grid_mapping")
    name = str(named or "").split(":")[0].strip()
    if name and name not in array.coords:
        raise UsageError(
            f"The array names its CRS ({name}) and does not hold it; open the file with "
            "decode_coords='all', or delete the attribute grid_mapping.",
            code="array-crs-not-held",
        )
    for one in {name, *NAMES} & {*array.coords}:
        attributes = array.coords[one].attrs
        text = attributes.get("crs_wkt") or attributes.get("spatial_ref")
        if text or "grid_mapping_name" in attributes:
            yield text or dict(attributes)
        turned = str(attributes.get("GeoTransform", "")).split()
        if len(turned) == 6 and any(turned[number].strip("-+0.e") for number in (2, 4)):
            raise UsageError(
                "The array is rotated (GeoTransform), so that its cells are not those of a grid.",
                code="array-rotated",
            )
    for stated in (array.attrs.get("crs"), getattr(getattr(array, "rio", None), "crs", None)):
        if stated is not None:
            yield stated.to_wkt() if hasattr(stated, "to_wkt") else str(stated)
