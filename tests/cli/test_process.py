"""How the command line starts and ends: counts of imports, never seconds."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from geodp.cli import _Signals
from geodp.io.folder import stopping
from tests import signalled

pytestmark = pytest.mark.law

DATA = Path(__file__).parents[2] / "data" / "kanto"
SMALL = [
    *["publish", str(DATA / "tblT999999H5339.zip"), "--grid", "jis:half", "--primary", "5339"],
    *["--value", "人口（総数）", "--epsilon", "1/2"],
]
HEAVY = {"numpy", "numba", "pyarrow", "rasterio", "matplotlib", "PIL", "shapely", "rich", "scipy"}


def geodp(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "geodp", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def imported(done):
    """Modules that a run with PYTHONPROFILEIMPORTTIME has imported."""
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip() for line in lines[1:]}


@pytest.mark.parametrize("arguments", [["--help"], ["publish", "--help"]])
def test_help_imports_little(arguments):
    modules = imported(geodp(*arguments, PYTHONPROFILEIMPORTTIME="1"))
    assert "click" in modules
    assert not HEAVY & modules
    ours = {name for name in modules if name.startswith("geodp.")}
    reads = r"|io\.read(\.\w+)?" if "publish" in arguments else ""
    light = (
        r"geodp\.(advice|errors|registry|progress|options(\.\w+)?|io|io\.folder|io\.folder\.stopping|cli(\.\w+)*"
        rf"|kinds|tools|((kinds|tools)\.\w+|cluster|literature|local)(\.(commands|running)(\.\w+)?|\.tables|\.options)?{reads})"
    )
    assert all(re.fullmatch(light, name) for name in ours), ours
    assert len(modules) < 400


def test_a_plan_loads_no_reader():
    # Nothing is read for it, and the readers take a fifth of its time to be loaded.
    box = ["--bounds", "138", "35", "141", "37"]
    done = geodp(
        *["plan", "--grid", "jis:half", *box, "--epsilon", "1"], PYTHONPROFILEIMPORTTIME="1"
    )
    assert done.returncode == 0
    modules = imported(done)
    assert "geodp.tools.plan.plan" in modules
    assert not {"rasterio", "geodp.io.read.options", "geodp.io.read.rows.columns"} & modules


STARTED = """
import os, sys, types
commands = types.ModuleType("geodp.cli")
commands.main = lambda: print(os.environ["OPENBLAS_THREAD_TIMEOUT"], "numpy" in sys.modules)
sys.modules["geodp.cli"] = commands
from geodp.__main__ import main
main()
"""


@pytest.mark.parametrize("asked", [None, "20"])
def test_threads_of_linear_algebra_are_told_to_sleep_before_they_start(asked):
    environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_THREAD_TIMEOUT"}
    if asked is not None:
        environment["OPENBLAS_THREAD_TIMEOUT"] = asked
    done = subprocess.run(
        [sys.executable, "-c", STARTED], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout.split() == [asked or "4", "False"]


def test_publish_imports_no_library_that_it_does_not_use(tmp_path):
    done = geodp(*SMALL, "--output", tmp_path / "out", PYTHONPROFILEIMPORTTIME="1")
    assert done.returncode == 0, done.stderr
    modules = imported(done)
    assert {"numba", "pyarrow", "rasterio"} <= modules
    assert not {"rich", "matplotlib", "scipy.special", "scipy.optimize", "distributed"} & modules


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="signals of POSIX")
@pytest.mark.parametrize("closed", [(0,), (1,), (0, 1)])
def test_publish_with_closed_streams_leaves_a_whole_release(tmp_path, closed):
    done = subprocess.run(
        [sys.executable, "-m", "geodp", *SMALL, "--output", str(tmp_path / "out")],
        preexec_fn=lambda: [os.close(stream) for stream in closed],
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert geodp("verify", tmp_path / "out").returncode == 0


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="signals of POSIX")
@pytest.mark.parametrize("moment", signalled.MOMENTS)
def test_an_interrupted_run_leaves_one_sentence_and_no_file(tmp_path, moment):
    run = signalled.run(signal.SIGINT, moment, *SMALL, "--output", tmp_path / "out")
    assert "Traceback" not in run.stderr
    if moment == signalled.LAST:
        assert run.returncode == 0, run.stderr
        assert "Published" in run.stdout
        return
    if moment == signalled.BEFORE:
        assert run.returncode == -signal.SIGINT
    else:
        assert run.returncode == 130
        assert run.stderr.strip().splitlines()[-1] == "Interrupted; nothing was published."
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="signals of POSIX")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_library_that_turns_the_end_into_an_error_does_not_hide_it(number, code):
    script = (
        "import os, sys, geodp.cli\n"
        "def swallowed(**_):\n"
        "    try:\n"
        f"        os.kill(os.getpid(), {int(number)})\n"
        "    except BaseException:\n"
        "        raise ImportError('half imported') from None\n"
        "geodp.cli.geodp.main = swallowed\n"
        "geodp.cli.main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code
    assert "ImportError" not in done.stderr


def test_the_exit_code_tells_who_stopped_a_run_and_nothing_of_one_that_had_published():
    signals = _Signals()
    assert signals.code == 0
    try:
        for take, end, code in (
            (signals.take_interrupt, KeyboardInterrupt, 130),
            (signals.take_termination, SystemExit, 143),
        ):
            with pytest.raises(end):
                take(0, None)
            assert signals.code == code
        signals.stop.complete = True
        assert signals.code == 0
    finally:
        stopping.begin()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_a_release_whose_words_have_no_room_is_published_all_the_same(tmp_path):
    (tmp_path / "in.csv").write_text("x,y,n\n0,0,5\n")
    place = ["--grid", "regular:8x8", "--x", "x", "--y", "y", "--anchor", "index", "--value", "n"]
    asked = ["--epsilon", "1", "--contribution", "1", "--output", "out"]
    call = [sys.executable, "-m", "geodp", "publish", "in.csv", *place, *asked]
    with open("/dev/full", "w") as full:
        done = subprocess.run(call, cwd=tmp_path, stdout=full, stderr=full)
    assert done.returncode == 0
    assert (tmp_path / "out" / "public" / "release.json").exists()
