"""Verification of flows: whatever is changed is found."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import geodp as package
from geodp.features.flows.verify import verify_flows
from geodp.io.folder.manifest import sha256, sums_text
from geodp.release.simulated_cells import errors_of
from geodp.table.released import ReleasedTable
from tests.command import geodp
from tests.features.flows.test_publish import publish, trips_on

INDEX = "flows.json"


def failed(public):
    return {c.name: c.detail for c in verify_flows(public, errors_of) if not c.ok}


def list_sums(public):
    """Write the checksums again, as somebody who changes files would."""
    files = [p for p in public.rglob("*") if p.is_file() and p != public / "SHA256SUMS"]
    sums = {path.relative_to(public).as_posix(): sha256(path) for path in files}
    (public / "SHA256SUMS").write_text(sums_text(sums), encoding="utf-8", newline="\n")


def test_a_release_holds(public):
    assert failed(public) == {}
    done = geodp("verify", public.parent)
    assert done.returncode == 0, done.stdout
    assert "add up to both ends" in done.stdout


@pytest.mark.parametrize(
    ("name", "value", "check"),
    [
        (("private",), False, "tables"),
        (("constraints",), [], "guarantee"),
        (("guarantee", "epsilon"), "1/2", "guarantee"),
        (("guarantee", "contribution"), 2, "guarantee"),
        (("guarantee", "unit"), "trip", "guarantee"),
        (("guarantee", "end_share"), "1/3", "guarantee"),
        (("guarantee", "levels", 0, "share"), "1/3", "guarantee"),
        (("guarantee", "levels", 0, "side"), 2, "guarantee"),
        (("guarantee", "levels", 0, "standard_error"), 1.0, "guarantee"),
        (("guarantee", "in_words"), "NOT PRIVATE", "guarantee"),
        (("files",), [], "checksums"),
        (("tables", 0, "name"), "trips", "tables"),
        (("tables", 1, "release_id"), "0" * 16, "tables"),
        (("tables", 2, "card_sha256"), "0" * 64, "tables"),
    ],
)
def test_an_index_that_says_otherwise_is_found(public, name, value, check):
    card = json.loads((public / INDEX).read_text())
    place = card
    for part in name[:-1]:
        place = place[part]
    place[name[-1]] = value
    (public / INDEX).write_text(json.dumps(card))
    list_sums(public)
    assert check in failed(public)


def test_damaged_files_are_found(public):
    with (public / "pairs-4.parquet").open("ab") as file:
        file.write(b"!")
    assert "checksums" in failed(public)
    (public / INDEX).write_text("{")
    assert "index" in failed(public)


def test_a_file_too_many_is_found(public):
    (public / "more.txt").write_text("7")
    list_sums(public)
    assert "checksums" in failed(public)


def moved(release):
    """A release in which one trip begins elsewhere."""
    table = release.flows.table
    count = np.array(table.count)
    count[0] += 1
    count[-1] -= 1
    key, count = table.key[count > 0], count[count > 0]
    return replace(release.flows, table=ReleasedTable(table.grid, key, count, table.event))


def test_flows_that_do_not_add_up_to_their_ends_are_found(release, tmp_path):
    release_moved = replace(release, flows=moved(release))
    release_moved.write(tmp_path / "out")
    found = failed(tmp_path / "out" / "public")
    assert "margins" in found
    assert "tables" in found


def test_tables_of_two_releases_are_found(release, tmp_path):
    other = publish(trips_on(seed=8))
    replace(release, origins=other.origins).write(tmp_path / "out")
    assert "tables" in failed(tmp_path / "out" / "public")


def test_other_noisy_pairs_are_found(release, tmp_path):
    replace(release, noisy=release.noisy[::-1]).write(tmp_path / "out")
    assert "noisy pairs" in failed(tmp_path / "out" / "public")


def test_an_opened_release_is_the_written_one(release, public):
    opened = package.open(public.parent)
    assert opened.index.guarantee == release.index.guarantee
    assert opened.to_pandas().equals(release.to_pandas())
    for one, other in zip(opened.noisy, release.noisy, strict=True):
        assert np.array_equal(one.noisy, other.noisy)
        assert one.variance == pytest.approx(other.variance)
    assert Fraction(opened.index.guarantee.epsilon) == 1
    regions = (0, 0, 8, 8), (4, 4, 16, 16)
    both = [one.estimate(*regions, simulations=20) for one in (opened, release)]
    assert both[0] == both[1]
