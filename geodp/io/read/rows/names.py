"""Names of columns and labels: equal spellings, synonyms of attributes, and standard labels."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass
from fnmatch import translate
from functools import cache, lru_cache
from unicodedata import category, name, normalize

from geodp.errors import printable
from geodp.privacy.samples import look_alike

MAX_NAMES = 12
"""Number of names that a message lists."""

_WAVES = str.maketrans({"\u301c": "~", "\u223c": "~", "\u2225": "\u2016", "\u2212": "-"})
"""Characters that the mappings of CP932 decode differently: wave dashes, parallel lines, minus."""

_DASHES = {"Pd": "-", "Cf": ""}
"""Replacement by Unicode category: all dashes become one, invisible characters vanish."""


def spell(text: str) -> str:
    """Normalise a label: composed, of one width, with plain dashes and single spaces.

    Examples
    --------
    >>> spell(" ６５〜７４ ") == spell("65\uff5e74") == "65~74"
    True
    """
    plain = normalize("NFKC", text).translate(_WAVES)
    if not plain.isascii():
        plain = "".join(_DASHES.get(category(character), character) for character in plain)
    return " ".join(plain.split())


def fold(text: str) -> str:
    """Normalise the name of a column so that all of its spellings become equal.

    Case and spaces are ignored, besides the differences that :func:`spell` removes.

    Examples
    --------
    >>> fold("人口（総数）　男") == fold("人口(総数)男")
    True
    """
    return "".join(fold_case(text).split())


@lru_cache(4096)
def fold_case(text: str) -> str:
    """Normalise a name as :func:`spell` does and fold its case; blanks stay.

    Examples
    --------
    >>> fold_case("ＧＲＤ_ID "), fold_case("人口（総数）　男")
    ('grd_id', '人口(総数) 男')
    """
    # Case folding may undo the composition, so the text is normalised before and after.
    return spell(normalize("NFKC", spell(text).casefold()))


PLAIN = re.compile(r"[^*?[]*")
"""Pattern without wildcards: a plain name."""

SPELLINGS: tuple[Callable[[str], str], ...] = (str.strip, fold_case)
"""Normal forms under which names are compared, the strictest first."""


def match(pattern: str, names: Sequence[str]) -> list[str]:
    """Return the names that match the first alternative of a pattern that matches any.

    For each alternative, exact matches come first, then those that differ only in case, width and
    composition, as databases and exports change these.

    Examples
    --------
    >>> match("TOT_P", ["grd_id", "tot_p"]), match("TOT_P", ["tot_p", "TOT_P"])
    (['tot_p'], ['TOT_P'])
    """
    # Exact before folded, so that a file with both "n" and "N" is not ambiguous.
    for alternative in pattern.split("|"):
        for form in SPELLINGS:
            is_match = _compile(form(alternative))
            if matches := [name for name in names if is_match(form(name))]:
                return matches
    return []


@cache
def _compile(pattern: str) -> Callable[[str], object]:
    """Return a matcher of a pattern; cached, as there are a few hundred patterns."""
    return re.compile(translate(pattern)).match


def find_matching_patterns(
    patterns: Iterable[str], names: Sequence[str]
) -> tuple[set[str], set[str]]:
    """Return the patterns that names match exactly, and those that they match in any spelling.

    This is :func:`match` for many patterns at once.

    Examples
    --------
    >>> exact, spelt = find_matching_patterns({"TOT_P", "GRD_*"}, ["grd_id", "TOT_P"])
    >>> exact, sorted(spelt)
    ({'TOT_P'}, ['GRD_*', 'TOT_P'])
    """
    spelt, folded = {name.strip() for name in names}, {*map(fold_case, names)}
    exactly, anyhow = set(), set()
    for pattern in patterns:
        alternatives = pattern.split("|")
        if _any_matches([*map(str.strip, alternatives)], spelt):
            exactly.add(pattern)
        elif _any_matches([*map(fold_case, alternatives)], folded):
            anyhow.add(pattern)
    return exactly, exactly | anyhow


def _any_matches(patterns: list[str], names: Set[str]) -> bool:
    """Whether any name matches any of some patterns in the same normal form."""
    # Most patterns are plain names: a set lookup instead of a regular expression for each.
    if all(map(PLAIN.fullmatch, patterns)):
        return not names.isdisjoint(patterns)
    return any(any(map(_compile(pattern), names)) for pattern in patterns)


def list_names(names: Sequence[str], limit: int = MAX_NAMES) -> str:
    """List names for a message, shortened if there are many.

    Examples
    --------
    >>> list_names([" men", "women"]), list_names("abcdefghijklmn")
    ('men, women', 'a, b, c, d, e, f, g, h, i, j, k, l and others')
    """
    shown = ", ".join(printable(name.strip()) for name in names[:limit])
    return shown + (" and others" if len(names) > limit else "")


def describe_lookalike(wanted: str, names: Sequence[str]) -> str:
    """Explain a name that looks like a wanted one but is another; empty without one.

    Examples
    --------
    >>> describe_lookalike("T01", ["n", "TO1"])  # doctest: +NORMALIZE_WHITESPACE
    "the column 'TO1' only looks like it: its character 2 is U+004F (LATIN CAPITAL LETTER O),
    not U+0030 (DIGIT ZERO); copy the name from the file."
    """
    alike = look_alike(wanted, [candidate for candidate in names if candidate.strip()])
    if alike is None:
        return ""
    ours, theirs = normalize("NFC", alike.strip()), normalize("NFC", wanted.strip())
    pairs = zip(ours + "\0", theirs + "\0", strict=False)
    at = next((i for i, (a, b) in enumerate(pairs) if a.casefold() != b.casefold()), None)
    if at is None or at >= len(ours) or at >= len(theirs):
        return f"the column '{alike.strip()}' only looks like it; copy the name from the file."
    return (
        f"the column '{alike.strip()}' only looks like it: its character {at + 1} is "
        f"{_describe_character(ours[at])}, not {_describe_character(theirs[at])}; copy the name "
        "from the file."
    )


def _describe_character(character: str) -> str:
    """Return a character's code point and Unicode name."""
    return f"U+{ord(character):04X} ({name(character, 'without a name')})"


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
        Key of :data:`CALENDAR` for labels written as names, if any.
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


WEEKDAYS = (
    "monday mon mo montag lundi lun lunes lunedì lunedi segunda segunda-feira seg maandag ma "
    "måndag mån må mandag man maanantai poniedziałek pon pondělí pondeli pondelok hétfő hétfo "
    "понедельник пн понеділок Δευτέρα pazartesi pzt luni 月 月曜 月曜日 星期一 "
    "周一 週一 礼拜一 월 월요일 senin",
    "tuesday tue tues tu dienstag di mardi mar martes martedì martedi terça terça-feira "
    "terca terca-feira ter dinsdag tisdag tis tirsdag tir tiistai ti wtorek wt úterý utery utorok "
    "kedd вторник вт вівторок Τρίτη salı marți 火 火曜 火曜日 星期二 周二 週二 礼拜二 화 화요일 "
    "selasa",
    "wednesday wed weds we mittwoch mi mercredi mer miércoles miercoles mié mie mercoledì "
    "mercoledi quarta quarta-feira qua woensdag wo onsdag ons on keskiviikko ke środa środę śr "
    "sroda středa streda szerda среда ср середа Τετάρτη çarşamba miercuri 水 水曜 水曜日 星期三 "
    "周三 週三 礼拜三 수 수요일 rabu",
    "thursday thu thur thurs th donnerstag do jeudi jeu jueves jue giovedì giovedi gio quinta "
    "quinta-feira qui donderdag torsdag tors tor torstai to czwartek czw čtvrtek ctvrtek štvrtok "
    "csütörtök четверг чт четвер Πέμπτη perşembe joi 木 木曜 木曜日 星期四 周四 週四 "
    "礼拜四 목 목요일 kamis",
    "friday fri fr freitag vendredi ven viernes vie venerdì venerdi sexta sexta-feira sex vrijdag "
    "vr fredag fre perjantai pe piątek piatek pt pátek patek piatok péntek пятница пт п'ятниця "
    "Παρασκευή cuma vineri 金 金曜 金曜日 星期五 周五 週五 礼拜五 금 금요일 jumat",
    "saturday sat sa samstag sonnabend samedi sam sábado sabado sáb sab sabato zaterdag za lördag "
    "lör lö lørdag lør lauantai la sobota sob szombat суббота сб субота Σάββατο cumartesi sâmbătă "
    "土 土曜 土曜日 星期六 周六 週六 礼拜六 토 토요일 sabtu",
    "sunday sun su sonntag so dimanche dim domingo dom domenica zondag zo söndag sön sö søndag søn "
    "sunnuntai niedziela niedz nd neděle nedele nedeľa vasárnap воскресенье вс неділя Κυριακή "
    "pazar duminică 日 日曜 日曜日 星期日 星期天 周日 週日 礼拜日 일 일요일 minggu",
)
"""Names of Monday to Sunday."""

MONTHS = (
    "january jan januar jänner janvier janv enero ene gennaio gen janeiro januari tammikuu "
    "styczeń sty leden январь янв січень Ιανουάριος ocak ianuarie 一月 tháng1",
    "february feb februar février fevrier févr fevr fév febrero febbraio fevereiro fev februari "
    "helmikuu luty lut únor unor февраль фев лютий Φεβρουάριος şubat februarie 二月",
    "march mar märz maerz mrz mär mars marzo março marco maart mrt marts maaliskuu marzec březen "
    "brezen март мар березень Μάρτιος mart martie 三月",
    "april apr avril avr abril abr aprile huhtikuu kwiecień kwi duben апрель апр квітень Απρίλιος "
    "nisan aprilie 四月",
    "may mai mayo maggio mag maio mei maj toukokuu květen kveten май травень Μάιος mayıs 五月",
    "june jun juni juin junio giugno giu junho kesäkuu czerwiec cze červen cerven июнь июн червень "
    "Ιούνιος haziran iunie 六月",
    "july jul juli juillet juil julio luglio lug julho heinäkuu lipiec lip červenec cervenec июль "
    "июл липень Ιούλιος temmuz iulie 七月",
    "august aug août aout agosto ago augustus augusti elokuu sierpień sie srpen август авг серпень "
    "Αύγουστος ağustos 八月",
    "september sep sept septembre septiembre settembre set setembro syyskuu wrzesień wrz září zari "
    "сентябрь сен вересень Σεπτέμβριος eylül septembrie 九月",
    "october oct oktober okt octobre octubre ottobre ott outubro out lokakuu październik paź říjen "
    "rijen октябрь окт жовтень Οκτώβριος ekim octombrie 十月",
    "november nov novembre noviembre novembro marraskuu listopad ноябрь ноя Νοέμβριος kasım "
    "noiembrie 十一月",
    "december dec dezember dez décembre decembre déc diciembre dic dicembre dezembro joulukuu "
    "grudzień gru prosinec декабрь дек грудень Δεκέμβριος aralık decembrie 十二月",
)
"""Names of January to December."""

CALENDAR = {"weekday": WEEKDAYS, "month": MONTHS}
"""Names by the attribute whose labels they are."""


def find_number(attribute: str, text: str) -> str | None:
    """Return the number, from 1, of the weekday or month that a text names; None without one.

    Case and a final full stop are ignored.

    Examples
    --------
    >>> find_number("weekday", "Mon."), find_number("weekday", "日"), find_number("month", "août")
    ('1', '7', '8')
    """
    return _numbers(attribute).get(fold(text).rstrip("."))


@cache
def _numbers(attribute: str) -> dict[str, str]:
    return {
        fold(name): str(number)
        for number, names in enumerate(CALENDAR.get(attribute, ()), start=1)
        for name in names.split()
    }
