"""Recognised attributes: synonyms of their names, and standard lists of their labels."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from unicodedata import normalize

from geodp.io.read.rows.calendar_names import find_number
from geodp.io.read.rows.names import fold

SYNONYMS = {
    "sex": "sex sexe sexo sesso geschlecht gender gênero género geslacht kön køn kjønn "
    "kyn sukupuoli płeć plec pohlaví pohlavi pohlavie nem spol sugu dzimums lytis пол стать "
    "φύλο cinsiyet sexul 性別 男女 男女別 男女の別 性别 성별 "
    "giớitính jeniskelamin เพศ الجنس लिंग",
    "age": "age ages agegroup agegr ageclass ageband âge edad idade età eta alter altersgruppe "
    "altersklasse lebensalter leeftijd ålder alder aldur ikä ikäryhmä wiek věk vek kor életkor "
    "dob starost vanus vecums amžius возраст вік ηλικία yaş yas vârsta 年齢 年令 年代 年龄 年齡 "
    "연령 나이 tuổi umur usia อายุ العمر आयु",
    "hour": "hour hours hourofday hr hh stunde stunden tagesstunde uhrzeit heure heures hora horas "
    "ora uur timme tunti godzina hodina óra ura tund stunda valanda час година ώρα saat 時 "
    "時刻 時間 時間帯 出発時間帯 到着時間帯 "
    "时 小时 小時 時段 시 시각 시간 시간대 giờ jam ชั่วโมง الساعة",
    "month": "month months monthofyear mm monat monate mois mes mese mês maand månad måned "
    "mánuður kuukausi miesiąc miesiac měsíc mesic mesiac hónap mjesec kuu mēnesis mėnuo месяц "
    "місяць μήνας ay lună mesec 月 月份 월 tháng bulan เดือน الشهر महीना",
    "weekday": "weekday dayofweek dow wday wochentag joursemaine jourdelasemaine jourdesemaine "
    "diasemana díasemana díadelasemana diadasemana giornosettimana giornodellasettimana weekdag "
    "veckodag ukedag ugedag viikonpäivä dzieńtygodnia dentýdne hétnapja деньнедели haftanıngünü "
    "曜日 星期 周几 요일",
    "quarter": "quarter quarters quarterofyear qtr quartal trimestre trimester kwartaal kvartal "
    "vuosineljännes kwartał čtvrtletí negyedév квартал τρίμηνο çeyrek 四半期 季度 분기",
}
"""Synonyms by attribute, in the languages of official statistics."""

PART_OF_NAME = (
    *("group", "groups", "grp", "class", "classes", "classe", "klasse", "gruppe", "groupe"),
    *("grupo", "gruppo", "fascia", "band", "bands", "bracket", "brackets", "category", "cat"),
    *("code", "codes", "cd", "id", "key", "name", "label", "labels", "range", "interval"),
    *("years", "year", "yrs", "yr", "attr", "attribute", "dim", "var"),
    *("tranche", "tranches", "tramo", "grupos", "intervalo", "de", "d", "di", "da", "do", "del"),
)
"""Words that may stand beside a synonym in the name of a column: AGE_GROUP."""

ENDS = (
    *("階級区分", "各歳", "区分", "階級", "階層", "コード", "名称", "別"),
    *("代码", "分组", "组", "구분"),
)
"""Such words as suffixes, in scripts that write no blanks: 年齢階級."""


@dataclass(frozen=True)
class Standard:
    """A standard list of labels.

    Attributes
    ----------
    labels : tuple of str
    spelling : Pattern
        Pattern of other spellings; its group is the label.
    names : str
        Key of :data:`geodp.io.read.rows.calendar_names.NAMES` for labels written as names, if any.
    """

    labels: tuple[str, ...]
    spelling: re.Pattern[str]
    names: str = ""


def _numbered(first: int, last: int, spelling: str, names: str = "") -> Standard:
    """Create a standard list of consecutive numbers."""
    return Standard(tuple(map(str, range(first, last + 1))), re.compile(spelling), names)


STANDARD = {
    # Also written 08 and 08:00, 05 and May, Mon and Monday (1 in ISO 8601), and Q1.
    "hour": _numbered(0, 23, "([0-9]{1,2})(?::00(?::00)?|[.]0+|時|h)?"),
    "month": _numbered(1, 12, "([0-9]{1,2})(?:[.]0+|月|월)?", "month"),
    "weekday": _numbered(1, 7, "0?([0-9])(?:[.]0+)?", "weekday"),
    "quarter": _numbered(1, 4, "[Qq]?0?([0-9])(?:[.]0+)?"),
}
"""Standard lists by attribute."""


def find_attribute(name: str) -> str | None:
    """Return the attribute that a name is a synonym of, or None.

    Examples
    --------
    >>> find_attribute("Geschlecht"), find_attribute("AGE_GROUP"), find_attribute("年齢（5歳階級）")
    ('sex', 'age', 'age')
    >>> find_attribute("average_age") is None
    True
    """
    keys = (fold(name), _key(name))
    return next(
        (attribute for key in keys for attribute in SYNONYMS if key in _folded(attribute)), None
    )


def find_standard(name: str) -> Standard | None:
    """Return the standard list of the attribute that a name is a synonym of, or None."""
    attribute = find_attribute(name)
    return None if attribute is None else STANDARD.get(attribute)


def find_columns_of(name: str, columns: Sequence[str]) -> list[str]:
    """Return the columns that may hold an attribute, by the strictest rule that finds any.

    The rules are: the exact name; another spelling of it; a synonym of the attribute; a synonym
    beside words for groups and codes.

    Examples
    --------
    >>> find_columns_of("age", ["AGE_GROUP", "n"]), find_columns_of("sex", ["Sexe", "Gender"])
    (['AGE_GROUP'], ['Sexe', 'Gender'])
    """
    attribute = find_attribute(name)
    synonyms = frozenset([fold(name)]) if attribute is None else _folded(attribute)
    key = _key(name)
    kinds: tuple[Callable[[str], bool], ...] = (
        lambda column: column.strip() == name.strip(),
        lambda column: fold(column) == fold(name),
        lambda column: fold(column) in synonyms,
        lambda column: _key(column) in synonyms or _key(column) == key,
    )
    for kind in kinds:
        if matches := [column for column in columns if column.strip() and kind(column)]:
            return matches
    return []


def read_label(labels: Sequence[str]) -> Callable[[str], str]:
    """Return a function that reads other spellings of these labels.

    For a standard list its pattern and names apply. For other lists, whole numbers may have a
    fraction of zeros, as programs write them in columns with blanks.

    Examples
    --------
    >>> read_label(STANDARD["hour"].labels)("08:00"), read_label(["1", "2"])("2.0")
    ('8', '2')
    >>> read_label(STANDARD["weekday"].labels)("Sunday"), read_label(["1", "2"])("Monday")
    ('7', 'Monday')
    """
    pattern = re.compile("([0-9]+)[.]0+")
    standard = next(
        (candidate for candidate in STANDARD.values() if candidate.labels == tuple(labels)), None
    )
    if standard is not None:
        pattern = standard.spelling

    def read(text: str) -> str:
        match = pattern.fullmatch(text)
        if match is None:
            return text if standard is None else find_number(standard.names, text) or text
        return match.group(1) if standard is None else str(int(match.group(1)))

    return read


@cache
def _folded(attribute: str) -> frozenset[str]:
    """Return the normalised synonyms of an attribute."""
    return frozenset(map(fold, SYNONYMS[attribute].split()))


def _key(name: str) -> str:
    """Return the words of a name without numbers and without words for groups and codes."""
    # Camel case separates words, as in AgeGroup.
    text = re.sub("(?<=[a-z])(?=[A-Z])", "_", normalize("NFKC", name))
    text = re.sub(r"[(（].*?[)）]", " ", text)
    parts = [fold(part) for part in re.findall(r"[^\W\d_]+", text)]
    key = "".join([part for part in parts if part not in PART_OF_NAME] or parts)
    # Several such suffixes may follow each other, as in 年齢階級コード.
    while not any(key in _folded(attribute) for attribute in SYNONYMS):
        ending = next(
            (suffix for suffix in map(fold, ENDS) if key.endswith(suffix) and key != suffix), ""
        )
        if not ending:
            break
        key = key.removesuffix(ending)
    return key
