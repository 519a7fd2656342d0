"""What is kept of a unit is what its own records give: in all readers, without labels and with."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import geodp
from geodp.kinds.flows.reading.stays import Pings, Stays
from geodp.kinds.flows.reading.trips import Trips
from geodp.privacy.key import NoiseKey
from tests.kinds.flows.reading import test_pings, test_stays
from tests.kinds.flows.worlds import GRID, WHERE

KEY = NoiseKey(bytes(range(32)))
LABELS = {"mode": ("walk", "car", "train"), "goal": ("work", "home")}


def made_trips(number=600):
    """Trips of persons in four days."""
    draw = np.random.default_rng(5)
    rows = {"id": [f"p{n}" for n in draw.integers(0, 25, number)]}
    rows |= {name: draw.integers(0, 2, number) for name in ("oy", "ox", "dy", "dx")}
    times = pa.array(draw.integers(1_714_521_600, 1_714_867_200, number))
    return pa.table(rows | {"t": times.cast(pa.timestamp("s"))})


def labelled(rows, seed=0):
    """The same rows with labels of both attributes."""
    draw = np.random.default_rng(seed)
    for name, labels in LABELS.items():
        rows = rows.append_column(name, pa.array(draw.choice(labels, rows.num_rows).tolist()))
    return rows


READERS = {
    "trips": (Trips, {"grid": GRID, **WHERE}, labelled(made_trips())),
    "pings": (
        Pings,
        {"grid": test_pings.MESH, **test_pings.WHERE},
        labelled(test_pings.made(8, persons=16, rows=300)),
    ),
    "stays": (
        Stays,
        {"grid": GRID, **test_stays.WHERE, "end": "u"},
        labelled(test_stays.made(5, 1000)),
    ),
}
any_reader = pytest.mark.parametrize("name", READERS)


@pytest.fixture(params=[False, True], ids=["plain", "labels"])
def by(request, name):
    """How labels are read: of trips that are made of records with the hours of the departure."""
    attributes = ("mode", "goal") if name == "trips" else ("mode", "hour", "goal")
    return {"by": attributes, "labels": LABELS} if request.param else {}


def read(name, rows, **given):
    kind, where, _ = READERS[name]
    if given.get("unit", "person") != "person":
        where = {**where, "time": "t"}
    return kind(**where, key=KEY, **given).read(rows)


def count(table):
    """Return how often each pair of zones, with its labels, is travelled."""
    return Counter(dict(zip(table.key.tolist(), table.count.tolist(), strict=True)))


def split(name, rows, unit):
    """Yield the rows of each person, or of each day alone."""
    if unit == "person":
        for one in set(rows["id"].to_pylist()):
            yield rows.filter(pa.compute.equal(rows["id"], one))
        return
    for day in range(1_714_500_000 // 86_400, 1_715_200_000 // 86_400):
        if name == "stays":
            yield test_stays.restrict(rows, day)
        else:
            days = pa.compute.floor(pa.compute.divide(rows["t"].cast(pa.int64()), 86_400))
            yield rows.filter(pa.compute.equal(days, day))


@any_reader
@pytest.mark.parametrize(
    ("unit", "parts"),
    [
        ("person", "person"),
        ("person-day", "person"),
        ("person-day", "day"),
        ("person-week", "person"),
    ],
)
def test_what_is_kept_of_all_is_what_is_kept_of_each_alone(name, by, unit, parts, tmp_path):
    """Nobody interferes with anybody, nor one day with another, in any order and memory."""
    rows, given, alone = READERS[name][2], {"trips": 2, "unit": unit, **by}, Counter()
    for own in split(name, rows, parts):
        alone += count(read(name, own, **given))
    assert alone.total() > 15
    assert count(read(name, rows, **given)) == alone
    mixed = rows.take(np.random.default_rng(1).permutation(rows.num_rows))
    spilled = {"memory": "1MiB", "scratch": tmp_path}
    assert count(read(name, mixed, **given, **spilled)) == alone
    if name != "trips":  # copies of records are one
        assert count(read(name, pa.concat_tables([rows, mixed]), **given)) == alone


@any_reader
def test_labels_of_other_persons_change_no_trip_of_a_person(name):
    """The choice of trips and their labels are the same, whatever labels others have."""
    rows, by, found = READERS[name][2], {"by": tuple(LABELS), "labels": LABELS}, []
    ((most, _),) = Counter(rows["id"].to_pylist()).most_common(1)
    first = pa.compute.equal(rows["id"], most).to_numpy()
    draw = np.random.default_rng(4).choice(LABELS["mode"], rows.num_rows)
    own = np.where(first, rows["mode"].to_numpy(), draw).tolist()
    changed = rows.set_column(rows.column_names.index("mode"), "mode", pa.array(own))
    for table in (rows, changed):
        whole = count(read(name, table, trips=3, **by))
        whole.subtract(count(read(name, table.filter(pa.array(~first)), trips=3, **by)))
        found.append(+whole)
    assert found[0] == found[1]
    assert found[0].total() > 1


@any_reader
def test_whole_flows_are_those_without_labels(name):
    rows, by = READERS[name][2], {"by": tuple(LABELS), "labels": LABELS}
    plain, table = (read(name, rows, trips=10**4, **given) for given in ({}, by))
    index = table.grid.decode(table.key)[:4]
    assert count(geodp.CountTable.from_index(plain.grid, index, table.count)) == count(plain)
