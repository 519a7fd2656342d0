"""Rows are made once, whoever asks for them, and are what each writer would have made itself."""

from dataclasses import replace

import numpy as np

import geodp
from geodp.io.folder.publication import write_public
from geodp.io.write import tables
from geodp.io.write import view as rows
from geodp.io.write.view import keep_rows


def released(**options):
    grid = geodp.Grid.mesh("jis:half", bounds=(139.5, 35.5, 139.7, 35.7))
    index = np.indices(grid.shape).reshape(2, -1)[:, ::2]
    table = geodp.CountTable.from_index(grid, index, np.arange(1, 1 + index.shape[1]))
    return geodp.publish(table, epsilon=1, contribution=1, **options)


def test_rows_in_chunks_are_all_rows(monkeypatch, tmp_path):
    view = released().view("people")
    whole = view.all_rows.columns
    monkeypatch.setattr(tables, "CHUNK", 50)
    chunks = list(view.rows("Writing"))
    assert len(chunks) == -(-whole.num_rows // 50)
    assert all(one.columns.schema == view.empty.columns.schema for one in chunks)
    with keep_rows(view, tmp_path) as kept:
        first, again = list(kept.rows("Writing")), list(kept.rows("Writing"))
    for made in (chunks, first, again):
        assert [row for one in made for row in one.columns.to_pylist()] == whole.to_pylist()
        index = np.concatenate([one.index for one in made], axis=1)
        np.testing.assert_array_equal(index, view.table.grid.decode(view.table.key))
        assert np.concatenate([one.count for one in made]).tolist() == view.table.count.tolist()
    assert not [*tmp_path.iterdir()]


def test_all_formats_of_a_release_cost_one_making_of_rows_and_of_intervals(monkeypatch, tmp_path):
    """Counted in cells: rows once, and intervals once more for the raster, which shows others."""
    release = released()
    made, ends = [], []
    honest, errors = tables.arrow_columns, release.errors()

    def make(table, part, *others):
        made.append(len(range(*part.indices(table.key.size))))
        return honest(table, part, *others)

    def count(self, key):
        ends.append(key.size)
        return own(self, key)

    kind = type(errors.intervals)
    own = kind.of
    monkeypatch.setattr(rows, "arrow_columns", make)
    monkeypatch.setattr(kind, "of", count)
    folder = tmp_path / "public"
    folder.mkdir()
    write_public(replace(release.view("people"), errors=errors), folder)
    assert sum(made) == release.table.key.size
    raster = release.grid.size
    assert release.table.key.size <= sum(ends) <= release.table.key.size + raster
