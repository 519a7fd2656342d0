"""What is held at a time follows the limit of memory, and nothing that is written does."""

import subprocess
import sys

import numpy as np
import pytest
import rasterio

import geodp
from geodp.errors import UsageError
from geodp.io.memory import WORK, fit, work_within
from geodp.io.verify import readback
from geodp.io.verify.readback import DRAWING, REPORTING, VERIFYING, read_within
from geodp.io.verify.verify import verify
from geodp.io.write import geopackage, geotiff, parquet, pixels, tables
from geodp.release.opening import errors_of
from tests.command import geodp as command
from tests.refusals import refuses

MIB = 1 << 20


def test_nothing_is_limited_but_within():
    assert fit(100, 1 << 40) == 100
    with work_within(None):
        assert fit(100, 1 << 40) == 100
    with work_within("1MiB"):  # as a reader's limit; writing takes what it needs
        assert fit(WORK, 1) == WORK // 4
        assert fit(100, 1 << 40) == 1
        assert fit(100, 1 << 40, step=7) == 7
        with work_within("1GiB"):
            assert fit(WORK * 8, 1) == 256 * MIB
        assert fit(WORK, 1) == WORK // 4
    assert fit(WORK, 1) == WORK
    with refuses(UsageError, "memory-form"), work_within("much"):
        pass


@pytest.fixture(scope="module")
def release():
    """Cells all over a map of several windows, whatever the limit."""
    grid = geodp.Grid.regular((600, 2100), crs="EPSG:3035", transform=(1e3, 0, 4e6, 0, 1e3, 3e6))
    people = np.zeros(grid.shape, int)
    people[::40, ::50] = 700
    table = geodp.CountTable.from_dense(people, grid)
    return geodp.publish(table, epsilon=1, contribution=1, key=geodp.NoiseKey(bytes(32)))


def test_a_release_is_the_same_whatever_it_was_written_within(release, tmp_path, monkeypatch):
    for module, name in ((tables, "ROW_GROUP"), (parquet, "ROW_GROUP"), (geopackage, "AT_ONCE")):
        monkeypatch.setattr(module, name, 128)
    monkeypatch.setattr(tables, "CHUNK", 512)
    monkeypatch.setattr(tables, "ROW_BYTES", 1 << 18)
    held, slabs = [], []
    decode = type(release.grid).decode
    windows = pixels.windows

    def watch(*place):
        for window in windows(*place):
            slabs.append(window.width)
            yield window

    monkeypatch.setattr(
        type(release.grid), "decode", lambda self, key: held.append(len(key)) or decode(self, key)
    )
    monkeypatch.setattr(pixels, "windows", watch)
    most = []
    for name, memory in (("free", None), ("tight", "1MiB")):
        held.clear(), slabs.clear()
        with work_within(memory):
            release.write(tmp_path / name)
        most.append((max(held), max(slabs)))
    assert most == [(512, 2100), (128, 512)]
    free, tight = (tmp_path / name / "public" / "SHA256SUMS" for name in ("free", "tight"))
    assert free.read_bytes() == tight.read_bytes()


def test_gdal_keeps_no_more_blocks_than_are_allowed(release, shared):
    folder = shared.write(release) / "public"
    card = readback.read_table_card(folder)
    for memory, cache in ((None, geotiff.CACHE), ("128MiB", 32 * MIB)):
        with work_within(memory), readback.open_map(folder, card):
            assert rasterio.env.getenv()["GDAL_CACHEMAX"] == cache
    with work_within("128MiB"):
        assert all(check.ok for check in verify(folder, errors_of))


@pytest.mark.parametrize("each", [VERIFYING, REPORTING, DRAWING])
def test_a_limit_that_the_rows_go_beyond_is_refused(release, shared, tmp_path, each):
    shared.copy(release, tmp_path / "out")
    need = -(-(WORK + each * len(release.table)) // MIB)
    with read_within([tmp_path / "out"], f"{need}MiB", each):
        assert fit(WORK, 1) == need * MIB // 4
    with (
        refuses(UsageError, f"memory-below-release: give --memory {need}MiB"),
        read_within([tmp_path / "out"], "64MiB", each),
    ):
        pass
    twice = -(-(WORK + 2 * each * len(release.table)) // MIB)
    with (
        refuses(UsageError, f"memory-below-release: give --memory {twice}MiB"),
        read_within([tmp_path / "out"] * 2, "64MiB", each),
    ):
        pass
    (tmp_path / "out" / "public" / "population.parquet").write_bytes(b"")
    with read_within([tmp_path / "out"], "128MiB", each):  # verify says what is wrong with it
        pass


@pytest.mark.parametrize(
    "call",
    [
        "verify {out}",
        "map {out} --output {to}/a.png",
        "map {out} --compare {out} --output {to}/b.svg",
        "report {out} --output {to}/c.html",
    ],
)
def test_commands_that_read_a_release_keep_to_the_limit(call, release, shared, tmp_path):
    words = call.format(out=shared.write(release), to=tmp_path).split()
    done = command(*words, "--memory", "256MiB")
    assert done.returncode == 0, done.stderr
    assert command(*words, "--memory", "8MiB").returncode == 2


PEAK = """
import re, sys
from geodp.cli import geodp
geodp.main(sys.argv[1:], "geodp", standalone_mode=False)
print(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1])
"""
"""Prints KiB of its own: what ``getrusage`` knows includes those of who started the process."""


@pytest.mark.law
@pytest.mark.skipif(sys.platform != "linux", reason="peaks of memory in KiB")
@pytest.mark.parametrize("shape", [(262_144, 524_288), (1 << 31, 1 << 31)])
def test_a_page_and_a_map_of_any_domain_take_less_than_a_gigabyte(shape, tmp_path):
    index = np.random.default_rng(1).integers(0, np.array(shape)[:, None], (2, 50_000))
    table = geodp.CountTable.from_index(geodp.Grid.regular(shape), index, np.full(50_000, 50))
    geodp.publish(table, epsilon=1, contribution=1).write(tmp_path / "out")
    for words in (
        ["report", str(tmp_path / "out"), "--output", str(tmp_path / "a.html")],
        ["map", str(tmp_path / "out"), "--output", str(tmp_path / "a.png")],
        ["verify", str(tmp_path / "out")],
    ):
        done = subprocess.run(
            [sys.executable, "-c", PEAK, *words], capture_output=True, text=True, check=True
        )
        assert int(done.stdout.split()[-1]) < 1_000_000, words
