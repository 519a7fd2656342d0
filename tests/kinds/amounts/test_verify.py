"""Verification of amounts: whatever is changed is found."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import rasterio

from geodp import open as geodp_open
from geodp.io.folder.kinds import CARD
from geodp.io.folder.manifest import sha256
from geodp.kinds.amounts.amounts import Amounts, list_constraints, read_drawn, reopen, with_drawn
from geodp.kinds.amounts.joint import write_joint
from geodp.kinds.amounts.kind import AmountsCard
from tests.kinds.amounts.made import EDGES, publish, rows
from tests.kinds.changing import change_index, failed, list_files, list_sums

INDEX = "amounts.json"


@pytest.fixture(scope="module")
def both():
    return publish(classes=EDGES)


@pytest.fixture
def folder(both, shared, tmp_path):
    shared.copy(both, tmp_path / "out")
    return tmp_path / "out" / "public"


def rebuild(public, change):
    """Change the meaning of the numbers, and write the table and all checksums as geodp would."""
    release = geodp_open(public)
    drawn = read_drawn(public, release)
    plain = json.loads((public / INDEX).read_text())
    change(plain)
    card = AmountsCard.from_json(plain)
    card = replace(card, constraints=tuple(one.sentence for one in list_constraints(card.amount)))
    made = with_drawn(reopen(release.count, card), drawn, None)
    made = Amounts(release.count, made.sum, made.classes, card)
    # A base is not written over another.
    (public / "amounts.gpkg").unlink()
    files, left_out = write_joint(made, public)
    plain = replace(card, files=files, left_out=left_out).to_json()
    (public / INDEX).write_text(json.dumps(plain))
    list_sums(public)


def times_ten(card):
    amount = card["amount"]
    amount |= {"upper": "10000", "step": "10", "edges": [f"{e}0" for e in amount["edges"]]}
    amount["edges"][0] = "0"


def shifted(card):
    amount = card["amount"]
    amount |= {"lower": "1000", "upper": "2000"}
    amount["edges"] = [str(int(edge) + 1000) for edge in amount["edges"]]


def other_edge(card):
    card["amount"]["edges"][1] = "150"


def drop(text):
    def change(card):
        facts = card["guarantee"]["not_protected"]
        kept = [fact for fact in facts if text not in fact]
        assert len(kept) == len(facts) - 1
        card["guarantee"]["not_protected"] = kept

    return change


@pytest.mark.parametrize("change", [times_ten, shifted, other_edge])
@pytest.mark.parametrize("dropped", [False, True])
def test_numbers_that_mean_something_else_are_found(folder, change, dropped):
    def both(card):
        change(card)
        if dropped:
            drop("count as these")(card)

    rebuild(folder, both)
    assert {"guarantee", "one release"} & {*failed(folder)}


def test_a_rebuilt_table_alone_changes_nothing(folder):
    rebuild(folder, lambda card: None)
    assert failed(folder) == {}


@pytest.mark.parametrize("text", ["plain number", "count as these", "at least one row"])
def test_a_public_fact_less_is_found(folder, text):
    change_index(folder, drop(text))
    assert "guarantee" in failed(folder)


def test_weights_that_the_index_hides_are_found(tmp_path):
    data = rows(500).append_column("w", pa.array([1, 2] * 250))
    publish(data, weight="w", max_weight=5).write(tmp_path / "out")
    public = tmp_path / "out" / "public"
    assert failed(public) == {}

    def hide(card):
        card["amount"].pop("max_weight")
        drop("weights are taken")(card)
        stated = "One person has at most 5 of all records."
        card["guarantee"]["assumptions"][0]["statement"] = stated

    change_index(public, hide)
    assert {"guarantee", "one release"} <= {*failed(public)}


def change_column(public, column, change):
    """Change a column of the table, with all checksums."""
    path = public / "amounts.parquet"
    table = pq.read_table(path)
    at = table.schema.get_field_index(column)
    values = change(table[column].to_numpy().copy())
    table = table.set_column(at, table.schema.field(at), pa.array(values))
    pq.write_table(table, path)
    list_files(public)


def moved(values):
    values[:2] += np.array([1, -1], values.dtype)
    return values


@pytest.mark.parametrize(
    ("column", "check"),
    [
        ("sum", "one release"),
        ("sum", "constraints"),
        ("count_100_to_200", "constraints"),
        ("count", "joint files"),
        ("mean", "joint files"),
        ("median", "joint files"),
        ("mean_high", "joint files"),
        ("sum_low", "joint files"),
        ("sum_high", "joint files"),
    ],
)
def test_a_changed_number_is_found(folder, column, check):
    change_column(folder, column, moved if check != "constraints" else lambda n: n + 10**6)
    assert check in failed(folder)


@pytest.mark.parametrize("form", ["metadata", "csvt", "types"])
def test_a_table_that_says_something_else_is_found(folder, form):
    path = folder / "amounts.parquet"
    if form == "csvt":
        path = path.with_suffix(".csvt")
        path.write_text(path.read_text() + ",String")
    else:
        table = pq.read_table(path)
        said = {**table.schema.metadata}
        if form == "metadata":
            said[b"geodp"] = said[b"geodp"].replace(b"10,000 yen", b"EUR")
        else:
            at = table.schema.get_field_index("count")
            table = table.set_column(at, "count", table["count"].cast(pa.float64()))
        pq.write_table(table.replace_schema_metadata(said), path)
    list_files(folder)
    assert "joint files" in failed(folder)


@pytest.mark.parametrize("form", ["value", "unit", "name", "tag"])
def test_a_changed_raster_is_found(folder, form):
    path = folder / "amounts.tif"
    with rasterio.open(path, "r+", IGNORE_COG_LAYOUT_BREAK="YES") as raster:
        if form == "value":
            raster.write(raster.read(5) + 1, 5)
        elif form == "unit":
            raster.set_band_unit(5, "EUR")
        elif form == "name":
            raster.set_band_description(5, "median")
        else:
            raster.update_tags(GEODP_BUDGET="epsilon = 1/10")
    list_files(folder)
    assert "joint files" in failed(folder)


def test_records_of_another_release_are_found(folder, tmp_path):
    publish(classes=EDGES).write(tmp_path / "other")
    other = tmp_path / "other" / "public"
    for path in (other / "count").iterdir():
        (folder / "count" / path.name).write_bytes(path.read_bytes())

    def adopt(card):
        (records,) = card["tables"]
        records["card_sha256"] = sha256(folder / "count" / CARD)
        records["release_id"] = json.loads((folder / "count" / CARD).read_text())["release_id"]

    change_index(folder, adopt)
    assert {"one release", "guarantee"} & {*failed(folder)}


def test_a_link_or_no_index_is_found(folder):
    (folder / "link").symlink_to(folder / "amounts.csv")
    assert list(failed(folder)) == ["index"]
    (folder / "link").unlink()
    (folder / INDEX).write_text("{}")
    assert list(failed(folder)) == ["card"]
