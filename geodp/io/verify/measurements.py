"""Read the measurements of a written release, and check that they are of the nodes of its tree."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import isclose
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from geodp.errors import Rule, VerificationError
from geodp.grid.grid import Grid
from geodp.io.numbers import numbers_of
from geodp.io.opening import open_parquet, read_json
from geodp.io.verify.card import require
from geodp.io.verify.readback import BROKEN
from geodp.io.verify.sweep import ReleaseFiles
from geodp.io.write.measurements import SCHEMA, scale_of
from geodp.table.card import Card
from geodp.table.measured import (
    Bias,
    MeasuredLevel,
    Measurements,
    NodeLevel,
    public_nodes,
    stride_of,
    visited_nodes,
)
from geodp.table.released import ReleasedTable
from geodp.table.stated.domain import StatedDomain


def has_measurements(card: Card) -> bool:
    """Return whether the card lists measurements."""
    return f"{card.name}.measurements.parquet" in card.listed


def read_measurements(folder: Path, table: ReleasedTable, card: Card) -> Measurements | None:
    """Read the measurements of a written release, which nothing has clamped.

    None if they are not published, or if the files do not contain the whole domain.

    Parameters
    ----------
    folder : path
        The public folder.
    table : ReleasedTable
    card : Card
        The release's card.

    Raises
    ------
    VerificationError
        The files are damaged, or no measurements on the table's grid.
    """
    if not has_measurements(card) or StatedDomain.of(table.grid) != card.domain:
        return None
    try:
        book = read_json(folder / f"{card.name}.measurements.json")
        rows = open_parquet(folder / f"{card.name}.measurements.parquet").read(
            columns=["level", "key", "value"]
        )
        return Measurements(tuple(_read_levels(rows, table.grid, book["levels"])))
    except MemoryError:
        raise
    except BROKEN as error:
        raise VerificationError(
            f"Measurements in {folder} cannot be read back: {error}",
            code=error.code
            if isinstance(error, VerificationError)
            else "measurements-not-read-back",
        ) from error


def _read_levels(rows: Any, grid: Grid, levels: list[dict[str, Any]]) -> Iterator[MeasuredLevel]:
    """Read the levels; VerificationError where nodes are out of order or missing."""
    # Nodes of complete levels follow from the domain alone.
    every = public_nodes(grid, tuple(_level(grid, entry) for entry in levels))
    for number, entry in enumerate(levels):
        level, complete = _level(grid, entry), bool(entry["complete"])
        level_rows = rows.filter(pc.equal(rows["level"], number))
        node = numbers_of(level_rows["key"]) // np.uint64(stride_of(grid, level.digits))
        require(
            bool((node[1:] > node[:-1]).all()),
            Rule("nodes-not-in-order", "Nodes are not in key order."),
        )
        if complete:
            require(
                np.array_equal(node, next(every)),
                Rule("nodes-of-level-missing", "Nodes of a complete level are missing."),
            )
        bias = None if entry["simulated"] is None else Bias(**entry["simulated"])
        yield MeasuredLevel(level, complete, node, numbers_of(level_rows["value"]), bias)


def check_measurements(written: ReleaseFiles) -> str:
    """Require complete levels to have all nodes of the domain, and others the visited ones."""
    folder, card = written.folder, written.card
    book = read_json(folder / f"{card.name}.measurements.json")
    require(
        book["schema"] == SCHEMA,
        Rule("codebook-schema-unknown", "The codebook has an unknown schema."),
    )
    require(
        book["release"]["release_id"] == card.release_id,
        Rule("codebook-of-other-release", "The codebook belongs to another release."),
    )
    rows = open_parquet(folder / f"{card.name}.measurements.parquet").read()
    require(
        {*rows.schema.names} == {*book["columns"]},
        Rule("codebook-columns-differ", "The codebook describes other columns than there are."),
    )
    table = written.table(masked=True)
    # The nodes of a domain follow from its mask and its regions.
    if StatedDomain.of(table.grid) != card.domain:
        return (
            "columns as in the codebook; nodes are not checked, as the files do not contain the "
            "whole domain"
        )
    levels = [_level(table.grid, entry) for entry in book["levels"]]
    complete = [bool(entry["complete"]) for entry in book["levels"]]
    # Levels are complete down to the one that was requested; below it only visited nodes are there.
    n_complete = complete.index(False) if False in complete else len(complete)
    require(
        not any(complete[n_complete:]),
        Rule("level-below-incomplete", "A complete level stands below one that is not."),
    )
    nodes = public_nodes(table.grid, tuple(levels))
    for number, (level, entry) in enumerate(zip(levels, book["levels"], strict=True)):
        node = next(nodes) if number < n_complete else visited_nodes(table.grid, level, table)
        _require_level(
            rows, number, entry, level, node * np.uint64(stride_of(table.grid, level.digits))
        )
    require(
        pc.max(rows["level"]).as_py() < len(levels),
        Rule("node-on-no-level", "A row belongs to no level of the codebook."),
    )
    # What else the codebook says of a level is compared with what is written again of it.
    read_measurements(folder, table, card)
    return f"{rows.num_rows:,} nodes on {len(levels)} levels, {n_complete} of them complete"


def _level(grid: Grid, entry: dict[str, Any]) -> NodeLevel:
    digits, under = (grid.order.digits_above(entry[name]) for name in ("keys", "keys_above"))
    noise = entry["law"], Fraction(entry["parameter"])
    return NodeLevel(digits, under, entry["measures"], noise, entry["variance"])


def _require_level(
    rows: Any, number: int, entry: dict[str, Any], level: NodeLevel, key: NDArray[np.uint64]
) -> None:
    """Require the rows of a level to be those of its nodes, and to agree with the codebook."""
    level_rows = rows.filter(pc.equal(rows["level"], number))
    about = f"level {number} of the measurements"
    require(
        np.array_equal(numbers_of(level_rows["key"]), key),
        Rule("nodes-missing-or-odd", f"Nodes are missing or unexpected on {about}."),
    )
    for name in ("measures", "law"):
        texts = {*level_rows[name].cast("string").to_pylist()}
        require(
            texts <= {entry[name]},
            Rule("codebook-level-differs", f"The codebook has another {name} for {about}."),
        )
    require(
        {*level_rows["complete"].to_pylist()} <= {entry["complete"]},
        Rule("node-flags-odd", f"The column complete differs from the codebook on {about}."),
    )
    scale = numbers_of(level_rows["scale"])
    same = all(isclose(one, scale_of(level), rel_tol=1e-12) for one in np.unique(scale).tolist())
    require(same, Rule("codebook-scale-differs", f"The codebook has another scale for {about}."))
