"""Whole tables are read by every layout; contradictions, hidden and merged cells."""

import csv
from pathlib import Path

import numpy as np
import pytest

import geodp
from geodp.errors import InputError, UsageError
from geodp.io.read.layout.presets import presets
from geodp.kinds.census.inputs import CensusTables
from tests.refusals import refuses

GRID = geodp.Grid.regular((4, 5))
RELATED = [one for one in presets() if one.related is not None]
MESHES = Path(__file__).parents[3].parent / "shared" / "data"
REAL = pytest.mark.skipif(
    not MESHES.is_dir(), reason="the real data sets are not beside the project"
)


def write(path, names, rows):
    """Write a table of the cells of the grid."""
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = [[i // 5, i % 5, *row] for i, row in enumerate(rows)]
        csv.writer(file).writerows([["y", "x", *names], *rows])


def make(layout, draw):
    """Make columns that agree, of 20 cells: by their names."""
    patterns = [one for one in (layout.persons, layout.households) if one]
    patterns += [name for one in layout.margins for name in one.columns]
    names = [one.split("|")[0].replace("*", " ").replace("?", "0").strip() for one in patterns]
    relations = layout.find(names)
    made, counts = {}, {}
    for population in ("persons", "households"):
        counts[population] = {(): draw.integers(20, 40, 20) * (2 if population == "persons" else 1)}
    for margin in relations.margins:
        one, counts_of = margin.layout, {}
        for above, whole in counts[one.of].items():
            inside = not one.within or above[-1] == one.within
            labels = (
                one.all_labels[: len(one.column_labels) + bool(one.rest)]
                if inside
                else (one.elsewhere,)
            )
            shares = np.full(len(labels), 1 / len(labels))
            parts = [draw.multinomial(n, shares) for n in whole]
            counts_of |= {(*above, b): np.array(parts)[:, i] for i, b in enumerate(labels)}
        counts[one.name] = counts_of
    for name, (table, parts) in relations.columns.items():
        made[name] = sum(counts[table][part] for part in parts or [()])
    return made, counts


def read(path, preset, **options):
    options = {"anchor": "index", "x": "x", "y": "y", "contradictions": "refuse", **options}
    return geodp.census.read_table(path, grid=GRID, preset=preset, **options)


@pytest.mark.parametrize("preset", RELATED, ids=lambda one: one.name)
def test_columns_of_every_layout_are_read_back_and_any_that_is_wrong_is_refused(preset, tmp_path):
    draw, path = np.random.default_rng(1), tmp_path / "in.csv"
    columns, counts = make(preset.related, draw)
    values = np.column_stack([*columns.values()])
    write(path, columns, values)
    found = read(path, preset.name)
    assert [one.name for one in found.columns] == [*columns]
    for margin in found.margins.margins:
        table = found.tables[margin.name].to_dense().reshape(20, -1)
        known = counts[margin.name]
        parts = [known[part] for part in sorted(known, key=lambda one: place(found, margin, one))]
        expected = np.column_stack([one for one in parts if one.any()])
        assert (table[:, table.any(axis=0)] == expected).all()
    # More in one column than in what it divides, or than its parts: no population is checked so.
    populations = {one.name for one in found.columns if not one.parts}
    for at in (at for at, name in enumerate(columns) if name not in populations):
        wrong = values.copy()
        wrong[3, at] += 1000
        write(path, columns, wrong)
        with refuses(UsageError, "census-contradicts|census-columns-contradict"):
            read(path, preset.name)


def place(found, margin, part):
    path = found.margins.path(margin.name)
    return [one.labels.index(label) for one, label in zip(path, part, strict=True)]


def test_hidden_counts_are_refused_or_fitted_and_hidden_totals_refused(tmp_path):
    path, names = tmp_path / "in.csv", ["GRD_ID", "T", "M", "F", "EMP"]
    rows = [[f"c{i}", 10, 4, 6, 3] for i in range(20)]
    rows[7][2:4] = [-9999, -9999]
    write(path, names, rows)
    with refuses(InputError, "census-count-hidden: row 9"):
        read(path, "census2021")
    found = read(path, "census2021", contradictions="fit")
    assert found.tables["sex"].to_dense()[1, 2].tolist() == [5, 5]
    assert found.changed == 1
    assert found.tables["employment"].to_dense().sum(axis=(0, 1)).tolist() == [60, 140]
    rows[7][1] = -9999
    write(path, names, rows)
    with refuses(InputError, "census-count-hidden: row 9"):
        read(path, "census2021", contradictions="fit")
    with refuses(UsageError, "contradictions-unasked"):
        read(path, "census2021", contradictions=None)


MERGED = """KEY_CODE,HTKSYORI,HTKSAKI,GASSAN,T001,T002,T003
,,,,人口（総数）,人口（総数）　男,人口（総数）　女
533900051,1,,533900052,8,5,5
533900052,2,533900051,,2,*,*
533900053,0,,,3,1,2
"""


def test_cells_whose_details_were_added_to_another_are_counted_there(tmp_path):
    path = tmp_path / "tblT000001H5339.txt"
    path.write_text(MERGED, encoding="utf-8")
    grid = geodp.Grid.mesh("jis:half", bounds=(139, 35, 140, 36))
    options = {"grid": grid, "contradictions": "refuse"}
    found = geodp.census.read_table(path, suppressed="merge", **options)
    assert isinstance(found, CensusTables)
    assert found.tables["persons"].count.tolist() == [10, 3]
    assert found.tables["sex"].count.tolist() == [5, 5, 1, 2]
    assert [(one.name, one.code) for one in found.columns][1] == ("人口（総数）　男", "T002")
    assert any("both are one cell" in one for one in found.read[0].reading.public_facts)
    for text, error, rule in (
        (MERGED.replace("8,5,5", "8,*,5"), InputError, "value-suppressed: row 3"),
        (MERGED + "533900052,2,533900051,,2,*,*\n", InputError, "cell-merged-twice: row 6"),
        (MERGED.replace("HTKSAKI", "OTHER"), InputError, "merge-without-receivers"),
        (MERGED.replace("8,5,5", "8,3,5"), UsageError, "census-contradicts"),
    ):
        path.write_text(text, encoding="utf-8")
        with refuses(error, rule):
            geodp.census.read_table(path, suppressed="merge", **options)


@REAL
def test_columns_of_real_meshes_agree_where_merged_cells_are_one():
    files = sorted(MESHES.glob("estat-2020-500m/*.zip"))
    grid = geodp.Grid.mesh("jis:half", bounds=(138, 34, 142, 38))
    found = geodp.census.read_table(
        files, grid=grid, suppressed="merge", outside="drop", contradictions="refuse"
    )
    assert len(found.columns) == 50
    persons, age = found.tables["persons"], found.tables["age"].to_dense()
    assert (persons.key.size, int(persons.count.sum())) == (90_408, 49_177_146)
    # The ages of 1.2 million are not stated.
    assert age.sum(axis=(0, 1))[:, -1].tolist() == [652_829, 558_263]
