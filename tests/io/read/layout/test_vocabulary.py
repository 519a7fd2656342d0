"""Names of columns in many languages."""

import pytest

from geodp.io.read.layout.recognise import find_named, fold_columns


@pytest.mark.parametrize(
    ("role", "name"),
    [
        ("code", "メッシュコード"),
        ("code", "ＫＥＹ＿ＣＯＤＥ"),
        ("code", "Grd-Id"),
        ("code", "CELLCODE"),
        ("code", "ID_UNICO"),
        ("code", "SSBID1000M"),
        ("code", "RELI"),
        ("code", "idcar_200m"),
        ("code", "격자코드"),
        ("code", "网格编码"),
        ("origin", "出発地メッシュ"),
        ("origin", "Origen"),
        ("destination", "w_geocode"),
        ("longitude", "Längengrad"),
        ("longitude", "経度（世界測地系）"),
        ("latitude", "Широта"),
        ("person", "user_id"),
        ("time", "日時"),
        ("population", "人口総数"),
        ("population", "Bevölkerung"),
        ("no_count", "country_code"),
    ],
)
def test_a_name_tells_what_a_column_holds(role, name):
    assert find_named(role, fold_columns(["unlike", name])) == [1]
    assert find_named(role, fold_columns(["unlike", "other"], ["", name])) == [1]


@pytest.mark.parametrize("name", ["mesh_count", "codes_n", "T1", "population_density", "n"])
def test_other_names_are_no_codes_and_no_population(name):
    columns = fold_columns([name])
    assert find_named("code", columns) == find_named("population", columns) == []


def test_the_first_pattern_comes_first():
    assert find_named("code", fold_columns(["MESH_ID", "KEY_CODE"])) == [1, 0]
