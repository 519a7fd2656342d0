"""Public statistics to measure on: read in place, never stored in the project.

All of it is published by its offices; ``docs/measured/pyramid.md`` names them. The readers below
contain the folders' names, relative to one directory.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import geodp
from geodp.errors import UsageError
from geodp.io.read.rows.pixels import grid_like

SEED = 20200401
KANTO = (138.0, 35.0, 141.2, 37.1333333333)
CENSUS = "estat-2020-500m"
TOTAL = "人口（総数）"


@dataclass(frozen=True)
class Source:
    """A readable table.

    Attributes
    ----------
    title : str
        Description for people.
    read : callable
        Reads the table from the directory.
    """

    title: str
    read: Callable[[Path], geodp.CountTable]


def load(name: str, folder: Path | None) -> geodp.CountTable:
    """Load one of ``SOURCES``; raises UsageError with a sentence where it is missing."""
    # The data are no part of the project.
    if folder is None:
        raise UsageError(
            "This benchmark reads public statistics that are no part of the project: "
            "--data DIR names their directory. docs/measured/pyramid.md lists what it holds."
        )
    if not folder.is_dir():
        raise UsageError(f"There is no directory {folder} with public statistics (--data).")
    try:
        return SOURCES[name].read(folder)
    except geodp.GeodpError as error:
        raise UsageError(f"{name} cannot be read below {folder}: {error}") from None


def _census(folder: Path) -> list[str]:
    paths = sorted(str(path) for path in (folder / CENSUS).glob("*.zip"))
    if not paths:
        raise UsageError(f"there are no zip files in {CENSUS}")
    return paths


def _kanto(folder: Path) -> geodp.CountTable:
    return geodp.read_mesh(_census(folder), grid="jis:half", value=TOTAL, bounds=KANTO)


AGES = {
    "0-14": (5, 6),
    "15-17": (8, 9),
    "18-19": (14, 15),
    "20-64": (17, 18),
    "65-74": (20, 21),
    "75-84": (23, 24),
    "85-94": (26, 27),
    "95+": (29, 30),
}
"""Columns of men and of women; from the second on, of all people that old or older."""


def _kanto_parts(folder: Path) -> geodp.CountTable:
    """Read men and women by age; cells whose ages are suppressed are empty."""
    grid = geodp.Grid.mesh("jis:half", bounds=KANTO)
    grid = grid.with_attribute("sex", ["m", "f"]).with_attribute("age", list(AGES))
    columns = {
        (label, age): f"T0011410{AGES[age][sex]:02d}"
        for sex, label in enumerate("mf")
        for age in AGES
    }
    read = geodp.read_mesh(
        _census(folder), grid=grid, value=columns, suppressed="zero", outside="crop"
    )
    people = read.to_dense()
    # Columns are cumulative from an age upwards, so neighbours are subtracted.
    people[..., 1:-1] -= people[..., 2:]
    return geodp.CountTable.from_dense(people.clip(0), grid)


def _hiroshima_parts(folder: Path) -> geodp.CountTable:
    """Read men and women by five ages, as for Kanto."""
    grid = geodp.Grid.mesh("jis:half", bounds=WIDE)
    ages = {"0-14": 5, "15-19": 8, "20-64": 14, "65-74": 17, "75+": 20}
    grid = grid.with_attribute("sex", ["m", "f"]).with_attribute("age", list(ages))
    columns = {
        (label, age): f"T0008470{first + sex:02d}"
        for sex, label in enumerate("mf")
        for age, first in ages.items()
    }
    path = folder / "estat-hiroshima-500m" / "tblT000847H34_2015.csv.gz"
    people = geodp.read_mesh(
        path, grid=grid, value=columns, suppressed="zero", outside="crop"
    ).to_dense()
    people[..., 1:-1] -= people[..., 2:]
    return geodp.CountTable.from_dense(people.clip(0), grid)


def _japan(folder: Path) -> geodp.CountTable:
    return geodp.read_mesh(_census(folder), grid="jis:half", value=TOTAL)


def _germany(folder: Path) -> geodp.CountTable:
    grid = geodp.Grid.mesh("inspire:1km", bounds=(4_000_000, 2_600_000, 5_024_000, 3_624_000))
    return geodp.read_table(
        folder / "zensus-2011-1km" / "einwohner_1km.parquet",
        grid=grid,
        value="einwohner",
        x="x",
        y="y",
        missing=[-1],
    )


# Tiles of 512 x 512 cells, numbered from the origin of the European grid.
def _europe(tile: str) -> Callable[[Path], geodp.CountTable]:
    def read(folder: Path) -> geodp.CountTable:
        _, tx, ty = map(int, tile.split("/"))
        transform = (1000, 0, tx * 512_000, 0, 1000, ty * 512_000)
        grid = geodp.Grid.regular((512, 512), crs="EPSG:3035", transform=transform)
        path = folder / "geostat-1km" / f"{tile}.parquet"
        return geodp.read_table(path, grid=grid, value="T", x="x", y="y", anchor="index")

    return read


HIROSHIMA, WIDE = (132.0, 34.0, 134.0, 35.3333333333), (132.0, 34.0, 135.2, 36.1333333333)


def _hiroshima(
    file: str, value: str, bounds: tuple[float, float, float, float] = HIROSHIMA
) -> Callable[[Path], geodp.CountTable]:
    def read(folder: Path) -> geodp.CountTable:
        path = folder / "estat-hiroshima-500m" / file
        return geodp.read_mesh(path, grid="jis:half", value=value, bounds=bounds)

    return read


def _flow(attributes: bool) -> Callable[[Path], geodp.CountTable]:
    def read(folder: Path) -> geodp.CountTable:
        grid = geodp.Grid.mesh("jis:basic", bounds=(138.8, 35.4, 140.4, 35.9333333333))
        path = folder / "jinryu" / "tokyo_mdp_mesh1km_2019-2021.csv.gz"
        code, value = "mesh1kmid", "population"
        if not attributes:
            where = {"year": "2019", "month": "01", "dayflag": "2", "timezone": "2"}
            return geodp.read_table(
                path, grid=grid, code=code, value=value, where=where, outside="crop"
            )
        labels = {
            "year": ["2019", "2020", "2021"],
            "month": [f"{month:02d}" for month in range(1, 13)],
            "dayflag": list("012"),
            "timezone": list("012"),
        }
        for name, values in labels.items():
            grid = grid.with_attribute(name, values)
        columns = {name: name for name in labels}
        return geodp.read_table(
            path, grid=grid, code=code, value=value, columns=columns, outside="crop"
        )

    return read


def _taxi(folder: Path) -> geodp.CountTable:
    columns = {
        "origin_row": "SLATCOL",
        "origin_col": "SLONCOL",
        "destination_row": "ELATCOL",
        "destination_col": "ELONCOL",
    }
    path = folder / "od-taxi-500m" / "taxi_od_grid.csv.gz"
    grid = geodp.Grid.regular((94, 168)).pairs()
    return geodp.read_table(path, grid=grid, value="VehicleNum", columns=columns)


def _samoa(folder: Path) -> geodp.CountTable:
    path = folder / "samoa-100m" / "Samoa_Pop_Grid.tif"
    return geodp.read_raster(path, grid=grid_like(path), value_unit=1.039454)


def _foreigners(folder: Path) -> geodp.CountTable:
    value = "外国人人口　総数"
    return geodp.read_mesh(
        _census(folder), grid="jis:half", value=value, bounds=KANTO, suppressed="zero"
    )


def _brazil(folder: Path) -> geodp.CountTable:
    """Read cells such as 5KME2855N10430: kilometres east and north of an origin of IBGE."""
    with (folder / "ibge-5km" / "gridbr_5KM.csv").open(encoding="utf-8") as lines:
        rows = [(row["id"], float(row["POP"])) for row in csv.DictReader(lines)]
    # Codes end in kilometres from the origin; cells are 5 km wide.
    east, north = np.array([code[4:].split("N") for code, _ in rows], np.int64).T // 5
    index = np.array([north - north.min(), east - east.min()])
    grid = geodp.Grid.regular(tuple((index.max(axis=1) + 1).tolist()))
    return geodp.CountTable.from_index(grid, index, np.array([n for _, n in rows], np.int64))


def _trips(folder: Path) -> geodp.CountTable:
    """Generate trips from homes of the census to random destinations, by two day types.

    Origins are drawn by population. A trip's length is Pareto of exponent 1.5 from one cell on,
    its direction uniform; it counts where it ends on an inhabited cell. Every third is of the
    second day type.
    """
    homes = _kanto(folder)
    draw = np.random.default_rng(SEED)
    n = 20_000_000
    people = homes.to_dense()
    row, col = homes.grid.decode(homes.key)
    at = draw.choice(homes.key.size, n, p=homes.count / homes.count.sum())
    length, angle = draw.pareto(1.5, n) + 1, draw.uniform(0, 2 * np.pi, n)
    destination = np.stack([row[at] + length * np.sin(angle), col[at] + length * np.cos(angle)])
    inside = ((destination >= 0) & (destination < 512)).all(axis=0)
    at, end = at[inside], destination[:, inside].astype(np.int64)
    inhabited = people[end[0], end[1]] > 0
    at, end = at[inhabited], end[:, inhabited]
    # Two thirds workdays and one third other days, in the order of the draws.
    day = np.arange(at.size) % 3 // 2
    grid = geodp.Grid.regular((512, 512)).pairs().with_attribute("day", ["workday", "other"])
    index = np.stack([row[at], col[at], *end, day])
    return geodp.CountTable.from_index(grid, index, np.ones(at.size, np.int64))


SOURCES = {
    "kanto": Source("Kanto window, census 2020, 500 m", _kanto),
    "kanto-parts": Source("Kanto window, census 2020, by sex and eight ages, 500 m", _kanto_parts),
    "germany-1km": Source("Germany, census 2011, 1 km", _germany),
    "europe-2011-7-5": Source("Europe 2011, tile 7/5 (FR, BE, W-DE), 1 km", _europe("2011/7/5")),
    "europe-2018-7-5": Source("Europe 2018, tile 7/5 (FR, BE, W-DE), 1 km", _europe("2018/7/5")),
    "europe-2011-9-8": Source("Europe 2011, tile 9/8 (FI, SE), 1 km", _europe("2011/9/8")),
    "europe-2018-9-8": Source("Europe 2018, tile 9/8 (FI, SE), 1 km", _europe("2018/9/8")),
    "hiroshima-2010": Source(
        "Hiroshima, census 2010, 500 m",
        _hiroshima("merged_tblT000609H_2010.csv.gz", "人口総数"),
    ),
    "hiroshima-2020": Source(
        "Hiroshima, census 2020, 500 m",
        _hiroshima("tblT001101H34_2020.csv.gz", "T001101001"),
    ),
    "hiroshima-2010-wide": Source(
        "Hiroshima, census 2010, 500 m, 512 x 512 cells",
        _hiroshima("merged_tblT000609H_2010.csv.gz", "人口総数", WIDE),
    ),
    "hiroshima-2015-wide": Source(
        "Hiroshima, census 2015, 500 m, 512 x 512 cells",
        _hiroshima("tblT000847H34_2015.csv.gz", "T000847001", WIDE),
    ),
    "hiroshima-2020-wide": Source(
        "Hiroshima, census 2020, 500 m, 512 x 512 cells",
        _hiroshima("tblT001101H34_2020.csv.gz", "T001101001", WIDE),
    ),
    "hiroshima-parts": Source(
        "Hiroshima, census 2015, by sex and five ages, 500 m", _hiroshima_parts
    ),
    "samoa-100m": Source("Samoa, population raster, 100 m", _samoa),
    "flow": Source("Tokyo, people staying, one month, 1 km", _flow(False)),
    "flow-attributes": Source(
        "Tokyo, people staying, 1 km x year x month x day x time", _flow(True)
    ),
    "taxi": Source("Shenzhen, taxi trips, origin x destination, 500 m", _taxi),
    "japan": Source("Kanto's census on all Japan's domain, 500 m", _japan),
    "brazil-5km": Source("Brazil, census 2010, 5 km", _brazil),
    "kanto-foreigners": Source("Kanto window, foreigners, census 2020, 500 m", _foreigners),
    "trips": Source("Kanto, made-up trips, origin x destination x day type", _trips),
}
"""Tables by name."""


SIZES = ("1", "2", "3", "4", "5", "6", "7+")
"""Sizes of general households in the census of Japan."""


def load_households(folder: Path | None) -> geodp.CountTable:
    """Load the general households of the Kanto window by size; suppressed cells are empty."""
    if folder is None or not folder.is_dir():
        raise UsageError(
            "This benchmark reads public statistics that are no part of the project: --data DIR "
            "names their directory. docs/measured/pyramid.md lists what it holds."
        )
    grid = geodp.Grid.mesh("jis:half", bounds=KANTO).with_attribute("size", SIZES)
    columns = {size: f"T0011410{36 + i}" for i, size in enumerate(SIZES)}
    return geodp.read_mesh(
        _census(folder), grid=grid, value=columns, suppressed="zero", outside="crop"
    )
