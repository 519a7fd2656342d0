"""A CRS means a grid's plane, however it is written."""

import pyproj
import pytest
import rasterio

from geodp.grid.crs import name_plane, same_plane

WKT1 = pyproj.CRS("EPSG:3035").to_wkt("WKT1_GDAL")
"""Without axes, as old files have it."""

BOUND = pyproj.CRS("+proj=utm +zone=32 +ellps=bessel +towgs84=598,74,418,0,0,0,0 +units=m")


@pytest.mark.parametrize(
    ("written", "wanted", "same"),
    [
        ("EPSG:3035", "EPSG:3035", True),
        (WKT1, "EPSG:3035", True),
        (WKT1.replace("4321000", "4321001"), "EPSG:3035", False),
        (rasterio.crs.CRS.from_epsg(3035).to_wkt(version="WKT1_ESRI"), "EPSG:3035", True),
        (rasterio.crs.CRS.from_epsg(6677).to_wkt(version="WKT1_ESRI"), "EPSG:6677", True),
        (rasterio.crs.CRS.from_epsg(6677).to_wkt(version="WKT1_ESRI"), "EPSG:6678", False),
        (pyproj.CRS("EPSG:4326").to_wkt(), "OGC:CRS84", True),
        (pyproj.CRS("EPSG:3035+5773").to_wkt(), "EPSG:3035", True),
        (pyproj.CRS("EPSG:4979").to_wkt(), "EPSG:4326", True),
        (BOUND.to_wkt(), BOUND.source_crs.to_wkt(), True),
        (pyproj.CRS("EPSG:3035").to_cf(), "EPSG:3035", True),
        ("EPSG:25832", "EPSG:3035", False),
        ("EPSG:25832+5773", "EPSG:25833", False),
        ("nowhere", "EPSG:3035", False),
        ({"grid_mapping_name": "flat"}, "EPSG:3035", False),
        (None, "EPSG:3035", False),
        ("EPSG:3035", None, False),
        (None, None, True),
    ],
)
def test_the_plane_of_a_grid(written, wanted, same):
    assert same_plane(written, wanted) is same


def test_a_plane_has_the_name_of_its_horizontal_part():
    assert name_plane(pyproj.CRS("EPSG:3035+5773").to_wkt()) == "EPSG:3035"
    assert pyproj.CRS(name_plane("+proj=laea +lat_0=1")).is_projected
