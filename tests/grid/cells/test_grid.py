"""Cells of H3 and S2 as units: those of a public area, each under one parent, in every command."""

import json
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import geodp
from geodp.errors import CodeError, UsageError
from geodp.grid.cells import cells_of, find_cells
from geodp.grid.cells.area import MAX_CELLS, CellMask
from geodp.grid.cells.cell_grid import grid_of_cells
from tests.command import geodp as command
from tests.grid.cells.libraries import NEEDS, need_h3
from tests.refusals import refuses

BOX = (139.5, 35.5, 140, 36)
SPECS = ("h3:7", "s2:12")


@pytest.fixture(params=SPECS)
def spec(request):
    NEEDS[request.param[:2]]()
    return request.param


def test_levels_are_parents_up_to_a_few(spec):
    grid = grid_of_cells(spec, BOX)
    table, (system, level) = grid.hierarchy, find_cells(spec)
    assert not grid.names.on_map
    assert cells_of(table) == (system, level)
    assert len(table.codes[0]) <= 7 < len(table.codes[1])
    assert table.levels[-1] == spec.replace(":", "_")
    cells = system.read(table.labels(table.levels[-1]))[0]
    for name in table.levels:
        parents = system.format(system.parents(cells, int(name[3:])))
        assert (table.labels(name) == parents).all()
    assert table.source == (
        f"{system.title} cells of {system.word} {level} whose centres lie in 139.5 35.5 140 36 "
        f"(west, south, east, north in degrees of WGS 84), by {system.require_library()}"
    )


def test_pentagons_are_units_as_others_are():
    h3 = need_h3()
    pentagon = h3.get_pentagons(5)[3]
    y, x = h3.cell_to_latlng(pentagon)
    grid = grid_of_cells("h3:5", (x - 1, y - 1, x + 1, y + 1))
    assert (grid.names.find([pentagon]) >= 0).all()


def test_an_area_across_180_degrees_and_one_at_a_pole_are_whole(spec):
    system, level = find_cells(spec)
    near = grid_of_cells(spec, (179.8, -17.2, -179.8, -16.8))
    both = system.locate([179.9, -179.9], [-17, -17], level)
    assert (near.names.find(system.format(both)) >= 0).all()
    assert "179.8 -17.2 -179.8 -16.8" in near.hierarchy.source
    coarse = spec[:2] + ":4"
    pole = grid_of_cells(coarse, (-180, 80, 180, 90))
    assert (pole.names.find(system.format(system.locate([0.0], [90.0], 4))) >= 0).all()


def test_areas_with_no_cell_or_too_many_are_refused(spec):
    with refuses(UsageError, "area-without-cell"):
        grid_of_cells(spec, (139, 35, 139.001, 35.001))
    finest = f"{spec[:2]}:15"
    with refuses(UsageError, f"bounds-have-too-many-cells: {MAX_CELLS:,}.*--grid {spec[:2]}:\\d"):
        grid_of_cells(finest, (-180, -90, 180, 90))
    with refuses(UsageError, "cells-need-area: --bounds.*--mask"):
        grid_of_cells(spec)


def test_the_refusal_names_a_grid_that_fits():
    need_h3()
    with refuses(UsageError, r"bounds-have-too-many-cells: --grid h3:4\)"):
        grid_of_cells("h3:9", (-180, -90, 180, 90))
    assert grid_of_cells("h3:3", (-180, -90, 180, 90)).size == 2 + 120 * 7**3 < MAX_CELLS


def spellings(system, cells):
    """Every spelling of cells that is read."""
    codes = system.format(cells)
    ids = cells.view(np.int64)
    yield codes
    yield np.char.upper(codes)
    yield ["0x" + code for code in codes.tolist()]
    yield cells
    yield ids
    yield cells.tolist()
    yield [str(one) for one in ids.tolist()]
    yield [str(one) for one in cells.tolist()]


@pytest.mark.parametrize("box", [BOX, (-60, -25, -59.5, -24.5)])  # ids of S2 there are negative
def test_codes_in_every_spelling_are_the_same_cells(spec, box):
    grid = grid_of_cells(spec, box)
    system, _ = find_cells(spec)
    own = np.array(grid.hierarchy.codes[-1])
    expected = grid.names.find(own)
    for codes in spellings(system, system.read(own)[0]):
        assert np.array_equal(grid.names.find(codes), expected)


def test_cells_of_other_levels_are_refused_whatever_is_left_out(spec):
    grid, (system, level) = grid_of_cells(spec, BOX, other="elsewhere"), find_cells(spec)
    inside = system.read(grid.hierarchy.codes[-1][:1])[0]
    finer = system.format(system.children(inside, level + 1))[0]
    coarser = system.format(system.parents(inside, level - 1))[0]
    known = grid.hierarchy.codes[-1][1]
    for code, words in ((finer, "code-finer-than-grid"), (coarser, "code-coarser-than-grid")):
        for more in ({}, {"drops": True}, {"other": "elsewhere"}):
            with refuses(CodeError, words) as caught:
                grid.names.find([known, code], **more)
            assert caught.value.position == 1
            assert code not in str(caught.value)


def test_cells_outside_and_other_codes_are_refused_dropped_or_counted_elsewhere(spec):
    grid, (system, level) = grid_of_cells(spec, BOX, other="elsewhere"), find_cells(spec)
    far = system.format(system.locate([0.0], [51.0], level))[0]
    with refuses(CodeError, "cell-outside-area"):
        grid.names.find([far])
    assert (grid.names.find([far], drops=True) == -1).all()
    home = grid.names.find(["elsewhere"])
    assert np.array_equal(grid.names.find([far], other="elsewhere"), home)
    # What is no cell at all is no cell outside.
    for more in ({}, {"drops": True}, {"other": "elsewhere"}):
        with refuses(CodeError, f"code-no-cell: {system.title}"):
            grid.names.find(["abroad"], **more)
    with refuses(UsageError, "other-no-unit"):
        grid.names.find([far], other="abroad")
    with refuses(CodeError, "code-missing"):
        grid.names.find([" "], other="elsewhere")
    with refuses(UsageError, "other-unit-name"):
        grid_of_cells(spec, BOX, other=grid.hierarchy.codes[-1][0])


def test_tokens_of_digits_alone_are_no_ids():
    NEEDS["s2"]()
    grid = grid_of_cells("s2:3", (-180, -90, 180, 90))
    digits = [code for code in grid.hierarchy.codes[-1] if code.isdecimal()]
    assert digits
    assert (grid.names.find(digits) >= 0).all()
    for codes in ([int(digits[0])], np.array([int(digits[0])])):
        with refuses(CodeError, "code-finer-than-grid"):
            grid.names.find(codes)


def test_a_list_of_cells_needs_no_bounds(spec):
    system, level = find_cells(spec)
    whole = grid_of_cells(spec, BOX).hierarchy.codes[-1]
    mask = CellMask.of_codes(system, level, whole[:9], "an example")
    grid = grid_of_cells(spec, mask=mask)
    assert sorted(grid.hierarchy.codes[-1]) == sorted(whole[:9])
    assert grid.hierarchy.source.endswith(", in the mask of an example")
    assert grid_of_cells(spec, BOX, mask=mask).size == 9


@pytest.fixture
def counts(spec, tmp_path):
    """A file of counts of some cells in the box."""
    cells = grid_of_cells(spec, BOX).hierarchy.codes[-1][::9]
    path = tmp_path / "counts.csv"
    rows = "".join(f"{cell},{number}\n" for number, cell in enumerate(cells, 3))
    name = "s2_token" if spec[:2] == "s2" else "h3_index"
    path.write_text(f"{name},people\n{rows}")
    return path, dict(zip(cells, range(3, 3 + len(cells)), strict=True))


BOUNDS = ("--bounds", *map(str, BOX))
TERMS = ("--epsilon", "100", "--contribution", "1", "--output", "out")


def test_a_file_is_published_by_its_name_and_bounds(spec, counts, tmp_path):
    path, expected = counts
    done = command("publish", path, *BOUNDS, *TERMS, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"--grid {spec}" in done.stderr
    public = tmp_path / "out" / "public"
    card = json.loads((public / "release.json").read_text())
    assert f"cells of {find_cells(spec)[0].word} {spec[3:]}" in json.dumps(card)
    assert command("verify", public, cwd=tmp_path).returncode == 0
    release = geodp.open(public)
    cell, people = max(expected.items(), key=lambda one: one[1])
    assert abs(release.estimate(cell).count - people) < 5
    assert (public / f"population-{spec[:2]}_{int(spec[3:]) - 1}.csv").is_file()


def test_ids_of_parquet_are_read_with_and_without_signs(spec, counts, tmp_path):
    _, expected = counts
    system, _ = find_cells(spec)
    cells = system.read([*expected])[0]
    grid, people = grid_of_cells(spec, BOX), pa.array([*expected.values()])
    for ids in (cells, cells.view(np.int64)):
        pq.write_table(pa.table({"cell": ids, "people": people}), tmp_path / "ids.parquet")
        pq.write_table(
            pa.table({"cell": pa.array(ids).dictionary_encode(), "people": people}),
            tmp_path / "coded.parquet",
        )
        for name in ("ids.parquet", "coded.parquet"):
            table = geodp.read_table(tmp_path / name, grid=grid, code="cell", value="people")
            assert int(table.count.sum()) == sum(expected.values())
    decimals = [Decimal(cell) for cell in cells.tolist()]  # as databases store them
    for kind in (pa.decimal128(20, 0), pa.decimal128(22, 2), pa.decimal256(40, 0)):
        rows = pa.table({"cell": pa.array(decimals, kind), "people": people})
        table = geodp.read_table(rows, grid=grid, code="cell", value="people")
        assert int(table.count.sum()) == sum(expected.values())
    nested = pa.table({"cell": [[1]] * len(people), "people": people})
    with refuses(geodp.errors.InputError, "column-kind"):
        geodp.read_table(nested, grid=grid, code="cell", value="people")
    frame = pd.DataFrame({"cell": cells.astype(np.float64), "people": [*expected.values()]})
    with refuses(geodp.errors.InputError, "code-rounded"):
        geodp.read_table(frame, grid=grid, code="cell", value="people")


def test_the_first_row_that_is_no_cell_is_named(spec, counts, tmp_path):
    path, expected = counts
    first = next(iter(expected))
    rows = [f"{first},0", f"{first},0", "x1,2", "x1,2"]  # each code is looked for once
    path.write_text("\n".join(["cell,people", *rows, ""]))
    with refuses(geodp.errors.InputError, "code-no-cell") as caught:
        geodp.read_table(
            path, grid=grid_of_cells(spec, BOX), code="cell", value="people", duplicates="sum"
        )
    assert caught.value.row == 4


def test_pairs_of_cells_are_published(counts, tmp_path):
    path, _ = counts
    cells = [row.partition(",")[0] for row in path.read_text().splitlines()[1:]]
    rows = [f"{a},{b},5" for a, b in zip(cells, reversed(cells), strict=True)]
    path.write_text("\n".join(["origin,destination,trips", *rows, ""]))
    given = () if cells[0].endswith("fff") else ("--grid", "s2:12")
    done = command("publish", path, *given, *BOUNDS, *TERMS, "--check", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "--pairs" in done.stderr


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ((), "public area"),
        (("--bounds", "nowhere"), "no public area of this name"),
        ((*BOUNDS, "--order", "official"), "leave out --order"),
        ((*BOUNDS, "--regions", "x.csv", "--regions-source", "x"), "leave out --regions"),
        (("--primary", "5339"), "grids: --primary"),
        ((*BOUNDS, "--units-source", "x"), "grids: --units-source"),
        ((*BOUNDS, "--mask", "land:japan", "--mask-source", "x"), "leave out --mask-source"),
        ((*BOUNDS, "--mask", "a.csv", "--mask-source", "x"), "one of the inputs"),
        ((*BOUNDS, "--mask", "b.csv"), "--mask-source '"),
        (("--mask", "land:nowhere"), "no land of this name"),
    ],
)
def test_options_of_other_grids_are_refused(spec, tmp_path, more, words):
    (tmp_path / "a.csv").write_text("cell,n\n872f5a363ffffff,5\n872f5a362ffffff,5\n")
    given = ("--grid", spec, "--code", "cell", "--value", "n")
    done = command("publish", "a.csv", *given, *more, *TERMS, cwd=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr


def test_without_the_library_the_extra_is_named(monkeypatch):
    for name, extra in (("h3", "hexagons"), ("s2geometry", "s2")):
        monkeypatch.setitem(sys.modules, name, None)
        with refuses(UsageError, f"library-missing: geodp\\[{extra}\\]"):
            grid_of_cells("h3:7" if name == "h3" else "s2:7", BOX)


def test_bounds_in_words_and_by_name_are_boxes(counts, tmp_path, spec):
    path, _ = counts
    for number, words in enumerate(("139.5 35.5 140 36 degrees", "chiba")):
        more = () if number == 0 else ("--outside", "drop")
        done = command(
            "publish", path, "--bounds", words, "--epsilon", "1", "--contribution", "1", "--check",
            "--output", f"out{number}", *more, cwd=tmp_path,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
