"""Compiled kernels are kept for exactly the sources that they were compiled from."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numba
import numpy as np
import pytest

import geodp
from geodp.kernels import jit
from geodp.privacy.key import has_owners
from tests.bits import has_bits

PACKAGE = Path(geodp.__file__).parent
PART = "from geodp.kernels.jit import inline\n@inline\ndef part(n):\n    return n + {}\n"
WHOLE = (
    "from geodp.kernels.jit import kernel\nfrom geodp.kernels.planted_part import part\n"
    "@kernel\ndef whole(n):\n    return 10 * part(n)\n"
)
CALL = (
    "from geodp.kernels import jit\nfrom geodp.kernels.planted_whole import whole\n"
    "print(whole(1), *jit.count_compiled())"
)


def plant(folder):
    """Copy the package into a folder, with a kernel in one file, and a part of it in another."""
    shutil.copytree(PACKAGE, folder / "geodp", ignore=shutil.ignore_patterns("__pycache__"))
    kernels = folder / "geodp" / "kernels"
    (kernels / "planted_part.py").write_text(PART.format(1))
    (kernels / "planted_whole.py").write_text(WHOLE)
    return folder


@pytest.fixture
def copy(tmp_path):
    """A copy of the package with a planted kernel."""
    return plant(tmp_path)


def run(copy, code=CALL, **environment):
    cache = {"NUMBA_CACHE_DIR": "", "XDG_CACHE_HOME": str(copy / "cache")}
    own = {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=copy,
        env={**os.environ, **own, **cache, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[0]


@pytest.mark.law
def test_a_changed_part_in_another_file_is_compiled_anew(copy):
    """Numba alone would go on with the old one: it looks at the kernel's own file."""
    assert run(copy).split() == ["20", "2", "0"]
    assert run(copy).split() == ["20", "0", "1"]
    (copy / "geodp" / "kernels" / "planted_part.py").write_text(PART.format(2))
    assert run(copy).split() == ["30", "2", "0"]
    (copy / "geodp" / "kernels" / "planted_part.py").write_text(PART.format(1))
    assert run(copy).split() == ["20", "0", "1"], "and the first code is there still"


@pytest.mark.law
def test_what_is_kept_lies_where_only_this_user_writes(copy):
    run(copy)
    (folder,) = (copy / "cache" / "geodp").iterdir()
    assert folder.name.startswith("geodp-kernels-")
    assert has_bits(folder.parent, 0o700)
    assert has_bits(folder, 0o700)
    assert list(folder.rglob("*.nbc"))
    assert not list((copy / "geodp").rglob("*.nb[ci]"))


@pytest.mark.law
def test_a_folder_of_the_environment_is_used_and_given_back(copy):
    code = CALL + "; import numba; print(numba.config.CACHE_DIR)"
    place = copy / "elsewhere"
    run(copy, code, NUMBA_CACHE_DIR=str(place))
    assert list(place.rglob("planted_whole.whole*.nbc"))
    assert not (copy / "cache").exists()
    told = "import geodp.kernels.tree, numba; print(numba.config.CACHE_DIR)"
    assert run(copy, told, NUMBA_CACHE_DIR=str(place)) == str(place)
    assert run(copy, told) == "", "other packages keep their own place"


@pytest.mark.law
def test_two_copies_of_the_same_sources_do_not_mix(copy, tmp_path_factory):
    """They share a folder, and Numba tells their files apart."""
    other = tmp_path_factory.mktemp("other")
    shutil.copytree(copy / "geodp", other / "geodp")
    assert run(copy).split() == ["20", "2", "0"]
    cache = {"XDG_CACHE_HOME": str(copy / "cache")}
    assert run(other, **cache).split() == ["20", "2", "0"]
    assert run(other, **cache).split() == ["20", "0", "1"]


TOLD = "from geodp.kernels import jit; print(jit.CACHE.wrong); import geodp.kernels.tree"
posix = pytest.mark.skipif(not has_owners(), reason="permissions of POSIX")


@pytest.fixture
def reached():
    """A folder that every user of the machine gets to, as pytest's own are not."""
    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        os.chmod(place, 0o755)
        yield Path(place).resolve()


@posix
@pytest.mark.law
@pytest.mark.parametrize("mode", [0o777, 0o1777])
def test_nothing_is_run_from_a_folder_that_others_can_write_to(copy, reached, mode):
    """Code planted there would be run with the key and the data in memory."""
    cache = {"XDG_CACHE_HOME": str(reached / "cache")}
    run(copy, **cache)
    (folder,) = (reached / "cache" / "geodp").iterdir()
    for place in (reached / "cache", folder.parent):
        place.chmod(0o755)
    folder.chmod(mode)
    assert run(copy, **cache).split() == ["20", "2", "0"], "compiled: nothing is taken from there"
    assert run(copy, TOLD, **cache) == (
        f"Other users can write to {folder}, and could plant code in {folder}."
    )
    folder.chmod(0o700)
    (reached / "cache").chmod(mode)
    hit = run(copy, **cache).split()[2]
    assert hit == ("1" if mode == 0o1777 else "0"), "the sticky bit keeps others from the folder"


@posix
def test_who_can_replace_a_folder(reached):
    outer, inner = reached / "outer", reached / "outer" / "inner"
    inner.mkdir(parents=True)
    for outer_mode, inner_mode, wrong in [
        (0o755, 0o755, None),
        (0o700, 0o777, None),  # nobody gets there
        (0o711, 0o777, inner),
        (0o777, 0o700, outer),
        (0o1777, 0o700, None),
        (0o755, 0o1777, inner),
        (0o775, 0o700, outer),
    ]:
        outer.chmod(outer_mode)
        inner.chmod(inner_mode)
        assert jit.open_to_others(inner) == wrong, (oct(outer_mode), oct(inner_mode))


@posix
def test_a_folder_of_somebody_else_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: os.stat(tmp_path).st_uid + 1)
    wrong = jit.open_to_others(tmp_path)
    assert wrong is None if os.stat(tmp_path).st_uid == 0 else wrong is not None
    if os.getuid() == 0:
        os.chown(tmp_path, 1, 1)
        assert jit.open_to_others(tmp_path) == tmp_path


@pytest.mark.law
def test_without_a_place_every_call_compiles_and_old_code_elsewhere_is_not_taken(copy):
    """Numba by itself would go on to the folder beside the sources."""
    blocked = copy / "file"
    blocked.write_text("no folder")
    for cache in ({"NUMBA_CACHE_DIR": str(blocked)}, {"XDG_CACHE_HOME": str(blocked)}):
        for _ in range(2):
            assert run(copy, **cache).split() == ["20", "2", "0"]
        assert "cannot be written" in run(copy, TOLD, **cache)
    assert not list((copy / "geodp").rglob("*.nb[ci]"))


def test_the_digest_is_of_every_source_and_of_what_compiles(tmp_path, monkeypatch):
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    one.write_text("1")
    two.write_text("2")
    found = {jit.digest_of([one, two])}
    assert jit.digest_of([two, one]) in found
    found.add(jit.digest_of([one]))
    one.write_text("12")
    found.add(jit.digest_of([one, two]))
    two.rename(tmp_path / "three.py")
    sources = [one, tmp_path / "three.py"]
    found |= {jit.digest_of(sources), jit.digest_of(sources, jit.compilers())}
    for place, name in [("numba", "__version__"), ("llvmlite", "__version__"), ("sys", "version")]:
        monkeypatch.setattr(f"{place}.{name}", "another")
        found.add(jit.digest_of(sources, jit.compilers()))
    monkeypatch.setattr("geodp.kernels.jit.np.__version__", "another")
    found.add(jit.digest_of(sources, jit.compilers()))
    assert len(found) == 9


def test_all_that_is_compiled_lies_in_the_folder_that_the_digest_is_of():
    """A kernel elsewhere, or a part that kernels take from elsewhere, would go unseen."""
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "kernels" in path.relative_to(PACKAGE).with_suffix("").parts:
            found = set(re.findall(r"^ *(?:from|import) (geodp\S*)", text, re.MULTILINE))
            # Types of arguments are not compiled, nor is what tells that something is.
            allowed = r"geodp\.(((kinds\.\w+|local)\.)?kernels(\.|$)|typing$|progress$)"
            assert all(re.match(allowed, module) for module in found)
        elif path.name != "jit.py":
            assert not re.search(r"\b(njit|import (kernel|inline))\b", text), path


def test_the_lowest_bit_of_a_word_compiled_and_not():
    @numba.njit
    def compiled(mark):
        return jit.lowest_bit(mark)

    above = np.random.default_rng(1).integers(0, 1 << 63, 64).astype(np.uint64)
    for place, more in enumerate(above):
        word = (more | np.uint64(1)) << np.uint64(place)
        assert int(jit.lowest_bit(word)) == int(compiled(word)) == place
    assert int(compiled(np.uint64(1 << 63))) == 63
