"""Audits by very many releases of a tiny table at once, fine enough for a quarter too much.

A tree method refines as many roots side by side as it is given, each with noise of its own, and a
method that works cell by cell takes all copies as one long table; the others are in
:mod:`tests.laws.stacked`. So 300,000 releases cost seconds, and an audit sees not only four times
the budget but 1.25 times. What cannot be done side by side is released one by one, and less often.

``python -m tests.laws.side_by_side`` prints every audit: the claim, and the epsilon that is sure at
99.9 %.
"""

import argparse
import itertools
import math
import sys
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from types import SimpleNamespace

import numpy as np
from scipy import stats

import geodp
from geodp.grid.hierarchy import Hierarchy
from geodp.grid.mask import blocks_of_array, mask_of_blocks
from geodp.mechanisms import mechanism
from geodp.mechanisms.central.topdown import RefinementNoise, RefinementRun
from geodp.mechanisms.trees.traversal import descend
from geodp.privacy.key import NoiseKey
from geodp.privacy.loss import epsilon_for
from geodp.privacy.terms import NEIGHBOURS, Terms
from geodp.table.counts import Cells
from tests.laws.audit import best_set, counts_of, discriminant, releases
from tests.laws.stacked import domain_keys, stacked

ADD, REPLACE = NEIGHBOURS
SIDE_BY_SIDE = 75_000
"""Releases of each table in each half: 300,000 in all."""

RISK = 0.001
LARGEST = 200
DELTA = Fraction(1, 100)
TAILS = np.concatenate([(tail := np.geomspace(0.001, 0.5, 40)), 1 - tail[-2::-1]])
"""Quantiles, close at both ends: sums of many noises show most there."""


class _Domain:
    """The domain of one copy, asked about keys of all; ``ranges``: those of the masks of all."""

    def __init__(self, grid, keys, ranges):
        self._domain, self._keys, self.ranges = grid.domain, np.uint64(keys), ranges

    def overlaps(self, first, digits):
        return self._domain.overlaps(first % self._keys, digits)


def copies(grid, counts, trials):
    """Trials copies of a table, one after another in key order, as trees under many roots."""
    keys, dense = prod(grid.order.radices), spread(grid, counts)
    own = np.flatnonzero(dense)
    key = (np.arange(trials)[:, None] * keys + own).reshape(-1).astype(np.uint64)
    first = (np.arange(trials, dtype=np.uint64) * np.uint64(keys))[:, None, None]
    ranges = (grid.domain.ranges + first).reshape(-1, 2)
    above = (trials - 1).bit_length()

    def domain_tests():
        mask, limit, _ = grid.domain_tests()
        none = np.zeros(above, np.uint64)
        return np.append(none, mask), np.append(none, limit), ranges

    stand_in = SimpleNamespace(
        size=grid.size,
        shape=grid.shape,
        bits=grid.bits + above,
        order=grid.order,
        mask=None if grid.mask is None else SimpleNamespace(ranges=ranges),
        regions=grid.hierarchy,
        domain=_Domain(grid, keys, ranges),
        domain_tests=domain_tests,
    )
    return Cells(stand_in, key, np.tile(dense[own], trials))


def spread(grid, counts):
    """Counts of the domain's cells, in key order, as int64[keys]."""
    dense = np.zeros(prod(grid.order.radices), np.int64)
    dense[domain_keys(grid).astype(np.int64)] = counts
    return dense


def scattered(grid, keys, counts, trials):
    """Counts of the released keys of copies: float64[trials, cells]; none is outside the domain."""
    size = np.uint64(prod(grid.order.radices))
    domain = domain_keys(grid)
    cell = np.searchsorted(domain, keys % size)
    assert (domain[cell] == keys % size).all()
    values = np.zeros((trials, domain.size))
    values[(keys // size).astype(np.int64), cell] = counts
    return values


def of_pyramid(method, grid, event, counts, trials, key):
    """As many roots as trials."""
    cells, roots = copies(grid, counts, trials), np.arange(trials, dtype=np.uint64)
    found, values, _ = descend(cells, method.descent(grid, event), key, roots)
    return scattered(grid, found, values, trials)


def of_topdown(method, grid, event, counts, trials, key):
    """The totals' noises from a list, and below them as many trees as trials."""
    assert grid.bits % 3 == 0  # where blocks of noise start
    cells, noise = copies(grid, counts, trials), RefinementNoise.of(event, key)
    total = np.maximum(counts.sum() + noise.total.sequence(trials), 0)
    some = np.flatnonzero(total)
    top = cells.grid.bits - grid.bits
    (found, values), _ = RefinementRun(cells, noise.detail).below(
        (some, total[some]), top, cells.grid.bits
    )
    return scattered(grid, found.view(np.uint64), values, trials)


def of_cells(method, grid, event, counts, trials, key):
    """Cell by cell: the copies are the rows of one map, the mask the same on each."""
    inside = np.ones(counts.size, np.bool_)
    if grid.mask is not None:
        inside = grid.contains_keys(np.arange(prod(grid.order.radices), dtype=np.uint64))
        counts = spread(grid, counts)
    rows = geodp.Grid.regular((trials, counts.size))
    if not inside.all():
        each = blocks_of_array(np.tile(inside, (trials, 1)))
        rows = rows.with_mask(mask_of_blocks(rows, each, "the same cells of every copy"))
    cell = np.flatnonzero(counts)
    index = np.stack([np.arange(trials).repeat(cell.size), np.tile(cell, trials)])
    table = geodp.CountTable.from_index(rows, index, np.tile(counts[cell], trials))
    released = method.release(table, event, key)
    values = np.zeros((trials, counts.size))
    values[tuple(rows.decode(released.key))] = released.count
    assert not values[:, ~inside].any()
    return values[:, inside]


def one_by_one(method, grid, event, counts, trials, key):
    """One release after another."""
    dense = spread(grid, counts)
    own = np.flatnonzero(dense)
    table = geodp.CountTable.from_keys(grid, own.astype(np.uint64), dense[own])
    first = int.from_bytes(key.words().tobytes()[:4], "little") * trials
    values = releases(method.release, table, event, trials, first)
    return values[:, domain_keys(grid).astype(np.int64)]


TOGETHER = {
    "pyramid": of_pyramid,
    "topdown": of_topdown,
    "laplace": of_cells,
    "laplace-nonnegative": of_cells,
    "geometric": of_cells,
    "filter": of_cells,
}


def projections(runs, changed):
    """What the audit looks at: int64 columns of each run."""

    def whole(values):
        return np.clip(np.floor(values), -LARGEST, LARGEST).astype(np.int64)

    def centred(sums):
        middle = np.floor(np.median(sums[0]))
        return [each - middle for each in sums]

    rest = centred([np.delete(run, changed, axis=1).sum(axis=1) for run in runs])
    yield [whole(run[:, changed]) for run in runs]
    yield [
        np.column_stack([whole(run[:, changed[0]]), whole(r)])
        for run, r in zip(runs, rest, strict=True)
    ]
    yield [
        np.column_stack([whole(run[:, changed]), whole(r)])
        for run, r in zip(runs, rest, strict=True)
    ]
    yield [whole(total)[:, None] for total in centred([run.sum(axis=1) for run in runs])]
    yield [whole(run) for run in runs]
    yield discriminant(runs, changed, TAILS)


def shown(ones, twos, trials, risk, delta):
    """Largest epsilon that is sure where a set was seen so often."""
    low = stats.beta.ppf(risk, ones, trials - ones + 1) if ones else 0.0
    high = stats.beta.isf(risk, twos + 1, trials - twos)
    return math.log(max(low - delta, 1e-300) / high)


@dataclass(frozen=True)
class Case:
    """A method on a tiny domain, two neighbours, and a budget."""

    spec: str
    grid: geodp.Grid
    one: tuple
    two: tuple
    neighbours: str = ADD
    epsilon: Fraction = Fraction(1)
    rho: Fraction | None = None

    @property
    def claim(self):
        """The epsilon that is promised; of Gaussian noise that of ``DELTA``."""
        return float(self.epsilon if self.rho is None else epsilon_for(self.rho, DELTA))

    @property
    def together(self):
        """What releases very many copies at once; None where nothing does."""
        method = mechanism(self.spec)
        return TOGETHER.get(method.name) or stacked(method, self.grid)

    def audited(self, trials, overspent=Fraction(1)):
        """The epsilon that is sure at 99.9 %, where the budget is overspent so many times."""
        method = mechanism(self.spec)
        given = {"epsilon": self.epsilon} if self.rho is None else {"rho": self.rho}
        terms = Terms.of(**given, neighbours=self.neighbours, contribution=1)
        event = method.event(self.grid, terms, "fixed")
        if overspent != 1:
            noise = {"epsilon": self.epsilon * overspent, "rho": None}
            if self.rho is not None:
                noise = {"epsilon": None, "rho": self.rho * overspent**2}
            event = replace(event, **noise)
        run = self.together or one_by_one
        pair = [np.array(counts, np.int64) for counts in (self.one, self.two)]
        runs = [
            run(method, self.grid, event, pair[i % 2], trials, NoiseKey(bytes([i + 1]) + bytes(31)))
            for i in range(4)
        ]
        changed = np.flatnonzero(pair[0] != pair[1])
        delta = 0.0 if self.rho is None else float(DELTA)
        found, looks = -math.inf, 6
        for seen in projections(runs, changed):
            counted = counts_of(seen)
            for one, two in ((0, 1), (1, 0)):
                chosen = best_set(counted[one], counted[two], trials, delta)
                ones, twos = counted[one + 2, chosen].sum(), counted[two + 2, chosen].sum()
                found = max(found, shown(ones, twos, trials, RISK / (4 * looks), delta))
        return found


def square(mask=None):
    """Eight cells, or those of a mask."""
    grid = geodp.Grid.regular((2, 4))
    if mask is None:
        return grid
    inside = np.array(mask, bool).reshape(2, 4)
    return grid.with_mask(mask_of_blocks(grid, blocks_of_array(inside), "an example"))


def of_regions(attributes):
    """Five of eight cells, in a region of three and one of two."""
    regions = Hierarchy.of_cells(
        [[0, 0, 1, 1, 1], [0, 1, 0, 2, 3]], {"city": ["1", "1", "1", "2", "2"]}, "an example"
    )
    grid = geodp.Grid.regular((2, 4))
    if attributes is None:
        return grid.with_hierarchy(regions)
    return grid.with_attribute("sex", ["female", "male"]).with_hierarchy(regions, attributes)


def official():
    """Two by two cells of four different areas of 10 km."""
    bounds = (4_009_000, 2_509_000, 4_011_000, 2_511_000)
    return geodp.Grid.mesh("inspire:1km", bounds=bounds).with_official_order()


def with_attribute(attributes):
    grid = geodp.Grid.regular((2, 2)).with_attribute("sex", ["female", "male"])
    return grid if attributes == "below" else grid.with_attribute_order(attributes)


GRIDS = {
    "square": square(),
    "padded": geodp.Grid.regular((5,)),
    "pair": geodp.Grid.regular((2,)),
    "masked": square([1, 1, 0, 1, 0, 0, 1, 1]),
    "attribute below": with_attribute("below"),
    "attribute above": with_attribute("above"),
    "official": official(),
    "regions": of_regions(None),
    "regions, attribute below": of_regions("below"),
    "regions, attribute above": of_regions("above"),
}


def blocks(shape):
    """Eight cells on a map so large that its blocks are larger than cells."""
    grid, inside = geodp.Grid.regular(shape), np.zeros(shape, np.bool_)
    inside[:4, :2] = True
    return grid.with_mask(mask_of_blocks(grid, blocks_of_array(inside), "an example"))


OWN_FORMS = {
    "agrid": {"blocks": blocks((40, 10))},  # two blocks of four cells among a hundred
    "hb": {"line": geodp.Grid.regular((225,))},  # the shortest with two levels
    "ugrid": {"blocks": blocks((20, 2))},  # four blocks of two; more blocks where many people are
}
"""Where a method does more than on every cell by itself."""


def forms_of(name):
    """Domains for a method, by name."""
    return GRIDS | OWN_FORMS.get(name, {})


VARIANTS = {
    "pyramid": ("pyramid", "pyramid:passes=1", "pyramid:prune=1", "pyramid:setting=flat"),
    "filter": ("filter:theta=1", "filter:theta=3"),
    "barak": ("barak:nonnegative=no",),  # its linear program is slow, and post-processing
    "ugrid": ("ugrid", "ugrid:c=1/10"),
    "agrid": ("agrid", "agrid:c1=1/100,c2=1/2"),
    "mwem": ("mwem:rounds=1", "mwem:rounds=2,passes=4"),
}
"""Variants that stand for a method; the others have their default settings."""

SETTINGS = {
    ADD: {"empty": (0, 1), "full": (40, 41)},
    REPLACE: {"alone": (1, 0), "full": (41, 40)},
}
"""Counts of the last cell in both tables; the others have the smaller one. Where a person is
replaced, the first cell has the other count."""


def neighbours_of(grid, relation, counts):
    """Two tables that differ by one person."""
    one, two = ([min(counts)] * domain_keys(grid).size for _ in range(2))
    one[-1], two[-1] = counts
    if relation == REPLACE:
        one[0], two[0] = counts[::-1]
    return tuple(one), tuple(two)


def cases(methods=None):
    """Every method, form of grid, noise and relation."""
    for name in sorted(methods or geodp.METHODS):
        specs = VARIANTS.get(name, (name,))
        for spec, (form, grid) in itertools.product(specs, forms_of(name).items()):
            method = mechanism(spec)
            if method.unsupported(grid) or (name == "topdown" and grid.bits % 3):
                continue
            noises = [{"epsilon": Fraction(1)}]
            if form in ("square", "regions"):
                noises.append({"epsilon": Fraction(3)})
            if method.gaussian:
                noises.append({"rho": Fraction(1, 8)})
            for noise, relation in itertools.product(noises, NEIGHBOURS):
                for words, counts in SETTINGS[relation].items():
                    pair = neighbours_of(grid, relation, counts)
                    said = f"{spec}, {form}, {words}, {relation}"
                    yield said, Case(spec, grid, *pair, relation, **noise)


CONTROLS = {
    "pyramid": Case("pyramid", GRIDS["square"], *neighbours_of(square(), ADD, (0, 1))),
    "topdown": Case(
        "topdown", GRIDS["square"], *neighbours_of(square(), ADD, (0, 1)), epsilon=Fraction(3)
    ),
    "laplace": Case("laplace", GRIDS["square"], *neighbours_of(square(), ADD, (40, 41))),
    "filter": Case("filter:theta=1", GRIDS["square"], *neighbours_of(square(), ADD, (0, 1))),
    "hb": Case("hb", GRIDS["square"], *neighbours_of(square(), ADD, (40, 41))),
    "matrix": Case("matrix", GRIDS["square"], *neighbours_of(square(), ADD, (40, 41))),
    "uniform": Case("uniform", GRIDS["square"], *neighbours_of(square(), ADD, (40, 41))),
    "privelet": Case("privelet", GRIDS["pair"], *neighbours_of(GRIDS["pair"], ADD, (0, 1))),
    "ugrid": Case("ugrid", GRIDS["square"], *neighbours_of(square(), ADD, (40, 41))),
}
"""Where a quarter too much must be seen."""


def main():
    """Print all audits; exit with 1 where a claim does not hold or a control is not caught."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--methods", help="names, separated by commas; default: all")
    parser.add_argument("--trials", type=int, default=SIDE_BY_SIDE, help="a fourth of all releases")
    parser.add_argument("--singly", type=int, default=5_000, help="the same, one by one")
    chosen = parser.parse_args()
    names = None if chosen.methods is None else chosen.methods.split(",")
    failed = 0
    for said, case in cases(names):
        trials = chosen.singly if case.together is None else chosen.trials
        found = case.audited(trials)
        failed += found > case.claim
        print(f"{found:6.3f} of {case.claim:.3f}  {4 * trials:,} releases: {said}", flush=True)
    for name, case in CONTROLS.items():
        if names is None or name in names:
            found = case.audited(chosen.trials, Fraction(5, 4))
            failed += found <= case.claim
            print(f"{found:6.3f} of {case.claim:.3f}  1.25 times the budget of {name}")
    print(f"{failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
