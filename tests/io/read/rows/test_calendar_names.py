"""Names of weekdays and months: one number each, in all languages together."""

import pandas as pd
import pytest

import geodp
from geodp.errors import InputError
from geodp.io.read.rows.names import CALENDAR, MONTHS, WEEKDAYS, find_number, fold
from tests.refusals import refuses

GRID = geodp.Grid.mesh("jis:basic", bounds=(139, 35 + 1 / 3, 140, 36))

WEEKS = [
    *("Mon Tue Wed Thu Fri Sat Sun", "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"),
    *("MON. TUE. WED. THU. FRI. SAT. SUN.", "Mo Di Mi Do Fr Sa So", "月 火 水 木 金 土 日"),
    *("月曜日 火曜日 水曜日 木曜日 金曜日 土曜日 日曜日", "lun. mar. mer. jeu. ven. sam. dim."),
    *("lunes martes miércoles jueves viernes sábado domingo", "월 화 수 목 금 토 일"),
    *("周一 周二 周三 周四 周五 周六 周日", "пн вт ср чт пт сб вс", "ma ti ke to pe la su"),
    *("maandag dinsdag woensdag donderdag vrijdag zaterdag zondag", "1 2 3 4 5 6 7"),
    *("lunedì martedì mercoledì giovedì venerdì sabato domenica", "må ti on to fr lö sö"),
    *("segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado domingo",),
]
YEARS = [
    "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec",
    "January February March April May June July August September October November December",
    "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "janv. févr. mars avr. mai juin juil. août sept. oct. nov. déc.",
    "ene feb mar abr may jun jul ago sep oct nov dic",
    "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "一月 二月 三月 四月 五月 六月 七月 八月 九月 十月 十一月 十二月",
    "1月 2月 3月 4月 5月 6月 7月 8月 9月 10月 11月 12月",
    "styczeń luty marzec kwiecień maj czerwiec lipiec sierpień wrzesień październik listopad "
    "grudzień",
]


@pytest.mark.parametrize("attribute", CALENDAR)
def test_no_name_is_for_two_days_or_months(attribute):
    every = [fold(name) for names in CALENDAR[attribute] for name in {*map(fold, names.split())}]
    assert len({*every}) == len(every)
    assert (len(WEEKDAYS), len(MONTHS)) == (7, 12)
    assert find_number(attribute, "somewhen") is None


@pytest.mark.parametrize(
    ("attribute", "names"),
    [*(("weekday", week) for week in WEEKS), *(("month", year) for year in YEARS)],
)
def test_records_may_write_names_for_numbers(attribute, names):
    each = names.split()
    rows = pd.DataFrame({"code": ["53394611"] * len(each), attribute: each, "n": 1})
    table = geodp.read_table(rows, grid=GRID, code="code", value="n", by=[attribute])
    assert table.grid.attributes[0].labels == tuple(map(str, range(1, len(each) + 1)))
    assert table.grid.decode(table.key)[-1].tolist() == [*range(len(each))]


@pytest.mark.parametrize("odd", ["Holiday", "Mond", "0", "Mon Tue", "May"])
def test_another_word_is_refused(odd):
    rows = pd.DataFrame({"code": ["53394611"] * 2, "weekday": ["Mon", odd], "n": 1})
    with refuses(InputError, r"label-not-of-attribute: \b1, 2, 3\b"):
        geodp.read_table(rows, grid=GRID, code="code", value="n", by=["weekday"])
