"""Whole tables whose margins agree: of persons alone, and of persons and households."""

import geodp
from tests.golden.case import Golden
from tests.golden.worlds.maps import AT, CELLS, LAND, MASK, csv, masked, number, square

WOMEN = csv("row,col,sex,n", [(*at, "f", number(i, 40)) for i, at in enumerate(CELLS)])
PEOPLE = csv("row,col,n", [(*at, number(i, 40) + number(i + 3, 9)) for i, at in enumerate(CELLS)])
HOMES = csv(
    "code,persons,homes,private,single",
    [(at, 3 * number(i), number(i) + 3, number(i) + 2, 2) for i, at in enumerate(LAND)],
)


def persons(given):
    """Persons and women, of which the rest follows."""
    people, women = given.table("people.csv"), given.table("women.csv")
    sex = geodp.read_table(women, grid=square(("sex", ["f"])), value="n", by=["sex"], **AT)
    return geodp.census.publish(
        geodp.read_table(people, grid=square(), value="n", **AT), {"sex": sex}, rest={"sex": "m"},
        contradictions="fit", contribution=1, **given.terms,
    )  # fmt: skip


def homes(given):
    """Households, those that are private, and the sizes of these alone."""
    rows = given.table("homes.csv", code=str)
    kinds = {"private": ["private", "other"], "size": ["single"]}
    total, households = (
        geodp.read_table(rows, grid=masked(given), code="code", value=value)
        for value in ("persons", "homes")
    )
    private, size = (
        geodp.read_table(
            rows.assign(private="private", size="single", n=rows[value]),
            grid=masked(given, *labels), code="code", value="n", by=[name for name, _ in labels],
        )
        for value, labels in (("private", [("private", ["private"])]), ("single", kinds.items()))
    )  # fmt: skip
    return geodp.census.publish(
        total, {}, households=households, household_margins={"private": private, "size": size},
        rest={"private": "other", "size": "several"}, within={"size": ("private", "other")},
        contradictions="refuse", contribution=1, **given.terms,
    )  # fmt: skip


CENSUSES = [
    Golden("census", "census", "", {"people.csv": PEOPLE, "women.csv": WOMEN}, persons),
    Golden(
        "census-homes-mask",
        "census",
        "",
        {"homes.csv": HOMES, "mask.txt": MASK},
        homes,
        "rho",
        ("mask",),
    ),
]
