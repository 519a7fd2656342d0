"""Persons and households, in both protections."""

import geodp
from tests.golden.case import Golden
from tests.golden.worlds.maps import (
    AT,
    CELLS,
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

HOMES = csv(
    "row,col,persons,homes,others",
    [(*at, 3 * number(i), number(i), number(i + 2, 20)) for i, at in enumerate(CELLS)],
)
SIZES = csv(
    "row,col,size,n",
    [
        (*at, size, number(4 * i + n, 30))
        for i, at in enumerate(CELLS)
        for n, size in enumerate("123")
    ],
)
RESIDENTS = csv(
    "home,x,y",
    [
        (f"h{n % 70}", 4000500 + 1000 * (n % 70 % 2), 3000500 + 1000 * (n % 70 % 3 % 2))
        for n in range(180)
    ],
)


def homes(given):
    persons, households = (
        geodp.read_table(given.table("census.csv"), grid=square(), value=value, **AT)
        for value in ("persons", "homes")
    )
    return geodp.households.publish(
        persons, households, protect="person", contribution=1, **given.terms
    )


def homes_and_others(given):
    persons, households, others = (
        geodp.read_table(
            given.table("census.csv", code=str), grid=masked(given), code="code", value=value
        )
        for value in ("persons", "homes", "others")
    )
    return geodp.households.publish(
        persons, households, others=others, protect="person", contribution=1, **given.terms
    )


def homes_by_size(given):
    grid = square(("size", ["1", "2", "3"]))
    sizes = geodp.read_table(given.table("census.csv"), grid=grid, value="n", by=["size"], **AT)
    return geodp.households.publish(
        by_size=sizes, protect="household", max_size=3, contribution=1, **given.terms
    )


def sizes_by_year(given):
    grid = square(("size", ["1", "2", "3"]))
    years = [
        {"by_size": geodp.read_table(given.table(file), grid=grid, value="n", by=["size"], **AT)}
        for file in ("2015.csv", "2020.csv")
    ]
    return geodp.households.publish_series(
        years, times=["2015", "2020"], person="all", protect="household", max_size=3,
        contribution=1, **given.terms
    )  # fmt: skip


def homes_in_regions(given):
    grid = in_regions(given, square(("size", ["1", "2", "3"])))
    sizes = geodp.read_table(given.table("census.csv"), grid=grid, value="n", by=["size"], **AT)
    return geodp.households.publish(
        by_size=sizes, protect="person", max_size=3, contribution=1, **given.terms
    )


def homes_of_records(given):
    table = geodp.households.read_records(
        given.table("residents.csv"),
        grid=geodp.Grid.mesh("inspire:1km", bounds=(4000000, 3000000, 4002000, 3002000)),
        household="home",
        x="x",
        y="y",
        max_size=3,
    )
    return geodp.households.publish(by_size=table, protect="household", max_size=3, **given.terms)


FOUR = "--grid inspire:1km --bounds 4000000 3000000 4002000 3002000"
BY_SIZE = "--by size --labels size=1,2,3 --value n --max-size 3 --contribution 1"

HOUSEHOLDS = [
    Golden(
        "households",
        "households",
        f"households publish census.csv {SQUARE} --value persons --households homes "
        "--protect person --contribution 1",
        {"census.csv": HOMES},
        homes,
    ),
    Golden(
        "households-others-mask",
        "households",
        f"households publish census.csv {MASKED} --value persons --households homes "
        "--others others --protect person --contribution 1",
        {
            "census.csv": csv(
                "code,persons,homes,others",
                [(at, 2 * number(i), number(i), number(i + 2, 9)) for i, at in enumerate(LAND)],
            ),
            "mask.txt": MASK,
        },
        homes_and_others,
        "rho, delta",
        ("mask",),
    ),
    Golden(
        "households-by-size",
        "households",
        f"households publish census.csv {SQUARE} {BY_SIZE} --protect household",
        {"census.csv": SIZES},
        homes_by_size,
        "delta",
        ("labels",),
        dataset={"unit": "household"},
    ),
    Golden(
        "households-series",
        "households",
        f"households publish-series 2015=2015.csv 2020=2020.csv {SQUARE} {BY_SIZE} "
        "--protect household --person-in all",
        # Equal in both years, whose noise is not.
        {"2015.csv": SIZES, "2020.csv": SIZES},
        sizes_by_year,
        "epsilon",
        ("labels",),
        dataset={"unit": "household"},
    ),
    Golden(
        "households-regions",
        "households",
        f"households publish census.csv {SQUARE} {BY_SIZE} --protect person {IN_REGIONS}",
        {"census.csv": SIZES, "regions.csv": REGIONS},
        homes_in_regions,
        "rho, delta",
        ("labels", "regions"),
        charged=False,
    ),
    Golden(
        "households-records",
        "households",
        f"households publish residents.csv {FOUR} --points --x x --y y --household home "
        "--protect household --max-size 3",
        {"residents.csv": RESIDENTS},
        homes_of_records,
        "rho",
        dataset={"unit": "household"},
    ),
]
