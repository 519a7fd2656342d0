"""CPU time from records to counts of cells, compared with engines that run the same GROUP BY."""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from bench.tables import fill_saved, markdown, table
from geodp.errors import UsageError
from geodp.grid.codes import code_system

TITLE = """\
Seconds of processor time, user and system, of a whole process that reads a file of records and
counts them by cell: the median of rounds that take each in turn.
  ratio                   geodp's over that of the engine"""

GRID = "jis:quarter"
START = "points CSV, one record"
INPUTS = ("points CSV", "codes CSV", "codes Parquet", "texts Parquet", "persons CSV")
ENGINES = ("duckdb", "polars")
EXTRAS = ("pandas", "scipy", "coverage", "cffi")
"""Packages that geodp does not need, but Numba and Arrow import where they are installed."""
SPAN = (139.0, 35.0, 140.0, 36.0)
SAVED = Path(__file__).parents[1] / "results" / "read.json"
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "databases.md"
MARKS = ("<!-- bench:read -->", "<!-- /bench:read -->")


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of the engines")


def measure(rows: int, rounds: int, threads: int) -> dict[str, Any]:
    """Measure a row for each input; UsageError where answers differ."""
    installed = [engine for engine in ENGINES if importlib.util.find_spec(engine) is not None]
    table_rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in (START, *INPUTS):
            path = _write(name, 1 if name == START else rows, Path(folder))
            peers = [
                "geodp",
                *(engine for engine in installed if (engine, name) != ("polars", "persons CSV")),
            ]
            seconds_of: dict[str, list[float]] = {peer: [] for peer in peers}
            # The first round warms up.
            for number in range(rounds + 1):
                answers = set()
                for peer in peers:
                    seconds, answer = _alone(peer, name, path, threads)
                    answers.add(answer)
                    if number:
                        seconds_of[peer].append(seconds)
                # Times of different answers cannot be compared.
                if len(answers) > 1:
                    raise UsageError(f"The counts of {name} are not the same.")
            # Files are large, so only one exists at a time.
            path.unlink()
            table_rows.append(
                _row(name, {peer: statistics.median(s) for peer, s in seconds_of.items()})
            )
    versions = {
        engine: getattr(importlib.import_module(engine), "__version__", "") for engine in installed
    }
    settings = {"rows": rows, "rounds": rounds, "threads": threads, "grid": GRID}
    return {"settings": settings, "versions": versions, "rows": table_rows}


def show(result: dict[str, Any]) -> str:
    """Format the table."""
    return table(result["rows"])


def fill_document() -> dict[str, Any]:
    """Fill the document's table with the saved figures, and return those."""
    return fill_saved(SAVED, DOCUMENT, MARKS, section)


def section(result: dict[str, Any]) -> str:
    """Format the document's table, and how it was measured."""
    settings, versions = result["settings"], result["versions"]
    engines = ", ".join(f"{name} {version}" for name, version in versions.items())
    return (
        f"{markdown(result['rows'])}\n\n"
        f"{settings['rows']:,} records on `{settings['grid']}`; {engines}, "
        f"{settings['threads']} threads; medians of {settings['rounds']} rounds in turn."
    )


def _row(name: str, seconds: dict[str, float]) -> dict[str, Any]:
    row: dict[str, Any] = {"input": name, "geodp, s": seconds["geodp"]}
    for engine in ENGINES:
        time = seconds.get(engine)
        row[f"{engine}, s"] = time
        row[f"ratio to {engine}"] = None if time is None else seconds["geodp"] / time
    return row


def _write(name: str, rows: int, folder: Path) -> Path:
    """Write records of towns, most of them in few cells."""
    draw = np.random.default_rng(19)
    west, south, east, north = SPAN
    # Few towns have most records, as in real files.
    town = draw.zipf(1.4, rows) % 1000
    at = np.random.default_rng(4).uniform(0.2, 0.8, (2, 1000))
    spread = draw.normal(0, 0.02, (2, rows))
    x = west + (at[0][town] + spread[0]) * (east - west)
    y = south + (at[1][town] + spread[1]) * (north - south)
    # Coordinates between edges, since rounding of another expression may move a point across one.
    columns: dict[str, Any] = {"lon": np.round(x, 4) + 5e-5, "lat": np.round(y, 4) + 5e-5}
    if name.startswith("persons"):
        columns["id"] = draw.integers(0, rows // 10, rows)
    elif not name.startswith("points"):
        system = code_system(GRID)
        row, col = system.locate(columns["lon"], columns["lat"])
        lattice, back = np.unique(row * 100_000 + col, return_inverse=True)
        codes = system.format(lattice // 100_000, lattice % 100_000)
        texts = pa.array(codes.tolist()).take(pa.array(back))
        columns = {"code": texts, "n": draw.integers(1, 4, rows)}
        if name == "codes Parquet":
            columns["code"] = texts.cast(pa.int64())
    path = folder / ("records.parquet" if name.endswith("Parquet") else "records.csv")
    if path.suffix == ".csv":
        pyarrow.csv.write_csv(pa.table(columns), path)
    else:
        pq.write_table(pa.table(columns), path)
    return path


def _alone(peer: str, name: str, path: Path, threads: int) -> tuple[float, str]:
    """Run a separate process; return its processor time and its answer."""
    paths = os.pathsep.join([*sys.path, os.environ.get("PYTHONPATH", "")])
    limits = {"POLARS_MAX_THREADS": str(threads), "PYTHONPATH": paths}
    command = [sys.executable, "-m", "bench.suites.read", peer, name, str(path), str(threads)]
    before = os.times()
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, **limits}
    )
    after = os.times()
    children_time = after.children_user + after.children_system
    return children_time - before.children_user - before.children_system, done.stdout.strip()


def _child(peer: str, name: str, path: str, threads: str) -> tuple[int, int]:
    """Count cells and the sum of their counts, as one library does.

    Which cell of a person is selected is random: then the cells are not compared.
    """
    if peer == "geodp":
        cells, people = _geodp(name, path)
    else:
        cells, people = _polars(name, path) if peer == "polars" else _duckdb(name, path, threads)
    return (0 if name.startswith("persons") else cells), people


def _geodp(name: str, path: str) -> tuple[int, int]:
    import geodp

    grid = geodp.Grid.mesh(GRID, bounds=SPAN)
    if name.startswith(("points", "persons")):
        person: Any = {"person": "id"} if name.startswith("persons") else {}
        counts = geodp.read_points(path, grid=grid, x="lon", y="lat", **person)
    else:
        counts = geodp.read_table(path, grid=grid, value="n", code="code", duplicates="sum")
    return counts.key.size, int(counts.count.sum())


def _duckdb(name: str, path: str, threads: str) -> tuple[int, int]:
    import duckdb

    from geodp.grid.codes.sql import SqlQuery
    from geodp.grid.lattice import Lattice

    connection = duckdb.connect(config={"threads": threads})
    if name.startswith(("points", "persons")):
        place = Lattice.of_system(code_system(GRID), SPAN)
        query = SqlQuery(
            system=code_system(GRID),
            extent=(place.row0, place.col0, place.rows, place.cols),
            table=f"read_csv('{path}')",
            x="lon",
            y="lat",
            person="id" if name.startswith("persons") else None,
        ).write("duckdb")
        count = "geodp_records"
    else:
        reader = "read_parquet" if path.endswith(".parquet") else "read_csv"
        query, count = f"SELECT code, sum(n) AS n FROM {reader}('{path}') GROUP BY code", "n"
    counts = connection.sql(query).to_arrow_table()
    return counts.num_rows, int(counts[count].to_numpy().sum())


def _polars(name: str, path: str) -> tuple[int, int]:
    import polars as pl

    lazy = pl.scan_parquet(path) if path.endswith(".parquet") else pl.scan_csv(path)
    if name.startswith("points"):
        # Two cells of the lattice of 125 m are one cell on a side.
        side = 2
        row = ((pl.col("lat") * 960 + 1e-5).floor() // side).alias("row")
        col = (((pl.col("lon") - 100) * 640 + 1e-5).floor() // side).alias("col")
        grouped = lazy.group_by(row, col).agg(pl.len().alias("n"))
    else:
        grouped = lazy.group_by("code").agg(pl.col("n").sum())
    counts = grouped.collect()
    return counts.height, int(counts["n"].sum())


if __name__ == "__main__":
    if sys.argv[1] == "geodp":
        # A user's installation has only what geodp requires, so other packages are hidden.
        sys.modules |= dict.fromkeys(EXTRAS)  # type: ignore[arg-type]
    print(*_child(*sys.argv[1:]))
