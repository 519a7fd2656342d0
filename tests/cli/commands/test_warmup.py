"""`geodp warmup` compiles what the other commands call; without a cache it says what to do."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from geodp.kernels.jit import SHIPPED

DATA = Path(__file__).parents[3] / "data" / "kanto"
SMALL = [
    *[str(DATA / "tblT999999H5339.zip"), "--grid", "jis:half", "--primary", "5339"],
    *["--value", "人口（総数）", "--epsilon", "1/2"],
]
BY_SEX = [
    *SMALL[:5],
    *["--value", "人口（総数） 男", "--value", "人口（総数） 女", "--by", "sex"],
    *["--contribution", "1", "--epsilon", "10"],
]
SOURCE = ["--prior-is-public", "--prior-source", "made up"]
SERIES = [
    *[f"{year}={DATA / f'tblT999999H53{sheet}.zip'}" for year, sheet in ((2001, 39), (2002, 40))],
    *["--grid", "jis:half", "--primary", "5339", "--primary", "5340", "--value", SMALL[6]],
    *["--person-in", "all", "--contribution", "1", "--epsilon", "1"],
]
CODE = """
import json, sys
from geodp.cli import geodp
from geodp.kernels import jit

def called():
    found = set()
    for kernel in jit._kernels:
        for known in (kernel.stats.cache_hits, kernel.stats.cache_misses):
            found |= {f"{kernel.__module__}.{kernel.__name__}{signature}" for signature in known}
    return found

seen = []
for arguments in json.loads(sys.argv[1]):
    try:
        geodp.main(arguments)
    except SystemExit as end:
        assert not end.code, arguments
    seen.append(sorted(called()))
print(json.dumps(seen))
"""


def run(code, *arguments, **environment):
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.mark.law
def test_after_a_warmup_nothing_is_left_to_compile_for_publish_evaluate_and_verify(tmp_path):
    out, before = str(tmp_path / "out"), shutil.copy(SMALL[0], tmp_path)
    calls = [
        ["publish", *SMALL, "--output", out],
        ["verify", out],
        ["publish", *SMALL, "--output", out, "--overwrite", "--method", "topdown"],
        ["publish", *SMALL[:-2], "--rho", "1", "--output", out, "--overwrite"],
        ["publish", *SMALL, "--order", "official", "--output", out, "--overwrite"],
        ["publish", *BY_SEX, "--output", out, "--overwrite"],
        ["evaluate", *SMALL, "--trials", "1", "--rectangles", "2"],
        ["publish", *SMALL, "--output", out, "--overwrite", "--prior", before, *SOURCE],
        ["publish-series", *SERIES, "--output", str(tmp_path / "series")],
        [*["publish-series", *SERIES[:-2], "--rho", "1"], "--output", str(tmp_path / "other")],
        ["verify", str(tmp_path / "series")],
    ]
    done = run(CODE, json.dumps([["warmup"], *calls]))
    assert done.returncode == 0, done.stderr
    first, *later = json.loads(done.stdout.splitlines()[-1])
    assert len(first) > 15  # with what is called by what is compiled
    for call, called in zip(calls, later, strict=True):
        assert set(called) <= set(first), call


@pytest.mark.law
def test_a_second_warmup_finds_everything_and_says_where():
    done = run("from geodp.cli import geodp; geodp.main(['warmup', '--json'])")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["compiled"] == 0
    assert said["found"] > 15
    assert said["shipped"] or list(Path(said["folder"]).rglob("*.nbc"))


@pytest.mark.law
def test_what_came_with_geodp_needs_no_place_and_is_named():
    done = run(WARMUP, NUMBA_CACHE_DIR="/dev/null/nowhere")
    if not SHIPPED.target:
        pytest.skip("this set of kernels was not compiled here")
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first.startswith("Nothing was left to compile in ")
    assert second == f"They came with geodp, compiled for {SHIPPED.target}."


WARMUP = "import sys; sys.argv = ['geodp', 'warmup']; from geodp.cli import main; main()"


@pytest.mark.law
def test_without_a_place_for_compiled_code_it_says_what_to_do():
    done = run(WARMUP, NUMBA_CACHE_DIR="/dev/null/nowhere", NUMBA_CPU_NAME="generic")
    assert done.returncode == 1
    assert "NUMBA_CACHE_DIR" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.law
def test_that_kernels_are_compiled_is_told_once(tmp_path):
    source = tmp_path / "kernels_here.py"
    source.write_text(
        "from geodp.kernels.jit import kernel\n"
        "@kernel\n"
        "def doubled(n):\n"
        "    return 2 * n\n"
        "@kernel\n"
        "def raised(n):\n"
        "    return doubled(n) + 1\n"
    )
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import kernels_here as kernels\n"
        "from geodp.kernels import jit\n"
        "from geodp.kernels.jit import count_compiled\n"
        "from geodp.cli.running import report_progress\n"
        "said, begins = [], jit.compile_begins\n"
        "jit.compile_begins = lambda kernel: (said.append(kernel), begins(kernel))\n"
        "with report_progress():\n"
        "    kernels.raised(1); kernels.raised(2)\n"
        "print(said, count_compiled())\n"
        "kernels.raised(1.5)\n"
    )
    first, second = (run(code, NUMBA_CACHE_DIR=str(tmp_path / "cache")) for _ in range(2))
    assert first.stdout == "['raised', 'doubled'] (2, 0)\n", first.stderr
    assert first.stderr.count("geodp warmup does it in advance") == 1
    assert second.stdout == "[] (0, 1)\n"
    assert second.stderr == ""
