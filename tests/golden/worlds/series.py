"""Series of counts."""

import geodp
from tests.golden.case import Golden
from tests.golden.worlds.counts import SEX
from tests.golden.worlds.maps import (
    AT,
    CELLS,
    CODES,
    IN_REGIONS,
    LAND,
    MASK,
    MASKED,
    MESH,
    REGIONS,
    SQUARE,
    csv,
    in_regions,
    masked,
    mesh,
    number,
    square,
)

MONTHS = ("2024-01", "2024-02", "2024-03")
SNAPSHOTS = {
    f"{month}.csv": csv("row,col,n", [(*at, number(i) + (i * n) % 7) for i, at in enumerate(CELLS)])
    for n, month in enumerate(MONTHS)
}
BY_MONTH = " ".join(f"{month}={month}.csv" for month in MONTHS)


def series(grid=lambda given: square(), by=(), at=AT, **options):
    """Return what publishes a series in Python."""

    def publish(given):
        tables = [
            geodp.read_table(
                given.table(f"{one}.csv", code=str), grid=grid(given), value="n", by=by, **at
            )
            for one in MONTHS
        ]
        return geodp.publish_series(tables, times=MONTHS, contribution=1, **options, **given.terms)

    return publish


def series_located(given):
    tables = [
        geodp.read_table(given.table(f"{one}.csv", code=str), grid=mesh(), code="code", value="n")
        for one in MONTHS[:2]
    ]
    return geodp.publish_series(
        tables, times=MONTHS[:2], contribution=1, person="all", smooth="none", **given.terms
    )


def published_series(name, more, budget, extras, frames, files=SNAPSHOTS, at=SQUARE, **others):
    """Return a case of three months on a map of 16 cells."""
    words = f"publish-series {BY_MONTH} {at} --value n --contribution 1 {more}"
    return Golden(name, "series", words, files, frames, budget, extras, **others)


SERIES = [
    Golden(
        "series-located",
        "series",
        f"publish-series 2024-01=2024-01.csv 2024-02=2024-02.csv {MESH} --code code --value n "
        "--contribution 1 --person-in all --smooth none",
        {
            f"{month}.csv": csv("code,n", [(c, number(i + n)) for i, c in enumerate(CODES)])
            for n, month in enumerate(MONTHS[:2])
        },
        series_located,
    ),
    published_series(
        "series-forward",
        "--person-in all --smooth forward",
        "rho",
        ("mask",),
        series(masked, at={"code": "code"}, person="all", smooth="forward"),
        {
            **{
                f"{month}.csv": csv(
                    "code,n", [(one, number(i) + (i * n) % 5) for i, one in enumerate(LAND)]
                )
                for n, month in enumerate(MONTHS)
            },
            "mask.txt": MASK,
        },
        MASKED,
    ),
    published_series(
        "series-both",
        f"--person-in one --smooth both {IN_REGIONS}",
        "epsilon",
        ("regions",),
        series(lambda given: in_regions(given, square()), person="one", smooth="both"),
        {**SNAPSHOTS, "regions.csv": REGIONS},
    ),
    published_series(
        "series-labels",
        "--by sex --labels sex=f,m --person-in all --smooth both --cycle 2",
        "delta",
        ("labels",),
        series(lambda given: square(SEX), ["sex"], person="all", smooth="both", cycles=[2]),
        {
            f"{month}.csv": csv(
                "row,col,sex,n",
                [
                    (*at, sex, number(i + 5 * (sex == "m")) + n)
                    for i, at in enumerate(CELLS)
                    for sex in "fm"
                ],
            )
            for n, month in enumerate(MONTHS)
        },
    ),
    published_series(
        "series-replace",
        "--person-in one --smooth none --neighbours replace-one",
        "rho, delta",
        (),
        series(person="one", smooth="none", neighbours="replace-one"),
        charged=False,
    ),
]
