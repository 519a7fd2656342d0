"""Whole tables whose columns agree: households among the persons, and beside them."""

import geodp
from geodp.kinds.census.inputs import CensusTables
from geodp.kinds.census.publish import prepare_census
from geodp.release.request import make_request
from tests.golden.case import Golden
from tests.golden.worlds.maps import (
    AT,
    CELLS,
    LAND,
    MASK,
    MASKED,
    SQUARE,
    csv,
    masked,
    number,
    square,
)

PEOPLE = csv(
    "row,col,n,f",
    [(*at, number(i, 40) + number(i + 3, 9), number(i, 40)) for i, at in enumerate(CELLS)],
)
WOMEN = csv("row,col,sex,n", [(*at, "f", number(i, 40)) for i, at in enumerate(CELLS)])
MEMBERS = csv(
    "row,col,homes,members",
    [(*at, number(i + 3, 9), number(i + 3, 9) + number(i, 30)) for i, at in enumerate(CELLS)],
)
REGISTER = """
[persons]
inputs = "people.csv"
value = "n"
[margins.sex]
inputs = "sexes.csv"
value = "n"
by = "sex"
labels = "sex=labels.txt"
[households]
inputs = "homes.csv"
value = "homes"
[members]
inputs = "homes.csv"
value = "members"
"""
HOMES = csv(
    "code,persons,homes,private,single",
    [(at, 3 * number(i) + 9, number(i) + 3, number(i) + 2, 2) for i, at in enumerate(LAND)],
)
SIZES = """
[table]
persons = "persons"
households = "homes"
[[table.margins]]
name = "kind"
of = "households"
columns = ["private"]
rest = "other"
[[table.margins]]
name = "size"
of = "kind"
within = "private"
elsewhere = "other"
columns = ["single"]
rest = "several"
"""


def publish(given, name, preset, grid, contradictions, **read):
    """Publish all columns of a file, as its layout relates them."""
    tables = geodp.census.read_table(
        given.table(name, code=str), grid=grid, preset=str(given.path(preset)),
        contradictions=contradictions, **read,
    )  # fmt: skip
    return prepare_census(tables, make_request(contribution=1, **given.terms)).release()


def publish_members(given):
    """Publish persons, their sexes, households and the persons in them, from three files."""
    sexes, grid = given.table("sexes.csv"), square(("sex", ["f"]))
    tables = {
        name: geodp.read_table(given.table(file), grid=square(), value=name, **AT)
        for name, file in (("n", "people.csv"), ("homes", "homes.csv"), ("members", "homes.csv"))
    }
    made = CensusTables.of(
        tables["n"],
        {"sex": geodp.read_table(sexes, grid=grid, value="n", by="sex", **AT)},
        households=tables["homes"],
        members=tables["members"],
        rest={"sex": "m"},
        contradictions="fit",
    )
    return prepare_census(made, make_request(contribution=1, **given.terms)).release()


CENSUSES = [
    Golden(
        "census",
        "census",
        f"census publish register.toml {SQUARE} --rest sex=m --contradictions fit --contribution 1",
        {
            "people.csv": PEOPLE,
            "sexes.csv": WOMEN,
            "labels.txt": "f\n",
            "homes.csv": MEMBERS,
            "register.toml": REGISTER,
        },
        publish_members,
    ),
    Golden(
        "census-homes-mask",
        "census",
        f"census publish homes.csv {MASKED} --preset sizes.toml --all-columns "
        "--contradictions refuse --contribution 1",
        {"homes.csv": HOMES, "sizes.toml": SIZES, "mask.txt": MASK},
        lambda given: publish(
            given, "homes.csv", "sizes.toml", masked(given), "refuse", code="code"
        ),
        "rho",
        ("mask",),
    ),
]
