"""Plan a selection: which counts are told apart, before any data are read."""

from __future__ import annotations

import math
from dataclasses import dataclass

from geodp.grid.grid import Grid
from geodp.kinds.selection.mechanisms import Selector, find_selector
from geodp.kinds.selection.question import Top
from geodp.kinds.selection.selected import DEFAULT
from geodp.privacy.loss import Budget
from geodp.privacy.selected import Selection
from geodp.privacy.terms import Terms


@dataclass(frozen=True)
class PlannedSelection:
    """How well the most populous places are chosen.

    Attributes
    ----------
    candidates, chosen : int
        Numbers of all candidates, and of those that are named.
    half_as_likely : float
        People by which one candidate is behind another that is at least twice as likely.
    false_hot_spots_below : float
        Count below which empty candidates are expected among the named ones.
    """

    candidates: int
    chosen: int
    half_as_likely: float
    false_hot_spots_below: float


def plan(
    grid: Grid,
    k: int,
    *,
    epsilon: Budget,
    contribution: int,
    level: str | int | None = None,
    mechanism: str | Selector = DEFAULT,
    neighbours: str = "add-remove-one",
    unit: str = "person",
) -> PlannedSelection:
    """Predict how well :func:`geodp.select.top_cells` chooses, from public things alone.

    Its parameters are those of that function. Raises UsageError as it does.

    Examples
    --------
    >>> grid = Grid.mesh("jis:half", bounds=(138, 35, 141.2, 37.1333333333))
    >>> planned = plan(grid, 10, epsilon=1, contribution=1)
    >>> planned.candidates, round(planned.half_as_likely), round(planned.false_hot_spots_below)
    (262144, 7, 125)
    """
    question = Top(k, None if level is None else str(level))
    candidates, selector = question.candidates(grid), find_selector(mechanism)
    terms = Terms.of(epsilon=epsilon, contribution=contribution, neighbours=neighbours, unit=unit)
    asked = f"select-{question.name}:{selector.name}", terms, question.change, question.rounds
    rate = float(Selection.of(*asked, "entropy").rate)
    near, false = math.log(2) / rate, math.log(candidates) / rate
    return PlannedSelection(candidates, k, near, false)
