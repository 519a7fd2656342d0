"""Selections of places."""

import geodp
from tests.golden.case import Golden
from tests.golden.worlds.counts import SEX
from tests.golden.worlds.maps import (
    AT,
    CELLS,
    CENSUS,
    IN_REGIONS,
    REGIONS,
    SQUARE,
    csv,
    in_regions,
    number,
    square,
)


def top(grid=lambda given: square(), by=(), **options):
    """Return what selects cells in Python."""

    def publish(given):
        table = geodp.read_table(
            given.table("census.csv"), grid=grid(given), value="n", by=by, **AT
        )
        return geodp.select.top_cells(table, contribution=1, **options, **given.terms)

    return publish


SELECTIONS = [
    Golden(
        "select",
        "selection",
        f"select top census.csv {SQUARE} --value n --contribution 1 --k 3",
        {"census.csv": CENSUS},
        top(k=3),
    ),
    Golden(
        "select-regions",
        "selection",
        f"select top census.csv {SQUARE} --value n --contribution 1 --k 2 --level town "
        f"--mechanism exponential {IN_REGIONS}",
        {"census.csv": CENSUS, "regions.csv": REGIONS},
        top(lambda given: in_regions(given, square()), k=2, level="town", mechanism="exponential"),
        "epsilon",
        ("regions",),
    ),
    Golden(
        "select-labels",
        "selection",
        f"select top census.csv {SQUARE} --by sex --labels sex=f,m --value n --contribution 1 "
        "--k 2 --neighbours replace-one",
        {
            "census.csv": csv(
                "row,col,sex,n",
                [
                    (*at, sex, number(i + (sex == "m")))
                    for i, at in enumerate(CELLS)
                    for sex in "fm"
                ],
            )
        },
        top(lambda given: square(SEX), ["sex"], k=2, neighbours="replace-one"),
        "epsilon",
        ("labels",),
        charged=False,
    ),
]
