"""What an office says of a release: ``--metadata`` and ``--supersedes``."""

import json

import pytest

import geodp
from geodp.cli.stated import read_stated
from geodp.errors import UsageError, VerificationError
from geodp.table.card import StatedMetadata
from tests.analysis.compare.releases import released
from tests.command import geodp as run

ID = "0123456789abcdef"


@pytest.fixture
def old(tmp_path):
    released("hay", 0, 50).write(tmp_path / "old")
    return tmp_path / "old"


def test_what_is_said_is_the_file_and_the_release_that_is_replaced(old, tmp_path):
    office, own = tmp_path / "office.toml", geodp.open(old).card().release_id
    assert read_stated({"metadata": None, "supersedes": None}) is None
    found = read_stated({"metadata": None, "supersedes": old})
    assert found == StatedMetadata(supersedes=own)
    office.write_text('title = "a"\n')
    found = read_stated({"metadata": office, "supersedes": old / "public"})
    assert found == StatedMetadata(title="a", supersedes=own)
    office.write_text(f'supersedes = "{ID}"\n')
    found = read_stated({"metadata": office, "supersedes": None})
    assert found == StatedMetadata(supersedes=ID)
    with pytest.raises(UsageError, match="Either --supersedes"):
        read_stated({"metadata": office, "supersedes": old})
    with pytest.raises(VerificationError, match="holds no release"):
        read_stated({"metadata": None, "supersedes": tmp_path})


@pytest.mark.law
def test_a_corrected_release_names_what_it_replaces_and_a_wrong_folder_charges_nothing(
    old, tmp_path
):
    rows, ledger = tmp_path / "rows.csv", tmp_path / "ledger.jsonl"
    rows.write_text("mesh,people\n53394611,120\n53394612,70\n", encoding="utf-8")
    given = [
        *("publish", rows, "--grid", "jis:basic", "--code", "mesh", "--value", "people"),
        *("--bounds", "139.5", "35.5", "140", "36", "--epsilon", "1", "--contribution", "1"),
    ]
    into = ("--ledger", ledger, "--dataset", "census")
    assert run("budget", "init", *into, "--epsilon", "1").returncode == 0
    before = ledger.read_bytes()
    said = [*into, "--output", tmp_path / "new", "--supersedes"]
    done = run(*given, *said, tmp_path / "none")
    assert done.returncode
    assert "holds no release" in done.stderr
    assert ledger.read_bytes() == before
    assert not (tmp_path / "new").exists()
    done = run(*given, *said, old)
    assert done.returncode == 0, done.stderr
    assert ledger.read_bytes() != before
    own = geodp.open(old).card().release_id
    assert geodp.open(tmp_path / "new").card().metadata.supersedes == own
    assert run("verify", tmp_path / "new").returncode == 0
    office = tmp_path / "office.toml"
    office.write_text("reference_date = 2020-10-01\n")
    out = tmp_path / "out"
    said = ("--to", "stac", "--metadata", office, "--output", out)
    assert run("export", tmp_path / "new", *said).returncode == 0
    (item,) = out.glob("*.json")
    assert json.loads(item.read_text())["properties"]["geodp:supersedes"] == own
    assert own in run("report", tmp_path / "new", "--format", "html").stdout
