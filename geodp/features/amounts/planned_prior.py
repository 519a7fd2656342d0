"""Simulate what a prior leaves of the errors of amounts, on people drawn around the prior's."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import log
from operator import mul
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from geodp import progress
from geodp.errors import Rule, UsageError
from geodp.features.amounts.numbers import SumRelease
from geodp.features.amounts.plan import Guess, check_guess, take_part
from geodp.features.amounts.publish import choose_pyramid, make_design
from geodp.features.amounts.scale import Scale, exact
from geodp.features.amounts.streams import (
    MOST,
    AmountTable,
    Design,
    ReleasedAmounts,
    release_streams,
)
from geodp.grid.grid import Grid
from geodp.privacy.assumption import ContributionBound
from geodp.privacy.budget import Budget
from geodp.privacy.key import NoiseKey, digest
from geodp.privacy.neighbours import ADD_REMOVE
from geodp.privacy.terms import Terms
from geodp.release.release import Release
from geodp.release.request import Request
from geodp.table.counts import CountTable
from geodp.table.prior import Prior
from geodp.table.proxy import Proxy
from geodp.typing import FloatArray, IntArray, KeyArray

KIND = Rule(
    "amounts-plan-prior-kind",
    "The prior of a plan is a public map of people (a CountTable, a Release, or the folder of "
    "one), around which the plan draws people. Of a release of amounts take its map of records, "
    "the folder count (release.count): its means hold noise, which a simulation that takes them as "
    "the truth would not find.",
)

STEPS = 1 << 10
"""Steps of the simulated clip: amounts are as fine as means of a few records need."""

GUESSED = 1 << 12
"""Quantiles of the guess of which the clipped amounts' mean and deviation are made."""

SEED = 20150901

WIDER = 2.0
"""An area of some records has up to so many times more, or fewer."""


@dataclass(frozen=True)
class AreaErrors:
    """Mean absolute errors of areas.

    Attributes
    ----------
    count : float
        In records.
    sum : float
        In units of the amount.
    mean : float
        As a part of the mean.
    """

    count: float
    sum: float
    mean: float


@dataclass(frozen=True)
class PlannedPrior:
    """Errors of areas without a prior and with it, where changes since it are by chance only.

    Attributes
    ----------
    without, with_prior : AreaErrors
    areas : int
        Number of areas, aligned blocks of cells of all sizes.
    """

    without: AreaErrors
    with_prior: AreaErrors
    areas: int


def plan_prior(
    grid: Grid,
    prior: CountTable | Release,
    *,
    upper: Any,
    median: float,
    upper_tenth: float,
    lower: Any = 0,
    records: float = 1000,
    people: float | None = None,
    share: Any = 1,
    releases: int = 4,
    epsilon: Budget | None = None,
    rho: Budget | None = None,
    delta: Budget | None = None,
    neighbours: str = ADD_REMOVE,
    contribution: int | None = None,
    unit: str = "person",
    method: str | None = None,
) -> PlannedPrior:
    """Simulate what a public map of people as the prior leaves of the errors of amounts.

    Releases are of people around those of the prior (Poisson), each with an amount of the lognormal
    guess: places have changed, and means differ, by chance only. Changes beyond that, and means
    that differ from place to place, are not simulated: with many of them errors with the prior are
    larger. Nobody looks at the data.

    Parameters
    ----------
    grid : Grid
        The public grid.
    prior : CountTable or Release
        The prior of the planned release: a public map of people on the same grid.
    upper : number
        Upper end of the clip, such as the best one of :func:`geodp.amounts.plan`.
    median, upper_tenth, lower, share
        See :func:`geodp.amounts.plan`.
    records : float
        Records of the areas whose errors are simulated: aligned blocks with half to twice as many.
    people : float, optional
        A public guess of all records, to which the prior is scaled.
    releases : int
        Number of simulated releases with the prior, and without it.
    contribution : int, optional
        Most records of one person; default: 1.
    epsilon, rho, delta, neighbours, unit, method
        See :func:`geodp.amounts.publish`.

    Raises
    ------
    UsageError
        Guesses that make no sense, another prior than a map of people on the same grid, and areas
        that it does not have; and as :func:`geodp.amounts.publish`.

    Examples
    --------
    >>> import numpy as np, geodp
    >>> grid = geodp.Grid.regular((64, 64))
    >>> town = np.random.default_rng(0).lognormal(3, 1.5, grid.shape).astype(int)
    >>> census = geodp.CountTable.from_dense(town, grid)
    >>> found = geodp.amounts.plan_prior(grid, census, upper=1500, median=250, upper_tenth=600,
    ...     records=100, epsilon="1/10")
    >>> found.with_prior.count < found.without.count / 2
    True
    """
    check_guess(median, upper_tenth, records)
    if releases < 1:
        raise UsageError("Simulate at least 1 release (releases).", code="amounts-plan-releases")
    ends = exact(lower, "lower"), exact(upper, "upper")
    if ends[1] <= max(ends[0], Fraction(0)):
        raise UsageError(
            "upper is an end of the clip above the lower one and above 0.",
            code="amounts-plan-upper",
        )
    terms = Terms.of(epsilon, rho, delta, neighbours, contribution, unit, people)
    truth, known = _read(grid, prior, people)
    scale = Scale.of(ends, (ends[1] - ends[0]) / STEPS, "amounts", "amount")
    table = draw_amounts(truth, Guess(float(median), float(upper_tenth)), scale)
    request = Request(terms=take_part(terms, share))
    bound = ContributionBound(contribution or 1)
    kind = (scale, (), grid, choose_pyramid(method))
    design = make_design(*kind, request, bound, means=True, share="1/2")
    areas = find_areas(truth, records)
    if not areas.first.size:
        raise UsageError(
            f"The prior, of {int(truth.count.sum()):,} people, has no aligned block with half to "
            f"twice {records:,.10g} records: name another number of records of an area "
            "(records=, --area-records), or another number of people (people=, --people).",
            code="amounts-plan-prior-areas",
        )
    return _compare(table, design, known, areas, releases)


def _read(
    grid: Grid, prior: CountTable | Release, people: float | None
) -> tuple[CountTable, Prior]:
    """Draw people around those of a prior, scaled, under a public seed, and return the prior.

    Raises UsageError for anything but a map of people.
    """
    cells: Any = prior
    # Sums in steps are a release, too, but no map of records.
    if isinstance(prior, Release) and not isinstance(prior, SumRelease):
        cells = prior.table
    elif not isinstance(prior, CountTable):
        raise UsageError(KIND)
    known = Prior.of(grid, cells, "the prior of the plan")
    scaled = Proxy.of(grid, cells, people).table
    # A prior that is the truth to the last person would be trusted far too much.
    drawn = np.random.default_rng(SEED).poisson(scaled.count)
    return CountTable.from_keys(grid, scaled.key[drawn > 0], drawn[drawn > 0]), known


class Areas(NamedTuple):
    """Aligned blocks, as runs of consecutive keys.

    Attributes
    ----------
    first, past : uint64[n]
        First keys, and those past the last ones.
    """

    first: KeyArray
    past: KeyArray

    def sums(self, key: KeyArray, value: Any) -> FloatArray:
        """Return sums of the values of cells over the blocks: float64[n]."""
        before = np.append(np.zeros(1), np.cumsum(value, dtype=np.float64))
        return np.asarray(
            before[np.searchsorted(key, self.past)] - before[np.searchsorted(key, self.first)]
        )


def find_areas(truth: CountTable, records: float) -> Areas:
    """Find the aligned blocks of all sizes that have about so many records."""
    firsts, pasts = [], []
    for stride in accumulate(reversed(truth.grid.order.radices), mul, initial=1):
        node, place = np.unique(truth.key // np.uint64(stride), return_inverse=True)
        held = np.bincount(place, truth.count, node.size)
        some = node[(held >= records / WIDER) & (held <= records * WIDER)]
        firsts.append(some * np.uint64(stride))
        pasts.append((some + np.uint64(1)) * np.uint64(stride))
    return Areas(np.concatenate(firsts), np.concatenate(pasts))


def draw_amounts(people: CountTable, guess: Guess, scale: Scale) -> AmountTable:
    """Draw the sums of clipped amounts of people under a public seed.

    Sums of many amounts are normal; of few, this is coarse, and within the clip. Raises UsageError
    where sums may be too large to be exact.
    """
    scale.require_room(int(people.count.sum()), MOST)
    lower, upper = map(float, scale.clip)
    even = (np.arange(GUESSED) + 0.5) / GUESSED
    normal = np.array([*map(NormalDist().inv_cdf, even)])
    clipped = np.clip(np.exp(log(guess.median) + guess.spread * normal), lower, upper)
    steps = (clipped - lower) / float(scale.step)
    number = np.asarray(people.count, np.float64)
    random = np.random.default_rng(SEED)
    sums = number * steps.mean() + np.sqrt(number) * steps.std() * random.normal(size=number.size)
    above = np.clip(np.rint(sums), 0, number * scale.span).astype(np.int64)
    return AmountTable(people, above, scale)


def _compare(
    table: AmountTable, design: Design, prior: Prior, areas: Areas, releases: int
) -> PlannedPrior:
    """Release amounts with a prior and without it, under the same public keys."""
    key, streams = table.records.key, design.streams(table)
    exactly = areas.sums(key, table.records.count), areas.sums(key, table.above)
    found: dict[bool, list[FloatArray]] = {False: [], True: []}
    progress.begin("Simulating releases", 2 * releases, public=True)
    for trial in range(releases):
        name = digest(b"geodp amounts plan, public", str(trial).encode())
        for informed, errors in found.items():
            own = NoiseKey(name).restrict(design.declare(table.records.grid))
            priors = (prior,) * len(streams) if informed else ()
            with progress.silence():
                drawn = release_streams(streams, design, own, priors)
            errors.append(_errors(drawn, table.scale, design.notches, areas, exactly))
            progress.advance()
    means = {one: AreaErrors(*np.mean(rows, axis=0).tolist()) for one, rows in found.items()}
    return PlannedPrior(means[False], means[True], int(areas.first.size))


def _errors(
    drawn: ReleasedAmounts,
    scale: Scale,
    notches: int,
    areas: Areas,
    exactly: tuple[FloatArray, FloatArray],
) -> FloatArray:
    """Return mean absolute errors of counts, sums and means of areas: float64[3]."""
    assert drawn.above is not None  # as sums are released
    above: IntArray = drawn.above * (scale.span // notches)
    number, total = areas.sums(drawn.key, drawn.number), areas.sums(drawn.key, above)
    lower, step = float(scale.clip[0]), float(scale.step)
    amounts = [n * lower + t * step for n, t in ((exactly[0], exactly[1]), (number, total))]
    true = amounts[0] / exactly[0]
    # A block without released records has a mean at the lower end.
    mean = np.divide(amounts[1], number, out=np.full_like(true, lower), where=number > 0)
    part = np.abs(mean - true) / np.abs(true)
    return np.array([np.abs(number - exactly[0]).mean(), np.abs(amounts[1] - amounts[0]).mean(),
                     part.mean()])  # fmt: skip
