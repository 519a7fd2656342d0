"""Replacing a release removes what geodp has written there and nothing else."""

import os
import shutil

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.io.folder.manifest import foreign, remove_release, sums_text
from tests.command import geodp as command
from tests.refusals import refuses

GRID = geodp.Grid.regular((4, 4))
TABLE = geodp.CountTable.from_dense(np.full((4, 4), 30), GRID)


@pytest.fixture(scope="module")
def release():
    return geodp.publish(TABLE, epsilon=1, contribution=1)


@pytest.fixture
def out(release, shared, tmp_path):
    shared.copy(release, tmp_path / "out")
    return tmp_path / "out"


def contents(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


FOREIGN = {
    "office.key": r"output-holds-other-files:  office\.key",
    "public/budget.xlsx": r"output-holds-other-files: \bout\b.*public/budget.xlsx",
    "restricted/office.key": r"output-holds-other-files: \bout\b.*restricted/office.key",
    "restricted/notes/a.txt": r"output-holds-other-files: \bout\b.*restricted/notes",
    "archive/": r"output-holds-other-files: \bout\b.*archive",
    "public/empty/": r"output-holds-other-files: \bout\b.*public/empty",
    "public/.hidden": r"output-holds-other-files: \bout\b.*public/.hidden",
}


@pytest.mark.parametrize(("name", "message"), FOREIGN.items())
def test_what_geodp_has_not_written_is_named_and_stays(out, name, message):
    if name.endswith("/"):
        (out / name).mkdir()
    else:
        (out / name).parent.mkdir(exist_ok=True)
        (out / name).write_text("mine")
    before = contents(out)
    with refuses(UsageError, message):
        geodp.publish(TABLE, epsilon=1, contribution=1).write(out, overwrite=True)
    assert contents(out) == before
    assert os.listdir(out.parent) == ["out"]


@pytest.mark.parametrize("name", ["public/population.csv", "restricted/run.json"])
def test_a_file_that_was_changed_is_no_longer_geodps(out, name):
    (out / name).write_text("with remarks")
    with refuses(UsageError, f"output-holds-other-files: {name}, .*changed"):
        geodp.publish(TABLE, epsilon=1, contribution=1).write(out, overwrite=True)
    assert (out / name).read_text() == "with remarks"


@pytest.mark.parametrize("name", ["public", "restricted", "public/population.csv"])
def test_a_link_is_none_of_geodps_files(out, tmp_path, name):
    os.rename(out / name, tmp_path / "elsewhere")
    (out / name).symlink_to(tmp_path / "elsewhere")
    assert foreign(out).startswith(name)


@pytest.mark.parametrize("name", ["public/SHA256SUMS", "restricted/SHA256SUMS"])
def test_without_checksums_nothing_is_known_to_be_geodps(out, name):
    (out / name).unlink()
    with refuses(UsageError, "output-holds-other-files: SHA256SUMS"):
        geodp.publish(TABLE, epsilon=1, contribution=1).write(out, overwrite=True)


def test_a_release_whose_files_were_moved_away_is_replaced(out):
    shutil.rmtree(out / "restricted")
    (out / "public" / "population.png").unlink()
    geodp.publish(TABLE, epsilon=1, contribution=1).write(out, overwrite=True)
    assert (out / "public" / "population.png").is_file()


def test_what_appears_during_the_run_stays(out):
    class Writes(geodp.Release):
        def areas(self):
            (out / "late.txt").write_text("mine")
            return iter(())

    release = Writes(geodp.publish(TABLE, epsilon=1, contribution=1).table)
    with refuses(UsageError, r"output-holds-other-files: late\.txt"):
        release.write(out, overwrite=True)
    assert (out / "late.txt").read_text() == "mine"
    assert foreign(out).startswith("late.txt")


def test_checksums_that_name_files_elsewhere_remove_none(out):
    (out.parent / "precious").write_text("mine")
    (out / "public" / "SHA256SUMS").write_text(sums_text({"../../precious": "0" * 64}))
    remove_release(out)
    assert (out.parent / "precious").read_text() == "mine"


def test_the_refusal_comes_before_the_charge(out, ledger, tmp_path):
    (out / "office.key").write_text("mine")
    (tmp_path / "in.csv").write_text("x,y,n\n1,1,30\n")
    words = "--grid regular:4x4 --value n --x x --y y --anchor index --epsilon 1 --overwrite"
    charged = "--ledger", ledger.path, "--dataset", "census", "--output", out
    done = command("publish", tmp_path / "in.csv", *words.split(), *charged)
    assert done.returncode == 2
    assert "office.key" in done.stderr
    assert ledger.charges("census") == ()
