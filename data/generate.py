"""Make the synthetic example: a census-like 500 m mesh that looks like the Kanto region.

Run ``python data/generate.py``. No random generator is used: all noise comes from an integer hash,
so every platform makes the same numbers. The model:

1. Land. Cells outside the coast or on water are empty. Positions are bent by smooth noise;
   mountains rise from their outlines, and valleys are cut into them.
2. Valleys. Water is routed downhill (priority flood: Barnes, Lehman and Mulla, 2014, Computers
   & Geosciences 62). In the hills people live along streams, the higher, the larger the stream must
   be.
3. Density. 66 % of a municipality's people live in a town whose density falls exponentially
   from its centre (Clark, 1951, Journal of the Royal Statistical Society A 114), 34 % in the
   countryside. Both favour railways, avoid strips of rice fields, and vary with spatially
   correlated noise.
4. Counts. A cell is settled where the density, with noise, passes a threshold; its count has
   more noise, larger in the countryside, and is bent below about 14,000. The sum is below the
   table's, since some people are lost.
5. Sexes and ages follow from the count with a little noise; the countryside is older.
"""

from __future__ import annotations

import argparse
import csv
import heapq
import math
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import shapely

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Points = list[tuple[float, float]]

HERE = Path(__file__).resolve().parent
TABLE = "T999999"
LABELS = (
    "人口（総数）",
    "人口（総数）　男",
    "人口（総数）　女",
    "０～１４歳人口　総数",
    "１５～６４歳人口　総数",
    "６５歳以上人口　総数",
)
SIZE = 512  # cells a side of the window
PAD = 16  # cells modelled around the window, so that its edges are like its middle
SIDE = SIZE + 2 * PAD
ROW0, COLUMN0 = 35 * 240, 38 * 160  # mesh row and column of the south-west corner
KM_ROW, KM_COLUMN = 111.0 / 240, 90.1 / 160  # cell height and width
LEAST_DENSITY = 16.2  # people a cell; where fewer are expected, nobody lives
LARGEST = 14000.0  # densities bend towards this many people a cell
SUPPRESSED_BELOW = 8  # a cell with fewer people does not show its ages


def read(name: str) -> list[dict[str, str]]:
    """Read one of the fact tables beside this script."""
    with (HERE / name).open(encoding="ascii", newline="") as stream:
        return list(csv.DictReader(stream))


def hash64(key: Ints, seed: int) -> npt.NDArray[np.uint64]:
    """Hash integers with the splitmix64 finaliser."""
    z = key.astype(np.uint64) + np.uint64(seed << 32)
    z = z * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    hashed: npt.NDArray[np.uint64] = z ^ (z >> np.uint64(31))
    return hashed


def bell(key: Ints, seed: int) -> Floats:
    """Give nearly normal hash noise of mean 0 and variance 1."""
    hashed = hash64(key, seed)
    parts = [(hashed >> np.uint64(16 * i)) & np.uint64(0xFFFF) for i in range(4)]
    total: Floats = np.sum(parts, axis=0).astype(np.float64)
    return (total / 65536.0 - 2.0) * 1.732


def smooth_noise(wave: int, seed: int) -> Floats:
    """Interpolate hash noise from a lattice of `wave` cells; `wave` 1 gives white noise."""
    row, column = np.indices((SIDE, SIDE), dtype=np.int64)
    if wave == 1:
        return bell(row * SIDE + column, seed)
    i, j = row // wave, column // wave
    u, v = (row % wave + 0.5) / wave, (column % wave + 0.5) / wave
    u, v = u * u * (3 - 2 * u), v * v * (3 - 2 * v)
    a, b = bell(i * SIDE + j, seed), bell(i * SIDE + j + 1, seed)
    c, d = bell((i + 1) * SIDE + j, seed), bell((i + 1) * SIDE + j + 1, seed)
    mixed: Floats = (a * (1 - v) + b * v) * (1 - u) + (c * (1 - v) + d * v) * u
    return mixed * 1.35  # interpolation lowers the variance


def bent() -> tuple[Floats, Floats]:
    """Place the cell centres (km), bent a little so that coarse lines come out natural."""
    row, column = np.indices((SIDE, SIDE)) + 0.5
    east = column * KM_COLUMN + 0.55 * smooth_noise(11, 8) + 0.3 * smooth_noise(4, 9)
    north = row * KM_ROW + 0.55 * smooth_noise(11, 10) + 0.3 * smooth_noise(4, 11)
    return east, north


EAST, NORTH = bent()


def to_km(points: Points) -> Floats:
    """Convert longitudes and latitudes to an n x 2 array of km from the padded corner."""
    lon, lat = np.asarray(points).T
    x = (lon * 160 - (COLUMN0 + 16000 - PAD)) * KM_COLUMN
    y = (lat * 240 - (ROW0 - PAD)) * KM_ROW
    return np.column_stack([x, y])


def around(xy: Floats, margin: float) -> tuple[tuple[slice, slice], Floats, Floats]:
    """Cut the grid `margin` km around some points: slices, eastings and northings."""
    low, high = xy.min(axis=0) - margin, xy.max(axis=0) + margin
    c0, c1 = (int(min(max(v / KM_COLUMN, 0), SIDE)) for v in (low[0], high[0] + 1))
    r0, r1 = (int(min(max(v / KM_ROW, 0), SIDE)) for v in (low[1], high[1] + 1))
    box = (slice(r0, r1), slice(c0, c1))
    return box, EAST[box], NORTH[box]


def distance(points: Points, margin: float, closed: bool = False) -> Floats:
    """Measure every cell's distance to a broken line.

    Parameters
    ----------
    points : list of (float, float)
        Longitude and latitude of the vertices.
    margin : float
        Distances are only needed up to this many kilometres outside the line's box.
    closed : bool
        Whether the last vertex joins the first.

    Returns
    -------
    ndarray of float64
        Kilometres; infinite far away.
    """
    xy = to_km(points + points[:1] if closed else points)
    result = np.full((SIDE, SIDE), np.inf)
    for a, b in pairwise(xy):
        # An area needs the distance to its edge everywhere inside it.
        box, x, y = around(xy if closed else np.array([a, b]), margin)
        dx, dy = b - a
        t = np.clip(((x - a[0]) * dx + (y - a[1]) * dy) / (dx * dx + dy * dy + 1e-9), 0, 1)
        near = np.hypot(x - a[0] - t * dx, y - a[1] - t * dy)
        result[box] = np.minimum(result[box], near)
    return result


def inside(points: Points) -> npt.NDArray[np.bool_]:
    """Tell which cell centres lie in a polygon."""
    polygon = shapely.Polygon(to_km(points))
    shapely.prepare(polygon)
    return np.asarray(shapely.contains_xy(polygon, EAST, NORTH), np.bool_)


def drainage(height: Ints) -> Floats:
    """Count the hill cells whose water flows through each hill cell (priority flood).

    Parameters
    ----------
    height : ndarray of int64
        Heights; cells below 20 m are where the water arrives.

    Returns
    -------
    ndarray of float64
        Upstream cells, 1 on a ridge, and 0 on low ground.
    """
    wide = np.pad(height, 1).ravel()  # the rim counts as low ground
    width = SIDE + 2
    count = wide.size
    heights: list[int] = wide.tolist()
    todo = wide >= 20
    moves = (1, -1, width, -width, width + 1, width - 1, -width + 1, -width - 1)
    inner = np.flatnonzero(todo)
    shore = {int(i) + m for m in moves for i in inner if not todo[i + m]}
    heap = [heights[i] * count + i for i in sorted(shore)]
    heapq.heapify(heap)
    unseen: list[bool] = todo.tolist()
    parent: dict[int, int] = {}
    while heap:
        level, here = divmod(heapq.heappop(heap), count)
        for m in moves:
            there = here + m
            if 0 <= there < count and unseen[there]:
                unseen[there] = False
                parent[there] = here
                heapq.heappush(heap, max(level, heights[there]) * count + there)
    flow = todo.astype(np.float64).tolist()
    # A cell is always entered from below, so the reverse order visits upstream cells first.
    for there, here in reversed(parent.items()):
        flow[here] += flow[there]
    result = np.where(todo, np.array(flow), 0.0)
    return result.reshape(width, width)[1:-1, 1:-1]


def habitable() -> Floats:
    """Rate from 0 to 1 how well people can live in each cell, from ``land.csv``."""
    land = np.zeros((SIDE, SIDE), np.bool_)
    water = np.zeros((SIDE, SIDE), np.bool_)
    height = np.zeros((SIDE, SIDE))
    valley = np.ones((SIDE, SIDE))
    for feature in read("land.csv"):
        pairs = (pair.split() for pair in feature["points"].split(";"))
        points = [(float(lon), float(lat)) for lon, lat in pairs]
        kind, value = feature["kind"], float(feature["value"])
        if kind == "land":
            land |= inside(points)
        elif kind == "lake":
            water |= inside(points) | (distance(points, 1.0, closed=True) < value)
        elif kind == "river":
            water |= distance(points, 2.0) < value
        elif kind == "valley":
            near = distance(points, 4 * (value + 1.0)) / (value + 1.0)
            valley = np.minimum(valley, 1 - np.exp(-near * near))
        else:
            depth = np.where(inside(points), distance(points, 0.0, closed=True), 0.0)
            height = np.maximum(height, value * (1 - np.exp(-depth / 6.0)))
    rough = 1 + 0.35 * smooth_noise(14, 1) + 0.25 * smooth_noise(6, 2) + 0.12 * smooth_noise(3, 3)
    height = height * np.maximum(rough, 0.05) * valley * land
    flow = drainage(np.rint(height).astype(np.int64))
    # The higher the ground, the larger a stream must be to have a road and houses along it.
    need = 5 + height / 40.0
    score = 6 * flow * flow / (flow * flow + need * need) * np.exp(-height / 900.0)
    return np.where(height < 20, 1.0, score) * land * ~water


def density() -> Floats:
    """Spread every municipality's people over the habitable cells of the padded grid."""
    towns = read("municipalities.csv")
    place = {t["name"]: (float(t["longitude"]), float(t["latitude"])) for t in towns}
    xy = to_km(list(place.values()))
    gaps = np.hypot(xy[:, None, 0] - xy[None, :, 0], xy[:, None, 1] - xy[None, :, 1])
    spacing = np.sort(gaps, axis=1)[:, 1:5].mean(axis=1)
    rail = np.zeros((SIDE, SIDE))
    for line in read("lines.csv"):
        near = distance([place[name] for name in line["municipalities"].split(";")], 6.0)
        rail = np.maximum(rail, np.exp(-near / 0.9))
    patches = 0.55 * smooth_noise(9, 4) + 0.55 * smooth_noise(4, 5) + 0.45 * smooth_noise(2, 6)
    fit = habitable()
    # Rice fields run in strips through the plains; farmers live beside them, not in them.
    fields = np.exp(-((smooth_noise(8, 12) + 0.5 * smooth_noise(3, 13)) ** 2) / 0.12)
    town_fit = fit * (1 + 6.0 * rail) * np.exp(0.2 * patches) * (1 - 0.5 * fields)
    country_fit = fit * (1 + 3.0 * rail) * np.exp(0.7 * patches) * (1 - 0.95 * fields)
    total = np.zeros((SIDE, SIDE))
    for here, gap, town in zip(xy, spacing, towns, strict=True):
        people = float(town["population"])
        peak = 2800 + 0.85 * people / gap**2  # people a square kilometre at the centre
        decay = math.sqrt(0.66 * people / (2 * math.pi * peak))
        box, x, y = around(here[None, :], 5 * gap + 4)
        away = np.hypot(x - here[0], y - here[1])
        for share, shape in (
            (0.66, np.exp(-away / decay) * town_fit[box]),  # Clark's law
            (0.34, np.exp(-away / (0.6 * gap + 0.5)) * country_fit[box]),
        ):
            total[box] += share * people * shape / max(float(shape.sum()), 1e-9)
    return total


def people() -> Ints:
    """Make the counts of the window, 0 where nobody lives."""
    expected = density()
    # Neighbouring farming cells differ far more than neighbouring city blocks.
    spread = 0.25 + 1.0 / (1 + expected / 250.0)
    noisy = expected * np.exp(spread * smooth_noise(1, 7) - spread**2 / 2)
    noisy = noisy / np.sqrt(1 + (noisy / LARGEST) ** 2)
    settled = expected * np.exp(0.5 * smooth_noise(1, 14))
    # Multiples of 1/1024, so that the last digit of a platform's exp cannot matter.
    noisy, settled = np.rint(noisy * 1024) / 1024, np.rint(settled * 1024) / 1024
    counts = np.where(settled >= LEAST_DENSITY, np.floor(noisy) + 1, 0)
    return counts.astype(np.int64)[PAD:-PAD, PAD:-PAD]


def rows_of(counts: Ints) -> Iterator[tuple[str, list[str]]]:
    """Write the rows of the census layout, ages of very small cells suppressed.

    Parameters
    ----------
    counts : ndarray of int64
        People in the window.

    Yields
    ------
    str
        Primary mesh code.
    list of str
        Fields of one row.
    """
    row, column = np.nonzero(counts)
    total = counts[row, column]
    index = row * SIZE + column
    male = np.clip(np.rint(0.496 * total + 0.5 * np.sqrt(total) * bell(index, 20)), 0, total)
    young = np.rint(total * (0.115 + 0.02 * bell(index, 21)) + 0.3 * bell(index, 22))
    share = 0.23 + 0.17 / (1 + total / 300.0)  # the countryside is older
    old = np.rint(total * (share + 0.035 * bell(index, 23)) + 0.4 * bell(index, 24))
    young = np.clip(young, 0, total)
    old = np.clip(old, 0, total - young)
    ages = np.column_stack([young, total - young - old, old]).astype(np.int64)
    cells = list(zip(row.tolist(), column.tolist(), strict=True))
    codes = {cell: mesh_code(ROW0 + cell[0], COLUMN0 + cell[1]) for cell in cells}
    size = dict(zip(cells, total.tolist(), strict=True))
    near = sorted((i * i + j * j, i, j) for i in range(-30, 31) for j in range(-30, 31))
    target: dict[tuple[int, int], tuple[int, int]] = {}
    group = dict(zip(cells, ages, strict=True))
    members: dict[tuple[int, int], list[str]] = defaultdict(list)
    for cell in cells:
        if size[cell] >= SUPPRESSED_BELOW:
            continue
        for _, i, j in near:
            other = (cell[0] + i, cell[1] + j)
            if size.get(other, 0) < SUPPRESSED_BELOW or codes[other][:4] != codes[cell][:4]:
                continue
            target[cell] = other
            group[other] = group[other] + group[cell]
            members[other].append(codes[cell])
            break
    for n in sorted(range(len(cells)), key=lambda n: codes[cells[n]]):
        cell = cells[n]
        state, into, merged = "0", "", ""
        shown = [str(a) for a in group[cell]]
        if cell in target:
            state, into, shown = "2", codes[target[cell]], ["*"] * 3
        elif cell in members:
            state, merged = "1", ";".join(sorted(members[cell]))
        men = int(male[n])
        sexes = [str(size[cell]), str(men), str(size[cell] - men)]
        yield codes[cell][:4], [codes[cell], state, into, merged, *sexes, *shown]


def mesh_code(row: int, column: int) -> str:
    """Name a half mesh after JIS X 0410.

    Parameters
    ----------
    row : int
        Cells north of the equator, 240 a degree.
    column : int
        Cells east of 100 degrees, 160 a degree.

    Returns
    -------
    str
        Nine digits.
    """
    primary = f"{row // 160:02d}{column // 160:02d}"
    secondary = f"{row % 160 // 20}{column % 160 // 20}"
    basic = f"{row % 20 // 2}{column % 20 // 2}"
    return f"{primary}{secondary}{basic}{2 * (row % 2) + column % 2 + 1}"


def write(output: Path) -> None:
    """Write one zip for each primary mesh that holds people.

    Parameters
    ----------
    output : Path
        Folder, made if missing.
    """
    output.mkdir(parents=True, exist_ok=True)
    head = ["KEY_CODE", "HTKSYORI", "HTKSAKI", "GASSAN"]
    head += [f"{TABLE}{n:03d}" for n in range(1, len(LABELS) + 1)]
    labels = [""] * 4 + ["\u3000" + label for label in LABELS]
    tables: dict[str, list[list[str]]] = defaultdict(lambda: [head, labels])
    for primary, fields in rows_of(people()):
        tables[primary].append(fields)
    for primary, rows in tables.items():
        text = "".join(",".join(fields) + "\r\n" for fields in rows)
        name = f"tbl{TABLE}H{primary}"
        # A fixed date and system keep the archive the same whenever and wherever it is made.
        member = zipfile.ZipInfo(f"{name}.txt", date_time=(1980, 1, 1, 0, 0, 0))
        member.create_system = 3
        member.external_attr = 0o644 << 16
        member.compress_type = zipfile.ZIP_DEFLATED
        with zipfile.ZipFile(output / f"{name}.zip", "w") as archive:
            archive.writestr(member, text.encode("cp932"), compresslevel=9)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Make the synthetic example mesh.")
    parser.add_argument("--output", type=Path, default=HERE / "kanto", help="folder for the zips")
    write(parser.parse_args().output)


if __name__ == "__main__":
    main()
