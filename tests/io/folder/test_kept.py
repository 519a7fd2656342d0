"""What was drawn is kept whole, and read back for the same call alone."""

import os
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import geodp as package
from geodp.errors import UsageError
from geodp.io.folder import kept as kept_module
from geodp.io.folder.kept import Kept, keep, read_pending_draw, reserve, settle
from geodp.io.folder.kept_tables import pack_tables, unpack_reading, unpack_tables
from geodp.privacy.key import NOISE_FORMAT
from geodp.table.stated.reading import StatedCounts, StatedReading
from tests.refusals import refuses

GRID = package.Grid.regular((8, 8))


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


def charged(table, call, *, beside=None, others=()):
    """Return what is kept of drawn tables, as a run for a call does."""
    packed = pack_tables([table, *others], ("a fact",), beside or {})
    return Kept("a ledger", "its id", "stays", "f" * 64, call, {"told": 7}, *packed)


def write_kept(folder, table, call, **more):
    (folder / "restricted").mkdir(parents=True)
    reserve(folder, 10)
    keep(folder, charged(table, call, **more))
    settle(folder)


def read_tables(folder, call, grid=GRID):
    return unpack_tables(read_pending_draw(folder, call), grid, folder)


@pytest.mark.parametrize(
    "stated",
    [None, StatedReading(form="table", places={"code": "c"}, counts=(StatedCounts("n", ("f",)),))],
)
def test_how_the_input_was_read_is_kept(tmp_path, table, stated):
    packed = pack_tables([table], ("a fact",), {}, stated)
    kept = Kept("a ledger", "its id", "stays", "f" * 64, {}, {"told": 7}, *packed)
    (tmp_path / "restricted").mkdir(parents=True)
    reserve(tmp_path, 10)
    keep(tmp_path, kept)
    settle(tmp_path)
    assert unpack_reading(read_pending_draw(tmp_path, {}), tmp_path) == stated
    with pytest.raises(UsageError):
        unpack_reading(replace(kept, card={**kept.card, "reading": {"form": "?"}}), tmp_path)


def test_an_option_that_one_call_lacks_is_another_call(tmp_path, table):
    write_kept(tmp_path, table, {"epsilon": "1"})
    for call, name in (({}, "epsilon"), ({"epsilon": "1", "rho": "1"}, "rho")):
        with refuses(UsageError, f"resumed-options-differ: --{name};"):
            read_pending_draw(tmp_path, call)


def test_another_grid_and_another_version_are_refused(tmp_path, table, monkeypatch):
    write_kept(tmp_path, table, {})
    with refuses(UsageError, r"resumed-part-differs: \bgrid\b"):
        read_tables(tmp_path, {}, package.Grid.regular((8, 9)))
    assert kept_module.name_maker() == f"{package.__version__}, {NOISE_FORMAT}"
    monkeypatch.setattr(kept_module, "name_maker", lambda: "other")
    with refuses(UsageError, r"resumed-part-differs: another geodp\b"):
        read_pending_draw(tmp_path, {})


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
    write_kept(tmp_path, table, {}, beside=more)
    (found,), _, beside = read_tables(tmp_path, {})
    assert found.event == table.event
    for name in ("epsilon", "rho", "delta"):
        assert type(getattr(found.event, name)) is type(getattr(table.event, name))
    assert np.array_equal(found.key, table.key)
    assert np.array_equal(found.count, table.count)
    assert {name: beside[name].tolist() for name in beside} == {
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
    "no counts": change_arrays(counts=None),
    "another head": change_arrays(head=np.frombuffer(b"[1, 2]", np.uint8)),
    "no JSON": change_arrays(head=np.frombuffer(b"{", np.uint8)),
    "objects": change_arrays(keys=np.array([{}, {}], object)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_cannot_be_read_back_is_refused_in_a_sentence(tmp_path, table, damage):
    write_kept(tmp_path, table, {})
    DAMAGES[damage](tmp_path / "restricted" / "released.npz")
    with refuses(UsageError, r"interrupted-not-read-back: released\.npz"):
        read_tables(tmp_path, {})


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="files take space as POSIX has it")
@pytest.mark.parametrize("cells", [0, 1, 5000])
def test_space_for_the_table_is_taken_before_the_charge(tmp_path, cells):
    (tmp_path / "restricted").mkdir()
    reserve(tmp_path, cells)
    (draft,) = (tmp_path / "restricted").iterdir()
    status = draft.stat()
    assert status.st_size == 16 * cells + 65536
    assert status.st_blocks * 512 >= status.st_size


def test_tables_of_a_series_are_kept_in_the_order_of_time(tmp_path, table):
    tables = [table, drawn(10), drawn(20)]
    write_kept(tmp_path, table, {}, others=tables[1:])
    found, _, _ = read_tables(tmp_path, {})
    for one, other in zip(tables, found, strict=True):
        assert np.array_equal(one.key, other.key)
        assert np.array_equal(one.count, other.count)
