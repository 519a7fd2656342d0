"""Commands that publish, each with a call and with inputs that the same call takes."""

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import rasterio
from rasterio.transform import from_origin

from geodp.mechanisms import METHODS
from tests.command import geodp
from tests.keys import keep

SIDE = 8
SQUARE = [(x, y) for y in range(SIDE) for x in range(SIDE)]
CODES = [f"53394{a}{b}{c}" for a in (5, 6) for b in range(3) for c in range(4)]
UNITS = [f"06{c:03d}{t:06d}" for c in (1, 3) for t in range(6)]
PAIRS = [(a, b) for a in CODES[:5] for b in CODES[2:6]]
LABELS = [(s, a) for s in "fm" for a in ("child", "adult", "old")]

VARIANTS = ("even", "other counts", "few rows", "extreme", "reversed", "zeros", "half", "written")
"""Inputs: cells with as many people each; others; one row; as many people in one cell as a count
may have; the first in another order; nearly nobody; every second cell; the first as other bytes."""

Rows = list[tuple[object, int]]


def people(variant: str, places: list) -> Rows:
    """Return places with counts."""
    even = [(place, 20 + i % 7) for i, place in enumerate(places)]
    match variant:
        case "other counts":
            return [(place, (i * i * 13) % 97) for i, place in enumerate(places)]
        case "few rows":
            return [(places[3], 1)]
        case "extreme":
            return [(place, 8 * 10**9 if i == 0 else 1) for i, place in enumerate(places)]
        case "reversed":
            return even[::-1]
        case "zeros":
            return [(place, int(i == len(places) - 1)) for i, place in enumerate(places)]
        case "half":
            some = np.random.default_rng(1).permutation(len(places))[: len(places) // 2]
            return [(places[i], 3 + int(i)) for i in some]
    return even


def table(header: str, row: Callable, places: list, name: str = "in.csv"):
    """Return what writes a table of cells and counts."""

    def write(folder: Path, variant: str) -> None:
        lines = [header, *(row(place, count) for place, count in people(variant, places))]
        if variant == "written":  # the same table, other bytes
            lines = [",".join(f'"{one}"' for one in line.split(",")) for line in lines]
        end = "\r\n" if variant == "written" else "\n"
        data = (end.join(lines) + end).encode()
        (folder / name).write_bytes(gzip.compress(data, mtime=0) if name[-3:] == ".gz" else data)

    return write


square = table("x,y,n", lambda place, n: f"{place[0]},{place[1]},{n}", SQUARE)
mesh = table("code,n", lambda code, n: f"{code},{n}", CODES)
labelled = table(
    "x,y,sex,age,n",
    lambda one, n: ",".join(map(str, (*one[0], *one[1], min(n, 1 << 50)))),
    [(place, labels) for place in SQUARE for labels in LABELS],
)
units = table("geocode,n", lambda code, n: f"{code},{n}", UNITS)
tract_modes = table(
    "from,to,mode,n",
    lambda one, n: f"{','.join(one)},{min(n, 1 << 44)}",
    [(a, b, mode) for a in UNITS for b in UNITS[::3] for mode in ("walk", "car")],
)
pairs = table("from,to,n", lambda ends, n: f"{ends[0]},{ends[1]},{n}", PAIRS)
census = table(
    "OBS_VALUE_T,GRD_ID",
    lambda place, n: f"{n},CRS3035RES1000mN{3000000 + 1000 * place[1]}E{4000000 + 1000 * place[0]}",
    SQUARE,
)


def of_homes(n: int) -> str:
    """Return persons, households, and persons outside of these."""
    homes = min(n, 1 << 49)
    return f"{homes + homes * 3 % 5},{homes},{homes // 9}" if homes else "0,0,0"


homes = table(
    "x,y,persons,homes,others", lambda place, n: f"{place[0]},{place[1]},{of_homes(n)}", SQUARE
)
coded_homes = table("code,persons,homes,others", lambda code, n: f"{code},{of_homes(n)}", CODES)
sizes = table(
    "x,y,size,n",
    lambda one, n: f"{one[0][0]},{one[0][1]},{one[1]},{min(n, 1 << 44)}",
    [(place, size) for place in SQUARE for size in range(1, 8)],
)


incomes = table(
    "code,income,n",
    lambda one, n: f"{one[0]},{one[1] + n % 7},{min(n, 1 << 24)}",
    [(code, amount) for code in CODES for amount in (0, 150, 5000)],
)


def earners(folder: Path, variant: str) -> None:
    """Write records of persons with an income and a weight."""
    rows = [
        f"{139.505 + 0.0125 * x},{35.505 + y / 120},{x}-{y}-{i % 3},{100 * i},{i % 9 + 1}"
        for (x, y), count in people(variant, SQUARE)
        for i in range(count % 4 + 1)
    ]
    text = "lon,lat,who,income,w\n" + "".join(f"{row}\n" for row in rows)
    (folder / "in.csv").write_text(text)


def members(folder: Path, variant: str) -> None:
    """Write records of persons with their households."""
    rows = [
        f"{139.505 + 0.0125 * x},{35.505 + y / 120},{x}-{y}"
        for (x, y), count in people(variant, SQUARE)
        for _ in range(count % 4 + 1)
    ]
    (folder / "in.csv").write_text("lon,lat,home\n" + "".join(f"{row}\n" for row in rows))


TRIPS = [(y, x, (y + 3) % SIDE, (x * 5 + 1) % SIDE) for x, y in SQUARE]
counted_trips = table("oy,ox,dy,dx,n", lambda ends, n: ",".join(map(str, (*ends, n))), TRIPS)


def trips(folder: Path, variant: str) -> None:
    """Write trips of persons, one a row, with their days."""
    rows = [
        f"p{(i * 7 + j) % 23},{','.join(map(str, ends))},2024-05-{1 + j:02d}"
        for i, (ends, count) in enumerate(people(variant, TRIPS))
        for j in range(count % 4 + 1)
    ]
    (folder / "in.csv").write_text("id,oy,ox,dy,dx,day\n" + "".join(f"{row}\n" for row in rows))


MODES = ("walk", "car")


def visits(variant: str) -> Rows:
    """Return stays of persons: who, hour, and place in degrees."""
    return [
        (f"p{i % 23}", j, f"{35.505 + (y + j) % SIDE / 120},{139.505 + 0.0125 * x}")
        for i, ((x, y), count) in enumerate(people(variant, SQUARE))
        for j in range(count % 4 + 1)
    ]


def stays(folder: Path, variant: str) -> None:
    """Write stays of persons, of which the first ones, to which no trip leads, have no label."""
    rows = [
        f"{who},2024-05-01T{hour:02d}:00,{place},{MODES[hour % 2] if hour else ''}"
        for who, hour, place in visits(variant)
    ]
    (folder / "in.csv").write_text("id,t,lat,lon,mode\n" + "".join(f"{row}\n" for row in rows))


def pings(folder: Path, variant: str) -> None:
    """Write records of places, two of each stay, of which the first ones have no label."""
    rows = [
        f"{who},2024-05-01T{hour:02d}:{minute}:00Z,{place},{minute},{mode}"
        for who, hour, place in visits(variant)
        for minute, mode in ((10, ""), (30, MODES[hour % 2]))
    ]
    head = "id,t,lat,lon,radius,mode\n"
    (folder / "in.csv").write_text(head + "".join(f"{row}\n" for row in rows))


def positions(folder: Path, variant: str) -> None:
    """Write records of persons."""
    rows = [
        f"{139.505 + 0.0125 * place[0]},{35.505 + place[1] / 120},{number}"
        for place, count in people(variant, SQUARE)
        for number in range(count % 4 + 1)
    ]
    (folder / "in.csv").write_text("lon,lat,who\n" + "".join(f"{row}\n" for row in rows))


def parquet(folder: Path, variant: str) -> None:
    """Write the square as Parquet, in row groups of other sizes."""
    found = people(variant, SQUARE)
    columns = {
        "x": [place[0] for place, _ in found],
        "y": [place[1] for place, _ in found],
        "n": [count for _, count in found],
    }
    size = 7 if variant == "written" else 1000
    pq.write_table(pa.table(columns), folder / "in.parquet", row_group_size=size)


def raster(folder: Path, variant: str) -> None:
    """Write a raster of counts, with the same extent."""
    values = np.zeros((SIDE, SIDE), np.int32)
    for (x, y), count in people(variant, SQUARE):
        values[y, x] = min(count, 1 << 30)
    write_raster(folder / "in.tif", values)


def write_raster(path: Path, values) -> None:
    place = from_origin(4000000, 3008000, 1000, 1000)
    with rasterio.open(
        path, "w", driver="GTiff", height=SIDE, width=SIDE, count=1, dtype="int32",
        crs="EPSG:3035", transform=place,
    ) as file:  # fmt: skip
        file.write(values, 1)


def with_totals(folder: Path, variant: str) -> None:
    """Write tables that have the same totals of both halves, as they are public."""
    counts = dict.fromkeys(SQUARE, 0)
    draw = np.random.default_rng(len(variant))
    for half in (0, 4):
        own = [place for place in SQUARE if half <= place[0] < half + 4]
        some = own if variant == "even" else own[: 3 + len(variant)]
        parts = draw.multinomial(640, np.ones(len(some)) / len(some))
        counts |= dict(zip(some, parts.tolist(), strict=True))
    lines = [f"{x},{y},{n}" for (x, y), n in counts.items()]
    if variant == "reversed":
        lines = lines[::-1]
    (folder / "in.csv").write_text("x,y,n\n" + "".join(f"{one}\n" for one in lines))


def months(folder: Path, variant: str) -> None:
    """Write three months; of a variant the others are in another place of the list."""
    turned = VARIANTS.index(variant)
    for number, month in enumerate(("2024-01", "2024-02", "2024-03")):
        (folder / month).mkdir(exist_ok=True)
        square(folder / month, VARIANTS[(turned + number) % len(VARIANTS)])
        (folder / month / "in.csv").replace(folder / f"{month}.csv")


def by_year(write: Callable[[Path, str], None]) -> Callable[[Path, str], None]:
    """Return what writes two years; of a variant the other is the next one in the list."""

    def write_years(folder: Path, variant: str) -> None:
        turned = VARIANTS.index(variant)
        for number, year in enumerate(("2015", "2020")):
            (folder / year).mkdir(exist_ok=True)
            write(folder / year, VARIANTS[(turned + number) % len(VARIANTS)])
            (folder / year / "in.csv").replace(folder / f"{year}.csv")

    return write_years


years = by_year(incomes)


def devices(folder: Path, variant: str) -> None:
    """Write the cells of 1,200 devices: as many in every variant, as neighbours agree on them."""
    draw = np.random.default_rng(len(variant))
    weights = np.array([count + 1.0 for _, count in people(variant, CODES)])
    own = [code for code, _ in people(variant, CODES)]
    cells = draw.choice(own, 1200, p=weights / weights.sum())
    (folder / "devices.csv").write_text("code\n" + "".join(f"{code}\n" for code in cells))


@dataclass(frozen=True)
class Case:
    """A call, and what writes its input.

    Attributes
    ----------
    command : str
    write : callable
    call : tuple of str
    outputs : tuple of str
        Files and folders that are for everybody.
    quick : bool
        Whether it is in the sample that runs with all tests.
    """

    command: str
    write: Callable[[Path, str], None]
    call: tuple[str, ...]
    outputs: tuple[str, ...] = ("out/public", "out/formats")
    quick: bool = False
    variants: tuple[str, ...] = VARIANTS


OUT = ("--output", "out")
DEFAULTS = ("pyramid", "parts")
"""Methods of which there are many calls already."""

TERMS = ("--epsilon", "1", "--contribution", "1", *OUT)
PLACE = ("--grid", "regular:8x8", "--x", "x", "--y", "y", "--anchor", "index", "--value", "n")
CELLS = ("in.csv", *PLACE, *TERMS)
MESH_GRID = ("--grid", "jis:basic", "--primary", "5339")
MESH = ("in.csv", *MESH_GRID, "--code", "code", "--value", "n", *TERMS)
AXES = ("--labels", "sex=f,m", "--labels", "age=child,adult,old")
PARTS = ("in.csv", *PLACE, *AXES, "--column", "sex=sex", "--column", "age=age", *TERMS)
CHARGED = ("--ledger", "ledger", "--dataset", "census")
SERIES = (*(f"{m}={m}.csv" for m in ("2024-01", "2024-02", "2024-03")), *PLACE, *TERMS)
SMALL = ("even", "few rows", "extreme", "half")


HOMES = ("in.csv", *PLACE[:-1], "persons", "--households", "homes", "--protect", "person", *TERMS)
CENSUS = (
    *("in.csv", *PLACE[:-1], "persons", "--part", "others", "--households", "homes"),
    *("--contradictions", "refuse", *TERMS),
)
CODED_HOMES = (
    *("in.csv", *MESH_GRID, "--code", "code", "--value", "persons", "--households", "homes"),
    *("--protect", "person", *TERMS),
)


AMOUNT = ("--amount", "income", "--clip", "0", "1000", "--unit-of-amount", "EUR")
INCOMES = ("in.csv", *MESH_GRID, "--code", "code", "--value", "n", *AMOUNT, *TERMS)
YEARS = ("2015=2015.csv", "2020=2020.csv")
INCOMES_BY_YEAR = (*YEARS, *INCOMES[1:], "--person-in")
PRICED = (*AMOUNT[:2], *AMOUNT[-2:])
CHOSEN_CLIP = ("in.csv", *MESH_GRID, "--code", "code", "--value", "n", *PRICED, "--lowest", "100",
               "--highest", "1000", *TERMS)  # fmt: skip
EARNERS = ("in.csv", "--grid", "jis:basic", "--bounds", "139.5", "35.5", "140", "36", "--x", "lon",
           "--y", "lat", *AMOUNT, *TERMS)  # fmt: skip
ENDS = ("in.csv", "--grid", "regular:8x8", "--from", "oy,ox", "--to", "dy,dx")
FLOWS = (*ENDS, "--value", "n", *TERMS)
VISITED = ("in.csv", "--grid", "jis:basic", "--bounds", "139.5", "35.5", "140", "35.6666666667",
           "--time", "t", "--person", "id", "--trips", "3", "--epsilon", "1", *OUT)  # fmt: skip
TRAVELLED = (*ENDS, "--person", "id", "--trips", "3", "--epsilon", "1", *OUT)
CHOSEN_TRIPS = (*ENDS, "--person", "id", "--largest", "20", "--epsilon", "1", *OUT)
CODED_FLOWS = ("in.csv", *MESH_GRID, "--from", "from", "--to", "to", "--value", "n",
               "--level", "8=1/2", *TERMS)  # fmt: skip


def publish(write, *call, **more) -> Case:
    return Case("publish", write, call, **more)


CASES = {
    "cells": publish(square, *CELLS, quick=True),
    "cells as JSON": publish(square, *CELLS, "--json"),
    "formats": publish(
        mesh, *MESH, "--metadata", "office.toml", "--formats",
        "csv:excel,csv:estat,fgb,geojson,gpkg,maplibre,netcdf,parquet,qml,stac,xlsx",
        variants=SMALL,
    ),
    "charged with a kept key": publish(square, *CELLS, *CHARGED, "--key-file", "key", quick=True),
    "charged": publish(square, *CELLS, *CHARGED, "--records", "all"),
    "Gaussian": publish(square, "in.csv", *PLACE, "--rho", "1/10", "--contribution", "1", *OUT),
    "replaced": publish(square, *CELLS, "--neighbours", "replace-one"),
    "measurements": publish(square, *CELLS, "--measurements"),
    "simulated": publish(square, *CELLS, "--simulate", "20", variants=SMALL),
    "a plan": publish(square, "in.csv", *PLACE, *OUT, "--plan", "plan.toml"),
    "coarser": publish(mesh, *MESH, "--stop-at", "jis:secondary"),
    "a mask": publish(mesh, *MESH, "--mask", "mask.csv", "--mask-source", "a map", "--outside",
                      "drop", variants=("even", "other counts", "extreme", "reversed", "half")),
    "land": publish(mesh, *MESH, "--mask", "land:japan", variants=SMALL),
    "regions": publish(square, *CELLS, "--regions", "regions.csv", "--regions-source", "a law"),
    "official": publish(mesh, *MESH, "--order", "official"),
    "totals": publish(with_totals, *CELLS, "--regions", "regions.csv", "--regions-source", "a law",
                      "--public-totals", "totals.csv", "--public-totals-source", "the law"),
    "a prior": publish(square, *CELLS, "--prior", "before.csv", "--prior-is-public",
                       "--prior-source", "1990"),
    "parts": publish(labelled, *PARTS, quick=True, variants=("even", "few rows", "half", "zeros")),
    "marginals": publish(labelled, *PARTS, "--marginals", "sex", variants=SMALL),
    "attributes in a pyramid": publish(labelled, *PARTS, "--method", "pyramid", variants=SMALL),
    "units": publish(units, "in.csv", "--grid", "units:units.csv", "--units-source", "a list",
                     "--code", "geocode", "--value", "n", *TERMS),
    "pairs": publish(pairs, "in.csv", *MESH_GRID, "--pairs", "--column", "origin=from",
                     "--column", "destination=to", "--value", "n", *TERMS),
    "points": publish(positions, "in.csv", "--grid", "jis:basic", "--bounds", "139.5", "35.5",
                      "140", "36", "--points", "--x", "lon", "--y", "lat", *TERMS),
    "persons": publish(positions, "in.csv", "--grid", "jis:basic", "--bounds", "139.5", "35.5",
                       "140", "36", "--points", "--x", "lon", "--y", "lat", "--person", "who",
                       *TERMS),
    "a raster": publish(raster, "in.tif", "--grid", "like:template.tif", *TERMS),
    "parquet": publish(parquet, "in.parquet", *PLACE, *TERMS),
    # Of a file of one record the grid is asked for, an outcome that docs/proofs/privacy.md names.
    "a layout": publish(census, "in.csv", "--bounds", "4000000", "3000000", "4008000", "3008000",
                        *TERMS, variants=tuple(one for one in VARIANTS if one != "few rows")),
    "shown from a limit": publish(square, *CELLS, "--display-below", "20"),
    "a recipe": Case("new", square, (*CELLS, "--people", "1e3", "--recipe", "made.toml"),
                     ("made.toml",), quick=True),
    "a recipe of a layout": Case(
        "new", census, ("in.csv", "--area", "4000000 3000000 4008000 3008000", *TERMS, "--recipe",
                        "made.toml"),
        ("made.toml",), variants=tuple(one for one in VARIANTS if one != "few rows"),
    ),
    "an own name": publish(square, *CELLS, "--name", "people", "--unit", "household"),
    "workers": publish(mesh, *MESH, "--workers", "1", variants=("even", "few rows", "half")),
    "workers with a prior": publish(
        mesh, *MESH, "--workers", "1", "--prior", "codes.csv", "--prior-is-public",
        "--prior-source", "1990",
        variants=("even", "few rows"),
    ),
    "series": Case("publish-series", months, (*SERIES, "--person-in", "all"), quick=True,
                   variants=("even", "few rows", "extreme")),
    "series as JSON": Case("publish-series", months, (*SERIES, "--person-in", "one", "--json")),
    "charged series": Case("publish-series", months, (*SERIES, "--person-in", "all", *CHARGED,
                                                      "--key-file", "key")),
    "Gaussian series": Case("publish-series", months, (*SERIES, "--person-in", "all", "--noise",
                            "gaussian", "--delta", "1e-6", "--smooth", "both"), variants=SMALL),
    "series as they are": Case("publish-series", months, (*SERIES, "--person-in", "all",
                               "--smooth", "none"), variants=SMALL),
    "census": Case("census publish", homes, CENSUS, quick=True),
    "charged census": Case("census publish", homes, (*CENSUS, *CHARGED, "--key-file", "key",
                           "--json"), variants=SMALL),
    "households": Case("households publish", homes, HOMES, quick=True),
    "charged households": Case("households publish", homes, (*HOMES, *CHARGED, "--key-file", "key",
                               "--others", "others", "--json")),
    "households by year": Case(
        "households publish-series", by_year(homes), (*YEARS, *HOMES[1:], "--person-in", "all"),
        quick=True, variants=SMALL,
    ),
    "households by size": Case(
        "households publish", sizes,
        ("in.csv", *PLACE, "--labels", "size=1,2,3,4,5,6,7", "--column", "size=size", "--protect",
         "household", *TERMS),
        variants=SMALL,
    ),
    "households of records": Case(
        "households publish", members,
        ("in.csv", "--grid", "jis:basic", "--bounds", "139.5", "35.5", "140", "36", "--points",
         "--x", "lon", "--y", "lat", "--household", "home", "--protect", "household", "--epsilon",
         "1", *OUT),
        variants=SMALL,
    ),
    "amounts": Case("amounts publish", incomes, INCOMES, quick=True),
    "amounts with classes": Case(
        "amounts publish", incomes,
        (*INCOMES, *CHARGED, "--key-file", "key", "--classes", "100,300", "--json"),
        variants=SMALL,
    ),
    "amounts of classes": Case(
        "amounts publish", incomes, (*INCOMES, "--classes", "100,300", "--no-means"),
        variants=SMALL,
    ),
    "amounts of persons": Case("amounts publish", earners, (*EARNERS, "--person", "who"),
                               variants=SMALL),
    "amounts with weights": Case(
        "amounts publish", earners, (*EARNERS, "--weight", "w", "--max-weight", "5"),
        variants=SMALL,
    ),
    "amounts of persons with weights": Case(
        "amounts publish", earners,
        (*EARNERS, "--person", "who", "--weight", "w", "--max-weight", "5"),
        variants=SMALL,
    ),
    "amounts by year": Case("amounts publish-series", years, (*INCOMES_BY_YEAR, "all"),
                            quick=True, variants=SMALL),
    "charged amounts by year": Case(
        "amounts publish-series", years,
        (*INCOMES_BY_YEAR, "one", *CHARGED, "--key-file", "key", "--classes", "100,300", "--json"),
        variants=SMALL,
    ),
    "clip": Case("amounts choose-clip", incomes, CHOSEN_CLIP, quick=True),
    "charged clip of weights": Case(
        "amounts choose-clip", earners,
        ("in.csv", *EARNERS[1:12], *PRICED, "--candidates", "100,200,400", "--weight", "w",
         "--max-weight", "5", *TERMS, *CHARGED, "--key-file", "key", "--json"),
        variants=SMALL,
    ),
    "flows": Case("flows publish", counted_trips, FLOWS, quick=True),
    "flows by year": Case(
        "flows publish-series", by_year(counted_trips),
        (*YEARS, *FLOWS[1:], "--person-in", "all"), quick=True, variants=SMALL,
    ),
    "flows with a prior": Case("flows publish", counted_trips, (*FLOWS, "--prior", "flows.csv",
                               "--prior-is-public", "--prior-source", "1990"), variants=SMALL),
    "trips": Case("flows choose-trips", trips, CHOSEN_TRIPS, quick=True),
    "charged trips": Case("flows choose-trips", trips, (*CHOSEN_TRIPS, *CHARGED, "--key-file",
                                                        "key", "--json"), variants=SMALL),
    "trips of persons in a day": Case("flows choose-trips", trips, (*CHOSEN_TRIPS, "--unit",
                                      "person-day", "--time", "day"), variants=SMALL),
    "trips of pings": Case(
        "flows choose-trips", pings,
        ("in.csv", *VISITED[1:12], "--largest", "20", "--epsilon", "1", *OUT, "--pings",
         "lon,lat", "--outside", "drop"),
        variants=SMALL,
    ),
    "flows of persons": Case("flows publish", trips, (*TRAVELLED, *CHARGED, "--key-file", "key",
                             "--json"), variants=SMALL),
    "flows of persons in a day": Case("flows publish", trips, (*TRAVELLED, "--unit", "person-day",
                                      "--time", "day", "--outside", "drop"), variants=SMALL),
    "flows of pings": Case("flows publish", pings, (*VISITED, "--pings", "lon,lat", "--unit",
                           "person-day", "--time-zone", "Asia/Tokyo", "--accuracy", "radius",
                           "--outside", "drop"), variants=SMALL),
    "flows of stays": Case("flows publish", stays, (*VISITED, "--stays", "lon,lat", "--gap", "6h"),
                           variants=SMALL),
    "flows of pings by hour": Case(
        "flows publish", pings,
        (*VISITED, "--pings", "lon,lat", "--by", "hour,daytype", "--time-zone", "Asia/Tokyo",
         "--outside", "drop"),
        variants=SMALL,
    ),
    "flows of stays by hour": Case(
        "flows publish", stays, (*VISITED, "--stays", "lon,lat", "--by", "hour"), variants=SMALL
    ),
    "flows of pings by label": Case(
        "flows publish", pings,
        (*VISITED, "--pings", "lon,lat", "--by", "mode,hour", "--labels", "mode=walk,car",
         "--time-zone", "Asia/Tokyo", "--outside", "drop"),
        variants=SMALL,
    ),
    "flows of stays by label": Case(
        "flows publish", stays,
        (*VISITED, "--stays", "lon,lat", "--by", "mode", "--labels", "mode=walk,car"),
        variants=SMALL,
    ),
    "flows between units by label": Case(
        "flows publish", tract_modes,
        ("in.csv", "--grid", "units:tracts.geojson", "--units-source", "a law", "--from", "from",
         "--to", "to", "--by", "mode", "--labels", "mode=walk,car", "--value", "n", *TERMS),
        variants=SMALL,
    ),
    "flows of persons by label": Case("flows publish", trips, (*TRAVELLED, "--by", "daytype",
                                      "--time", "day", "--label-share", "1/5"), variants=SMALL),
    "top": Case("select top", square, (*CELLS, "--k", "3"), quick=True),
    "top of areas": Case("select top", mesh, (*MESH, "--k", "2", "--level", "jis:secondary",
                                              "--mechanism", "exponential", "--json")),
    "charged top": Case("select top", square, (*CELLS, "--k", "3", *CHARGED, "--key-file", "key")),
    "reports": Case("local randomize", devices, ("round.json", "devices.csv", "-o", "r.parquet"),
                    ("r.parquet",), quick=True),
    "reports as lines": Case("local randomize", devices, ("round.json", "devices.csv", "-o",
                             "r.jsonl", "--json"), ("r.jsonl",)),
}  # fmt: skip
"""What has confidential counts in, and something public out."""

CASES |= {
    f"method {name}": publish(square, *CELLS, "--method", name, variants=SMALL)
    for name in METHODS
    if name not in DEFAULTS
}


def prepare(folder: Path) -> None:
    """Write what is public, and what is kept, beside the inputs."""
    (folder / "mask.csv").write_text("".join(f"{code}\n" for code in CODES[:20]))
    regions = "".join(f"{y}_{x},{'west' if x < 4 else 'east'}\n" for x, y in SQUARE)
    (folder / "regions.csv").write_text(f"cell,side\n{regions}")
    (folder / "totals.csv").write_text("side,total\nwest,640\neast,640\n")
    (folder / "before.csv").write_text("x,y,n\n" + "".join(f"{x},{y},{x * y}\n" for x, y in SQUARE))
    flows = "".join(f"{','.join(map(str, ends))},{9 + ends[0]}\n" for ends in TRIPS)
    (folder / "flows.csv").write_text(f"oy,ox,dy,dx,n\n{flows}")
    (folder / "codes.csv").write_text("code,n\n" + "".join(f"{code},9\n" for code in CODES))
    rows = "".join(f"{code},{code[:5]}\n" for code in UNITS)
    (folder / "units.csv").write_text(f"tract,county\n{rows}")
    (folder / "tracts.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": [
        {"type": "Feature", "properties": {"tract": code}, "geometry": {
            "type": "Polygon", "coordinates": [[[at, 35], [at + 1, 35], [at + 1, 36], [at, 36],
                                                [at, 35]]]}}
        for at, code in enumerate(UNITS, start=130)
    ]}))  # fmt: skip
    (folder / "office.toml").write_text('reference_date = "2020-10-01"\npublisher = "An office"\n')
    write_raster(folder / "template.tif", np.zeros((SIDE, SIDE), np.int32))
    keep(folder / "key")
    for call in (
        ("plan", *PLACE[:2], "--epsilon", "1", "--contribution", "1", "--output", "plan.toml"),
        ("local", "plan", *MESH_GRID, "--devices", "1200", "--epsilon", "1", "--output", "l.toml"),
        ("local", "open", "--plan", "l.toml", "--output", "round.json"),
        ("budget", "init", *CHARGED, "--epsilon", "9"),
    ):
        done = geodp(*call, cwd=folder)
        assert done.returncode == 0, done.stderr
    (folder / "ledger").rename(folder / "ledger.new")


READERS = {
    "verify": (("verify", "out"), ("verify", "out", "--json"), ("verify", "series"),
               ("verify", "top"), ("verify", "parts"), ("verify", "years")),
    "explain": (("explain", "out"), ("explain", "top", "--json"), ("explain", "years")),
    "report": (("report", "out"), ("report", "out", "--json"),
               ("report", "out", "--output", "made.html"),
               ("report", "homes", "--output", "made.html"),
               ("report", "incomes", "--output", "made.html"),
               ("report", "series", "--output", "made.html"),
               ("report", "top", "--output", "made.html"),
               ("report", "flows", "--output", "made.html")),
    "map": (("map", "out", "--output", "made.png"), ("map", "out", "--output", "made.svg"),
            ("map", "out", "--output", "dark.svg", "--dark")),
    "export": (("export", "out", "--to", "csv:excel,fgb,netcdf", "--output", "made"),),
    "estimate": (("estimate", "out", "--area", "533945"),
                 ("estimate", "out", "--area", "533945", "--json"),
                 ("estimate", "homes", "--area", "533945", "--json"),
                 ("estimate", "incomes", "--area", "533945", "--json"),
                 ("estimate", "years", "--area", "533945"),
                 ("estimate", "flows", "--area", "533945"),
                 ("estimate", "flows", "--from", "533945", "--to", "533946", "--json")),
    "compare": (("compare", "out", "--area", "533945", "--area", "533946", "--json",
                 "--conservative"),
                ("compare", "out", "other", "--area", "533945", "--conservative"),
                ("compare", "homes", "--area", "533945", "--area", "533946"),
                ("compare", "homes", "later", "--area", "533945"),
                ("compare", "incomes", "--area", "533945", "--area", "533946"),
                ("compare", "incomes", "raises", "--area", "533945"),
                ("compare", "years", "--time", "2015", "--time", "2020", "--area", "533945"),
                ("compare", "flows", "--from", "533945", "--to", "533946", "--from",
                 "533946", "--to", "533945", "--json"),
                ("compare", "flows", "moves", "--from", "533945", "--to", "533946")),
    "diff": (("diff", "out", "other"), ("diff", "out", "other", "--output", "made.csv"),
             ("diff", "homes", "later"), ("diff", "incomes", "raises"),
             ("diff", "flows", "moves")),
    "statistics": (("statistics", "out", "--json"),),
    "join": (("join", "parts", "--output", "made"),),
    "withdraw": (("withdraw", "other", "--reason", "a test", "--date", "2026-01-02"),),
    "budget show": (("budget", "show", *CHARGED), ("budget", "show", *CHARGED, "--json")),
    "budget check": (("budget", "check", "--ledger", "ledger", "--json"),),
    "budget export": (("budget", "export", "--ledger", "ledger", "--output", "made.jsonl"),),
    "local aggregate": (("local", "aggregate", "round.json", "r.parquet", "-o", "made.sums"),),
    "local publish": (("local", "publish", "made.sums", "-o", "collected"),),
}  # fmt: skip
"""What reads releases, ledgers and reports of devices, which are protected already."""

WRITTEN = {
    "out": ("publish", mesh, (*MESH, *CHARGED, "--key-file", "key", "--metadata", "office.toml")),
    "other": ("publish", mesh, (*MESH, "--epsilon", "2")),
    "parts": ("publish", mesh, (*MESH, "--workers", "1")),
    "series": (
        "publish-series",
        months,
        (*SERIES, "--person-in", "all", *CHARGED, "--key-file", "key"),
    ),
    "homes": ("households publish", coded_homes, CODED_HOMES),
    "later": ("households publish", coded_homes, (*CODED_HOMES, "--epsilon", "2")),
    "incomes": ("amounts publish", incomes, (*INCOMES, "--classes", "100,300")),
    "flows": ("flows publish", pairs, CODED_FLOWS),
    "moves": ("flows publish", pairs, (*CODED_FLOWS, "--epsilon", "2")),
    "raises": ("amounts publish", incomes, (*INCOMES, "--epsilon", "2")),
    "years": ("amounts publish-series", years, (*INCOMES_BY_YEAR, "all")),
    "top": ("select top", square, (*CELLS, "--k", "3", *CHARGED, "--key-file", "key")),
}
"""Releases that these read, by folder."""

PARAMETERS = {
    *(
        "budget init",
        "budget witness",
        "key",
        "local plan",
        "local open",
        "local blend",
        "plan",
        "amounts plan",
        "census plan",
        "flows plan",
        "select plan",
        "flows sql",
        "amounts sql",
        "households plan",
        "households sql",
        "methods",
        "options",
        "sql",
    ),
    *("mesh encode", "mesh decode", "doctor", "warmup"),
}
"""What takes parameters and public files, and nothing of anybody."""

CONFIDENTIAL = {
    "inspect": "inspect",
    "evaluate": "evaluate",
    "flows evaluate": "flows evaluate",
    "publish": "publish --check",
    "new": "new",
    "audit": "audit TABLE",
}
"""What prints or writes for the operator alone, and how docs/proofs/privacy.md calls it."""

BOTH = {"publish", "new", "audit"}
"""Commands that are so with an option or an argument only, or in one of their files; ``audit``
takes parameters without."""
