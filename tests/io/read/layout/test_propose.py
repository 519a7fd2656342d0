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


def test_one_column_of_counts_is_the_count(write):
    found = propose(write(f"mesh,n\n{CODES}"), {})
    assert found.options == {"grid": "jis:basic", "code": "mesh", "value": ["n"]}
    assert len(found.questions) == 1
    assert "--contribution" in found.questions[0]
    assert propose(write(f"mesh,n\n{CODES}"), {"contribution": 1}).questions == ()


def test_two_columns_of_counts_are_refused_with_the_choices(write):
    found = propose(write("mesh,men,women\n53394611,5,6\n"), {"contribution": 1})
    assert "value" not in found.options
    assert found.questions == (
        "choose the column of counts (--value), or several with --by: men, women",
    )


@pytest.mark.parametrize("codes", ["5339461132,5\n", "53394611,5\n533946113,5\n", "x,5\n"])
def test_codes_that_may_be_of_several_grids_are_asked_about(codes, write):
    found = propose(write(f"mesh,n\n{codes}"), {"contribution": 1})
    assert "grid" not in found.options
    assert "--grid" in found.questions[0]


@pytest.mark.parametrize(
    ("name", "codes", "grid"),
    [
        ("square", "SU4217,5\nTQ3080,7\n", "british:1km"),
        ("Grid ref", "G 03 05,5\nN 00 50,7\n", "irish:1km"),
        ("id", "다사551085,5\n다사551086,7\n", "korean:100m"),
    ],
)
def test_squares_of_letters_are_proposed(name, codes, grid, write):
    found = propose(write(f"{name},n\n{codes}"), {"contribution": 1})
    assert found.options["grid"] == grid
    assert found.options["code"] == name


def test_what_is_given_stays(write):
    given = {"grid": "jis:half", "value": ("x",), "code": "c", "contribution": 2}
    assert propose(write(f"mesh,n\n{CODES}"), given).options == {}


def test_no_domain_is_taken_from_rows(write):
    few, many = (propose(write(f"mesh,n\n{rows}"), {}) for rows in (CODES, CODES * 9))
    assert few == many


def test_a_preset_states_domain_and_contribution_for_its_own_columns(write):
    path = write("Gitter_ID_1km;x_mp_1km;y_mp_1km;Einwohner;Andere\n1kmN2599E4695;1;2;4;3\n")
    found = propose(path, {})
    assert (found.preset, found.questions) == ("zensus2011", ())
    assert propose(path, {"value": ("Einwohner",)}).questions == ()
    assert found.options["missing"] == ["-1", "-9"]
    others = propose(path, {"value": ("Andere",)})
    assert "--contribution" in others.questions[0]
    assert "--contribution" in propose(path, {"duplicates": "sum"}).questions[0]
    assert "bounds" not in propose(path, {"mask": "land:germany"}).options


LAYOUTS = {
    "estat": "KEY_CODE,HTKSYORI,HTKSAKI,GASSAN,T1\n,,,,人口総数\n5339461132,0,,,4\n",
    "geostat2011": "GRD_ID,TOT_P,CNTR_CODE,METHD_CL,YEAR\n1kmN2599E4695,4,DE,A,2011\n",
    "geostat2018": "GRD_ID,TOT_P_2018,Country,Date\n1kmN2599E4695,4,DE,2018\n",
    "census2021": "GRD_ID,T,M,F,T_CI\nCRS3035RES1000mN2599000E4695000,4,1,3,\n",
    "zensus2022": "GITTER_ID_100m;x_mp_100m;y_mp_100m;Einwohner\n100mN26891E43370;1;2;4\n",
    "statpop": "E_KOORD,N_KOORD,RELI,B15BTOT,B15BMTOT\n2600000,1200000,60002000,5,2\n",
    "cbs": "crs28992res500m;aantal_inwoners;aantal_mannen\nE85500N436000;5;-99997\n",
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_file_of_a_publisher_leaves_nothing_to_be_said_but_of_sums(name, write):
    summed = name in ("geostat2011", "geostat2018", "census2021")
    found = propose(write(LAYOUTS[name]), {})
    assert (found.preset, found.questions) == (name, (REQUEST_CONTRIBUTION,) * summed)
    assert propose(write(LAYOUTS[name]), {"contribution": 1}).questions == ()
    assert "contribution" not in found.options
    assert len(found.options["value"]) == 1
    grids = {"estat": "jis:quarter", "zensus2022": "inspire:100m", "cbs": "cbs:500m"}
    grids["statpop"] = "statpop:100m"
    assert found.options["grid"] == grids.get(name, "inspire:1km")


@pytest.mark.parametrize("primary", ["3927", "4930", "5132", "5235", "5339", "5440", "6441"])
@pytest.mark.parametrize("header", ["KEY_CODE,HTKSYORI,HTKSAKI,GASSAN,T001100001", "KEY_CODE,n"])
def test_meshes_of_1_km_are_never_taken_for_hectares(primary, header, write):
    """The first rows of a file are those of the south, whose digits Swiss hectares have, too."""
    columns = header.count(",")
    cells = ("1000", "1099", "1101", "2345")
    rows = [f"{primary}{cell}{',' * columns}5\n" for cell in cells]
    second = f"{',' * columns}人口総数\n" if "T001100001" in header else ""
    found = propose(write(f"{header}\n{second}{''.join(rows)}"), {"contribution": 1})
    assert (found.options["grid"], found.questions) == ("jis:basic", ())


def test_names_of_a_file_do_not_steer_a_terminal(write):
    asked = propose(write("mesh,a\u202eb,c\n53394611,5,6\n"), {}).questions
    assert "\u202e" not in "".join(asked)


def test_what_a_preset_asks_is_asked_until_it_is_said(write):
    path = write("mesh1kmid,year,month,dayflag,timezone,population\n53394611,2021,01,1,0,9\n")
    assert "--where" in propose(path, {"contribution": 1}).questions[0]
    assert propose(path, {"where": ("month=01",), "contribution": 1}).questions == ()


def test_grids_of_a_preset_settle_what_codes_do_not(write):
    preset = Preset.of("x", '[grids]\n10 = "jis:quarter"\n')
    found = propose(write("mesh,n\n5339461132,5\n5339461133,5\n"), {"contribution": 1}, preset)
    assert (found.options["grid"], found.questions) == ("jis:quarter", ())


@pytest.mark.parametrize("option", ["code", "x", "person"])
def test_a_preset_whose_column_is_not_there_is_refused_by_its_name(option, write):
    """And not read by the column that looks like it."""
    preset = Preset.of("ours", f'[options]\n{option} = "CELL*|Zelle"\n')
    path = write(f"mesh,n\n{CODES}")
    rule = rf"preset-column-missing: ours .*\b{option}\b.*'CELL\*\|Zelle'.*--{option}"
    with refuses(UsageError, rule):
        propose(path, {}, preset)
    assert propose(path, {"code": "mesh"}, preset).options["value"] == ["n"]
    assert propose(write(f"CELL_1,n\n{CODES}"), {}, preset).options[option] == "CELL_1"


def test_points_are_asked_whose_they_are(write):
    path = write("id,lon,lat\n1,139.7,35.6\n")
    asked = " ".join(propose(path, {}).questions)
    assert "--grid" in asked
    assert "--points" in asked
    found = propose(path, {"points": True, "grid": "jis:basic"})
    assert found.options == {"x": "lon", "y": "lat"}
    assert len(found.questions) == 1
    assert "--person" in found.questions[0]


def test_a_file_that_several_presets_fit_is_asked_about(write, monkeypatch):
    twins = [Preset(name, columns=("mesh",)) for name in ("a", "b")]
    monkeypatch.setattr(presets, "presets", lambda: twins)
    monkeypatch.setattr(presets, "_find_fitting", presets._find_fitting.__wrapped__)
    with refuses(UsageError, r"presets-several-fit: --preset\): a, b"):
        propose(write(f"mesh,n\n{CODES}"), {})


def test_rows_that_look_like_data_are_no_header(write):
    assert "header" in propose(write("53394611,5\n"), {}).questions[0]


WIDE = "GRD_ID,T,M,F,Y_LT15,Y_1564,Y_GE65\nCRS3035RES1000mN2599000E4695000,6,2,4,1,2,3\n"


def test_attributes_of_a_preset_are_told_beside_its_column(write):
    found = propose(write(WIDE), {})
    assert {*found.attributes} == {"sex", "age"}
    assert found.options["value"] == ["T"]
    own = propose(write(WIDE), {"value": ["M", "F"], "labels": ["sex=M,F"]})
    assert (own.questions, "value" in own.options) == ((REQUEST_CONTRIBUTION,), False)


@pytest.mark.parametrize(
    "columns", ["Unter18;a18bis29;a30bis49;a50bis64;a65undaelter", "Unter18;a18bis64;a65undaelter"]
)
def test_an_attribute_is_there_only_with_all_of_its_columns(columns, write):
    """Classes of ages that were changed are refused: the rest would silently miss people."""
    counts = ";".join("1" for _ in columns.split(";"))
    rows = f"CRS3035RES1000mN2689000E4337000;4337500;2689500;{counts}\n"
    path = write(f"GITTER_ID_1km;x_mp_1km;y_mp_1km;{columns}\n{rows}")
    found = propose(path, {})
    if "a18bis64" in columns:
        assert not found.attributes
        return
    assert [*found.attributes["age"]] == columns.split(";")
    assert found.questions[0].startswith("choose the columns of --by age, or the column of counts")


def test_labels_of_a_preset_take_the_place_of_names(write):
    path = write(
        "KEY_CODE,HTKSYORI,HTKSAKI,GASSAN,T1,T2,T3\n"
        ",,,,　人口（総数）,　人口（総数）　男,　人口（総数）　女\n5339461132,0,,,4,1,3\n"
    )
    found = propose(path, {})
    assert found.attributes == {"sex": ("男", "女")}


def test_a_joint_table_of_a_preset_is_an_axis_of_each_attribute(write):
    ages, sexes = ("０～１４歳人口", "１５～６４歳人口", "６５歳以上人口"), ("男", "女")
    titles = ["人口（総数）", *(f"{age}　{sex}" for age in ages for sex in sexes)]
    names = ",".join(f"T{i}" for i in range(len(titles)))
    path = write(
        f"KEY_CODE,HTKSYORI,HTKSAKI,GASSAN,{names}\n,,,,{','.join(titles)}\n"
        "5339461132,0,,,21,1,2,3,4,5,6\n"
    )
    found = propose(path, {})
    assert found.attributes["sex*age"][:2] == ("男 ０～１４歳", "男 １５～６４歳")


def test_the_column_of_codes_that_is_named_tells_the_grid(write):
    """And not the one that looks like it."""
    path = write("mesh,CELL,n\n53394611,5339461132,5\n")
    preset = Preset.of("office", '[options]\ncode = "CELL"\n[grids]\n10 = "jis:quarter"\n')
    assert propose(path, {}, preset).options["grid"] == "jis:quarter"
    assert propose(path, {"code": "mesh"}, preset).options["grid"] == "jis:basic"
    assert "--grid" in propose(path, {"code": "n"}).questions[0]


@pytest.mark.parametrize("value", ["T1", "t1", "人口（総数）"])
def test_the_layout_states_its_column_by_name_and_by_label(value, write):
    path = write("KEY_CODE,HTKSYORI,T1,T2\n,,人口（総数）,人口（総数）　男\n5339461132,0,4,1\n")
    assert propose(path, {"value": [value]}).questions == ()
    (asked,) = propose(path, {"value": ["T2"]}).questions
    assert asked == f"{REQUEST_CONTRIBUTION}; the preset estat states it of 人口（総数） alone"


def test_what_is_named_takes_nothing_of_a_layout_away(write):
    path = write("GITTER_ID_1km;x_mp_1km;y_mp_1km;Einwohner\nCRS3035RES1000mN1E1;1;1;1\n")
    found = propose(path, {}).options
    for given in ({"grid": "inspire:1km"}, {"value": ["Einwohner"]}, {"code": "GITTER_ID_1km"}):
        rest = propose(path, given).options
        assert rest == {name: value for name, value in found.items() if name not in given}
    assert "bounds" not in propose(path, {"grid": "regular:2x2"}).options
    assert "code" not in propose(path, {"x": "x_mp_1km", "y": "y_mp_1km"}).options


def test_rows_of_totals_are_selected_away_wherever_counts_are_added_up(write):
    """Terms that a preset asks for are all needed then: a total is a row beside its parts."""
    header = "date,time,area,residence,age,gender,population\n"
    path = write(f"{header}20240101,0100,5339452411,-1,-1,-1,9\n")
    given = {"grid": "jis:quarter", "contribution": 1, "where": ("date=20240101", "time=0100")}
    assert propose(path, given).questions == ()
    assert "residence=-1" in propose(path, {**given, "duplicates": "sum"}).questions[0]
    every = (*given["where"], "residence=-1", "age=-1", "gender=-1")
    assert propose(path, {**given, "duplicates": "sum", "where": every}).questions == ()


HEXAGONS = "872f5a363ffffff,5\n872f5a362ffffff,7\n"
IDS = "608818981754634239,5\n608818981737857023,7\n"
TOKENS = "60188bfc,5\n60188bec,7\n"


@pytest.mark.parametrize("name", ["h3", "h3_7", "h3_index", "hex_id", "zone", "Zelle"])
@pytest.mark.parametrize("cells", [HEXAGONS, HEXAGONS.upper(), IDS])
def test_indices_of_h3_are_units_whose_area_is_asked_for(name, cells, write):
    path = write(f"{name},n\n{cells}")
    found = propose(path, {"contribution": 1})
    assert found.options == {"grid": "h3:7", "code": name, "value": ["n"]}
    assert found.questions == (REQUEST_AREA.format("H3"),)
    for area in ({"bounds": (139, 35, 140, 36)}, {"mask": "land:japan"}):
        known = {"contribution": 1, **area}
        assert propose(path, known).questions == ()
        assert propose(path, {**known, "grid": "h3:7"}).options == {"code": name, "value": ["n"]}


@pytest.mark.parametrize("name", ["s2", "s2_13", "S2_Token", "s2_cell_id", "s2cell", "s2id"])
@pytest.mark.parametrize(
    "cells", [TOKENS, TOKENS.upper(), "-8520148331287019520,5\n-8519977494667853824,7\n"]
)
def test_cells_of_s2_are_known_by_names_and_values(name, cells, write):
    path = write(f"{name},n\n{cells}")
    found = propose(path, {"contribution": 1})
    assert found.options["grid"].startswith("s2:1")
    assert (found.options["code"], found.options["value"]) == (name, ["n"])
    assert found.questions == (REQUEST_AREA.format("S2"),)


@pytest.mark.parametrize("name", ["cell_id", "code", "grid_id"])
def test_cells_of_s2_without_its_name_are_asked_about(name, write):
    path = write(f"{name},n\n{TOKENS}")
    (ask,) = propose(path, {"contribution": 1}).questions
    assert "s2:13" in ask
    found = propose(path, {"contribution": 1, "grid": "s2:13", "bounds": (139, 35, 140, 36)})
    assert (found.options, found.questions) == ({"code": name, "value": ["n"]}, ())


def test_a_column_of_hexadecimal_digits_is_no_column_of_s2(write):
    path = write("mesh,colour,n\n53394611,60188bfc,3\n53394612,60188bec,5\n")
    assert propose(path, {"contribution": 1}).options["grid"] == "jis:basic"
    path = write("s2_population,mesh\n5,53394611\n7,53394612\n")
    assert propose(path, {"contribution": 1}).options["grid"] == "jis:basic"


def test_one_odd_cell_turns_no_reading_into_another(write):
    for cells, grid in ((HEXAGONS, "h3:7"), (TOKENS, "s2:13")):
        name = "hex_id" if grid == "h3:7" else "s2_token"
        for odd in ("zzz", "862f5a367ffffff", "53394611"):
            path = write(f"{name},n\n{odd},4\n{cells * 9}")
            found = propose(path, {"contribution": 1})
            assert "grid" not in found.options
            assert grid in found.questions[0]
            assert propose(path, {"contribution": 1, "grid": grid}).options["code"] == name


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("h3,n\n608692970719018\u0663,5\n", "codes-not-of-one-level: 15 hexadecimal"),
        ("h3,n\n6.08818981754634E+17,5\n6.08818981737857E+17,6\n", "codes-not-of-one-level"),
        (
            f"h3,n\n{HEXAGONS * 4}{HEXAGONS.replace('72f5a36', '62f5a37') * 4}",
            "codes-not-of-one-level: resolution",
        ),
        (
            f"hex_id,n\n{HEXAGONS * 4}{HEXAGONS.replace('72f5a36', '62f5a37') * 4}",
            "codes-not-of-one-level: resolution",  # though all are tokens of S2 of one level
        ),
        ("s2,n\nzzz,5\n", "codes-not-of-one-level: tokens"),
        (f"s2_cell_id,n\n{TOKENS * 4}{TOKENS.replace('c,', ',') * 4}", "codes-not-of-one-level"),
    ],
)
def test_other_cells_that_are_no_squares_are_refused(text, words, write):
    with refuses(UsageError, words):
        propose(write(text), {"contribution": 1})


def test_columns_that_the_call_names_are_no_counts(write):
    path = write("mesh,band,kind,n\n53394611,5,1,6\n53394526,6,1,7\n")
    asked = propose(path, {"contribution": 1})
    assert asked.questions[0].endswith(": band, kind, n")
    one = propose(path, {"contribution": 1}, named=["band"])
    assert one.questions[0].endswith(": kind, n")
    both = propose(path, {"contribution": 1}, named=["Band", "kind"])
    assert (both.options["value"], both.questions) == (["n"], ())


def test_a_file_that_was_described_is_not_looked_at_again(write, monkeypatch):
    path = write(f"mesh,n\n{CODES}")
    found, plain = inspect(path), propose(path, {})
    monkeypatch.setattr("geodp.io.read.layout.propose.inspect", None)
    assert propose(path, {}, description=found) == plain


@pytest.mark.parametrize("spell", [str.lower, str.upper])
def test_another_case_has_the_domain_and_the_contribution_of_the_layout(spell, write):
    header, row = "E_KOORD;N_KOORD;RELI;B21BTOT", "600000;200000;60002000;4"
    plain = propose(write(f"{header}\n{row}\n", "plain.csv"), {})
    found = propose(write(f"{spell(header)}\n{row}\n"), {})
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
