"""Recipes: what was inferred is shown, written for the operator and taken back."""

import json
import shlex
import tomllib
import zipfile

import pytest

from geodp.io.folder import publication
from tests.bits import has_bits
from tests.command import geodp

TEXT = "mesh;n\n53394611;5\n53394526;-1\n"
GIVEN = ("--primary", 5339, "--missing=-1", "--contribution", 1, "--epsilon", 1)


@pytest.fixture
def path(tmp_path):
    (tmp_path / "in put.csv").write_text(TEXT)
    return tmp_path / "in put.csv"


def people(folder):
    return json.loads((folder / "restricted" / "run.json").read_text())["counted_people"]


def test_the_command_that_is_shown_gives_the_same(path, tmp_path):
    done = geodp("publish", path, *GIVEN, "--output", tmp_path / "a")
    assert done.returncode == 0, done.stderr
    (shown,) = [line for line in done.stderr.splitlines() if line.startswith("Read as: ")]
    words = shlex.split(shown.removeprefix("Read as: geodp publish "))
    assert words[words.index("--grid") + 1] == "jis:basic"
    words[words.index("--output") + 1] = str(tmp_path / "b")
    again = geodp("publish", *words)
    assert again.returncode == 0, again.stderr
    assert "Read as" not in again.stderr
    assert people(tmp_path / "a") == people(tmp_path / "b") == 5
    cards = [json.loads((tmp_path / one / "public/release.json").read_text()) for one in "ab"]
    assert cards[0]["domain"] == cards[1]["domain"]


def test_the_recipe_gives_the_same_and_what_is_given_goes_first(path, tmp_path):
    assert geodp("publish", path, *GIVEN, "--output", tmp_path / "a").returncode == 0
    recipe = tmp_path / "a" / "restricted" / "recipe.toml"
    assert has_bits(recipe, 0o600)
    assert tomllib.loads(recipe.read_text())["options"] == {
        "grid": "jis:basic", "primary": ["5339"], "value": ["n"], "missing": ["-1"],
        "code": "mesh",
    }  # fmt: skip
    more = ("--recipe", recipe, "--epsilon", 1, "--output", tmp_path / "b")
    asked = geodp("publish", path, *more)  # it is said of one input, and not of the next
    assert asked.returncode == 2
    assert "--contribution" in asked.stderr
    done = geodp("publish", path, *more, "--contribution", 3, "--missing", "-2", "--missing", "-1")
    assert done.returncode == 0, done.stderr
    assert people(tmp_path / "b") == 5
    text = (tmp_path / "b" / "restricted" / "recipe.toml").read_text()
    assert tomllib.loads(text)["options"]["missing"] == ["-2", "-1"]
    assert geodp("verify", tmp_path / "b").returncode == 0


def test_a_recipe_says_what_the_card_says_unless_a_file_does(path, tmp_path):
    recipe = tmp_path / "r.toml"
    recipe.write_text('[options]\ngrid = "jis:basic"\n[metadata]\ntitle = "A"\nsource = "B"\n')
    more = (path, "--recipe", recipe, *GIVEN)
    assert geodp("publish", *more, "--output", tmp_path / "a").returncode == 0
    (tmp_path / "m.toml").write_text('title = "C"\n')
    stated = ("--metadata", tmp_path / "m.toml", "--output", tmp_path / "b")
    assert geodp("publish", *more, *stated).returncode == 0
    cards = [json.loads((tmp_path / one / "public/release.json").read_text()) for one in "ab"]
    assert [card["metadata"] for card in cards] == [{"title": "A", "source": "B"}, {"title": "C"}]
    kept = tmp_path / "a" / "restricted" / "recipe.toml"
    assert tomllib.loads(kept.read_text())["metadata"] == {"title": "A", "source": "B"}
    recipe.write_text(recipe.read_text() + 'colour = "red"\n')
    done = geodp("publish", *more, "--output", tmp_path / "c")
    assert done.returncode == 2
    assert "colour" in done.stderr


def test_a_recipe_that_cannot_be_written_costs_nothing(path, ledger, tmp_path, monkeypatch):
    into = ("--ledger", ledger.path, "--dataset", "census")
    before = ledger.path.read_bytes()
    written = publication.write_private

    def refuse(path, text):
        if path.name == "recipe.toml":
            raise OSError(28, "No space left on device")
        written(path, text)

    monkeypatch.setattr(publication, "write_private", refuse)
    done = geodp("publish", path, *GIVEN, *into, "--output", tmp_path / "a")
    assert done.returncode != 0
    assert "the disk is full" in done.stderr
    assert ledger.path.read_bytes() == before
    assert not (tmp_path / "a").exists()
    monkeypatch.undo()
    assert geodp("publish", path, *GIVEN, *into, "--output", tmp_path / "a").returncode == 0
    sums = (tmp_path / "a" / "restricted" / publication.SUMS).read_text()
    assert "recipe.toml" in sums


def test_a_whole_extent_is_said_aloud(path, tmp_path):
    done = geodp("publish", path, *GIVEN[2:], "--output", tmp_path / "a", "--check")
    assert "Domain: the full extent of jis:basic" in done.stderr
    done = geodp("publish", path, *GIVEN, "--output", tmp_path / "b", "--check")
    assert "Domain" not in done.stderr


def test_what_remains_to_be_said_is_asked_before_anything_is_written(path, tmp_path):
    done = geodp("publish", path, "--epsilon", 1, "--output", tmp_path / "a")
    assert done.returncode == 2
    assert "--contribution" in done.stderr
    assert "So far: geodp publish" in done.stderr
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(
    ("recipe", "rule"),
    [
        ("grid = 'jis:basic'", "one table"),
        ("[options]\n[budget]\nepsilon = 1", "one table"),
        ("metadata = 1\n[options]", "one table"),
        ("[options]\ncolour = 'red'", "no --colour"),
        ("[options]\noverwrite = true", "no --overwrite"),
        ("[options]\ninputs = ['other.csv']", "no --inputs"),
        ("[options]\ngrid = 'jis:basic'\nbounds = [1, 2]", "--bounds cannot have this value"),
        ("[options]\ngrid = {a = 1}", "--grid cannot have this value; recipes and presets hold"),
        ("[options]\nvalue = [['n']]", "--value cannot have this value; recipes and presets hold"),
        ("[options]\npoints = {}", "--points cannot have this value; recipes and presets hold"),
        ("[options]\ngrid = ['jis:basic']", "--grid cannot have this value; it takes one"),
        ("[options]\ngrid = 'jis:basic'\nband = 1", "Not for a table: --band"),
    ],
)
def test_a_recipe_that_cannot_be_followed_is_refused(recipe, rule, path, tmp_path):
    (tmp_path / "r.toml").write_text(recipe)
    more = ("--recipe", tmp_path / "r.toml", "--epsilon", 1, "--output", tmp_path / "a")
    done = geodp("publish", path, *more)
    assert done.returncode == 2
    assert rule in done.stderr
    assert not (tmp_path / "a").exists()


def domain(folder):
    return json.loads((folder / "public" / "release.json").read_text())["domain"]


def test_bounds_are_a_public_area_by_name(path, tmp_path):
    given = [one for one in GIVEN if one not in ("--primary", 5339)]
    done = geodp("publish", path, *given, "--bounds", "千葉県", "--output", tmp_path / "a")
    assert done.returncode == 0, done.stderr
    assert "--bounds 千葉県" in done.stderr or "--bounds '千葉県'" in done.stderr
    recipe = tmp_path / "a" / "restricted" / "recipe.toml"
    assert tomllib.loads(recipe.read_text("utf-8"))["options"]["bounds"] == "千葉県"
    edges = ("139.7", "34.8", "140.9", "36.2")
    same = ("--bounds", *edges, "--output", tmp_path / "b")
    assert geodp("publish", path, *given, *same).returncode == 0
    third = ("--bounds", " ".join(edges), "--output", tmp_path / "c")
    assert geodp("publish", path, *given, *third).returncode == 0
    again = ("--recipe", recipe, "--epsilon", 1, "--contribution", 1, "--output", tmp_path / "d")
    assert geodp("publish", path, *again).returncode == 0
    assert domain(tmp_path / "a") == domain(tmp_path / "b") == domain(tmp_path / "c")
    assert domain(tmp_path / "a") == domain(tmp_path / "d")


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        (["atlantis"], "no public area of this name"),
        (["139", "35", "140"], "west south east north"),
        (["germany"], "extent of jis:basic"),
    ],
)
def test_bounds_that_are_neither_are_refused_before_anything_is_written(
    path, tmp_path, bounds, words
):
    given = [one for one in GIVEN if one not in ("--primary", 5339)]
    done = geodp("publish", path, *given, "--bounds", *bounds, "--output", tmp_path / "a")
    assert done.returncode == 2
    assert words in done.stderr
    assert not (tmp_path / "a").exists()


def test_inspect_proposes_areas_of_the_grid_and_not_of_the_rows(path):
    found = json.loads(geodp("inspect", path, "--json").stdout)
    assert found["areas"][:2] == ["japan", "北海道"]
    assert len(found["areas"]) == 48
    assert "public areas (--bounds): japan, 北海道," in geodp("inspect", path).stdout


WIDE = "GRD_ID,T,M,F\nCRS3035RES1000mN2689000E4337000,5,2,3\n"


def test_an_attribute_of_a_preset_is_published_without_naming_columns(tmp_path):
    wide, out = tmp_path / "wide.csv", tmp_path / "out"
    wide.write_text(WIDE)
    found = json.loads(geodp("inspect", wide, "--json").stdout)
    assert found["attributes"] == {"sex": ["M", "F"]}
    assert "columns of --by sex: M, F" in geodp("inspect", wide).stdout
    edges = ("--bounds", 4337000, 2689000, 4339000, 2691000)
    more = ("--by", "sex", *edges, "--epsilon", 1, "--output", out)
    asked = geodp("publish", wide, *more)
    assert asked.returncode == 2
    assert "--contribution" in asked.stderr
    more = (*more[:-2], "--contribution", 1, *more[-2:])
    done = geodp("publish", wide, *more)
    assert done.returncode == 0, done.stderr
    assert "--labels sex=M,F" in done.stderr
    assert "--value M=M --value F=F" in done.stderr
    assert people(out) == 5
    assert domain(out)["attributes"] == [{"attribute": "sex", "labels": ["M", "F"]}]
    done = geodp(
        "publish", wide, "--grid", "inspire:1km", "--code", "GRD_ID", *more[:-1], tmp_path / "x"
    )
    assert "--labels sex=M,F" in done.stderr
    assert "--value M=M --value F=F" in done.stderr


@pytest.mark.parametrize(
    ("stated", "rule"),
    [
        ("colour = 'red'", "no --colour"),
        ("epsilon = 1", "no --epsilon"),
        ("bounds = [1, 2]", "--bounds cannot have this value"),
        ("contribution = 1", "contribution, which no preset states"),
    ],
)
def test_options_of_a_preset_are_checked_before_the_file_is_looked_at(stated, rule, tmp_path):
    (tmp_path / "p.toml").write_text(f"[options]\n{stated}")
    given = ("--preset", tmp_path / "p.toml", "--epsilon", 1, "--output", tmp_path / "a")
    done = geodp("publish", tmp_path / "not there.csv", *given)
    assert done.returncode == 2
    assert rule in done.stderr


def test_what_is_said_twice_is_refused(path, tmp_path):
    """The first would be forgotten without a word."""
    for flag, value in (("--decimal", "."), ("--epsilon", 5)):
        given = (flag, value, flag, value)[2 * (flag == "--epsilon") :]
        done = geodp("publish", path, *GIVEN, *given, "--output", tmp_path / "a")
        assert done.returncode == 2
        assert f"{flag} is given 2 times" in done.stderr
        assert "it takes one value." in done.stderr


def test_a_layout_that_is_refused_is_so_whatever_else_is_said(tmp_path):
    path = tmp_path / "Zensus2022_Durchschnittsalter_1km-Gitter.csv"
    head = "GITTER_ID_1km;x_mp_1km;y_mp_1km;Durchschnittsalter\n"
    path.write_text(f"{head}CRS3035RES1000mN2689000E4337000;4337500;2689500;43\n")
    options = ("--grid", "inspire:1km", "--code", "GITTER_ID_1km", "--value", "Durchschnittsalter")
    done = geodp(
        *("publish", path, *options, "--contribution", 1, "--epsilon", 1),
        *("--output", tmp_path / "out"),
    )
    assert done.returncode == 2
    assert "means or shares" in done.stderr
    assert not (tmp_path / "out").exists()


def test_the_row_of_the_header_and_the_member_are_in_the_recipe(tmp_path):
    text = "Population\n\nmesh;n\n53394611;5\n53394612;6\n"
    with zipfile.ZipFile(tmp_path / "in.zip", "w") as archive:
        archive.writestr("a.csv", text)
        archive.writestr("b.csv", text.replace("n\n", "men\n"))
    path, out = tmp_path / "in.zip", tmp_path / "a"
    given = ("--header-row", 3, "--member", "a.csv", "--grid", "jis:basic", "--value", "n")
    known = ("--primary", 5339, "--contribution", 1, "--epsilon", 1)
    done = geodp("publish", path, *given, *known, "--output", out)
    assert done.returncode == 0, done.stderr
    recipe = out / "restricted" / "recipe.toml"
    said = tomllib.loads(recipe.read_text())["options"]
    assert (said["header-row"], said["member"]) == (3, "a.csv")
    again = geodp("publish", path, "--recipe", recipe, *known[2:], "--output", tmp_path / "b")
    assert again.returncode == 0, again.stderr
    assert people(out) == people(tmp_path / "b") == 11
