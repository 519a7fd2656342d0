"""Time of other libraries for a file of the same rows or pixels, each in a separate process.

Rows and pixels are read from a published release and lie in memory before the clock starts; a
small file is written before, so that a library's start is not counted.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.measure.refinement import answer, child

PEERS = {
    "read": ("duckdb",),
    "CSV": ("pyarrow", "duckdb"),
    "Parquet": ("pyarrow", "duckdb"),
    "GeoPackage": ("pyogrio",),
    "GeoTIFF": ("rasterio",),
}
"""Libraries by the phase that they are compared with; rasterio and pyogrio write through GDAL."""

LEVEL = {"compression": "zstd"}


def measure(table: str, public: Path) -> list[dict[str, Any]]:
    """Measure a row for every peer of every file that the release has.

    Parameters
    ----------
    table : str
        The file that was published; only Parquet is read by peers.
    public : Path

    Returns
    -------
    list of dict
        ``phase``, ``peer``, and ``cpu_seconds`` or ``problem``.
    """
    rows = []
    for phase, peers in PEERS.items():
        source = public / f"population.{'tif' if phase == 'GeoTIFF' else 'parquet'}"
        if phase == "read":
            source = Path(table)
        is_readable = source.exists() and source.suffix in (".parquet", ".tif")
        for peer in peers if is_readable else ():
            # Peers are optional, and their rows are left out where they are missing.
            if importlib.util.find_spec(peer) is None:
                continue
            task = {"phase": phase, "peer": peer, "source": str(source)}
            done = child("bench.measure.peers_of_formats", task)
            rows.append({"phase": phase, "peer": peer, **done})
    return rows


def _child(task: dict[str, Any]) -> dict[str, Any]:
    peer, phase, source = task["peer"], task["phase"], Path(task["source"])
    with tempfile.TemporaryDirectory(prefix="geodp-bench-") as folder:
        if phase == "read":
            write, few = _grouping(source)
        elif phase == "GeoTIFF":
            write, few = _raster(source)
        else:
            write, few = _rows(peer, phase, source)
        # A small file first, so that imports and start-up are not timed.
        few(Path(folder, "first"))
        start = time.process_time()
        write(Path(folder, "second"))
        return {"cpu_seconds": time.process_time() - start}


Writing = tuple[Callable[[Path], object], Callable[[Path], object]]
"""Functions that write all of a file, and a little of it."""


def _grouping(source: Path) -> Writing:
    """Count rows by cell while reading them."""
    import duckdb

    link = duckdb.connect(config={"threads": os.cpu_count() or 1})
    query = f"SELECT * EXCLUDE (n), sum(n) AS n FROM read_parquet('{source}') {{}} GROUP BY ALL"
    return (
        lambda _: link.sql(query.format("")).to_arrow_table(),
        lambda _: link.sql(query.format("WHERE n < 0")).to_arrow_table(),
    )


def _rows(peer: str, phase: str, source: Path) -> Writing:
    import pyarrow.parquet as pq

    rows = pq.read_table(source)
    if phase == "CSV":
        rows = rows.drop_columns(
            [name for name in ("geometry", "bbox") if name in rows.column_names]
        )
    elif phase == "GeoPackage":
        rows = rows.drop_columns([name for name in ("bbox",) if name in rows.column_names])
    call = {
        ("CSV", "pyarrow"): _arrow_csv,
        ("Parquet", "pyarrow"): _arrow_parquet,
        ("CSV", "duckdb"): _duckdb,
        ("Parquet", "duckdb"): _duckdb,
        ("GeoPackage", "pyogrio"): _pyogrio,
    }[phase, peer]
    ending = {"CSV": ".csv", "Parquet": ".parquet", "GeoPackage": ".gpkg"}[phase]
    return (
        lambda path: call(rows, path.with_suffix(ending)),
        lambda path: call(rows.slice(0, 100), path.with_suffix(ending)),
    )


def _arrow_csv(rows: Any, path: Path) -> None:
    import pyarrow.csv

    pyarrow.csv.write_csv(rows, path)


def _arrow_parquet(rows: Any, path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(rows, path, row_group_size=1 << 16, **LEVEL)


def _duckdb(rows: Any, path: Path) -> None:
    import duckdb

    how = "FORMAT csv, HEADER" if path.suffix == ".csv" else "FORMAT parquet, COMPRESSION zstd"
    with duckdb.connect(config={"threads": os.cpu_count() or 1}) as link:
        link.register("rows", rows)
        link.execute(f"COPY rows TO '{path}' ({how})")


def _pyogrio(rows: Any, path: Path) -> None:
    import pyogrio

    kind = {"geometry_name": "geometry", "geometry_type": "Polygon"}
    if "geometry" not in rows.column_names:
        kind = {"geometry_type": "None"}
    pyogrio.write_arrow(rows, path, driver="GPKG", layer="cells", crs="EPSG:4326", **kind)


def _raster(source: Path) -> Writing:
    """Write through GDAL's driver, from an array in memory."""
    import rasterio
    from rasterio.windows import Window

    with rasterio.open(source) as file:
        # Pixels are in memory before the clock starts, as for geodp.
        array, look = file.read(), file.profile
        how = {"compress": file.compression.value, "predictor": "YES"}
    look = {one: look[one] for one in ("dtype", "count", "crs", "transform", "nodata")}

    def write(path: Path, rows: int) -> None:
        high, wide = min(rows, array.shape[1]), min(rows, array.shape[2])
        shape = {"height": high, "width": wide, "driver": "COG"}
        with rasterio.open(path.with_suffix(".tif"), "w", **look, **shape, **how) as file:
            file.write(array[:, :high, :wide], window=Window(0, 0, wide, high))

    return lambda path: write(path, max(array.shape)), lambda path: write(path, 512)


if __name__ == "__main__":
    answer(_child)
