"""Rows are made once, whoever asks for them, and are what each writer would have made itself."""

import numpy as np

import geodp
from geodp.io.write import tables
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
