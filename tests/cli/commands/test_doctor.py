"""`geodp doctor`: what is there, and sentences of what is wrong."""

import json
import os
import subprocess
import sys

import pyproj
import pytest
from click.testing import CliRunner

import geodp
from geodp.cli import geodp as command
from geodp.cli.commands.doctor import CHECKS, Finding
from geodp.kernels import jit
from geodp.privacy.key import NOISE_FORMAT

pytestmark = pytest.mark.law


def doctor(*words, **environment):
    return subprocess.run(
        [sys.executable, "-m", "geodp", "doctor", *words],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def findings(done):
    return {row["name"]: row for row in json.loads(done.stdout)["findings"]}


def test_it_tells_versions_the_cache_and_the_noise_format():
    done = doctor()
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"geodp {geodp.__version__}\n")
    found = findings(doctor("--json"))
    for name in ("Python", "numpy", "numba", "GDAL", "PROJ", "threads"):
        assert found[name]["value"][0].isdigit()
    assert found["kernel sources"]["value"] == jit.CACHE.digest
    assert found["kernel cache"]["value"] == str(jit.CACHE.folder)
    shipped = f"{len(jit.SHIPPED.codes)} for {jit.SHIPPED.target}"
    assert found["kernels shipped"]["value"] == (jit.SHIPPED.wrong or shipped)
    assert found["noise format"]["value"] == NOISE_FORMAT
    assert not any(row["wrong"] for row in found.values())


def test_it_says_whether_kernels_are_compiled(tmp_path):
    place = {"NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_CPU_NAME": "generic"}
    assert findings(doctor("--json", **place))["kernels compiled"]["value"].startswith("0 ")
    code = (
        "import numpy as np; from geodp.grid.order import Order\n"
        "Order.morton((2, 2)).encode(np.zeros((2, 1), int))"
    )
    subprocess.run([sys.executable, "-c", code], env={**os.environ, **place}, check=True)
    assert findings(doctor("--json", **place))["kernels compiled"]["value"] == "2"


@pytest.mark.parametrize(
    ("environment", "name", "says"),
    [
        (
            {"NUMBA_CACHE_DIR": "/dev/null/x", "NUMBA_CPU_NAME": "generic"},
            "kernel cache",
            "cannot be written",
        ),
        ({"NUMBA_DISABLE_JIT": "1"}, "kernel cache", "NUMBA_DISABLE_JIT is set"),
    ],
)
def test_what_is_wrong_is_a_sentence_and_exit_code_1(environment, name, says):
    done = doctor(**environment)
    assert done.returncode == 1
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    told = doctor("--json", **environment)
    assert told.returncode == 1
    assert json.loads(told.stdout)["ok"] is False
    assert says in findings(told)[name]["wrong"]


def test_a_library_that_is_missing_and_a_lost_database_are_told(monkeypatch):
    module = sys.modules["geodp.cli.commands.doctor"]  # the name is also that of the command
    monkeypatch.setattr(module, "LIBRARIES", ("no-such-library",))
    crs = pyproj.CRS

    def lost(number):
        raise sys.modules["pyproj.exceptions"].CRSError("no proj.db")

    monkeypatch.setattr(crs, "from_epsg", lost)
    done = CliRunner().invoke(command, ["doctor"])
    assert done.exit_code == 1
    said = str(done.exception)
    assert "no-such-library is not installed" in said
    assert "PROJ finds no database" in said


def test_every_check_gives_findings_whose_faults_are_sentences():
    found = [finding for check in CHECKS for finding in check()]
    assert len({finding.name for finding in found}) == len(found)
    assert all(isinstance(finding, Finding) and finding.value for finding in found)
    assert all(not finding.wrong or finding.wrong.endswith(".") for finding in found)
