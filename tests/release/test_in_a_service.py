"""geodp inside a process that lives long: threads, forks, and nothing that grows."""

import gc
import hashlib
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import geodp

GRID = geodp.Grid.regular((16, 16))
KEY = geodp.NoiseKey(bytes(range(32)))


def table(number):
    return geodp.CountTable.from_dense(np.random.default_rng(number).integers(0, 9, (16, 16)), GRID)


def publish(number, folder):
    """Publish a table into a folder of its own; return digests of its public files."""
    release = geodp.publish(table(number), epsilon=1, contribution=1, key=KEY)
    release.write(folder / str(number))
    files = sorted((folder / str(number) / "public").iterdir())
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def test_releases_in_threads_are_those_made_one_after_another(tmp_path):
    (tmp_path / "serial").mkdir()
    (tmp_path / "threads").mkdir()
    serial = [publish(number, tmp_path / "serial") for number in range(8)]
    with ThreadPoolExecutor(4) as pool:
        threads = list(pool.map(publish, range(8), [tmp_path / "threads"] * 8))
    assert threads == serial
    assert len({one["population.csv"] for one in serial}) == 8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_publishes_what_its_parent_does(tmp_path):
    (tmp_path / "parent").mkdir()
    (tmp_path / "child").mkdir()
    publish(0, tmp_path / "parent")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            publish(0, tmp_path / "child")
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    names = sorted(file.name for file in (tmp_path / "parent" / "0" / "public").iterdir())
    for name in names:
        one, other = (tmp_path / who / "0" / "public" / name for who in ("parent", "child"))
        assert one.read_bytes() == other.read_bytes()


def test_nothing_of_a_release_stays_when_it_is_gone(tmp_path):
    """Objects, threads and open files after eight releases are those after two."""

    def state():
        gc.collect()
        files = len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0
        kinds = (geodp.CountTable, geodp.Release)
        tables = sum(type(one) in kinds for one in gc.get_objects())
        return threading.active_count(), files, tables

    gc.freeze()  # what other tests left is not looked at
    for number in range(2):
        publish(number, tmp_path)
    before = state()
    for number in range(2, 8):
        publish(number, tmp_path)
    assert state() == before
