"""Every tiny file fits the preset of its publisher and no other, and its command runs as pasted."""

import json
import shlex

import pytest

from geodp.cli.commands.publish import publish
from geodp.io.read.layout.inspect import inspect
from geodp.io.read.layout.presets import find_fitting, presets
from tests.command import geodp
from tests.io.read.official import forms, tables
from tests.io.read.official.test_forms import BESIDE, LISTS

OWN = {
    "zensus2011": (forms.zensus_2011,),
    "zensus2011-atlas": (tables.zensus_atlas,),
    "zensus2022": (
        *(forms.zensus_1km, forms.zensus_ages, forms.zensus_excel),
        *(tables.zensus_decades, tables.zensus_infrastructure_ages, tables.zensus_marital),
        *(tables.zensus_religion, tables.zensus_birth, tables.zensus_citizens),
        *(tables.zensus_citizenships, tables.zensus_adults),
    ),
    "zensus2022-means": (forms.zensus_mean_age, tables.zensus_shares),
    "zensus2022-households": (tables.zensus_households, tables.zensus_families),
    "zensus2022-dwellings": (tables.zensus_rents,),
    "zensus2022-joined": (tables.zensus_joined,),
    "census2021": (
        *(forms.census_csv, forms.census_parquet, forms.census_gpkg),
        tables.census_v3,
    ),
    "census2021-sdmx": (tables.census_sdmx,),
    "geostat2011": (forms.geostat_2011,),
    "geostat2018": (forms.geostat_2018,),
    "cbs": (forms.cbs_csv, forms.cbs_gpkg),
    "statpop": (forms.statpop,),
    "lodes": (forms.lodes,),
    "lodes-rac": (tables.lodes_rac,),
    "lodes-wac": (tables.lodes_wac,),
    "ghsl": (forms.ghsl,),
    "worldpop": (forms.worldpop,),
    "estat": (forms.estat_1km, forms.estat_250m),
    "ksj-mesh": (forms.ksj_geojson,),
    "mlit-flow": (forms.mlit_flow,),
    "mobaku": (tables.mobaku,),
    "filosofi": (
        tables.filosofi_200m,
        tables.filosofi_1km,
        tables.filosofi_2017,
        tables.filosofi_2015,
    ),
    "filosofi-natural": (tables.filosofi_natural,),
    "gus2011": (tables.gus,),
    "ssb": (tables.ssb,),
    "ibge": (tables.ibge,),
    "ibge2022": (tables.ibge_2022,),
    "statfi": (tables.statfi,),
    "scb": (tables.scb, tables.scb_ages),
    "census2021-v1": (tables.census_v1,),
    "ine-grid": (tables.ine_grid,),
    "ine-bgri": (tables.ine_bgri,),
    "istat-sections": (tables.istat,),
    "ine-indicators": (tables.ine_indicators,),
    "ine-tracts": (tables.ine_tracts,),
    "statcan-profile": (tables.statcan,),
    "abs-g01": (tables.abs_g01,),
    "abs-mesh-blocks": (tables.abs_mesh_blocks,),
}
FORMS = [(name, form) for name, some in OWN.items() for form in some]


def write(form, folder):
    """Write a form and return its file, without the lists of units beside it."""
    form(folder)
    (path,) = [
        one for one in folder.iterdir() if one.name not in LISTS and one.suffix not in BESIDE
    ]
    return path


def test_every_preset_has_a_file_and_every_new_file_a_preset():
    assert {*OWN} == {one.name for one in presets()}
    assert {*tables.FORMS} <= {form for _, form in FORMS}


@pytest.mark.parametrize(("name", "form"), FORMS, ids=[form.__name__ for _, form in FORMS])
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
    tables.census_v3(tmp_path)
    path = tmp_path / "ESTAT_Census_2021_V3.csv"
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
    tables.scb(tmp_path)
    path = tmp_path / "befolkning_1km_2025.csv"
    path.write_text(path.read_text().replace("rutid_inspire", "rutid_insp"))
    columns = inspect(path)["tables"][0]["columns"]
    named = [str(one["name"]) for one in columns]
    assert [one.name for one in find_fitting(path, named)] == ["scb"]
