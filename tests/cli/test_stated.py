"""What an office says of a release: ``--metadata`` and ``--supersedes``."""

import numpy as np
import pytest

import geodp
from geodp.cli.request_options import read_metadata_options
from geodp.errors import UsageError, VerificationError
from geodp.table.card import StatedMetadata
from tests.command import geodp as run
from tests.refusals import refuses
from tests.tools.compare.releases import released

ID = "0123456789abcdef"


def stated(**given):
    return read_metadata_options(
        {"metadata": None, "supersedes": None, "display_below": None, **given}
    )


@pytest.fixture
def old(tmp_path):
    released("hay", 0, 50).write(tmp_path / "old")
    return tmp_path / "old"


def test_what_is_said_is_the_file_and_the_release_that_is_replaced(old, tmp_path):
    office, own = tmp_path / "office.toml", geodp.open(old).card().release_id
    assert stated() is None
    found = stated(supersedes=old)
    assert found == StatedMetadata(supersedes=own)
    office.write_text('title = "a"\n')
    found = stated(metadata=office, supersedes=old / "public")
    assert found == StatedMetadata(title="a", supersedes=own)
    office.write_text(f'supersedes = "{ID}"\n')
    found = stated(metadata=office)
    assert found == StatedMetadata(supersedes=ID)
    with refuses(UsageError, "supersedes-twice: --supersedes"):
        stated(metadata=office, supersedes=old)
    with refuses(VerificationError, "folder-beside-release: no release"):
        stated(supersedes=tmp_path)


MANY = 3000
"""A limit of display above most cells of the release below."""

GIVEN = ("--grid", "jis:basic", "--code", "mesh", "--value", "people", "--contribution", "1",
         "--bounds", "139.5", "35.5", "139.75", str(35 + 2 / 3))  # fmt: skip


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Cells of 0 to 3,150 people."""
    grid = geodp.Grid.mesh("jis:basic", bounds=(139.5, 35.5, 139.75, 35 + 2 / 3))
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    places = [(row, col) for row in range(grid.shape[0]) for col in range(grid.shape[1])]
    codes = grid.places[0].format(*(np.array(axis) for axis in zip(*places, strict=True)))
    lines = [f"{code},{number * 8}" for number, code in enumerate(codes.tolist())]
    path.write_text("\n".join(["mesh,people", *lines]) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def both(rows, tmp_path_factory):
    """Releases with one kept key, without a limit of display and with it."""
    folder = tmp_path_factory.mktemp("both")
    assert run("key", folder / "key").returncode == 0
    for name, more in (("all", ()), ("few", ("--display-below", MANY))):
        asked = ("--epsilon", "1", "--key-file", folder / "key", "--output", folder / name)
        done = run("publish", rows, *GIVEN, *asked, *more)
        assert done.returncode == 0, done.stderr
    return folder / "all", folder / "few"


def test_a_limit_is_an_option_or_in_the_file(tmp_path):
    assert stated(display_below=5) == StatedMetadata(display_below=5)
    office = tmp_path / "office.toml"
    office.write_text('title = "a"\n')
    found = stated(metadata=office, display_below=5)
    assert found == StatedMetadata(title="a", display_below=5)
    office.write_text("display_below = 20\n")
    assert stated(metadata=office) == StatedMetadata(display_below=20)
    with refuses(UsageError, "display-below-twice: --display-below"):
        stated(metadata=office, display_below=20)


@pytest.mark.parametrize("limit", ["1", "2.5", str(2**31 + 1)])
def test_a_limit_that_is_none_is_refused_before_the_charge(limit, rows, ledger, tmp_path):
    office, before = tmp_path / "office.toml", ledger.path.read_bytes()
    office.write_text(f"display_below = {limit}\n")
    into = ("--ledger", ledger.path, "--dataset", "census", "--output", tmp_path / "out")
    for said in (("--display-below", limit), ("--metadata", office)):
        done = run("publish", rows, *GIVEN, *into, "--epsilon", "1", *said)
        assert done.returncode == 2
        assert "display" in done.stderr
        assert ledger.path.read_bytes() == before
        assert not (tmp_path / "out").exists()


def test_an_export_keeps_the_limit_that_a_new_file_does_not_name(both, tmp_path):
    office = tmp_path / "office.toml"
    for text, limit in (('title = "a"', MANY), ("display_below = 2900", 2900)):
        office.write_text(text + "\n")
        into = ("--to", "csv:excel", "--output", tmp_path / str(limit), "--metadata", office)
        assert run("export", both[1], *into).returncode == 0
        (file,) = (tmp_path / str(limit)).glob("*.csv")
        assert f'"<{limit:,}"' in file.read_text("utf-8-sig")
