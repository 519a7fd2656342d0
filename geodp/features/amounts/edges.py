"""Choose the edges of classes by quantiles of the records, with a charge of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

from geodp.errors import UsageError
from geodp.features.amounts.clip import AXIS, prepare_question
from geodp.features.amounts.records import AmountRecords, require_records
from geodp.features.amounts.scale import MOST_CLASSES, Scale, exact, label_number, show_number
from geodp.features.amounts.streams import AmountTable
from geodp.features.select.parts import EqualParts
from geodp.features.select.question import Answer
from geodp.features.select.selected import PreparedSelection, Selected
from geodp.features.select.terms import read_terms
from geodp.grid.grid import Grid
from geodp.io.read.rows.input_files import TableSource
from geodp.io.read.rows.selecting import Value
from geodp.io.read.rows.tally import Outside
from geodp.privacy.budget import Budget
from geodp.privacy.key import NoiseKey
from geodp.privacy.ledger import Ledger
from geodp.privacy.neighbours import ADD_REMOVE
from geodp.release.request import Request

MOST_EDGES = 10_000
"""Most parts of the clip that edges are chosen among, as the card names all of them."""


@dataclass(frozen=True)
class EdgeChoice:
    """Edges of classes that were chosen from the records.

    Attributes
    ----------
    edges : tuple of str
        Inner edges in increasing order, in units of the amount, exact: for ``classes`` of
        :func:`geodp.amounts.publish`.
    selected : Selected
        The selection, with its guarantee and its charge; it can be written and verified.
    """

    edges: tuple[str, ...]
    selected: Selected = field(repr=False)


def choose_edges(
    data: TableSource,
    *,
    classes: int,
    clip: tuple[Any, Any],
    step: Any = 1,
    edge_step: Any = None,
    grid: str | Grid,
    amount: str,
    unit_of_amount: str,
    code: str | None = None,
    x: str | None = None,
    y: str | None = None,
    crs: str | None = None,
    value: str | None = None,
    weight: str | None = None,
    max_weight: int = 1,
    raked_to: str | None = None,
    person: str | None = None,
    columns: Mapping[str, str] | None = None,
    where: Mapping[str, Value] | None = None,
    outside: Outside | None = None,
    decimal: Any = None,
    epsilon: Budget,
    neighbours: str = ADD_REMOVE,
    contribution: int | None = None,
    unit: str = "person",
    allow_empty: bool = False,
    key: NoiseKey | None = None,
    ledger: Ledger | None = None,
    dataset: str | None = None,
    records: str | None = None,
) -> EdgeChoice:
    """Choose edges so that each class has about as many records as any other.

    Edges are drawn among the multiples of a step inside the clip: one that halves the records,
    then one of each half, and so on (Kaplan, Schnapp and Stemmer 2022). Where amounts are not
    known at all this replaces public edges; it spends a budget of its own, which adds to that of
    the release.

    Parameters
    ----------
    data : path, sequence of paths, or table in memory
    classes : int
        Number of classes, 2 to 100.
    clip : (number, number)
        As of :func:`geodp.amounts.publish`: public, or chosen by
        :func:`geodp.amounts.choose_clip`.
    step : number
        As of :func:`geodp.amounts.publish`.
    edge_step : number, optional
        Edges are multiples of it; a multiple of ``step``, which is the default, and at least a
        10,000th of the clip.
    grid, amount, unit_of_amount, code, x, y, crs, value, weight, max_weight, person, columns
        As of :func:`geodp.amounts.publish`.
    raked_to, where, outside, decimal, contribution
        As of :func:`geodp.amounts.publish`.
    epsilon, neighbours, unit, allow_empty, key, ledger, dataset, records
        As for :func:`geodp.select.top_cells`.

    Raises
    ------
    UsageError, InputError, BudgetError
        As for :func:`geodp.amounts.publish` and :func:`geodp.select.top_cells`. Nothing was
        charged.

    Notes
    -----
    The proof is in docs/proofs/amounts.md.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa, geodp
    >>> income = np.random.default_rng(1).lognormal(5.5, 0.7, 50_000)
    >>> rows = pa.table({"mesh": ["53394611"] * income.size, "income": income})
    >>> options = {"amount": "income", "unit_of_amount": "10,000 yen", "contribution": 1}
    >>> choice = geodp.amounts.choose_edges(rows, grid="jis:basic", code="mesh", classes=4,
    ...     clip=(0, 1000), edge_step=10, epsilon=1, **options)
    >>> choice.edges
    ('150', '240', '380')
    """
    scale = Scale.of(clip, step, unit_of_amount, amount)
    coarse = Scale.of(clip, step if edge_step is None else edge_step, unit_of_amount, amount)
    parts = divide_clip(classes, scale, coarse)
    table = AmountRecords(
        grid=Grid.mesh(grid) if isinstance(grid, str) else grid,
        scale=scale,
        by_amount=parts,
        code=code,
        x=x,
        y=y,
        crs=crs,
        value=value,
        weight=weight,
        max_weight=max_weight,
        raked_to=raked_to,
        person=person,
        records=require_records(person, contribution),
        columns=columns or {},
        where=where or {},
        outside=outside,
        decimal=decimal,
    ).read_amounts(data)
    request = Request(
        terms=read_terms(epsilon, neighbours, contribution, unit),
        allow_empty=allow_empty,
        key=key,
        ledger=ledger,
        dataset=dataset,
        records=records,
    )
    selected = prepare_edges(table, classes, request).release()
    return EdgeChoice(list_edges(selected.chosen), selected)


def list_edges(chosen: Sequence[Answer]) -> tuple[str, ...]:
    """List the edges of an answer in increasing order; they were drawn in another one."""
    return tuple(map(show_number, sorted(exact(one["label"], "edges") for one in chosen)))


def divide_clip(classes: int, scale: Scale, coarse: Scale) -> Grid:
    """Return the parts of a clip between which edges may lie, one key each.

    Parameters
    ----------
    classes : int
    scale, coarse : Scale
        With the step of amounts and with that of edges.

    Raises
    ------
    UsageError
        No whole number of steps of amounts in one of edges, too many parts or classes, or as many
        classes as steps.
    """
    if (coarse.step / scale.step).denominator != 1:
        raise UsageError(
            "edge_step must be a multiple of the step of the amounts.", code="amounts-edge-step"
        )
    if coarse.span > MOST_EDGES:
        raise UsageError(
            f"Edges are chosen among at most {MOST_EDGES:,} steps of the clip: choose a larger "
            "edge_step.",
            code="amounts-edges-too-fine",
        )
    is_whole = isinstance(classes, Integral) and not isinstance(classes, bool)
    if not is_whole or not 2 <= classes <= min(MOST_CLASSES, coarse.span):
        raise UsageError(
            f"The number of classes is from 2 to {MOST_CLASSES}, and each has a step of the edges "
            "at least.",
            code="amounts-number-of-classes",
        )
    # Whatever the records are: a budget would be spent on what is known.
    if classes == coarse.span:
        raise UsageError(
            "Only one choice of edges leaves each class a step of its own: publish with these "
            "edges, which cost nothing, or choose a smaller edge_step.",
            code="amounts-edges-known",
        )
    labels = [label_number((coarse.lower + at) * coarse.step) for at in range(coarse.span)]
    return Grid.regular((1, 1)).with_attribute(AXIS, labels)


def prepare_edges(table: AmountTable, classes: int, request: Request) -> PreparedSelection:
    """Do everything of :func:`choose_edges` that comes after reading and before the charge.

    ``table``: with records by amount.
    """
    return prepare_question(table, table.records, EqualParts(int(classes), AXIS), request)
