"""Verification of persons and households: whatever is changed is found."""

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow.parquet as pq
import pytest

import geodp as geodp_package
from geodp.io.folder.kinds import CARD
from geodp.io.folder.manifest import sha256, sums_text
from geodp.io.verify.verify import verify
from geodp.kinds.households import households as module
from geodp.kinds.households.households import Households
from geodp.release.simulated_cells import errors_of
from geodp.table.counts import ReleasedTable
from tests.command import geodp
from tests.kinds.households.test_publish import others_on, publish, sizes_on

INDEX = "households.json"


def failed(public):
    return {c.name: c.detail for c in verify(public, errors_of) if not c.ok}


def list_sums(public):
    """Write the checksums again, as somebody who changes files would."""
    every = (path for path in public.rglob("*") if path.is_file() and path.parent == public)
    nested = (path for path in public.rglob("*") if path.is_file() and path.parent != public)
    files = [path for path in (*every, *nested) if path != public / "SHA256SUMS"]
    sums = {path.relative_to(public).as_posix(): sha256(path) for path in files}
    (public / "SHA256SUMS").write_text(sums_text(sums), encoding="utf-8", newline="\n")


NAME = "persons-and-households"


def change_base(*statements):
    """Change the GeoPackage, whose triggers call functions that only a GIS has."""

    def change(public):
        with closing(sqlite3.connect(public / f"{NAME}.gpkg", isolation_level=None)) as base:
            for statement in statements:
                base.execute(statement)

    return change


def change_metadata(key, values):
    """Change or remove metadata of the Parquet file."""

    def change(public):
        table = pq.read_table(public / f"{NAME}.parquet")
        kept = {name: text for name, text in table.schema.metadata.items() if name != key}
        metadata = kept if values is None else {**kept, key: json.dumps(values).encode()}
        pq.write_table(table.replace_schema_metadata(metadata), public / f"{NAME}.parquet")

    return change


def append(ending):
    def change(public):
        with (public / f"{NAME}.{ending}").open("ab") as file:
            file.write(b"\nmore")

    return change


@pytest.mark.parametrize(
    "change",
    [
        change_metadata(b"geo", None),
        change_metadata(b"geo", {"version": "1.1.0", "primary_column": "geometry", "columns": {}}),
        change_metadata(b"geodp", {"epsilon": "1/1000"}),
        change_base("UPDATE gpkg_contents SET description = 'Nobody can learn anything.'"),
        change_base("UPDATE gpkg_contents SET srs_id = 4326"),
        change_base("UPDATE gpkg_spatial_ref_sys SET definition = 'GEOGCS[]' WHERE srs_id = 6668"),
        change_base("UPDATE gpkg_spatial_ref_sys SET organization = 'NONE' WHERE srs_id = 6668"),
        change_base("UPDATE gpkg_metadata SET metadata = '{}'"),
        change_base("DELETE FROM rtree_persons_geometry"),
        change_base("CREATE INDEX more ON persons (persons)"),
        change_base("CREATE VIEW more AS SELECT 1"),
        change_base("PRAGMA application_id = 0"),
        append("gpkg"),
        append("csv"),
        append("csvt"),
        lambda public: change_index(
            public, lambda card: card["left_out"].append({"name": "more.csv", "why": "secret"})
        ),
    ],
)
def test_whatever_is_changed_in_the_table_of_both_counts_is_found(tmp_path, change):
    grid = geodp_package.Grid.mesh("jis:basic", bounds=(139, 35, 139.125, "35.0833333333"))
    publish(by_size=sizes_on(grid, scale=9)).write(tmp_path / "out")
    public = tmp_path / "out" / "public"
    assert failed(public) == {}
    change(public)

    def update(card):
        for one in card["files"]:
            one["sha256"] = sha256(public / one["name"])

    change_index(public, update)
    assert [*failed(public)] == ["joint files"]


def change_index(public, change):
    card = json.loads((public / INDEX).read_text())
    change(card)
    (public / INDEX).write_text(json.dumps(card))
    list_sums(public)


def test_a_release_holds(public):
    assert failed(public) == {}
    done = geodp("verify", public.parent)
    assert done.returncode == 0, done.stdout
    assert "Persons are at most 7 for each household." in done.stdout
    assert geodp("verify", public).returncode == 0


@pytest.mark.parametrize(
    ("name", "value", "check"),
    [
        (("max_size",), 6, "guarantee"),
        (("private",), False, "tables"),
        (("constraints",), [], "guarantee"),
        (("guarantee", "other_unit"), "Everybody is safe.", "guarantee"),
        (("guarantee", "epsilon"), "1/2", "guarantee"),
        (("guarantee", "spends"), "epsilon = 1/2", "guarantee"),
        (("guarantee", "contribution"), 3, "guarantee"),
        (("guarantee", "neighbours"), "replace-one", "guarantee"),
        (("guarantee", "in_words"), "NOT PRIVATE", "guarantee"),
        (("files",), [], "checksums"),
        (("tables", 0, "name"), "people", "checksums"),
        (("tables", 0, "release_id"), "0" * 16, "tables"),
        (("tables", 0, "card_sha256"), "0" * 64, "tables"),
    ],
)
def test_an_index_that_says_otherwise_is_found(public, name, value, check):
    def change(card):
        for part in name[:-1]:
            card = card[part]
        card[name[-1]] = value

    change_index(public, change)
    assert check in failed(public)


def test_a_protection_of_others_is_found(public):
    def change(card):
        other = {"person": "household", "household": "person"}[card["protects"]]
        card["protects"] = card["guarantee"]["unit"] = other

    change_index(public, change)
    assert "guarantee" in failed(public)


def test_an_index_of_another_form_is_found(public):
    change_index(public, lambda card: card.pop("max_size"))
    assert [*failed(public)] == ["index"]


def test_changed_added_and_missing_files_are_found(public):
    (public / "persons" / CARD).write_text("{}")
    assert "checksums" in failed(public)


def test_an_added_file_is_found(public):
    (public / "notes.txt").write_text("hello")
    assert "checksums" in failed(public)
    list_sums(public)
    assert "checksums" in failed(public)


def test_another_table_of_both_counts_is_found(public):
    path = public / "persons-and-households.csv"
    path.write_text(path.read_text().replace("\n", ",\n"))

    def change(card):
        (file,) = (one for one in card["files"] if one["name"] == path.name)
        file["sha256"] = sha256(path)

    change_index(public, change)
    assert [*failed(public)] == ["joint files"]


def test_a_link_is_no_part_of_it(public):
    (public / "persons" / "away.txt").symlink_to("/etc/hostname")
    assert "link" in failed(public)["index"]


def changed_table(release, change):
    """The table with other counts, which its own checks cannot see."""
    table = release.table
    key, count = change(table.key.copy(), table.count.copy())
    return type(release)(
        ReleasedTable(table.grid, key, count, table.event),
        public_facts=release.public_facts,
        margins=release.margins,
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda key, count: (key, np.where(np.arange(key.size) == 3, count * 8, count)),
        lambda key, count: (key, np.where(np.arange(key.size) == 3, 1, count)),
        lambda key, count: (key[1:], count[1:]),
    ],
    ids=["too many", "too few", "nobody"],
)
def test_a_cell_that_no_households_can_make_is_found(tmp_path, change):
    release = publish(by_size=sizes_on(scale=10))
    persons = changed_table(release.persons, change)
    Households(persons, release.households, None, release.index).write(tmp_path / "out")
    assert "constraints" in failed(tmp_path / "out" / "public")


def test_sums_that_are_not_those_of_sizes_are_found(tmp_path):
    release = publish(by_size=sizes_on(scale=10), protect="household")
    persons = changed_table(release.persons, lambda key, count: (key, count + 1))
    changed = Households(persons, release.households, release.sizes, release.index)
    changed.write(tmp_path / "out")
    assert "constraints" in failed(tmp_path / "out" / "public")


def with_event(release, **changed):
    """The release with another event, which its own checks cannot see."""
    table = release.table
    changed_one = replace(table, event=replace(table.event, **changed))
    return replace(release, table=changed_one, preview=None)


def written(tmp_path, release, **changed):
    """Failed questions of a release some of whose tables were replaced."""
    replace(release, **changed).write(tmp_path / "out")
    return failed(tmp_path / "out" / "public")


@pytest.mark.parametrize("name", ["persons", "households", "others"])
@pytest.mark.parametrize(
    "changed",
    [
        {"contribution": 2, "sensitivity": 2},
        {"neighbours": "replace-one", "sensitivity": 2},
        {"enforced": True},
        {"epsilon": Fraction(2)},
        {"key_origin": "file"},
    ],
    ids=str,
)
def test_a_table_with_another_event_is_found(tmp_path, name, changed):
    release = publish(others=others_on())
    found = written(tmp_path, release, **{name: with_event(release.tables[name], **changed)})
    assert "guarantee" in found


@pytest.mark.parametrize("name", ["persons", "households"])
def test_a_table_of_a_household_with_another_event_is_found(tmp_path, name):
    release = publish(by_size=sizes_on(), protect="household")
    changed = {"contribution": 2, "sensitivity": 2}
    found = written(tmp_path, release, **{name: with_event(release.tables[name], **changed)})
    assert "guarantee" in found
    found = written(
        tmp_path / "other", release, **{name: with_event(release.tables[name], epsilon=Fraction(3))}
    )
    assert "guarantee" in found


def test_others_that_are_not_declared_and_that_are_missing_are_found(tmp_path):
    release, two = publish(others=others_on()), publish()
    assert "guarantee" in written(tmp_path / "more", two, others=release.others)
    assert "guarantee" in written(tmp_path / "less", release, others=None)


def test_a_table_of_another_release_is_found(tmp_path):
    """Both have the same terms and possible cells: each card names the counts of all tables."""
    one, other = (publish(others=others_on()) for _ in range(2))
    assert written(tmp_path / "one", one) == {}
    assert [*written(tmp_path / "other", one, others=other.others)] == ["one release"]


@pytest.mark.parametrize(
    ("name", "value"),
    [("source", "It is so."), ("mechanism", "pyramid"), ("in_words", "Nothing is revealed.")],
)
def test_a_guarantee_in_other_words_is_found(public, name, value):
    change_index(public, lambda card: card["guarantee"].update({name: value}))
    assert "guarantee" in failed(public)


def test_other_assumptions_are_found(public):
    change_index(public, lambda card: card["guarantee"].update(assumptions=[]))
    assert "guarantee" in failed(public)


@pytest.mark.parametrize("given", [{}, {"protect": "household"}], ids=["person", "household"])
def test_each_table_is_opened_once_and_again_for_another_verification(given, tmp_path, monkeypatch):
    made = publish(by_size=sizes_on(scale=10), **given) if given else publish()
    made.write(tmp_path / "out")
    folder = tmp_path / "out" / "public"
    opened, open_release = [], module.open_release
    monkeypatch.setattr(
        module, "open_release", lambda path: (opened.append(path.name), open_release(path))[1]
    )
    for _ in range(2):
        opened.clear()
        assert failed(folder) == {}
        tables = json.loads((folder / INDEX).read_text())["tables"]
        assert sorted(opened) == sorted(one["name"] for one in tables)


def test_every_question_can_fail(public):
    tables = [one["name"] for one in json.loads((public / INDEX).read_text())["tables"]]
    assert [one.name for one in verify(public)] == [
        *("index", "checksums", "tables", "guarantee", "one release", "constraints"),
        *("joint files", "restricted", *tables),
    ]


def test_a_restricted_folder_that_others_read_is_found(public):
    (public.parent / "restricted" / "run.json").chmod(0o644)
    assert [*failed(public)] == ["restricted"]
