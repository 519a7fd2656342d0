"""The embedded example is what its generator makes."""

import importlib.util
import sys
import zipfile
from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[2] / "data"
LABELS = ",,,,　人口（総数）,　人口（総数）　男,　人口（総数）　女,　０～１４歳人口　総数"
LABELS += ",　１５～６４歳人口　総数,　６５歳以上人口　総数"


def members(folder):
    texts = {}
    for path in sorted(folder.glob("*.zip")):
        with zipfile.ZipFile(path) as archive:
            assert archive.namelist() == [path.stem + ".txt"]
            assert archive.infolist()[0].date_time == (1980, 1, 1, 0, 0, 0)
            texts[path.stem] = archive.read(path.stem + ".txt")
    return texts


@pytest.fixture(scope="module")
def generate():
    spec = importlib.util.spec_from_file_location("example_generate", DATA / "generate.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture(scope="module")
def committed():
    return members(DATA / "kanto")


@pytest.mark.law
def test_generator_makes_the_committed_files(generate, committed, tmp_path):
    generate.write(tmp_path)
    made = members(tmp_path)
    assert made.keys() == committed.keys()
    # Not assertEqual on the texts: a difference of megabytes is of no use in a report.
    assert [name for name in made if made[name] != committed[name]] == []
