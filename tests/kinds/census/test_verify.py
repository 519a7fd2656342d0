"""Verification of a census: whatever is changed is found, with all checksums written anew."""

from dataclasses import replace

import numpy as np
import pytest

from geodp.grid.joint import split_grid
from geodp.table.counts import ReleasedTable
from tests.kinds.changing import failed, list_files, list_sums, set_value

INDEX = [
    (("contradictions",), "fitted", "one release"),
    (("columns", 1, "code"), "T001141009", "one release"),
    (("columns", 1, "name"), "人口（総数）　おとこ", "joint files"),
    (("columns", 1, "parts"), [["女"]], "joint files"),
    (("columns", 1, "parts"), [["男"], ["男"]], "guarantee"),
    (("columns", 4, "table"), "sex", "guarantee"),
    (("margins", 0, "labels", 0), "男性", "guarantee"),
    (("margins", 0, "of"), "households", "guarantee"),
    (("margins", 2, "within"), "", "guarantee"),
    (("margins", 2, "within"), "その他", "constraints"),
]
"""Values of the index, others in their place, and the question that finds it."""


@pytest.mark.parametrize(("path", "value", "question"), INDEX, ids=range(len(INDEX)))
def test_a_changed_index_is_found(public, path, value, question):
    set_value(public, path, value)
    assert question in failed(public)


def test_one_person_more_in_the_table_of_all_columns_is_found(public):
    path = public / "census-table.csv"
    header, first, *rows = path.read_text(encoding="utf-8-sig").splitlines(keepends=True)
    code, count, *others = first.split(",")
    changed = ",".join([code, str(int(count) + 1), *others])
    path.write_text("".join([header, changed, *rows]), encoding="utf-8-sig")
    list_files(public)
    list_sums(public)
    assert [*failed(public)] == ["joint files"]


def one_more(table, part):
    """Count one more in one part of the first cell."""
    joint = split_grid(table.grid)
    cell = table.key[0] if joint is None else joint.split(table.key)[0][0]
    key = cell if joint is None else joint.join(np.array([cell]), np.array([part]))[0]
    keys = np.union1d(table.key, np.array([key], np.uint64))
    return ReleasedTable(table.grid, keys, table.counts_at(keys) + (keys == key), table.event)


@pytest.mark.parametrize(
    ("name", "part", "sentence"),
    [
        ("persons", 0, "The parts of sex add up to persons."),
        ("sex", 1, "The parts of sex add up to persons."),
        ("households", 0, "The parts of private add up to households."),
        ("size", 2, "The parts of size add up to private."),
    ],
)
def test_a_relation_that_is_broken_by_one_is_found(release, tmp_path, name, part, sentence):
    """In one cell, by whoever writes the release again as if it were another."""
    table = one_more(release.releases[name].table, part)
    changed = replace(release.releases[name], table=table)
    replace(release, releases={**release.releases, name: changed}).write(tmp_path / "out")
    assert sentence in failed(tmp_path / "out" / "public")["constraints"]
