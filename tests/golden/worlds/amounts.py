"""Amounts with means and classes, and series of amounts."""

import geodp
from geodp.io.read.public.mask import read_mask
from geodp.io.read.public.tables import read_hierarchy
from tests.golden.case import Golden
from tests.golden.worlds.flows import JAPAN, japan
from tests.golden.worlds.maps import IN_MASK, IN_REGIONS, SOURCE, WITH_PRIOR, csv, number

ZONE_CODES = ("53392400", "53392401", "53392410", "53392411")
INCOMES = csv(
    "id,code,income,sex,w",
    [
        (f"p{n}", ZONE_CODES[n * n * n % 7 % 3], number(n, 1100), "fm"[n % 2], 1 + n % 5)
        for n in range(240)
    ],
)
BEFORE_IN_ZONES = csv("code,n", [(code, 40 + n) for n, code in enumerate(ZONE_CODES)])
TWO_TOWNS = csv("cell,town", [(code, "ab"[n // 2]) for n, code in enumerate(ZONE_CODES)])
THREE = "".join(f"{code}\n" for code in ZONE_CODES[:3])
OF_INCOME = {
    "code": "code",
    "amount": "income",
    "clip": (0, 1000),
    "step": 10,
    "unit_of_amount": "EUR",
}
INCOME = "--code code --amount income --clip 0 1000 --step 10 --unit-of-amount EUR"


def amounts(grid=lambda given: japan(), prior=False, **options):
    """Return what publishes incomes in Python."""

    def publish(given):
        more = {}
        if prior:
            before = given.table("before.csv", code=str)
            more["prior"] = geodp.read_table(before, grid=grid(given), code="code", value="n")
            more["prior_source"] = SOURCE
        return geodp.amounts.publish(
            given.table("incomes.csv", code=str),
            grid=grid(given),
            **OF_INCOME,
            **options,
            **more,
            **given.terms,
        )

    return publish


def three_zones(given):
    return read_mask(given.path("mask.txt"), japan(), source=SOURCE)


def zones_in_regions(given):
    grid = japan()
    return grid.with_hierarchy(read_hierarchy(given.path("regions.csv"), grid, source=SOURCE))


def published_amounts(name, more, budget="epsilon", extras=(), frames=None, files=None, **others):
    """Return a case of incomes in four zones."""
    words = f"amounts publish incomes.csv {JAPAN} {INCOME} {more}"
    given = {"incomes.csv": INCOMES, **(files or {})}
    return Golden(name, "amounts", words, given, frames, budget, extras, **others)


AMOUNTS = [
    published_amounts(
        "amounts",
        "--contribution 1 --method pyramid:setting=R",
        frames=amounts(contribution=1, method="pyramid:setting=R"),
    ),
    published_amounts(
        "amounts-classes",
        "--person id --contribution 2 --classes 100,300,500 --share 1/3",
        "rho",
        frames=amounts(person="id", contribution=2, classes=(100, 300, 500), share="1/3"),
    ),
    published_amounts(
        "amounts-classes-alone-mask",
        f"--contribution 1 --classes 100,300 --no-means {IN_MASK}",
        "delta",
        ("mask",),
        amounts(three_zones, contribution=1, classes=(100, 300), means=False),
        {"mask.txt": THREE},
    ),
    published_amounts(
        "amounts-prior",
        f"--contribution 1 {WITH_PRIOR} --prior-value n",
        "epsilon",
        ("prior",),
        amounts(prior=True, contribution=1),
        {"before.csv": BEFORE_IN_ZONES},
    ),
    published_amounts(
        "amounts-weights",
        "--contribution 1 --weight w --max-weight 3 --raked-to residents",
        "rho, delta",
        ("weights",),
        amounts(contribution=1, weight="w", max_weight=3, raked_to="residents"),
    ),
    published_amounts(
        "amounts-labels",
        "--contribution 1 --by sex --labels sex=f,m",
        "rho",
        ("labels",),
        amounts(contribution=1, by=["sex"], labels={"sex": ["f", "m"]}),
        charged=False,
    ),
    published_amounts(
        "amounts-regions",
        f"--contribution 1 {IN_REGIONS}",
        "rho",
        ("regions",),
        amounts(zones_in_regions, contribution=1),
        {"regions.csv": TWO_TOWNS},
    ),
]


YEARS = ("2015", "2020")
BY_YEAR = " ".join(f"{year}={year}.csv" for year in YEARS)
INCOMES_BY_YEAR = {
    f"{year}.csv": csv(
        "code,income,sex,w",
        [
            (ZONE_CODES[i * i % 7 % 4], number(i + n, 1000), "fm"[i % 2], 1 + i % 3)
            for i in range(150)
        ],
    )
    for n, year in enumerate(YEARS)
}


def series_of_amounts(read=(), prior=False, grid=lambda given: japan(), **options):
    """Return what publishes incomes of two years in Python."""

    def publish(given):
        tables = [
            geodp.amounts.read_records(
                given.table(f"{year}.csv", code=str), grid=grid(given), **OF_INCOME, **dict(read)
            )
            for year in YEARS
        ]
        more = {}
        if prior:
            before = given.table("before.csv", code=str)
            more["prior"] = geodp.read_table(before, grid=grid(given), code="code", value="n")
            more["prior_source"] = SOURCE
        return geodp.amounts.publish_series(
            tables, times=YEARS, contribution=1, **options, **more, **given.terms
        )

    return publish


def published_series_of_amounts(name, more, budget, extras, frames, files=None, **others):
    """Return a case of incomes of two years in four zones."""
    words = f"amounts publish-series {BY_YEAR} {JAPAN} {INCOME} --contribution 1 {more}"
    given = {**INCOMES_BY_YEAR, **(files or {})}
    return Golden(name, "series of amounts", words, given, frames, budget, extras, **others)


SERIES_OF_AMOUNTS = [
    published_series_of_amounts(
        "amounts-series",
        f"--person-in all --outside drop {IN_MASK}",
        "epsilon",
        ("mask",),
        series_of_amounts({"outside": "drop"}, grid=three_zones, person="all"),
        {"mask.txt": THREE},
    ),
    published_series_of_amounts(
        "amounts-series-prior",
        f"--person-in one {WITH_PRIOR} --prior-value n {IN_REGIONS}",
        "rho",
        ("prior", "regions"),
        series_of_amounts(prior=True, grid=zones_in_regions, person="one"),
        {"before.csv": BEFORE_IN_ZONES, "regions.csv": TWO_TOWNS},
    ),
    published_series_of_amounts(
        "amounts-series-classes",
        "--person-in all --classes 300 --by sex --labels sex=f,m --weight w --max-weight 3",
        "delta",
        ("labels", "weights"),
        series_of_amounts(
            {
                "classes": (300,),
                "by": ["sex"],
                "labels": {"sex": ["f", "m"]},
                "weight": "w",
                "max_weight": 3,
            },
            person="all",
        ),
        charged=False,
    ),
]
