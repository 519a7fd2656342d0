"""Choose the upper end of the clip: by its bias against the noise before any data are read, or by a
quantile of the records, with a charge of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil, erf, exp, hypot, log, log10, sqrt
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
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.privacy.event import Measurement
from geodp.privacy.loss import Budget
from geodp.privacy.terms import ADD_REMOVE, Terms
from geodp.release.request import Request, choose_pyramid, make_event
from geodp.release.series import share_periods
from geodp.release.sharing import Person
from geodp.release.transaction import Prepared
from geodp.table.contribution import bound_contribution
from geodp.table.counts import CountTable

UPPER_TENTH = 1.2815515655446004
"""Standard normal quantile that one in ten exceeds."""

BEYOND = (0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
"""Shares of records above the clips that are compared where none are named."""


DENSE = 10
"""Records of a cell, in standard errors of its count, from which a map is dense."""

CELL_DIGITS, CELL_WEIGHT = 12, 30
"""Binary digits below a node whose children are cells, and the cells' part of the budget for one of
each other level."""


@dataclass(frozen=True)
class PlannedClip:
    """An upper end of the clip, and what it costs the mean of an area, by a public guess.

    Attributes
    ----------
    upper : float
        In units of the amount.
    beyond : float
        Share of records above it.
    bias : float
        By how much the clip alone lowers the mean, as a part of it.
    noise : float
        Standard error of the mean by noise alone, as a part of it.
    error : float
        Both together: root of the sum of the squares.
    count_error : float
        Standard error of the number of records of the area.
    best : bool
        Whether it has the smallest error of all that are compared.
    """

    upper: float
    beyond: float
    bias: float
    noise: float
    error: float
    count_error: float
    best: bool


@dataclass(frozen=True)
class Guess:
    """A lognormal guess of amounts, of which two public numbers are known.

    Attributes
    ----------
    median, upper_tenth : float
        What one in two and one in ten exceed, above 0.

    Examples
    --------
    >>> guess = Guess(250, 600)
    >>> round(guess.mean), round(guess.clipped(1000)), round(guess.beyond(1000), 3)
    (316, 309, 0.021)
    """

    median: float
    upper_tenth: float

    @property
    def spread(self) -> float:
        """Standard deviation of the logarithm."""
        return log(self.upper_tenth / self.median) / UPPER_TENTH

    @property
    def mean(self) -> float:
        """Mean without a clip."""
        return self.median * exp(self.spread**2 / 2)

    def clipped(self, upper: float) -> float:
        """Return the mean of the smaller of the amount and the upper end."""
        place = (log(upper) - log(self.median)) / self.spread
        return self.mean * _normal(place - self.spread) + upper * self.beyond(upper)

    def beyond(self, upper: float) -> float:
        """Return the share of amounts above an end."""
        return 1 - _normal((log(upper) - log(self.median)) / self.spread)

    def exceeded_by(self, share: float) -> float:
        """Return the amount that a share of records exceeds, rounded up to two digits."""
        low, high = self.median * exp(-9 * self.spread), self.median * exp(9 * self.spread)
        for _ in range(60):
            middle = sqrt(low * high)
            low, high = (middle, high) if self.beyond(middle) > share else (low, middle)
        unit = 10.0 ** (ceil(log10(high)) - 2)
        return ceil(high / unit - 1e-9) * unit


def _normal(z: float) -> float:
    """Return the standard normal distribution function."""
    return (1 + erf(z / sqrt(2))) / 2


def plan(
    grid: Grid,
    *,
    median: float,
    upper_tenth: float,
    clips: Sequence[Any] = (),
    lower: Any = 0,
    records: float = 1000,
    people: float | None = None,
    share: Any = 1,
    epsilon: Budget | None = None,
    rho: Budget | None = None,
    delta: Budget | None = None,
    neighbours: str = ADD_REMOVE,
    contribution: int = 1,
    method: str | None = None,
    snapshots: int | None = None,
    person: Person = "all",
) -> list[PlannedClip]:
    """Compare upper ends of the clip by what they cost the mean of an area.

    A low end cuts high amounts, which lowers the mean; a high one adds noise, which is
    proportional to the distance between the ends. Nobody looks at the data: the amounts are taken
    as lognormal, by two public numbers, such as those of an earlier survey.

    Parameters
    ----------
    grid : Grid
        The public grid.
    median, upper_tenth : float
        Public guesses of the amounts that one record in two and one in ten exceed.
    clips : sequence of numbers
        Upper ends to compare. Default: those that 20 % to 0.1 % of records would exceed.
    lower : number
        Lower end.
    records : float
        Records of the area whose mean is to be right.
    people : float, optional
        A public guess of all records, from which the size of such an area follows; default: it is
        a single cell.
    share : number
        Part of the budget for sums, where classes have the rest.
    epsilon, rho, delta, neighbours, contribution, method
        See :func:`geodp.amounts.publish`.
    snapshots : int, optional
        Plan a series of so many periods: the budget is for all of them, the errors are for one.
    person : {"all", "one"}
        With ``snapshots``: in how many of them one person is.

    Raises
    ------
    UsageError
        Guesses that make no sense; and as :func:`geodp.amounts.publish`.

    Examples
    --------
    >>> import geodp
    >>> grid = geodp.Grid.regular((512, 512))
    >>> clips = geodp.amounts.plan(grid, median=250, upper_tenth=600, epsilon=1)
    >>> best = next(one for one in clips if one.best)
    >>> best.upper, round(100 * best.bias, 1), round(100 * best.noise, 1)
    (1500.0, 0.5, 0.9)
    """
    check_guess(median, upper_tenth, records)
    guess, pyramid = Guess(float(median), float(upper_tenth)), choose_pyramid(method, "Amounts")
    bottom = float(exact(lower, "lower"))
    terms = Terms.of(epsilon, rho, delta, neighbours, contribution, people=people)
    if snapshots is not None:
        terms = share_periods(grid, pyramid, terms, snapshots, person).each
    event = make_event(grid, pyramid, take_part(terms, share))
    cells = 1.0 if people is None else max(records * grid.size / people, 1.0)
    error_of_stream = _error_of_block(grid, pyramid, event, cells)
    error = error_of_stream / records
    uppers = [float(exact(one, "clip")) for one in clips] or [*map(guess.exceeded_by, BEYOND)]
    if any(upper <= max(bottom, 0) for upper in uppers):
        raise UsageError(
            "An upper end of the clip must be above the lower one and above 0.",
            code="amounts-plan-clips",
        )
    rows = []
    for upper in sorted({*uppers}):
        mean = guess.clipped(upper)
        place, span = (mean - bottom) / (upper - bottom), upper - bottom
        noise = span * hypot(place, 1 - place) * error / guess.mean
        bias = 1 - mean / guess.mean
        rows.append((upper, guess.beyond(upper), bias, noise, hypot(bias, noise)))
    least = min(row[-1] for row in rows)
    # Records are the sum of both streams, whose noise is independent.
    counted = sqrt(2) * error_of_stream
    return [PlannedClip(*row, count_error=counted, best=row[-1] == least) for row in rows]


@takes(
    plan,
    without=("median", "upper_tenth", "clips", "lower", "records", "method", "snapshots", "person"),
)
def find_dense_method(
    grid: Grid, *, people: float | None = None, share: Any = 1, contribution: int = 1, **budget: Any
) -> tuple[str, float] | None:
    """Find a method that is better at the cells of a dense map, and its error over the default's.

    It spends nearly all of the budget on the cells. None where a public guess of all records does
    not say that a cell has many times the records of its noise, or where the error is not smaller.

    Examples
    --------
    >>> import geodp
    >>> grid = geodp.Grid.regular((512, 512))
    >>> method, ratio = find_dense_method(grid, people=50_000_000, epsilon=1)
    >>> method, round(ratio, 2)
    ('pyramid:chain=6-12,shares=1-1-30', 0.64)
    >>> find_dense_method(grid, people=500_000, epsilon=1)
    """
    digits = len(grid.order.radices)
    if people is None or not grid.order.is_binary or digits <= CELL_DIGITS:
        return None
    first, full = digits % CELL_DIGITS, digits // CELL_DIGITS
    steps = [*([first] if first else []), *[CELL_DIGITS] * full]
    weights = [1] * len(steps) + [CELL_WEIGHT]
    spec = f"pyramid:chain={'-'.join(map(str, steps))},shares={'-'.join(map(str, weights))}"
    terms = take_part(Terms.of(contribution=contribution, people=people, **budget), share)
    errors = []
    for method in (choose_pyramid(None, "Amounts"), choose_pyramid(spec, "Amounts")):
        event = make_event(grid, method, terms)
        errors.append(_error_of_block(grid, method, event, 1.0))
    is_dense = people / grid.domain.cells >= DENSE * errors[0]
    return (spec, errors[1] / errors[0]) if is_dense and errors[1] < errors[0] else None


def check_guess(median: float, upper_tenth: float, records: float) -> None:
    """Raise UsageError for guesses that make no sense."""
    if not 0 < median < upper_tenth:
        raise UsageError(
            "Guess the median and the amount that one in ten exceeds: numbers above 0, the second "
            "the larger one.",
            code="amounts-plan-guess",
        )
    if not records > 0:
        raise UsageError("records of an area must be above 0.", code="amounts-plan-records")


def take_part(terms: Terms, share: Any) -> Terms:
    """Return terms with the part of the budget for sums; UsageError for none, or more than all."""
    part = exact(share, "share")
    if not 0 < part <= 1:
        raise UsageError(
            "share is a part of the budget above 0 and at most 1.", code="amounts-plan-share"
        )
    return terms.share(part)


def _error_of_block(grid: Grid, method: Pyramid, event: Measurement, cells: float) -> float:
    """Return the standard error of a count of the smallest block of at least so many cells."""
    errors = method.block_errors(grid, event)
    assert errors is not None  # as a pyramid has closed forms
    large = [one for one in errors if one.cells >= cells]
    return min(large or [errors[0]], key=lambda one: one.cells).standard_error


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
