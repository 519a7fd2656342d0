"""What cannot be carried out is one sentence, before anything is charged, and leaves nothing."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import geodp as package
from geodp import METHODS
from geodp.privacy.ledger import Ledger
from tests.command import geodp

CELLS = ["--grid", "regular:8x8", "--value", "n", "--x", "x", "--y", "y", "--anchor", "index"]
ROWS = "x,y,n\n" + "".join(f"{x},{y},{20 + x}\n" for x in range(8) for y in range(8))


@pytest.mark.parametrize("shape", [(1 << 62,), (1 << 31, 1 << 31)])
def test_the_largest_grid_is_published_by_all_that_take_it(shape):
    grid = package.Grid.regular(shape)
    table = package.CountTable.from_keys(grid, np.array([5], np.uint64), np.array([100]))
    taken = [method for method in METHODS.values() if not method.unsupported(grid)]
    assert "pyramid" in {method.name for method in taken}
    for method in taken:
        release = package.publish(table, epsilon=1, method=method, contribution=1)
        assert release.card().mechanism.name == method.name


@pytest.mark.parametrize("command", ["plan", "publish"])
def test_a_grid_of_two_to_the_63_cells_is_refused_alike(command, tmp_path):
    (tmp_path / "a.csv").write_text(ROWS)
    inputs = [] if command == "plan" else [tmp_path / "a.csv", *CELLS[2:], "--contribution", "1"]
    inputs += [] if command == "plan" else ["--output", tmp_path / "out"]
    done = geodp(command, *inputs, "--grid", "regular:4294967296x2147483648", "--epsilon", "1")
    assert done.returncode == 2
    assert "more than 2**62 cells after padding" in done.stderr
