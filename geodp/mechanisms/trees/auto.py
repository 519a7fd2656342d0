"""Levels and shares of the pyramid's default, by the bits of a key: ``python -m bench auto``.

A line has the bits that each level splits, from the root on, and the levels' shares in parts of
10,000, the root's first. They are chosen for what people ask (cells, municipalities, polygons,
rectangles) under a bound: no aligned block of up to 2**12 cells is worse than with the paper's
method by more than 5 %, and none by more than 25 %.
"""

from __future__ import annotations

from fractions import Fraction

PLANS = (
    "1 297-9703",
    "2 297-9703",
    "3 4354-5646",
    "4 3706-6294",
    "2-3 3149-2010-4841",
    "3-3 3237-2799-3964",
    "3-4 2692-2480-4828",
    "4-4 2563-3257-4180",
    "2-3-4 2295-1189-2727-3789",
    "3-3-4 2070-2019-2322-3589",
    "3-3-5 1469-1722-2154-4655",
    "2-2-3-5 1309-966-1408-2018-4299",
    "3-4-6 297-1898-2507-5298",
    "4-4-6 333-2103-2372-5192",
    "1-4-4-6 297-586-2012-2212-4893",
    "2-4-4-6 297-918-1853-2111-4821",
    "3-4-4-6 298-1242-1718-2008-4734",
    "1-3-4-4-6 297-466-1213-1618-1892-4514",
    "2-3-4-4-6 297-755-1100-1543-1793-4512",
    "3-3-4-4-6 297-1064-1009-1475-1706-4449",
    "1-3-3-4-4-6 297-380-1057-959-1407-1626-4274",
    "2-3-3-4-4-6 297-636-963-922-1347-1551-4284",
    "3-3-3-4-4-6 297-918-885-887-1291-1484-4238",
    "1-3-3-3-4-4-6 297-317-938-846-852-1240-1424-4086",
    "2-3-3-3-4-4-6 297-547-857-817-820-1193-1365-4104",
    "3-3-3-3-4-4-6 297-798-790-790-790-1150-1312-4073",
    "1-3-3-3-3-4-4-6 296-296-839-753-760-759-1106-1262-3929",
    "2-3-3-3-3-4-4-6 297-478-772-734-737-736-1071-1218-3957",
    "3-3-3-3-3-4-4-6 297-705-713-713-713-712-1036-1175-3936",
    "1-3-3-3-3-3-4-4-6 295-295-757-679-686-685-685-996-1129-3793",
    "2-3-3-3-3-3-4-4-6 297-424-703-665-668-668-668-971-1099-3837",
    "3-3-3-3-3-3-4-4-6 297-630-650-649-649-649-649-943-1064-3820",
    "1-3-3-3-3-3-3-4-4-6 294-294-693-618-624-624-624-623-906-1023-3677",
    "2-3-3-3-3-3-3-4-4-6 297-379-645-609-612-612-612-612-889-1002-3731",
    "3-3-3-3-3-3-3-4-4-6 297-567-598-595-595-595-595-595-865-974-3724",
    "1-3-3-3-3-3-3-3-4-4-6 294-294-623-570-574-574-574-574-574-833-938-3578",
)
"""Of keys of 1, 2, 3 ... bits."""

LINES = {
    13: "2-3-3-5 1276-902-1960-1792-4070",
    14: "3-3-3-5 1238-1288-1750-1665-4059",
}
"""In one dimension: lowest nodes are narrower there, as ends of runs cut many of them in two."""


def plan_of(bits: int, *, line: bool = False) -> tuple[list[int], list[Fraction]]:
    """Return the bits of each level, and weights, the root's first; of keys of 1 bit or more.

    Beyond the table the longest lines repeat their third level, of 3 bits, as often as it takes.

    Parameters
    ----------
    bits : int
    line : bool
        Of a domain in one dimension.

    Examples
    --------
    >>> sum(plan_of(63)[0])
    63
    """
    more = max(0, -(-(bits - len(PLANS)) // 3))
    plan = LINES.get(bits) if line else None
    steps, parts = (part.split("-") for part in (plan or PLANS[bits - 3 * more - 1]).split())
    steps[1:1] = ["3"] * more
    parts[2:2] = parts[2:3] * more
    return [int(step) for step in steps], [Fraction(part) for part in parts]


ROOT, CELLS, MIDDLE = Fraction(3, 100), Fraction(17, 20), Fraction(1, 6)
"""Of a series: the root's share at least, what is left of the cells', and what nodes of 4 cells
get, over that."""

NARROWEST = 4
"""Bits of a lowest step up to which it is not cut in two."""


def series_levels_of(bits: int, *, line: bool = False) -> tuple[list[int], list[Fraction]]:
    """Return the same for snapshots with Gaussian noise, which predict each other.

    The variance of Gaussian noise is one over a share and not over its square: with the squares of
    the default's shares all levels gain alike. As predictions make single cells better than sums
    of a few, nodes of 4 cells are measured too.

    Examples
    --------
    >>> [str(round(weight, 3)) for weight in map(float, series_levels_of(14)[1])]
    ['0.03', '0.119', '0.152', '0.103', '0.617']
    """
    steps, weights = plan_of(bits, line=line)
    total = sum(weight**2 for weight in weights)
    found = [weight**2 / total for weight in weights]
    found[0] = max(found[0], ROOT)
    found[-1] *= CELLS
    if steps[-1] > NARROWEST:
        steps[-1:] = [steps[-1] - 2, 2]
        found[-1:] = [found[-1] * MIDDLE, found[-1]]
    return steps, found
