"""The tables of CPU seconds: ``pytest -p tests.durations``."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

WORKED = """
import os, time
import pytest

def work(seconds):
    end = sum(os.times()[:4]) + seconds
    while sum(os.times()[:4]) < end:
        pass

@pytest.fixture(scope="session")
def inner():
    work(0.1)

@pytest.fixture(scope="session")
def outer(request):
    request.getfixturevalue("inner")
    work(0.2)

def test_works(outer):
    work(0.3)

def test_waits(outer):
    time.sleep(0.3)
"""


def costs(text, unit):
    """Return the seconds of every line of the tables that ends so."""
    return [float(one) for one in re.findall(rf"(?m)^ *([\d.]+) .*{unit}$", text)]


def test_tests_and_fixtures_are_charged_for_what_they_use(tmp_path):
    """In a worker, whose figures are handed over to the process that prints them."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (tmp_path / "test_worked.py").write_text(WORKED, encoding="utf-8")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "xdist.plugin", "-p", "tests.durations"),
            *("-n", "1", tmp_path),
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    said = done.stdout
    assert done.returncode == 0, said + done.stderr
    # Whoever asks first is charged for shared fixtures; waiting costs nothing.
    [works], [waits] = costs(said, "::test_works"), costs(said, "::test_waits")
    assert works == pytest.approx(0.6, abs=0.15)
    assert waits < 0.15
    [inner], [outer] = costs(said, "test_worked.inner"), costs(said, "test_worked.outer")
    assert inner == pytest.approx(0.1, abs=0.05)
    assert outer == pytest.approx(0.2, abs=0.05)
    whole, tests = map(int, re.search(r"took (\d+) CPU seconds: (\d+) for 2 tests", said).groups())
    assert whole >= tests
