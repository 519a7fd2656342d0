"""Labels that hold one another by what they say, and lists of labels that do not."""

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.table.nesting import count_together, find_containing_labels
from geodp.table.totals import count_overlaps, find_totals
from tests.refusals import refuses

HOLDING = """
_T|M|F => _T
TOTAL|M|F => TOTAL
Total|Male|Female => Total
male|female|both => both
総数|男|女 => 総数
計|男|女 => 計
合計|0-14|15-64 => 合計
人口（総数）|人口（男）|人口（女） => 人口（総数）
人口総数|人口男|人口女 => 人口総数
Insgesamt|männlich|weiblich => Insgesamt
Gesamt|unter18|18-64 => Gesamt
합계|남|여 => 합계
всего|мужчины|женщины => всего
ΣΎΝΟΛΟ|άνδρες|γυναίκες => ΣΎΝΟΛΟ
Ｔｏｔａｌ|Ｍ|Ｆ => Ｔｏｔａｌ
t|m|f => t
人口（総数）|人口（総数）　男|人口（総数）　女 => 人口（総数）
人口（総数）　男|０～１４歳　男|０～１４歳　女 => 人口（総数）　男
人口|人口　男|人口　女 => 人口
Total|Male total|Female total => Total
population, total|population, male => population, total
both sexes|men|women => both sexes
0-14|0-4|5-9 => 0-14
65+|75+|0-64 => 65+
20歳以上|65歳以上 => 20歳以上
under 18|5-17|18+ => under 18
Tot_P_M|Tot_P_F|Tot_P_P => Tot_P_P
Ind|men|women => Ind
Ind|Ind_0_3|Ind_4_5 => Ind
Einwohner|männlich|weiblich => Einwohner
pop|m|f => pop
人口|男|女 => 人口
人口|0～14歳|15～64歳|65歳以上 => 人口
Inwoners|mannen|vrouwen => Inwoners
inwoners|0_tot_15_jaar|15_tot_25_jaar => inwoners
P_all|M|F => P_all
P_all|P_M|P_F => P_all
T|M|F => T
persons|male|female => persons
population|men|women => population
population|0-14|15-64|65+ => population
P|M|F => P
P|P_M|P_F => P
men|women|0-14 => men|women
men|women|men 65+ => men
男|女|65歳以上 => 男|女
65歳以上人口|75歳以上人口|15～64歳人口 => 65歳以上人口
65歳以上 男|75歳以上 男|65歳以上 女 => 65歳以上 男
T|M|F|Y_LT15|Y_1564|Y_GE65 => T|M|F
Y_LT15|Y15-64|Y_GE65|Y_GE85 => Y_GE65
2020|2020-01|2020-02 => 2020
2020-Q1|2020-01|2020-02|2020-03 => 2020-Q1
Q1|Jan|Feb|Mar => Q1
January|February|year => year
1月|2月|第1四半期 => 第1四半期
weekend|Sat|Sun => weekend
Tot_P_M|Tot_P_F|Age_0_4_yr_M|Age_0_4_yr_F => Tot_P_M|Tot_P_F
Unter18|a18bis29|a30bis49|a50bis64|a65undaelter|a75undaelter => a65undaelter
Personen|Männer|Frauen => Personen
population totale|hommes|femmes => population totale
población|hombres|mujeres => población
총인구|남|여 => 총인구
인구|남자|여자 => 인구
население|мужчины|женщины => население
0-64|15-64|65+ => 0-64
adults 18+|adults 65+ => adults 18+
18-64|60+ => 60+
0-17|18-64|65+|0-4 => 0-17
POP_TOT|POP_M|POP_F => POP_TOT
pop2020|pop2020_m|pop2020_f => pop2020
Pop|Pop_male|Pop_female => Pop
H|M|H+M => H+M
total|h|m => total
B01001_001 total|male|female => B01001_001 total
総人口|男性|女性 => 総人口
人口総数|男|女 => 人口総数
Resident population|Males|Females => Resident population
All persons|Males|Females => All persons
persons|M|F => persons
People|M|F => People
0-4|5-9|0-9|10+ => 0-9
<1000|<2000|2000+ => <2000
8:00-12:00|8:00-10:00|10:00-12:00 => 8:00-12:00
""".strip().splitlines()
"""Labels, and those of them that hold people of others."""

APART = """
A|B|S|T|U
t|u|v
<5|5-9|10-14
school|Gesamtschule|none
all-day|morning
Total
all other|farms
0-4|5-9|10-14|15-19|20-24|25-29|30-34|35-39|40-44|45-49|50-54|55-59|60-64|65-69|70-74|75-79|80-84|85+
00-04|05-09|10-14|15-19
0～4歳|5～9歳|10～14歳|100歳以上
0-14|15-64|65+
M|F
男|女|不詳
A|B|C|D|E|F|G|H|I|J|K|L|M|N|O|P|Q|R|S|T|U
1 room|2 rooms|3 rooms|4+ rooms
0|1|2|3|4|5|6|7|8|9|10|11|12|13|14|15|16|17|18|19|20|21|22|23
01|02|03|04|05|06|07|08|09|10|11|12|13|14|15|16|17|18|19|20|21|22|23|24|25|26|27|28|29|30|31
Mon|Tue|Wed|Thu|Fri|Sat|Sun
Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec
1月|2月|3月|4月|5月|6月|7月|8月|9月|10月|11月|12月
Q1|Q2|Q3|Q4
2020-Q1|2020-Q2|2020-Q3|2020-Q4
2020-01|2020-02|2020-03|2021-01
2018|2019|2020|2021
2019-2020|2020-2021
2020-01-05|2020-01-06|2020-01-07
01-01|01-02|01-03|01-31
<10k|10k-20k|20k-50k|50k+
0-999|1.000-1.999|2.000-4.999|5.000+
0-999|1,000-1,999|2,000-4,999|5,000 and over
$0-$999|$1000-$1999|$2000+
0-5|5-10|10-15|15+
A00-B99|C00-D48|D50-D89|E00-E90|F00-F99
I|II|III|IV|V|VI|VII|VIII|IX|X|XI|XII|XIII|XIV|XV|XVI|XVII|XVIII|XIX|XX|XXI|XXII
population|dwellings|jobs
XS|S|M|L
under 5|5-17|18-64|65 and over
<5|5-9|10+
Unter10|a10bis19|a20bis29|a30bis39|a40bis49|a50bis59|a60bis69|a70bis79|a80undaelter
aantal_inwoners_0_tot_15_jaar|aantal_inwoners_15_tot_25_jaar|aantal_inwoners_25_tot_45_jaar|aantal_inwoners_45_tot_65_jaar|aantal_inwoners_65_jaar_en_ouder
Y_LT15|Y_1564|Y_GE65
０～１４歳人口　総数|１５～６４歳人口　総数|６５歳以上人口　総数
０～１４歳人口　男|６５歳以上人口　男|０～１４歳人口　女|６５歳以上人口　女
人口（総数）　男|人口（総数）　女
BBM01|BBM02|BBM03|BBW01
11-1011|11-1021|53-7065
123-4567|124-5678
06-10|10-16|16-22|22-06
01-03|05-09|10-33|35|36-39|41-43
men 0-14|men 15+|women 0-14|women 15+
1|2|3|4|5+
1人世帯|2人世帯|3人世帯|4人以上世帯
young|old
f,young
young|young adult|old
urban|suburban|rural
0-500 m|500-1000 m|1000+ m
≤30|>30
up to 10|10 to 20|over 20
08:00-09:00|09:00-10:00|10:00-11:00
01|02|11|12
-5-0|0-5|5-10
resident|non-resident
boys|girls|men|women
Q10|Q20
level 1|level 2|level 1-2 mixed
Einwohner unter 18|Einwohner 18 bis 64|Einwohner ab 65
1-9 employees|10-49 employees|50-249 employees|250+ employees
M10_14|M15_19|F10_14|F15_19
P_0_4|P_5_9|P_10_14
G01_M|G01_F
20歳未満|20～64歳|65歳以上
6歳未満世帯員のいる世帯|65歳以上世帯員のいる世帯
0 cars|1 car|2 or more cars
1st floor|2nd floor|3rd floor
5-G|4-G
sector_1_1|sector_1_2|sector_1_3
zone 1-1|zone 1-2|zone 1-3|zone 2-1
""".strip().splitlines()
"""Lists as offices publish them, in which everybody is in one label at most."""


@pytest.mark.parametrize("line", HOLDING)
def test_what_holds_others_is_found_in_any_order(line: str) -> None:
    labels, wholes = (part.split("|") for part in line.split(" => "))
    for order in (labels, labels[::-1]):
        assert sorted(find_totals(order)) == sorted(wholes)
    assert count_overlaps(labels) >= 2


@pytest.mark.parametrize("line", APART)
def test_parts_that_only_touch_are_no_totals(line: str) -> None:
    labels = line.split("|")
    assert find_totals(labels) == find_totals(labels[::-1]) == []
    assert count_overlaps(labels) == count_together(labels) == 1


@pytest.mark.parametrize(
    ("labels", "times"),
    [
        ("65+|75+|85+|0-64", 3),
        ("population|men|women|men 0-14|men 65+|men 75+", 4),
        ("2020|2020-Q1|2020-01|2021-01", 3),
        ("T|0-64|65+|75+", 3),
        ("T|Total|M", 2),
    ],
)
def test_a_person_is_counted_as_often_as_labels_meet(labels: str, times: int) -> None:
    assert count_overlaps(labels.split("|")) == times


def test_many_labels_take_no_time_that_is_felt() -> None:
    codes = [f"{number:05d}" for number in range(20_000)]
    assert find_containing_labels([*codes, "other"]) == find_totals([]) == []


@pytest.mark.parametrize(("labels", "least"), [("0-4|0-14|15+", 2), ("65+|75+|85+", 3)])
def test_a_contribution_that_allows_for_it_is_asked_for(labels: str, least: int) -> None:
    grid = geodp.Grid.regular((1, 2)).with_attribute("age", labels.split("|"))
    table = geodp.CountTable.from_dense(np.array([[[5, 3, 1], [4, 4, 9]]]), grid)
    with refuses(UsageError, f"contribution-below-sums: \\(age\\).*\\b{least}\\b"):
        geodp.publish(table, epsilon=1, contribution=least - 1)
    assert geodp.publish(table, epsilon=1, contribution=least).event.contribution == least
