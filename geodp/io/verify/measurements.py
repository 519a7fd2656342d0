"""Read the measurements of a written release, and check that they are of the nodes of its tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from fractions import Fraction
from math import isclose
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from geodp.errors import Rule, VerificationError
from geodp.grid.grid import Grid
from geodp.io.numbers import numbers_of
from geodp.io.opening import read_json, read_parquet
from geodp.io.verify.card import require
from geodp.io.verify.readback import BROKEN
from geodp.io.verify.sweep import ReleaseFiles
from geodp.io.write.measurements import SCHEMA, scale_of
from geodp.table.card import Card
from geodp.table.charged import Count
from geodp.table.measured import (
    Bias,
    MeasuredLevel,
    Measurements,
    NodeLevel,
    public_nodes,
    stride_of,
    visited_nodes,
)
from geodp.table.plain import read_plain, write_plain
from geodp.table.released import ReleasedTable
from geodp.table.stated.domain import StatedDomain


@dataclass(frozen=True)
class StatedBias:
    """Bias of a level, as a codebook states it: :class:`~geodp.table.measured.Bias`."""

    people: int
    missing: float
    bias: float


@dataclass(frozen=True)
class StatedLevel:
    """Level of the measurements, as a codebook states it.

    Attributes
    ----------
    measures : {"count", "difference"}
    keys, keys_above : int
        Keys of a node, and of the node above it that decides whether it is visited.
    nodes : int
    complete : bool
    law, parameter : str
    variance : float
    simulated : StatedBias or None
    """

    measures: Literal["count", "difference"]
    keys: Count
    keys_above: Count
    nodes: Count
    complete: bool
    law: str
    parameter: str
    variance: float
    simulated: StatedBias | None


def _read_book(folder: Path, card: Card) -> tuple[dict[str, Any], list[StatedLevel]]:
    """Read the codebook, and what it states of the levels; VerificationError for other types."""
    book = read_json(folder / f"{card.name}.measurements.json")
    names = [one.name for one in fields(StatedLevel)]
    return book, [
        read_plain(StatedLevel, {name: entry[name] for name in names}, f"levels[{number}]")
        for number, entry in enumerate(book["levels"])
    ]


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
        _, stated = _read_book(folder, card)
        rows = _read_rows(folder, card, stated, ["level", "key", "value"])
        return Measurements(tuple(_read_levels(rows, table.grid, stated)))
    except MemoryError:
        raise
    except BROKEN as error:
        raise VerificationError(
            f"Measurements in {folder} cannot be read back: {error}",
            code=error.code
            if isinstance(error, VerificationError)
            else "measurements-not-read-back",
        ) from error


def _read_rows(
    folder: Path, card: Card, stated: list[StatedLevel], columns: list[str] | None = None
) -> Any:
    """Read the rows of the measurements, at most as many as the codebook states nodes.

    No level has more nodes than the domain has cells.
    """
    nodes = sum(min(one.nodes, card.domain.cells) for one in stated)
    return read_parquet(folder / f"{card.name}.measurements.parquet", nodes, columns)


def _read_levels(rows: Any, grid: Grid, stated: list[StatedLevel]) -> Iterator[MeasuredLevel]:
    """Read the levels; VerificationError where nodes are out of order or missing."""
    # Nodes of complete levels follow from the domain alone.
    every = public_nodes(grid, tuple(_level(grid, one) for one in stated))
    for number, one in enumerate(stated):
        level = _level(grid, one)
        level_rows = rows.filter(pc.equal(rows["level"], number))
        node = numbers_of(level_rows["key"]) // np.uint64(stride_of(grid, level.digits))
        require(
            bool((node[1:] > node[:-1]).all()),
            Rule("nodes-not-in-order", "Nodes are not in key order."),
        )
        if one.complete:
            require(
                np.array_equal(node, next(every)),
                Rule("nodes-of-level-missing", "Nodes of a complete level are missing."),
            )
        bias = None if one.simulated is None else Bias(**write_plain(one.simulated))
        yield MeasuredLevel(level, one.complete, node, numbers_of(level_rows["value"]), bias)


def check_measurements(written: ReleaseFiles) -> str:
    """Require complete levels to have all nodes of the domain, and others the visited ones."""
    folder, card = written.folder, written.card
    book, stated = _read_book(folder, card)
    require(
        book["schema"] == SCHEMA,
        Rule("codebook-schema-unknown", "The codebook has an unknown schema."),
    )
    require(
        book["release"]["release_id"] == card.release_id,
        Rule("codebook-of-other-release", "The codebook belongs to another release."),
    )
    rows = _read_rows(folder, card, stated)
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
    levels = [_level(table.grid, one) for one in stated]
    complete = [one.complete for one in stated]
    # Levels are complete down to the one that was requested; below it only visited nodes are there.
    n_complete = complete.index(False) if False in complete else len(complete)
    require(
        not any(complete[n_complete:]),
        Rule("level-below-incomplete", "A complete level stands below one that is not."),
    )
    nodes = public_nodes(table.grid, tuple(levels))
    for number, (level, one) in enumerate(zip(levels, stated, strict=True)):
        node = next(nodes) if number < n_complete else visited_nodes(table.grid, level, table)
        _require_level(
            rows, number, one, level, node * np.uint64(stride_of(table.grid, level.digits))
        )
    require(
        pc.max(rows["level"]).as_py() < len(levels),
        Rule("node-on-no-level", "A row belongs to no level of the codebook."),
    )
    # What else the codebook says of a level is compared with what is written again of it.
    read_measurements(folder, table, card)
    return f"{rows.num_rows:,} nodes on {len(levels)} levels, {n_complete} of them complete"


def _level(grid: Grid, one: StatedLevel) -> NodeLevel:
    digits, under = (grid.order.digits_above(keys) for keys in (one.keys, one.keys_above))
    return NodeLevel(digits, under, one.measures, (one.law, Fraction(one.parameter)), one.variance)


def _require_level(
    rows: Any, number: int, one: StatedLevel, level: NodeLevel, key: NDArray[np.uint64]
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
            texts <= {getattr(one, name)},
            Rule("codebook-level-differs", f"The codebook has another {name} for {about}."),
        )
    require(
        {*level_rows["complete"].to_pylist()} <= {one.complete},
        Rule("node-flags-odd", f"The column complete differs from the codebook on {about}."),
    )
    scale = numbers_of(level_rows["scale"])
    expected = scale_of(level)
    same = all(isclose(each, expected, rel_tol=1e-12) for each in np.unique(scale).tolist())
    require(same, Rule("codebook-scale-differs", f"The codebook has another scale for {about}."))
