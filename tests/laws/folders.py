"""Releases of every kind on small maps, the folders with a card in each, and what these depend on.

Every stream of noise has a key of its own, which is derived from that of the release. A release is
made again with the noise of one stream changed and all other noise the same: a folder whose content
is then another depends on that stream, whoever says otherwise. Its loss is the sum of the budgets
of all streams that it depends on, where complementary streams share one.
"""

import hashlib
import json
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

import geodp
from geodp.kinds.amounts.streams import ABOVE, BELOW, key_of_class
from geodp.kinds.census.streams import name_key
from geodp.kinds.flows.streams import DESTINATIONS, LABELS, ORIGINS, PAIRS
from geodp.kinds.households.publish import HOUSEHOLDS, MEMBERS, OTHERS
from geodp.kinds.series.publish import SNAPSHOT
from geodp.privacy.key import NoiseKey
from geodp.release.periods import name_part
from geodp.release.series import PERIOD
from geodp.table.plain import write_plain
from tests.kinds.amounts.worlds import EDGES
from tests.kinds.amounts.worlds import table_of as amounts_of
from tests.kinds.households.worlds import by_size

GRID = geodp.Grid.regular((2, 2))
RELEASES = b"first release", b"second release"
"""Names of keys that are derived from the kept one: with parts, the map has one of its own."""

TIMES = ("2024-01", "2024-02", "2024-03")
SNAPSHOTS = tuple(name_part(SNAPSHOT, t) for t in range(3))
PERIODS = tuple(name_part(PERIOD % b"amounts", t) for t in range(2))


@contextmanager
def changed_noise(stream=None):
    """Make keys that follow from the names of streams alone, those of one stream changed."""
    derive, paths, roots = NoiseKey.derive, {}, {}

    def named(key, contents, draws=None):
        real = derive(key, contents, draws)
        above = paths.get(bytes(key._secret), ())
        path = (*above, contents)
        if not above:
            path = (roots.setdefault(contents, RELEASES[len(roots)]),)
        # Of a period, the noise of all its streams changes.
        other = stream in path
        secret = hashlib.sha256(b"".join(path) + b"other" * other).digest()
        paths[secret] = path
        return NoiseKey(secret, _origin=real._origin, _draws=real._draws)

    NoiseKey.derive = named
    try:
        yield
    finally:
        NoiseKey.derive = derive


def counted(grid, *dense):
    return geodp.CountTable.from_dense(np.array(dense).reshape(grid.shape), grid)


@dataclass(frozen=True)
class Folders:
    """A kind of release on a small map.

    Attributes
    ----------
    publish : callable
        Makes it with a key and a budget of 1.
    members : callable
        Lists the folders of a release: whose card lies there, and its tables.
    groups : list of (Fraction, tuple of bytes)
        Shares of the budget, and the streams that have each together.
    most : Fraction
        The most that all streams together cost: in a series, one person may change few of them.
    """

    publish: Callable
    members: Callable
    groups: list
    most: Fraction = Fraction(1)

    @property
    def streams(self):
        return [stream for _, streams in self.groups for stream in streams]

    def make(self, stream=None):
        with changed_noise(stream):
            return self.publish(NoiseKey(bytes(range(32)), _origin="file"))

    def contents(self, stream=None, cards=True):
        """What every folder holds: released counts, and the card or the index."""
        return {
            name: (
                [(table.key.tolist(), table.count.tolist()) for table in tables],
                json.dumps(write_plain(one.card())) if cards else "",
            )
            for name, (one, tables) in self.members(self.make(stream)).items()
        }

    def depends(self, cards=True):
        """The streams that every folder depends on."""
        before = self.contents(cards=cards)
        found = {name: set() for name in before}
        for stream in self.streams:
            after = self.contents(stream, cards)
            for name in before:
                found[name] |= {stream} if after[name] != before[name] else set()
        return found

    def losses(self, cards=True):
        """The part of the budget that every folder reveals."""
        return {
            name: min(self.most, sum(share for share, own in self.groups if seen & {*own}))
            for name, seen in self.depends(cards).items()
        }

    def stated(self):
        """The part of the budget that the card of every folder states."""
        found = {}
        for name, (one, _) in self.members(self.make()).items():
            guarantee = one.card().guarantee
            found[name] = Fraction(guarantee.epsilon if guarantee.rho is None else guarantee.rho)
        return found


def of_tables(made):
    """An index of tables, each with a folder of its name."""
    alone = {name: (one, [one.table]) for name, one in made.tables.items()}
    return {"": (made, [one.table for one in made.tables.values()]), **alone}


def of_amounts(made):
    """The index of amounts, and their records."""
    tables = [made.count.table, *([made.sum.table] if made.sum else []), *made.classes]
    return {"": (made, tables), "count": (made.count, [made.count.table])}


HALVES = [(Fraction(1, 2), (name,)) for name in RELEASES]
"""Of counts in parts: the map, and the parts."""

BUDGETS = {"epsilon": {"epsilon": 1}, "rho": {"rho": 1}}
TRIPS = np.random.default_rng(1).integers(0, 90, (2, 2, 2, 2)) + 200
LEVELS = {1: "2/5", 2: "1/10"}


def flows(budget="epsilon", by=None):
    grid = GRID.pairs()
    dense, groups = TRIPS, [(Fraction(1, 2), (PAIRS,))]
    ends = Fraction(1, 4)
    if by is not None:
        grid = grid.with_attribute(by, ["a", "b"])
        dense = np.stack([TRIPS, TRIPS + 5], axis=-1)
        groups.append((Fraction(1, 10), (LABELS,)))
        ends = Fraction(1, 5)
    groups += [(ends, (ORIGINS,)), (ends, (DESTINATIONS,))]
    share = {} if by is None else {"label_share": "1/10"}

    def publish(key):
        table = counted(grid, dense)
        return geodp.flows.publish(
            table, contribution=1, levels=LEVELS, key=key, **BUDGETS[budget], **share
        )

    return Folders(publish, of_tables, groups)


def flows_with_prior():
    def publish(key):
        prior = counted(GRID.pairs(), TRIPS + 3)
        return geodp.flows.publish(
            counted(GRID.pairs(), TRIPS), contribution=1, levels=LEVELS, key=key, epsilon=1,
            prior=prior, prior_source="made up",
        )  # fmt: skip

    return Folders(publish, of_tables, flows().groups)


HOMES = [(n % 4, int(size)) for n, size in enumerate(np.random.default_rng(3).integers(1, 5, 900))]


def households(protect):
    def publish(key):
        sized = by_size(HOMES)
        options = {"protect": protect, "epsilon": 1, "contribution": 1, "key": key}
        if protect == "household":
            return geodp.households.publish(by_size=sized, **options)
        others = counted(GRID, 300, 310, 320, 330)
        return geodp.households.publish(by_size=sized, others=others, **options)

    groups = [(Fraction(1), (HOUSEHOLDS, MEMBERS, OTHERS))]
    if protect == "household":
        groups = HALVES
    return Folders(publish, of_tables, groups)


def census():
    """Every table is fitted to others, and has the whole budget."""
    sized = by_size(HOMES)
    homes = sized.to_dense().sum(axis=-1)
    sexes = np.stack([3 * homes, 2 * homes + 7], axis=-1)

    def publish(key):
        return geodp.census.publish(
            counted(GRID, sexes.sum(axis=-1)),
            {"sex": counted(GRID.with_attribute("sex", ["f", "m"]), sexes)},
            households=counted(GRID, homes), household_margins={"size": sized},
            epsilon=1, contribution=1, contradictions="refuse", key=key,
        )  # fmt: skip

    tables = ("persons", "sex", "households", "size")
    # One of persons, its margin, and who opens a household: 1 + 1 + 1 + 1/2 tables.
    groups = [(Fraction(2, 7), (name_key(table),)) for table in tables]
    return Folders(publish, of_tables, groups)


RECORDS = [(place, amount) for place in range(4) for amount in range(-2, 5) for _ in range(90)]
SUMS, CLASSES = (ABOVE, BELOW), tuple(key_of_class(k) for k in range(3))


def amounts(means=True, classes=True):
    def publish(key):
        table = amounts_of(RECORDS, EDGES if classes else (), GRID)
        return geodp.amounts.publish(table, means=means, epsilon=1, contribution=1, key=key)

    listed = [*([SUMS] if means else []), *([CLASSES] if classes else [])]
    groups = [(Fraction(1, len(listed)), one) for one in listed]
    return Folders(publish, of_amounts, groups)


def series_of_amounts(person):
    def publish(key):
        tables = [amounts_of(RECORDS + RECORDS[:n], (), GRID) for n in (0, 7)]
        return geodp.amounts.publish_series(
            tables, times=TIMES[:2], person=person, epsilon=1, contribution=1, key=key
        )

    def members(made):
        each = dict(zip(made.periods.names, map(of_amounts, made.releases), strict=True))
        whole = [table for one in each.values() for table in one[""][1]]
        found = {"": (made, whole)}
        for time, one in each.items():
            found |= {time: one[""], f"{time}/count": one["count"]}
        return found

    each = Fraction(1, 2 if person == "all" else 1)
    return Folders(publish, members, [(each, (one,)) for one in PERIODS])


WIDE = geodp.Grid.regular((16, 16))
PEOPLE = np.random.default_rng(2).lognormal(3, 1, (16, 16)).astype(int)
"""So that snapshots predict each other better than equal shares do."""


def series(smooth, person="all", neighbours="add-remove-one", budget="epsilon"):
    tables = [counted(WIDE, PEOPLE + n) for n in range(3)]

    def publish(key):
        return geodp.publish_series(
            tables, times=TIMES, person=person, smooth=smooth, neighbours=neighbours,
            contribution=1, key=key, **BUDGETS[budget],
        )  # fmt: skip

    def members(made):
        alone = {time: (one, [one.table]) for time, one in zip(TIMES, made, strict=True)}
        return {"": (made, [one.table for one in made]), **alone}

    changed = 3 if person == "all" else 1 if neighbours == "add-remove-one" else 2
    groups = [(Fraction(1, changed), (one,)) for one in SNAPSHOTS]
    return Folders(publish, members, groups, Fraction(1))


def counts(labels=()):
    grid = GRID.with_attribute("sex", labels) if labels else GRID
    dense = 37 * np.arange(grid.size) ** 2 + 400

    def publish(key):
        return geodp.publish(counted(grid, dense), epsilon=1, contribution=1, key=key)

    groups = HALVES if labels else [(Fraction(1), RELEASES[:1])]
    return Folders(publish, lambda made: {"": (made, [made.table])}, groups)


KINDS = {
    "counts": counts(),
    "parts of counts": counts(("f", "m")),
    "flows": flows(),
    "flows, rho": flows("rho"),
    "flows by label": flows(by="mode"),
    "flows with a prior": flows_with_prior(),
    "households, a person protected": households("person"),
    "households, a household protected": households("household"),
    "census": census(),
    "amounts": amounts(classes=False),
    "amounts and classes": amounts(),
    "classes of amounts": amounts(means=False),
    "series of amounts": series_of_amounts("all"),
    "series of amounts, a person in one": series_of_amounts("one"),
    **{f"series, smooth {one}": series(one) for one in ("none", "forward", "both")},
    "series, smooth both, rho": series("both", budget="rho"),
    "series, a person in one": series("both", "one"),
    "series, one replaced in one": series("both", "one", "replace-one"),
}
