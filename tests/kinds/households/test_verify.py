"""Verification of persons and households: whatever is changed is found."""

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow.parquet as pq
import pytest

import geodp
from geodp.kinds.households import households as module
from geodp.kinds.households.households import Households
from geodp.table.counts import ReleasedTable
from tests.kinds.changing import change_index, failed, list_files
from tests.kinds.households.test_publish import others_on, publish, sizes_on

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


@pytest.fixture(scope="module")
def meshed():
    """A release whose cells have outlines."""
    grid = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 139.125, "35.0833333333"))
    return publish(by_size=sizes_on(grid, scale=9))


@pytest.mark.parametrize(
    "change",
    [
        change_metadata(b"geo", None),
        change_metadata(b"geo", {"version": "1.1.0", "primary_column": "geometry", "columns": {}}),
        change_metadata(b"geodp", {"epsilon": "1/1000"}),
        change_base("UPDATE gpkg_contents SET description = 'Nobody can learn anything.'"),
        change_base("UPDATE gpkg_spatial_ref_sys SET organization = 'NONE' WHERE srs_id = 6668"),
        change_base("UPDATE gpkg_metadata SET metadata = '{}'"),
        change_base('CREATE INDEX more ON "persons-and-households" (persons)'),
        append("gpkg"),
        append("csv"),
        append("csvt"),
        lambda public: change_index(
            public, lambda card: card["left_out"].append({"name": "more.csv", "why": "secret"})
        ),
    ],
)
def test_whatever_is_changed_in_the_table_of_both_counts_is_found(meshed, shared, tmp_path, change):
    shared.copy(meshed, tmp_path / "out")
    public = tmp_path / "out" / "public"
    change(public)
    list_files(public)
    assert [*failed(public)] == ["joint files"]


def test_a_protection_of_others_is_found(public):
    def change(card):
        other = {"person": "household", "household": "person"}[card["protects"]]
        card["protects"] = card["guarantee"]["unit"] = other

    change_index(public, change)
    assert "guarantee" in failed(public)


def changed_table(release, change):
    """The table with other counts, which its own checks cannot see."""
    table = release.table
    key, count = change(table.key.copy(), table.count.copy())
    return type(release)(
        ReleasedTable(table.grid, key, count, table.event),
        public_facts=release.public_facts,
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


TWICE = {"contribution": 2, "sensitivity": 2}


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        *((name, TWICE) for name in ("persons", "households", "others")),
        ("households", {"neighbours": "replace-one", "sensitivity": 2}),
        ("persons", {"enforced": True}),
        ("others", {"epsilon": Fraction(2)}),
        ("others", {"key_origin": "file"}),
    ],
)
def test_a_table_with_another_event_is_found(tmp_path, name, changed):
    release = publish(others=others_on())
    found = written(tmp_path, release, **{name: with_event(release.tables[name], **changed)})
    assert "guarantee" in found


@pytest.mark.parametrize(
    ("name", "changed"), [("persons", TWICE), ("households", {"epsilon": Fraction(3)})]
)
def test_a_table_of_a_household_with_another_event_is_found(tmp_path, name, changed):
    release = publish(by_size=sizes_on(), protect="household")
    found = written(tmp_path, release, **{name: with_event(release.tables[name], **changed)})
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
        tables = json.loads((folder / "households.json").read_text())["tables"]
        assert sorted(opened) == sorted(one["name"] for one in tables)
