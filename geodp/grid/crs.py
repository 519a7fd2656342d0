"""Texts of CRSs, and whether the CRS of a file or an array is that of a grid."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from geodp.errors import UsageError

if TYPE_CHECKING:
    from pyproj import Transformer

MAX_NAME_LENGTH = 30
"""Maximal length of a CRS's text that a message repeats."""

_FILE = re.compile(r"(init|grids|file|catalog)\s*=(?!\s*@null)")
"""Parameters of PROJ's strings whose values are files."""


def same_plane(written: Any, wanted: str | None) -> bool:
    """Whether coordinates in one CRS are coordinates on the plane of another.

    A compound CRS is compared by its horizontal part, as heights move no cell, and a bound CRS by
    its source. The order of axes is ignored, as rasters and arrays define x and y themselves.

    Parameters
    ----------
    written : str, mapping or None
        Text that pyproj accepts (WKT, an authority's code), or the attributes of a CF grid mapping.
    wanted : str or None
        CRS of the grid.
    """
    if written is None or wanted is None:
        return written is None and wanted is None
    source, target = _read(written), _read(wanted)
    if source is None or target is None:
        return False
    if source.equals(target, ignore_axis_order=True):
        return True
    # Old WKT omits the axes, and PROJ does not equate such a CRS with one that has them.
    pairs = [(one.geodetic_crs, one.coordinate_operation) for one in (source, target)]
    return (
        bool(source.is_projected and target.is_projected)
        and bool(pairs[0][0].equals(pairs[1][0], ignore_axis_order=True))
        and _definition(pairs[0][1]) == _definition(pairs[1][1])
        and _units(source) == _units(target)
    )


def name_plane(written: str) -> str:
    """Return the horizontal part of a CRS as text: an authority's code, or WKT."""
    crs = _read(written)
    if crs is None:
        return written
    authority = crs.to_authority(min_confidence=100)
    return ":".join(authority) if authority else str(crs.to_wkt())


def _read(written: Any) -> Any:
    """Parse a CRS with pyproj and return its horizontal part, or None if it is invalid."""
    from pyproj import CRS  # late: it is slow, and grids of code systems do without
    from pyproj.exceptions import CRSError

    try:
        if isinstance(written, Mapping):
            return _horizontal(CRS.from_cf(dict(written)))
        return _horizontal(CRS.from_user_input(written))
    except (CRSError, KeyError, TypeError, ValueError):
        return None


def _definition(projection: Any) -> tuple[Any, ...]:
    """Return the method of a projection and its parameters in SI units."""
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


@lru_cache(64)
def open_transformer(source: Any, target: Any) -> Transformer:
    """Return the transformer of x and y, in this order, from one CRS into another.

    It is made once for each pair of CRSs, as that takes much longer than moving a few points.
    """
    from pyproj import Transformer

    return Transformer.from_crs(source, target, always_xy=True)


def normalise_crs(crs: Any) -> str | None:
    """Return a CRS as text for GDAL and PROJ; objects of rasterio and pyproj are converted."""
    if crs is None:
        return None
    from pyproj import CRS  # late: it is slow, and grids of code systems do without
    from pyproj.exceptions import CRSError

    text = crs if isinstance(crs, str) else getattr(crs, "to_string", lambda: None)()
    # PROJ opens files that a string names. A CRS may come from an untrusted file, which must not
    # make geodp read others.
    if _FILE.search(str(text)):
        raise UsageError(
            "A CRS that refers to files is refused; give one such as EPSG:3035.",
            code="crs-names-files",
        )
    try:
        CRS.from_user_input(text)
    except (CRSError, UnicodeError):  # UnicodeError: half a surrogate pair
        raise UsageError(
            "The CRS is unknown; give one such as EPSG:3035.", code="crs-unknown"
        ) from None
    return str(text)


def name_crs(crs: str) -> str:
    """Return a CRS with its unit for people: ``EPSG:3035 (metre)``.

    Long texts are replaced by the name.
    """
    from pyproj import CRS
    from pyproj.exceptions import CRSError

    try:
        parsed = CRS.from_user_input(crs)
    except CRSError:
        return "its CRS"
    short = crs if len(crs) < MAX_NAME_LENGTH else f"the CRS {parsed.name}"
    return f"{short} ({unit_of(crs)})"


def unit_of(crs: str) -> str:
    """Return the unit of a CRS's coordinates, such as "metre" or "degree", or "unknown"."""
    from pyproj import CRS

    axes = CRS.from_user_input(crs).axis_info
    return str(axes[0].unit_name) if axes else "unknown"


def same_crs(written: Any, wanted: str | None) -> bool:
    """Test whether a CRS in a file is one that the grid names.

    Versions of PROJ describe one CRS with other names, members of its datum and order of keys, so
    that texts cannot be compared.

    Parameters
    ----------
    written : dict, str or None
        PROJJSON as plain values, whose identifier must be the same too as many readers look at
        nothing else; or WKT, as GDAL writes it: the order of its axes is passed over.
    wanted : str or None
        CRS of one of the grid's places.
    """
    from pyproj import CRS
    from pyproj.exceptions import CRSError

    if written is None or wanted is None:
        return written is None and wanted is None
    try:
        expected = CRS.from_user_input(wanted)
        if isinstance(written, dict):
            # Readers such as QGIS look up the identifier alone, so an equal definition under
            # another identifier would place the cells elsewhere for them.
            same_id = written.get("id") == expected.to_json_dict().get("id")
            return same_id and bool(CRS.from_json_dict(written) == expected)
        # The order of axes in GDAL's WKT is not that of the data, which always have x before y.
        return bool(CRS.from_wkt(written).equals(expected, ignore_axis_order=True))
    except CRSError:
        return False
