"""Every tiny file fits the preset of its publisher and no other, and its command runs as pasted."""

import json
import shlex
import shutil
from pathlib import Path

import pytest

from geodp.cli.commands.publish import publish
from geodp.io.read.layout.inspect import inspect
from geodp.io.read.layout.presets import find_fitting, presets
from tests.command import geodp
from tests.io.read.official import forms
from tests.io.read.official.test_forms import BESIDE, LISTS

WRITTEN = {
    "zensus2011": (forms.zensus_2011,),
    "zensus2022": (forms.zensus_1km, forms.zensus_ages, forms.zensus_excel),
    "zensus2022-means": (forms.zensus_mean_age,),
    "census2021": (forms.census_csv, forms.census_parquet, forms.census_gpkg),
    "geostat2011": (forms.geostat_2011,),
    "geostat2018": (forms.geostat_2018,),
    "cbs": (forms.cbs_csv, forms.cbs_gpkg),
    "statpop": (forms.statpop,),
    "lodes": (forms.lodes,),
    "lodes-rac": (forms.lodes_rac,),
    "lodes-wac": (forms.lodes_wac,),
    "ghsl": (forms.ghsl,),
    "worldpop": (forms.worldpop,),
    "estat": (forms.estat_1km, forms.estat_250m),
    "ksj-mesh": (forms.ksj_geojson,),
    "mlit-flow": (forms.mlit_flow,),
    "gus2011": (forms.gus,),
}
FILES = [pytest.param(name, form, id=form.__name__) for name in WRITTEN for form in WRITTEN[name]]
FILES += [
    pytest.param(path.parent.name, path, id=path.stem)
    for path in forms.TABLES
    if path.name not in LISTS
]


def write(form, folder):
    """Write a form, or copy a table, and return its file; lists of units lie beside it."""
    if callable(form):
        form(folder)
    else:
        for path in form.parent.iterdir():
            if path == form or path.name in LISTS:
                shutil.copy(path, folder)
    (path,) = [
        one for one in folder.iterdir() if one.name not in LISTS and one.suffix not in BESIDE
    ]
    return path


def copy(name, folder):
    """Copy the table of this name."""
    (path,) = [one for one in forms.TABLES if one.name == name]
    return Path(shutil.copy(path, folder))


def test_every_preset_has_a_file_and_every_table_a_preset():
    assert {one.values[0] for one in FILES} == {one.name for one in presets()}


@pytest.mark.parametrize(("name", "form"), FILES)
def test_a_file_fits_its_own_preset_alone_and_the_command_of_inspect_runs_as_pasted(
    name, form, tmp_path
):
    """Where nothing remains to be said; otherwise its words are options with values they take."""
    path = write(form, tmp_path)
    said = json.loads(geodp("inspect", path.name, "--json", cwd=tmp_path).stdout)
    columns = said.get("tables", [{}])[0].get("columns") or ()
    assert [one.name for one in find_fitting(path, [one["name"] for one in columns])] == [name]
    if not said["command"]:
        refused = {one.name: one.refused for one in presets()}[name]
        assert said["asks"] == [refused]
        assert refused
        return
    assert said["preset"] == name
    words = shlex.split(said["command"])[2:]
    if said["asks"]:
        filled = ["1" if word == "NUMBER" else word for word in words]
        publish.make_context("publish", filled)
        return
    done = geodp("publish", *words, "--check", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("mark", [-8888, -9999])
def test_confidential_and_absent_values_of_the_census_count_nobody(mark, tmp_path):
    path = copy("ESTAT_Census_2021_V3.csv", tmp_path)
    header, first, second = path.read_text().splitlines()
    cells = first.split(",")
    cells[2] = str(mark)  # men
    path.write_text("\n".join((header, ",".join(cells), second)) + "\n")
    words = ("--bounds", "germany", "--by", "sex", "--contribution", 1, "--epsilon", 1)
    done = geodp("publish", path.name, *words, "--output", "out", "--check", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    checked = json.loads((tmp_path / "out" / "restricted" / "check.json").read_text())
    assert checked["counted_people"] == 12 - 2


def test_names_that_a_shapefile_cuts_short_are_known(tmp_path):
    path = copy("befolkning_1km_2025.csv", tmp_path)
    path.write_text(path.read_text().replace("rutid_inspire", "rutid_insp"))
    columns = inspect(path)["tables"][0]["columns"]
    named = [str(one["name"]) for one in columns]
    assert [one.name for one in find_fitting(path, named)] == ["scb"]
