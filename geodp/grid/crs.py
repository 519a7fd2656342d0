"""Text of a CRS, and whether one that a file or an array states means the plane of a grid."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from geodp.errors import UsageError

MOST_OF_A_NAME = 30
"""Characters of a CRS that a sentence repeats."""

_FILE = re.compile(r"(init|grids|file|catalog)\s*=(?!\s*@null)")
"""Parameters of PROJ's strings whose values are files."""


def same_plane(written: Any, wanted: str | None) -> bool:
    """Whether coordinates in a CRS are coordinates on a grid.

    Of a compound CRS its horizontal part counts, as heights move no cell; of a bound CRS the one
    that it is bound to another, and the order of axes is passed over, as rasters and arrays say x
    and y by themselves.

    Parameters
    ----------
    written : str, mapping or None
        Text that pyproj takes (WKT, an authority's code), or the attributes of a grid mapping by
        the CF conventions.
    wanted : str or None
        Of a place of the grid.
    """
    if written is None or wanted is None:
        return written is None and wanted is None
    found, known = _read(written), _read(wanted)
    if found is None or known is None:
        return False
    if found.equals(known, ignore_axis_order=True):
        return True
    # Old WKT leaves out the axes, and PROJ takes such a CRS for another than one that has them.
    pairs = [(one.geodetic_crs, one.coordinate_operation) for one in (found, known)]
    return (
        bool(found.is_projected and known.is_projected)
        and bool(pairs[0][0].equals(pairs[1][0], ignore_axis_order=True))
        and _definition(pairs[0][1]) == _definition(pairs[1][1])
        and _units(found) == _units(known)
    )


def name_plane(written: str) -> str:
    """Return the horizontal part of a CRS as text: the code of an authority, or WKT."""
    found = _read(written)
    if found is None:
        return written
    authority = found.to_authority(min_confidence=100)
    return ":".join(authority) if authority else str(found.to_wkt())


def _read(written: Any) -> Any:
    """Return the horizontal part of a CRS as pyproj's, or None for what is none."""
    from pyproj import CRS  # late: it is slow, and grids of code systems do without
    from pyproj.exceptions import CRSError

    try:
        if isinstance(written, Mapping):
            return _horizontal(CRS.from_cf(dict(written)))
        return _horizontal(CRS.from_user_input(written))
    except (CRSError, KeyError, TypeError, ValueError):
        return None


def _definition(projection: Any) -> tuple[Any, ...]:
    """Return the method of a projection and its parameters in the units of the SI."""
    parameters = sorted(
        (one.name, round(one.value * one.unit_conversion_factor, 12)) for one in projection.params
    )
    return projection.method_name, parameters


def _units(crs: Any) -> list[float]:
    return [axis.unit_conversion_factor for axis in crs.axis_info]


def _horizontal(crs: Any) -> Any:
    if crs.is_bound:
        return _horizontal(crs.source_crs)
    if crs.is_compound:
        return _horizontal(crs.sub_crs_list[0])
    return crs.to_2d() if len(crs.axis_info) > 2 else crs


def normalise_crs(crs: Any) -> str | None:
    """Return a CRS as text that GDAL and PROJ know; objects of rasterio and pyproj say theirs."""
    if crs is None:
        return None
    from pyproj import CRS  # late: it is slow, and grids of code systems do without
    from pyproj.exceptions import CRSError

    text = crs if isinstance(crs, str) else getattr(crs, "to_string", lambda: None)()
    if _FILE.search(str(text)):
        raise UsageError(
            "A CRS that names files is not read; name one such as EPSG:3035.",
            code="crs-names-files",
        )
    try:
        CRS.from_user_input(text)
    except (CRSError, UnicodeError):  # also half a surrogate pair
        raise UsageError(
            "The CRS is unknown; name one such as EPSG:3035.", code="crs-unknown"
        ) from None
    return str(text)


def name_crs(crs: str) -> str:
    """Return a CRS with its unit for people: ``EPSG:3035 (metre)``; of long texts the name."""
    from pyproj import CRS
    from pyproj.exceptions import CRSError

    try:
        known = CRS.from_user_input(crs)
    except CRSError:
        return "its CRS"
    short = crs if len(crs) < MOST_OF_A_NAME else f"the CRS {known.name}"
    return f"{short} ({unit_of(crs)})"


def unit_of(crs: str) -> str:
    """Return the unit of a CRS's coordinates, such as "metre" or "degree"; "unknown" for none."""
    from pyproj import CRS

    axes = CRS.from_user_input(crs).axis_info
    return str(axes[0].unit_name) if axes else "unknown"
