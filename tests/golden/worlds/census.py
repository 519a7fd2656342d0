"""Whole tables whose columns agree: of persons alone, and of persons and households."""

import geodp
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
SEX = """
[table]
persons = "n"
[[table.margins]]
name = "sex"
columns = ["f"]
rest = "m"
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


CENSUSES = [
    Golden(
        "census",
        "census",
        f"census publish people.csv {SQUARE} --value n --margin sex=f --rest sex=m "
        "--contradictions fit --contribution 1",
        {"people.csv": PEOPLE, "sex.toml": SEX},
        lambda given: publish(given, "people.csv", "sex.toml", square(), "fit", **AT),
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
