"""``geodp new``: questions on a terminal and on a pipe, and commands that work as they stand."""

import json
import os
import re
import select
import shlex
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import numpy as np
import pytest
import rasterio

from tests.bits import has_bits
from tests.command import geodp
from tests.tools.new.talk import ANSWERED, BOX, ROWS, commands_of, talk, write_table

ZENSUS = """GITTER_ID_1km;x_mp_1km;y_mp_1km;Einwohner
CRS3035RES1000mN3270000E4550000;4550500;3270500;5120
CRS3035RES1000mN3270000E4551000;4551500;3270500;9874
"""


@pytest.fixture
def table(tmp_path):
    return write_table(tmp_path / "people.csv")


def card(folder):
    return json.loads((folder / "public" / "release.json").read_text(encoding="utf-8"))


def test_on_a_pipe_it_prints_the_four_questions_and_ends(tmp_path):
    done = geodp("new", cwd=tmp_path)
    assert done.returncode == 2
    assert re.findall(r"^\d\. Wh?[a-z]+|^\d\. How", done.stdout, re.MULTILINE) == [
        "1. Which",
        "2. Which",
        "3. How",
        "4. Which",
    ]
    assert "answer by options: FILE, --area, --contribution, --epsilon." in done.stderr
    assert [*tmp_path.iterdir()] == []


def test_on_a_pipe_what_is_answered_is_not_asked(table, tmp_path):
    done = geodp("new", table, "--contribution", 2, cwd=tmp_path)
    assert done.returncode == 2
    assert "answer by options: --area, --epsilon." in done.stderr
    assert "95 % margin" not in done.stdout
    done = geodp("new", table, "--contribution", 2, "--area", BOX, "--people", 1e6, cwd=tmp_path)
    assert "answer by options: --epsilon." in done.stderr
    assert "95 % margin" in done.stdout
    assert "people there, on average" in done.stdout
    assert [*tmp_path.iterdir()] == [table]


def test_answers_by_options_give_a_recipe_and_commands_that_work(table, tmp_path):
    done = geodp("new", table, *ANSWERED, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    recipe = tmp_path / "people-recipe.toml"
    assert has_bits(recipe, 0o600)
    assert [*tomllib.loads(recipe.read_text())["options"]] == ["grid", "bounds", "code", "value"]
    assert not (tmp_path / "people-release" / "public").exists()
    publish, verify = commands_of(done)
    assert (publish[0], verify) == ("publish", ["verify", "people-release"])
    for words in (publish, verify):
        assert geodp(*words, cwd=tmp_path).returncode == 0
    run = json.loads((tmp_path / "people-release" / "restricted" / "run.json").read_text())
    assert run["counted_people"] == sum(n for _, n in ROWS)


def test_somebody_answers_and_is_told_what_is_wrong(table, tmp_path, monkeypatch):
    answers = ("no-file.csv", "'people.csv", "people.csv", "nowhere", "layout", BOX)
    answers += ("?", "many", "0", "1", "0", "--people 0", "--people 2e6", "0.1")
    done = talk(monkeypatch, answers=answers, cwd=tmp_path)
    assert done.returncode == 0, done.stderr + done.stdout
    for told in (
        "no-file.csv",
        "A quotation mark is not closed.",
        "There is no public area of this name",
        "No layout states an area of this file; name one.",
        "Ask the maker of the file.",
        "'many' is not a valid integer",
        "--contribution takes a whole number from 1 on",
        "epsilon must be above 0.",
    ):
        assert done.stdout.count(told) == 1, told
    assert re.findall(r"^\d", done.stdout, re.MULTILINE)[:4] == ["1", "2", "3", "4"]
    publish, _ = commands_of(done)
    assert publish[publish.index("--people") + 1] == "2000000"
    assert publish[publish.index("--epsilon") + 1] == "0.1"
    assert "people  N" not in done.stdout


def test_nothing_but_the_area_and_the_epsilon_has_no_default(table, tmp_path, monkeypatch):
    given = ("--area", BOX, "--epsilon", 1)
    done = talk(monkeypatch, table, *given, answers=("", "", "3"), cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.count("Times: ") == 3
    assert "[" not in re.search("Times.*:", done.stdout)[0]
    assert "3 times at most; you vouch for it" in done.stdout


@pytest.mark.parametrize("answers", [(), ("people.csv",), ("people.csv", BOX, "1")], ids=len)
def test_whoever_stops_leaves_nothing(answers, table, tmp_path, monkeypatch):
    done = talk(monkeypatch, answers=answers, cwd=tmp_path)
    assert done.returncode == 130
    assert [*tmp_path.iterdir()] == [table]


def test_an_earlier_recipe_is_kept_unless_it_is_to_be_replaced(table, tmp_path):
    recipe = tmp_path / "people-recipe.toml"
    recipe.write_text("mine")
    done = geodp("new", table, *ANSWERED, cwd=tmp_path)
    assert done.returncode == 2
    assert "replace it with --overwrite" in done.stderr
    assert recipe.read_text() == "mine"
    assert geodp("new", table, *ANSWERED, "--overwrite", cwd=tmp_path).returncode == 0
    assert "[options]" in recipe.read_text()
    named = ("--recipe", "own.toml", "--output", "here")
    done = geodp("new", table, *ANSWERED, *named, cwd=tmp_path)
    assert [words[-1] for words in commands_of(done)] == ["here", "here"]
    assert (tmp_path / "own.toml").exists()


def test_a_release_is_never_the_folder_of_a_rehearsal(table, tmp_path):
    done = geodp("new", table, *ANSWERED, cwd=tmp_path)
    assert geodp(*commands_of(done)[0], cwd=tmp_path).returncode == 0
    done = geodp("new", table, "--overwrite", cwd=tmp_path)
    assert "people-release holds a release" in done.stderr


def test_what_a_layout_states_is_shown_and_not_asked(tmp_path, monkeypatch):
    (tmp_path / "z.csv").write_text(ZENSUS)
    done = talk(monkeypatch, "z.csv", answers=("all", "", "1"), cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "Times" not in done.stdout
    assert "The layout states where people may be" in done.stdout
    told = "once at most; the layout states it of one table of its publisher"
    assert told in " ".join(done.stdout.split())
    recipe = (tmp_path / "z-recipe.toml").read_text(encoding="utf-8")
    assert "bounds = [4000000.0, 2600000.0, 4700000.0, 3600000.0]" in recipe
    said = tomllib.loads(recipe)["metadata"]
    assert said["title"] == "Zensus 2022, grid cells of Germany"
    assert said["reference_date"] == "2022-05-15"
    assert '\n# publisher = "Statistische Ämter des Bundes und der Länder"\n' in recipe
    mine = recipe.replace("# publisher", "publisher").replace("Zensus 2022, grid", "My")
    (tmp_path / "z-recipe.toml").write_text(mine, encoding="utf-8")
    publish, verify = commands_of(done)
    assert "--contribution" not in publish
    for words in (publish, verify):
        assert geodp(*words, cwd=tmp_path).returncode == 0
    found = card(tmp_path / "z-release")["metadata"]
    assert found["title"] == "My cells of Germany"
    assert found["publisher"].startswith("Statistische Ämter")


def test_the_extent_of_a_raster_is_vouched_for_in_the_command(tmp_path, monkeypatch):
    meta = {"driver": "GTiff", "dtype": "int32", "count": 1, "height": 4, "width": 4}
    place = rasterio.transform.from_origin(4321000, 3210000, 1000, 1000)
    with rasterio.open(tmp_path / "r.tif", "w", crs=3035, transform=place, **meta) as file:
        file.write(np.arange(16, dtype=np.int32).reshape(4, 4), 1)
    done = talk(monkeypatch, "r.tif", answers=("", "public", "1", "1"), cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("Area: ") == 2  # no default
    publish, _ = commands_of(done)
    assert "--domain-is-public" in publish
    options = tomllib.loads((tmp_path / "r-recipe.toml").read_text())["options"]
    assert options == {"grid": "like:r.tif"}
    assert geodp(*publish, cwd=tmp_path).returncode == 0
    asked = geodp(
        "new", "r.tif", "--area", "like:r.tif", "--output", "o", "--overwrite", cwd=tmp_path
    )
    assert asked.returncode == 2
    assert "--domain-is-public" in asked.stderr


def test_a_column_of_persons_answers_how_often(tmp_path, monkeypatch):
    write_table(tmp_path / "p.csv", [("a", 139.5, 35.5), ("a", 139.6, 35.6)], "id;lon;lat")
    answers = ("jis:basic", "--points", BOX, "--person id", "2")
    done = talk(monkeypatch, "p.csv", answers=answers, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "Its columns: id, lon, lat." in done.stdout
    assert "once at most; geodp ensures it by the column id" in done.stdout
    publish, _ = commands_of(done)
    assert "--contribution" not in publish
    assert geodp(*publish, cwd=tmp_path).returncode == 0
    run = json.loads((tmp_path / "p-release" / "restricted" / "run.json").read_text())
    assert run["counted_people"] == 1


def test_what_the_rehearsal_refuses_is_mended_by_options(tmp_path, monkeypatch):
    write_table(tmp_path / "t.csv", [*ROWS, (53394527, -1)])
    done = talk(
        monkeypatch, "t.csv", *ANSWERED, answers=("--no-such", "--missing=-1"), cwd=tmp_path
    )
    assert done.returncode == 0, done.stdout
    assert "(--missing, missing=)" in done.stdout
    assert "'--no-such'" in done.stdout
    assert 'missing = ["-1"]' in (tmp_path / "t-recipe.toml").read_text()
    assert geodp(*commands_of(done)[0], cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("asked", [True, False])
def test_what_is_not_mended_leaves_nothing_but_the_call(asked, tmp_path, monkeypatch):
    path = write_table(tmp_path / "t.csv", [*ROWS, (53394527, -1)])
    words = ("t.csv", *ANSWERED)
    done = (
        talk(monkeypatch, *words, answers=("",), cwd=tmp_path)
        if asked
        else geodp("new", *words, cwd=tmp_path)
    )
    assert done.returncode == 5
    assert [*tmp_path.iterdir()] == [path]
    (again,) = re.findall("to change: geodp (.*)", done.stdout)
    done = geodp(*shlex.split(again), "--missing=-1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_screen_is_the_same_whoever_is_in_the_rows(tmp_path, monkeypatch):
    shown = []
    for rows in (ROWS, [(53394611, 77777), *((53394600 + n, n) for n in range(12, 99))]):
        folder = tmp_path / str(len(rows))
        folder.mkdir()
        write_table(folder / "t.csv", rows)
        done = talk(monkeypatch, "t.csv", answers=(BOX, "1", "1"), cwd=folder)
        assert done.returncode == 0
        shown.append((done.stdout, done.stderr))
    assert shown[0] == shown[1]


def test_several_files_and_a_pattern_are_in_the_command(tmp_path):
    for number in range(2):
        write_table(tmp_path / f"t{number}.csv", [(key + number, n) for key, n in ROWS])
    done = geodp("new", "t*.csv", *ANSWERED, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert commands_of(done)[0][1:4] == ["t*.csv", "--recipe", "recipe.toml"]
    assert geodp(*commands_of(done)[0], cwd=tmp_path).returncode == 0


def test_help_at_a_prompt_is_shown_and_the_question_stays(table, tmp_path, monkeypatch):
    given = ("--area", BOX, "--epsilon", 1)
    done = talk(monkeypatch, table, *given, answers=("--help", "1"), cwd=tmp_path)
    assert done.returncode == 0
    assert "Usage: geodp new" in done.stdout
    assert (tmp_path / "people-recipe.toml").exists()


@pytest.mark.skipif(os.name == "nt", reason="terminals are of POSIX")
def test_a_closed_input_is_no_terminal(tmp_path):
    call = f"{shlex.quote(sys.executable)} -m geodp new <&-"
    done = subprocess.run(
        call, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "There is no terminal to ask on" in done.stderr


def test_a_url_is_no_answer(tmp_path, monkeypatch):
    done = talk(monkeypatch, answers=("https://example.org/t.csv",), cwd=tmp_path)
    assert "geodp new URL" in done.stdout


@pytest.mark.usefixtures("japanese")
def test_all_of_it_is_japanese(tmp_path, monkeypatch):
    write_table(tmp_path / "t.csv", [(*row, 1) for row in ROWS], "mesh;n;m")
    answers = ("n", BOX, "?", "2", "--people 1e6", "1")
    done = talk(monkeypatch, "t.csv", answers=answers, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    lines = [line for line in done.stdout.splitlines() if not line.startswith("geodp ")]
    words = [line for line in lines if re.search("[a-z]{3} [a-z]{2}", line)]
    english = [line for line in words if not re.search("[ぁ-んァ-ン一-龥]", line)]
    assert english == []


@pytest.fixture
def terminal(tmp_path):
    """Return a function that runs words in a terminal, and types answers at its prompts."""
    pty = pytest.importorskip("pty", reason="terminals are of POSIX")

    def run(words, answers):
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "geodp", *map(str, words)],
            cwd=tmp_path,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            env={**os.environ, "LANGUAGE": "C", "COLUMNS": "100", "TERM": "dumb"},
            preexec_fn=_take_terminal,
        )
        os.close(theirs)
        said, seen, end = b"", 0, time.monotonic() + 200
        while time.monotonic() < end:
            if not select.select([ours], [], [], 0.2)[0]:
                if answers and said[seen:].endswith(b": "):
                    seen = len(said)
                    os.write(ours, answers.pop(0))
                continue
            try:
                more = os.read(ours, 1 << 16)
            except OSError:  # the other end is closed
                break
            if not more:
                break
            said += more
        os.close(ours)
        return process.wait(60), said.decode()

    return run


def _take_terminal():
    """Have Ctrl-C go to the process, as a shell has it."""
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@pytest.mark.law
def test_in_a_terminal_keys_are_answers_and_commands_run_in_a_shell(terminal, table, tmp_path):
    code, said = terminal(["new", "people.csv"], [f"{BOX}\n".encode(), b"1\n", b"0.5\n"])
    assert code == 0, said
    commands = said.splitlines()[-2:]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        " && ".join(commands),
        shell=True,
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "verified" in done.stdout.lower() or "ok" in done.stdout.lower()


@pytest.mark.law
@pytest.mark.parametrize("key", [b"\x03", b"\x04"], ids=["Ctrl-C", "Ctrl-D"])
def test_in_a_terminal_whoever_stops_leaves_nothing(key, terminal, table, tmp_path):
    code, said = terminal(["new", "people.csv"], [f"{BOX}\n".encode(), key])
    assert code == 130, said
    assert "Interrupted" in said
    assert [*tmp_path.iterdir()] == [table]
