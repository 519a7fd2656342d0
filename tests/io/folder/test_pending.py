"""What was drawn is kept whole, and read back for the same call alone."""

import os

import numpy as np
import pytest

import geodp as package
from geodp.errors import UsageError
from geodp.io.folder import pending as pending_module
from geodp.io.folder.pending import PendingDraw, keep, mark_charged, read_pending_draw, reserve
from geodp.privacy.key import NOISE_FORMAT
from tests.refusals import refuses

ARRAYS = {"uint64": np.arange(4, dtype=np.uint64), "int64": np.array([-1, 2, 5])}


def write_kept(folder, call):
    """Keep a draw, as a run for a call does; return it."""
    (folder / "restricted").mkdir(parents=True)
    reserve(folder, 10)
    card = {"inputs": {"facts": ["a fact"]}, "drawn": [1, None]}
    kept = PendingDraw("a ledger", "its id", "stays", "f" * 64, call, {"told": 7}, card, ARRAYS)
    keep(folder, kept)
    mark_charged(folder)
    return kept


def test_what_was_kept_is_read_back(tmp_path):
    kept = write_kept(tmp_path, {"epsilon": "1"})
    found = read_pending_draw(tmp_path, {"epsilon": "1"})
    assert {**vars(found), "arrays": None} == {**vars(kept), "arrays": None}
    assert found.arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert found.arrays[name].dtype == array.dtype
        assert np.array_equal(found.arrays[name], array)


def test_an_option_that_one_call_lacks_is_another_call(tmp_path):
    write_kept(tmp_path, {"epsilon": "1"})
    for call, name in (({}, "epsilon"), ({"epsilon": "1", "rho": "1"}, "rho")):
        with refuses(UsageError, f"resumed-options-differ: --{name};"):
            read_pending_draw(tmp_path, call)


def test_another_version_is_refused(tmp_path, monkeypatch):
    write_kept(tmp_path, {})
    assert pending_module.name_maker() == f"{package.__version__}, {NOISE_FORMAT}"
    monkeypatch.setattr(pending_module, "name_maker", lambda: "other")
    with refuses(UsageError, r"resumed-part-differs: another geodp\b"):
        read_pending_draw(tmp_path, {})


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
    "another head": change_arrays(head=np.frombuffer(b"[1, 2]", np.uint8)),
    "no JSON": change_arrays(head=np.frombuffer(b"{", np.uint8)),
    "objects": change_arrays(int64=np.array([{}, {}], object)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_cannot_be_read_back_is_refused_in_a_sentence(tmp_path, damage):
    write_kept(tmp_path, {})
    DAMAGES[damage](tmp_path / "restricted" / "released.npz")
    with refuses(UsageError, r"interrupted-not-read-back: released\.npz"):
        read_pending_draw(tmp_path, {})


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="files take space as POSIX has it")
@pytest.mark.parametrize("cells", [0, 1, 5000])
def test_space_for_the_table_is_taken_before_the_charge(tmp_path, cells):
    (tmp_path / "restricted").mkdir()
    reserve(tmp_path, cells)
    (draft,) = (tmp_path / "restricted").iterdir()
    status = draft.stat()
    assert status.st_size == 16 * cells + 65536
    assert status.st_blocks * 512 >= status.st_size
