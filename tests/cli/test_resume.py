"""``--resume`` completes a run for the same call alone: all that settles a release is compared."""

import csv
import json
import os
from fractions import Fraction

import numpy as np
import pytest

import geodp as package
from geodp.cli import geodp as command_line
from geodp.cli.running import describe_call
from geodp.errors import UsageError
from geodp.io.folder import kept as kept_module
from geodp.io.folder import series as series_folder
from geodp.io.folder import staged_release
from geodp.io.folder.kept import Kept, keep, read_kept, reserve
from geodp.io.folder.series import StagedSeries
from geodp.privacy.ledger import Ledger
from tests.command import context_of, geodp
from tests.keys import keep as keep_key

GRID = package.Grid.regular((8, 8))
CELLS = ["--grid", "regular:8x8", "--value", "n", "--x", "x", "--y", "y", "--anchor", "index"]

CARRIED_OUT = {
    *("output", "overwrite", "resume", "memory", "scratch", "pad_time", "profile", "as_json"),
    *("cluster", "workers", "key_folder", "trust_cluster", "formats"),
}
"""Options that may differ: they say where and how a run is carried out, and no byte of a release
follows from them."""


def params_of(command):
    """Return all parameters of a command, those of readers among them."""
    return command.get_params(context_of(command))


EACH = {
    name: [str(one.name) for one in params_of(command_line.commands[name]) if one.name != "help"]
    for name in ("publish", "publish-series")
}


def drawn(number=0, **terms):
    budget = terms or {"epsilon": Fraction(2, 7)}
    event = package.publish(
        package.CountTable.from_dense(np.ones((8, 8), int), GRID), contribution=1, **budget
    ).event
    return package.ReleasedTable(
        GRID, np.arange(4, dtype=np.uint64), np.arange(1, 5) + number, event
    )


@pytest.fixture(scope="module")
def table():
    return drawn()


def write_kept(folder, table, call):
    (folder / "restricted").mkdir(parents=True)
    reserve(folder, 10)
    keep(folder, Kept(table, "f" * 64, call, ("a fact",), {"told": 7}))


@pytest.mark.parametrize("command", EACH)
def test_every_option_that_settles_a_release_is_compared(tmp_path, table, command):
    options = dict.fromkeys(EACH[command])
    write_kept(tmp_path, table, describe_call(options))
    found = read_kept(tmp_path, GRID, describe_call(options))
    assert (found.fingerprint, found.public_facts) == ("f" * 64, ("a fact",))
    assert (found.event, dict(found.run)) == (table.event, {"told": 7})
    for option in options:
        other = describe_call({**options, option: "another"})
        if option in CARRIED_OUT:
            assert read_kept(tmp_path, GRID, other).fingerprint == "f" * 64
        else:
            with pytest.raises(UsageError, match=f"had other --{option.replace('_', '-')};"):
                read_kept(tmp_path, GRID, other)


def test_an_option_that_one_call_lacks_is_another_call(tmp_path, table):
    write_kept(tmp_path, table, {"epsilon": "1"})
    for call, name in (({}, "epsilon"), ({"epsilon": "1", "rho": "1"}, "rho")):
        with pytest.raises(UsageError, match=f"had other --{name};"):
            read_kept(tmp_path, GRID, call)


def test_another_grid_and_another_version_are_refused(tmp_path, table, monkeypatch):
    write_kept(tmp_path, table, {})
    with pytest.raises(UsageError, match="had another grid;"):
        read_kept(tmp_path, package.Grid.regular((8, 9)), {})
    for name in ("__version__", "NOISE_FORMAT"):
        with monkeypatch.context() as patched:
            patched.setattr(kept_module, name, "other")
            with pytest.raises(UsageError, match="had another geodp;"):
                read_kept(tmp_path, GRID, {})


@pytest.mark.parametrize(
    "terms",
    [
        {"epsilon": Fraction(2, 7)},
        {"rho": Fraction(1, 7)},
        {"rho": Fraction(1, 7), "delta": Fraction(1, 10**7)},
    ],
)
def test_what_was_charged_is_read_back_exactly(tmp_path, terms):
    table = drawn(**terms)
    more = {"node0": np.arange(3), "value0": np.array([-1, 2, 5])}
    (tmp_path / "restricted").mkdir()
    reserve(tmp_path, 10)
    keep(tmp_path, Kept(table, "f" * 64, {}, (), {}, more))
    found = read_kept(tmp_path, GRID, {})
    assert found.event == table.event
    for name in ("epsilon", "rho", "delta"):
        assert type(getattr(found.event, name)) is type(getattr(table.event, name))
    assert np.array_equal(found.table.key, table.key)
    assert np.array_equal(found.table.count, table.count)
    assert {name: found.measured[name].tolist() for name in found.measured} == {
        name: array.tolist() for name, array in more.items()
    }


def change_arrays(**changed):
    """Return a damage that writes some arrays anew, or leaves them out."""

    def damage(path):
        with np.load(path) as file:
            arrays = {name: file[name] for name in file.files} | changed
        np.savez(path, **{name: one for name, one in arrays.items() if one is not None})

    return damage


DAMAGES = {
    "no zip": lambda path: path.write_bytes(b"PK\x03\x04 and no more"),
    "empty": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:700]),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "no head": change_arrays(head=None),
    "no counts": change_arrays(count=None),
    "another head": change_arrays(head=np.frombuffer(b"[1, 2]", np.uint8)),
    "no JSON": change_arrays(head=np.frombuffer(b"{", np.uint8)),
    "objects": change_arrays(key=np.array([{}, {}], object)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_cannot_be_read_back_is_refused_in_a_sentence(tmp_path, table, damage):
    write_kept(tmp_path, table, {})
    DAMAGES[damage](tmp_path / "restricted" / "released.npz")
    with pytest.raises(UsageError, match=r"released\.npz cannot be read back; restore it, or rem"):
        read_kept(tmp_path, GRID, {})


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="files take space as POSIX has it")
@pytest.mark.parametrize("cells", [0, 1, 5000])
def test_space_for_the_table_is_taken_before_the_charge(tmp_path, cells):
    (tmp_path / "restricted").mkdir()
    reserve(tmp_path, cells)
    (draft,) = (tmp_path / "restricted").iterdir()
    status = draft.stat()
    assert status.st_size == 16 * cells + 65536
    assert status.st_blocks * 512 >= status.st_size


@pytest.fixture
def office(tmp_path):
    """Two months of people, and a ledger."""
    for number, month in enumerate(("2024-01", "2024-02", "2024-03")):
        rows = "".join(f"{x},{y},{20 + x + number}\n" for x in range(8) for y in range(8))
        (tmp_path / f"{month}.csv").write_text(f"x,y,n\n{rows}")
    file = tmp_path / "office.ledger"
    into = ["--ledger", file, "--dataset", "stays"]
    assert geodp("budget", "init", *into, "--epsilon", 9).returncode == 0
    return [*CELLS, "--epsilon", "1", "--contribution", "1", *into, "--output", tmp_path / "out"]


def interrupt(monkeypatch, place, name, *call):
    """Run a command whose disk is full once the table is kept."""

    def fail(*_given, **_more):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(place, name, fail)
        done = geodp(*call)
    assert done.returncode == 1, done
    assert "--resume completes" in done.stderr


def charges(tmp_path):
    return Ledger.open(tmp_path / "office.ledger").charges("stays")


PUBLISH = {
    "epsilon": ["--epsilon", "2"],
    "method": ["--method", "laplace"],
    "neighbours": ["--neighbours", "replace-one"],
    "contribution": ["--contribution", "2"],
    "unit": ["--unit", "household"],
    "value": ["--value", "x"],
    "stop-at": ["--stop-at", "2"],
    "inputs": ["2024-02.csv"],
}


def count_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return {row["code"]: int(row["population"]) for row in csv.DictReader(file)}


def test_an_interrupted_release_is_completed_by_its_own_call_alone(office, tmp_path, monkeypatch):
    first = tmp_path / "2024-01.csv"
    drawn_tables = []
    real = kept_module.keep

    def watch(folder, kept):
        drawn_tables.append(kept.table)
        real(folder, kept)

    monkeypatch.setattr(staged_release, "keep", watch)
    interrupt(monkeypatch, staged_release, "write_public", "publish", first, *office)
    (waiting,) = (path for path in tmp_path.iterdir() if path.name.endswith(".partial"))
    before = (waiting / "restricted" / "released.npz").read_bytes()
    for name, more in PUBLISH.items():
        given = [tmp_path / more[0]] if name == "inputs" else [first]
        done = geodp("publish", *given, *office, *(more if name != "inputs" else ()), "--resume")
        assert (done.returncode, f"had other --{name};" in done.stderr) == (2, True), done
        assert (waiting / "restricted" / "released.npz").read_bytes() == before
    assert len(charges(tmp_path)) == 1
    done = geodp("publish", first, *office, "--resume")
    assert done.returncode == 0, done.stderr
    assert len(charges(tmp_path)) == 1
    (table,) = drawn_tables
    index = table.grid.decode(table.key)
    expected = {
        f"{row}_{col}": count
        for row, col, count in zip(*index.tolist(), table.count.tolist(), strict=True)
    }
    assert count_of(tmp_path / "out" / "public" / "population.csv") == expected
    card = json.loads((tmp_path / "out" / "public" / "release.json").read_text())
    assert card["guarantee"]["epsilon"] == "1"
    assert card["budget"]["spent"]["epsilon"] == "1"


@pytest.mark.parametrize("command", ["publish", "publish-series"])
def test_a_table_that_cannot_be_kept_is_published_all_the_same(
    office, tmp_path, monkeypatch, command
):
    def fail(*_given):
        raise OSError(28, "No space left on device")

    for place in (staged_release, series_folder):
        monkeypatch.setattr(place, "keep", fail)
    given = [tmp_path / "2024-01.csv"]
    if command == "publish-series":
        given = [f"{month}={tmp_path / month}.csv" for month in ("2024-01", "2024-02")]
        given += ["--person-in", "all"]
    done = geodp(command, *given, *office)
    assert done.returncode == 0, done.stderr
    assert len(charges(tmp_path)) == 1
    assert geodp("verify", tmp_path / "out").returncode == 0


SERIES = {
    "person-in": ["--person-in", "one"],
    "noise": ["--noise", "laplace"],
    "smooth": ["--smooth", "none"],
    "epsilon": ["--epsilon", "2"],
    "inputs": ["2024-03=2024-03.csv"],
}


def test_an_interrupted_series_is_completed_by_its_own_call_alone(office, tmp_path, monkeypatch):
    months = [f"{month}={tmp_path / month}.csv" for month in ("2024-01", "2024-02")]
    call = [*office, "--person-in", "all"]
    interrupt(monkeypatch, series_folder, "write_public", "publish-series", *months, *call)
    for name, more in SERIES.items():
        given = [months[0], f"2024-02={tmp_path / '2024-03.csv'}"] if name == "inputs" else months
        asked = [*call, *(more if name != "inputs" else ()), "--resume"]
        done = geodp("publish-series", *given, *asked)
        assert (done.returncode, f"had other --{name}" in done.stderr) == (2, True), done
    assert len(charges(tmp_path)) == 1
    assert geodp("publish-series", *months, *call, "--resume").returncode == 0
    (line,) = charges(tmp_path)
    assert line.loss.epsilon == Fraction(1)


def test_tables_of_a_series_are_kept_in_the_order_of_time(tmp_path, table):
    (tmp_path / "restricted").mkdir()
    place = StagedSeries(tmp_path, tmp_path / "out", GRID, "population")
    tables = [table, drawn(10), drawn(20)]
    reserve(tmp_path, 100)
    place.keep(Kept(table, "f" * 64, {"epsilon": "1"}, (), {}), tables)
    kept, found = place.kept({"epsilon": "1"})
    assert kept.fingerprint == "f" * 64
    for one, other in zip(tables, found, strict=True):
        assert np.array_equal(one.key, other.key)
        assert np.array_equal(one.count, other.count)
    with pytest.raises(UsageError, match="had other --epsilon;"):
        place.kept({"epsilon": "2"})


def public_bytes(folder):
    public = folder / "public"
    files = (path for path in sorted(public.rglob("*")) if path.is_file())
    return {path.relative_to(public).as_posix(): path.read_bytes() for path in files}


def run_of(folder):
    run = json.loads((folder / "restricted" / "run.json").read_text(encoding="utf-8"))
    run.pop("seconds", None)
    return run


WHOLE = {
    "a table": ("publish", []),
    "a guess of people": ("publish", ["--people", "5000"]),
    "measurements": ("publish", ["--measurements", "--measurements-complete-to", "4"]),
    "totals": ("publish", ["--public-totals", "totals.csv", "--public-totals-source", "a law"]),
    "a prior": ("publish", ["--prior", "2024-03.csv", "--prior-source", "a map"]),
    "what an office says": ("publish", ["--metadata", "office.toml", "--display-below", "30"]),
    "a series": ("publish-series", ["--person-in", "all"]),
    "a Gaussian series": (
        "publish-series",
        ["--person-in", "one", "--noise", "gaussian", "--delta", "1e-6", "--smooth", "forward"],
    ),
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_resumed_run_writes_what_it_would_have_written(office, tmp_path, monkeypatch, name):
    command, more = WHOLE[name]
    monkeypatch.chdir(tmp_path)
    regions = "".join(f"{y}_{x},{'ab'[x // 4]}\n" for x in range(8) for y in range(8))
    (tmp_path / "regions.csv").write_text(f"cell,city\n{regions}")
    totals = {"ab"[half]: sum(20 + x for x in range(4 * half, 4 * half + 4)) * 8 for half in (0, 1)}
    text = "".join(f"{city},{total}\n" for city, total in totals.items())
    (tmp_path / "totals.csv").write_text(f"city,total\n{text}")
    (tmp_path / "office.toml").write_text('publisher = "An office"\n')
    into = ["--ledger", tmp_path / "office.ledger", "--dataset", "stays"]
    geodp("budget", "init", *into[:2], "--dataset", "other", "--epsilon", 9, "--delta", "1e-3")
    keep_key(tmp_path / "key")
    given = ["2024-01.csv"]
    if command == "publish-series":
        given = [f"{month}={month}.csv" for month in ("2024-01", "2024-02")]
    if name == "totals":
        more = [*more, "--regions", "regions.csv", "--regions-source", "a law"]
    call = [command, *given, *office, *more, "--key-file", "key", "--dataset", "other"]
    place = series_folder if command == "publish-series" else staged_release
    interrupt(monkeypatch, place, "write_public", *call)
    if name == "totals":
        (tmp_path / "totals.csv").write_text("city,total\na,1\nb,2\n")
        done = geodp(*call, "--resume")
        assert (done.returncode, "had other public totals" in done.stderr) == (2, True), done
        (tmp_path / "totals.csv").write_text(f"city,total\n{text}")
    done = geodp(*call, "--resume")
    assert done.returncode == 0, done.stderr
    again = geodp(*call, "--output", tmp_path / "again")
    assert again.returncode == 0, again.stderr
    assert len(Ledger.open(tmp_path / "office.ledger").charges("other")) == 1
    assert public_bytes(tmp_path / "out") == public_bytes(tmp_path / "again")
    assert run_of(tmp_path / "out") == run_of(tmp_path / "again")
    assert {"inputs", "occupied_cells", "people", "released_people"} <= run_of(
        tmp_path / "out"
    ).keys()
    assert [
        path for path in (tmp_path / "out" / "restricted").iterdir() if "npz" in path.name
    ] == []
