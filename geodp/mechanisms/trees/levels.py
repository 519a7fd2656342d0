"""Levels and shares of a pyramid: custom chains, presets, their notation, and the defaults.

On every level an isolated settlement's measurement competes with those of empty siblings. Of the
levels tried on synthetic maps (``python -m bench settlements``), the loss is smallest with narrow
lowest nodes, which a settlement fills, few levels above them, and most of the budget for nodes and
cells.

Defaults, also that for who trusts a prior, depend on the domain's public shape and on the law
alone. A domain of up to 2**12 keys without attributes has the cells and the total as its only
levels; labels of attributes are asked for as well, and need levels above. On larger domains whose
keys are bits, shares are those of a table, which ``python -m bench shares`` computes for common
queries (cells, municipalities, polygons, rectangles) with a bound on aligned blocks. All other
orders, of published areas, of regions and of attributes, take their shares by the levels' distance
from the cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import prod

from geodp.errors import UsageError
from geodp.grid.area_levels import AreaLevels
from geodp.grid.grid import Grid
from geodp.grid.hierarchy import CELL, WIDEST

NODE_BITS, STEP, TOP = 5, 12, 4
"""Bits of a lowest node; bits of every level above; fewest bits of the first level, if possible."""

ROOT_WEIGHT, UPPER_WEIGHT, NODE_WEIGHT, CELL_WEIGHT = 1, 12, 35, 52
"""Weights of the root, of every level above lowest nodes, of these and of the cells."""


def islands_levels_of(bits: int) -> tuple[list[int], list[Fraction]]:
    """Return the bits of each level, and weights, the root's first.

    Examples
    --------
    >>> islands_levels_of(26)[0], islands_levels_of(18)[0], islands_levels_of(12)[0]
    ([9, 12, 5], [4, 9, 5], [7, 5])
    >>> [int(weight) for weight in islands_levels_of(26)[1]]
    [1, 12, 35, 52]
    """
    lowest = min(NODE_BITS, bits)
    above = bits - lowest
    steps = [above % STEP] * bool(above % STEP) + [STEP] * (above // STEP)
    if len(steps) > 1 and steps[0] < TOP:
        steps[:2] = [TOP, steps[0] + STEP - TOP]
    steps += [lowest] * bool(lowest)
    upper = [ROOT_WEIGHT, *[UPPER_WEIGHT] * (len(steps) - 2)] if len(steps) > 1 else []
    weights = [*upper, NODE_WEIGHT, CELL_WEIGHT] if steps else [CELL_WEIGHT]
    return steps, [Fraction(weight) for weight in weights]


@dataclass(frozen=True)
class LevelScheme:
    """Levels from the root to the cells.

    Attributes
    ----------
    fanouts : tuple of int
        Children of a node of each level but the last.
    shares : tuple of Fraction
        Shares of the budget for every level from the root on; they add up to 1.
    """

    fanouts: tuple[int, ...]
    shares: tuple[Fraction, ...]

    @property
    def strides(self) -> tuple[int, ...]:
        """Keys that a node of each level covers."""
        below = accumulate(reversed(self.fanouts), lambda a, b: a * b, initial=1)
        return tuple(below)[::-1]


def steps_of(chain: str, name: str = "pyramid") -> list[int]:
    """Parse the digits of every level of a custom chain; empty: there is none."""
    try:
        steps = [int(part) for part in chain.split("-")] if chain else []
    except ValueError:
        steps = [0]
    if any(step < 1 for step in steps):
        raise UsageError(
            f"{name}:chain must be digits per level with hyphens between, such as 2-4-4-4-4.",
            code="chain-form",
        )
    return steps


def weights_of(shares: str) -> list[Fraction]:
    """Parse the weights of the levels of a custom chain."""
    try:
        weights = [Fraction(part) for part in shares.split("-")] if shares else []
    except (ValueError, ZeroDivisionError):
        weights = [Fraction(0)]
    if any(weight <= 0 for weight in weights):
        raise UsageError(
            "pyramid:shares must be weights above 0 with hyphens between, such as 2-2-4-4-4-4.",
            code="pyramid-shares-form",
        )
    return weights


def preset(setting: str, radices: tuple[int, ...]) -> tuple[list[int], list[Fraction]]:
    """Return the digits of each level and weights, the root's first.

    An empty list of weights means 2 for the root, and otherwise the bits that a level splits.
    "islands" is :mod:`geodp.mechanisms.trees.levels`, for bits only. Digits that do not fit form a
    smaller level at the top. The others are in :mod:`geodp.mechanisms.trees.levels`.
    """
    if setting == "islands":
        return islands_levels_of(len(radices))
    bottom, size = {"R": ([], 4), "fine": ([3, 3, 4], 2), "flat": ([], 2)}[setting]
    if any(radix != 2 for radix in radices):
        steps = _group(radices, 1 << size)
        bottom = steps[-3:] if setting == "fine" else []
        top = steps[: len(steps) - len(bottom)]
    else:
        while sum(bottom) > len(radices):
            bottom = bottom[1:]
        rest = len(radices) - sum(bottom)
        top = [rest % size] * bool(rest % size) + [size] * (rest // size)
    if setting == "R":
        return top, []
    if setting == "flat":
        return top, [Fraction(1)] * (len(top) + 1)
    # The root and the upper levels get 0.35 of the budget, as in the table for 2**18 cells.
    upper = [Fraction(2), *[Fraction(3)] * len(top)]
    lower = [Fraction(115), Fraction(110), Fraction(425)][3 - len(bottom) :]
    return top + bottom, [350 * w / sum(upper) for w in upper] + lower


def _group(radices: tuple[int, ...], max_fanout: int) -> list[int]:
    """Group digits into levels of at most ``max_fanout`` children, from the cells up.

    A digit is never divided: one with a larger radix is a level of its own.
    """
    steps: list[int] = []
    fanout = max_fanout + 1
    for radix in reversed(radices):
        if fanout * radix > max_fanout:
            steps, fanout = [0, *steps], 1
        steps[0] += 1
        fanout *= radix
    return steps


FEW_BITS = 12
"""Bits of the largest domain whose only levels are the cells and the total."""

LAPLACE = {
    13: "541-1012-2829-5618",
    14: "1024-975-2666-5335",
    15: "200-234-1006-2469-6091",
    16: "200-416-904-2333-6147",
    17: "200-601-841-2201-6157",
    18: "200-826-794-2081-6099",
    19: "200-200-882-756-1972-5990",
    20: "200-327-824-724-1870-6055",
    21: "200-479-754-697-1778-6092",
    22: "200-649-1760-1568-1553-4270",
    23: "200-200-625-1687-1504-1483-4301",
    24: "200-253-611-1616-1446-1416-4458",
    25: "200-381-574-1561-1392-1357-4535",
    26: "200-539-550-1506-1342-1303-4560",
    27: "200-200-590-529-1453-1294-1255-4479",
    28: "200-215-603-512-1405-1251-1210-4604",
    29: "200-326-557-495-1359-1210-1173-4680",
    30: "200-462-523-480-1316-1170-1147-4702",
    31: "200-200-511-503-465-1276-1134-1116-4595",
    32: "200-200-528-486-451-1238-1097-1121-4679",
    33: "200-281-498-473-438-1202-1063-1129-4716",
    34: "200-402-468-461-426-1169-1031-1129-4714",
    35: "200-200-447-452-448-414-1136-1002-1101-4600",
    36: "200-200-463-438-436-403-1106-972-1117-4665",
}
"""Shares with Laplace noise, in parts of 10,000, the root's first, by the bits of a key.

Lowest nodes have 64 cells, nodes above them 16 children, and the root what is left."""

GAUSSIAN = {
    13: "1374-200-601-1227-1080-1065-712-3741",
    14: "1458-200-611-1153-1012-972-707-3887",
    15: "200-200-200-584-1087-939-870-1004-4916",
    16: "200-200-226-552-1023-873-858-1024-5044",
    17: "200-200-262-200-526-966-818-842-1009-4977",
    18: "200-200-289-200-492-919-763-851-1021-5065",
    19: "200-200-232-272-200-465-874-720-837-1006-4994",
    20: "200-200-261-253-200-441-833-678-847-1018-5069",
    21: "200-200-200-260-238-200-420-794-645-834-1002-5007",
    22: "200-200-386-758-663-672-672-673-652-637-761-3726",
    23: "200-200-200-370-728-636-645-645-646-620-631-758-3721",
    24: "200-200-200-357-701-613-621-621-621-586-650-779-3851",
    25: "200-200-200-200-342-675-590-598-598-598-560-644-774-3821",
    26: "200-200-200-200-329-651-569-577-577-576-533-660-793-3935",
    27: "200-200-200-200-200-317-628-549-557-557-555-512-653-782-3890",
    28: "200-200-200-200-200-305-608-531-539-539-535-494-666-799-3984",
    29: "200-200-200-200-200-200-294-588-514-521-521-517-477-656-785-3927",
    30: "200-200-200-200-200-200-285-570-498-505-505-498-468-666-802-4003",
    31: "200-200-200-200-200-200-200-275-553-483-490-489-482-455-655-785-3933",
    32: "200-200-200-200-200-200-200-266-537-469-476-475-464-454-662-800-3997",
    33: "200-200-200-200-200-200-200-200-258-521-456-462-461-450-442-651-782-3917",
    34: "200-200-200-200-200-200-200-200-250-507-443-449-449-434-444-660-791-3973",
    35: "200-200-200-200-200-200-200-200-200-243-493-431-437-436-421-433-646-772-3888",
    36: "200-200-200-200-200-200-200-200-200-236-480-420-426-425-406-438-652-783-3934",
}
"""Shares with Gaussian noise, where nodes have 4 children."""

LADDERS = {
    False: (64, 19, 12, 8, 5, 4, 3, 2),
    True: (60, 14, 11, 9, 7, 6, 5, 4, 3, 3, 2),
}
"""Weights of the levels from the cells up, without and with Gaussian noise, where keys are no bits.

The last one is repeated. The root is no rung, see ``ROOT``."""

TRUSTING = {
    False: (50, 32, 16, 8, 4, 2),
    True: (50, 25, 16, 12, 8, 6, 4, 3, 2),
}
"""Weights of the setting ``informed``, as in ``LADDERS``, for keys of all kinds: more above the
cells, whose numbers of people a prior does not know, and less for the cells, whose distribution it
knows."""

ROOT = 3
"""Weight of the root relative to a ladder's."""

TRUSTED_ROOT = 2
"""Weight of the root beside a trusting ladder's."""

REGIONS = {False: 14, True: 8}
"""Smallest weight of the finest regions, which users ask for, without and with Gaussian noise."""

LOWEST, NODE = 64, 16
"""Fewest children of a lowest node and of the nodes above, with Laplace noise."""

SMALLEST = 4
"""Fewest children of a node with Gaussian noise."""

LOWEST_BITS, MAX_BITS = 6, 10
"""Bits of a lowest node inside a region, and the most of the levels above it."""


def default_levels(grid: Grid, *, gaussian: bool) -> tuple[list[int], list[Fraction]]:
    """Return the digits of each level, and weights, the root's first.

    Parameters
    ----------
    grid : Grid
    gaussian : bool
        Whether noise is Gaussian.

    Examples
    --------
    >>> default_levels(Grid.regular((64, 64)), gaussian=False)[0]
    [12]
    >>> default_levels(Grid.regular((512, 512)), gaussian=False)[0]
    [4, 4, 4, 6]
    """
    radices, areas = grid.order.radices, grid.areas
    if areas.tables:
        return _levels_of_regions(areas, radices, gaussian)
    few = prod(radices) <= 1 << FEW_BITS
    if few and not grid.attributes:
        steps = [len(radices)] * bool(radices)
    elif grid.order.is_binary and len(radices) >= min(LAPLACE):
        return table_levels(len(radices), gaussian=gaussian)
    elif areas.nested and gaussian:
        steps = [step for _, step in areas.steps]
    elif areas.nested:
        steps = _join_lowest([step for _, step in areas.steps], radices)
    else:
        steps = group_digits(radices, *((SMALLEST,) * 2 if gaussian else (LOWEST, NODE)))
    return steps, ladder(len(steps), gaussian=gaussian)


def trusting_levels(radices: Sequence[int], *, gaussian: bool) -> tuple[list[int], list[Fraction]]:
    """Return the digits of each level, and weights, the root's first, for use with a prior.

    Nodes have at least 64 children, or 4 with Gaussian noise, and the highest what is left.

    Examples
    --------
    >>> steps, weights = trusting_levels([2] * 18, gaussian=False)
    >>> steps, [int(weight) for weight in weights]
    ([6, 6, 6], [2, 16, 32, 50])
    """
    fewest = SMALLEST if gaussian else LOWEST
    steps = group_digits(radices, fewest, fewest)
    return steps, _by_distance(TRUSTING[gaussian], len(steps), TRUSTED_ROOT)


def table_levels(bits: int, *, gaussian: bool = False) -> tuple[list[int], list[Fraction]]:
    """Return the bits of each level, and weights, the root's first, for keys of 13 bits or more.

    Beyond the table the longest lines repeat the share of their second level as often as needed.

    Examples
    --------
    >>> sum(table_levels(63)[0])
    63
    """
    rows, step, lowest = (GAUSSIAN, 2, 2) if gaussian else (LAPLACE, 4, LOWEST_BITS)
    more = max(0, -(-(bits - max(rows)) // step))
    shares = rows[bits - step * more].split("-")
    shares[2:2] = shares[2:3] * more
    # A level for each share but the root's; the first one splits what the others leave.
    below = [*[step] * (len(shares) - 3), lowest]
    return [bits - sum(below), *below], [Fraction(share) for share in shares]


def ladder(levels: int, *, gaussian: bool) -> list[Fraction]:
    """Return weights by the levels' distance from the cells, the root's first.

    Examples
    --------
    >>> [int(weight) for weight in ladder(3, gaussian=False)]
    [3, 12, 19, 64]
    """
    return _by_distance(LADDERS[gaussian], levels, ROOT)


def _by_distance(rungs: tuple[int, ...], levels: int, root: int) -> list[Fraction]:
    """Return the root's weight and a ladder's, the last rung repeated, from the top down."""
    weights = (*rungs, *rungs[-1:] * levels)[:levels]
    return [Fraction(weight) for weight in (root, *reversed(weights))]


def _levels_of_regions(
    areas: AreaLevels, radices: Sequence[int], gaussian: bool
) -> tuple[list[int], list[Fraction]]:
    """Keep every level of regions, as users ask for these, and divide the cells inside anew."""
    steps = [*areas.steps]
    while steps and steps[-1][0] in ("", CELL):
        steps.pop()
    regions = [size for _, size in steps]
    inside = _split_region(len(radices) - sum(regions), gaussian)
    weights = ladder(len(regions) + len(inside), gaussian=gaussian)
    if regions and inside:
        weights[len(regions)] = max(weights[len(regions)], Fraction(REGIONS[gaussian]))
    return [*regions, *inside], weights


def _split_region(bits: int, gaussian: bool) -> list[int]:
    """Divide the bits that number the cells of a region into levels."""
    if gaussian:
        return [1] * (bits % 2) + [2] * (bits // 2)
    if bits <= LOWEST_BITS:
        return [bits] * bool(bits)
    # Few levels are best: what is asked for besides cells are the regions above.
    above = bits - LOWEST_BITS
    levels = -(-above // MAX_BITS)
    return [above // levels + (level < above % levels) for level in range(levels)] + [LOWEST_BITS]


def _join_lowest(steps: list[int], radices: Sequence[int]) -> list[int]:
    """Join the lowest levels of published areas until a lowest node has enough cells."""
    joined = list(steps)
    while len(joined) > 1 and prod(radices[-joined[-1] :]) < LOWEST:
        if prod(radices[-sum(joined[-2:]) :]) > WIDEST:
            break
        joined[-2:] = [sum(joined[-2:])]
    return joined


def group_digits(radices: Sequence[int], lowest: int, above: int) -> list[int]:
    """Group digits into levels, from the cells up, of at least so many children a node."""
    steps: list[int] = []
    children, fewest = WIDEST, 0
    for radix in reversed(radices):
        if children >= fewest or children * radix > WIDEST:
            steps, children = [0, *steps], 1
            fewest = lowest if len(steps) == 1 else above
        steps[0] += 1
        children *= radix
    return steps
