"""Selections: of places, of a clip of amounts, and of the most trips of a person."""

import geodp
from tests.golden.case import Golden
from tests.golden.worlds.amounts import INCOMES
from tests.golden.worlds.counts import SEX
from tests.golden.worlds.flows import ENDS, JAPAN, OF_ENDS, TRIPS, ZONES, japan, zones
from tests.golden.worlds.maps import (
    AT,
    CELLS,
    CENSUS,
    IN_REGIONS,
    LAND,
    MASK,
    MASKED,
    REGIONS,
    SQUARE,
    csv,
    in_regions,
    masked,
    number,
    square,
)


def top(grid=lambda given: square(), by=(), at=AT, **options):
    """Return what selects cells in Python."""

    def publish(given):
        people = given.table("census.csv", code=str)
        table = geodp.read_table(people, grid=grid(given), value="n", by=by, **at)
        return geodp.select.top_cells(table, contribution=1, **options, **given.terms)

    return publish


def clip(given):
    return geodp.amounts.choose_clip(
        given.table("incomes.csv", code=str),
        grid=japan(),
        code="code",
        amount="income",
        unit_of_amount="EUR",
        candidates=(300, 600, 900),
        contribution=1,
        **given.terms,
    ).selected


def most_trips(given):
    return geodp.flows.choose_trips(
        given.table("trips.csv"),
        grid=zones(),
        **OF_ENDS,
        person="id",
        largest=5,
        share="1/4",
        **given.terms,
    ).selected


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
    Golden(
        "select-mask",
        "selection",
        f"select top census.csv {MASKED} --value n --contribution 1 --k 2",
        {
            "census.csv": csv("code,n", [(c, number(i)) for i, c in enumerate(LAND)]),
            "mask.txt": MASK,
        },
        top(masked, at={"code": "code"}, k=2),
        "epsilon",
        ("mask",),
    ),
    Golden(
        "select-clip",
        "selection",
        f"amounts choose-clip incomes.csv {JAPAN} --code code --amount income "
        "--unit-of-amount EUR --candidates 300,600,900 --contribution 1",
        {"incomes.csv": INCOMES},
        clip,
    ),
    Golden(
        "select-trips",
        "selection",
        f"flows choose-trips trips.csv {ZONES} {ENDS} --person id --largest 5 --share 1/4",
        {"trips.csv": TRIPS},
        most_trips,
    ),
]
