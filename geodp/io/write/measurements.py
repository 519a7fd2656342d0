"""Noisy measurements before any clamp: a tidy Parquet file, and a codebook that explains it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from geodp.accuracy.area_sums import codes_of
from geodp.grid.grid import Grid
from geodp.io.write import parquet
from geodp.io.write.format import Entry, Format
from geodp.io.write.tables import slices
from geodp.io.write.view import View
from geodp.privacy.noise.law import LAPLACE
from geodp.table.measured import COUNT, MeasuredLevel, NodeLevel, stride_of

SCHEMA = "geodp-measurements-1"

COLUMNS = {
    "level": "number of the list of measurements, 0 for the total",
    "measures": "count: the people of a node; difference: those of its first half of keys less "
    "those of its second half",
    "code": "code of the cell or area that the node is, of a region those above it before a "
    "slash; empty where the node is none",
    "key": "first key of the node; it holds so many keys as the level says, one after another",
    "value": "the count or difference with its noise, before any clamp: it can be negative",
    "law": "law of the noise",
    "scale": "scale of the Laplace noise, or standard deviation of the Gaussian one; the exact "
    "parameter is that of the level",
    "complete": "whether all nodes of the public domain on this level are here",
}
"""Columns of the file, except those of indices, with their meaning."""

MEANING = (
    "Noisy values as they were drawn, before any count was clamped at 0 or made consistent. They "
    "are part of what the release's guarantee covers, and publishing them costs nothing more.",
    "A node of which one half only lies in the domain has no difference, and is not here. Of a "
    "level, keys_above says how large the node is whose released count decides what is visited.",
    "A level that is complete is unbiased: each value is the true one plus independent noise of "
    "the stated law and mean 0, so that sums, regressions and least squares on complete levels "
    "are unbiased, with known variances.",
    "A level that is not complete has the visited nodes only: those below a node of which the "
    "release has somebody. They are not a random choice: a node is there because what was measured "
    "above it came out high. Their sums, and least squares on them, are biased. What "
    "'simulated' says of a level was simulated by the method itself on a made-up map in this "
    "domain, with lone settlements of so many people: 'missing' is the share of their nodes that "
    "were not visited, 'bias' the mean error where 0 is taken for those.",
)


class MeasurementsFile(Format):
    """The noisy values, if a release publishes them, and their codebook."""

    name: ClassVar[str] = "measurements"
    endings: ClassVar[tuple[str, ...]] = ("measurements.parquet", "measurements.json")
    rank: ClassVar[int] = 40

    def write(self, view: View, folder: Path) -> Iterator[Entry]:
        """Write two files, or none."""
        measurements, grid, about = view.measurements, view.table.grid, view.about
        if measurements is None:
            return
        name = f"{view.name}.measurements"
        schema = _schema(grid).with_metadata({"geodp": json.dumps(about, ensure_ascii=False)})
        path = folder / f"{name}.parquet"
        # Few different values, for which dictionaries save most of the space.
        texts = ["measures", "law", "complete"]
        with pa.parquet.ParquetWriter(
            path, schema, compression="zstd", use_dictionary=texts
        ) as file:
            for number, one in enumerate(measurements.levels):
                for part in slices(one.node.size):
                    some = replace(one, node=one.node[part], value=one.value[part])
                    file.write_table(_piece(grid, number, some, schema))
        rows = sum(one.node.size for one in measurements.levels)
        what = "what was measured before any clamp: noisy counts and differences of nodes"
        details = {"columns": schema.names, "rows": rows, "unit": view.counted}
        yield Entry(path.name, parquet.MEDIA_TYPE, what, details)
        book = codebook(grid, measurements.levels, about)
        text = json.dumps(book, ensure_ascii=False, indent=1) + "\n"
        (folder / f"{name}.json").write_text(text, encoding="utf-8", newline="\n")
        what = "codebook of the measurements: columns, laws, levels, and what is biased"
        yield Entry(f"{name}.json", "application/json", what)


def codebook(
    grid: Grid, levels: tuple[MeasuredLevel, ...], about: dict[str, Any]
) -> dict[str, Any]:
    """Build the codebook of the file, as plain values."""
    names = {digits: name for name, digits in grid.areas.above_cells}
    names[len(grid.order.radices)] = "cell"
    firsts = {
        f"first_{axis}": f"first index of the node on the axis {axis}" for axis in _axes(grid)
    }
    return {
        "schema": SCHEMA,
        "release": {k: about[k] for k in ("release_id", "count", "unit", "guarantee", "private")},
        "spends": about["spends"],
        "meaning": list(MEANING),
        "columns": {**COLUMNS, **firsts},
        "levels": [
            _describe(grid, number, one, names.get(one.level.digits))
            for number, one in enumerate(levels)
        ],
    }


def _describe(grid: Grid, number: int, one: MeasuredLevel, area: str | None) -> dict[str, Any]:
    """Return the codebook's entry for a level."""
    level, (law, exact) = one.level, one.level.noise
    size = grid.order.sides(level.digits, len(grid.shape)).tolist()
    shape = dict(zip(grid.axis_names, size, strict=True)) if grid.order.follows_map else None
    # A difference is measured along the axis whose digit is split next below the level.
    halved = None
    if level.measures != COUNT:
        halved = grid.axis_names[grid.order.axes[level.digits]]
    bias = None if one.bias is None else one.bias._asdict()
    return {
        "level": number,
        "measures": level.measures,
        "area": area,
        "keys": stride_of(grid, level.digits),
        "keys_above": stride_of(grid, level.under),
        "size": shape,
        "halves_along": halved,
        "nodes": int(one.node.size),
        "complete": one.complete,
        "unbiased": one.complete,
        "law": law,
        "parameter": str(exact),
        "variance": level.variance,
        "simulated": bias,
    }


def scale_of(level: NodeLevel) -> float:
    """Return the scale of a Laplace law, or the standard deviation of a Gaussian one."""
    law, exact = level.noise
    return float(exact) if law == LAPLACE else float(exact) ** 0.5


def _axes(grid: Grid) -> tuple[str, ...]:
    """Return names of the axes on which nodes are boxes; none for regions, which have any shape."""
    return grid.axis_names if grid.order.follows_map else ()


def _schema(grid: Grid) -> Any:
    few = pa.dictionary(pa.int8(), pa.string())
    return pa.schema(
        [
            ("level", pa.int32()),
            ("measures", few),
            ("code", pa.string()),
            ("key", pa.uint64()),
            *((f"first_{axis}", pa.int64()) for axis in _axes(grid)),
            ("value", pa.int64()),
            ("law", few),
            ("scale", pa.float64()),
            ("complete", pa.bool_()),
        ]
    )


def _piece(grid: Grid, number: int, one: MeasuredLevel, schema: Any) -> Any:
    level, node = one.level, one.node
    n = node.size
    key = node * np.uint64(stride_of(grid, level.digits))
    # Only counts are those of an area: a difference compares the halves of a node.
    codes = codes_of(grid, level.digits, node) if level.measures == COUNT else None
    firsts = grid.decode(key) if grid.order.follows_map else ()
    columns = {
        "level": np.full(n, number, np.int32),
        "measures": _same(level.measures, n),
        "code": pa.nulls(n, pa.string()) if codes is None else pa.array(codes, pa.string()),
        "key": key,
        **{f"first_{axis}": at for axis, at in zip(_axes(grid), firsts, strict=True)},
        "value": one.value,
        "law": _same(level.noise[0], n),
        "scale": np.full(n, scale_of(level)),
        "complete": np.full(n, one.complete),
    }
    return pa.table(columns, schema=schema)


def _same(text: str, n: int) -> Any:
    """Return a column that repeats one text."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int8)), [text])


FORMATS = (MeasurementsFile(),)
