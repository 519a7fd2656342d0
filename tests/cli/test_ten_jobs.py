"""What a person tries on ten jobs works, or is refused with words that work as they stand."""

import json
import shutil

import numpy as np
import pandas
import pytest

import geodp as package
from geodp.errors import UsageError, VerificationError
from tests.command import geodp
from tests.refusals import refuses

SQUARES = [f"CRS3035RES1000mN{n}000E{e}000" for n in range(3260, 3264) for e in range(4320, 4323)]
BOX = ("--bounds", 4320000, 3260000, 4323000, 3264000)
ASKED = ("--epsilon", 1, "--contribution", 1)


def write(path, frame, encoding="utf-8", sep=";"):
    frame.to_csv(path, sep=sep, index=False, encoding=encoding)
    return path


def long(labels, code="GITTER_ID_1km", sex="Geschlecht", count="Anzahl"):
    rows = [
        (one, label, 7 + i + i * k * k % 5)
        for i, one in enumerate(SQUARES)
        for k, label in enumerate(labels)
    ]
    return pandas.DataFrame(rows, columns=[code, sex, count])


def account(folder):
    return json.loads((folder / "restricted" / "check.json").read_text())["read"]


def check(folder, *given):
    done = geodp("publish", *given, *ASKED, "--output", folder / "out", "--check")
    assert done.returncode == 0, done.stderr
    return account(folder / "out")


@pytest.mark.parametrize(
    ("words", "encoding"),
    [
        (["männlich", "weiblich"], "cp1252"),
        (["weiß", "gelb"], "cp1252"),
        (["älter", "jünger"], "cp1252"),
        (["mężczyźni", "kobiety"], "cp1250"),
        (["férfi", "nő"], "cp1250"),
        (["Öhringen", "Ulm"], "cp1252"),
    ],
)
def test_western_values_under_a_plain_header_are_never_taken_for_japanese(
    words, encoding, tmp_path
):
    path = write(tmp_path / "t.csv", long(words), encoding)
    options = (path, "--by", "sex", "--labels", f"sex={','.join(words)}", *BOX)
    done = geodp("publish", *options, *ASKED, "--output", tmp_path / "out", "--check")
    assert done.returncode == 5
    assert "--encoding" in done.stderr
    assert check(tmp_path, *options, "--encoding", encoding)


@pytest.mark.parametrize(
    "words", [["東京都", "千葉県"], ["男", "女"], ["1km圏", "5km圏"], ["東京JR線", "ｱｲｳ"]]
)
def test_japanese_values_under_a_plain_header_are_read(words, tmp_path):
    path = write(tmp_path / "t.csv", long(words), "cp932")
    assert check(tmp_path, path, "--by", "sex", "--labels", f"sex={','.join(words)}", *BOX)


def test_a_table_with_labels_in_each_row_is_told_by_inspect_and_by_its_refusal(tmp_path):
    path = write(tmp_path / "t.csv", long(["m", "w"]))
    shown = geodp("inspect", path).stdout
    assert "Geschlecht  (attribute sex)" in shown
    assert "--by sex," in shown
    done = geodp("publish", path, *BOX, *ASKED, "--output", tmp_path / "out", "--check")
    assert done.returncode == 5
    assert "--by sex" in done.stderr


@pytest.mark.parametrize(
    ("hour", "ends"),
    [
        ("時", ("出発地メッシュ", "到着地メッシュ")),
        ("出発時間帯", ("発地メッシュコード", "着地メッシュコード")),
        ("hour", ("start_cell", "end_cell")),
        ("tramo", ("cella_origine", "cella_destinazione")),
    ],
)
def test_a_column_that_is_named_for_an_attribute_leaves_the_ends_of_journeys(hour, ends, tmp_path):
    meshes = ["53394611", "53394612", "53394613"]
    places = [(h, a, b) for h in (7, 8) for a in meshes for b in meshes]
    rows = [(*place, 3 + i * i % 7) for i, place in enumerate(places)]
    path = write(tmp_path / "od.csv", pandas.DataFrame(rows, columns=[hour, *ends, "trips"]))
    options = ("--by", "hour", "--column", f"hour={hour}", "--value", "trips", "--primary", 5339)
    found = check(tmp_path, path, *options)
    assert found["people"] == sum(row[-1] for row in rows)


def test_fractional_counts_beside_whole_numbers_are_asked_about(tmp_path):
    frame = pandas.DataFrame(
        {"id": SQUARES, "tramo": range(len(SQUARES)), "viajes": np.arange(12) + 0.5}
    )
    path = write(tmp_path / "t.csv", frame)
    done = geodp("publish", path, *BOX, *ASKED, "--output", tmp_path / "out", "--check")
    assert done.returncode == 2
    assert "--value" in done.stderr
    assert "tramo, viajes" in done.stderr


def test_times_are_no_labels_and_the_remedy_says_what_is(tmp_path):
    frame = long([pandas.Timestamp("2024-05-13T08"), pandas.Timestamp("2024-05-13T09")])
    frame.to_parquet(tmp_path / "t.parquet")
    options = (tmp_path / "t.parquet", "--by", "hour", "--column", "hour=Geschlecht", *BOX)
    done = geodp("publish", *options, *ASKED, "--output", tmp_path / "out", "--check")
    assert done.returncode == 5
    assert "0 to 23" in done.stderr
    assert "publish-series" in done.stderr


def test_the_column_of_codes_is_that_of_the_table_of_units(tmp_path):
    units = write(tmp_path / "u.csv", pandas.DataFrame({"Zone": ["a1", "a2"], "Kreis": ["a", "a"]}))
    path = write(tmp_path / "t.csv", pandas.DataFrame({"zone": ["a1", "a2"], "n": [4, 5]}))
    options = (path, "--grid", f"units:{units}", "--units-source", "an office")
    assert check(tmp_path, *options)["people"] == 9
    path = write(tmp_path / "t.csv", pandas.DataFrame({"stelle": ["a1", "a2"], "n": [4, 5]}))
    done = geodp("publish", *options, *ASKED, "--output", tmp_path / "out", "--check")
    assert "(--code; of journeys --pairs" in done.stderr
    assert "stelle, n" in done.stderr


def test_journeys_between_units_that_lack_pairs_are_told_the_word(tmp_path):
    units = write(tmp_path / "u.csv", pandas.DataFrame({"z": ["a1", "a2"]}))
    rows = pandas.DataFrame({"da": ["a1", "a2"], "ad": ["a2", "a1"], "n": [4, 5]})
    path = write(tmp_path / "t.csv", rows)
    options = (path, "--grid", f"units:{units}", "--units-source", "an office", "--value", "n")
    options += ("--column", "origin=da", "--column", "destination=ad")
    done = geodp("publish", *options, *ASKED, "--output", tmp_path / "out", "--check")
    assert done.returncode == 2
    assert "(--pairs)" in done.stderr
    assert check(tmp_path, *options, "--pairs")["people"] == 9


def test_unknown_codes_have_a_draft_once_their_column_is_named(tmp_path):
    codes = ["500000_6550000", "501000_6550000", "502000_6551000"]
    path = write(tmp_path / "t.csv", pandas.DataFrame({"ruut": codes, "n": [4, 5, 6]}))
    asked = geodp("inspect", path).stdout
    assert "--code COLUMN" in asked
    assert "units:TABLE" in asked
    assert 'codes = "{east}_{north}"' in geodp("inspect", path, "--code", "ruut").stdout
    path = write(tmp_path / "t.csv", pandas.DataFrame({"sq": ["TQ30", "SU41"], "n": [4, 5]}))
    assert "units:TABLE" in geodp("inspect", path, "--code", "sq").stdout


def test_a_sheet_that_is_asked_for_is_taken_by_inspect(tmp_path):
    with pandas.ExcelWriter(tmp_path / "t.xlsx") as book:
        pandas.DataFrame({"about": ["an office"]}).to_excel(book, sheet_name="Cover", index=False)
        long(["m"]).to_excel(book, sheet_name="Table 1", index=False)
    with_sheet = ("inspect", tmp_path / "t.xlsx")
    done = geodp(*with_sheet)
    assert "--layer" in done.stderr
    shown = geodp(*with_sheet, "--layer", "Table 1").stdout
    assert "(codes)" in shown
    assert "--layer 'Table 1'" in shown.splitlines()[-1]


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    folder = tmp_path_factory.mktemp("release")
    path = write(folder / "t.csv", long(["m"]))
    done = geodp("publish", path, *BOX, *ASKED, "--output", folder / "out")
    assert done.returncode == 0, done.stderr
    return folder / "out"


def test_the_card_stands_for_its_release(release):
    card = release / "public" / "release.json"
    for words in (("report",), ("verify",), ("explain",), ("estimate", "--area", SQUARES[0])):
        done = geodp(words[0], card, *words[1:])
        assert done.returncode == 0, done.stderr
    assert package.open(card).card().release_id == package.open(release).card().release_id


def test_a_file_beside_a_release_is_none_of_it(release, tmp_path):
    shown = geodp("inspect", release / "public" / "population.csv").stdout
    assert "release of geodp" in shown
    shutil.copytree(release / "public", tmp_path / "copy")
    path = write(tmp_path / "copy" / "other.csv", long(["m"]))
    assert "release of geodp" not in geodp("inspect", path).stdout


def test_a_file_that_is_no_card_is_refused_with_what_to_give(release, tmp_path):
    path = release / "public" / "population.csv"
    for command in ("explain", "report", "verify"):
        done = geodp(command, path)
        assert done.returncode
        assert "folder of a release" in done.stderr
    with refuses(VerificationError, "release-is-one-file"):
        package.open(path)


def test_a_column_of_counts_that_is_not_named_is_asked_for():
    grid = package.Grid.mesh("inspire:1km", bounds=BOX[1:])
    by = {"code": "GITTER_ID_1km", "by": ["sex"], "labels": {"sex": ["m", "w"]}}
    with refuses(UsageError, r"value-column-unnamed: \(--value, value=\)"):
        package.read_table(long(["m", "w"]), grid=grid, **by)


def test_options_of_another_reader_are_told_by_its_name():
    frame = pandas.DataFrame({"who": ["a"], "e": [4320500.0], "n": [3260500.0]})
    where = {"x": "e", "y": "n", "person": "who"}
    with refuses(UsageError, "option-not-for-reader: reader='points'.*person"):
        package.read(frame, "inspire:1km", reader="table", **where)
    for reader in (None, "points"):  # whoever names persons has a row for each record
        assert package.read(frame, "inspire:1km", reader=reader, **where).count.sum() == 1
    with refuses(UsageError, r"option-not-for-reader: Grid\.mesh\(name, bounds="):
        package.read(frame, "inspire:1km", code="who", value="n", bounds=BOX[1:])


def test_columns_side_by_side_are_parted_where_one_way_fills_the_table(tmp_path):
    ages = ("0_14", "15_64", "65_")
    frame = pandas.DataFrame({"ruutu_id": SQUARES})
    for k, name in enumerate(f"{sex}_{age}" for sex in ("miehet", "naiset") for age in ages):
        frame[name] = [(i * (k + 3) + k * k) % 17 + 5 for i in range(len(SQUARES))]
    path = write(tmp_path / "t.csv", frame)
    found = check(tmp_path, path, "--by", "sex,age", "--value", "*_*", *BOX)
    assert found["people"] == frame.drop(columns="ruutu_id").to_numpy().sum()
    shown = geodp(
        *("publish", path, "--by", "sex,age", "--value", "*_*", *BOX, *ASKED, "--check"),
        *("--output", tmp_path / "out"),
    ).stderr
    assert "--labels sex=miehet,naiset --labels age=0_14,15_64,65" in shown
    path = write(tmp_path / "t.csv", frame.drop(columns="naiset_65_"))
    done = geodp("publish", path, "--by", "sex,age", "--value", "*_*", *ASKED, "--output", "out")
    assert done.returncode == 2
    assert "in several ways" in done.stderr


def test_a_packed_release_is_not_withdrawn_and_a_card_alone_is_told_what_to_do(release, tmp_path):
    shutil.make_archive(tmp_path / "got", "zip", release.parent, "out/public")
    done = geodp("withdraw", tmp_path / "got.zip", "--reason", "Wrong.")
    assert "in no archive" in done.stderr
    (tmp_path / "card").mkdir()
    shutil.copy(release / "public" / "release.json", tmp_path / "card")
    assert geodp("report", tmp_path / "card" / "release.json").returncode == 0
    done = geodp("estimate", tmp_path / "card", "--area", SQUARES[0])
    assert "fetch all of them" in done.stderr
