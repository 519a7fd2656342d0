"""What a layout settles, and what it never does: domain and contribution."""

import pytest

from geodp.errors import UsageError
from geodp.io.read.layout import presets
from geodp.io.read.layout.inspect import inspect
from geodp.io.read.layout.presets import Preset, find_preset
from geodp.io.read.layout.propose import REQUEST_AREA, REQUEST_CONTRIBUTION, propose
from tests.refusals import refuses

CODES = "53394611,5\n53394526,7\n"


@pytest.fixture
def write(tmp_path):
    def one(text, name="in.csv"):
        """Write a file whose last row is there twice, as one record alone settles nothing."""
        path = tmp_path / name
        last = text.rstrip("\n").rpartition("\n")[2]
        path.write_text(f"{text}{last}\n", encoding="utf-8")
        return path

    return one


@pytest.fixture
def settle(write):
    """Return what is proposed of a text whose contribution is known."""

    def one(text, preset=None, named=(), **given):
        return propose(write(text), {"contribution": 1, **given}, preset, named=named)

    return one


@pytest.fixture
def ask(write):
    """Return what is proposed of a text of which nothing else is known."""
    return lambda text, **given: propose(write(text), given)


def test_one_column_of_counts_is_the_count(settle, ask):
    found = ask(f"mesh,n\n{CODES}")
    assert found.options == {"grid": "jis:basic", "code": "mesh", "value": ["n"]}
    assert len(found.questions) == 1
    assert "--contribution" in found.questions[0]
    assert settle(f"mesh,n\n{CODES}").questions == ()
    assert ask(f"mesh,n\n{CODES * 9}") == found  # no domain is taken from rows


@pytest.mark.parametrize(
    ("text", "option", "asked"),
    [
        (
            "mesh,men,women\n53394611,5,6\n",
            "value",
            "choose the column of counts (--value), or several with --by: men, women",
        ),
        ("mesh,n\n5339461132,5\n", "grid", "--grid"),
        ("mesh,n\n53394611,5\n533946113,5\n", "grid", "--grid"),
        ("mesh,n\nx,5\n", "grid", "--grid"),
        ("53394611,5\n", "code", "header"),
    ],
)
def test_what_may_be_several_is_asked_about(text, option, asked, settle):
    found = settle(text)
    assert option not in found.options
    assert asked in found.questions[0]


@pytest.mark.parametrize(
    ("name", "codes", "grid"),
    [
        ("square", "SU4217,5\nTQ3080,7\n", "british:1km"),
        ("Grid ref", "G 03 05,5\nN 00 50,7\n", "irish:1km"),
        ("id", "다사551085,5\n다사551086,7\n", "korean:100m"),
    ],
)
def test_squares_of_letters_are_proposed(name, codes, grid, settle):
    found = settle(f"{name},n\n{codes}")
    assert (found.options["grid"], found.options["code"]) == (grid, name)


def test_what_is_given_stays(ask):
    given = {"grid": "jis:half", "value": ("x",), "code": "c", "contribution": 2}
    assert ask(f"mesh,n\n{CODES}", **given).options == {}


def test_a_preset_states_domain_and_contribution_for_its_own_columns(ask):
    text = "Gitter_ID_1km;x_mp_1km;y_mp_1km;Einwohner;Andere\n1kmN2599E4695;1;2;4;3\n"
    found = ask(text)
    assert (found.preset, found.questions) == ("zensus2011", ())
    assert ask(text, value=("Einwohner",)).questions == ()
    assert found.options["missing"] == ["-1", "-9"]
    for given in ({"value": ("Andere",)}, {"duplicates": "sum"}):
        assert "--contribution" in ask(text, **given).questions[0]
    assert "bounds" not in ask(text, mask="land:germany").options


@pytest.mark.parametrize("primary", ["3927", "4930", "5132", "5235", "5339", "5440", "6441"])
@pytest.mark.parametrize("header", ["KEY_CODE,HTKSYORI,HTKSAKI,GASSAN,T001100001", "KEY_CODE,n"])
def test_meshes_of_1_km_are_never_taken_for_hectares(primary, header, settle):
    """The first rows of a file are those of the south, whose digits Swiss hectares have, too."""
    columns = header.count(",")
    rows = [f"{primary}{cell}{',' * columns}5\n" for cell in ("1000", "1099", "1101", "2345")]
    second = f"{',' * columns}人口総数\n" if "T001100001" in header else ""
    found = settle(f"{header}\n{second}{''.join(rows)}")
    assert (found.options["grid"], found.questions) == ("jis:basic", ())


def test_names_of_a_file_do_not_steer_a_terminal(ask):
    assert "\u202e" not in "".join(ask("mesh,a\u202eb,c\n53394611,5,6\n").questions)


def test_what_a_preset_asks_is_asked_until_it_is_said(settle):
    text = "mesh1kmid,year,month,dayflag,timezone,population\n53394611,2021,01,1,0,9\n"
    assert "--where" in settle(text).questions[0]
    assert settle(text, where=("month=01",)).questions == ()


@pytest.mark.parametrize("option", ["code", "x", "person"])
def test_a_preset_whose_column_is_not_there_is_refused_by_its_name(option, settle):
    """And not read by the column that looks like it."""
    preset = Preset.of("ours", f'[options]\n{option} = "CELL*|Zelle"\n')
    rule = rf"preset-column-missing: ours .*\b{option}\b.*'CELL\*\|Zelle'.*--{option}"
    with refuses(UsageError, rule):
        settle(f"mesh,n\n{CODES}", preset)
    assert settle(f"mesh,n\n{CODES}", preset, code="mesh").options["value"] == ["n"]
    assert settle(f"CELL_1,n\n{CODES}", preset).options[option] == "CELL_1"


def test_points_are_asked_whose_they_are(ask):
    asked = " ".join(ask("id,lon,lat\n1,139.7,35.6\n").questions)
    assert "--grid" in asked
    assert "--points" in asked
    found = ask("id,lon,lat\n1,139.7,35.6\n", points=True, grid="jis:basic")
    assert found.options == {"x": "lon", "y": "lat"}
    assert len(found.questions) == 1
    assert "--person" in found.questions[0]


def test_a_file_that_several_presets_fit_is_asked_about(ask, monkeypatch):
    twins = [Preset(name, columns=("mesh",)) for name in ("a", "b")]
    monkeypatch.setattr(presets, "presets", lambda: twins)
    monkeypatch.setattr(presets, "_find_fitting", presets._find_fitting.__wrapped__)
    with refuses(UsageError, r"presets-several-fit: --preset\): a, b"):
        ask(f"mesh,n\n{CODES}")


def test_attributes_of_a_preset_are_told_beside_its_column(ask):
    text = "GRD_ID,T,M,F,Y_LT15,Y_1564,Y_GE65\nCRS3035RES1000mN2599000E4695000,6,2,4,1,2,3\n"
    found = ask(text)
    assert {*found.attributes} == {"sex", "age"}
    assert found.options["value"] == ["T"]
    own = ask(text, value=["M", "F"], labels=["sex=M,F"])
    assert (own.questions, "value" in own.options) == ((REQUEST_CONTRIBUTION,), False)


@pytest.mark.parametrize(
    "columns", ["Unter18;a18bis29;a30bis49;a50bis64;a65undaelter", "Unter18;a18bis64;a65undaelter"]
)
def test_an_attribute_is_there_only_with_all_of_its_columns(columns, ask):
    """Classes of ages that were changed are refused: the rest would silently miss people."""
    counts = ";".join("1" for _ in columns.split(";"))
    rows = f"CRS3035RES1000mN2689000E4337000;4337500;2689500;{counts}\n"
    found = ask(f"GITTER_ID_1km;x_mp_1km;y_mp_1km;{columns}\n{rows}")
    if "a18bis64" in columns:
        assert not found.attributes
        return
    assert [*found.attributes["age"]] == columns.split(";")
    assert found.questions[0].startswith("choose the columns of --by age, or the column of counts")


@pytest.mark.parametrize(
    ("titles", "attribute", "labels"),
    [
        (["　人口（総数）　男", "　人口（総数）　女"], "sex", ("男", "女")),
        (
            [
                f"{age}　{sex}"
                for age in ("０～１４歳人口", "１５～６４歳人口", "６５歳以上人口")
                for sex in ("男", "女")
            ],
            "sex*age",
            ("男 ０～１４歳", "男 １５～６４歳"),
        ),
    ],
)
def test_labels_of_a_preset_take_the_place_of_names(titles, attribute, labels, ask):
    """A joint table is an axis of each attribute."""
    titles = ["　人口（総数）", *titles]
    names = ",".join(f"T{i}" for i in range(len(titles)))
    head = f"KEY_CODE,HTKSYORI,HTKSAKI,GASSAN,{names}\n,,,,{','.join(titles)}\n"
    found = ask(f"{head}5339461132,0,,{',1' * len(titles)}\n")
    assert found.attributes[attribute][:2] == labels


def test_the_column_of_codes_that_is_named_tells_the_grid(settle):
    """And not the one that looks like it."""
    text = "mesh,CELL,n\n53394611,5339461132,5\n"
    preset = Preset.of("office", '[options]\ncode = "CELL"\n[grids]\n10 = "jis:quarter"\n')
    assert settle(text, preset).options["grid"] == "jis:quarter"
    assert settle(text, preset, code="mesh").options["grid"] == "jis:basic"
    assert "--grid" in settle(text, code="n").questions[0]


@pytest.mark.parametrize("value", ["T1", "t1", "人口（総数）"])
def test_the_layout_states_its_column_by_name_and_by_label(value, ask):
    text = "KEY_CODE,HTKSYORI,T1,T2\n,,人口（総数）,人口（総数）　男\n5339461132,0,4,1\n"
    assert ask(text, value=[value]).questions == ()
    (asked,) = ask(text, value=["T2"]).questions
    assert asked == f"{REQUEST_CONTRIBUTION}; the preset estat states it of 人口（総数） alone"


def test_what_is_named_takes_nothing_of_a_layout_away(ask):
    text = "GITTER_ID_1km;x_mp_1km;y_mp_1km;Einwohner\nCRS3035RES1000mN1E1;1;1;1\n"
    found = ask(text).options
    for given in ({"grid": "inspire:1km"}, {"value": ["Einwohner"]}, {"code": "GITTER_ID_1km"}):
        rest = ask(text, **given).options
        assert rest == {name: value for name, value in found.items() if name not in given}
    assert "bounds" not in ask(text, grid="regular:2x2").options
    assert "code" not in ask(text, x="x_mp_1km", y="y_mp_1km").options


def test_rows_of_totals_are_selected_away_wherever_counts_are_added_up(settle):
    """Terms that a preset asks for are all needed then: a total is a row beside its parts."""
    header = "date,time,area,residence,age,gender,population\n"
    text = f"{header}20240101,0100,5339452411,-1,-1,-1,9\n"
    given = {"grid": "jis:quarter", "where": ("date=20240101", "time=0100")}
    assert settle(text, **given).questions == ()
    assert "residence=-1" in settle(text, **given, duplicates="sum").questions[0]
    every = (*given["where"], "residence=-1", "age=-1", "gender=-1")
    assert settle(text, **{**given, "where": every}, duplicates="sum").questions == ()


HEXAGONS = "872f5a363ffffff,5\n872f5a362ffffff,7\n"
TOKENS = "60188bfc,5\n60188bec,7\n"
NUMBERS = {
    "h3": "608818981754634239,5\n608818981737857023,7\n",
    "s2": "-8520148331287019520,5\n-8519977494667853824,7\n",
}
CELLS = [
    *(("h3", name, cells) for name in ("h3", "h3_7", "h3_index", "hex_id", "zone", "Zelle")
      for cells in (HEXAGONS, HEXAGONS.upper(), NUMBERS["h3"])),
    *(("s2", name, cells) for name in ("s2", "s2_13", "S2_Token", "s2_cell_id", "s2cell", "s2id")
      for cells in (TOKENS, TOKENS.upper(), NUMBERS["s2"])),
]  # fmt: skip


@pytest.mark.parametrize(("system", "name", "cells"), CELLS)
def test_cells_of_h3_and_s2_are_units_whose_area_is_asked_for(system, name, cells, settle):
    found = settle(f"{name},n\n{cells}")
    grid = found.options["grid"]
    assert grid.startswith(f"{system}:{'7' if system == 'h3' else '1'}")
    assert found.options == {"grid": grid, "code": name, "value": ["n"]}
    assert found.questions == (REQUEST_AREA.format(system.upper()),)
    for area in ({"bounds": (139, 35, 140, 36)}, {"mask": "land:japan"}):
        assert settle(f"{name},n\n{cells}", **area).questions == ()
    rest = settle(f"{name},n\n{cells}", **area, grid=grid)
    assert rest.options == {"code": name, "value": ["n"]}


@pytest.mark.parametrize("name", ["cell_id", "code", "grid_id"])
def test_cells_of_s2_without_its_name_are_asked_about(name, settle):
    (ask,) = settle(f"{name},n\n{TOKENS}").questions
    assert "s2:13" in ask
    found = settle(f"{name},n\n{TOKENS}", grid="s2:13", bounds=(139, 35, 140, 36))
    assert (found.options, found.questions) == ({"code": name, "value": ["n"]}, ())


def test_a_column_of_hexadecimal_digits_is_no_column_of_s2(settle):
    for text in (
        "mesh,colour,n\n53394611,60188bfc,3\n53394612,60188bec,5\n",
        "s2_population,mesh\n5,53394611\n7,53394612\n",
    ):
        assert settle(text).options["grid"] == "jis:basic"


@pytest.mark.parametrize("odd", ["zzz", "862f5a367ffffff", "53394611"])
def test_one_odd_cell_turns_no_reading_into_another(odd, settle):
    for name, cells, grid in (("hex_id", HEXAGONS, "h3:7"), ("s2_token", TOKENS, "s2:13")):
        text = f"{name},n\n{odd},4\n{cells * 9}"
        found = settle(text)
        assert "grid" not in found.options
        assert grid in found.questions[0]
        assert settle(text, grid=grid).options["code"] == name


LEVELS = HEXAGONS * 4 + HEXAGONS.replace("72f5a36", "62f5a37") * 4


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("h3,n\n608692970719018\u0663,5\n", "15 hexadecimal"),
        ("h3,n\n6.08818981754634E+17,5\n6.08818981737857E+17,6\n", ""),
        (f"h3,n\n{LEVELS}", "resolution"),
        (f"hex_id,n\n{LEVELS}", "resolution"),  # though all are tokens of S2 of one level
        ("s2,n\nzzz,5\n", "tokens"),
        (f"s2_cell_id,n\n{TOKENS * 4}{TOKENS.replace('c,', ',') * 4}", ""),
    ],
)
def test_other_cells_that_are_no_squares_are_refused(text, words, settle):
    with refuses(UsageError, f"codes-not-of-one-level: {words}"):
        settle(text)


def test_columns_that_the_call_names_are_no_counts(settle):
    text = "mesh,band,kind,n\n53394611,5,1,6\n53394526,6,1,7\n"
    assert settle(text).questions[0].endswith(": band, kind, n")
    assert settle(text, named=["band"]).questions[0].endswith(": kind, n")
    both = settle(text, named=["Band", "kind"])
    assert (both.options["value"], both.questions) == (["n"], ())


def test_a_file_that_was_described_is_not_looked_at_again(write, monkeypatch):
    path = write(f"mesh,n\n{CODES}")
    found, plain = inspect(path), propose(path, {})
    monkeypatch.setattr("geodp.io.read.layout.propose.inspect", None)
    assert propose(path, {}, description=found) == plain


@pytest.mark.parametrize("spell", [str.lower, str.upper])
def test_another_case_has_the_domain_and_the_contribution_of_the_layout(spell, ask):
    header, row = "E_KOORD;N_KOORD;RELI;B21BTOT", "600000;200000;60002000;4"
    plain, found = (ask(f"{one}\n{row}\n") for one in (header, spell(header)))
    assert (found.preset, found.questions) == (plain.preset, plain.questions) == ("statpop", ())
    named = {"code": spell("RELI"), "value": [spell("B21BTOT")]}
    assert found.options == {**plain.options, **named}


def test_of_two_censuses_with_one_header_the_operator_says_which(write):
    header = "gitter_id_1km;x_mp_1km;y_mp_1km;einwohner"
    path = write(f"{header}\nCRS3035RES1000mN2600000E4695000;1;2;4\n")
    with refuses(UsageError, r"presets-several-fit: \(--preset\): zensus2011, zensus2022"):
        propose(path, {})
    found = propose(path, {}, find_preset("zensus2022"))
    assert found.options["bounds"] == [4000000, 2600000, 4700000, 3600000]
    assert found.options["grid"] == "inspire:1km"
    assert "--contribution" in found.questions[0]  # which the reader would not know by the header
