"""Flows by pairs of zones, labels and units of privacy, also of pings and stays."""

import geodp
from geodp.io.read.public.mask import read_mask
from geodp.io.read.public.units import read_units
from tests.golden.case import Golden
from tests.golden.worlds.counts import OUTLINES, TRACTS
from tests.golden.worlds.maps import IN_MASK, SOURCE, WITH_PRIOR, csv, number

ZONES = "--grid regular:2x2"
ENDS = "--from oy,ox --to dy,dx"
OF_ENDS = {"origin": ("oy", "ox"), "destination": ("dy", "dx")}
TRIPS = csv(
    "id,oy,ox,dy,dx,day,mode,w",
    [
        (
            f"p{n % 80}",
            n % 2,
            n // 2 % 2,
            n * n % 3 % 2,
            n // 3 % 2,
            f"2024-05-{1 + n % 9:02d}",
            "walk" if n % 3 else "car",
            1 + n % 4,
        )
        for n in range(240)
    ],
)
COUNTED = csv(
    "oy,ox,dy,dx,n",
    [(n >> 3, n >> 2 & 1, n >> 1 & 1, n & 1, number(n)) for n in range(16)],
)
COUNTED_BEFORE = csv(
    "oy,ox,dy,dx,n",
    [(n >> 3, n >> 2 & 1, n >> 1 & 1, n & 1, number(n) + n) for n in range(16) if n % 5],
)
JAPAN = "--grid jis:basic --bounds 139.5 35.5 139.525 35.5166666667"


def zones() -> geodp.Grid:
    """Return four zones."""
    return geodp.Grid.regular((2, 2))


def japan() -> geodp.Grid:
    """Return four zones of Japan."""
    return geodp.Grid.mesh("jis:basic", bounds=(139.5, 35.5, 139.525, 35.5166666667))


def of_persons(**options):
    """Return what publishes trips of persons in Python."""

    def publish(given):
        trips = given.table("trips.csv")
        return geodp.flows.publish(
            trips, grid=zones(), **OF_ENDS, person="id", **options, **given.terms
        )

    return publish


BY_MODE = {"by": ["mode"], "labels": {"mode": ["walk", "car"]}}


def flows_counted(given):
    table, prior = (
        geodp.flows.read_trips(given.table(name), grid=zones(), **OF_ENDS, value="n")
        for name in ("trips.csv", "before.csv")
    )
    return geodp.flows.publish(
        table, contribution=4, prior=prior, prior_source=SOURCE, **given.terms
    )


def flows_masked(given):
    grid = read_mask(given.path("mask.txt"), japan(), source=SOURCE)
    return geodp.flows.publish(
        given.table("trips.csv", o=str, d=str),
        grid=grid,
        origin="o",
        destination="d",
        value="n",
        contribution=2,
        **given.terms,
    )


def flows_of_units(given):
    grid = read_units(
        given.path("tracts.geojson"), source=SOURCE, columns=("tract", "county"), other="abroad"
    )
    return geodp.flows.publish(
        given.table("trips.csv", o=str, d=str),
        grid=grid,
        origin="o",
        destination="d",
        person="id",
        trips=2,
        other="abroad",
        **given.terms,
    )


TRACES = [
    (
        f"p{person}",
        hour,
        35.502 + 0.0083 * (person * hour % 2),
        139.503 + 0.0125 * (person // hour % 2),
    )
    for person in range(60)
    for hour in (8, 9, 11)
]
PINGS = csv(
    "id,t,lat,lon,way",
    [
        (
            person,
            f"2024-05-{1 + int(person[1:]) % 7:02d}T{hour:02d}:{minute}",
            lat,
            lon,
            "walk" if hour % 2 else "car",
        )
        for person, hour, lat, lon in TRACES
        for minute in (10, 40)
    ],
)
STAYS = csv(
    "id,t,u,lat,lon",
    [
        (person, f"2024-05-01T{hour:02d}:10", f"2024-05-01T{hour:02d}:40", lat, lon)
        for person, hour, lat, lon in TRACES
    ],
)


def flows_of_pings(given):
    table = geodp.flows.read_pings(
        given.table("pings.csv"),
        grid=japan(),
        outside="crop",
        place=("lon", "lat"),
        time="t",
        person="id",
        trips=3,
        gap="3h",
        **BY_MODE | {"by": {"mode": "way"}},
        key=given.key,
    )
    return geodp.flows.publish(table, **given.terms)


def flows_of_stays(given):
    table = geodp.flows.read_stays(
        given.table("stays.csv"),
        grid=japan(),
        outside="crop",
        place=("lon", "lat"),
        time="t",
        end="u",
        person="id",
        trips=3,
        gap="3h",
        key=given.key,
    )
    return geodp.flows.publish(table, **given.terms)


PERSONS = f"flows publish trips.csv {ZONES} {ENDS} --person id"


def trips_by_year(given):
    tables = [
        geodp.flows.read_trips(given.table(file), grid=zones(), **OF_ENDS, person="id", trips=3)
        for file in ("2015.csv", "2020.csv")
    ]
    return geodp.flows.publish_series(tables, times=["2015", "2020"], person="all", **given.terms)


FLOWS = [
    Golden(
        "flows-series",
        "flows",
        f"flows publish-series 2015=2015.csv 2020=2020.csv {ZONES} {ENDS} --person id --trips 3 "
        "--person-in all",
        {"2015.csv": TRIPS, "2020.csv": TRIPS.replace("walk", "car")},
        trips_by_year,
        "rho, delta",
    ),
    Golden("flows", "flows", f"{PERSONS} --trips 3", {"trips.csv": TRIPS}, of_persons(trips=3)),
    Golden(
        "flows-labels",
        "flows",
        f"{PERSONS} --trips 3 --by mode --labels mode=walk,car --level 1=1/2 --label-share 1/5",
        {"trips.csv": TRIPS},
        of_persons(trips=3, **BY_MODE, levels={1: "1/2"}, label_share="1/5"),
        "rho",
        ("labels",),
    ),
    Golden(
        "flows-days",
        "flows",
        f"{PERSONS} --trips 2 --unit person-day --time day --by daytype",
        {"trips.csv": TRIPS},
        of_persons(trips=2, unit="person-day", time="day", by=["daytype"]),
        "delta",
        ("labels",),
        dataset={"unit": "person-day"},
    ),
    Golden(
        "flows-counted-prior",
        "flows",
        f"flows publish trips.csv {ZONES} {ENDS} --value n --contribution 4 {WITH_PRIOR}",
        {"trips.csv": COUNTED, "before.csv": COUNTED_BEFORE},
        flows_counted,
        "rho",
        ("prior",),
    ),
    Golden(
        "flows-weights",
        "flows",
        f"{PERSONS} --trips 2 --weight w --max-weight 3 --raked-to residents",
        {"trips.csv": TRIPS},
        of_persons(trips=2, weight="w", max_weight=3, raked_to="residents"),
        "rho",
        ("weights",),
    ),
    Golden(
        "flows-weights-labels",
        "flows",
        f"{PERSONS} --trips 2 --weight w --max-weight 3 --by mode --labels mode=walk,car",
        {"trips.csv": TRIPS},
        of_persons(trips=2, weight="w", max_weight=3, **BY_MODE),
        "epsilon",
        ("labels", "weights"),
        charged=False,
    ),
    Golden(
        "flows-mask",
        "flows",
        f"flows publish trips.csv {JAPAN} --from o --to d --value n --contribution 2 {IN_MASK}",
        {
            "trips.csv": csv(
                "o,d,n",
                [(f"5339240{o}", f"5339240{d}", number(o + d)) for o in (0, 1) for d in (0, 1)],
            ),
            "mask.txt": "53392400\n53392401\n53392410\n",
        },
        flows_masked,
        "epsilon",
        ("mask",),
    ),
    Golden(
        "flows-units",
        "flows",
        "flows publish trips.csv --grid units:tracts.geojson --units-source 'made up' "
        "--units-columns tract,county --other abroad --from o --to d --person id --trips 2",
        {
            "trips.csv": csv(
                "id,o,d",
                [
                    (f"p{n % 80}", TRACTS[n % 6], TRACTS[n * n % 6] if n % 9 else "Paris")
                    for n in range(240)
                ],
            ),
            "tracts.geojson": OUTLINES,
        },
        flows_of_units,
    ),
    Golden(
        "flows-pings",
        "flows",
        f"flows publish pings.csv {JAPAN} --pings lon,lat --time t --person id --trips 3 "
        "--gap 3h --by mode=way --labels mode=walk,car",
        {"pings.csv": PINGS},
        flows_of_pings,
        "epsilon",
        ("labels",),
    ),
    Golden(
        "flows-stays",
        "flows",
        f"flows publish stays.csv {JAPAN} --stays lon,lat --time t --end u --person id "
        "--trips 3 --gap 3h",
        {"stays.csv": STAYS},
        flows_of_stays,
        "rho, delta",
    ),
]
