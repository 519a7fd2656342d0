"""Kernels that were compiled when geodp was built are used where they belong, and nowhere else."""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from itertools import pairwise

import pytest

from geodp.kernels import jit
from geodp.kernels.build import targets
from geodp.kernels.shipped import TARGETS
from tests.kernels.test_jit import CALL, plant, run

pytestmark = pytest.mark.skipif(
    not targets(every=False), reason="kernels are compiled ahead on Linux alone"
)
TOLD = CALL.replace("*jit.count_compiled())", "*jit.count_compiled(), jit.SHIPPED.wrong, sep='|')")
POOR = """
from llvmlite import binding
from llvmlite.binding.targets import FeatureMap
binding.get_host_cpu_features = lambda: FeatureMap(dict.fromkeys({}, True))
"""
BUILD = "from geodp.kernels.build import main; main()"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A copy of the package that came with one compiled kernel, and has no other in its list."""
    copy = plant(tmp_path_factory.mktemp("made"))
    shutil.rmtree(copy / "geodp" / "kernels" / "compiled", ignore_errors=True)
    listed = {"geodp.kernels.planted_whole.whole": [["int64"]]}
    (copy / "geodp" / "kernels" / "signatures.json").write_text(json.dumps(listed))
    assert run(copy, BUILD).startswith("Compiling the inner loops of geodp, once, for ")
    return copy


@pytest.fixture
def built(made, tmp_path):
    """A copy of it for one test, where nothing is kept yet."""
    shutil.copytree(made / "geodp", tmp_path / "geodp")
    return tmp_path


@pytest.mark.law
def test_what_came_with_geodp_is_not_compiled(built):
    assert run(built, TOLD) == "20|0|1|"
    assert not list((built / "cache").rglob("*.nb[ci]")), "and it is not kept once more"
    assert run(built, BUILD) == "All inner loops of geodp are compiled."


def test_equal_sources_give_equal_bytes_wherever_they_are_compiled():
    # Folders, those of Numba's files among them, and addresses of memory would differ from one
    # build to the next.
    compiled = [target.path.read_bytes() for target in TARGETS if target.path.exists()]
    assert compiled
    for one in compiled:
        assert not re.search(rb"[/\\][\w.-]+\.py\b", one)
        assert not re.search(rb"\bat 0x[0-9a-f]{6,}", one)


@pytest.mark.law
def test_it_is_used_elsewhere_and_where_nothing_can_be_written(built):
    moved = built / "moved"
    moved.mkdir()
    shutil.move(built / "geodp", moved)
    (moved / "file").write_text("no folder")
    assert run(moved, TOLD, XDG_CACHE_HOME=str(moved / "file")) == "20|0|1|"


@pytest.mark.law
def test_other_types_are_compiled_and_kept_as_ever(built):
    code = CALL.replace("whole(1)", "whole(1), whole(1.5)")
    assert run(built, code).split() == ["20", "25.0", "2", "1"]
    assert run(built, code).split() == ["20", "25.0", "0", "2"]


@pytest.mark.law
@pytest.mark.parametrize("file", ["planted_part.py", "another.py"])
def test_with_other_sources_it_is_not_used(built, file):
    (built / "geodp" / "kernels" / file).write_text(
        "from geodp.kernels.jit import inline\n@inline\ndef part(n):\n    return n + 2\n"
    )
    value = "30" if file == "planted_part.py" else "20"
    wrong = "The functions that came with geodp belong to other sources."
    assert run(built, TOLD) == f"{value}|2|0|{wrong}"
    assert run(built, BUILD).startswith("Compiling")
    assert run(built, TOLD) == f"{value}|0|1|"


@pytest.mark.law
@pytest.mark.parametrize(
    ("before", "environment", "says"),
    [
        ("import numba; numba.__version__ = '0.1'", {}, "compiled with Numba"),
        ("import llvmlite; llvmlite.__version__ = '0.1'", {}, "compiled with llvmlite"),
        ("import numba, numpy; numpy.__version__ = '2.0.0'", {}, "compiled with NumPy"),
        (POOR.format(("sse3",)), {}, "No functions for this system"),
        ("", {"NUMBA_CPU_NAME": "generic"}, "configure Numba for another processor"),
        ("", {"NUMBA_ENABLE_AVX": "0"}, "configure Numba for another processor"),
    ],
)
def test_with_other_libraries_or_another_processor_it_is_not_used(built, before, environment, says):
    value, made, found, wrong = run(built, f"{before}\n{TOLD}", **environment).split("|")
    assert (value, made, found) == ("20", "2", "0")
    assert says in wrong


@pytest.mark.law
def test_a_file_that_is_no_set_is_not_used(built):
    (file,) = (built / "geodp" / "kernels" / "compiled").iterdir()
    file.write_bytes(b"")
    assert run(built, TOLD).endswith(f"{file} is not a set of compiled functions.")


@pytest.mark.law
def test_without_compiling_nothing_is_loaded(built):
    told = CALL.replace("*jit.count_compiled())", "*jit.count_compiled(), type(whole).__name__)")
    assert run(built, told, NUMBA_DISABLE_JIT="1") == "20 0 0 function"


def test_better_targets_come_first_and_have_all_of_the_others():
    levels = [one.features for one in TARGETS if one.machine == "x86_64"]
    assert all({*better} > {*worse} for better, worse in pairwise(levels))
    assert {*targets(every=False)} <= {*targets(every=True)}


WIDE = """
import numba, numpy as np
from geodp.kernels import chacha
lanes = numba.njit(nogil=True, error_model="numpy")(chacha.lanes.py_func)
one = np.uint32(1)
types = [numba.typeof(value) for value in (
    np.zeros(8, np.uint32), one, one, np.zeros(1, np.uint64), np.zeros(2048, np.uint32)
)]
lanes.compile(tuple(types))
(code,) = lanes.inspect_asm().values()
print(code.count("%zmm"), code.count("%ymm"))
"""


@pytest.mark.law
@pytest.mark.skipif(platform.machine() != "x86_64", reason="registers of 512 bits are of x86-64")
def test_the_cipher_fills_the_registers_of_its_processor():
    """LLVM fills half of them by itself, for the sake of the first processors that had them."""
    used = {}
    for target in TARGETS[:2]:
        done = subprocess.run(
            [sys.executable, "-c", WIDE],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **target.environment},
            capture_output=True,
            text=True,
            check=True,
        )
        used[target.name] = [int(number) for number in done.stdout.split()]
    assert used["x86-64-v4"][0] > 500
    assert used["x86-64-v3"][0] == 0 < used["x86-64-v3"][1]


GOLDEN = """
from geodp.kernels import jit
from tests.golden.methods import faults, kept, made
print(jit.SHIPPED.target, faults(kept(), made(["parts", "pyramid", "topdown"])))
"""


@pytest.mark.law
@pytest.mark.parametrize("target", [one.name for one in TARGETS])
def test_every_set_that_is_here_releases_what_versions_are_known_for(target):
    (one,) = (one for one in TARGETS if one.name == target)
    if not (one.path.exists() and one.runs_here()):
        pytest.skip("this set of kernels was not compiled here")
    done = subprocess.run(
        [sys.executable, "-c", POOR.format(one.features) + GOLDEN],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    used, _, faults = done.stdout.strip().partition(" ")
    assert faults == "[]"
    assert used == target or jit.SHIPPED.wrong
