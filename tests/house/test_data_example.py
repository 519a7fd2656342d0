"""The embedded example keeps the census layout and is what its generator makes."""

import importlib.util
import sys
import zipfile
from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[2] / "data"
HEAD = "KEY_CODE,HTKSYORI,HTKSAKI,GASSAN," + ",".join(f"T999999{n:03d}" for n in range(1, 7))
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


@pytest.fixture(scope="module")
def rows(committed):
    """Rows by key code."""
    found = {}
    for name, content in committed.items():
        lines = content.decode("cp932").split("\r\n")
        for line in lines[2:-1]:
            fields = line.split(",")
            assert fields[0].startswith(name[-4:])
            found[fields[0]] = fields
    return found


@pytest.mark.law
def test_generator_makes_the_committed_files(generate, committed, tmp_path):
    generate.write(tmp_path)
    made = members(tmp_path)
    assert made.keys() == committed.keys()
    # Not assertEqual on the texts: a difference of megabytes is of no use in a report.
    assert [name for name in made if made[name] != committed[name]] == []


def test_layout(committed):
    assert len(committed) == 12
    for content in committed.values():
        assert content.endswith(b"\r\n")
        assert content.count(b"\n") == content.count(b"\r") == content.count(b"\r\n")
        assert b'"' not in content
        lines = content.decode("cp932").split("\r\n")[:-1]
        assert lines[0] == HEAD
        assert lines[1] == LABELS
        keys = [line.split(",")[0] for line in lines[2:]]
        assert keys == sorted(set(keys))
        assert all(line.count(",") == 9 for line in lines)


def test_totals(rows):
    for _, _, _, _, total, men, women, *_ in rows.values():
        assert int(total) >= 1
        assert int(men) + int(women) == int(total)


def test_suppression(rows):
    seen = set()
    for code, (_, state, into, merged, total, _, _, *ages) in rows.items():
        assert (state == "2") == (int(total) < 8)
        if state == "2":
            assert ages == ["*"] * 3
            assert merged == ""
            assert rows[into][1] == "1"
            assert code in rows[into][3].split(";")
            assert into[:4] == code[:4]
            continue
        sources = merged.split(";") if merged else []
        assert into == ""
        assert state == ("1" if sources else "0")
        assert sources == sorted(sources)
        assert all(rows[source][2] == code for source in sources)
        assert not seen.intersection(sources)
        seen.update(sources)
        group = int(total) + sum(int(rows[source][4]) for source in sources)
        assert min(map(int, ages)) >= 0
        assert sum(map(int, ages)) == group
    assert len(seen) == sum(fields[1] == "2" for fields in rows.values())
