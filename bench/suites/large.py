"""The limits of one machine: 1e8 cells, 2^62 cells, 1e9 raw records, 8 GB. Minutes to an hour."""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import geodp
from bench.inputs import named, synthetic
from bench.inputs.public import KANTO, TOTAL
from bench.measure import cost, publishing
from bench.measure import refinement as refining
from bench.measure.refinement import METHODS
from bench.measure.spilling import count_spilled
from bench.suites.speed_parts import Rows
from bench.tables import excerpt, fill, markdown, table

TITLE = """\
Refinements each alone in a process, on all processors; then raw records from Parquet to cells;
then `geodp publish` as a whole in a process that may hold 8 GB.
  GB                      peak memory of the whole process, 10^9 bytes
  bytes                   peak memory above the process's own for each cell of table and output"""

SAVED = Path(__file__).parents[1] / "results" / "large.json"
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "measured" / "speed.md"
EXAMPLE = Path(__file__).resolve().parents[2] / "data" / "kanto"

CASES = ((37, 10_000_000), (37, 100_000_000), (62, 10_000_000))
"""Bits of n, and occupied cells."""

RECORDS, CELLS = 1_000_000_000, 10_000_000
"""Raw records, and the number of their cells."""

BITS = 37
CRS = "EPSG:6690"
CHUNK = 1 << 22
"""Records that are generated and written together."""

RECORD = 8
"""Bytes of a record: two coordinates of 32 bits."""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument("--scale", type=float, default=1, help="of all sizes; default: 1")
    parser.add_argument(
        "--parts",
        type=lambda text: text.split(","),
        metavar="A,B",
        help="of refinement, records, publishing; default: all. Others are kept as measured",
    )
    parser.add_argument("--records", type=float, default=RECORDS, metavar="N")
    parser.add_argument("--memory", default="4GiB", help="the reader's limit; default: 4GiB")
    parser.add_argument(
        "--scratch", type=Path, metavar="DIR", help="for tables and records: 10 GB, deleted again"
    )


def measure(
    scale: float = 1,
    parts: list[str] | None = None,
    records: float = RECORDS,
    memory: str = "4GiB",
    scratch: Path | None = None,
) -> dict[str, Any]:
    """Measure rows of the chosen parts; others are taken from the saved figures."""
    saved = json.loads(SAVED.read_text(encoding="utf-8")) if SAVED.exists() else {}
    chosen = parts or [*LINES]
    result: dict[str, Any] = {"settings": {"scale": scale, "memory": memory}}
    for part in LINES:
        result[part] = saved.get(part, [])
    refining.warm()
    if "refinement" in chosen:
        result["refinement"] = refinement(scale, scratch)
    if "records" in chosen:
        result["records"] = stream(int(records * scale), int(CELLS * scale), memory, scratch)
    if "publishing" in chosen:
        result["publishing"] = published(int(CELLS * scale), scratch)
    return result


def show(result: dict[str, Any]) -> str:
    """Format all tables."""
    return "\n\n".join(f"{part}\n{table(LINES[part](result[part]))}" for part in LINES)


def refinement(scale: float, scratch: Path | None) -> Rows:
    """Run both methods on every table, with a limit so that they fail and not the machine."""
    rows = []
    # Below the machine's memory, so that the process fails before the system swaps.
    limit = int(0.92 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for bits, full_size in CASES:
        occupied = int(full_size * scale)
        with tempfile.TemporaryDirectory(prefix="geodp-bench-", dir=scratch) as folder:
            source = synthetic.clustered(bits, occupied)
            # Not confidential: the table is synthetic.
            people = int(source.count.sum())
            synthetic.save(source, Path(folder))
            del source
            for method in METHODS:
                usage = refining.alone(Path(folder), bits, method, threads=0, limit=limit)
                size = {"bits": bits, "occupied": occupied, "people": people}
                rows.append({"method": method, **size, **usage})
    return rows


def stream(records: int, cells: int, memory: str, scratch: Path | None) -> Rows:
    """Write raw records in chunks, then read and refine them in a separate process."""
    with tempfile.TemporaryDirectory(prefix="geodp-bench-", dir=scratch) as folder:
        path = Path(folder) / "records.parquet"
        start = time.perf_counter()
        write(path, records, cells)
        made = {"records": records, "cells": cells, "made_seconds": time.perf_counter() - start}
        task = {"path": str(path), "memory": memory, "scratch": folder}
        usage = refining.child("bench.suites.large", task)
        return [{**made, "file_bytes": path.stat().st_size, "memory": memory, **usage}]


def published(cells: int, scratch: Path | None, limit: int = publishing.LIMIT) -> Rows:
    """Publish from a file: the embedded example, and a synthetic table as Parquet."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="geodp-bench-", dir=scratch) as folder:
        example = [*map(str, sorted(EXAMPLE.glob("*.zip"))), "--grid", "jis:half"]
        people = named.load("kanto-example", 512)
        example += ["--value", TOTAL, "--bounds", *map(str, KANTO)]
        path = Path(folder, "cells.parquet")
        source = synthetic.clustered(BITS, cells)
        write_cells(path, source)
        made = [str(path), "--grid", "regular:{}x{}".format(*source.grid.shape), "--value", "n"]
        made += ["--x", "x", "--y", "y", "--anchor", "index", "--contribution", "1"]
        occupied = int(source.key.size)
        del source
        for bits, m, arguments in ((18, int(people.key.size), example), (BITS, occupied, made)):
            output = Path(folder, f"release-{bits}")
            usage = publishing.alone([*arguments, "--epsilon", "1"], output, limit)
            rows.append({"bits": bits, "occupied": m, **usage})
    return rows


def write_cells(path: Path, table: geodp.CountTable) -> None:
    """Save a table's cells as Parquet: column and row of each, and its people."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    row, column = table.grid.decode(table.key)
    pq.write_table(pa.table({"x": column, "y": row, "n": table.count}), path)


def grid() -> geodp.Grid:
    """Build a grid of square metres in a plane."""
    shape = (1 << BITS // 2, 1 << (BITS - BITS // 2))
    return geodp.Grid.regular(shape, crs=CRS, transform=(1, 0, 0, 0, 1, 0))


def write(path: Path, records: int, cells: int) -> None:
    """Write people in clustered cells, in any order: Parquet with uncompressed coordinates."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    row, column = (
        (index + np.float32(0.5)).astype(np.float32)
        for index in grid().decode(synthetic.clustered(BITS, cells).key)
    )
    draw = np.random.default_rng(synthetic.SEED)
    schema = pa.schema([("x", pa.float32()), ("y", pa.float32())])
    # Uncompressed, so that reading and not decompression is measured.
    plain = {"compression": "none", "use_dictionary": False, "write_statistics": False}
    with pq.ParquetWriter(path, schema, **plain) as file:
        for start in range(0, records, CHUNK):
            # A cell's share is random: its place in a random order, squared.
            at = (draw.random(min(CHUNK, records - start), np.float32) ** 2 * cells).astype(int)
            where = (at * SPREAD) % cells
            file.write_table(pa.table([column[where], row[where]], schema=schema))


SPREAD = 1_000_003
"""Coprime to the number of cells, so that the shares of neighbouring cells are unrelated."""


def _child(task: dict[str, Any]) -> dict[str, Any]:
    """Read, then refine by both methods."""
    refining.warm()
    before = cost.forget_peak()
    start = time.perf_counter()
    with count_spilled() as spilled:
        source = geodp.read_points(
            task["path"], grid=grid(), x="x", y="y", memory=task["memory"], scratch=task["scratch"]
        )
    usage: dict[str, Any] = {
        "read_seconds": time.perf_counter() - start,
        "read_peak_bytes": cost.peak() - before,
        "resident_bytes": cost.peak(),
        "spilled_bytes": spilled.bytes,
        "occupied": int(source.key.size),
    }
    for method in METHODS:
        cost.forget_peak()
        start = time.perf_counter()
        cells = refining.Refinement(method, source, Fraction(1)).run(0)
        usage[f"{method}_seconds"] = time.perf_counter() - start
        usage[f"{method}_resident_bytes"] = cost.peak()
        usage[f"{method}_output"] = int(cells[0].size)
    return usage


def fill_document() -> dict[str, Any]:
    """Fill the document's tables with the saved figures, and return those."""
    result: dict[str, Any] = json.loads(SAVED.read_text(encoding="utf-8"))
    for part, text in sections(result).items():
        fill(DOCUMENT, marks(part), text)
    return result


def marks(part: str) -> tuple[str, str]:
    """Return the markers around a part of the document."""
    return f"<!-- bench:large:{part} -->", f"<!-- /bench:large:{part} -->"


def sections(result: dict[str, Any]) -> dict[str, str]:
    """Format the document's parts, by name; a run on smaller tables is marked."""
    note = ""
    if result["settings"]["scale"] != 1:
        note = f"\n\n**Figures of a run at {result['settings']['scale']:g} of the size.**"
    return {
        part: markdown(excerpt(lines(result[part]), without=HIDDEN)) + note
        for part, lines in LINES.items()
    }


def _refinement(rows: Rows) -> Rows:
    return [
        {
            "method": row["method"],
            "n": f"2^{row['bits']}",
            "m": row["occupied"],
            "people": row["people"],
            "m+": row.get("output"),
            "nodes": row.get("visited"),
            "seconds": row.get("seconds"),
            "GB": row["resident_bytes"] / 1e9 if "resident_bytes" in row else None,
            "bytes": row["peak_bytes"] / (row["occupied"] + row["output"])
            if "peak_bytes" in row
            else None,
            "": row.get("problem", ""),
        }
        for row in rows
    ]


def _records(rows: Rows) -> Rows:
    return [
        {
            "records": row["records"],
            "file, GB": row["file_bytes"] / 1e9,
            "memory": row["memory"],
            "occupied cells": row.get("occupied"),
            "read, s": row.get("read_seconds"),
            "peak above the process's own, GB": _gb(row, "read_peak_bytes"),
            "of the process, GB": _gb(row, "resident_bytes"),
            "spilled, GB": _gb(row, "spilled_bytes"),
            **{f"{method}, s": row.get(f"{method}_seconds") for method in METHODS},
            **{f"{method}, GB": _gb(row, f"{method}_resident_bytes") for method in METHODS},
            "": row.get("problem", ""),
        }
        for row in rows
    ]


def _publishing(rows: Rows) -> Rows:
    return [
        {
            "n": f"2^{row['bits']}",
            "m": row["occupied"],
            "m+": row.get("output"),
            "limit, GB": row["limit"] / 1e9,
            "GB": _gb(row, "resident_bytes"),
            "files, GB": _gb(row, "files_bytes"),
            "CPU, s": row.get("cpu_seconds"),
            "": row.get("problem", ""),
        }
        for row in rows
    ]


def _gb(row: dict[str, Any], name: str) -> float | None:
    return row[name] / 1e9 if name in row else None


HIDDEN = ("m+", "nodes", "people", "bytes", "file, GB", "of the process, GB", "limit, GB")
"""Columns that the document leaves out."""

LINES = {"refinement": _refinement, "records": _records, "publishing": _publishing}
"""Functions that build the lines of each table."""

if __name__ == "__main__":
    refining.answer(_child)
