"""The seconds of a method are those of a release, and not of what is done once for all of them."""

import os
import subprocess
import sys

import numpy as np
import pytest

import geodp
from geodp.grid.grid import Grid
from geodp.table.counts import CountTable
from geodp.tools.evaluate import evaluate as runs

TABLE = CountTable.from_dense(np.arange(16).reshape(4, 4), Grid.regular((4, 4)))


class Clock:
    """A clock that only releases move, and a count of the kernels that they compile or load."""

    def __init__(self, monkeypatch, first, kernels):
        self.now, self.kernels, self.runs = 0.0, 0, 0
        real = geodp.METHODS["laplace"].release

        def release(method, *arguments):
            self.runs += 1
            self.now += first if self.runs == 1 else 1.0
            self.kernels += kernels if self.runs == 1 else 0
            return real(*arguments)

        monkeypatch.setattr(type(geodp.METHODS["laplace"]), "release", release)
        monkeypatch.setattr(runs.time, "perf_counter", lambda: self.now)
        monkeypatch.setattr(runs, "count_compiled", lambda: (self.kernels, self.kernels))


@pytest.mark.parametrize(
    ("first", "kernels", "runs", "seconds"),
    [
        (100.0, 1, 4, 1.0),  # it compiled, for however long
        (1.5, 0, 4, 1.0),  # a short one may have imported modules
        (100.0, 0, 3, 34.0),  # nothing but work
    ],
)
def test_what_is_done_once_is_not_timed(monkeypatch, first, kernels, runs, seconds):
    clock = Clock(monkeypatch, first, kernels)
    found = geodp.evaluate(TABLE, methods="laplace", epsilon=1, trials=3, contribution=1)
    assert found.methods["laplace"]["seconds"] == pytest.approx(seconds)
    assert clock.runs == runs


@pytest.mark.law
def test_what_a_process_compiles_is_counted_also_where_nothing_is_kept(tmp_path):
    code = (
        "import numpy as np, geodp\n"
        "from geodp.kernels.jit import CACHE, count_compiled\n"
        "grid = geodp.Grid.regular((4, 4))\n"
        "table = geodp.CountTable.from_dense(np.arange(16).reshape(4, 4), grid)\n"
        "print(CACHE.folder)\n"
        "for _ in range(2):\n"
        "    before = count_compiled()\n"
        "    geodp.publish(table, epsilon=1, contribution=1, method='laplace')\n"
        "    print(count_compiled() == before)\n"
    )
    file = tmp_path / "file"
    file.touch()
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(file)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment
    )
    assert done.stdout.split() == ["None", "False", "True"], done.stderr
