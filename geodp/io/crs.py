"""Whether what a file says of its CRS means the grid's.

Versions of PROJ write one CRS with other words, members of its datum and order of names, so that
texts cannot be compared.
"""

from __future__ import annotations

from typing import Any

from pyproj import CRS
from pyproj.exceptions import CRSError


def same_crs(written: Any, wanted: str | None) -> bool:
    """Whether a CRS in a file is one that the grid names.

    Parameters
    ----------
    written : dict, str or None
        PROJJSON as plain values, whose identifier must be the same too as many readers look at
        nothing else; or WKT, as GDAL writes it: the order of its axes is passed over.
    wanted : str or None
        Of a place of the grid.
    """
    if written is None or wanted is None:
        return written is None and wanted is None
    try:
        known = CRS.from_user_input(wanted)
        if isinstance(written, dict):
            same_id = written.get("id") == known.to_json_dict().get("id")
            return same_id and bool(CRS.from_json_dict(written) == known)
        return bool(CRS.from_wkt(written).equals(known, ignore_axis_order=True))
    except CRSError:
        return False
