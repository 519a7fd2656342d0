"""Tiny made-up tracts with outlines: files in every form, their units, and a release of them."""

import contextlib
import json
import tempfile
import zipfile
from pathlib import Path

import geopandas
import numpy as np
import pandas as pd
import shapely

import geodp
from geodp.grid.grid import Grid
from geodp.io.read.public.units import read_units
from tests.shared_releases import SharedReleases

CODES = [f"0{row}{col}" for row in range(3) for col in range(4)]
"""Three rows of four tracts from the south, in two counties; the last column is twice as wide."""

COUNTS = dict(zip(CODES, range(100, 1300, 100), strict=True)) | {"011": 0}


def frame(crs: int = 3035) -> geopandas.GeoDataFrame:
    """Tracts of 10 km, the westernmost of two parts, in a CRS; made in EPSG:3035 near Frankfurt."""
    shapes = []
    for row in range(3):
        for col in range(4):
            west, south = 4.2e6 + 1e4 * col, 3.0e6 + 1e4 * row
            wide = 2e4 if col == 3 else 1e4
            shape = shapely.segmentize(shapely.box(west, south, west + wide, south + 1e4), 5e3)
            if col == 0:
                island = shapely.box(west - 3e3, south + 4e3, west - 2e3, south + 5e3)
                shape = shapely.MultiPolygon([shape, island])
            shapes.append(shape)
    names = {"GEOID": CODES, "county": [code[:2] for code in CODES]}
    return geopandas.GeoDataFrame(names, geometry=shapes, crs=3035).to_crs(crs)


def write(table: geopandas.GeoDataFrame, path: Path) -> Path:
    """Write a file by its ending; a .zip holds a Shapefile."""
    if path.suffix == ".parquet":
        table.to_parquet(path)
    elif path.suffix == ".zip":
        folder = path.parent / "unpacked"
        folder.mkdir()
        table.to_file(folder / "tracts.shp")
        with zipfile.ZipFile(path, "w") as archive:
            for part in sorted(folder.iterdir()):
                archive.write(part, part.name)
    elif path.suffix == ".geojson" and table.crs.to_epsg() != 4326:
        document = json.loads(table.to_json())
        name = f"urn:ogc:def:crs:EPSG::{table.crs.to_epsg()}"
        document["crs"] = {"type": "name", "properties": {"name": name}}
        path.write_text(json.dumps(document))
    else:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        table.to_file(path)
    return path


def grid_in(folder: Path, crs: int = 3035) -> Grid:
    """The units of a GeoPackage of all tracts."""
    path = write(frame(crs), folder / f"tracts-{crs}.gpkg")
    return read_units(path, source="made up", columns=("GEOID", "county"))


def table_on(grid: Grid) -> geodp.CountTable:
    """Counts of the tracts on their units."""
    rows = pd.DataFrame({"GEOID": [*COUNTS], "n": [*COUNTS.values()]})
    return geodp.read_table(rows, grid=grid, code="GEOID", value="n")


def publish(crs: int) -> geodp.Release:
    """A release whose file of tracts is gone."""
    with tempfile.TemporaryDirectory() as folder:
        return geodp.publish(table_on(grid_in(Path(folder), crs)), epsilon=10, contribution=1)


def released(shared: SharedReleases, crs: int = 3035) -> Path:
    """The folder of a release, to be read only."""
    return shared.write(shared.make(f"tracts in EPSG:{crs}", publish, crs))


def areas_of(shapes: np.ndarray) -> float:
    """The area of all shapes together where none covers another."""
    return float(shapely.area(shapes).sum())
