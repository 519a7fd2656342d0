"""Limits and errors that the documents tell are those of the code."""

import re
from pathlib import Path

import numpy as np
import pytest

import geodp
from geodp.cluster import partitions, run
from geodp.io import opening
from geodp.io.write import geotiff, tiles
from geodp.table import counts
from geodp.tools.plan import plan

ROOT = Path(__file__).parents[2]


def text_of(file):
    return " ".join((ROOT / file).read_text(encoding="utf-8").split())


@pytest.mark.parametrize(
    ("file", "figure", "value"),
    [
        ("docs/verify.md", "64 MiB", opening.MAX_JSON_BYTES >> 20),
        ("docs/verify.md", "64 brackets", opening.MAX_DEPTH),
        ("docs/verify.md", "20 digits", opening.MAX_DIGITS),
        ("docs/planning.md", "16 places", plan.PLACES),
        ("docs/planning.md", "2^20 cells", plan.MAX_KEYS.bit_length() - 1),
        ("docs/distributed.md", "64 combinations", geotiff.MAX_BANDS),
        ("docs/distributed.md", "4,096 tiles", tiles.MAX_TILES),
        ("docs/proofs/cluster.md", "131,072 nodes", partitions.MAX_ROOTS),
        ("docs/proofs/cluster.md", "400 ranges", run.PARTS),
        ("docs/proofs/cluster.md", "2^16 people", run.LIGHTEST.bit_length() - 1),
        ("docs/proofs/cluster.md", "64 shelves", run.SHELVES),
        ("docs/proofs/cluster.md", "2^23 cells", run.AT_ONCE.bit_length() - 1),
        ("docs/proofs/privacy.md", "2^60 people", counts.MAX_PEOPLE.bit_length() - 1),
    ],
)
def test_limits_in_the_documents_are_those_of_the_code(file, figure, value):
    assert figure in text_of(file)
    assert int(re.search(r"(?:2\^)?(\d[\d,]*)", figure)[1].replace(",", "")) == value


@pytest.mark.parametrize("method", ["pyramid", "topdown"])
def test_errors_that_the_documents_tell(method):
    """Errors of an isolated cell, and of blocks, on the README's grid and budget."""
    short, text = text_of("README.md"), text_of("docs/guarantee.md")
    grid = geodp.Grid.regular((512, 512))
    empty = geodp.CountTable.from_index(grid, np.empty((2, 0), np.int64), np.empty(0, np.int64))
    key = geodp.NoiseKey(bytes(range(32)))
    release = geodp.publish(
        empty, method=method, epsilon="1/10", key=key, allow_empty=True, contribution=1
    )
    stated = release.card().expected_error
    bias, error = round(stated.isolated_cell.bias), round(stated.isolated_cell.rmse)
    assert f"{bias} and an error of {error} people" in text or f"{bias} and {error})" in text
    block = -round(stated.isolated_block.bias)
    assert f"loses {block} (" in text or f"(`topdown`: {block})" in text
    if method == "pyramid":
        assert f"a bias of {bias} and an error of {error} people" in short
        errors = [round(release.standard_error(4**level), -1) for level in range(10)]
        assert f"{min(errors):.0f} to {max(errors):.0f} people" in text
