"""Releases between zones of every form, each made once a run, and files changed by a forger."""

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pytest

import geodp
from geodp.grid.axes import Attribute
from geodp.grid.region import Region
from geodp.io.folder.manifest import sha256, sums_text
from geodp.io.verify.verify import verify
from geodp.kinds.flows import pair_errors
from geodp.kinds.flows.zones import Zones, pairs_of, zones_of
from geodp.release.opening import errors_of
from tests.kinds.flows.masks import coast, masked, masked_trips
from tests.kinds.flows.test_publish import MESH, trips_on
from tests.kinds.flows.units import make_units, middles, other_table, unit_table

HOURS, MODES = tuple(map(str, range(24))), ("walk", "car")
HOUR, MODE = Attribute("hour", HOURS), Attribute("mode", MODES)
UNITS, CODES = make_units()
TOWNS = make_units(town=[f"t{at // 14}" for at in range(42)])[0]
ON_MASK = coast(MESH)


def by_label(table, *attributes, seed=3):
    """The same trips with labels, which are later ones where trips begin farther in the east."""
    draw, grid = np.random.default_rng(seed), zones_of(table.grid)
    index = np.repeat(table.grid.decode(table.key), np.asarray(table.count), axis=1)
    east = np.arange(grid.shape[1]) if grid.names.on_map else middles(grid)[:, 0]
    start, labels = 2 * (east[index[1]] - east.min()) / np.ptp(east), []
    for one in attributes:
        middle = len(one.labels) * (1 + start) / 4
        drawn = np.rint(draw.normal(middle, len(one.labels) / 8)).astype(int)
        labels.append(drawn % len(one.labels))
    index = np.stack([*index, *labels])
    count = np.ones(index.shape[1], np.int64)
    return geodp.CountTable.from_index(pairs_of(grid, attributes), index, count)


@contextlib.contextmanager
def sample_few_pairs() -> Iterator[None]:
    """Let releases state errors by few pairs of each size, which takes most of a small one's time.

    Pinned folders and the tests of these errors sample as many as releases do.
    """
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pair_errors, "SAMPLED", 3)
        yield


@dataclass(frozen=True)
class Form:
    """Trips between zones of one form.

    Attributes
    ----------
    trips : callable
        Makes the table of their pairs; takes a seed.
    labels : mapping
        Labels that are asked for.
    prior : str
        The form whose trips, of another seed, are its prior; "": it has none.
    """

    trips: Callable[[int], geodp.CountTable]
    labels: Mapping[str, object] = field(default_factory=dict)
    prior: str = ""


FORMS = {
    "square": Form(lambda seed: trips_on(seed=seed)),
    "mesh": Form(lambda seed: trips_on(MESH, seed)),
    "mask": Form(lambda seed: masked_trips(ON_MASK, seed)),
    "odd mask": Form(lambda seed: masked_trips(coast(geodp.Grid.regular((5, 11))), seed, 5000)),
    "narrow mask": Form(
        lambda seed: masked_trips(
            masked(geodp.Grid.regular((1, 40)), np.arange(40)[None] % 7 > 1), seed, 5000
        )
    ),
    "units": Form(lambda seed: unit_table(UNITS, seed=seed)),
    "towns": Form(lambda seed: unit_table(TOWNS, seed=seed)),
    "other": Form(lambda seed: other_table(UNITS, seed=seed)),
    "hours": Form(lambda seed: by_label(trips_on(seed=seed), HOUR), {"hour": [8, 9]}),
    "labels": Form(lambda seed: by_label(trips_on(MESH, seed), HOUR, MODE), {"mode": "car"}),
    "labels of units": Form(
        lambda seed: by_label(unit_table(UNITS, 20_000, seed), HOUR, MODE), {"mode": "car"}
    ),
    "prior": Form(lambda seed: trips_on(seed=seed), prior="square"),
    "prior of units": Form(lambda seed: unit_table(UNITS, seed=seed), prior="units"),
    "prior by label": Form(
        lambda seed: by_label(unit_table(UNITS, seed=seed), MODE), prior="labels of units"
    ),
}


def make(shared, name, seed=3, **more):
    """Return the release of a form, made once a run for each seed and key."""
    form = FORMS[name]
    given = {"contribution": 3, "epsilon": 1} | more
    if form.prior:
        given |= {"prior": FORMS[form.prior].trips(4), "prior_source": "a census"}
    return shared.make(
        f"flows: {name}, {seed}, {more}", lambda: geodp.flows.publish(form.trips(seed), **given)
    )


def block_regions(grid, side):
    """The zones of each block, as regions."""
    zones = Zones.of(grid)
    of_zone = zones.blocks(side).of_zone
    return [Region(grid, np.sort(zones.key[of_zone == one])) for one in np.unique(of_zone)]


def count_between(table, pairs, labels=()):
    """True trips between pairs of regions, of some labels of some attributes."""
    grid = zones_of(table.grid)
    index, found = table.grid.decode(table.key), []
    ends = [grid.encode(index[at : at + 2]) for at in (0, 2)]
    chosen = np.ones(table.key.size, bool)
    for number, one in enumerate(table.grid.attributes):
        asked = dict(labels).get(one.name, one.labels)
        asked = {*map(str, asked)} if isinstance(asked, list | tuple) else {asked}
        chosen &= np.isin(index[4 + number], [one.labels.index(label) for label in asked])
    for pair in pairs:
        inside = [np.isin(end, region.key) for end, region in zip(ends, pair, strict=True)]
        found.append(int(table.count[inside[0] & inside[1] & chosen].sum()))
    return found


def failed(public):
    """Checks that fail, with what they say."""
    return {one.name: one.detail for one in verify(public, errors_of) if not one.ok}


def list_sums(public):
    """Write the checksums again, as somebody who changes files would."""
    files = [one for one in public.rglob("*") if one.is_file() and one != public / "SHA256SUMS"]
    sums = {path.relative_to(public).as_posix(): sha256(path) for path in files}
    (public / "SHA256SUMS").write_text(sums_text(sums), encoding="utf-8", newline="\n")


def change_index(public, change=lambda card: None):
    """Change the index, with the digests of the files and all checksums as they are now."""
    path = public / "flows.json"
    card = json.loads(path.read_text())
    for file in card["files"]:
        file["sha256"] = sha256(public / file["name"])
    change(card)
    path.write_text(json.dumps(card))
    list_sums(public)
