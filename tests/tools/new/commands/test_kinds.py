"""From a raw file of any kind to the number of an area: ``new``, ``publish``, ``estimate``."""

import shlex
import zipfile

import pytest

from tests.command import geodp
from tests.tools.new.talk import BOX, commands_of, talk

MESHES = ("53394611", "53394526", "53394527", "53394612")


def repeat(*rows):
    """Return rows for every mesh, with a number of their own in the place of {n}."""
    return [row.format(mesh=mesh, n=n) for n, mesh in enumerate(MESHES) for row in rows]


FILES = {
    "households publish, a row a household": (
        ["household_id,size,mesh_code", *repeat("{n},2,{mesh}", "9{n},9,{mesh}")],
        ("1", "household", BOX, "1"),
    ),
    "households publish, a row a person": (
        ["世帯番号,世帯員番号,メッシュコード", *repeat("{n},1,{mesh}", "{n},2,{mesh}")],
        ("1", "household", BOX, "1"),
    ),
    "amounts publish, incomes of districts": (
        ["person_id,district,income", *(f"{n},{'AB'[n % 2]},{200 + n}" for n in range(9))],
        ("1", "0 1000", "units:list.csv", "an office's list", "EUR", "1"),
    ),
    "flows publish, trips": (
        ["driver,from_lon,from_lat,to_lon,to_lat", *["7,139.1,35.4,139.9,35.9"] * 3],
        ("3", "jis:primary", BOX, "1"),
    ),
    "flows publish, counts between cells by number": (
        ["SLONCOL,SLATCOL,ELONCOL,ELATCOL,VehicleNum", "1,0,2,1,5", "3,1,0,2,9"],
        ("regular:8x8", "9", "1"),
    ),
    "flows publish, stays": (
        ["user_id,arrival_time,mesh_code", *repeat("7,2024-05-0{n} 08:00,{mesh}")[1:]],
        ("1", "3", BOX, "1"),
    ),
    "publish-series, months in a column": (
        [
            "mesh_code,year,month,timezone,stays",
            *repeat("{mesh},2024,1,0,5", "{mesh},2024,02,0,6", "{mesh},2024,02,1,9"),
        ],
        ("1", "2024-01..2024-02", "all", "timezone=0", BOX, "1", "1"),
    ),
    "publish, persons": (
        ["lon,lat,age", *["139.1,35.4,7"] * 3],
        ("jis:basic", "--points", BOX, "1", "1"),
    ),
}
"""A file of each kind with its command, and the answers to what is asked of it."""


@pytest.mark.parametrize("name", FILES)
def test_a_file_leads_to_the_number_of_an_area_by_commands_that_are_shown(
    name, tmp_path, monkeypatch
):
    lines, answers = FILES[name]
    (tmp_path / "list.csv").write_text("district\nA\nB\n")
    (tmp_path / "raw.csv").write_text("\n".join([*lines, ""]), encoding="utf-8")
    done = talk(monkeypatch, "raw.csv", answers=answers, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    publish, _ = commands_of(done)
    assert " ".join(publish).startswith(f"{name.partition(',')[0]} raw.csv")
    done = geodp(*publish, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    following = [shlex.split(line)[1:] for line in done.stdout.splitlines()[-3:]]
    assert [words[:2] for words in following] == [
        [command, "raw-release"] for command in ("verify", "estimate", "report")
    ]
    assert " to " in geodp(*following[1], cwd=tmp_path).stdout


def test_a_folder_and_an_archive_of_months_are_a_series(tmp_path, monkeypatch):
    (tmp_path / "year").mkdir()
    with zipfile.ZipFile(tmp_path / "year.zip", "w") as archive:
        for month in ("2024-01", "2024-02"):
            text = "\n".join(["mesh_code,stays", *repeat("{mesh},5"), ""])
            (tmp_path / "year" / f"{month}.csv").write_text(text)
            archive.writestr(f"stays-{month}.csv", text)
    for one in ("year", "year.zip"):
        done = talk(monkeypatch, one, answers=("1", "all", BOX, "1", "1"), cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        assert commands_of(done)[0][:2] == ["publish-series", one]
        (tmp_path / "year-recipe.toml").unlink()


def test_a_question_that_the_columns_do_not_answer_is_refused(tmp_path):
    (tmp_path / "raw.csv").write_text("mesh,n\n53394611,5\n53394526,9\n")
    done = geodp("new", "raw.csv", "--question", "households publish", cwd=tmp_path)
    assert "do not show that geodp households publish can read it" in done.stderr
    done = geodp("new", "raw.csv", "--question", "verify", cwd=tmp_path)
    assert "publish, 'amounts publish'" in done.stderr
