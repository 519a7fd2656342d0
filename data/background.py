"""Makes what maps are drawn on, bundled with geodp: land, and names of places.

``python data/background.py --places PLACES.json --japanese PLACES.csv`` writes ``land-10m.npz`` and
``towns.csv.xz`` into ``geodp/io/read/public``; their sources stand in ``background.md`` there.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import shapely

from geodp.io.read.public import land

FOLDER = Path(land.__file__).parent

MOST_RANK = 8
"""Scale rank of the least of the places that are kept."""

FAR = 0.15
"""Degrees between two places of one name, at most, that are the same."""

JAPANESE = {
    "Akita": "秋田", "Aomori": "青森", "Asahikawa": "旭川", "Fukui": "福井", "Fukuoka": "福岡",
    "Fukushima": "福島", "Gifu": "岐阜", "Hachinohe": "八戸", "Hachiōji": "八王子",
    "Hakodate": "函館", "Hamamatsu": "浜松", "Hirosaki": "弘前", "Hiroshima": "広島",
    "Iwaki": "いわき", "Kagoshima": "鹿児島", "Kanazawa": "金沢", "Kanoya": "鹿屋",
    "Kawagoe": "川越", "Kawasaki": "川崎", "Kitakyūshū": "北九州", "Kitami": "北見",
    "Kumamoto": "熊本", "Kure": "呉", "Kushiro": "釧路", "Kyoto": "京都", "Kōbe": "神戸",
    "Kōchi": "高知", "Kōfu": "甲府", "Kōriyama": "郡山", "Maebashi": "前橋", "Maizuru": "舞鶴",
    "Matsue": "松江", "Matsumoto": "松本", "Matsuyama": "松山", "Mito": "水戸",
    "Miyazaki": "宮崎", "Morioka": "盛岡", "Muroran": "室蘭", "Nagano": "長野", "Nagaoka": "長岡",
    "Nagasaki": "長崎", "Nagoya": "名古屋", "Naha": "那覇", "Niigata": "新潟", "Obihiro": "帯広",
    "Okayama": "岡山", "Otaru": "小樽", "Sakata": "酒田", "Sapporo": "札幌", "Sasebo": "佐世保",
    "Sendai": "仙台", "Shimonoseki": "下関", "Shizuoka": "静岡", "Takamatsu": "高松",
    "Takaoka": "高岡", "Tokushima": "徳島", "Tokyo": "東京", "Tomakomai": "苫小牧",
    "Tottori": "鳥取", "Toyama": "富山", "Tsu": "津", "Tsuruoka": "鶴岡", "Utsunomiya": "宇都宮",
    "Wakayama": "和歌山", "Yamagata": "山形", "Yokohama": "横浜", "Ōita": "大分", "Ōsaka": "大阪",
    "Ōtsu": "大津",
}  # fmt: skip
"""Places in Japan as they are written there: the source's own Japanese names are of few."""


def main() -> None:
    """Write both files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--places", type=Path, help="ne_10m_populated_places as GeoJSON")
    parser.add_argument("--japanese", type=Path, help="ne_50m_populated_places as CSV")
    asked = parser.parse_args()
    write_land(FOLDER / "land-10m.npz")
    if asked.places is not None:
        write_places(asked.places, asked.japanese, FOLDER / "towns.csv.xz")


def write_land(path: Path) -> None:
    """Write all land as polygons between -180 and 180 degrees, in whole steps of the source."""
    topology = land._topology()
    scale, shift = land._scale()
    arcs = topology["arcs"]

    def ring(numbers: list[int]) -> Any:
        lines = [np.cumsum(arcs[n if n >= 0 else ~n], axis=0)[:: 1 if n >= 0 else -1]
                 for n in numbers]  # fmt: skip
        whole = np.concatenate([lines[0], *(line[1:] for line in lines[1:])])
        return whole * scale + shift

    def lay(shape: Any) -> list[Any]:
        """Return a shape in steps: corners that lie on none move to one, and rings stay areas."""
        return of_area(shapely.set_precision(shapely.transform(shape, to_steps), 1.0))

    def to_steps(points: Any) -> Any:
        return (points - shift) / scale

    parts = []
    for one in topology["objects"]["land"]["geometries"]:
        for outer, *holes in one["arcs"] if one["type"] == "MultiPolygon" else [one["arcs"]]:
            rings = land._unroll(ring(outer), [ring(hole) for hole in holes])
            if len(rings[0]) < 4:
                parts += lay(islet(rings[0], scale))
                continue
            shape = shapely.make_valid(shapely.Polygon(rings[0], rings[1]))
            found = [part for whole in land.parts_within(shape) for part in lay(whole)]
            parts += found or lay(islet(rings[0], scale))
    at = shapely.get_coordinates(parts).astype(np.int32)
    _, _, (ring_ends, part_ends) = shapely.to_ragged_array(parts)
    steps = np.diff(at, axis=0, prepend=np.zeros((1, 2), np.int32))
    np.savez_compressed(
        path, x=steps[:, 0], y=steps[:, 1], rings=np.diff(ring_ends).astype(np.int32),
        parts=np.diff(part_ends).astype(np.int32), scale=scale, shift=shift,
    )  # fmt: skip


def islet(points: Any, scale: Any) -> Any:
    """Return the box, a step of the source larger each way, of what is no area on its lattice."""
    return shapely.box(*(points.min(axis=0) - scale), *(points.max(axis=0) + scale))


def of_area(shape: Any) -> list[Any]:
    """Return the polygons of a shape that are an area."""
    if shape.geom_type == "Polygon":
        return [shape] if shape.area > 0 else []
    if shape.geom_type in ("MultiPolygon", "GeometryCollection"):
        return [part for one in shape.geoms for part in of_area(one)]
    return []


def write_places(file: Path, japanese: Path, path: Path) -> None:
    """Write names of places, the most important ones first."""
    with japanese.open(encoding="utf-8", newline="") as lines:
        told = {}
        for row in csv.DictReader(lines):
            at = float(row["LONGITUDE"]), float(row["LATITUDE"])
            told.setdefault(row["NAMEASCII"], []).append((*at, row["NAME_JA"]))
    rows = []
    for one in json.loads(file.read_text(encoding="utf-8"))["features"]:
        said, (lon, lat) = one["properties"], one["geometry"]["coordinates"]
        if said["SCALERANK"] > MOST_RANK:
            continue
        own = JAPANESE.get(said["NAME"], "") if said["ADM0_A3"] == "JPN" else ""
        near = [name for x, y, name in told.get(said["NAMEASCII"], [])
                if abs(x - lon) < FAR and abs(y - lat) < FAR]  # fmt: skip
        rows.append((said["SCALERANK"], -said["POP_MAX"], f"{lon:.3f}", f"{lat:.3f}",
                     said["NAME"], own or next(iter(near), "")))  # fmt: skip
    text = io.StringIO()
    write = csv.writer(text, lineterminator="\n")
    write.writerow(["rank", "longitude", "latitude", "name", "japanese"])
    write.writerows((rank, *rest) for rank, _, *rest in sorted(rows))
    path.write_bytes(lzma.compress(text.getvalue().encode(), preset=9))
    print(f"{len(rows)} places")


if __name__ == "__main__":
    main()
