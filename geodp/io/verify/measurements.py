"""Read the measurements of a written release, and check that they are of the nodes of its tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow.compute as pc

from geodp.errors import Rule, VerificationError
from geodp.grid.grid import Grid
from geodp.io.numbers import numbers_of
from geodp.io.opening import read_json, read_parquet
from geodp.io.verify.card import require
from geodp.io.verify.readback import BROKEN
from geodp.io.write.measurements import SCHEMA
from geodp.io.write.view import View
from geodp.table.card import Card
from geodp.table.counts import ReleasedTable
from geodp.table.measured import (
    Bias,
    MeasuredLevel,
    MeasuredLevels,
    NodeLevel,
    public_nodes,
    stride_of,
    visited_nodes,
)
from geodp.table.plain import read_plain, write_plain
from geodp.table.stated.domain import StatedDomain
from geodp.table.stated.release import Count


@dataclass(frozen=True)
class StatedBias:
    """Bias of a level, as a codebook states it: :class:`~geodp.table.measured.Bias`."""

    people: int
    missing: float
    bias: float


@dataclass(frozen=True)
class CodebookLevel:
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


def _read_book(folder: Path, card: Card) -> tuple[dict[str, Any], list[CodebookLevel]]:
    """Read the codebook, and what it states of the levels; VerificationError for other types."""
    book = read_json(folder / f"{card.name}.measurements.json")
    names = [one.name for one in fields(CodebookLevel)]
    return book, [
        read_plain(CodebookLevel, {name: entry[name] for name in names}, f"levels[{number}]")
        for number, entry in enumerate(book["levels"])
    ]


def has_measurements(card: Card) -> bool:
    """Return whether the card lists measurements."""
    return f"{card.name}.measurements.parquet" in card.listed


def read_measurements(folder: Path, table: ReleasedTable, card: Card) -> MeasuredLevels | None:
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
        # No level has more nodes than the domain has cells.
        nodes = sum(min(one.nodes, card.domain.cells) for one in stated)
        path = folder / f"{card.name}.measurements.parquet"
        rows = read_parquet(path, nodes, ["level", "key", "value"])
        return MeasuredLevels(tuple(_read_levels(rows, table.grid, stated)))
    except MemoryError:
        raise
    except BROKEN as error:
        raise VerificationError(
            f"Measurements in {folder} cannot be read back: {error}",
            code=error.code
            if isinstance(error, VerificationError)
            else "measurements-not-read-back",
        ) from error


def _read_levels(rows: Any, grid: Grid, stated: list[CodebookLevel]) -> Iterator[MeasuredLevel]:
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


def check_measurements(folder: Path, view: View) -> str:
    """Require complete levels down to some level, and the visited nodes of those below it.

    Nodes of complete levels are checked when they are read.
    """
    book, stated = _read_book(folder, view.card)
    require(
        book["schema"] == SCHEMA,
        Rule("codebook-schema-unknown", "The codebook has an unknown schema."),
    )
    require(
        book["release"]["release_id"] == view.card.release_id,
        Rule("codebook-of-other-release", "The codebook belongs to another release."),
    )
    if view.measurements is None:
        return "nodes are not checked, as the files do not contain the whole domain"
    complete = [one.complete for one in stated]
    n_complete = complete.index(False) if False in complete else len(complete)
    require(
        not any(complete[n_complete:]),
        Rule("level-below-incomplete", "A complete level stands below one that is not."),
    )
    levels = view.measurements.levels
    for number, one in enumerate(levels[n_complete:], n_complete):
        require(
            np.array_equal(one.node, visited_nodes(view.table.grid, one.level, view.table)),
            Rule(
                "nodes-missing-or-odd",
                f"Nodes are missing or unexpected on level {number} of the measurements.",
            ),
        )
    nodes = sum(one.node.size for one in levels)
    return f"{nodes:,} nodes on {len(levels)} levels, {n_complete} of them complete"


def _level(grid: Grid, one: CodebookLevel) -> NodeLevel:
    digits, under = (grid.order.digits_above(keys) for keys in (one.keys, one.keys_above))
    return NodeLevel(digits, under, one.measures, (one.law, Fraction(one.parameter)), one.variance)
