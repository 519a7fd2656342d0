"""The line on the terminal: when it is there, what it tells, and that it goes at once."""

import io
import logging
import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import geodp
from geodp import progress
from geodp.io.read.table import read_table
from geodp.progress import Bar

pytestmark = pytest.mark.law

ROWS = 40_000


class Terminal(io.StringIO):
    """Also tells those who wait until something is drawn."""

    def __init__(self):
        super().__init__()
        self.told = threading.Condition()

    def isatty(self):
        return True

    def write(self, text):
        with self.told:
            self.told.notify_all()
            return super().write(text)

    def wait_for(self, words):
        with self.told:
            assert self.told.wait_for(lambda: words in self.getvalue(), 60)


@contextmanager
def recorded(monkeypatch):
    """What steps say while the block runs: name, total, pieces done."""
    steps = []

    def begin(what, total=None, *, public=False):
        steps.append([what, total, 0.0])

    def advance(pieces=1):
        steps[-1][2] += pieces

    def part(share, pieces=1):
        assert 0 <= share <= 1.0001
        assert steps[-1][2] + share * pieces <= steps[-1][1] * 1.0001

    with monkeypatch.context() as patch:
        for function in (begin, advance, part):
            patch.setattr(progress, function.__name__, function)
        yield steps


def table_of(folder, seed, kind):
    """A file of ROWS cells, all fields of one width, so that its size tells nothing."""
    rng = np.random.default_rng(seed)
    cells = rng.choice(512 * 512, ROWS, replace=False)
    count = rng.integers(100, 999, ROWS)
    text = "x,y,n\n" + "".join(
        f"{100 + x},{100 + y},{n}\n"
        for x, y, n in zip(cells % 512, cells // 512, count, strict=True)
    )
    path = folder / f"{seed}.{kind}"
    if kind == "csv":
        path.write_text(text)
    elif kind == "csv.gz":
        import gzip

        path.write_bytes(gzip.compress(text.encode(), 1))
    elif kind == "zip":
        import zipfile

        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a.csv", text)
            archive.writestr("b.csv", "x,y,n\n")
    else:
        import pyarrow.csv
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.csv.read_csv(io.BytesIO(text.encode())), path)
    return path


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "zip", "parquet"])
def test_reading_is_told_in_bytes_of_the_files_up_to_all_of_them(kind, tmp_path, monkeypatch):
    paths = [table_of(tmp_path, seed, kind) for seed in (1, 2)]
    with recorded(monkeypatch) as steps:
        options = {"x": "x", "y": "y", "anchor": "index", "duplicates": "sum"}
        read_table(paths, grid=geodp.Grid.regular((612, 612)), value="n", **options)
    (what, total, done), sorting = steps
    assert (what, total) == ("Reading", sum(path.stat().st_size for path in paths))
    assert 0.9 * total < done <= total  # an archive has a directory besides
    assert sorting[0] == "Sorting"


@pytest.mark.parametrize("method", ["pyramid", "topdown"])
def test_steps_and_their_totals_do_not_depend_on_the_data(method, tmp_path, monkeypatch):
    grid = geodp.Grid.regular((612, 612))
    told = []
    for seed in (1, 2):
        path = table_of(tmp_path, seed, "csv")
        with recorded(monkeypatch) as steps:
            table = read_table(path, grid=grid, value="n", x="x", y="y", anchor="index")
            release = geodp.publish(table, method=method, epsilon=1, contribution=1)
        told.append([step[:2] for step in steps])
        assert all(done in (total, 0) for what, total, done in steps if total)
    assert told[0] == told[1]
    with recorded(monkeypatch) as steps:  # what is written is public
        release.write(tmp_path / "out")
    names = [what for what, _, _ in steps]
    assert names[:2] == ["Writing the CSV", "Writing the Parquet file"]
    assert names[-1] == "Drawing the map"
    assert all(done == total for _, total, done in steps if total)


def test_an_estimate_is_that_of_the_speed_so_far_and_none_before_there_is_one():
    assert Bar("a", None, begun=0).left(9) is None
    assert Bar("a", 100, done=4, begun=0).left(9) is None
    assert Bar("a", 100, done=10, partly=10, begun=0).left(10) == pytest.approx(40)
    assert Bar("a", 100, done=110, begun=0).left(10) == 0


class Turns:
    """Instead of a clock: the work lasts for so many waits, before each of which it goes on."""

    def __init__(self, *works):
        self.works = list(works)
        self.waited = []

    def wait(self, seconds):
        self.waited.append(seconds)
        if not self.works:
            return True
        self.works.pop(0)()
        return False


def test_a_pipe_is_told_every_ten_seconds_what_is_done_and_of_public_steps_how_long_it_takes(
    monkeypatch,
):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])

    def at(seconds, work):
        def go_on():
            now[0] = seconds
            work()

        return go_on

    def write():
        progress.begin("Writing the CSV", 100, public=True)
        now[0] += 5
        progress.advance(25)

    def read():
        progress.begin("Reading", 100)
        progress.advance(50)

    def compile_one():
        progress.compile_begins("sort")

    monkeypatch.setattr(progress, "EVERY", 10.0)
    turns = Turns(lambda: None, read, compile_one, progress.compile_ends, at(40, write))
    stream, before = io.StringIO(), threading.active_count()
    with progress.show(None) as bar:
        assert threading.active_count() == before
        progress.print_lines(bar, turns, stream)
    assert stream.getvalue().splitlines() == [
        "[10 s] Starting",
        "[20 s] Reading",
        "[30 s] Compiling",
        "[40 s] Reading",
        "[50 s] Writing the CSV, about 20 s left",
    ]
    assert turns.waited == [10.0] * 6


def test_what_compiling_takes_is_no_part_of_a_step(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    told = []
    with progress.show(None, lambda: told.append("compiles")) as bar:
        progress.begin("Reading", 100)
        progress.compile_begins("outer")
        progress.compile_begins("inner")
        now[0] = 300.0
        assert (bar.name(), bar.share()) == ("Compiling inner", None)
        progress.compile_ends()
        progress.compile_ends()
        now[0] += 10
        progress.advance(50)
        assert (bar.name(), bar.left(now[0])) == ("Reading", 10)
        progress.compile_begins("another")
        progress.compile_ends()
    assert told == ["compiles"]
    progress.compile_begins("nobody looks")
    progress.compile_ends()


class Closed(io.StringIO):
    """A pipe that nobody reads any more."""

    def write(self, text):
        raise BrokenPipeError


def test_a_reader_who_has_gone_hinders_nobody():
    turns = Turns(lambda: None, lambda: None)
    progress.print_lines(Bar(), turns, Closed())
    assert len(turns.waited) == 1


def test_the_log_has_the_names_of_steps_and_nothing_that_depends_on_the_data(
    tmp_path, caplog, monkeypatch
):
    monkeypatch.setattr(progress, "_compiled", True)
    grid = geodp.Grid.regular((612, 612))
    logs = []
    for seed in (1, 2):
        path = table_of(tmp_path, seed, "csv")
        caplog.clear()
        with caplog.at_level(logging.INFO, "geodp"):
            table = read_table(path, grid=grid, value="n", x="x", y="y", anchor="index")
            release = geodp.publish(table, epsilon=1, contribution=1)
        logs.append([(one.name, one.levelname, one.getMessage()) for one in caplog.records])
    assert logs[0] == logs[1]
    assert logs[0][:2] == [("geodp", "INFO", "Reading"), ("geodp", "INFO", "Sorting")]
    caplog.clear()
    with caplog.at_level(logging.INFO, "geodp"), progress.silence():
        release.write(tmp_path / "out")
    assert caplog.records == []
    assert logging.getLogger("geodp").handlers == []


def test_compiling_is_logged_once(caplog, monkeypatch):
    monkeypatch.setattr(progress, "_compiled", False)
    with caplog.at_level(logging.INFO, "geodp"):
        for kernel in "ab":
            progress.compile_begins(kernel)
            progress.compile_ends()
    assert [one.getMessage() for one in caplog.records] == [progress.COMPILING]


def test_nothing_is_told_of_quick_work_nor_where_nobody_is(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 3600.0)
    for stream, watchers in ((None, 0), (io.StringIO(), 1), (Terminal(), 1)):
        before = threading.active_count()
        with progress.show(stream):
            progress.begin("Reading", 10)
            assert threading.active_count() == before + watchers
        assert threading.active_count() == before
        assert stream is None or stream.getvalue() == ""
    assert progress._bar is None


def test_a_step_is_drawn_with_what_is_left_and_then_wiped_away(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    stream = Terminal()
    with pytest.raises(KeyboardInterrupt), progress.show(stream) as bar:  # noqa: PT012
        progress.begin("Reading", 10)
        bar.begun -= 30
        progress.advance(5)
        stream.wait_for("about 30 s left")
        raise KeyboardInterrupt
    drawn = stream.getvalue()
    assert "Reading" in drawn
    assert "about 30 s left" in drawn
    assert drawn.rstrip().endswith("\x1b[2K")
    assert not re.search(r"\b5\b|\b10\b", re.sub(r"\x1b\[[\d;?]*\w", "", drawn))


SLOW = """
import os, sys, time
import geodp.progress as progress, geodp.io.{module} as module
progress.PATIENCE = 0.2
def slow(*arguments, **options):
    os.write(1, b"HERE\\n")
    while True:
        time.sleep(3600)  # until it is interrupted
module.{function} = slow
from geodp.__main__ import main
sys.argv = ["geodp", *sys.argv[1:]]
main()
"""


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("module", "function"),
    [
        ("write.csv", "write_csv"),
        pytest.param("folder.staging", "sync_all", marks=pytest.mark.law),
        pytest.param("write.geotiff", "rasterio.shutil.copy", marks=pytest.mark.law),
        ("read.rows.tally", "place"),
    ],
)
@pytest.mark.skipif(not hasattr(os, "openpty"), reason="signals of POSIX")
def test_ctrl_c_at_the_bar_leaves_one_sentence_and_no_file(module, function, tmp_path):
    data = Path(__file__).parents[1] / "data" / "kanto" / "tblT999999H5339.zip"
    call = [str(data), "--grid", "jis:half", "--primary", "5339"]
    call += ["--value", "人口（総数）", "--epsilon", "1"]
    code = SLOW.format(module=module, function=function)
    ours, theirs = os.openpty()
    run = subprocess.Popen(
        [sys.executable, "-c", code, "publish", *call, "--output", str(tmp_path / "out")],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        start_new_session=True,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(theirs)
    assert run.stdout.readline() == b"HERE\n"
    shown = b""
    while b"\x1b[2K" not in shown:  # the bar is drawn, and drawn again
        shown += os.read(ours, 4096)
    os.killpg(run.pid, signal.SIGINT)
    while True:
        try:
            more = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not more:
            break
        shown += more
    # A thread of GDAL still packs: the process ends by the signal, which shells report as 130.
    assert run.wait() == (-signal.SIGINT if module == "write.geotiff" else 130)
    os.close(ours)
    text = re.sub(r"\x1b\[[\d;?]*\w", "", shown.decode())
    assert "Traceback" not in text
    assert text.strip().splitlines()[-1].strip() == "Interrupted; nothing was published."
    assert run.stdout.read() == b""
    assert list(tmp_path.iterdir()) == []
