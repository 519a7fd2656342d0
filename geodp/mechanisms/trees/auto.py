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
    "3 4550-5450",
    "4 3919-6081",
    "5 2885-7115",
    "3-3 3431-2700-3869",
    "3-4 2898-2389-4713",
    "4-4 2773-3146-4081",
    "2-3-4 2450-1231-2622-3697",
    "3-3-4 2147-2093-2239-3521",
    "3-3-5 1548-1748-2077-4627",
    "2-4-6 297-1436-2890-5377",
    "3-4-6 297-1991-2616-5096",
    "4-4-6 757-1997-2454-4792",
    "1-4-4-6 297-574-2135-2270-4724",
    "2-4-4-6 297-915-1925-2139-4724",
    "3-4-4-6 297-1297-1754-2022-4630",
    "1-3-4-4-6 297-454-1273-1659-1915-4402",
    "2-3-4-4-6 297-761-1146-1583-1815-4398",
    "3-3-4-4-6 297-1096-1045-1514-1726-4322",
    "1-3-3-4-4-6 297-382-1101-992-1446-1647-4135",
    "2-3-3-4-4-6 297-651-998-954-1383-1571-4146",
    "3-3-3-4-4-6 297-946-915-919-1326-1503-4094",
    "1-3-3-3-4-4-6 297-325-972-873-883-1273-1443-3934",
    "2-3-3-3-4-4-6 297-565-886-845-850-1225-1383-3949",
    "3-3-3-3-4-4-6 297-828-816-817-818-1180-1330-3914",
    "1-3-3-3-3-4-4-6 297-297-869-780-787-787-1137-1280-3766",
    "2-3-3-3-3-4-4-6 297-497-797-758-761-762-1100-1235-3793",
    "3-3-3-3-3-4-4-6 297-733-737-737-737-737-1064-1191-3767",
    "1-3-3-3-3-3-4-4-6 295-295-784-702-709-708-709-1024-1147-3627",
    "2-3-3-3-3-3-4-4-6 297-442-726-688-691-691-691-998-1114-3662",
    "3-3-3-3-3-3-4-4-6 297-655-671-670-670-670-671-968-1078-3650",
    "1-3-3-3-3-3-3-4-4-6 295-295-715-639-646-645-645-646-932-1038-3504",
    "2-3-3-3-3-3-3-4-4-6 297-395-665-630-633-633-633-633-914-1015-3552",
    "3-3-3-3-3-3-3-4-4-6 297-590-618-615-615-615-615-616-888-985-3546",
    "1-3-3-3-3-3-3-3-4-4-6 294-294-649-588-593-592-592-592-593-856-949-3408",
)
"""Of keys of 1, 2, 3 ... bits."""


def plan_of(bits: int) -> tuple[list[int], list[Fraction]]:
    """Return the bits of each level, and weights, the root's first; of keys of 1 bit or more.

    Beyond the table the longest lines repeat their third level, of 3 bits, as often as it takes.

    Examples
    --------
    >>> sum(plan_of(63)[0])
    63
    """
    more = max(0, -(-(bits - len(PLANS)) // 3))
    steps, parts = (part.split("-") for part in PLANS[bits - 3 * more - 1].split())
    steps[1:1] = ["3"] * more
    parts[2:2] = parts[2:3] * more
    return [int(step) for step in steps], [Fraction(part) for part in parts]
