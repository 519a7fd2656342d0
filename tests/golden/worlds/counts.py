"""Counts of persons, and counts in parts: a part has a draw of its own."""

import json

import geodp
from geodp.io.read.public.tables import read_totals
from geodp.io.read.public.units import read_units
from tests.golden.case import Golden
from tests.golden.worlds.maps import (
    AT,
    BEFORE,
    CELLS,
    CENSUS,
    IN_REGIONS,
    INSPIRE,
    LAND,
    LOCATED,
    MASK,
    MASKED,
    REGIONS,
    SEXES,
    SEXES_BEFORE,
    SOURCE,
    SQUARE,
    WITH_PRIOR,
    csv,
    in_regions,
    inspire,
    masked,
    number,
    square,
)

SEX = ("sex", ["f", "m"])
FM = {"f": "f", "m": "m"}
BY_SEX = f"{SQUARE} --labels sex=f,m --value f=f --value m=m --contribution 1"


STATED = {
    "title": "A <map> of people",
    "description": "Residents, by the census.",
    "publisher": "Office",
    "contact": "maps@office.example",
    "licence": "CC-BY-4.0",
    "source": "Census",
    "reference_date": "2020-10-01",
    "language": "en",
    "supersedes": "0123456789abcdef",
}
"""All that an office may say of a release, but for the limit of display."""


def counts_located(given):
    return geodp.publish(
        given.table("census.csv"),
        grid=inspire(),
        x="x",
        y="y",
        value="n",
        contribution=1,
        **given.terms,
    )


def counts_masked(given):
    table = geodp.read_table(
        given.table("census.csv", code=str), grid=masked(given), code="code", value="n"
    )
    return geodp.publish(table, contribution=1, **given.terms)


def counts_in_regions(given):
    grid = in_regions(given, square())
    table = geodp.read_table(given.table("census.csv"), grid=grid, value="n", **AT)
    totals = read_totals(given.path("totals.csv"), grid, source="the law")
    return geodp.publish(table, contribution=1, totals=totals, **given.terms)


def counts_with_prior(given):
    now, before = (
        geodp.read_table(given.table(name), grid=square(), value="n", **AT)
        for name in ("census.csv", "before.csv")
    )
    return geodp.publish(
        now,
        contribution=2,
        unit="household",
        prior=before,
        prior_source=SOURCE,
        metadata=STATED | {"display_below": 5},
        **given.terms,
    )


def counts_of_persons(given):
    table = geodp.read_points(
        given.table("points.csv"),
        grid=inspire(),
        x="x",
        y="y",
        person="id",
        truncation="sample",
        secret=given.key,
    )
    return geodp.publish(table, neighbours="replace-one", **given.terms)


def counts_of_units(given):
    grid = read_units(given.path("tracts.geojson"), source=SOURCE, columns=("tract", "county"))
    table = geodp.read_table(
        given.table("census.csv", tract=str), grid=grid, code="tract", value="n"
    )
    return geodp.publish(table, contribution=1, **given.terms)


def on_square(**options):
    """Return what publishes counts of the square in Python."""

    def publish(given):
        table = geodp.read_table(given.table("census.csv"), grid=square(), value="n", **AT)
        return geodp.publish(table, contribution=1, **options, **given.terms)

    return publish


OWN_GRID = """name = "own"
title = "Squares of an office"
source = "https://office.example/grid"
crs = "EPSG:27700"
origin = [-1000000, -500000]
sizes = { 1km = 1000 }
extent = [0, 0, 700000, 1300000]
codes = "{big}{small}{east/1000:2}{north/1000:2}"
examples = { SU4217 = [442000, 117000] }
letters.big = { side = 500000, rows = ["ABCDE", "FGHJK", "LMNOP", "QRSTU", "VWXYZ"] }
letters.small = { side = 100000, rows = ["ABCDE", "FGHJK", "LMNOP", "QRSTU", "VWXYZ"] }
"""
"""A grid whose codes an office describes, with letters of squares."""


def counts_with_own_codes(given):
    grid = geodp.Grid.mesh(
        f"file:{given.path('own.toml')}", bounds=(400000, 100000, 404000, 104000)
    )
    table = geodp.read_table(given.table("census.csv", code=str), grid=grid, code="code", value="n")
    return geodp.publish(table, contribution=1, **given.terms)


def counts_by_label_with_prior(given):
    now, before = (
        geodp.read_table(given.table(name), grid=square(SEX), value=FM, **AT)
        for name in ("census.csv", "before.csv")
    )
    return geodp.publish(
        now, contribution=1, method="pyramid", prior=before, prior_source=SOURCE, **given.terms
    )


TRACTS = [f"{row}{col}" for row in range(2) for col in range(3)]


def box(row, col):
    """Return the outline of a tract as GeoJSON: columns of unequal width."""
    west, east = (139 + n * (n + 1) / 64 for n in (col, col + 1))
    south, north = (35 + n / 16 for n in (row, row + 1))
    return [[[west, south], [east, south], [east, north], [west, north], [west, south]]]


OUTLINES = json.dumps(
    {
        "type": "FeatureCollection",
        "features": [
            {
                "type": "Feature",
                "properties": {"tract": code, "county": code[0]},
                "geometry": {"type": "Polygon", "coordinates": box(*map(int, code))},
            }
            for code in TRACTS
        ],
    }
)

POINTS = csv(
    "id,x,y",
    [(f"p{n % 90}", 4000250 + 500 * (n * n % 8), 3000250 + 500 * (n * 5 % 7)) for n in range(150)],
)

COUNTS = [
    Golden(
        "counts",
        "counts",
        f"publish census.csv {INSPIRE} --x x --y y --value n --contribution 1",
        {"census.csv": LOCATED},
        counts_located,
    ),
    Golden(
        "counts-mask",
        "counts",
        f"publish census.csv {MASKED} --value n --contribution 1",
        {
            "census.csv": csv("code,n", [(code, number(i)) for i, code in enumerate(LAND)]),
            "mask.txt": MASK,
        },
        counts_masked,
        "rho",
        ("mask",),
    ),
    Golden(
        "counts-regions",
        "counts",
        f"publish census.csv {SQUARE} --value n --contribution 1 {IN_REGIONS} "
        "--public-totals totals.csv --public-totals-source 'the law'",
        {
            "census.csv": csv("row,col,n", [(*at, 10) for at in CELLS]),
            "regions.csv": REGIONS,
            "totals.csv": "county,total\nc0,80\nc1,80\n",
        },
        counts_in_regions,
        "delta",
        ("regions",),
    ),
    Golden(
        "counts-prior",
        "counts",
        f"publish census.csv {SQUARE} --value n --contribution 2 --unit household {WITH_PRIOR} "
        "--metadata office.toml --display-below 5",
        {
            "census.csv": CENSUS,
            "before.csv": BEFORE,
            "office.toml": "".join(f"{k} = {json.dumps(v)}\n" for k, v in STATED.items()),
        },
        counts_with_prior,
        "rho, delta",
        ("prior",),
        dataset={"unit": "household"},
    ),
    Golden(
        "counts-persons",
        "counts",
        f"publish points.csv {INSPIRE} --points --x x --y y --person id "
        "--truncation sample --neighbours replace-one",
        {"points.csv": POINTS},
        counts_of_persons,
        dataset={"neighbours": "replace-one"},
    ),
    Golden(
        "counts-units",
        "counts",
        "publish census.csv --grid units:tracts.geojson --units-source 'made up' "
        "--units-columns tract,county --code tract --value n --contribution 1",
        {
            "census.csv": csv("tract,n", [(t, number(n)) for n, t in enumerate(TRACTS)]),
            "tracts.geojson": OUTLINES,
        },
        counts_of_units,
        "rho",
    ),
    Golden(
        "counts-labels-prior",
        "counts",
        f"publish census.csv {BY_SEX} --method pyramid {WITH_PRIOR}",
        {"census.csv": SEXES, "before.csv": SEXES_BEFORE},
        counts_by_label_with_prior,
        "delta",
        ("labels", "prior"),
    ),
    Golden(
        "counts-measured",
        "counts",
        f"publish census.csv {SQUARE} --value n --contribution 1 --method pyramid:setting=R "
        "--measurements",
        {"census.csv": CENSUS},
        on_square(method="pyramid:setting=R", measurements=True),
    ),
    Golden(
        "counts-topdown",
        "counts",
        f"publish census.csv {SQUARE} --value n --contribution 1 --method topdown",
        {"census.csv": CENSUS},
        on_square(method="topdown"),
        charged=False,
    ),
    Golden(
        "counts-simulated",
        "counts",
        f"publish census.csv {SQUARE} --value n --contribution 1 --simulate 20",
        {"census.csv": CENSUS},
        on_square(simulate=20),
        charged=False,
    ),
    Golden(
        "counts-own-codes",
        "counts",
        "publish census.csv --grid file:own.toml --bounds 400000 100000 404000 104000 "
        "--code code --value n --contribution 1",
        {
            "own.toml": OWN_GRID,
            "census.csv": csv(
                "code,n", [(f"SU{n % 4:02}{n // 4:02}", number(n)) for n in range(16)]
            ),
        },
        counts_with_own_codes,
        charged=False,
    ),
    Golden(
        "counts-pruned",
        "counts",
        f"publish census.csv {SQUARE} --value n --contribution 1 --method pyramid:prune=1",
        {"census.csv": CENSUS},
        on_square(method="pyramid:prune=1"),
        charged=False,
    ),
]


AGE = ("age", ["young", "old"])


def parts(given):
    table = geodp.read_table(given.table("census.csv"), grid=square(SEX), value=FM, **AT)
    return geodp.publish(table, contribution=1, **given.terms)


def parts_masked(given):
    table = geodp.read_table(
        given.table("census.csv", code=str),
        grid=masked(given, SEX, AGE),
        code="code",
        value="n",
        by=["sex", "age"],
    )
    return geodp.publish(table, contribution=1, method="parts:marginals=sex+age", **given.terms)


def parts_in_regions(given):
    grid = in_regions(given, square(SEX))
    table = geodp.read_table(given.table("census.csv"), grid=grid, value=FM, **AT)
    return geodp.publish(table, contribution=1, **given.terms)


PEOPLE = csv(
    "code,sex,age,n",
    [
        (at, sex, age, number(4 * i + 2 * (sex == "m") + (age == "old")))
        for i, at in enumerate(LAND)
        for sex in "fm"
        for age in ("young", "old")
    ],
)

PARTS = [
    Golden(
        "parts",
        "counts in parts",
        f"publish census.csv {BY_SEX}",
        {"census.csv": SEXES},
        parts,
        "epsilon",
        ("labels",),
    ),
    Golden(
        "parts-mask",
        "counts in parts",
        f"publish census.csv {MASKED} --by sex,age --labels sex=f,m --labels age=young,old "
        "--value n --contribution 1 --marginals sex,age",
        {"census.csv": PEOPLE, "mask.txt": MASK},
        parts_masked,
        "rho",
        ("labels", "mask"),
    ),
    Golden(
        "parts-regions",
        "counts in parts",
        f"publish census.csv {BY_SEX} {IN_REGIONS}",
        {"census.csv": SEXES, "regions.csv": REGIONS},
        parts_in_regions,
        "delta",
        ("labels", "regions"),
        charged=False,
    ),
]
