"""``geodp publish --prior``: files and releases, who vouches, and what is refused."""

import json
import os

import numpy as np
import pytest
import rasterio

from tests.command import geodp


@pytest.fixture
def call(tmp_path):
    for year, more in ((2015, 0), (2020, 3)):
        rows = "".join(
            f"{x},{y},{(x * y) % 7 * 30 + (more if x > 4 else 0)}\n"
            for x in range(16)
            for y in range(16)
        )
        (tmp_path / f"{year}.csv").write_text(f"x,y,n{year}\n{rows}")
    return [
        *["publish", tmp_path / "2020.csv", "--grid", "regular:16x16", "--value", "n2020"],
        *["--x", "x", "--y", "y", "--anchor", "index", "--epsilon", "1", "--contribution", "1"],
        *["--output", tmp_path / "out"],
    ]


def card(folder):
    return json.loads((folder / "public" / "release.json").read_text())


def test_a_release_is_a_prior(call, tmp_path):
    prior = ["--prior", tmp_path / "2015.csv", "--prior-value", "n2015"]
    assert geodp(*call, *prior, *SOURCE, "--prior-is-public").returncode == 0
    os.rename(tmp_path / "out", tmp_path / "first")
    done = geodp(*call, "--prior", tmp_path / "first", *SOURCE, "--prior-is-public")
    assert done.returncode == 0, done.stderr
    assert card(tmp_path / "out")["prior"]["source"] == SOURCE[1]
    assert geodp("verify", tmp_path / "out").returncode == 0


SOURCE = ("--prior-source", "our own survey, 2019")
POINTS = ["4000500,3000500", "4000500,3000500", "4001500,3000500", "4002500,3001500"]


def test_records_of_persons_are_no_prior(tmp_path):
    for name, column in (("now", "id"), ("before", "id"), ("users", "user_id")):
        rows = "".join(f"p{n},{place},1\n" for n, place in enumerate(POINTS))
        (tmp_path / f"{name}.csv").write_text(f"{column},x,y,n\n{rows}")
    (tmp_path / "census.csv").write_text("x,y,n\n4000500,3000500,7\n4002500,3001500,9\n")
    call = [
        *["publish", tmp_path / "now.csv", "--points", "--person", "id", "--x", "x", "--y", "y"],
        *["--grid", "inspire:1km", "--bounds", "4000000 3000000 4016000 3016000"],
        *["--epsilon", "1", "--output", tmp_path / "out", "--prior-is-public", "--prior-source"],
        *["our own survey", "--prior"],
    ]
    for file, more, said in (
        ("before.csv", (), "counted from records"),
        ("before.csv", ("--prior-value", "n"), "column of persons, id"),
        ("users.csv", ("--prior-value", "n"), "column of persons, user_id"),
    ):
        done = geodp(*call, tmp_path / file, *more)
        assert done.returncode == 2
        assert said in done.stderr
    assert not (tmp_path / "out").exists()
    done = geodp(*call, tmp_path / "census.csv", "--prior-value", "n", "--check")
    assert done.returncode == 0, done.stderr


def test_the_input_is_no_prior_by_path_or_inode(call, tmp_path):
    os.link(tmp_path / "2020.csv", tmp_path / "linked.csv")
    for path in ("2020.csv", "linked.csv"):
        done = geodp(*call, "--prior", tmp_path / path, "--prior-is-public", *SOURCE)
        assert done.returncode == 2
        assert "--prior is one of the inputs" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("row", "words"),
    [("1,1,-3", "negative"), ("1,1,2.5", "whole"), ("99,1,2", "outside"), (None, "no such file")],
)
def test_what_is_no_prior_is_refused_in_a_sentence(call, tmp_path, row, words):
    path = tmp_path / "prior.csv"
    if row is not None:
        path.write_text(f"x,y,n2020\n{row}\n")
    done = geodp(*call, "--prior", path, "--prior-is-public", "--prior-source", "made up")
    assert done.returncode == 5
    assert words in done.stderr, done.stderr
    assert not (tmp_path / "out").exists()


def test_options_of_a_prior_need_a_prior(call):
    for option in ("--prior-source=x", "--prior-value=x", "--prior-is-public"):
        name = option.partition("=")[0]
        assert f"{name} goes with --prior only" in geodp(*call, option).stderr


TOWN = np.arange(64, dtype=np.int32).reshape(8, 8)
PLACE = rasterio.transform.from_origin(4321000, 3210000, 1000, 1000)
ON = "--grid inspire:1km --bounds 4321000 3202000 4329000 3210000 --epsilon 1 --contribution 1"


def raster(path, numbers=TOWN, transform=PLACE, crs="EPSG:3035", nodata=None, **said):
    profile = {"driver": "GTiff", "width": 8, "height": 8, "count": 1, "dtype": numbers.dtype}
    placed = {"crs": crs, "transform": transform, "nodata": nodata}
    with rasterio.open(path, "w", **profile, **placed) as file:
        file.write(numbers, 1)
        file.scales = (said.get("scale", 1.0),)
        file.units = (said.get("units", ""),)
        file.update_tags(1, **said.get("tags", {}))
    return path


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"scale": 10.0}, None),
        ({"numbers": np.where(TOWN, TOWN, -9), "nodata": -9}, None),
        ({"units": "people"}, None),
        ({"scale": 0.5}, "not a whole number"),
        ({"numbers": TOWN - 1}, "negative"),
        ({"crs": "EPSG:32632"}, "the grid's CRS"),
        ({"crs": None}, "the grid's CRS"),
        ({"transform": PLACE @ PLACE.translation(0.5, 0)}, "cells must be the grid's"),
        ({"transform": PLACE.identity()}, "no transform"),
        ({"units": "people/km2"}, "density or a rate"),
        ({"tags": {"flag_meanings": "sea land"}}, "stand for classes"),
        ({"tags": {"LAYER_TYPE": "thematic"}}, "thematic"),
    ],
)
def test_a_raster_is_a_prior_as_it_is_an_input(form, words, tmp_path):
    """What it says is applied or refused in the same words."""
    plain, odd = raster(tmp_path / "plain.tif"), raster(tmp_path / "odd.tif", **form)
    told = ["--prior-is-public", "--prior-source", "x", "--output", tmp_path / "out", *ON.split()]
    both = [
        geodp("publish", one, "--prior", other, *told, "--check")
        for one, other in ((odd, plain), (plain, odd))
    ]
    assert [one.returncode for one in both] == [5 if words else 0] * 2, both[0].stderr
    if words:
        assert words in both[0].stderr
        assert both[0].stderr == both[1].stderr


def test_a_prior_of_another_form_than_the_inputs_is_explained(tmp_path):
    (tmp_path / "old.csv").write_text("code,people\n1kmN3202E4321,3\n")
    done = geodp(
        *["publish", raster(tmp_path / "in.tif"), "--prior", tmp_path / "old.csv"],
        *["--prior-is-public", "--prior-source", "x", "--output", tmp_path / "out", *ON.split()],
    )
    assert done.returncode == 2
    assert "The prior is read with the options of the inputs, which are a raster" in done.stderr
