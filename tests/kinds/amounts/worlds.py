"""Small worlds of records of amounts, for tests that enumerate what one record changes."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np

import geodp
from geodp.kinds.amounts.publish import NOTHING_KEPT, make_plan
from geodp.kinds.amounts.scale import Scale
from geodp.kinds.amounts.streams import AmountTable
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.privacy.assumption import ContributionBound
from geodp.privacy.terms import Terms
from geodp.release.request import Request, make_event

GRID = geodp.Grid.regular((2, 2))
METHOD = Pyramid("R")
SCALE = Scale.of((-2, 4), 1, "EUR", "income")
EDGES = (0, 1, 4, 6)
"""Of classes, above the lower end."""

BEYOND = (SCALE.lower - 3, SCALE.upper + 5)
AMOUNTS = (*BEYOND, *range(SCALE.lower, SCALE.upper + 1))
"""All amounts of a record, and some beyond the clip."""

FEW = (*BEYOND, SCALE.lower, 1, SCALE.upper)
"""Amounts at both ends of the clip, between and beyond."""


def worlds(records=2, amounts=AMOUNTS, places=(0, 3)):
    """All worlds of some records, each the pair of its cell and its amount."""
    each = [*itertools.product(places, amounts)]
    for number in range(records + 1):
        yield from itertools.combinations_with_replacement(each, number)


def one_record_more(world, amounts=AMOUNTS, places=(0, 1, 3)):
    """All worlds with one more record."""
    for one in itertools.product(places, amounts):
        yield (*world, one)


def table_of(world, edges=(), grid=GRID, scale=SCALE):
    """The records of a world."""
    cells = 1 << grid.bits
    number, above = np.zeros((2, cells), np.int64)
    classes = np.zeros((max(len(edges) - 1, 0), cells), np.int64)
    for place, amount in world:
        x = min(max(amount, scale.lower), scale.upper) - scale.lower
        number[place] += 1
        above[place] += x
        if edges:
            classes[min(np.searchsorted(edges, x, "right") - 1, len(edges) - 2), place] += 1

    def make(counts):
        return geodp.CountTable.from_keys(grid, np.arange(cells, dtype=np.uint64), counts)

    parts = tuple(map(make, classes))
    return AmountTable(make(number), above[number > 0], scale, (), edges, parts)


def design_of(table, *, contribution=1, notches=None, keeping=NOTHING_KEPT, **asked):
    """What is measured of a table; ``notches``: another number than that of the noise."""
    means, share = asked.pop("means", True), asked.pop("share", "1/2")
    terms = asked
    request = Request(terms=Terms.of(**terms), method=METHOD)
    bound = ContributionBound(contribution)
    made = make_plan(table.axes, request, bound, means=means, share=share, keeping=keeping)
    if notches is None:
        return made
    rough = Terms.of(**terms).bound(ContributionBound(contribution * notches))
    return replace(made, notches=notches, of_sums=make_event(GRID, METHOD, rough))


def measure(table, design):
    """All that is measured, exactly: pairs of a law and true counts."""
    found = []
    for counts, event, _ in design.streams(table):
        levels = METHOD.descent(GRID, event)
        for law, stride in zip(levels.laws, levels.strides, strict=True):
            found.append((law.identity, counts.to_vector().reshape(-1, stride).sum(axis=1)))
    return found


def loss(one, other):
    """The loss of all measurements together, exactly."""
    total = Fraction(0)
    for ((name, width), some), (same, others) in zip(one, other, strict=True):
        assert (name, width) == same
        by = [abs(int(n)) for n in some - others]
        squares = Fraction(sum(n * n for n in by), 2)
        total += sum(by) / width if name == "discrete Laplace" else squares / width
    return total
