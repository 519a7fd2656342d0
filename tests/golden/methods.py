"""Every method on tiny grids of every form, with a fixed key and a fixed table.

A release is pinned by the SHA-256 of its keys and counts. Where a method works in floating point
on what another processor or library may round otherwise, its values are pinned instead, and
compared within a tolerance: see ``TOLERANCE``.
"""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import geodp
from geodp.grid.grid import Grid
from geodp.grid.hierarchy import Hierarchy
from geodp.grid.mask import blocks_of_array, mask_of_blocks
from geodp.grid.order import Order
from geodp.grid.units import grid_of_units
from geodp.mechanisms import Mechanism, mechanism
from geodp.privacy.key import NOISE_FORMAT, digest
from geodp.privacy.terms import NEIGHBOURS, Terms
from geodp.release.noise_identity import encode
from geodp.table.counts import CountTable

FILE = Path(__file__).with_name("methods.json")
REFUSED = "refused"
KEY = bytes(range(7, 39))

SETTINGS = {
    "agrid": ["alpha=1/4,c1=5,c2=2"],
    "barak": ["nonnegative=no", "order=0,nonnegative=no"],
    "dawa": ["rho=1/2,penalty=0,fanout=2"],
    "filter": ["theta=3"],
    "hay": ["fanout=3", "nonnegative=yes"],
    "matrix": ["strategy=identity", "strategy=wavelet", "strategy=tree", "workload=blocks"],
    "mwem": ["rounds=3,share=1/10,passes=5,average=yes"],
    "pyramid": [
        "setting=R",
        "setting=fine",
        "setting=flat",
        "setting=informed",
        "passes=1,prune=1",
        "chain=1-2-3,shares=1-2-3-4",
    ],
    "quadtree": ["height=2", "budget=uniform"],
    "ugrid": ["c=1,share=1/10"],
}
"""Settings of methods that have any, besides the default: pinned on plain grids."""

TOLERANCE = {
    "matrix": 0.05,
    "matrix:workload=blocks": 0.05,
    "matrix:strategy=identity": 1e-6,
    "matrix:strategy=wavelet": 1e-6,
    "matrix:strategy=tree": 1e-6,
    "mwem": 1e-6,
    "mwem:rounds=3,share=1/10,passes=5,average=yes": 1e-6,
}
"""Relative to the largest value, where libraries of linear algebra and exponentials have a say.

An optimised strategy is found by descent, and may differ by a little on another machine.
"""

LOOSE, FEW = 1e-3, 6
"""Optimised strategies are looked for on grids of at most ``2**6`` keys."""

ASKED = ("barak",)
"""Methods of which only the measurements are pinned: a linear program has many solutions."""

AMOUNTS = {"epsilon": {"epsilon": "1/2"}, "rho": {"rho": "1/8"}}


def grids() -> dict[str, Grid]:
    """Every order, mask and hierarchy; odd sizes, one axis to four, attributes everywhere."""
    odd = Grid.regular((5, 7))
    ages = odd.with_attribute("age", ["child", "adult", "old"])
    row, col = np.indices((5, 7))
    inside = (row - 2) ** 2 + (col - 3) ** 2 < 8
    official = Grid.mesh("inspire:10km", bounds=(4050000, 3060000, 4120000, 3110000))
    sexes = official.with_attribute("sex", ["f", "m"])
    land = np.argwhere((row + 2 * col) % 5 > 0).T
    codes = {"county": [f"{r // 3}" for r in land[0]], "town": [f"{c // 2}" for c in land[1]]}
    regions = Hierarchy.of_cells(land, codes, "made up")
    unit = np.arange(11)
    lists = {"block": unit, "tract": unit // 3, "county": unit // 6}
    units = grid_of_units({n: [f"{code:02d}" for code in lists[n]] for n in lists}, "made up")
    return {
        "one cell": Grid.regular((1, 1)),
        "line": Grid.regular((13,)),
        "square": Grid.regular((8, 8)),
        "odd": odd,
        "three axes": Grid.regular((3, 2, 5)),
        "pairs": Grid.regular((2, 3)).pairs(),
        "tens": Grid.regular((10,)).with_order(Order((0, 0), (2, 5))),
        "attribute below": ages,
        "attribute above": ages.with_attribute_order("above"),
        "attribute interleaved": ages.with_attribute_order("interleaved"),
        "mask": odd.with_mask(mask_of_blocks(odd, blocks_of_array(inside), "made up")),
        "mask, attribute": ages.with_mask(mask_of_blocks(ages, blocks_of_array(inside), "made up")),
        "official": official.with_official_order(),
        "official, attribute above": sexes.with_official_order("above"),
        "official, attribute under 100 km": sexes.with_official_order("inspire:100km"),
        "regions": odd.with_hierarchy(regions),
        "regions, attribute below": ages.with_hierarchy(regions),
        "regions, attribute above": ages.with_hierarchy(regions, "above"),
        "regions, attribute under county": ages.with_hierarchy(regions, "county"),
        "units": units,
        "units, attribute": units.with_attribute("age", ["child", "adult", "old"]),
    }


PLAIN = ("odd", "square", "attribute below")


def table_of(grid: Grid) -> CountTable:
    """Counts of a third of the cells, by a rule that no library can change."""
    index = np.indices(grid.shape).reshape(len(grid.shape), -1)
    index = index[:, grid.contains(index)]
    number = np.arange(index.shape[1])
    kept = number % 3 == number.size % 3 // 2
    count = (number**2 * 37 + number * 11 + 5) % 211
    return CountTable.from_index(grid, index[:, kept], count[kept])


def cases(name: str) -> Iterator[tuple[str, Mechanism, Grid, dict[str, str], str, int]]:
    """Name, method, grid, amounts, neighbours and contribution of every case of a method."""
    every = grids()
    specs = [name, *(f"{name}:{settings}" for settings in SETTINGS.get(name, ()))]
    for spec in specs:
        row = mechanism(spec)
        for where, grid in every.items():
            if spec != name and where not in PLAIN:
                continue
            if TOLERANCE.get(spec, 0) > LOOSE and grid.bits > FEW:  # slow, and sees no more
                continue
            for noise, amounts in AMOUNTS.items():
                if noise == "rho" and not row.gaussian:
                    continue
                uses = [(one, 1) for one in NEIGHBOURS]
                if where == "odd":
                    uses.append((NEIGHBOURS[0], 3))
                for neighbours, most in uses:
                    case = f"{spec} | {where} | {noise} | {neighbours} | {most}"
                    yield case, row, grid, amounts, neighbours, most


def pinned(row: Mechanism, grid: Grid, amounts: dict[str, str], neighbours: str, most: int) -> str:
    """What is kept of one release: its SHA-256, its values, its queries', or that it is refused."""
    if row.unsupported(grid) is not None:
        return REFUSED
    use = row.event(
        grid, Terms.of(**amounts, neighbours=neighbours, contribution=most), key_origin="fixed"
    )
    if row.explain_noise_limit(grid, use) is not None:
        return REFUSED
    if row.spec in ASKED:
        asked = tuple((query.stream, query.noise, query.what) for query in row.queries(grid, use))
        return digest(encode(asked)).hex()
    released = row.release(table_of(grid), use, geodp.NoiseKey(KEY))
    if row.spec in TOLERANCE:
        return " ".join(f"{value:.10g}" for value in released.to_dense().reshape(-1))
    return sha256(released.key, released.count)


def sha256(key: np.ndarray, count: np.ndarray) -> str:
    """Hash both arrays, little-endian, each after its type and length."""
    state = hashlib.sha256()
    for array in (key, count):
        kind = array.dtype.newbyteorder("<")
        state.update(f"{kind.str} {array.size}\n".encode() + array.astype(kind).tobytes())
    return state.hexdigest()


def made(names: list[str]) -> dict:
    """What the file should hold of some methods, from releases made now."""
    methods = {}
    for name in names:
        releases = {case: pinned(*rest) for case, *rest in cases(name)}
        row = geodp.METHODS[name]
        settings = {setting: str(value) for setting, value in row.settings}
        methods[name] = {"version": row.version, "settings": settings, "releases": releases}
    return {"noise_format": NOISE_FORMAT, "methods": methods}


def kept() -> dict:
    """What the file holds."""
    if not FILE.exists():
        return {"noise_format": "", "methods": {}}
    return json.loads(FILE.read_text(encoding="utf-8"))


def same(case: str, old: str, new: str) -> bool:
    """Whether a release is the pinned one."""
    spec = case.partition(" | ")[0]
    if spec not in TOLERANCE or REFUSED in (old, new):
        return old == new
    was, now = (np.array(text.split(), np.float64) for text in (old, new))
    return was.size == now.size and np.allclose(now, was, 0, TOLERANCE[spec] * abs(was).max())


def faults(old: dict, new: dict) -> list[str]:
    """What forbids to replace the old by the new: a sentence for every method.

    Bytes may change with the name of the noise format, and with a higher version of the method.
    """
    found = []
    for name, now in new["methods"].items():
        before = old["methods"].get(name)
        if before is None or old["noise_format"] != new["noise_format"]:
            continue
        if now["version"] < before["version"]:
            found.append(f"{name} has version {now['version']} after {before['version']}.")
        elif now["version"] == before["version"]:
            changed = [
                case
                for case, release in now["releases"].items()
                if case in before["releases"] and not same(case, before["releases"][case], release)
            ]
            if now["settings"] != before["settings"]:
                found.append(f"{name} has other settings or defaults: give it a higher version.")
            if changed:
                found.append(
                    f"{name} releases something else than version {now['version']} did, in "
                    f"{len(changed)} of {len(now['releases'])} cases, such as {changed[0]!r}: "
                    "give it a higher version, or take the change back."
                )
    return found
