"""Small input files, and what a refusal must say."""

import gzip
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import rasterio
from rasterio.transform import Affine
from scipy.io import netcdf_file

from geodp.errors import InputError
from geodp.grid.grid import Grid
from geodp.io.read.public.mask import read_mask
from geodp.io.read.table import read_mesh, read_table

SECRET = "987654321"
HEAD = "KEY_CODE,HTKSYORI,HTKSAKI,GASSAN,T001,T002\r\n,,,,　人口（総数）,　世帯総数\r\n"
GOOD = f"533946113,0,,,{SECRET},1\r\n"
METRES = Grid.regular((4, 4), crs="EPSG:3035", transform=(1000, 0, 4e6, 0, 1000, 3e6))


def mesh(*paths: Path, value: str = "人口（総数）", grid: Any = "jis:half", **options: Any) -> Any:
    return read_mesh(paths, grid=grid, value=value, **options)


def table(*paths: Path, grid: Any = "jis:half", value: str = "n", **options: Any) -> Any:
    where = {} if "x" in options or "columns" in options else {"code": "code"}
    return read_table(paths, grid=grid, value=value, **where, **options)


def text(content: str | bytes, name: str = "in.csv") -> Callable[[Path], Path]:
    def build(folder: Path) -> Path:
        data = content if isinstance(content, bytes) else content.encode("cp932")
        (folder / name).write_bytes(data)
        return folder / name

    return build


def gzipped(content: str) -> Callable[[Path], Path]:
    return text(gzip.compress(content.encode("cp932")), "in.csv.gz")


def zipped(members: dict[str, str]) -> Callable[[Path], Path]:
    def build(folder: Path) -> Path:
        path = folder / "in.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in members.items():
                archive.writestr(name, content.encode("cp932"))
        return path

    return build


def parquet(columns: dict[str, Any]) -> Callable[[Path], Path]:
    def build(folder: Path) -> Path:
        path = folder / "in.parquet"
        pq.write_table(pa.table(columns), path)
        return path

    return build


def write_tiff(
    path: Path, values: Any, change: Callable[[Any], object] | None = None, **profile: Any
) -> Path:
    """Write a raster of one band or several in cells of 1 km, unless something else is said."""
    bands = np.atleast_3d(np.asarray(values).T).T
    given = {"crs": "EPSG:3035", "transform": (1000, 0, 4e6, 0, -1000, 3.004e6), **profile}
    given |= dict(zip(("count", "height", "width"), bands.shape, strict=True))
    if given["transform"] is not None:
        given["transform"] = Affine(*given["transform"][:6])
    said = {name: value for name, value in given.items() if value is not None}
    inside = rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True)
    with inside, rasterio.open(path, "w", driver="GTiff", dtype=bands.dtype, **said) as raster:
        raster.write(bands)
        if change is not None:
            change(raster)
    return path


def tiff(
    values: Any,
    transform: tuple[float, ...] = (1000, 0, 4e6, 0, -1000, 3.004e6),
    crs: str | None = "EPSG:3035",
    keep: int | None = None,
    **profile: Any,
) -> Callable[[Path], Path]:
    def build(folder: Path) -> Path:
        path = write_tiff(folder / "in.tif", values, transform=transform, crs=crs, **profile)
        path.write_bytes(path.read_bytes()[:keep])
        return path

    return build


AXES = {
    "lon": ("longitude", "degrees_east"),
    "lat": ("latitude", "degrees_north"),
    "x": ("projection_x_coordinate", "m"),
    "y": ("projection_y_coordinate", "m"),
}
"""Standard names and units of coordinates."""


def write_netcdf(
    path: Path,
    values: Any,
    axes: dict[str, Any],
    crs: int | None = None,
    version: int = 1,
    unlimited: str = "",
    **attributes: Any,
) -> Path:
    """Write a variable over axes by their middles; of three dimensions the first is a time."""
    names = (*["time"] * (values.ndim - 2), *axes)
    with netcdf_file(path, "w", version=version) as file:
        file.Conventions = "CF-1.8"
        for name, size in zip(names, values.shape, strict=True):  # the unlimited one first
            file.createDimension(name, None if name in ("time", unlimited) else size)
            if name in axes:
                middles = np.asarray(axes[name])
                axis = file.createVariable(name, middles.dtype, (name,))
                axis[:] = middles
                axis.standard_name, axis.units = AXES[name]
        count = file.createVariable("count", values.dtype, names)
        count[:] = values
        if crs is not None:
            if unlimited:  # SciPy would write a variable of no dimension over the records
                file.createDimension("one", 1)
            reference = file.createVariable("crs", "i", ("one",) if unlimited else ())
            reference.crs_wkt = reference.spatial_ref = rasterio.crs.CRS.from_epsg(crs).to_wkt()
            flat = "x" in axes
            reference.grid_mapping_name = (
                "lambert_azimuthal_equal_area" if flat else "latitude_longitude"
            )
            count.grid_mapping = "crs"
        for name, value in attributes.items():
            setattr(count, name, value)
    return path


def rows(value: str, code: str = "533946113") -> Callable[[Path], Path]:
    """A table whose third line has the given value or code."""
    return text(f"code;n\n533946114;{SECRET}\n{code};{value}\n")


def official(row: str) -> Callable[[Path], Path]:
    """A mesh file whose fourth line is the given one."""
    return text(HEAD + GOOD + row + "\r\n", "tbl.txt")


@dataclass
class Case:
    name: str
    build: Callable[[Path], Path]
    read: Callable[..., Any]
    phrase: str
    row: int | None = None


def mask(path: Path) -> Grid:
    return read_mask(path, Grid.mesh("jis:half"), source="a test")


def chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        yield from chain(error.__cause__)
        error = error.__context__


def refuse(case: Case, folder: Path) -> None:
    """The case raises InputError with file, row and phrase, and nothing that the rows say."""
    path = case.build(folder)
    with pytest.raises(InputError) as caught:
        case.read(path)
    error = caught.value
    assert case.phrase in str(error)
    assert error.file == str(path)
    assert error.row == case.row
    assert str(path) in str(error)
    for link in chain(error):
        shown = f"{link} {link!r} {link.args}".replace(",", "").replace(str(path), "")
        assert SECRET[:6] not in shown
