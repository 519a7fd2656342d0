"""``geodp.open`` opens releases of every kind for Python."""

import shutil
import sys

import pytest

import geodp
from geodp.errors import UsageError
from tests.contract.desk import contents
from tests.refusals import refuses


def test_every_form_of_a_release_is_opened(released, tmp_path):
    """Its folder, the public folder, and archives of both."""
    out = released.folder / "out"
    archives = [
        shutil.make_archive(str(tmp_path / name), "zip", folder)
        for name, folder in (("public", out / "public"), ("out", out))
    ]
    opened = [geodp.open(path) for path in (out, str(out), out / "public", *archives)]
    assert len({type(one) for one in opened}) == 1
    assert len({repr(one) for one in opened}) == 1


def test_a_release_has_a_repr_of_one_line(released):
    text = repr(geodp.open(released.folder / "out"))
    assert "\n" not in text
    assert " at 0x" not in text
    assert len(text) < 200


def test_a_release_that_is_opened_has_its_card(released):
    opened = geodp.open(released.folder / "out")
    assert hasattr(opened, "card"), type(opened).__name__
    assert opened.card().schema == released.index()["schema"]


def test_a_release_that_is_opened_answers_regions(released):
    opened = geodp.open(released.folder / "out")
    assert hasattr(opened, "estimate"), type(opened).__name__


def test_a_release_that_is_opened_becomes_a_frame(released):
    opened = geodp.open(released.folder / "out")
    for name in ("to_pandas", "to_geopandas"):
        assert hasattr(opened, name), type(opened).__name__
        assert len(getattr(opened, name)()) > 0


def test_a_release_that_is_opened_is_seen_in_a_notebook(released, monkeypatch):
    """As it is, drawn, and as a map to move in, for which a library is asked for."""
    opened = geodp.open(released.folder / "out")
    assert opened._repr_html_().startswith("<div")
    assert "data:image/png" in opened._repr_html_() or not hasattr(opened, "tables")
    monkeypatch.setitem(sys.modules, "folium", None)
    with refuses(UsageError, r"library-missing: \bfolium\b"):
        opened.explore()


def test_a_release_that_is_opened_is_not_written_again(released, tmp_path):
    """A copy would have another charge, or none; it is to be copied or exported."""
    opened = geodp.open(released.folder / "out")
    assert hasattr(opened, "write"), type(opened).__name__
    with pytest.raises(UsageError, match="copy its folder, or geodp export"):
        opened.write(tmp_path / "again")
    assert contents(tmp_path) == {}
