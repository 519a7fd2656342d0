"""Measurements of a written release: read back, and whether they are of the nodes that it says."""

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
from geodp.io.opening import open_parquet, read_json
from geodp.io.verify.card import require
from geodp.io.verify.readback import BROKEN
from geodp.io.verify.sweep import Written
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
    """Whether a release says that it has measurements."""
    return f"{card.name}.measurements.parquet" in card.listed


def read_measurements(folder: Path, table: ReleasedTable, card: Card) -> Measurements | None:
    """Read what a written release measured before any clamp.

    None where that is not published, or where the domain is not all in the files.

    Parameters
    ----------
    folder : path
        Its public files.
    table : ReleasedTable
    card : Card
        The release's.

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
    """Return the levels; VerificationError where nodes are out of order or missing."""
    every = public_nodes(grid, tuple(_level(grid, said) for said in levels))
    for number, said in enumerate(levels):
        level, complete = _level(grid, said), bool(said["complete"])
        own = rows.filter(pc.equal(rows["level"], number))
        node = own["key"].to_numpy() // np.uint64(stride_of(grid, level.digits))
        require(
            bool((node[1:] > node[:-1]).all()),
            Rule("nodes-not-in-order", "Nodes are not in key order."),
        )
        if complete:
            require(
                np.array_equal(node, next(every)),
                Rule("nodes-of-level-missing", "Nodes of a complete level are missing."),
            )
        bias = None if said["simulated"] is None else Bias(**said["simulated"])
        yield MeasuredLevel(level, complete, node, own["value"].to_numpy(), bias)


def choose_measurements(written: Written) -> str:
    """Ask whether complete levels have all nodes of the domain, and others the visited ones."""
    folder, card = written.folder, written.card
    book = read_json(folder / f"{card.name}.measurements.json")
    require(
        book["schema"] == SCHEMA,
        Rule("codebook-schema-unknown", "The codebook's schema is another."),
    )
    require(
        book["release"]["release_id"] == card.release_id,
        Rule("codebook-of-other-release", "The codebook is another release's."),
    )
    rows = open_parquet(folder / f"{card.name}.measurements.parquet").read()
    require(
        {*rows.schema.names} == {*book["columns"]},
        Rule("codebook-columns-differ", "The codebook has other columns."),
    )
    table = written.table(masked=True)
    if StatedDomain.of(table.grid) != card.domain:
        return "columns as in the codebook; the nodes not asked, as the domain is not all here"
    levels = [_level(table.grid, said) for said in book["levels"]]
    complete = [bool(said["complete"]) for said in book["levels"]]
    whole = complete.index(False) if False in complete else len(complete)
    require(
        not any(complete[whole:]),
        Rule("level-below-incomplete", "A complete level stands below one that is not."),
    )
    nodes = public_nodes(table.grid, tuple(levels))
    for number, (level, said) in enumerate(zip(levels, book["levels"], strict=True)):
        node = next(nodes) if number < whole else visited_nodes(table.grid, level, table)
        _require_level(
            rows, number, said, level, node * np.uint64(stride_of(table.grid, level.digits))
        )
    require(
        pc.max(rows["level"]).as_py() < len(levels),
        Rule("node-on-no-level", "A row is on no level."),
    )
    return f"{rows.num_rows:,} nodes on {len(levels)} levels, {whole} of them complete"


def _level(grid: Grid, said: dict[str, Any]) -> NodeLevel:
    digits, under = (grid.order.digits_above(said[name]) for name in ("keys", "keys_above"))
    noise = said["law"], Fraction(said["parameter"])
    return NodeLevel(digits, under, said["measures"], noise, said["variance"])


def _require_level(
    rows: Any, number: int, said: dict[str, Any], level: NodeLevel, key: NDArray[np.uint64]
) -> None:
    """VerificationError where the rows of a level are not those of the nodes."""
    own = rows.filter(pc.equal(rows["level"], number))
    about = f"level {number} of the measurements"
    require(
        np.array_equal(own["key"].to_numpy(), key),
        Rule("nodes-missing-or-odd", f"Nodes are missing or odd on {about}."),
    )
    for name in ("measures", "law"):
        texts = {*own[name].cast("string").to_pylist()}
        require(
            texts <= {said[name]},
            Rule("codebook-level-differs", f"The codebook has another {name} for {about}."),
        )
    require(
        {*own["complete"].to_pylist()} <= {said["complete"]},
        Rule("node-flags-odd", f"Odd flags on {about}."),
    )
    scale = own["scale"].to_numpy()
    same = all(isclose(one, scale_of(level), rel_tol=1e-12) for one in np.unique(scale).tolist())
    require(same, Rule("codebook-scale-differs", f"The codebook has another scale for {about}."))
