"""Small tables of two publishers whose columns add up, and their releases."""

import numpy as np
import pandas as pd

import geodp
from geodp.grid.joint import split_grid
from geodp.kinds.census.kind import Column

MESHES = geodp.Grid.mesh("jis:basic", bounds=(139.5, "35.9833333333", 139.55, "36.0166666666"))
"""Cells of the primary meshes 5339, in the south, and 5439."""

SQUARES = geodp.Grid.mesh("inspire:1km", bounds=(4000000, 3000000, 4003000, 3002000))

MESH_COLUMNS = (
    Column("人口（総数）", "persons", (), "T001141001"),
    Column("人口（総数）　男", "sex", (("男",),), "T001141002"),
    Column("人口（総数）　女", "sex", (("女",),), "T001141003"),
    Column("世帯総数", "households", (), "T001141034"),
    Column("一般世帯数", "private", (("一般世帯",),), "T001141035"),
    Column("１人世帯数　一般世帯数", "size", (("一般世帯", "１人"),), "T001141036"),
)
SQUARE_COLUMNS = (
    Column("T", "persons"),
    *(Column(one, "sex", ((one,),)) for one in ("M", "F")),
    *(Column(one, "birth", ((one,),)) for one in ("NAT", "OTH")),
)

ASKED = {"epsilon": 2, "contribution": 1, "contradictions": "refuse"}


def list_codes(grid):
    """Return the codes of all cells, in their order."""
    keys = grid.domain.keys_of_ranks(np.arange(grid.size))
    return sorted(grid.places[0].format(*grid.decode(keys)))


def mesh_statistics():
    """Return a table of e-Stat, with titles as names of columns."""
    rows = pd.DataFrame({"KEY_CODE": list_codes(MESHES), "HTKSYORI": 0})
    at = np.arange(len(rows))
    counts = 60 + 5 * at, 25 + 2 * at, 35 + 3 * at, 30 + at, 28 + at, 12 + at
    return rows.assign(**dict(zip((one.name for one in MESH_COLUMNS), counts, strict=True)))


def census_grid():
    """Return a table of Eurostat's census grid, with the columns of the office in its order."""
    rows = pd.DataFrame({"GRD_ID": list_codes(SQUARES)})
    at = np.arange(len(rows))
    counts = 90 + 7 * at, 40 + 3 * at, 50 + 4 * at, 70 + 6 * at, 20 + at
    names = [one.name for one in SQUARE_COLUMNS]
    rows = rows.assign(**dict(zip(names, counts, strict=True)), LAND_SURFACE=1.0, POPULATED=1)
    return rows.assign(**{f"{one}_CI": 0 for one in names})


def of_labels(attributes, tables):
    """Make the table of a margin of the tables of its parts, each named by its labels."""
    grid = next(iter(tables.values())).grid
    for name, labels in attributes.items():
        grid = grid.with_attribute(name, labels)
    joint, keys = split_grid(grid), []
    for labels, one in tables.items():
        part = 0
        for label, every in zip(labels, attributes.values(), strict=True):
            part = part * len(every) + every.index(label)
        keys.append(joint.join(one.key, np.full(one.key.size, part)))
    counts = [one.count for one in tables.values()]
    return geodp.CountTable.from_keys(grid, np.concatenate(keys), np.concatenate(counts))


def publish_mesh(**options):
    """Publish all columns of mesh statistics."""
    persons, men, women, homes, private, single = (
        geodp.read_table(mesh_statistics(), grid=MESHES, code="KEY_CODE", value=one.name)
        for one in MESH_COLUMNS
    )
    sex = of_labels({"sex": ["男", "女"]}, {("男",): men, ("女",): women})
    kinds = {"private": ["一般世帯", "その他"]}
    options = {
        "households": homes,
        "household_margins": {
            "private": of_labels({"private": ["一般世帯"]}, {("一般世帯",): private}),
            "size": of_labels(kinds | {"size": ["１人"]}, {("一般世帯", "１人"): single}),
        },
        "rest": {"private": "その他", "size": "２人以上"},
        "within": {"size": ("一般世帯", "その他")},
        "columns": MESH_COLUMNS,
        **ASKED,
        **options,
    }
    return geodp.census.publish(persons, {"sex": sex}, **options)


def publish_grid(**options):
    """Publish all counts of a census grid."""
    total, men, women, native, other = (
        geodp.read_table(census_grid(), grid=SQUARES, code="GRD_ID", value=one.name)
        for one in SQUARE_COLUMNS
    )
    margins = {
        "sex": of_labels({"sex": ["M", "F"]}, {("M",): men, ("F",): women}),
        "birth": of_labels({"birth": ["NAT", "OTH"]}, {("NAT",): native, ("OTH",): other}),
    }
    options = {"columns": SQUARE_COLUMNS, **ASKED, **options}
    return geodp.census.publish(total, margins, **options)
