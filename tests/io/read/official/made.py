"""Sheets of the made-up tables of publishers: the law of variants asks them as it asks the others.

A made-up table has two rows of areas. Its `Sheet` is the table as the form writes it, with a row
for each of several areas and one of nobody, and the options of a command in
docs/measured/official.md.
"""

import csv
import gzip
import tempfile
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path

import geopandas

from geodp.io.read.layout.presets import find_preset
from geodp.io.read.rows.names import match
from tests.io.read.official import forms, tables
from tests.io.read.official.test_forms import COMMANDS
from tests.io.read.official.variants import CELLS, MESHES, PEOPLE, Sheet, inspire

BUDGET = {"--epsilon", "--output"}


def sheet_of(
    layout: str,
    form: Callable[[Path], None],
    codes: Sequence[str],
    *,
    nobody: str = "0",
    counts: Sequence[str] = tuple(map(str, PEOPLE)),
    attribute: str = "",
    code: str = "",
) -> Sheet:
    """Return the sheet of a form that writes one table, and the table of its areas or none.

    Parameters
    ----------
    layout : str
        The preset that knows the table: it tells the columns of codes and of counts.
    codes, counts, nobody
        Of the areas, of which the last has the layout's mark for nobody and the others the counts.
        Cells of the form's row that equal its count are of the same people, and those that equal
        its code or centre are of the same area.
    attribute : str
        Of the command; its first column has the counts.
    code : str
        Column of codes, where the preset has several.
    """
    with tempfile.TemporaryDirectory() as folder:
        form(Path(folder))
        words = _find_command(Path(folder), attribute)
        table = Path(folder) / words[0]
        found = _read(table)
        areas = {path.name: _read(path) for path in Path(folder).glob("*.csv") if path != table}
    preset, columns = find_preset(layout), found.columns
    code = code or match(preset.options["code"], columns)[0]
    value = match(preset.options["value"], columns)[0]
    if attribute:
        value = preset.find_attributes(columns)[attribute].columns[0]
    kept = [_is_kept(found, row, words) for row in found.rows]
    like = found.rows[kept.index(True)]
    rows = [row for row, is_kept in zip(found.rows, kept, strict=True) if not is_kept]
    own, count = like[found.at(code)], like[found.at(value)]
    for text, area in zip((*counts, nobody), codes, strict=True):
        other = {count: text, own: area, **dict(zip(_centre(own), _centre(area), strict=True))}
        made = [other.get(cell, cell) for cell in like]
        rows.append(tuple(made))
    square = codes[0].startswith("CRS3035RES1000m")
    beside = tuple((name, _list_areas(one, codes)) for name, one in areas.items())
    return Sheet(
        layout,
        table.name.removesuffix(".gz"),
        columns,
        tuple(rows),
        tuple(one for pair in pairwise(words) for one in pair[1:] if not BUDGET & {*pair}),
        code=code,
        value=value,
        beside=beside,
        delimiter=found.delimiter,
        packing={".gz": "gz", ".shp": "shp"}.get(table.suffix, "csv"),
        shape=inspire if square else None,
        crs=3035 if square else 0,
    )


def _find_command(folder: Path, attribute: str) -> list[str]:
    """Return the words of the documented command that publishes a table of the folder."""
    return next(
        words
        for words, result in COMMANDS
        if (folder / words[0]).exists()
        and result == "published"
        and (attribute.replace("*", ",") in words if attribute else "--by" not in words)
    )


def _read(path: Path) -> Sheet:
    """Return the table of a file as it is written; of features without their outlines."""
    if path.suffix == ".shp":
        frame = geopandas.read_file(path).drop(columns="geometry")
        return _plain([[*frame.columns], *(map(str, row) for row in frame.to_numpy().tolist())])
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    delimiter = ";" if b";" in data.partition(b"\n")[0] else ","
    return _plain(csv.reader(data.decode().splitlines(), delimiter=delimiter), delimiter)


def _plain(lines: Iterable[Iterable[str]], delimiter: str = ",") -> Sheet:
    """Return a header and rows as a sheet of no layout."""
    columns, *rows = map(tuple, lines)
    return Sheet("", "", columns, tuple(rows), (), "", "", delimiter=delimiter)


def _is_kept(sheet: Sheet, row: tuple[str, ...], words: list[str]) -> bool:
    """Whether a row meets all `--where` of a command."""
    wheres = [words[at + 1].split("=") for at, word in enumerate(words) if word == "--where"]
    return all(row[sheet.at(column)] == label for column, label in wheres)


def _centre(code: str) -> list[str]:
    """Return the easting and northing of the centre of a square of 1 km, as they are written."""
    return [str(round(number)) for number in inspire(code).centroid.coords[0]]


def _list_areas(public: Sheet, codes: Sequence[str]) -> str:
    """Return the table of areas with all codes, whose first column is of these."""
    lines = [public.columns, *((code, *public.rows[0][1:]) for code in codes)]
    return "".join(f"{','.join(line)}\n" for line in lines)


SQUARES = [f"CRS3035RES1000mN{n}E{e}" for n, e in CELLS]
SMALL = [f"CRS3035RES200mN{n}E{e}" for n, e in CELLS]


def _numbered(start: int, text: str = "") -> list[str]:
    """Eight codes that follow one another."""
    return [f"{text}{start + i}" for i in range(8)]


BLOCKS = _numbered(1000, "09001010101")
FRACTIONS = [str(n) if n in (8, 12, 250) else f"{n}.4" for n in PEOPLE]
"""Estimates of persons."""

MADE = (
    sheet_of("zensus2022", forms.zensus_1km, SQUARES, nobody="–"),
    sheet_of(
        "zensus2011",
        forms.zensus_2011,
        [f"100mN{n // 100}E{e // 100}" for n, e in CELLS],
        nobody="-1",
    ),
    sheet_of("census2021", forms.census_csv, SQUARES, nobody="-9999"),
    sheet_of(
        "cbs",
        forms.cbs_csv,
        [f"E{85_900 + 100 * i}N{436_000 + 100 * (i * i % 7)}" for i in range(8)],
        nobody="-99997",
    ),
    sheet_of("statpop", forms.statpop, [f"{6000 + i}2000" for i in range(8)]),
    sheet_of("lodes", forms.lodes, BLOCKS, code="w_geocode"),
    sheet_of("mlit-flow", forms.mlit_flow, MESHES),
    sheet_of("zensus2022-households", tables.zensus_families, SQUARES, nobody="–"),
    sheet_of(
        "zensus2022-households", tables.zensus_households, SQUARES, nobody="–", attribute="size"
    ),
    sheet_of("zensus2022-dwellings", tables.zensus_rents, SQUARES, nobody="–"),
    sheet_of("zensus2022-joined", tables.zensus_joined, SQUARES, nobody="–"),
    sheet_of(
        "zensus2011-atlas",
        tables.zensus_atlas,
        [f"1kmN{n // 1000}E{e // 1000}" for n, e in CELLS],
        nobody="-1",
    ),
    sheet_of("census2021-sdmx", tables.census_sdmx, SQUARES, nobody=""),
    sheet_of("filosofi", tables.filosofi_200m, SMALL, counts=FRACTIONS),
    sheet_of(
        "gus2011",
        tables.gus,
        [f"CRS3035RES1000mN{n + 540_000}E{e + 767_000}" for n, e in CELLS],
    ),
    sheet_of(
        "ssb", tables.ssb, [f"{2_240_000 + 1000 * i}{6_440_000 + 1000 * i}" for i in range(8)]
    ),
    sheet_of(
        "statfi", tables.statfi, [f"1kmN{6670 + i}E0{380 + i}" for i in range(8)], nobody="-1"
    ),
    sheet_of("scb", tables.scb, [f"{390_000 + 1000 * i}{6_130_000 + 1000 * i}" for i in range(8)]),
    sheet_of(
        "scb",
        tables.scb_ages,
        [f"{390_000 + 1000 * i}{6_130_000 + 1000 * i}" for i in range(8)],
        attribute="age",
    ),
    sheet_of("census2021-v1", tables.census_v1, SQUARES, nobody="-9999"),
    sheet_of("ine-grid", tables.ine_grid, [f"PT_{code}" for code in SQUARES]),
    sheet_of("ine-bgri", tables.ine_bgri, _numbered(11060300101)),
    sheet_of("istat-sections", tables.istat, _numbered(580911000001)),
    sheet_of("statcan-profile", tables.statcan, _numbered(60010181, "2021S0512")),
    sheet_of("abs-g01", tables.abs_g01, _numbered(10102100701), attribute="sex*age"),
    sheet_of("abs-mesh-blocks", tables.abs_mesh_blocks, _numbered(10000010000)),
    sheet_of("lodes-rac", tables.lodes_rac, BLOCKS, attribute="age"),
    sheet_of("lodes-wac", tables.lodes_wac, BLOCKS),
    sheet_of("mobaku", tables.mobaku, [f"{code}1" for code in MESHES]),
)
