"""Labels that contain one another by their text: sexes, ranges, months and totals.

A label is read as a set of people: of one or both sexes, in a range, in some months, and whatever
its other words mean. Two labels with the same other words whose sexes, ranges and months overlap
share people. Words that are not listed here are never interpreted.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from unicodedata import normalize


def _vocabulary(text: str) -> frozenset[str]:
    return frozenset(normalize("NFKC", text).casefold().split())


MALE = _vocabulary(
    "male males man men masculine masculin masculino masculinos hombre hombres varón "
    "varon varones homme hommes männlich mannlich maennlich mann männer maenner mannen mannelijk "
    "uomo uomini maschi maschio maschile homem homens män mænd menn miehet mężczyźni muži muzi "
    "férfi férfiak мужчины мужчина мужской мужского чоловіки άνδρες erkek nam laki-laki "
    "남 남자 남성"
)
FEMALE = _vocabulary(
    "female females woman women feminine féminin feminin femenino femeninos feminino mujer mujeres "
    "femme femmes weiblich frau frauen vrouw vrouwen vrouwelijk donna donne femmina femmine "
    "femminile mulher mulheres kvinnor kvinna kvinder kvinner naiset kobiety ženy zeny nő nők "
    "женщины женщина женский женского жінки γυναίκες kadın nữ perempuan 여 여자 여성"
)
LETTERS = (("m", "f"), ("m", "w"), ("h", "f"), ("h", "m"), ("m", "v"), ("m", "k"), ("k", "n"))
"""Letters for two sexes, which count only if the labels have both of a pair."""

OF_LETTERS = frozenset("ptxduoz")
"""Letters that may occur next to those of sexes: persons, total, and neither sex."""

EVERYBODY = _vocabulary(
    "population populations pop popul persons person people inhabitants inhabitant residents "
    "resident ind indiv individuals individus einwohner einw ew bevölkerung bevoelkerung "
    "personen personnes habitants habitantes población poblacion personas população populacao "
    "pessoas popolazione abitanti residenti persone inwoners inw bevolking befolkning invånare "
    "innbyggere indbyggere personer väestö ludność osoby obyvatel obyvatelé obyvatelstvo население "
    "населення πληθυσμός nüfus penduduk total totals tot all everyone everybody insgesamt gesamt "
    "totaal totale 人口 人数 総数 総人口 常住人口 住民 居民 人口数 인구 총인구"
)
"""Words for the counted people, so that a label without other words means everybody."""

LITTLE = _vocabulary(
    "a y yr yrs yo year years old age ages aged jahr jahre jahren alter jaar leeftijd an ans âge "
    "año años ano anos edad idade anni età år ålder alder lat let vuotta лет года год возраст "
    "number no num count nb nr anzahl aantal nombre número numero antal liczba "
    "of the in and de der die das group groups class sex sexes gender both 歳 才 歲 岁 세 年齢 の"
)
"""Words that do not change who is counted."""

MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
FULL_YEAR = _vocabulary("annual annually year-round 通年 年間")

_NUMBER = r"(\d+(?::\d\d)?(?:[.,]\d+)*)(k\b)?"
_UNIT = (
    r"\s*(?:years?|yrs?|yo|jahren?|ans?|años?|anos?|anni|jaar|år|lat|let|vuotta|лет|года|"
    r"歳|才|歲|岁|세|人|円|時間|分|%)?\s*"
)
_TO = r"(?:-|to|bis|tot|til|till|à|a|al|do|до|至|から)"
BETWEEN = re.compile(
    rf"(?<![\d.:-]){_NUMBER}{_UNIT}{_TO}\s*[€$£¥<]?\s*{_NUMBER}(?![\d:]|\s?-\s?\d)"
)
OPEN = re.compile(rf"(?<![\d.:-]){_NUMBER}{_UNIT}-\s*$")
BARE = re.compile(r"(?<![\d.:-])(\d{1,3})() (\d{1,3})()(?!\d)")
"""Two numbers with only a blank or an underscore between, as in "Age_0_4_yr"."""

FROM = re.compile(
    rf"(?:>=|≥|\bge|\bat least|\bfrom|\bab)\s*{_NUMBER}|"
    rf"(?<![\d.:-]){_NUMBER}{_UNIT}(?:\+|plus\b|and (?:over|older|above|more|up)\b|"
    r"or (?:over|older|above|more)\b|over\b|以上|及以上|이상|et plus\b|und (?:älter|aelter|mehr)\b|"
    r"und(?:älter|aelter)|en (?:ouder|meer)\b|y más|y mas|e (?:mais|più|piu|oltre)\b|och äldre|"
    r"og (?:over|eldre)|i więcej|и старше)"
)
ABOVE = re.compile(
    rf"(?:>|\bgt|\bover|\babove|\bmore than|\bolder than|über|ueber|\bplus de|\bmás de|\bpiù di|"
    rf"\bmeer dan|\bouder dan|старше)\s*{_NUMBER}"
)
UP_TO = re.compile(
    rf"(?:<=|≤|\ble|\bat most|\bup to|\bbis zu)\s*{_NUMBER}|"
    rf"(?<![\d.:-]){_NUMBER}{_UNIT}(?:and (?:under|younger|below|less)\b|"
    r"or (?:less|under|younger)\b|以下|이하|et moins\b|und jünger|en jonger)"
)
BELOW = re.compile(
    rf"(?:<|\blt|\bunder|\bbelow|\bless than|\bfewer than|\byounger than|unter|\bmoins de|"
    rf"\bmenos de|\bmeno di|\bminder dan|\bjonger dan|\bdo|\bдо)\s*{_NUMBER}|"
    rf"(?<![\d.:-]){_NUMBER}{_UNIT}(?:未満|미만)"
)
"""Patterns of ranges, tried in an order in which none hides another."""

ONE = re.compile(rf"(?<![\d.:-]){_NUMBER}(?![\d:])")
CODES = re.compile(r"\D*?(\d+)-(\d+)\D*")
GLUED = re.compile(r"\by ?(\d\d)(\d\d)\b")
"""Ages as in Eurostat's "Y_1564"."""


@dataclass(frozen=True)
class People:
    """The people that a label counts; an unspecified part is empty or unbounded.

    Attributes
    ----------
    rest : tuple of str
        Other words, in order.
    sex : str
    low, high : float
        Both ends of a range, which may be ends of its neighbours too; a number alone is both.
    months : frozenset of str
        Months of a year or of any; days of a week likewise.
    everybody : bool
        Whether there is a word for all counted people.
    """

    rest: tuple[str, ...]
    sex: str = ""
    low: float = -math.inf
    high: float = math.inf
    months: frozenset[str] = frozenset()
    everybody: bool = False

    @property
    def number(self) -> bool:
        """Whether there is a single number, which may be a code of anything."""
        return self.low == self.high

    @property
    def bounded(self) -> bool:
        """Whether there is a range."""
        return not self.number and not math.isinf(self.low) * math.isinf(self.high)

    @property
    def specified(self) -> tuple[bool, bool, bool]:
        """Whether sex, range and months are specified."""
        return bool(self.sex), self.bounded, bool(self.months)

    @property
    def wide(self) -> bool:
        """Whether the label describes a set that can contain other labels' people."""
        return any(self.specified) or self.everybody


def shares(one: People, other: People) -> bool:
    """Return whether two labels certainly count some people both; at least one must be wide."""
    if one.rest != other.rest or not all(each.wide or each.number for each in (one, other)):
        return False
    if not any((*one.specified, *other.specified)):
        return False  # words for everybody only, such as "persons" and "residents"
    same = one.number and other.number and one.low == other.low
    if (one.number or other.number) and not (same or one.bounded or other.bounded):
        return False
    parts = [(each.sex, each.low, each.high, each.months) for each in (one, other)]
    return (
        parts[0] != parts[1]
        and (not one.sex or not other.sex or one.sex == other.sex)
        and (same or (one.low < other.high and other.low < one.high))
        and (not one.months or not other.months or bool(one.months & other.months))
    )


def _sharing(people: Sequence[People]) -> Iterator[tuple[int, int]]:
    """Yield each pair of labels that share people once."""
    # Only labels with equal remaining words are compared, which avoids all pairs of long lists.
    groups: dict[tuple[str, ...], list[int]] = {}
    for at, each in enumerate(people):
        groups.setdefault(each.rest, []).append(at)
    for group in groups.values():
        wide = [at for at in group if people[at].wide]
        for at, other in product(wide, group):
            # A pair of wide labels would otherwise be found from both sides.
            first = at < other or not people[other].wide
            if first and at != other and shares(people[at], people[other]):
                yield at, other


def find_containing_labels(labels: Sequence[str]) -> list[str]:
    """Return the labels that certainly contain people of other labels, by their text.

    If two share people, the wider one is returned.

    Examples
    --------
    >>> find_containing_labels(["65+", "75+", "0-64"])
    ['65+']
    >>> find_containing_labels(["population", "men", "women"])
    ['population']
    >>> find_containing_labels(["0-5", "5-10", "10+"])
    []
    >>> find_containing_labels(["population", "dwellings"])
    []
    """
    people = read_labels(labels)
    containing = {max(pair, key=lambda at: _width(people[at])) for pair in _sharing(people)}
    return [label for at, label in enumerate(labels) if at in containing]


def count_together(labels: Sequence[str]) -> int:
    """Return the largest number of labels that one person can be in, by their text.

    >>> count_together(["65+", "75+", "85+", "0-64"]), count_together(["0-64", "65+"])
    (3, 1)
    """
    people, near = read_labels(labels), defaultdict[int, list[int]](list)
    for pair in _sharing(people):
        near[pair[0]].append(pair[1])
        near[pair[1]].append(pair[0])
    largest = 1
    for at, others in near.items():
        # Each label is a box of sex, range and months, and its corners are where most boxes meet.
        boxes = [people[at], *(people[other] for other in others)]
        months = frozenset[str]().union(*(box.months for box in boxes)) or {""}
        corners = product({box.sex for box in boxes}, {box.low for box in boxes}, months)
        largest = max(largest, *(sum(_holds(box, *corner) for box in boxes) for corner in corners))
    return largest


def _holds(box: People, sex: str, low: float, month: str) -> bool:
    """Return whether a label contains a sex, the values just above ``low``, and a month."""
    inside = box.low <= low and (low < box.high or box.number)
    return box.sex in ("", sex) and inside and (not box.months or month in box.months)


def _width(people: People) -> tuple[float, ...]:
    """Return a sort key for the width of a label, to choose the wider one of two."""
    reach = people.high - people.low, -people.low, people.high
    return -sum(people.specified), *reach, len(people.months)


def read_labels(labels: Sequence[str]) -> list[People]:
    """Parse labels; words that all of them share are ignored."""
    # Labels are compared after folding case, width and the many dashes of Unicode.
    texts = [_fold(label) for label in labels]
    codes = _are_codes(texts)
    parted = [_ranges(text, codes) for text in texts]
    counters = [Counter(re.findall(r"[^\W\d_]+|\d+", text)) for text, *_ in parted]
    common = _common(counters)
    letters = _letters([counter - common for counter in counters])
    periods = _periods(texts)
    people = []
    for (text, low, high), counter, months in zip(parted, counters, periods, strict=True):
        plain = [*(counter - common).elements()] if text.strip() else []
        sex, rest, everybody = _sort(plain, letters)
        everybody = everybody or (bool(counter) and not plain) or bool(counter.keys() & EVERYBODY)
        # A month with a year, such as 2020-01, would otherwise read as a range of numbers.
        if months:
            rest, low, high, everybody = (), -math.inf, math.inf, False
        people.append(People(tuple(sorted(rest)), sex, low, high, months, everybody))
    return people


def _fold(label: str) -> str:
    text = normalize("NFKC", label).casefold().replace("_", " ").strip()
    return re.sub("\\s*[\u2010-\u2015\u2212~\u301c\u2053]\\s*", "-", text)


def _common(counters: Sequence[Counter[str]]) -> Counter[str]:
    """Return the words that all labels share; none for a single label."""
    if len(counters) < 2:
        return Counter()
    common = counters[0]
    for counter in counters[1:]:
        common = common & counter
    return Counter({word: n for word, n in common.items() if not word.isdecimal()})


def _are_codes(texts: Sequence[str]) -> bool:
    """Return whether labels of two numbers are dates or two-part codes, and not ranges."""
    pairs = [match for text in texts if (match := CODES.fullmatch(text))]
    # A single label that is no pair of numbers shows that the numbers are ranges, such as "65+".
    if len(pairs) < len(texts):
        return False
    values = [(int(one[1]), int(one[2])) for one in pairs]
    widths = {(len(one[1]), len(one[2])) for one in pairs}
    days = widths == {(2, 2)} and all(1 <= a <= 12 and 1 <= b <= 31 for a, b in values)
    parts = len(widths) == 1 and len(pairs) > 1 and all(2 <= a < b >= 4 for a, b in widths)
    return days or parts or any(a >= b for a, b in values)


def _value(number: str, thousands: str | None) -> float:
    if ":" in number:
        hours, minutes = number.split(":")
        return 60 * float(hours) + float(minutes[:2])
    # 1.000 may be one thousand or one; groups of exactly three digits are read as thousands.
    grouped = re.fullmatch(r"[1-9]\d{0,2}([.,]\d{3})+", number)
    plain = re.sub("[.,]", "", number) if grouped else number.replace(",", ".")
    try:
        return float(plain) * (1000 if thousands else 1)
    except ValueError:
        return math.nan


def _ranges(text: str, codes: bool) -> tuple[str, float, float]:
    """Return a text without its range, and both ends; infinite ends if there is no range."""
    none = text, -math.inf, math.inf
    if codes:
        return none
    if (match := GLUED.search(text)) and match[1] < match[2]:
        return _without(text, match), _value(match[1], None), _value(match[2], None)
    hinted = bool({*re.findall(r"[^\W\d_]+", text)} & (EVERYBODY | LITTLE | {*"mfwphy"}))
    for pattern in (BETWEEN, *([BARE] if hinted else [])):
        if match := pattern.search(text):
            ends = _value(match[1], match[2] or match[4]), _value(match[3], match[4])
            if ends[0] < ends[1]:
                return _without(text, match), *ends
            return none
    # Inclusive patterns first: ">= 65" also contains ">", and "65 and over" contains "over".
    for pattern, below in ((UP_TO, True), (FROM, False), (BELOW, True), (ABOVE, False)):
        if match := pattern.search(text):
            number, k = next(one for one in _pairs(match) if one[0])
            value = _value(number, k)
            ends = (-math.inf, value) if below else (value, math.inf)
            return (_without(text, match), *ends) if not math.isnan(value) else none
    if match := OPEN.search(text):
        return _without(text, match), _value(match[1], match[2]), math.inf
    single = [*ONE.finditer(text)]
    if len(single) == 1 and not math.isnan(value := _value(single[0][1], single[0][2])):
        return _without(text, single[0]), value, value
    return none


def _pairs(match: re.Match[str]) -> Iterable[tuple[str, str | None]]:
    groups = match.groups()
    return zip(groups[::2], groups[1::2], strict=True)


def _without(text: str, match: re.Match[str]) -> str:
    return f"{text[: match.start()]} {text[match.end() :]}"


def _letters(counters: Sequence[Counter[str]]) -> dict[str, str]:
    """Return the meanings of letters of sexes, if both occur and no other letters do."""
    single = {word for counter in counters for word in counter if len(word) == 1 and word.isascii()}
    # "a" and "y" stand for years in age groups.
    single = {letter for letter in single if letter.isalpha()} - {"a", "y"}
    for pair in LETTERS:
        if {*pair} <= single and single <= {*pair} | OF_LETTERS:
            return dict(zip(pair, ("male", "female"), strict=True)) | {"p": "all", "t": "all"}
    return {}


def _sort(words: Sequence[str], letters: dict[str, str]) -> tuple[str, tuple[str, ...], bool]:
    """Sort words into sex, other words, and whether there is a word for everybody."""
    sex, rest, everybody = "", [], False
    for word in words:
        kind = letters.get(word) or _kind(word)
        if kind in ("male", "female") and sex in ("", kind):
            sex = kind
        elif kind == "all":
            everybody = True
        elif kind != "little":
            rest.append(word)
    return sex, tuple(rest), everybody


def _kind(word: str) -> str:
    """Classify a word as "male", "female", "all", "little", or "" for any other."""
    for name, vocabulary in (
        ("male", MALE),
        ("female", FEMALE),
        ("all", EVERYBODY),
        ("little", LITTLE),
    ):
        if word in vocabulary:
            return name
    # Without blanks between words: 男性人口, 歳人口.
    if match := re.fullmatch("(?:歳|人口|総数)*([男女])(?:性|子)?(?:人口|総数)*", word):
        return "male" if match[1] == "男" else "female"
    return "all" if re.fullmatch("(?:歳|才|人口|総数)+", word) and "人口" in word else ""


def _periods(texts: Sequence[str]) -> list[frozenset[str]]:
    """Return the months or weekdays that labels name; a year only next to its own months."""
    periods = [_period(text) for text in texts]
    years = {month.partition("-")[0] for months in periods for month in months if "-" in month}
    plain = any(month in MONTHS for months in periods for month in months)
    for at, text in enumerate(texts):
        year = re.fullmatch(r"(\d{4})(?:年度?)?", text)
        if year and year[1] in years:
            periods[at] = frozenset(f"{year[1]}-{month}" for month in MONTHS)
        elif plain and (text in FULL_YEAR or text in ("year", "full year", "whole year")):
            periods[at] = frozenset(MONTHS)
    return periods


def _period(text: str) -> frozenset[str]:
    for names, shortest in ((MONTHS, 3), (DAYS, 3)):
        near = [
            name for name in names if len(text) >= shortest and name.startswith(text.rstrip("."))
        ]
        if near and (len(text.rstrip(".")) == 3 or text == near[0] or text == "sept"):
            return frozenset(near[:1])
    if text in ("weekend", "weekends", "週末", "土日"):
        return frozenset(DAYS[5:])
    if text in ("weekday", "weekdays", "平日"):
        return frozenset(DAYS[:5])
    parts = re.fullmatch(r"(?:(\d{4})\s?[-/年]?\s?)?(?:(?:q|第)([1-4])(?:四半期)?|([1-4])q)", text)
    if parts:
        quarter = int(parts[2] or parts[3]) - 1
        return _months(parts[1], MONTHS[3 * quarter : 3 * quarter + 3])
    if parts := re.fullmatch(r"(?:(\d{4})\s?[-/年]?\s?)?(?:h([12])|(上|下)半期)", text):
        second = (parts[2] or parts[3]) in ("2", "下")
        return _months(parts[1], MONTHS[6:] if second else MONTHS[:6])
    if parts := re.fullmatch(r"(?:(\d{4})年)?(\d{1,2})月", text):
        return _months(parts[1], MONTHS[int(parts[2]) - 1 : int(parts[2])])
    if (parts := re.fullmatch(r"(\d{4})[-/](\d\d)", text)) and 1 <= int(parts[2]) <= 12:
        return _months(parts[1], MONTHS[int(parts[2]) - 1 : int(parts[2])])
    return frozenset()


def _months(year: str | None, months: Sequence[str]) -> frozenset[str]:
    return frozenset(f"{year}-{month}" if year else month for month in months)
