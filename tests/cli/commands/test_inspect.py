"""What ``geodp inspect`` prints can be given to ``geodp publish`` as it stands."""

import json
import os
import shlex
import subprocess
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from geodp.cli.commands.inspect import inspect
from geodp.cli.output import quote
from geodp.errors import InputError
from tests.command import geodp
from tests.io.files import tiff
from tests.refusals import refuses

STRANGE = [
    "人口（総数）\u3000男",
    "it's",
    "a b",
    "$HOME `id` \\n",
    "\t",
    "x\ny",
    "",
    "-",
    "|",
    "e\u202egnp.x",
    "\x1b[2J",
    "naïve",
    "a'\t\\b",
]


def run(*arguments):
    return CliRunner().invoke(inspect, [*map(str, arguments)], catch_exceptions=False)


@pytest.mark.parametrize("text", STRANGE)
def test_what_is_pasted_is_the_text(text):
    """In bash, ksh, zsh and what else knows ``$'...'``."""
    written = quote(text)
    command = ["bash", "-c", f"printf %s {written}"]
    found = subprocess.run(command, capture_output=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
    assert (found.stdout.decode(), found.stderr) == (text, b"")
    assert not {"\x1b", "\u202e", "\n", "\t"} & {*written}
    for letter in "人（\u3000ï":
        assert (letter in written) == (letter in text)


@pytest.mark.parametrize(("delimiter", "shown"), [("\t", "$'\\t'"), (";", "';'"), (",", ",")])
def test_names_labels_and_delimiters_are_printed_to_be_pasted(tmp_path, delimiter, shown):
    path = tmp_path / "t.txt"
    rows = [
        ["KEY_CODE", "T001", "T002"],
        ["", "人口（総数）", "人口（総数）\u3000男"],
        ["533900001", "1", "1"],
    ]
    path.write_text("".join(delimiter.join(row) + "\n" for row in rows), encoding="utf-8")
    printed = run(path).output
    assert "\\u" not in printed
    words = shlex.split(printed.replace("$'\\t'", "TAB"))
    assert "人口（総数）\u3000男" in words
    assert "人口（総数）" in words
    assert f"delimiter={shown}" in printed.split()
    assert "'人口（総数）\u3000男'" in printed


def test_the_encoding_can_be_named(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(
        "code,Bevölkerung,Männer\n1kmN2599E4695,3,1\n1kmN2599E4696,2,2\n".encode("cp1252")
    )
    found = CliRunner().invoke(inspect, [str(path)])
    assert "--encoding" in str(found.exception)
    printed = run(path, "--encoding", "cp1252").output
    assert "'Bevölkerung'" in printed
    assert "encoding=cp1252" in printed
    assert "grid=inspire:1km" in printed
    wrong = CliRunner().invoke(inspect, [str(path), "--encoding", "utf-16"])
    assert "keeps ASCII" in str(wrong.exception)


def test_an_encoding_of_what_is_no_text_is_refused(tmp_path):
    parquet = tmp_path / "t.parquet"
    pq.write_table(pa.table({"code": ["1kmN2599E4695"]}), parquet)
    for path in (parquet, tiff([[1, 2]])(tmp_path)):
        found = CliRunner().invoke(inspect, [str(path), "--encoding", "utf-8"])
        assert found.exit_code != 0
        assert "--encoding" in str(found.exception)


def test_names_of_parquet_are_printed_to_be_pasted_and_a_raster_has_its_crs(tmp_path):
    parquet = tmp_path / "t.parquet"
    pq.write_table(pa.table({"n\x1bc": [1]}), parquet)
    assert "$'n\\033c'  int64" in run(parquet).output
    assert "crs=EPSG:3035" in run(tiff([[1, 2]])(tmp_path)).output


def test_titles_and_members_are_shown_and_settled(tmp_path):
    text = "Population\n\nmesh,n\n53394611,5\n53394612,6\n"
    with zipfile.ZipFile(tmp_path / "in.zip", "w") as archive:
        archive.writestr("a.csv", text)
        archive.writestr("b.csv", "x,y,z\n1,2,3\n")
    with refuses(InputError, r"archive-tables-differ: --member, member=\): a\.csv, b\.csv"):
        run(tmp_path / "in.zip")
    guessed = run(tmp_path / "in.zip", "--member", "a.csv").output
    assert "rows: 3 seems to hold the names, and 4 to be the first" in guessed
    assert "--header-row 3 --first-row 4 --member a.csv" in guessed.splitlines()[-1]
    shown = run(tmp_path / "in.zip", "--member", "a.csv", "--header-row", 3).output
    assert "rows:" not in shown
    assert "--header-row 3 --member a.csv" in shown.splitlines()[-1]
    for one in (guessed, shown):
        assert "mesh  (codes)\n" in one
        assert "n  (counts)\n" in one


def test_a_description_is_drafted_for_codes_of_no_known_grid(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("mesh_id,n\nX120Y455,7\nX121Y460,8\n")
    printed = run(path).output
    assert 'codes = "X{east}Y{north}"' in printed
    assert "455" not in printed
    path.write_text("mesh_id,n\n53394611,7\n53394612,8\n")
    assert "codes =" not in run(path).output


def test_a_column_of_times_is_a_series_or_an_attribute(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("mesh,hour,n\n53394611,7,7\n53394612,8,8\n")
    printed = run(path).output
    assert "hour  (time)" in printed
    assert "publish-series" in printed


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        (
            "mesh,n\n53394611,5\n53394612,5\n",
            "--code mesh --value n --contribution NUMBER --epsilon 0.1",
        ),
        ("mesh,sex,n\n53394611,f,5\n", "--by sex --labels sex=LABEL,LABEL --epsilon"),
        ("lon,lat,id\n139.7,35.6,1\n", "--grid GRID --points --contribution NUMBER --epsilon"),
        ("lon,lat,uid\n139.7,35.6,1\n", "--grid GRID --points --person uid --epsilon"),
        ("ward,population,z\nA,5,x\n", "--code ward --grid GRID --value COLUMN --contribution"),
        (
            "h3,n\n87283082bffffff,4\n872830828ffffff,5\n",
            "--bounds AREA --contribution NUMBER --epsilon",
        ),
    ],
    ids=["code", "labels", "points", "persons", "areas", "cells"],
)
def test_the_command_holds_what_is_still_to_be_said(text, filled, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(text)
    *_, head, command = run(path).output.splitlines()
    assert head == "to publish, after replacing what is in capitals:"
    assert filled in command
    done = geodp("publish", *shlex.split(command)[2:-1], tmp_path / "out")
    assert done.returncode == 2
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["income", "年収", "Miete", "sales"])
def test_amounts_are_proposed_as_amounts(tmp_path, name):
    path = tmp_path / "a.csv"
    rows = [f"5339461{i % 9},{i}" for i in range(1, 99)]
    path.write_text("\n".join([f"mesh,{name}", *rows, ""]))
    shown = run(path).output
    assert f"{quote(name)}  (amounts)" in shown
    assert f"geodp amounts publish {quote(str(path))}" in shown
    assert f"--amount {quote(name)} --contribution NUMBER --clip LOWER UPPER" in shown
    # Nothing here may be counts.
    assert "--value" not in shown
    path.write_text("\n".join([f"mesh,{name},n", *(f"{row},7" for row in rows), ""]))
    shown = run(path).output.splitlines()[-1]
    assert shown.startswith("geodp publish")
    assert "--value n" in shown


def test_rows_at_points_may_be_persons_or_records_of_amounts(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id,lon,lat,income\na,139.7,35.7,300\nb,139.8,35.7,400\nc,139.7,35.6,5\n")
    shown = run(path).output
    assert "--points" in shown.splitlines()[-1]
    assert "geodp amounts publish releases their sums and means (--amount income)" in shown


RAW = {
    "household_id,person_id,lon,lat,age": (
        "households publish --household household_id --protect household --x lon --y lat",
    ),
    "household_id,lon,lat,size": (
        "households publish --household household_id --size size --protect household",
    ),
    "household_id,person_id,mesh_code": (
        "households publish --household household_id --protect household --code mesh_code",
    ),
    "person_id,district,income": (
        "amounts publish --amount income --person person_id --contribution 1 --clip LOWER UPPER "
        "--unit-of-amount UNIT --code district --grid units:TABLE.csv --units-source WORDS",
    ),
    "trip_id,pickup_lon,pickup_lat,dropoff_lon,dropoff_lat,driver": (
        "flows publish --from pickup_lon,pickup_lat --to dropoff_lon,dropoff_lat "
        "--points-crs EPSG:4326 --person driver "
        "--trips 10 --grid GRID",
    ),
    "from_zone,to_zone,trips": (
        "flows publish --from from_zone --to to_zone --value trips --contribution NUMBER",
    ),
    "device,time,lon,lat": (
        "flows publish --pings lon,lat --points-crs EPSG:4326 --time time --person device "
        "--trips 10",
    ),
    "user_id,timestamp,mesh_code": (
        "flows publish --stays mesh_code --time timestamp --person user_id --trips 10",
    ),
    "person_id,month,lon,lat": (
        "publish-series --points --period month --person person_id --periods FIRST..LAST "
        "--person-in all --delta 1e-10 --x lon --y lat",
    ),
    "mesh_code,year,month,n": (
        "publish-series --period year,month --value n --periods FIRST..LAST --person-in all",
    ),
    "person_id,lon,lat": (),
    "person_id,easting,northing,income": (
        "amounts publish --amount income --person person_id --contribution 1 --clip LOWER UPPER "
        "--unit-of-amount UNIT --x easting --y northing --points-crs CRS --grid GRID",
    ),
    "start_lon,start_lat,end_lon,end_lat,trips": (
        "flows publish --from start_lon,start_lat --to end_lon,end_lat --points-crs EPSG:4326 "
        "--value trips --contribution NUMBER --grid GRID",
    ),
    "mesh_code,2024-01,2024-02,2024-03": (
        "publish-series --period-columns '*' --person-in all --delta 1e-10",
    ),
    "mesh_code,1月,2月,3月": ("publish-series --period-columns '*' --periods FIRST..LAST",),
}
"""Headers of raw records, and the commands of other kinds of release than counts."""


@pytest.mark.parametrize(("header", "commands"), RAW.items())
def test_questions_of_every_kind_are_told_from_names(header, commands, tmp_path):
    path = tmp_path / "raw.csv"
    places = {"mesh_code": "53394611", "district": "North"}
    places |= {"easting": "401234.5", "northing": "5601234.5"}
    row = ",".join(places.get(name, "7") for name in header.split(","))
    path.write_text(f"{header}\n{row}\n{row}\n")
    answers = json.loads(run(path, "--json").output)["answers"]
    shown = [one["command"].replace(f" {path}", "") for one in answers]
    assert len(shown) == len(commands)
    for told, command in zip(shown, commands, strict=True):
        assert told.startswith(f"geodp {command} ")
    assert ("How many" in run(path).output) == bool(commands)
