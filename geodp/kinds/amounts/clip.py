"""Choose the upper end of the clip by a quantile of the records, with a charge of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from geodp.advice import pick, takes
from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.io.read.rows.decimals import GIVEN
from geodp.io.read.rows.input_files import TableSource
from geodp.kinds.amounts.amounts import CLIPPED
from geodp.kinds.amounts.records import LIMITS, AmountRecords, read_records
from geodp.kinds.amounts.scale import exact, label_number, show_number
from geodp.kinds.amounts.streams import AmountTable
from geodp.kinds.selection.question import (
    ROUND,
    Answer,
    Quantile,
    count_at,
    line_up,
    request_selection,
)
from geodp.kinds.selection.selected import Selected, SelectionDesign, prepare
from geodp.privacy.loss import Budget
from geodp.release.request import Request
from geodp.release.transaction import Prepared
from geodp.table.contribution import bound_contribution
from geodp.table.counts import CountTable

AXIS = "amount"


@dataclass(frozen=True)
class ClipChoice:
    """An upper end of the clip that was chosen from the records.

    Attributes
    ----------
    upper : str
        In units of the amount, exact: for ``clip`` of :func:`geodp.amounts.publish`.
    selected : Selected
        The selection, with its guarantee and its charge; it can be written and verified.
    """

    upper: str
    selected: Selected = field(repr=False)


@takes(request_selection, AmountRecords, without=(*LIMITS, "by", "labels", "clip", "classes"))
def choose_clip(
    data: TableSource,
    *,
    grid: str | Grid,
    candidates: Sequence[Any] = (),
    lowest: Any = None,
    highest: Any = None,
    lower: Any = 0,
    share: Budget = "0.01",
    **options: Any,
) -> ClipChoice:
    """Choose the upper end of the clip so that about a share of the records lies above it.

    One of public candidates is drawn as a quantile of the records, which spends a budget of its
    own: a hundredth of that of the release, usually. Without a guess of the amounts it replaces
    :func:`geodp.amounts.plan`, which spends nothing.

    Parameters
    ----------
    data : path, sequence of paths, or table in memory
    grid : str or Grid
        The public grid.
    candidates : sequence of numbers
        Public upper ends, in increasing order, the last one being the largest.
    lowest, highest : number
        Instead: ends of a logarithmic scale of round candidates, for amounts with heavy tails.
    lower : number
        Lower end of the clip.
    share : number
        Of the records above the chosen end, above 0 and below 1.
    contribution
        Most records of one person, as of :func:`geodp.amounts.publish`.

    Raises
    ------
    UsageError, InputError, BudgetError
        As for :func:`geodp.amounts.publish` and :func:`geodp.select.top_cells`. Nothing was
        charged.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa, geodp
    >>> income = np.random.default_rng(1).lognormal(5.5, 0.7, 50_000)
    >>> rows = pa.table({"mesh": ["53394611"] * income.size, "income": income})
    >>> options = {"amount": "income", "unit_of_amount": "10,000 yen", "contribution": 1}
    >>> geodp.amounts.choose_clip(rows, grid="jis:basic", code="mesh", lowest=100,
    ...     highest=10_000, epsilon="0.1", **options)
    ClipChoice(upper='1500')
    """
    q = require_quantile(share)
    uppers = list_candidates(candidates, lowest, highest)
    request = request_selection(**pick(request_selection, options))
    options |= {"clip": (lower, uppers[-1]), "classes": uppers[:-1]}
    contribution = request.terms.contribution
    table = read_records(data, grid=grid, contribution=contribution, **options)
    selected = prepare_choice(table, uppers, q, request).release()
    return ClipChoice(find_upper(selected.chosen), selected)


def require_quantile(share: Budget) -> Fraction:
    """Return the part of records below the clip; UsageError unless a share is between 0 and 1."""
    part = exact(share, "share")
    if not 0 < part < 1:
        raise UsageError(
            "share is the part of the records above the clip: above 0 and below 1.",
            code="amounts-clip-share",
        )
    return 1 - part


def find_upper(chosen: Sequence[Answer]) -> str:
    """Return the upper end of an answer, which has one candidate."""
    return show_number(exact(chosen[0]["label"], "candidates"))


def prepare_choice(
    table: AmountTable, uppers: Sequence[str], q: Fraction, request: Request
) -> Prepared[SelectionDesign, Selected]:
    """Do everything of :func:`choose_clip` that comes after reading and before the charge.

    Parameters
    ----------
    table : AmountTable
        With the candidates but for the last one as edges of classes.
    uppers : sequence of str
        The candidates.
    q : Fraction
        Part of the records below the chosen end.
    request : Request
    """
    question, grid = ask(q, uppers)
    numbers = np.array([int(one.count.sum()) for one in table.classes], np.int64)
    counts = count_at(AXIS, grid.attributes[0].labels, numbers)
    # Totals are looked for among the labels that were read, and not among amounts.
    read = CountTable.from_keys(
        table.records.grid,
        (),
        (),
        bound=table.records.bound,
        reading=table.records.reading,
    )
    bound = bound_contribution(read, request.terms.contribution)
    # A record of weight w is w records of one person.
    bound = replace(bound, value=bound.value * table.max_weight)
    counts = replace(counts, bound=bound, reading=table.records.reading)
    facts = (*table.facts, CLIPPED.format(*map(show_number, table.scale.clip)))
    if table.max_weight > 1:
        facts = (*facts, GIVEN.format(table.max_weight))
    request = replace(request, terms=replace(request.terms, contribution=None))
    return prepare(counts, question, request, facts=facts)


def ask(q: Fraction, uppers: Sequence[str]) -> tuple[Quantile, Grid]:
    """Return the question of the upper end of the clip, and the grid of its candidates."""
    labels = [label_number(exact(one, "candidates")) for one in uppers]
    return Quantile(q, AXIS), line_up(AXIS, labels)


def list_candidates(candidates: Sequence[Any], lowest: Any, highest: Any) -> list[str]:
    """List the candidates in order, exactly; UsageError unless there are two, from 0 on.

    Examples
    --------
    >>> list_candidates((), 50, 300)
    ['50', '60', '80', '100', '120', '150', '200', '250', '300']
    """
    given = [exact(one, "candidates") for one in candidates]
    # Beside candidates a scale would do nothing.
    both = bool(given) and (lowest is not None or highest is not None)
    if not given and lowest is not None and highest is not None:
        ends = exact(lowest, "lowest"), exact(highest, "highest")
        scale = [exact(f"{m}e{p}", "candidates") for p in range(-9, 19) for m in ROUND]
        given = [one for one in scale if ends[0] <= one <= ends[1]]
    if both or len(given) < 2 or sorted({*given}) != given:
        raise UsageError(
            "Give public candidates for the upper end in increasing order, or the lowest and the "
            "highest of a logarithmic scale of them.",
            code="amounts-clip-candidates",
        )
    # Their labels would begin with a minus sign, as formulas of spreadsheets do.
    return [show_number(one) for one in given]
