"""Every public noun shows itself in one line, and a confidential one tells nothing of its rows."""

import inspect

import numpy as np
import pandas as pd
import pytest

import geodp
from geodp.reprs import LONGEST, few, one_line
from tests.test_public_names import PUBLIC

NOUNS = {
    name: one
    for name, one in PUBLIC.items()
    if inspect.isclass(one) and not issubclass(one, BaseException)
}

OF_OTHERS = {
    *("ApproximateDP", "ZeroConcentratedDP", "SecretSample", "Interval"),  # numbers or a name each
    *("AreaLevels", "Hierarchy", "Mask", "Prior", "PublicTotals", "Composed"),
    *("Intervals", "CodeSystem", "Event", "Law", "Method", "TableEvent"),  # forms that several have
    "OpenedRelease",
}
"""Nouns at the top that no object below has in it, or that have no class of their own."""


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    """Objects of a small office: tables, releases, a series, a plan, a ledger."""
    folder = tmp_path_factory.mktemp("office")
    grid = geodp.Grid.mesh("jis:half", bounds=(139, 35, 140, 36)).with_official_order()
    ages = tuple(f"{age} years" for age in range(101))
    plain = geodp.Grid.regular((8, 12), crs="EPSG:3035", transform=(1e3, 0, 4e6, 0, -1e3, 3e6))
    table = geodp.CountTable.from_dense(np.full((8, 12), 7), plain)
    by_age = geodp.CountTable.from_dense(np.full((8, 12, 2), 7), plain.with_attribute("s", "fm"))
    ledger = geodp.Ledger.create(folder / "office.ledger")
    given = {"epsilon": 1, "contribution": 1}
    frame = pd.DataFrame({"mesh": ["533946111", "533946112"], "people": [812, 40]})
    account = ledger.add_dataset("census", geodp.PureDP(10))
    release = geodp.publish(
        geodp.read(frame, grid), ledger=ledger, dataset="census", people=900, **given
    )
    release.write(folder / "out")
    series = geodp.publish_series([table] * 2, times=["2024", "2025"], person="all", **given)
    frame.to_csv(folder / "people.csv", index=False)
    area = geodp.Region.of(grid, (139.1, 35.1, 139.2, 35.2))
    return [
        *(geodp.read(frame, grid), release, geodp.open(folder / "out"), release.card()),
        *(geodp.publish(by_age, **given), geodp.plan(grid, **given), account, ledger.check()),
        *(geodp.evaluate(table, methods="geometric", trials=1, **given), area),
        *(release.estimate(area), [*release.areas()], plain.with_attribute("age", ages)),
        *(series, series.card(), ledger, ledger.charges()[0], geodp.PureDP(10)),
        *(geodp.publish(by_age, **given).parts, geodp.NoiseKey(bytes(32))),
        *(release.method.guarantee, geodp.ContributionBound(1, "the operator")),
        geodp.inspect(folder / "people.csv"),
    ]


def walk(one, found, depth=0):
    """Collect an object of geodp and all that it holds."""
    if id(one) in found or depth > 7:
        return
    if type(one).__module__.startswith("geodp."):
        found[id(one)] = one
        inner = [getattr(one, name, None) for name in ("areas", "domain", "block_errors")]
        if not isinstance(one, geodp.Release):
            inner = inner[1:]
        inner += [*getattr(one, "__dict__", {}).values()]
    else:
        inner = one if isinstance(one, list | tuple) else []
        inner = one.values() if isinstance(one, dict) else inner
    for part in inner:
        walk(part, found, depth + 1)


def test_every_noun_is_one_short_line(objects):
    found = {}
    walk(objects, found)
    classes = {base for one in found.values() for base in type(one).__mro__}
    public = {*NOUNS.values()}
    seen = {name for name, one in NOUNS.items() if one in classes}
    long = {
        type(one).__name__: repr(one)
        for one in found.values()
        if public & {*type(one).__mro__}
        and (len(repr(one)) > LONGEST or "\n" in repr(one) or " object at " in repr(one))
    }
    assert long == {}
    assert {name for name in NOUNS if "." not in name} - seen - OF_OTHERS == set()


def test_what_is_confidential_is_told_by_its_kind():
    grid = geodp.Grid.mesh("jis:half", bounds=(139, 35, 140, 36))
    shown = []
    for rows in (2, 500):
        codes = [f"5339{n // 80}{n % 8}{n // 8 % 10}{n % 10}1" for n in range(rows)]
        frame = pd.DataFrame({"mesh": codes, "people": range(rows)})
        table = geodp.read(frame, grid, code="mesh", value="people", duplicates="sum")
        source = table.reading.sources[0]
        shown.append([repr(table), repr(table.reading), repr(source)])
    assert shown[0] == shown[1]
    assert shown[0] == [
        "CountTable(confidential, shape=(240, 160))",
        "Reading(table, confidential)",
        "Source('pandas.DataFrame', confidential)",
    ]


@pytest.mark.parametrize(
    ("grid", "shown"),
    [
        (geodp.Grid.regular((4, 4)), "Grid(shape=(4, 4))"),
        (geodp.Grid.regular((4, 4, 4)), "Grid(shape=(4, 4, 4))"),
        (
            geodp.Grid.mesh("jis:half", bounds=(139, 35, 140, 36)),
            "Grid(jis:half, shape=(240, 160))",
        ),
        (
            geodp.Grid.mesh("jis:basic", bounds=(139, 35, 140, 36)).pairs(),
            "Grid(jis:basic, pairs, shape=(120, 80, 120, 80))",
        ),
        (
            geodp.Grid.regular((4, 4)).with_attribute("sex", "fm"),
            "Grid(attributes=['sex'], shape=(4, 4, 2))",
        ),
    ],
)
def test_a_grid_says_what_it_is(grid, shown):
    assert repr(grid) == shown


class Row:
    """Not a dataclass of geodp: its repr is what it is."""

    def __repr__(self):
        return "two\nlines"


def test_a_long_field_is_told_by_its_kind_and_size():
    from dataclasses import field, make_dataclass

    names = ["text", "items", "array", "other", "secret", "none", "empty"]
    fields = [(name, object, field(repr=name != "secret")) for name in names]
    kind = make_dataclass("Kind", fields, namespace={"__repr__": one_line})
    one = kind("long " * 40, [1] * 99, np.zeros((3, 2)), Row(), "secret", None, ())
    assert repr(one) == "Kind(text='long long long long long long long long lon...', " + (
        "items=<99 items>, array=<float64 [3, 2]>, other=<Row>)"
    )
    wide = make_dataclass("Wide", [(f"field{n}", int) for n in range(30)])
    wide.__repr__ = one_line
    assert len(repr(wide(*range(30)))) <= LONGEST
    assert repr(wide(*range(30))).endswith(", ...)")
    assert few(["a"]) == "['a']"
