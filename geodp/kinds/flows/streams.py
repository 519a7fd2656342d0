"""The streams of flows: both maps of ends with one total, and all pairs of blocks of a few sizes.

A trip changes one count by one on each level of each map, and one pair of blocks of each size; and
where trips have labels, one cell with its label of each kind of large cells. A unit with at most k
trips changes each of these by at most k in all, so that the shares of the budget of all streams add
up to the whole (docs/proofs/flows.md). Noise of every stream comes from a key of its own. What is
measured, and how the budget is divided among it, is public before any data are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import prod
from typing import Self

import numpy as np

from geodp.errors import GeodpError, Rule, UsageError, VerificationError
from geodp.grid.axes import Attribute
from geodp.grid.grid import Grid
from geodp.kinds.flows.estimator import NoisyPairs
from geodp.kinds.flows.label_model import NoisyLabels, find_cells
from geodp.kinds.flows.levels import (
    FEW_TRIPS,
    MOST_PAIRS,
    LevelRule,
    are_few_units,
    choose_levels,
    count_pairs,
)
from geodp.kinds.flows.zones import Zones, number_pairs, pairs_of, side_of_all
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.mechanisms.trees import informed
from geodp.mechanisms.trees.traversal import Traversal
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey, Stream, blocks, digest
from geodp.privacy.loss import Budget
from geodp.privacy.noise.draws import UNIFORM, Draw, Draws
from geodp.privacy.noise.law import DiscreteGaussian, Law
from geodp.privacy.noise.node import NodeNoise
from geodp.table.counts import CountTable, ReleasedTable
from geodp.table.prior import Prior
from geodp.table.stated.release import StatedPrior
from geodp.typing import FloatArray, IntArray, KeyedCounts

DEFAULT_LABEL_SHARE = Fraction(3, 20)
"""Default share of all counts by label; the rest measures flows as without labels."""

LABEL_SIDES = 8, 4
"""Sides of the blocks of ends by label, where a unit has many trips and where it has few; of areal
units they are half of these, and a quarter where single ones are measured by pairs."""

WIDER = 4
"""Side of the blocks whose pairs are measured by label, in sides of those of ends."""

LABEL_STREAMS = 3
"""Kinds of cells by label: pairs of larger blocks, origins and destinations, of equal shares."""

LABEL_SHARE = Rule(
    "flows-label-share",
    "The share of the budget for labels is above 0 and leaves something for flows and both ends "
    "(--label-share 3/20, label_share=).",
)

STATED_LABELS = Rule(
    "flows-stated-labels",
    "The index states counts by label that no release has: blocks that are no power of two or "
    "larger than the map, a share of the budget that is not between 0 and 1, or too many counts.",
)

LEVELS_FORM = Rule(
    "flows-levels-form",
    "Levels are sides of blocks in zones, powers of two, and the share of the budget of each "
    "(--level 4=2/5 --level 8=1/10; levels=); the shares are above 0 and leave something for both "
    "ends.",
)


@dataclass(frozen=True)
class LabelDesign:
    """Tables that are measured by label, and their share of the budget.

    Attributes
    ----------
    side : int
        Rows and columns of the blocks of ends, in zones: a power of two. Of areal units a block
        has at most its square.
    share : Fraction
        Share of all counts by label; each kind of cells has an equal part.
    """

    side: int
    share: Fraction

    @property
    def each(self) -> Fraction:
        """Share of each kind of cells."""
        return self.share / LABEL_STREAMS

    @property
    def kinds(self) -> tuple[tuple[str, int], ...]:
        """Kinds of cells and the sides of their blocks, the largest first."""
        return (
            ("pairs", self.pair_side),
            ("origins", self.side),
            ("destinations", self.side),
        )

    @property
    def pair_side(self) -> int:
        """Rows and columns of the blocks whose pairs are measured."""
        return WIDER * self.side

    @classmethod
    def read(cls, side: int, share: str) -> Self:
        """Read what an index states; VerificationError for what no release measures."""
        read = _read_share(share, VerificationError(STATED_LABELS))
        if side < 1 or side & (side - 1):
            raise VerificationError(STATED_LABELS)
        return cls(side, read)

    def require_possible(self, grid: Grid, labels: int) -> None:
        """Raise VerificationError where no release of a grid has these blocks.

        Before any array is made, as their sizes may be a stranger's. ``labels``: combinations.
        """
        largest = max(*LABEL_SIDES, 2 * side_of_all(grid))
        # Sides first: those of a stranger may have any number of digits.
        if self.side > largest or count_pairs(grid, self.pair_side) * labels > MOST_PAIRS:
            raise VerificationError(STATED_LABELS)

    @classmethod
    def choose(cls, grid: Grid, labels: int, trips_a_loss: float, share: Fraction) -> Self:
        """Choose the blocks of a grid; ``trips_a_loss`` is that of :meth:`StreamDesign.choose`."""
        side = LABEL_SIDES[trips_a_loss <= FEW_TRIPS]
        if not grid.names.on_map:
            side //= 4 if are_few_units(grid, trips_a_loss) else 2
        while count_pairs(grid, WIDER * side) * labels > MOST_PAIRS:
            side *= 2
        return cls(side, share)


@dataclass(frozen=True)
class StreamDesign:
    """Measured streams and their shares of the budget.

    Attributes
    ----------
    sides : tuple of int
        Sides of the blocks whose pairs are measured, in zones: increasing powers of two.
    shares : tuple of Fraction
        Share of each.
    labels : LabelDesign or None
        What is measured by label; None: flows have no labels.
    """

    sides: tuple[int, ...]
    shares: tuple[Fraction, ...]
    labels: LabelDesign | None = None

    @property
    def end_share(self) -> Fraction:
        """Share of each of the two maps of ends: half of what pairs and labels leave."""
        labels = Fraction(0) if self.labels is None else self.labels.share
        return (1 - sum(self.shares, labels)) / 2

    @classmethod
    def of(cls, levels: Mapping[int, Budget], labels: LabelDesign | None = None) -> Self:
        """Read levels exactly; UsageError for sides or shares that make no sense."""
        if not isinstance(levels, Mapping):
            raise UsageError(LEVELS_FORM)
        read: dict[int, Fraction] = {}
        for side, share in levels.items():
            whole = isinstance(side, int) and not isinstance(side, bool) and side > 0
            if not whole or side & (side - 1):
                raise UsageError(LEVELS_FORM)
            read[side] = _read_share(share, UsageError(LEVELS_FORM))
        sides = sorted(read)
        made = cls(tuple(sides), tuple(read[side] for side in sides), labels)
        if not read or made.end_share <= 0:
            raise UsageError(LEVELS_FORM)
        return made

    @classmethod
    def choose(
        cls, rule: LevelRule, grid: Grid, trips_a_loss: float, labels: LabelDesign | None = None
    ) -> Self:
        """Choose levels for a grid, as of :func:`choose_levels`; they share what labels leave."""
        left = 1 if labels is None else 1 - labels.share
        levels = choose_levels(rule, grid, trips_a_loss)
        return cls.of({side: str(share * left) for side, share in levels.items()}, labels)

    def require_fit(self, grid: Grid) -> None:
        """Raise UsageError where a level has too many pairs to measure all of them."""
        if count_pairs(grid, self.sides[0]) > MOST_PAIRS:
            raise UsageError(
                f"Blocks of {self.sides[0]} zones have more than {MOST_PAIRS:,} pairs; choose "
                "larger ones (--level, levels=).",
                code="flows-level-too-fine",
            )


def require_within(levels: Mapping[int, Budget], grid: Grid) -> None:
    """Raise UsageError where chosen blocks are larger than the one that holds the whole grid."""
    # The default has a level above small grids: it measures their total twice.
    if any(isinstance(side, int) and side >= 2 * side_of_all(grid) for side in levels):
        raise UsageError(
            "A level has blocks that are larger than the grid; choose smaller ones (--level, "
            "levels=).",
            code="flows-level-too-large",
        )


def read_label_share(share: Budget | None) -> Fraction:
    """Read the share of labels exactly; UsageError where it is not between 0 and 1."""
    if share is None:
        return DEFAULT_LABEL_SHARE
    return _read_share(share, UsageError(LABEL_SHARE))


def _read_share(share: Budget, refused: GeodpError) -> Fraction:
    """Read a share exactly; raises ``refused`` where it is not between 0 and 1."""
    with suppress(ValueError, ZeroDivisionError, OverflowError):
        if 0 < (read := Fraction(str(share))) < 1:
            return read
    raise refused


ORIGINS = digest(b"geodp flows stream 1", b"origins")
"""Derives the key of the noise of origins from that of the release."""

DESTINATIONS = digest(b"geodp flows stream 1", b"destinations")
"""Derives the key of the noise of destinations."""

PAIRS = digest(b"geodp flows stream 1", b"pairs of blocks")
"""Derives the key of the noise of pairs: a stage for each size of blocks, the finest first."""

LABELS = digest(b"geodp flows stream 1", b"labels")
"""Derives the key of the noise of trips by label: a stage for each kind of cells."""

DIVIDING = digest(b"geodp flows stream 1", b"dividing among labels")
"""Derives the key of the seed of the rounding of labels."""

ROUNDING = digest(b"geodp flows stream 1", b"rounding")
"""Derives the key of the seed of the rounding, which is post-processing."""


@dataclass(frozen=True, eq=False)
class TripStreams:
    """Trips as they are measured.

    Attributes
    ----------
    zones : Zones
    origins, destinations : CountTable
        On the map of the zones.
    table : CountTable
        By pair of zones, and by label.
    """

    zones: Zones
    origins: CountTable = field(repr=False)
    destinations: CountTable = field(repr=False)
    table: CountTable = field(repr=False)

    @classmethod
    def of(cls, table: CountTable, zones: Zones) -> TripStreams:
        """Split a table of pairs of zones into its streams."""
        sums = np.zeros((2, zones.number), np.int64)
        for some, ends, _ in number_pairs(zones, table):
            for one, zone in zip(sums, ends, strict=True):
                np.add.at(one, zone, table.count[some])
        origins, destinations = (
            CountTable.from_keys(zones.grid, zones.key[one > 0], one[one > 0]) for one in sums
        )
        return cls(zones, origins, destinations, table)

    def pairs(self, side: int) -> IntArray:
        """Count the trips between all blocks of a side: int64[n, n]."""
        of_zone = self.zones.blocks(side).of_zone
        number = int(of_zone[-1]) + 1
        counts = np.zeros(number * number, np.int64)
        # Zones are found again for each side: of many pairs they would be much of the memory.
        for some, ends, _ in number_pairs(self.zones, self.table):
            place = of_zone[ends[0]] * number + of_zone[ends[1]]
            np.add.at(counts, place, self.table.count[some])
        return counts.reshape(number, number)

    def labelled(self, ends: str, side: int, labels: int) -> IntArray:
        """Count the trips by label of all cells of a kind: int64[cells, labels]."""
        counts = np.zeros((count_cells(self.zones, ends, side), labels), np.int64)
        for some, zone, index in number_pairs(self.zones, self.table):
            label = number_labels(self.table.grid.attributes, index)
            cell = find_cells(self.zones, ends, side, zone[0], zone[1])
            np.add.at(counts, (cell, label), self.table.count[some])
        return counts


def number_labels(attributes: tuple[Attribute, ...], index: IntArray) -> IntArray:
    """Return the number of each combination of labels; zeros without attributes.

    The last attribute varies fastest.

    Parameters
    ----------
    attributes : tuple of Attribute
    index : int64[attributes, n]
        Number of the label of each attribute.

    Returns
    -------
    int64[n]
    """
    if not attributes:
        return np.zeros(index.shape[1], np.int64)
    sizes = [len(one.labels) for one in attributes]
    return np.asarray(np.ravel_multi_index(tuple(index), sizes), np.int64)


def count_labels(attributes: tuple[Attribute, ...]) -> int:
    """Count the combinations of labels; 1 without attributes."""
    return prod(len(one.labels) for one in attributes)


@dataclass(frozen=True, eq=False)
class DrawnEnds:
    """Both maps of ends.

    Attributes
    ----------
    tables : list of ReleasedTable
        Origins and destinations, with one total.
    learned : tuple of StatedPrior
        How far the prior of each can be trusted; empty without a prior.
    """

    tables: list[ReleasedTable]
    learned: tuple[StatedPrior, ...] = ()


@dataclass(frozen=True, eq=False)
class StreamsPlan:
    """Streams to be drawn on a grid, with the privacy event of each.

    Attributes
    ----------
    zones : Zones
    design : StreamDesign
    method : Pyramid
        Of both maps of ends.
    whole : Measurement
        Of all streams together.
    ends : Measurement
        Of one map of ends.
    attributes : tuple of Attribute
        Labels of flows; empty: they have none.
    """

    zones: Zones
    design: StreamDesign
    method: Pyramid
    whole: Measurement
    ends: Measurement
    attributes: tuple[Attribute, ...] = ()

    @property
    def pairs(self) -> Grid:
        """The grid of flows: pairs of zones, and labels."""
        return pairs_of(self.zones.grid, self.attributes)

    def declare(self) -> Draws:
        """Declare all draws, by the key of each stream."""
        each = self.method.declare(self.zones.grid, self.ends)
        seed = [Draw(Stream.ROUNDING, UNIFORM)]
        derived = {
            ORIGINS: each,
            DESTINATIONS: each,
            PAIRS: Draws.of(self.draws_of_pairs),
            ROUNDING: Draws.of(seed),
        }
        if self.design.labels is not None:
            derived |= {LABELS: Draws.of(self.draws_of_labels), DIVIDING: Draws.of(seed)}
        return Draws.of((), derived)

    @property
    def draws_of_pairs(self) -> list[Draw]:
        """Draws of the pairs of each side, the finest first."""
        return _declare_stages(self.laws)

    @property
    def draws_of_labels(self) -> list[Draw]:
        """Draws of the counts by label of each kind of cells, the largest first."""
        return _declare_stages(self._label_laws)

    @property
    def _label_kinds(self) -> tuple[tuple[str, int], ...]:
        """Kinds of cells by label, and the sides of their blocks; empty without labels."""
        return () if self.design.labels is None else self.design.labels.kinds

    @property
    def _label_laws(self) -> list[Law]:
        """Noise of the counts of each kind."""
        law = self.label_law
        return [] if law is None else [law] * len(self._label_kinds)

    @property
    def label_law(self) -> Law | None:
        """Noise of every count by label; None: flows have no labels."""
        labels = self.design.labels
        return None if labels is None else self.whole.law(labels.each)

    @property
    def laws(self) -> list[Law]:
        """Noise of the pairs of each side."""
        return [self.whole.law(share) for share in self.design.shares]

    def take_pairs(self, noisy: Iterable[IntArray]) -> list[NoisyPairs]:
        """Take noisy counts as the pairs of each side, the finest first."""
        return [
            NoisyPairs(self.zones.blocks(side), one, _vary(law), isinstance(law, DiscreteGaussian))
            for side, law, one in zip(self.design.sides, self.laws, noisy, strict=True)
        ]

    def take_labels(self, noisy: Iterable[IntArray]) -> list[NoisyLabels]:
        """Take noisy counts as those by label of each kind of cells, the largest first."""
        taken = zip(self._label_kinds, self._label_laws, noisy, strict=True)
        return [NoisyLabels(*kind, one, _vary(law)) for kind, law, one in taken]

    @property
    def empty_pairs(self) -> list[NoisyPairs]:
        """Noisy pairs of every side without any trip or noise, to try out their files."""
        numbers = (self.zones.blocks(side).number for side in self.design.sides)
        return self.take_pairs(np.zeros((one, one), np.int64) for one in numbers)

    @property
    def empty_labels(self) -> list[NoisyLabels]:
        """Counts by label of every kind without any trip or noise, to try out their files."""
        number = count_labels(self.attributes)
        cells = (count_cells(self.zones, *kind) for kind in self._label_kinds)
        return self.take_labels(np.zeros((one, number), np.int64) for one in cells)

    def draw_ends(
        self, trips: TripStreams, key: NoiseKey, priors: Sequence[Prior] = ()
    ) -> DrawnEnds:
        """Release origins and destinations with one total.

        ``priors``: of origins and of destinations; empty without a prior.
        """
        tables = trips.origins, trips.destinations
        learned: tuple[StatedPrior, ...] = ()
        with key.derive(ORIGINS) as first, key.derive(DESTINATIONS) as second:
            keys = [first, second]
            if priors:
                cells, learned = release_informed(tables, self.method, self.ends, keys, priors)
            else:
                cells = release_with_one_total(tables, self.method, self.ends, keys)
        made = [ReleasedTable(self.zones.grid, *one, self.ends) for one in cells]
        return DrawnEnds(made, learned)

    def draw_pairs(self, trips: TripStreams, key: NoiseKey) -> list[NoisyPairs]:
        """Measure the pairs of blocks of every side, the finest first."""
        counts = map(trips.pairs, self.design.sides)
        return self.take_pairs(_add_noise(counts, self.laws, key, PAIRS))

    def draw_labels(self, trips: TripStreams, key: NoiseKey) -> list[NoisyLabels]:
        """Measure the trips by label of every kind of cells, the largest first."""
        if not self._label_kinds:
            return []
        number = count_labels(self.attributes)
        counts = (trips.labelled(*kind, number) for kind in self._label_kinds)
        return self.take_labels(_add_noise(counts, self._label_laws, key, LABELS))

    def draw_seed(self, key: NoiseKey, of: bytes = ROUNDING) -> int:
        """Draw the seed of a rounding: 63 bits; ``of``: ``ROUNDING`` or ``DIVIDING``."""
        with key.derive(of) as derived:
            word = blocks(derived, Stream.ROUNDING, np.zeros(1, np.uint64))[0, 0]
        return int(word >> np.uint64(1))


ROOT_ERRORS = 4.0
"""Standard errors by which a root of fewer trips is raised, where nodes below it are opened."""

MIN_VARIANCE = 1e-12
"""Smallest variance of noisy pairs, where the budget leaves no noise."""


def _vary(law: Law) -> float:
    """Return the variance of noisy counts."""
    return max(law.variance, MIN_VARIANCE)


def _declare_stages(laws: Sequence[Law]) -> list[Draw]:
    """Declare the draws of arrays of counts, each with a law."""
    return [Draw(Stream.STAGE + i, law.identity) for i, law in enumerate(laws)]


def _add_noise(
    counts: Iterable[IntArray], laws: Sequence[Law], key: NoiseKey, stream: bytes
) -> Iterator[IntArray]:
    """Yield arrays of counts with noise of a law each, under the key of a stream."""
    with key.derive(stream) as derived:
        for i, (exact, law) in enumerate(zip(counts, laws, strict=True)):
            # Whole until the noise is in.
            noise = NodeNoise(derived, Stream.STAGE + i, law)
            yield noise.add_sequence(exact.reshape(-1)).reshape(exact.shape)


def count_cells(zones: Zones, ends: str, side: int) -> int:
    """Count the cells of a kind: blocks, or pairs of them."""
    blocks = zones.blocks(side).number
    return blocks**2 if ends == "pairs" else blocks


def release_with_one_total(
    tables: tuple[CountTable, CountTable],
    method: Pyramid,
    event: Measurement,
    keys: list[NoiseKey],
) -> list[KeyedCounts]:
    """Release two tables of one grid by a pyramid each, with one total for both.

    Each total is improved by the counts below it, and their mean is the total of both, from which
    the second pass then divides each table. A root of few trips does not close what is
    below it: that tells more of the total, of which a root's share is small.
    """
    descent = method.descent(tables[0].grid, event)
    root = np.zeros(1, np.uint64)
    runs = [Traversal.of(one, descent, key) for one, key in zip(tables, keys, strict=True)]
    tops = [run.roots(root, ROOT_ERRORS) for run in runs]
    fronts = [front for front, _ in tops]
    records = [run.measure(front, descent.last)[0] for run, front in zip(runs, fronts, strict=True)]
    estimates = [(front.z[0], front.variance[0]) for front in fronts]
    total = average_totals(estimates, tops[0][1])
    return [
        run.share(front, descent.last, total.copy(), record)
        for run, front, record in zip(runs, fronts, records, strict=True)
    ]


def release_informed(
    tables: tuple[CountTable, CountTable],
    method: Pyramid,
    event: Measurement,
    keys: list[NoiseKey],
    priors: Sequence[Prior],
) -> tuple[list[KeyedCounts], tuple[StatedPrior, ...]]:
    """Release two tables as :func:`release_with_one_total` does, with a prior of each.

    The measurements are the same; where no prior can be trusted, so is the release. Also returns
    how far each can be.
    """
    # Imported here, as releases without a prior need not load its kernels.

    descent = method.descent(tables[0].grid, event)
    runs = [
        replace(informed.informed_of(one, descent, key, prior, 1), root_errors=ROOT_ERRORS)
        for one, key, prior in zip(tables, keys, priors, strict=True)
    ]
    stages, learned = zip(*(run.descend(descent.last) for run in runs), strict=True)
    variances = [run.improve(stage) for run, stage in zip(runs, stages, strict=True)]
    roots = [stage.layers[0] for stage in stages]
    estimates = [(root.z[0], v[0][0]) for root, v in zip(roots, variances, strict=True)]
    total = average_totals(estimates, roots[0].uniform[:1])
    cells: list[KeyedCounts] = []
    for run, stage, variance in zip(runs, stages, variances, strict=True):
        prefix, count = stage.layers[-1].prefix, run.share(stage, variance, total.copy())
        cells.append((prefix[count > 0], count[count > 0]))
    stated = (informed.state(*one) for one in zip(priors, learned, strict=True))
    return cells, tuple(stated)


def average_totals(estimates: Sequence[tuple[float, float]], uniform: FloatArray) -> IntArray:
    """Average the totals of two tables by inverse variances, and round: int64[1], 0 or more.

    ``estimates``: each total with its variance; ``uniform``: float64[1], from 0 to below 1.
    """
    weights = [1 / variance for _, variance in estimates]
    mean = sum(w * z for w, (z, _) in zip(weights, estimates, strict=True)) / sum(weights)
    return np.maximum(np.floor(mean + uniform), 0).astype(np.int64)
