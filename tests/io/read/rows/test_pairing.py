"""Columns of counts and the labels that they are for: as said, as named, or asked."""

import pyarrow as pa
import pytest

import geodp
from geodp.errors import UsageError
from geodp.io.read.rows.pairing import pair
from tests.refusals import refuses

GRID = geodp.Grid.mesh("jis:half", bounds=(139, 35 + 1 / 3, 140, 36))


def with_axes(axes: str) -> geodp.Grid:
    grid = GRID
    for number, labels in enumerate(axes.split(" ")):
        grid = grid.with_attribute(f"a{number}", labels.split(","))
    return grid


@pytest.mark.parametrize(
    ("axes", "columns", "order"),
    [
        ("f,m", "P_M P_F", "P_F P_M"),
        ("f,m", "P_F P_M", "P_F P_M"),
        ("male,female", "pop_female pop_male", "pop_male pop_female"),
        ("male,female", "PopFemale PopMale", "PopMale PopFemale"),
        ("men,women", "women_2020 men_2020", "men_2020 women_2020"),
        ("男,女", "人口女 人口男", "人口男 人口女"),
        ("0-4,5-9,10-14", "age_10_14 age_0_4 age_5_9", "age_0_4 age_5_9 age_10_14"),
        ("0-64,65+", "A65plus A0-64", "A0-64 A65plus"),
        ("young,old", "OLD YOUNG", "YOUNG OLD"),
        ("urban,non-urban", "non_urban urban", "urban non_urban"),
        ("f,m young,old", "m_old f_young m_young f_old", "f_young f_old m_young m_old"),
        ("f,m", "m=b f=a", "a b"),
        ("f,m", "m=P_F f=P_M", "P_M P_F"),
        ("f,m", "f=f=x m=m=x", "f=x m=x"),
        ("f,m", "a=f b=m", "a=f b=m"),
        ("f,m young,old", "m,old=d f,young=a m,young=c f,old=b", "a b c d"),
    ],
)
def test_what_is_said_or_named_decides_and_not_the_order(
    axes: str, columns: str, order: str
) -> None:
    found = pair(with_axes(axes), None, columns.split(" "))
    assert found.columns == tuple(order.split(" "))
    assert found.wide
    assert len([*found.facts]) == len(order.split(" "))


@pytest.mark.parametrize(
    ("axes", "columns"),
    [
        ("f,m", "aantal_mannen aantal_vrouwen"),
        ("f,m", "T2 T3"),
        ("f,m", "women men"),
        ("f,m", "f_1 f_2"),
        ("f,m", "f_m m_f"),
        ("f,m", "from mid"),
        ("men,women", "menu women"),
        ("0-4,5-9", "age_10_4 age_5_9"),
        ("f,m young,old", "m_old f_young m_young f"),
        ("男,女", "総数男女 人口男"),
    ],
)
def test_what_is_in_doubt_is_asked_with_the_answer(axes: str, columns: str) -> None:
    with refuses(UsageError, "column-labels-uncertain") as asked:
        pair(with_axes(axes), None, columns.split(" "))
    labels = axes.split(" ")[0].split(",")[0]
    first = columns.split(" ")[0]
    shown = f"{labels},young={first}" if " " in axes else f"{labels}={first}"
    assert f"--value '{shown}'" in str(asked.value)
    assert "value={" in str(asked.value)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ("f=a b", r"label-before-every-column: \bb\b.*--value LABEL=COLUMN"),
        ("f=a f=b", "column-of-label-unknown: f:"),
        ("f=a m=a", "column-for-two-labels"),
        ("f=a m=b f=c", "value-for-every-label"),
    ],
)
def test_pairs_are_whole(columns: str, words: str) -> None:
    with refuses(UsageError, words):
        pair(with_axes("f,m"), None, columns.split(" "))


def test_a_mapping_says_it_in_python() -> None:
    two = with_axes("f,m young,old")
    said = {("m", "old"): "d", ("f", "young"): "a", ("m", "young"): "c", ("f", "old"): "b"}
    assert pair(two, None, said).columns == ("a", "b", "c", "d")
    assert pair(with_axes("f,m"), "a0", {"m": "y", "f": "x"}).columns == ("x", "y")
    made = pair(GRID, "sex", {"m": "y", "f": "x"})
    assert (made.grid.attributes[0].labels, made.columns) == (("m", "f"), ("y", "x"))
    for wrong, words in (
        ({"m": "y"}, "label-without-column"),
        ({"m": "y", "x": "z"}, "column-of-label-unknown: x:"),
    ):
        with refuses(UsageError, words):
            pair(with_axes("f,m"), None, wrong)
    with pytest.raises(UsageError, match="by="):
        pair(GRID, None, {"m": "y", "f": "x"})


def test_names_that_become_labels_are_for_themselves() -> None:
    for names in (["f", "f=x"], ["x", "y"]):
        made = pair(GRID, "kind", names)
        again = pair(made.grid, "kind", names)
        assert made.columns == again.columns == tuple(names)
        assert made.grid == again.grid


def test_labels_before_every_column_become_those_of_a_grid_without_any() -> None:
    made = pair(GRID, "sex", ["m=P_M", "f=P_F"])
    assert made.columns == ("P_M", "P_F")
    assert made.grid == GRID.with_attribute("sex", ["m", "f"])


@pytest.mark.parametrize(
    ("values", "who"), [(["P_M", "P_F"], "file"), (["m=P_M", "f=P_F"], "operator")]
)
def test_what_the_pairs_say_is_written_down(values: list[str], who: str) -> None:
    rows = pa.table({"code": ["533946113"], "P_M": [10], "P_F": [20], "x": [1]})
    given = {"grid": GRID.with_attribute("sex", ["f", "m"]), "code": "code"}
    (source,) = geodp.read_table(rows, **given, value=values).reading.sources
    facts = {(one.field, one.value): one.known_by for one in source.facts}
    assert facts["label of column P_F", "f"] == facts["label of column P_M", "m"] == who
    with refuses(UsageError, "column-labels-uncertain: --value 'f=x' --value 'm=P_M'"):
        geodp.read_table(rows, **given, value=["x", "P_M"])
