"""Ten jobs of a person who has the help and the messages: at most one call of each is refused.

A call that is refused says all that is missing, so that the next one works.
"""

import json
import re
import shlex
import shutil

import geopandas
import openpyxl
import pandas
import pytest
import shapely

from geodp.io.read.layout.propose import propose
from tests.command import geodp

MESHES = [f"5339{q}{v}{r}{w}" for q in "45" for v in "56" for r in "01" for w in "123"]
BOX = ("--bounds", 139, 35, 140, 36)
BUDGET = ("--epsilon", 1)
ONCE = ("--contribution", 1)


class Turns:
    """Calls of one job, and how many of them were refused."""

    def __init__(self, folder):
        self.folder, self.wrong = folder, 0

    def __call__(self, *words):
        done = geodp(*words)
        self.wrong += done.returncode != 0
        return done.stderr if done.returncode else done.stdout

    def publish(self, *words, to="out"):
        return self("publish", *words, *BUDGET, "--output", self.folder / to)

    def people(self, kept="run.json"):
        """What was counted, of the operator's record, or would be, of a check."""
        found = json.loads((self.folder / "out" / "restricted" / kept).read_text())
        return found.get("counted_people", found.get("people"))


@pytest.fixture
def job(tmp_path):
    turns = Turns(tmp_path)
    yield turns
    assert turns.wrong <= 1


def write(path, frame, **options):
    frame.to_csv(path, index=False, **options)
    return path


def command_of(shown):
    """The words of the command that inspect ends with, but for budget, folder and contribution."""
    words = shlex.split(shown.splitlines()[-1].replace(" --contribution NUMBER", ""))[2:]
    return words[: words.index("--epsilon")]


@pytest.mark.parametrize("reads_first", [True, False])
def test_age_by_sex_on_1_km(reads_first, job, tmp_path):
    rows = [(m, s, a, 5 + len(a)) for m in MESHES for s in "MF" for a in ("0-14", "15-64", "65+")]
    frame = pandas.DataFrame(rows, columns=["mesh", "sex", "age", "population"])
    path = write(tmp_path / "t.csv", frame)
    said = job("inspect", path) if reads_first else job.publish(path)
    assert "--by sex,age" in said
    assert "jis:basic" in said
    assert "--contribution 1" in said
    labels = ("--by", "sex,age", "--labels", "sex=M,F", "--labels", "age=0-14,15-64,65+")
    job.publish(path, "--grid", "jis:basic", *BOX, *labels, *ONCE)
    assert job.people() == frame.population.sum()


def test_hourly_journeys(job, tmp_path):
    rows = [(a, b, h, 3) for a in MESHES[:4] for b in MESHES[:4] for h in range(24)]
    names = ["発地メッシュコード", "着地メッシュコード", "時間帯", "人数"]
    path = write(tmp_path / "t.csv", pandas.DataFrame(rows, columns=names))
    said = job.publish(path)
    assert "--by hour" in said
    assert "--grid jis:basic --pairs" in said
    job.publish(path, "--by", "hour", *BOX, *ONCE)
    assert job.people() == 3 * len(rows)


def sheet(path, rows, title="Table 1"):
    book = openpyxl.Workbook()
    book.active.title = title
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


@pytest.mark.parametrize("form", ["xlsx", "csv"])
def test_a_workbook_with_titles_units_totals_and_notes(form, job, tmp_path):
    table = [[mesh, 9, 4, 5] for mesh in MESHES]
    head = [["Census"], ["Table 1: people"], [], ["mesh_code", "people", "men", "women"]]
    between = [["", "persons", "persons", "persons"], ["Total", 99, 44, 55]]
    rows = [*head, *between, *table, ["Sum", 99, 44, 55], [], ["Source: an office"]]
    path = tmp_path / f"t.{form}"
    if form == "xlsx":
        sheet(path, rows)
    else:
        path.write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    first, last = len(head) + len(between) + 1, len(head) + len(between) + len(table)
    said = job("inspect", path)
    if form == "csv":
        assert "--last-row" in said
        said = job("inspect", path, "--last-row", last)
    assert f"--header-row 4 --first-row {first}" in said
    words = command_of(said)
    words += [] if "--last-row" in words else ["--last-row", last]
    job.publish(*words, *BOX, *ONCE)
    assert job.people() == 9 * len(table)


def test_tracts_by_a_shapefile(job, tmp_path):
    names = [f"1100{county}0{tract}" for county in "13" for tract in range(10, 20)]
    fields = {"STATEFP": "11", "TRACTCE": [one[5:] for one in names], "GEOID": names}
    squares = [shapely.box(i, 0, i + 1, 1) for i in range(20)]
    tracts = geopandas.GeoDataFrame(fields | {"ALAND": 1}, geometry=squares, crs=4269)
    tracts.to_file(tmp_path / "tracts.shp")
    path = write(tmp_path / "t.csv", pandas.DataFrame({"GEOID": names, "people": range(20)}))
    options = (path, "--grid", f"units:{tmp_path / 'tracts.shp'}", *ONCE)
    said = job.publish(*options)
    (columns,) = re.findall(r"--units-columns \w+", said)
    (source,) = re.findall(r"--units-source '[^']+'", said)
    job.publish(*options, *columns.split(), *shlex.split(source))
    assert job.people() == sum(range(20))


def test_tracts_whose_column_is_called_otherwise(job, tmp_path):
    units = pandas.DataFrame({"STATE": "11", "TRACT": [f"11{n:03}" for n in range(9)], "AREA": 4})
    table = write(tmp_path / "u.csv", units)
    path = write(tmp_path / "t.csv", pandas.DataFrame({"GEO_ID": units.TRACT, "people": 5}))
    options = (path, "--grid", f"units:{table}", *ONCE)
    said = job.publish(*options)
    (columns,) = re.findall(r"--units-columns \w+", said)
    assert "--units-source" in said
    job.publish(*options, *columns.split(), "--units-source", "an office")
    assert job.people() == 45


@pytest.mark.parametrize("points", [(), ("--points",)])
def test_points_by_person(points, job, tmp_path):
    rows = [(f"u{i % 7}", f"2024-05-01T{i % 24:02}:00", 35.7 + i / 999, 139.7) for i in range(40)]
    frame = pandas.DataFrame(rows, columns=["user_id", "timestamp", "lat", "lon"])
    path = write(tmp_path / "t.csv", frame)
    assert "user_id  (persons)" in job("inspect", path)
    options = (path, "--grid", "jis:basic", "--person", "user_id", *BOX)
    said = job.publish(*points, *options)
    if not points:
        assert "--points takes them" in said
        job.publish("--points", *options)
    assert job.people() == 7


def test_municipal_sums(job, tmp_path):
    frame = pandas.DataFrame({"mesh": MESHES, "people": 7})
    path = write(tmp_path / "t.csv", frame)
    towns = [[mesh, "13101" if i % 2 else "13102"] for i, mesh in enumerate(MESHES)]
    table = sheet(tmp_path / "towns.xlsx", [["Meshes by town"], ["mesh", "town"], *towns])
    options = (path, "--grid", "jis:basic", "--regions", table, *ONCE)
    options += ("--public-file", "regions.header-row=2")
    (source,) = re.findall(r"--regions-source '[^']+'", job.publish(*options))
    job.publish(*options, *shlex.split(source))
    assert "13101 " in job("estimate", tmp_path / "out", "--area", "13101")


def test_a_release_is_replaced(job, tmp_path):
    frame = pandas.DataFrame({"mesh": MESHES, "people": 7})
    options = (write(tmp_path / "t.csv", frame), "--grid", "jis:basic", *BOX, *ONCE)
    job.publish(*options)
    said = job.publish(*options)
    assert "--supersedes" in said
    job.publish(*options, "--supersedes", tmp_path / "out", to="new")
    job("withdraw", tmp_path / "out", "--reason", "One town twice", "--use", tmp_path / "new")
    assert "Replaces the release" in job("report", tmp_path / "new")


def test_a_journalist_with_a_packed_release(job, tmp_path):
    frame = pandas.DataFrame({"mesh": MESHES, "people": 700})
    options = (write(tmp_path / "t.csv", frame), "--grid", "jis:basic", *BOX, *ONCE)
    for name in ("old", "new"):
        job.publish(*options, to=name)
    shutil.make_archive(tmp_path / "got", "zip", tmp_path / "new", "public")
    got = tmp_path / "got.zip"
    for command in job("inspect", got).splitlines()[-3:]:
        assert job(*shlex.split(command)[1:])
    assert MESHES[0] in job("estimate", got, "--area", MESHES[0])
    said = job("compare", tmp_path / "old", got)
    assert "--area CODE" in said
    assert "5339" in job("compare", tmp_path / "old", got, "--area", "5339", "--conservative")
    assert "difference" in job("diff", tmp_path / "old", got)


def test_a_series_finds_its_columns(job, tmp_path):
    frame = pandas.DataFrame({"mesh1kmid": MESHES, "population": 7})
    files = [f"2024-0{n}={write(tmp_path / f'{n}.csv', frame)}" for n in (1, 2)]
    options = ("publish-series", *files, *BUDGET, "--person-in", "all", *BOX)
    options += ("--output", tmp_path / "out")
    assert "--contribution 1" in job(*options)
    done = geodp(*options, *ONCE)
    assert done.returncode == 0, done.stderr
    assert f"publish-series {files[0]}" in done.stderr
    assert "--grid jis:basic" in done.stderr
    recipe = (tmp_path / "out" / "restricted" / "recipe.toml").read_text()
    assert 'grid = "jis:basic"' in recipe


@pytest.mark.parametrize("grid", ["unit:a.csv", "jis:third", "h3:99"])
def test_an_unknown_grid_is_refused_before_anything_is_shown(grid, tmp_path):
    path = write(tmp_path / "t.csv", pandas.DataFrame({"mesh": MESHES, "people": 7}))
    done = geodp("publish", path, "--grid", grid, *BUDGET, *ONCE, "--output", tmp_path / "out")
    assert done.returncode == 2
    assert "Read as" not in done.stderr


@pytest.mark.parametrize(
    "said",
    ["regions", "regions.sheet=a", "mask.member=a", "units.header-row=two", "prior.last-row=-1"],
)
def test_other_words_of_public_files_are_refused(said, tmp_path):
    path = write(tmp_path / "t.csv", pandas.DataFrame({"mesh": MESHES, "people": 7}))
    regions = write(tmp_path / "r.csv", pandas.DataFrame({"mesh": MESHES, "town": "a"}))
    options = (path, "--grid", "jis:basic", "--regions", regions, "--regions-source", "office")
    done = geodp(
        "publish", *options, *BUDGET, *ONCE, "--public-file", said, "--output", tmp_path / "out"
    )
    assert done.returncode == 2
    assert "--public-file" in done.stderr


def test_labels_and_priors_of_workbooks_are_opened_as_is_said(job, tmp_path):
    frame = pandas.DataFrame(
        [(m, s, 5) for m in MESHES for s in "MF"], columns=["mesh", "sex", "n"]
    )
    path = write(tmp_path / "t.csv", frame)
    labels = sheet(tmp_path / "l.xlsx", [["Codes"], ["code", "name"], ["M", "men"], ["F", "women"]])
    rows = [[mesh, sex, 4] for mesh in MESHES for sex in "MF"]
    prior = sheet(tmp_path / "p.xlsx", [["Census"], ["mesh", "sex", "n"], *rows, ["Total", "", 9]])
    options = (path, "--grid", "jis:basic", *BOX, *ONCE, "--by", "sex", "--labels", labels)
    options += ("--public-file", "labels.header-row=2", "--prior", prior)
    options += (
        "--prior-is-public",
        "--prior-source",
        "Census",
        "--public-file",
        "prior.header-row=2",
    )
    options += ("--method", "pyramid", "--public-file", f"prior.last-row={2 + len(rows)}")
    job.publish(*options)
    assert job.wrong == 0
    assert job.people() == frame.n.sum()


def test_a_preset_s_column_without_a_label_is_listed_once(tmp_path):
    frame = pandas.DataFrame({"GITTER_ID_1km": ["CRS3035RES1000mN2689000E4337000"]})
    frame = frame.assign(x_mp_1km=4337500, y_mp_1km=2689500, Einwohner=5)
    path = write(tmp_path / "Zensus2022_Bevoelkerungszahl_1km-Gitter.csv", frame, sep=";")
    asked = propose(path, {"duplicates": "sum"}).questions
    assert asked
    assert not [one for one in asked if "of Einwohner alone" in one]
