"""Verification of amounts: whatever is changed is found."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from geodp.features.amounts.verify import QUESTIONS, verify_amounts
from geodp.io.folder.kinds import CARD
from geodp.io.folder.manifest import sha256, sums_text
from geodp.release.simulated_cells import errors_of
from tests.command import geodp
from tests.features.amounts.made import EDGES, publish

INDEX = "amounts.json"


@pytest.fixture(scope="module")
def both():
    return publish(classes=EDGES)


@pytest.fixture
def folder(both, tmp_path):
    both.write(tmp_path / "out")
    return tmp_path / "out" / "public"


def failed(public):
    return {c.name: c.detail for c in verify_amounts(public, errors_of) if not c.ok}


def list_sums(public):
    """Write the checksums again, as somebody who changes files would."""
    files = [p for p in public.rglob("*") if p.is_file() and p != public / "SHA256SUMS"]
    sums = {path.relative_to(public).as_posix(): sha256(path) for path in files}
    (public / "SHA256SUMS").write_text(sums_text(sums), encoding="utf-8", newline="\n")


def change_index(public, change):
    card = json.loads((public / INDEX).read_text())
    change(card)
    (public / INDEX).write_text(json.dumps(card))
    list_sums(public)


def test_a_release_holds(public):
    assert failed(public) == {}
    done = geodp("verify", public.parent)
    assert done.returncode == 0, done.stdout
    assert "each with a mean within the clip" in done.stdout


@pytest.mark.parametrize(
    ("name", "value", "check"),
    [
        (("amount", "unit"), "yen", "guarantee"),
        (("amount", "upper"), "2000", "guarantee"),
        (("amount", "notches"), 500, "guarantee"),
        (("amount", "notches"), 999, "guarantee"),
        (("amount", "edges"), [], "guarantee"),
        (("amount", "share"), "1/3", "guarantee"),
        (("amount", "share"), None, "guarantee"),
        (("private",), False, "records"),
        (("constraints",), [], "guarantee"),
        (("guarantee", "epsilon"), "1/2", "guarantee"),
        (("guarantee", "spends"), "epsilon = 1/2", "guarantee"),
        (("guarantee", "contribution"), 3, "guarantee"),
        (("guarantee", "neighbours"), "replace-one", "guarantee"),
        (("guarantee", "not_protected"), [], "guarantee"),
        (("guarantee", "source"), "trust", "guarantee"),
        (("count_id",), "0" * 16, "records"),
        (("count_sha256",), "0" * 64, "records"),
        (("files",), [], "checksums"),
    ],
)
def test_a_changed_index_is_found(folder, name, value, check):
    def change(card):
        for key in name[:-1]:
            card = card[key]
        card[name[-1]] = value

    change_index(folder, change)
    assert check in failed(folder)


def change_column(public, column, change):
    """Change a column of the table, with all checksums."""
    path = public / "amounts.parquet"
    table = pq.read_table(path)
    at = table.schema.get_field_index(column)
    values = change(table[column].to_numpy().copy())
    table = table.set_column(at, table.schema.field(at), pa.array(values))
    pq.write_table(table, path)

    def list_again(card):
        for file in card["files"]:
            file["sha256"] = sha256(public / file["name"])

    change_index(public, list_again)


def moved(values):
    values[:2] += np.array([1, -1], values.dtype)
    return values


@pytest.mark.parametrize(
    ("column", "check"),
    [
        ("sum", "numbers"),
        ("count_100_to_200", "numbers"),
        ("count", "table"),
        ("mean", "table"),
        ("median", "table"),
        ("mean_high", "table"),
        ("sum_low", "table"),
    ],
)
def test_a_changed_number_is_found(folder, column, check):
    change_column(folder, column, moved)
    assert check in failed(folder)


def test_a_mean_beyond_the_clip_is_found(folder):
    change_column(folder, "sum", lambda values: values + 10**6)
    assert "numbers" in failed(folder)


def test_a_changed_text_is_found(folder):
    path = folder / "amounts.csv"
    path.write_text(path.read_text().replace("0_0,", "0_1,", 1))
    assert "checksums" in failed(folder)
    list_sums(folder)
    assert failed(folder)


def test_a_file_more_or_less_is_found(folder):
    (folder / "more.txt").write_text("more")
    assert "checksums" in failed(folder)
    list_sums(folder)
    assert "checksums" in failed(folder)
    (folder / "more.txt").unlink()
    (folder / "amounts.csvt").unlink()
    list_sums(folder)
    assert failed(folder)


def test_records_of_another_release_are_found(folder, tmp_path):
    publish(classes=EDGES).write(tmp_path / "other")
    other = tmp_path / "other" / "public"
    for path in (other / "count").iterdir():
        (folder / "count" / path.name).write_bytes(path.read_bytes())

    def adopt(card):
        card["count_sha256"] = sha256(folder / "count" / CARD)
        card["count_id"] = json.loads((folder / "count" / CARD).read_text())["release_id"]

    change_index(folder, adopt)
    assert {"numbers", "guarantee"} & {*failed(folder)}


def test_a_link_or_no_index_is_found(folder):
    (folder / "link").symlink_to(folder / "amounts.csv")
    assert list(failed(folder)) == ["index"]
    (folder / "link").unlink()
    (folder / INDEX).write_text("{}")
    assert list(failed(folder)) == ["index"]


def test_all_questions_are_asked(folder):
    names = [check.name for check in verify_amounts(folder)]
    assert names == ["index", *(name for name, _ in QUESTIONS), "count"]
