"""Read the outlines of units back from a release's public folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from geodp.errors import Rule
from geodp.grid.hierarchy import Hierarchy
from geodp.grid.outlines import Outlines
from geodp.io.opening import read_parquet, texts_of
from geodp.io.verify.card import require
from geodp.io.write.outlines import outlines_file
from geodp.table.card import Card


def with_outlines(folder: Path, card: Card, regions: Hierarchy) -> Hierarchy:
    """Add to a table of units the outlines that the card declares, if they are in the folder.

    Raises VerificationError if their digest is not the card's.
    """
    declared, path = card.domain.outlines, folder / outlines_file(card.name)
    if declared is None or not path.is_file():
        return regions
    rows = read_parquet(path, regions.cells, ["code", "geometry"]).combine_chunks()
    codes = np.array(texts_of(rows["code"].combine_chunks()))
    # A table of units has one row, in whose columns the units stand in the order of the file.
    units = np.empty(regions.cells, object)
    units[regions.cell[1]] = regions.codes[-1]
    column = np.flatnonzero(np.isin(units.astype(np.str_), codes))
    require(
        codes.tolist() == units[column].tolist(),
        Rule("outlines-of-other-units", "The outlines are of other units than the table's."),
    )
    # Units that are not listed lie nowhere.
    wkb = np.full(regions.cells, None, object)
    wkb[column] = rows["geometry"].to_numpy(zero_copy_only=False)
    outlines = Outlines.from_wkb(wkb, declared.crs)
    require(
        outlines.sha256 == declared.sha256,
        Rule("outlines-not-stated", "The outlines are not the card's."),
    )
    return replace(regions, outlines=outlines)
