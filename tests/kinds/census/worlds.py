"""Small worlds of persons and households with margins of both, and all that is measured of them."""

import itertools
from fractions import Fraction
from unittest import mock

import numpy as np

import geodp
from geodp.kinds.census import streams as of_streams
from geodp.kinds.census.inputs import CensusTables
from geodp.kinds.census.streams import CensusStreams, CensusTruth, release_streams
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.privacy.key import NoiseKey
from geodp.privacy.noise.law import LAPLACE
from geodp.privacy.noise.node import NodeNoise

GRID = geodp.Grid.regular((2, 2))
METHOD = Pyramid("R")
PEOPLE = [*itertools.product((0, 1), (0, 1))]
"""All kinds of persons: sex and age, 1 for the old."""

FEW = [(0, 0), (1, 1)]
AGED = ("young", "old")


def worlds(homes=2):
    """All worlds of a few households of up to two members in one cell."""
    members = [one for n in (1, 2) for one in itertools.combinations_with_replacement(FEW, n)]
    for number in range(homes + 1):
        for world in itertools.combinations_with_replacement(members, number):
            yield tuple((0, one) for one in world), ()


def one_person_more(world, places=(0, 1)):
    """All worlds in which one more person joins a household, opens one, or lives in none."""
    homes, others = world
    for person in PEOPLE:
        for i, (place, members) in enumerate(homes):
            joined = place, tuple(sorted((*members, person)))
            yield tuple(sorted((*homes[:i], joined, *homes[i + 1 :]))), others
        for place in places:
            yield tuple(sorted((*homes, (place, (person,))))), others
            yield homes, (*others, (place, person))


def _table(counted, **labels):
    grid = GRID
    for name, of_it in labels.items():
        grid = grid.with_attribute(name, of_it)
    dense = np.zeros(grid.shape, np.int64)
    for place, *parts in counted:
        dense[(*divmod(place, 2), *parts)] += 1
    return geodp.CountTable.from_dense(dense, grid)


def tables_of(world):
    """Count a world: margins that cross, that divide, with a rest, and within one label.

    Only the old have a pension, some of them, and only households with an old member have a help.
    """
    homes, others = world
    people = [(place, *one) for place, members in homes for one in members]
    people += [(place, *one) for place, one in others]
    of_homes = [
        (place, min(len(members), 3) - 1, max(old for _, old in members))
        for place, members in homes
    ]
    sexes = {"sex": ["f", "m"]}
    margins = {
        "sex": _table([(p, sex) for p, sex, _ in people], **sexes),
        "age": _table(people, **sexes, age=AGED),
        "pension": _table(
            [(p, 1, old, 0) for p, sex, old in people if sex and old],
            **sexes, age=AGED, pension=["some"],
        ),
        "school": _table([(p, 0) for p, _, old in people if not old], school=["pupils"]),
    }  # fmt: skip
    sizes = ["1", "2", "3+"]
    household_margins = {
        "size": _table([(p, size) for p, size, _ in of_homes], size=sizes),
        "kind": _table([(p, old) for p, _, old in of_homes], kind=["none", "some"]),
        "help": _table(
            [(p, 1, size) for p, size, old in of_homes if old], kind=["none", "some"], help=sizes
        ),
    }
    return CensusTables.of(
        _table([(p,) for p, *_ in people]),
        margins,
        households=_table([(p,) for p, *_ in of_homes]),
        household_margins=household_margins,
        rest={"pension": "none", "school": "no pupils"},
        within={"pension": ("old", "young"), "help": ("some", "none")},
        contradictions="refuse",
    )


def joined_tables_of(world):
    """Count a world whose households and persons are one table, with sexes beside it."""
    homes, others = world
    people = [(place, sex) for place, members in homes for sex, _ in members]
    inside = [(place,) for place, _ in people]
    people += [(place, sex) for place, (sex, _) in others]
    return CensusTables.of(
        _table([(place,) for place, _ in people]),
        {"sex": _table(people, sex=["f", "m"])},
        households=_table([(place,) for place, _ in homes]),
        members=_table(inside),
        max_size=3,
        contradictions="refuse",
    )


def sized_tables_of(world):
    """Count a world whose households have sizes: one person of each, a second one of many."""
    homes, others = world
    inside = [(place,) for place, members in homes for _ in members]
    return CensusTables.of(
        _table([*inside, *((place,) for place, _ in others)]),
        {},
        households=_table(
            [(place, min(len(members), 2) - 1) for place, members in homes], size=["1", "2+"]
        ),
        members=_table(inside),
        max_size=3,
        contradictions="refuse",
    )


def streams_of(tables, event):
    """What is measured of tables under an event of all together."""
    return CensusStreams(tables.ground, tables.margins, METHOD, event)


def measure(tables, event):
    """All that is measured, as it is without noise: ``{(table, level, node, part): count}``.

    Then the laws of the noise by table and level, as they are drawn from.
    """
    seen, drawn, laws = {}, [], {}
    combine = of_streams._combine_sums

    def families(noise, above, fanout):
        drawn.append(noise.law.identity)
        return np.zeros(above.size * fanout, np.int64), np.full(above.size, 0.5)

    def look(streams, given, level, z, parts):
        node = next(iter(parts.values())).node.tolist()
        every = {**z, **{name: one.z for name, one in parts.items()}}
        laws.update({(name, level): law for name, law in zip(every, drawn, strict=True)})
        drawn.clear()
        for name, values in every.items():
            for at, row in zip(node, values, strict=True):
                counts = enumerate(np.atleast_1d(row))
                seen.update({(name, level, at, j): int(n) for j, n in counts if n})
        return combine(streams, given, level, z, parts)

    streams = streams_of(tables, event)
    populations = {name: tables.tables[name] for name in tables.margins.populations}
    with (
        mock.patch.object(NodeNoise, "families", families),
        mock.patch.object(of_streams, "_combine_sums", look),
        mock.patch.object(of_streams, "_fit"),
    ):
        key = NoiseKey(bytes(range(32)))
        release_streams(streams, CensusTruth(populations, dict(tables.truths())), key)
    return seen, laws


def changes(one, other):
    """What two worlds' measurements differ by, where they do."""
    both = {*one, *other}
    found = {at: other.get(at, 0) - one.get(at, 0) for at in both}
    return {at: by for at, by in found.items() if by}


def loss(change, laws):
    """The loss of all that changes, exactly."""
    total = Fraction(0)
    for (table, level, *_), by in change.items():
        name, parameter = laws[table, level]
        total += abs(by) / parameter if name == LAPLACE else Fraction(by * by, 2) / parameter
    return total
