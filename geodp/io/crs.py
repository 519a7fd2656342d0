"""Compare the CRS that a file declares with that of the grid.

Versions of PROJ describe one CRS with other names, members of its datum and order of keys, so that
texts cannot be compared.
"""

from __future__ import annotations

from typing import Any

from pyproj import CRS
from pyproj.exceptions import CRSError


def same_crs(written: Any, wanted: str | None) -> bool:
    """Test whether a CRS in a file is one that the grid names.

    Parameters
    ----------
    written : dict, str or None
        PROJJSON as plain values, whose identifier must be the same too as many readers look at
        nothing else; or WKT, as GDAL writes it: the order of its axes is passed over.
    wanted : str or None
        CRS of one of the grid's places.
    """
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
