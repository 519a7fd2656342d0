"""A kept key gives the same release in another process, and without compiled code."""

import os
import subprocess
import sys

import pytest

from tests.keys import keep

SCRIPT = """
import sys, numpy as np, geodp
from geodp.mechanisms.trees import shrinkage
# The card's figures of lone cells are other releases, and many: they are not looked at here.
shrinkage.FIRST_TREES = shrinkage.MAX_TREES = shrinkage.SETTLEMENTS = shrinkage.SPLITS = 2
shrinkage.MOST_ROUNDS = 1
key = geodp.NoiseKey.from_file(sys.argv[1])
grid = geodp.Grid.regular((9, 14))
people = np.zeros((9, 14), int)
people[2:5, 3:9] = np.arange(18).reshape(3, 6) * 40
table = geodp.CountTable.from_dense(people, grid)
release = geodp.publish(table, epsilon="1/3", contribution=1, key=key)
print(release.table.key.tolist(), release.table.count.tolist())
"""


def run(key_file, **variables):
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", SCRIPT, str(key_file)],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def key_file(tmp_path_factory):
    return keep(tmp_path_factory.mktemp("keys") / "key")


@pytest.fixture(scope="module")
def first(key_file):
    return run(key_file)


@pytest.mark.law
@pytest.mark.parametrize("variables", [{}, {"NUMBA_DISABLE_JIT": "1"}, {"NUMBA_NUM_THREADS": "1"}])
def test_another_process_replays_bit_for_bit(key_file, first, variables):
    assert run(key_file, **variables) == first


@pytest.mark.law
def test_another_key_does_not(tmp_path, first):
    assert run(keep(tmp_path / "other", "other")) != first
