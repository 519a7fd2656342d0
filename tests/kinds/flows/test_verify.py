"""Verification of flows: whatever is changed is found."""

import json
import shutil
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import geodp as package
from geodp.io.folder.manifest import sha256, sums_text
from geodp.io.verify import index as of_index
from geodp.io.verify.verify import verify
from geodp.kinds.flows import publish as publishing
from geodp.kinds.flows.flows import depend_ends
from geodp.release.simulated_cells import errors_of
from geodp.table.counts import ReleasedTable
from tests.command import geodp
from tests.kinds.flows.test_publish import publish, trips_on

INDEX = "flows.json"


def failed(public):
    return {c.name: c.detail for c in verify(public, errors_of) if not c.ok}


def list_sums(public):
    """Write the checksums again, as somebody who changes files would."""
    files = [p for p in public.rglob("*") if p.is_file() and p != public / "SHA256SUMS"]
    sums = {path.relative_to(public).as_posix(): sha256(path) for path in files}
    (public / "SHA256SUMS").write_text(sums_text(sums), encoding="utf-8", newline="\n")


def test_a_release_holds(public):
    assert failed(public) == {}
    done = geodp("verify", public.parent)
    assert done.returncode == 0, done.stdout
    assert "Origins and destinations have one total." in done.stdout


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
    assert "card" in failed(public)


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
    assert "constraints" in found
    assert "one release" in found


def test_tables_of_two_releases_are_found(release, tmp_path):
    other = publish(trips_on(seed=8))
    replace(release, origins=other.origins).write(tmp_path / "out")
    assert "one release" in failed(tmp_path / "out" / "public")


def change_index(public, change):
    """Change the index, with the digests of the files and all checksums as they are now."""
    card = json.loads((public / INDEX).read_text())
    for file in card["files"]:
        file["sha256"] = sha256(public / file["name"])
    change(card)
    (public / INDEX).write_text(json.dumps(card))
    list_sums(public)


def test_noisy_pairs_of_another_release_are_found(release, public, tmp_path):
    """Of the same plan: the digest tells them from the right ones, and the errors that follow."""
    publish(trips_on(seed=8)).write(tmp_path / "other")
    for name in ("pairs-4.parquet", "pairs-8.parquet"):
        shutil.copy(tmp_path / "other" / "public" / name, public / name)
    change_index(public, lambda card: None)
    assert [*failed(public)] == ["guarantee", "one release"]


@pytest.mark.parametrize(
    ("change", "check"),
    [
        (lambda rows: with_noisy(rows, pc.add(rows["noisy"], 1000)), "one release"),
        (lambda rows: with_noisy(rows, pc.cast(rows["noisy"], pa.float64())), "joint files"),
        (lambda rows: with_noisy(rows, pc.if_else(True, None, rows["noisy"])), "joint files"),
        (lambda rows: rows.append_column("secret", rows["noisy"]), "joint files"),
        (lambda rows: rows.replace_schema_metadata({"secret": "7"}), "joint files"),
    ],
)
def test_changed_noisy_pairs_are_found(public, change, check):
    path = public / "pairs-4.parquet"
    pq.write_table(change(pq.read_table(path)), path)
    change_index(public, lambda card: None)
    assert check in failed(public)


def with_noisy(rows, noisy):
    return rows.set_column(4, "noisy", noisy)


@pytest.mark.parametrize(
    ("change", "check"),
    [
        (lambda card: card["decay"].update(length=99.0), "one release"),
        (lambda card: card["decay"].update(length=None), "one release"),
        (lambda card: card["decay"].update(unit="km"), "guarantee"),
        (lambda card: card["files"][0].update(what="these are the exact trips"), "joint files"),
        (lambda card: card["files"][0].update(media_type="text/html"), "joint files"),
        (lambda card: card["software"].update(version="9.9"), "tables"),
        (lambda card: card.update(left_out=[{"name": "x", "why": "y"}]), "joint files"),
    ],
)
def test_an_index_that_says_anything_else_is_found(public, change, check):
    change_index(public, change)
    assert check in failed(public)


def test_other_noisy_pairs_are_found(release, tmp_path):
    replace(release, noisy=release.noisy[::-1]).write(tmp_path / "out")
    assert "joint files" in failed(tmp_path / "out" / "public")


def test_an_opened_release_is_the_written_one(release, public):
    opened = package.open(public.parent)
    assert opened.index.guarantee == release.index.guarantee
    assert opened.to_pandas().equals(release.to_pandas())
    for one, other in zip(opened.noisy, release.noisy, strict=True):
        assert np.array_equal(one.noisy, other.noisy)
        assert one.variance == other.variance
    assert Fraction(opened.index.guarantee.epsilon) == 1
    regions = (0, 0, 8, 8), (4, 4, 16, 16)
    both = [one.estimate(*regions, simulations=20) for one in (opened, release)]
    assert both[0] == both[1]


@pytest.fixture(scope="module")
def earlier(tmp_path_factory):
    """The public folder of a release whose maps of ends state their own share alone."""
    folder = tmp_path_factory.mktemp("earlier") / "out"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(publishing, "depend_ends", lambda plan: depend_ends(plan).own)
        publish().write(folder)
    return folder / "public"


def test_a_release_that_was_made_before_holds_and_what_to_count_is_told(earlier, public):
    told = {c.name: c.detail for c in verify(earlier, errors_of)}["guarantee"]
    assert failed(earlier) == failed(public) == {}
    assert "count epsilon = 1 for origins, epsilon = 1 for destinations" in told
    assert "count" not in {c.name: c.detail for c in verify(public)}["guarantee"]


def test_a_later_version_states_all_that_its_tables_depend_on(earlier, monkeypatch):
    monkeypatch.setattr(of_index, "EARLIER", "0.0.9")
    assert failed(earlier) == {"guarantee": "A table has another noise than the index implies."}


def test_the_card_of_a_map_of_ends_states_the_whole_budget(public):
    whole = json.loads((public / INDEX).read_text())["guarantee"]
    for name in ("origins", "destinations"):
        stated = json.loads((public / name / "release.json").read_text())["guarantee"]
        assert (stated["spends"], stated["share"]) == (whole["spends"], whole["end_share"])
        assert "this table together with all that it depends on" in stated["in_words"]
