"""Flows between zones from released ends and noisy pairs of blocks: pure post-processing.

1. A law of distance, balanced to both ends, is what the ends alone say of the pairs of blocks; its
   decay is the one that is closest to the noisy pairs. The flows of a prior are mixed with it, by
   the weight that is closest to them.
2. From large blocks to small ones, the expected pairs become what the noisy ones say of them, by
   how much pairs of their size turn out to differ from the law (empirical Bayes), and are raked to
   both ends, each by as much as it is uncertain.
3. Pairs of blocks are rounded to whole trips, then divided among their origins, then among their
   destinations: each time with exactly the margins above, so that in the end both ends are exactly
   the released ones, and no array of all pairs of zones is made.

Beside the noisy pairs, one array of all pairs of the finest blocks is kept, two while a prior is
weighed: whatever else is made of them is made of some rows at a time. Where few blocks have trips,
arrays are of the pairs of these alone, as flows between all others are 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Any, TypeAlias

import numpy as np

from geodp import progress
from geodp.kernels import key_lists
from geodp.kinds.flows.deconvolution import MEASURED, LearnedFlows, learn_flows
from geodp.kinds.flows.kernels import balancing, deconvolution, rounding
from geodp.kinds.flows.prior_flows import FlowsPrior, TrustedPrior
from geodp.kinds.flows.zones import Attraction, ZoneBlocks, Zones
from geodp.typing import FloatArray, IntArray, KeyArray, KeyedCounts

SORTED = 1 << 20
"""Counts that are sorted at once; more are divided before."""

BLOCK = 1 << 22
"""Counts by which the arrays of a collector grow."""


class Collector:
    """Counts by key from many small arrays, in two that grow.

    ``most``: no more will be added.
    """

    def __init__(self, most: int = BLOCK) -> None:
        some = min(most, BLOCK)
        self._key, self._count = np.empty(some, np.uint64), np.empty(some, np.int64)
        self._size = 0

    def add(self, number: int) -> KeyedCounts:
        """Add so many counts, and return their keys and themselves to be filled in."""
        place = slice(self._size, self._size + number)
        if place.stop > self._key.size:
            self._resize(place.stop + BLOCK)
        self._size = place.stop
        return self._key[place], self._count[place]

    def _resize(self, size: int) -> None:
        # Where they are: joined from blocks they would for a moment be there twice.
        for one in (self._key, self._count):
            one.resize(size, refcheck=False)

    def all(self) -> KeyedCounts:
        """Return everything that was added, in its order; nothing is added after it."""
        self._resize(self._size)
        return self._key, self._count


def sort_counts(key: KeyArray, count: IntArray) -> None:
    """Sort counts by key, in place and with little memory beside: uint64[n], int64[n]."""
    if not key_lists.is_sorted(key):
        some = min(key.size, SORTED)
        buffers = np.empty(some, np.uint64), np.empty(some, np.int64)
        key_lists.sort_with_few(key, count, *buffers)


SLAB = 1 << 18
"""Most entries of some rows, unless a row alone has more."""


def split_rows(shape: tuple[int, ...]) -> Iterator[slice]:
    """Yield slices of rows of a matrix, in their order."""
    rows, columns = shape
    # Kernels take four rows at a time.
    some = max(SLAB // max(columns, 1) // 4 * 4, 1)
    for start in range(0, rows, some):
        yield slice(start, min(start + some, rows))


def split_ends(pairs: SomePairs) -> Iterator[tuple[slice, slice, IntArray]]:
    """Yield slices of rows of all blocks, those of the flows there, and their places in them."""
    for rows in split_rows((pairs.number, pairs.number)):
        first, last = np.searchsorted(pairs.ends[0], (rows.start, rows.stop))
        yield rows, slice(first, last), pairs.ends[0][first:last] - rows.start


def to_real(rows: FloatArray | IntArray) -> FloatArray:
    """Return rows as real numbers: float64[m, n]; without a copy where they are."""
    return rows.astype(np.float64, copy=False)


def round_table(
    value: FloatArray, margins: tuple[IntArray, IntArray], state: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Round a table, so that its rows and columns have exactly the given sums.

    Parameters
    ----------
    value : float64[rows, columns]
        Expectations, not negative, whose sums are nearly the margins.
    margins : int64[rows], int64[columns]
        Not negative, with equal sums.
    state : int64[1]
        State of the random numbers; continued.

    Returns
    -------
    row, column, count : int64[m]
        Entries above 0, by row and column.
    """
    rows, columns = value.shape
    # Entries above 0 are no more than the trips.
    collected = Collector(min(value.size, int(margins[0].sum())))
    collect_rounded(
        value, margins, state, (np.arange(rows) * columns, np.arange(columns)), collected
    )
    place, count = collected.all()
    return *np.divmod(place.view(np.int64), columns), count


def collect_rounded(
    value: FloatArray,
    margins: tuple[IntArray, IntArray],
    state: IntArray,
    ends: tuple[IntArray, IntArray],
    collected: Collector,
) -> None:
    """Round a table as :func:`round_table` does, and collect its entries.

    ``ends``: int64[rows], int64[columns], whose sums are the keys.
    """
    margin, columns = (np.ascontiguousarray(one) for one in margins)
    lacking, work = np.empty(columns.size, np.int64), np.empty((2, columns.size))
    rounding.begin_rows(value, columns, lacking, work[0])
    for some in split_rows(value.shape):
        count = np.empty(value[some].shape, np.int64)
        rounding.draw_rows(value[some], margin[some], lacking, work[0], work[1], state, count)
        listed = collected.add(int(np.count_nonzero(count)))
        rounding.list_entries(count, ends[0][some], ends[1], *listed)


DIVIDED = 12
"""Rounds of balancing of trips that are divided among zones."""


def divide_origins(
    zones: Zones,
    ends: tuple[IntArray, IntArray],
    blocks: ZoneBlocks,
    coarse: tuple[IntArray, IntArray, IntArray],
    law: Attraction,
    state: IntArray,
    known: TrustedPrior | None = None,
) -> KeyedCounts:
    """Divide trips between blocks among the origins of each.

    ``coarse``: by row and column; ``known``: a prior, and how much it is trusted.

    Returns
    -------
    uint64[m], int64[m]
        Trips from zones to blocks: numbers of the block times those of all zones, and of the zone,
        in increasing order; and counts.
    """
    origin, block, count = coarse
    starts = np.searchsorted(origin, np.arange(blocks.number + 1))
    weight, collected = ends[1].astype(np.float64), Collector()
    leaving = None if known is None else known.leaving(blocks)
    for number in np.flatnonzero(np.diff(starts)):
        inside = slice(starts[number], starts[number + 1])
        zone = np.arange(blocks.first[number], blocks.first[number + 1])
        zone = zone[ends[0][zone] > 0]
        value = law.attract(zone, block[inside], blocks.first, weight)
        margins = ends[0][zone], count[inside]
        if leaving is not None:
            balance(value, margins)
            leaving.correct(value, int(number), (zone, block[inside]))
        _divide_one(value, margins, state, (zone, block[inside] * zones.number), collected)
    between = collected.all()
    sort_counts(*between)
    return between


def divide_destinations(
    zones: Zones,
    ends: tuple[IntArray, IntArray],
    blocks: ZoneBlocks,
    between: KeyedCounts,
    law: Attraction,
    state: IntArray,
    known: TrustedPrior | None = None,
) -> KeyedCounts:
    """Divide trips from zones to blocks among the destinations of each.

    ``between``: from :func:`divide_origins`; ``known``: as there.

    Returns
    -------
    uint64[m], int64[m]
        See :class:`EstimatedFlows`.
    """
    # Of many trips, arrays of origins and blocks would be much of the memory.
    joined, count = between
    starts = np.searchsorted(joined, zones.number * np.arange(blocks.number + 1, dtype=np.uint64))
    collected = Collector()
    singles, ones = np.arange(zones.number + 1), np.ones(zones.number)
    reaching = None if known is None else known.reaching(blocks)
    for number in np.flatnonzero(np.diff(starts)):
        inside = slice(starts[number], starts[number + 1])
        target = np.arange(blocks.first[number], blocks.first[number + 1])
        target = target[ends[1][target] > 0]
        zone = joined[inside].view(np.int64) - number * zones.number
        value = law.attract(zone, target, singles, ones)
        value *= ends[1][target]
        margins = count[inside], ends[1][target]
        if reaching is not None:
            balance(value, margins)
            reaching.correct(value, int(number), (zone, target))
        _divide_one(value, margins, state, (zone * zones.number, target), collected)
    return collected.all()


def _divide_one(
    value: FloatArray,
    margins: tuple[IntArray, IntArray],
    state: IntArray,
    ends: tuple[IntArray, IntArray],
    collected: Collector,
) -> None:
    """Balance one full table of weights, and collect whole trips with exactly its margins."""
    balance(value, margins)
    collect_rounded(value, margins, state, ends, collected)


def balance(value: FloatArray, margins: tuple[IntArray, IntArray]) -> None:
    """Scale rows and columns of a small table until they add up to both margins, nearly."""
    rows, columns = (np.ascontiguousarray(margin) for margin in margins)
    work = np.empty(rows.size + 2 * columns.size)
    balancing.balance(value, (rows, columns), DIVIDED, work)


DECAYS = 9
"""Number of decays that are tried, from a zone's width to a quarter of the map's diagonal."""

FLAT = 1e12
"""The decay of a law without distance."""

FITTED = 8
"""Rounds of balancing for a decay that is tried."""

RAKED, BALANCED = 6, 12
"""Rounds in which flows are raked to both ends, and of balancing at the end."""

LEAST_BLOCKS = 4
"""Number of blocks from which on larger ones are not looked at."""

WEIGHTS = 0.0, 0.25, 0.5, 0.75, 1.0
"""Weights of a prior beside the law that are tried; 0: it is not used."""

THICK = 10
"""Standard errors of the noise from which on a pair is known well enough to be expected so."""

LEFT_OUT = 4
"""Rows and columns without trips are left out where so many times fewer pairs are left."""


@dataclass(frozen=True, eq=False)
class NoisyPairs:
    """Noisy flows between all pairs of blocks of one size.

    Attributes
    ----------
    blocks : ZoneBlocks
    noisy : int64[n, n]
        From the row's block to the column's.
    variance : float
        Variance of the noise, above 0.
    normal : bool
        Whether the noise is nearly normal, and not of the law of Laplace.
    """

    blocks: ZoneBlocks
    noisy: IntArray = field(repr=False)
    variance: float
    normal: bool = False


Ends: TypeAlias = tuple[IntArray, IntArray]
"""Blocks of origins and of destinations, each in increasing order."""


@dataclass(frozen=True, eq=False)
class SomePairs:
    """Flows between some blocks of one size; those between others are 0.

    Attributes
    ----------
    number : int
        Of all blocks.
    ends : int64[a], int64[b]
    flows : float64[a, b] or int64[a, b]
    """

    number: int
    ends: Ends
    flows: Any = field(repr=False)

    @property
    def are_all(self) -> bool:
        """Whether these are the flows between all blocks."""
        return bool(self.flows.size == self.number**2)

    def between(self, ends: Ends) -> Any:
        """Return the flows between other blocks, also ones that are not among these: [a, b]."""
        places = [np.searchsorted(own, one) for own, one in zip(self.ends, ends, strict=True)]
        known = [
            np.append(own, -1)[place] == one
            for own, place, one in zip(self.ends, places, ends, strict=True)
        ]
        if all(map(np.all, known)):
            return self.flows[np.ix_(*places)]
        found = np.zeros([one.size for one in ends], self.flows.dtype)
        kept = [place[one] for place, one in zip(places, known, strict=True)]
        found[np.ix_(*known)] = self.flows[np.ix_(*kept)]
        return found

    def whole(self) -> Any:
        """Return the flows between all blocks: [number, number]; without a copy where they are."""
        every = np.arange(self.number)
        return self.flows if self.are_all else self.between((every, every))

    def parents(self, parent: IntArray) -> tuple[Ends, Ends]:
        """Return the larger blocks that these lie in, and the place of each one's among them."""
        (first, row), (second, column) = (
            np.unique(parent[one], return_inverse=True) for one in self.ends
        )
        return (first, second), (row, column)

    def sums(self, parent: IntArray) -> SomePairs:
        """Sum the flows by larger blocks; where each block is its own parent, return them."""
        if int(parent[-1]) + 1 == self.number:
            return self
        return self.sums_by(parent, lambda rows: to_real(self.flows[rows]))

    def sums_by(self, parent: IntArray, values: Callable[[slice], FloatArray]) -> SomePairs:
        """Sum numbers of these pairs, some rows at a time, by larger blocks."""
        ends, (row, column) = self.parents(parent)
        out = np.zeros([one.size for one in ends])
        for rows in split_rows(self.flows.shape):
            balancing.add_up(values(rows), row[rows], column, out)
        return SomePairs(int(parent[-1]) + 1, ends, out)

    def scale(self, parent: IntArray, factor: SomePairs) -> None:
        """Multiply the flows by the factors of larger blocks, which hold all of these."""
        row, column = (
            np.searchsorted(own, parent[one])
            for own, one in zip(factor.ends, self.ends, strict=True)
        )
        balancing.spread(self.flows, row, column, factor.flows)


@dataclass(frozen=True, eq=False)
class FittedPairs:
    """Expected flows between the finest blocks, and how well they are known.

    Attributes
    ----------
    expected : SomePairs
    decay : float
        See :class:`EstimatedFlows`.
    learned : LearnedFlows
        What the noisy pairs of these blocks say of the true ones.
    levels : list of CombinedLevel
        Noisy pairs that flows were fitted to; the largest blocks first.
    known : TrustedPrior or None
        The prior with how much it was trusted; None: there was none.
    """

    expected: SomePairs = field(repr=False)
    decay: float
    learned: LearnedFlows = field(repr=False)
    levels: list[CombinedLevel] = field(repr=False)
    known: TrustedPrior | None = field(default=None, repr=False)


@dataclass(frozen=True, eq=False)
class EstimatedFlows:
    """Whole trips between zones, and what was learned of the pairs.

    Attributes
    ----------
    zones : int
        Number of zones.
    place, count : uint64[m], int64[m]
        Numbers of pairs, which are those of the origin times ``zones`` and of the destination, in
        any order, and counts, which are above 0; no pair occurs twice.
    decay : float
        Chosen decay, in the unit of the zones; ``FLAT``: distance plays no role.
    known : TrustedPrior or None
        The prior with how much it was trusted; None: there was none.
    """

    zones: int
    place: KeyArray = field(repr=False)
    count: IntArray = field(repr=False)
    decay: float
    known: TrustedPrior | None = field(default=None, repr=False)

    def join(self) -> tuple[IntArray, IntArray, IntArray]:
        """Return origins, destinations and counts, in increasing order of both: int64[m] each.

        Sorts the flows.
        """
        sort_counts(self.place, self.count)
        return *np.divmod(self.place.view(np.int64), self.zones), self.count


def estimate_flows(
    zones: Zones,
    ends: tuple[IntArray, IntArray],
    pairs: Sequence[NoisyPairs],
    seed: int,
    decay: float | None = None,
    prior: FlowsPrior | None = None,
) -> EstimatedFlows:
    """Estimate the trips between all pairs of zones.

    Parameters
    ----------
    zones : Zones
    ends : int64[zones], int64[zones]
        Released trips from and to every zone, with equal sums.
    pairs : sequence of NoisyPairs
        Finest first, with sides that are multiples of each other; at least one.
    seed : int
        Of the random numbers that round, below 2**63.
    decay : float, optional
        Instead of the one that is closest to the noisy pairs; ``FLAT``: no law of distance.
    prior : FlowsPrior, optional
        Flows that are expected; the noisy pairs tell how much it is trusted.
    """
    state = np.array([seed], np.int64)
    if not ends[0].any():
        known = None if prior is None else TrustedPrior.of(prior, 0.0, 0)
        return EstimatedFlows(zones.number, *Collector(0).all(), FLAT, known)
    progress.begin("Fitting flows")
    blocks = pairs[0].blocks
    margins = blocks.sums(ends[0]), blocks.sums(ends[1])
    fitted = fit_pairs(zones, margins, pairs, decay, prior)
    decay, known = fitted.decay, fitted.known
    progress.begin("Rounding flows")
    coarse = round_table(fitted.expected.whole(), margins, state)
    del fitted
    if blocks.side == 1:
        row, column, count = coarse
        place = (row * zones.number + column).view(np.uint64)
        return EstimatedFlows(zones.number, place, count, decay, known)
    law = zones.attraction(decay)
    dividing = known if known is not None and known.weight > 0 else None
    between = divide_origins(zones, ends, blocks, coarse, law, state, dividing)
    del coarse
    listed = divide_destinations(zones, ends, blocks, between, law, state, dividing)
    return EstimatedFlows(zones.number, *listed, decay, known)


def fit_pairs(
    zones: Zones,
    margins: tuple[IntArray, IntArray],
    pairs: Sequence[NoisyPairs],
    decay: float | None = None,
    prior: FlowsPrior | TrustedPrior | None = None,
) -> FittedPairs:
    """Estimate the real flows between the finest blocks.

    ``decay``: instead of the closest one; ``prior``: flows that are expected, or these with how
    much they are trusted, instead of what is closest.
    """
    levels = combine_levels(pairs)
    if decay is None:
        decay = choose_decay(zones, margins, pairs)
    expected, prior = expect_pairs(zones, margins, pairs, decay, prior)
    learned = follow_levels(expected, levels, margins)
    balance_some(expected, margins, BALANCED)
    return FittedPairs(expected, decay, learned, levels, prior)


def expect_pairs(
    zones: Zones,
    margins: tuple[IntArray, IntArray],
    pairs: Sequence[NoisyPairs],
    decay: float,
    prior: FlowsPrior | TrustedPrior | None = None,
) -> tuple[SomePairs, TrustedPrior | None]:
    """Expect flows between the finest blocks from both ends, a law and a prior.

    Returns the prior with how much it is trusted, too. Parameters are those of :func:`fit_pairs`.
    """
    finest = pairs[0].blocks
    origin, destination = find_ends(margins)
    law = zones.law(decay, finest, origin)
    # Of the law alone, sums are over all columns.
    balance_ends(law, (margins[0][origin], margins[1]), FITTED)
    if destination.size < finest.number:
        law = law[:, destination]
    expected = SomePairs(finest.number, (origin, destination), law)
    if isinstance(prior, FlowsPrior):
        prior = choose_trust((expected, margins), pairs, prior)
    if prior is not None and prior.weight > 0:
        mix_prior(expected, prior, finest, expected.flows)
        balance_some(expected, margins, FITTED)
    return expected, prior


def find_ends(margins: tuple[IntArray, IntArray]) -> Ends:
    """Find the blocks from and to which there are trips; all, unless these have far fewer pairs."""
    some = np.flatnonzero(margins[0]), np.flatnonzero(margins[1])
    if LEFT_OUT * some[0].size * some[1].size > margins[0].size * margins[1].size:
        return np.arange(margins[0].size), np.arange(margins[1].size)
    return some


@dataclass(frozen=True, eq=False)
class CombinedLevel:
    """Noisy flows between blocks of one size, improved by those between smaller ones.

    Attributes
    ----------
    parent : int64[n]
        The level's block of every finest block.
    noisy : float64[., .] or int64[., .]
        Whole between the finest blocks, as they were measured.
    variance : float
        Of their noise.
    normal : bool
        Whether the noise is nearly normal, and not of the law of Laplace.
    """

    parent: IntArray = field(repr=False)
    noisy: FloatArray | IntArray = field(repr=False)
    variance: float
    normal: bool = True

    def between(self, pairs: SomePairs, rows: slice) -> FloatArray:
        """Return the noisy flows of some rows of pairs: float64[., b]."""
        if pairs.are_all:
            return to_real(self.noisy[rows])
        return to_real(self.noisy[np.ix_(pairs.ends[0][rows], pairs.ends[1])])


def combine_levels(pairs: Sequence[NoisyPairs]) -> list[CombinedLevel]:
    """Improve noisy pairs of every level by the sums of those below; largest blocks first."""
    finest = pairs[0].blocks
    levels: list[CombinedLevel] = []
    below = finest
    for one in pairs:
        parent = one.blocks.of_zone[finest.first[:-1]]
        level = CombinedLevel(parent, one.noisy, one.variance, one.normal)
        levels.append(_improve(level, levels[-1], below, one.blocks) if levels else level)
        below = one.blocks
    return levels[::-1]


def sum_larger(zones: Zones, below: ZoneBlocks, level: CombinedLevel) -> CombinedLevel | None:
    """Sum the noisy pairs between the next larger blocks; None: these would be too few.

    What many pairs have in common shows in them, where the noise of each pair hides it.
    """
    if below.number <= LEAST_BLOCKS:
        return None
    larger = zones.blocks(2 * below.side)
    noisy, variance = _sum_up(level, below, larger)
    return CombinedLevel(larger.of_zone[below.first[:-1]][level.parent], noisy, variance)


def _sum_up(
    level: CombinedLevel, below: ZoneBlocks, larger: ZoneBlocks
) -> tuple[FloatArray, float]:
    """Sum the pairs of a level by larger blocks; return their mean variance, too."""
    inner = larger.of_zone[below.first[:-1]]
    summed = add_up(level.noisy, inner, larger.number)
    # Blocks at the edge have fewer parts, whose sums are better than this mean says.
    return summed, level.variance * (below.number / larger.number) ** 2


def _improve(
    level: CombinedLevel, finer: CombinedLevel, below: ZoneBlocks, blocks: ZoneBlocks
) -> CombinedLevel:
    """Average noisy pairs and the sums of those below them, by inverse variances."""
    summed, spread = _sum_up(finer, below, blocks)
    weight = spread / (spread + level.variance)
    noisy = weight * level.noisy + (1 - weight) * summed
    return CombinedLevel(level.parent, noisy, weight * level.variance)


def choose_decay(
    zones: Zones, margins: tuple[IntArray, IntArray], pairs: Sequence[NoisyPairs]
) -> float:
    """Choose the decay whose law, balanced to both ends, is closest to the noisy pairs."""
    width, diagonal = zones.extent
    decays = [*np.geomspace(width, max(diagonal / 4, width), DECAYS), FLAT]
    apart = []
    for decay in decays:
        law = zones.law(decay, pairs[0].blocks)
        balance_ends(law, margins, FITTED)
        apart.append(find_misfit(law, pairs))
        # Before the next one is made.
        del law
    return float(decays[int(np.argmin(apart))])


def find_misfit(expected: FloatArray, pairs: Sequence[NoisyPairs]) -> float:
    """Sum the squares of what noisy pairs of all sizes differ by from expected flows.

    Each is divided by the variance of its noise, which adds the same to all expectations, on
    average.
    """
    finest, total = pairs[0].blocks, 0.0
    for one in pairs:
        # Of few trips, pairs of larger blocks show what the noise of small ones hides.
        parent = one.blocks.of_zone[finest.first[:-1]]
        summed, apart = view_sums(expected, parent, one.blocks.number), 0.0
        for rows in split_rows(summed.shape):
            apart = balancing.misfit(summed[rows], to_real(one.noisy[rows]), apart)
        total += apart / one.variance
    return total


def choose_trust(
    law: tuple[SomePairs, tuple[IntArray, IntArray]],
    pairs: Sequence[NoisyPairs],
    prior: FlowsPrior,
) -> TrustedPrior:
    """Choose the weight of a prior with which expected flows are closest to the noisy pairs.

    ``law``: the expected flows between the finest blocks without a prior, and both margins.
    """
    expected, margins = law
    mixed = replace(expected, flows=np.empty(expected.flows.shape))
    trusted = TrustedPrior.of(prior, 0.0, int(margins[0].sum()))
    apart = [find_misfit(expected.whole(), pairs)]
    for weight in WEIGHTS[1:]:
        mix_prior(expected, replace(trusted, weight=weight), pairs[0].blocks, mixed.flows)
        balance_some(mixed, margins, FITTED)
        apart.append(find_misfit(mixed.whole(), pairs))
    return replace(trusted, weight=WEIGHTS[int(np.argmin(apart))])


def mix_prior(
    expected: SomePairs, prior: TrustedPrior, blocks: ZoneBlocks, out: FloatArray
) -> None:
    """Mix expected flows between blocks with those of a prior; ``out`` may be the former."""
    for rows, some, among in split_ends(expected):
        flows = prior.flows.sums(blocks, rows)
        if not expected.are_all:
            flows = flows[np.ix_(among, expected.ends[1])]
        prior.mix(expected.flows[some], flows, out[some])


def find_factors(
    matrix: FloatArray, margins: tuple[IntArray, IntArray], rounds: int
) -> tuple[FloatArray, FloatArray]:
    """Find factors of rows and columns with which a matrix adds up to both margins, nearly.

    Rows and columns whose margin is 0 get the factor 0 in the first round, and add nothing to any
    sum from then on, so that they are left out: of few trips, most of them.
    """
    left, right = np.zeros(matrix.shape[0]), np.zeros(matrix.shape[1])
    some = tuple(np.flatnonzero(margin) for margin in margins)
    # A copy that is not much smaller would save little time for its memory.
    whole = LEFT_OUT * some[0].size * some[1].size > matrix.size
    if whole:
        some = tuple(np.arange(size) for size in matrix.shape)
    wanted = tuple(margin[at] for margin, at in zip(margins, some, strict=True))
    by_row, by_column = np.zeros(some[0].size), np.ones(some[1].size)
    sums, inner = np.empty(some[1].size), matrix
    if not whole:
        # Only the first sums of rows are over all columns.
        inner = np.empty((some[0].size, some[1].size))
        for rows in split_rows((some[0].size, right.size)):
            part = matrix[some[0][rows]]
            balancing.multiply(part, np.ones(right.size), by_row[rows])
            inner[rows] = part[:, some[1]]
        by_row = _divide(wanted[0], by_row)
        balancing.multiply_left(inner, by_row, sums)
        by_column = _divide(wanted[1], sums)
    for _ in range(rounds if whole else rounds - 1):
        before = by_row.copy()
        balancing.fit_rows(inner, by_column, wanted[0], by_row, sums)
        by_column = _divide(wanted[1], sums)
        # Factors of columns follow from those of rows: all later rounds would give the same.
        if np.array_equal(before, by_row):
            break
    left[some[0]], right[some[1]] = by_row, by_column
    return left, right


def _divide(wanted: FloatArray | IntArray, sums: FloatArray) -> FloatArray:
    """Divide what is wanted by sums; 0 where there is nothing to scale."""
    out = np.zeros(sums.shape)
    np.divide(wanted, sums, out=out, where=sums > 0)
    return out


def balance_ends(expected: FloatArray, margins: tuple[IntArray, IntArray], rounds: int) -> None:
    """Scale rows and columns of expected flows until they add up to both margins, nearly."""
    balancing.scale(expected, *find_factors(expected, margins, rounds))


def balance_some(expected: SomePairs, margins: tuple[IntArray, IntArray], rounds: int) -> None:
    """Scale flows between some blocks until they add up to both margins, nearly."""
    some = margins[0][expected.ends[0]], margins[1][expected.ends[1]]
    balance_ends(expected.flows, some, rounds)


@dataclass(frozen=True, eq=False)
class LargerFlows:
    """Flows between larger blocks, and how well they are known.

    Attributes
    ----------
    parent : int64[n]
        The larger block of every finest one.
    flows : SomePairs
    variance : float64[a, b]
        Of the true flows.
    """

    parent: IntArray = field(repr=False)
    flows: SomePairs = field(repr=False)
    variance: FloatArray = field(repr=False)

    def sums_of(self, pairs: SomePairs, parent: IntArray, learned: LearnedFlows) -> FlowSums:
        """Estimate the sums of flows between the blocks within from these flows.

        ``parent``: the block of every finest one between which the flows are.
        """
        inner = _find_inner(parent, self.parent)
        row, column = (
            np.searchsorted(own, inner[one])
            for own, one in zip(self.flows.ends, pairs.ends, strict=True)
        )
        total, spread = np.zeros(self.variance.shape), np.zeros(self.variance.shape)
        for rows in split_rows(pairs.flows.shape):
            balancing.add_up(pairs.flows[rows], row[rows], column, total)
            balancing.add_up(learned.variance[learned.entry[rows]], row[rows], column, spread)
        gain = _divide(spread, spread + self.variance)
        return FlowSums(row, column, total + gain * (self.flows.flows - total), gain)


@dataclass(frozen=True, eq=False)
class FlowSums:
    """Sums of flows by larger blocks, and how closely they are kept.

    Attributes
    ----------
    row, column : int64[a], int64[b]
        Place of the larger block of each row and column.
    target : float64[m, n]
    gain : float64[m, n]
        Part of the way to it that flows go at once.
    """

    row: IntArray = field(repr=False)
    column: IntArray = field(repr=False)
    target: FloatArray = field(repr=False)
    gain: FloatArray = field(repr=False)

    def keep(self, flows: FloatArray) -> None:
        """Scale flows towards these sums, and leave those that are 0."""
        total = np.zeros(self.target.shape)
        for rows in split_rows(flows.shape):
            balancing.add_up(flows[rows], self.row[rows], self.column, total)
        factor = 1 + self.gain * (_divide(self.target, total) - 1)
        for rows in split_rows(flows.shape):
            balancing.spread(flows[rows], self.row[rows], self.column, factor)


def follow_levels(
    expected: SomePairs, levels: Sequence[CombinedLevel], margins: tuple[IntArray, IntArray]
) -> LearnedFlows:
    """Make of expected flows what noisy ones say of them, from the largest blocks to the finest.

    Returns what was learned between the finest.
    """
    above: LargerFlows | None = None
    for level in levels:
        summed, finest = expected.sums(level.parent), level is levels[-1]
        learned = learn_level(summed, level)
        if finest:
            learned = learn_others(summed, level, margins) or learned
        table = learned.concentrate() if finest else learned.mean
        made = summed if finest else replace(summed, flows=np.empty(summed.flows.shape))
        for rows in split_rows(summed.flows.shape):
            noisy = level.between(summed, rows)
            deconvolution.look_up(noisy, learned.entry[rows], table, made.flows[rows])
        if above is not None:
            above.sums_of(made, level.parent, learned).keep(made.flows)
        if finest:
            rake_some(made, learned, margins)
        else:
            factor = replace(made, flows=_divide(made.flows, summed.flows))
            expected.scale(level.parent, factor)
            # Blocks within one that became larger have not all become so.
            balance_some(expected, margins, FITTED)
            above = LargerFlows(level.parent, made, learned.variance[learned.entry])
    return learned


def learn_others(
    expected: SomePairs, level: CombinedLevel, margins: tuple[IntArray, IntArray]
) -> LearnedFlows | None:
    """Learn what the finest noisy flows say beside thick pairs, whose trips are no longer expected.

    Ends with a thick pair have fewer trips left for all others than a law expects of them.
    Overwrites the expected flows; None: no pair is thick, or no other is left to learn from.
    """
    deviation = sqrt(level.variance)
    sums = [np.zeros(one.size) for one in expected.ends]
    thick = np.zeros(expected.flows.shape, np.bool_)
    for rows in split_rows(thick.shape):
        noisy, flows = level.between(expected, rows), expected.flows[rows]
        thick[rows] = noisy > np.maximum(THICK * deviation, 2 * flows)
        known = np.where(thick[rows], noisy, 0.0)
        sums[0][rows], sums[1] = known.sum(axis=1), sums[1] + known.sum(axis=0)
        flows[thick[rows]] = 0
    if not thick.any():
        return None
    left = [
        np.maximum(margin[one] - known, 0.0)
        for margin, one, known in zip(margins, expected.ends, sums, strict=True)
    ]
    # Whole, as margins and noisy flows are.
    whole = left[0].astype(np.int64), left[1].astype(np.int64)
    balance_ends(expected.flows, whole, FITTED)
    learned = learn_level(expected, level)
    if not learned.classes:
        # Thick pairs have all trips of some end of every other one.
        return None
    learned.entry[thick] = MEASURED
    return learned


def learn_level(summed: SomePairs, level: CombinedLevel) -> LearnedFlows:
    """Learn what the noisy flows of a level say of those that are expected."""

    def slabs() -> Iterator[tuple[slice, FloatArray, FloatArray]]:
        for rows in split_rows(summed.flows.shape):
            yield rows, summed.flows[rows], level.between(summed, rows)

    return learn_flows(slabs, summed.flows.shape, level.variance, normal=level.normal)


def rake_some(
    expected: SomePairs, learned: LearnedFlows, margins: tuple[IntArray, IntArray]
) -> None:
    """Rake flows to both margins, and move each by as much as it is uncertain.

    Margins by turns, as generalised least squares would, and from 0 on.
    """
    flows, entry, variance = expected.flows, learned.entry, learned.variance
    wanted = [margin[one] for margin, one in zip(margins, expected.ends, strict=True)]
    rows, still = np.empty((flows.shape[0], 2)), np.zeros(flows.shape[1])
    for some in split_rows(flows.shape):
        deconvolution.rake_columns(flows[some], entry[some], variance, still, rows[some])
    for _ in range(RAKED):
        columns = np.zeros((2, flows.shape[1]))
        lacking = _divide(wanted[0] - rows[:, 0], rows[:, 1])
        for some in split_rows(flows.shape):
            deconvolution.rake_rows(flows[some], entry[some], variance, lacking[some], columns)
        lacking = _divide(wanted[1] - columns[0], columns[1])
        for some in split_rows(flows.shape):
            deconvolution.rake_columns(flows[some], entry[some], variance, lacking, rows[some])


def add_up(matrix: FloatArray | IntArray, parent: IntArray, number: int) -> FloatArray:
    """Sum a matrix by the parents of its rows and columns: float64[number, number]."""
    out = np.zeros((number, number))
    for rows in split_rows(matrix.shape):
        balancing.add_up(to_real(matrix[rows]), parent[rows], parent, out)
    return out


def view_sums(expected: FloatArray, parent: IntArray, number: int) -> FloatArray:
    """Sum expected flows by parents; of blocks of which each is its own parent, return them."""
    return expected if number == expected.shape[0] else add_up(expected, parent, number)


def _find_inner(parent: IntArray, above: IntArray) -> IntArray:
    """Return the block above of every block of a level, from those of every finest block."""
    return above[np.flatnonzero(np.append(True, parent[1:] != parent[:-1]))]
