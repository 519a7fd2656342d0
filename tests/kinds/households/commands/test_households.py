"""``geodp households publish``: read in every way, charged once, written whole, resumed."""

import json

import numpy as np
import pytest

import geodp as package
from geodp.kinds.households.commands.households import publish
from tests.command import Runner, geodp, override
from tests.kinds.households.test_publish import LABELS, MEANS, sizes_on
from tests.kinds.households.test_publish import publish as publish_release

RUNNER = Runner(publish)
GRID = ("--grid", "regular:8x8", "--x", "x", "--y", "y", "--anchor", "index")
TERMS = ("--epsilon", "1", "--contribution", "1")
MESH = package.Grid.mesh("jis:basic", bounds=(139, 35, 139.125, "35.0833333333"))
COUNTS = np.random.default_rng(4).poisson(6 * MEANS, (8, 8, 7))
PERSONS, HOMES = (COUNTS * np.arange(1, 8)).sum(-1), COUNTS.sum(-1)


def write_table(path, columns):
    lines = [",".join(["x", "y", *columns])]
    for y in range(8):
        for x in range(8):
            lines.append(",".join(map(str, [x, y, *(one[y, x] for one in columns.values())])))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def call(tmp_path):
    census = write_table(tmp_path / "census.csv", {"persons": PERSONS, "homes": HOMES})
    columns = ("--value", "persons", "--households", "homes")
    return [census, *columns, *GRID, *TERMS, "--protect", "person", "--output", tmp_path / "out"]


@pytest.fixture
def by_size(tmp_path):
    columns = {f"s{label}": COUNTS[..., i] for i, label in enumerate(LABELS)}
    sizes = write_table(tmp_path / "sizes.csv", columns)
    columns = [f"--value={label}=s{label}" for label in LABELS]
    return [sizes, "--by", "size", *columns, *GRID, *TERMS, "--output", tmp_path / "out"]


def instead(*words):
    """Return a call in which only the last of several values of an option is left."""
    return override("households", "publish", *words)[2:]


def run(*words):
    done = geodp("households", "publish", *words)
    assert done.returncode == 0, done.stderr
    return done


def opened(tmp_path):
    release = package.open(tmp_path / "out")
    return release.persons.table.to_dense(), release.households.table.to_dense()


def test_two_files_are_the_same(call, tmp_path):
    one = write_table(tmp_path / "persons.csv", {"n": PERSONS})
    other = write_table(tmp_path / "homes.csv", {"n": HOMES})
    words = [one, "--value", "n", "--households-file", other, *call[5:]]
    run(*instead(*words, "--epsilon", "1000000"))
    assert np.array_equal(opened(tmp_path), [PERSONS, HOMES])
    run_document = json.loads((tmp_path / "out" / "restricted" / "run.json").read_text())
    assert len(run_document["inputs"]) == 2


def test_persons_outside_households_are_a_third_table(call, by_size, tmp_path):
    write_table(tmp_path / "census.csv", {"persons": PERSONS, "homes": HOMES, "inst": HOMES % 9})
    run(*instead(*call, "--others", "inst", "--epsilon", "1000000"))
    release = package.open(tmp_path / "out")
    assert np.array_equal(release.others.table.to_dense(), HOMES % 9)
    other = write_table(tmp_path / "inst.csv", {"n": HOMES % 5})
    words = ("--others-file", other, "--others", "n", "--epsilon", "1000000", "--overwrite")
    run(*instead(*call, *words))
    assert np.array_equal(package.open(tmp_path / "out").others.table.to_dense(), HOMES % 5)
    again = (*by_size, "--overwrite", "--protect", "person")
    error = RUNNER.error_of(*again, "--others", "s1")
    assert "--others goes with persons and households in two columns" in error
    # Before anything is read: the file is none of this census.
    words = [tmp_path / "inst.csv", *again[1:], "--others", "s1"]
    assert "--others goes with persons and households" in RUNNER.error_of(*words)


@pytest.fixture
def records(tmp_path):
    """A row for each person, with an id of the household: COUNTS, one by one."""
    lines, number = ["id,lon,lat"], 0
    for (y, x, size), homes in np.ndenumerate(COUNTS):
        for _ in range(homes):
            lines += [f"h{number},{x + 0.5},{y + 0.5}"] * (size + 1)
            number += 1
    path = tmp_path / "persons.csv"
    path.write_text("\n".join(lines) + "\n")
    place = ("--points", "--x", "lon", "--y", "lat", "--household", "id")
    square = ("--crs", "EPSG:3035", "--cell", "1", "--origin", "0", "0")
    return [path, *place, "--grid", "regular:8x8", *square, *TERMS, "--output", tmp_path / "out"]


def test_records_and_sizes_are_not_named_twice(records, call, by_size):
    error = RUNNER.error_of(*by_size, "--protect", "person", "--households", "s1")
    assert "have persons already" in error
    for more in (("--households", "id"), ("--person", "id")):
        error = RUNNER.error_of(*records, "--protect", "person", *more)
        assert "have sizes and persons already" in error
    error = RUNNER.error_of(*call[:3], *call[5:], "--household", "homes")
    assert "Not for points: --value" in error
    assert "Say where the households are" in RUNNER.error_of(*call[:3], *call[5:])


def test_limits_on_the_records_of_one_table_are_refused(records, tmp_path):
    """Truncation keeps a cell of every person and table: one person would change three counts."""
    other = tmp_path / "other.csv"
    other.write_text("id,lon,lat\nh1,0.5,0.5\n")
    place = [word for word in records if word not in ("--household", "id")]
    limits = ("--households-file", other, "--person", "id", "--cells", "1")
    error = RUNNER.error_of(*place, "--protect", "person", *limits)
    assert "leave --person, --cells, --per-cell and --truncation out" in error
    assert not (tmp_path / "out").exists()


def test_the_error_of_persons_does_not_tell_how_many_households_are_hidden(tmp_path):
    terms = {"by_size": sizes_on(MESH), "key": package.NoiseKey(bytes(32))}
    persons = publish_release(**terms).estimate("523940").persons.count
    release = publish_release(**terms, metadata={"display_below": persons})
    release.write(tmp_path / "out")
    done = geodp("estimate", tmp_path / "out", "--area", "523940")
    assert done.returncode == 0, done.stderr
    shown, hidden = (line.split() for line in done.stdout.splitlines()[1:3])
    assert shown == ["523940", "persons", f"{persons:,}", "\N{EN DASH}"]
    assert hidden == ["households", f"<{persons:,}", "\N{EN DASH}"]
