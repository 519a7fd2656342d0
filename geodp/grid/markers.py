"""Words and signs in tables that are no names: one list of placeholders, and one of totals.

Every reader asks these lists, whatever a column is for: places, persons, labels, numbers. A code
that the operator lists is a code all the same, such as NA for Namibia in a table of units.
"""

from __future__ import annotations

import re
from unicodedata import normalize

from geodp.errors import Rule

FORMULA_ERRORS = (
    *("#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A", "#GETTING_DATA"),
    *("#SPILL!", "#CALC!", "#FIELD!"),
)
"""Texts by which workbooks show the error of a formula."""


def _fold(text: str) -> str:
    """Return a text as the lists have it: NFKC, without capitals and surrounding blanks."""
    return normalize("NFKC", text).casefold().strip()


def _lines(text: str) -> frozenset[str]:
    return frozenset(map(_fold, text.splitlines()))


PLACEHOLDERS = _lines(
    """na
n/a
n.a.
n. a.
#na
<na>
nan
nat
null
(null)
none
nil
nodata
no data
\\n
missing
undefined
unknown
unspecified
not available
not applicable
not known
not stated
suppressed
withheld
confidential
unbekannt
keine angabe
ohne angabe
k.a.
k. a.
inconnu
non renseigné
desconocido
desconhecido
sconosciuto
onbekend
okänd
ukendt
ukjent
tuntematon
nieznane
neznámé
неизвестно
不明
不詳
未詳
不詳・不明
秘匿
非公表
未知
不详
미상
-
--
---
–
—
−
.
..
...
…
?
??
*
**
:"""
) | frozenset(one.casefold() for one in FORMULA_ERRORS)
"""Texts that stand for a missing or unknown value, as :func:`is_placeholder` compares them."""

LONGEST_NEGATIVE = 17
"""Most characters of a negative integer that may stand for a missing value."""

HIDDEN = frozenset("x")
"""Signs of numbers that a publisher hides; anywhere else they may be names."""

TOTAL_WORDS = _lines(
    """total
totals
subtotal
insgesamt
gesamt
totale
totaal
totalt
yhteensä
ogółem
razem
celkem
spolu
összesen
ukupno
skupaj
kokku
pavisam
toplam
всего
итого
всього
усього
общо
σύνολο
総数
総計
合計
小計
总数
总计
合计
總數
總計
합계
총계
총수
المجموع
รวม"""
)
"""Words that make a text a total anywhere in it: "Population, total", "人口（総数）"."""

TOTAL_ENDS = ("総数", "総計", "合計", "总数", "总计", "合计", "總數", "總計", "합계", "총계")
"""Endings of a word that make a text a total: "人口総数"."""

TOTAL_TEXTS = _lines(
    """all
all ages
all sexes
both
both sexes
everyone
men and women
m f
f m
m w
h m
overall
sum
tot
summe
zusammen
alle
männlich und weiblich
ensemble
tous
les deux sexes
ambos
ambos sexos
ambos os sexos
todos
tutti
maschi e femmine
samtliga
i alt
begge kjønn
iš viso
tổng số
計
男女計
全体
総人口
计
总人口
총인구
전체
계
jumlah
男女"""
)
"""Texts that are totals alone, but not as a word of a longer one: "all", "計"."""

TOTAL_CODES = ("_T", "T")
"""Totals in the code lists of Eurostat and SDMX."""

NOBODY = tuple(sorted(PLACEHOLDERS | TOTAL_WORDS | TOTAL_TEXTS | {"_t", "\uff0d", "\u2026"}))
"""Lower-case texts that are no person: all rows with one of them are not one person's."""

TOTAL_PLACE = Rule(
    "code-is-total",
    "the code is a word for a total (such as Total, _T or 計), and a total is no place: such a row "
    "counts the people of other rows again. Leave rows of totals out of the file, select the "
    "others by another column (--where, where=), or drop all rows of unknown codes (--outside "
    "drop, outside=, in place of --other).",
)

LISTED_TOTAL = Rule(
    "unit-is-total",
    "the code is a word for a total (such as Total, _T or 総数), and a total of units is no unit: "
    "everybody would be counted twice. Take its row out of the table; levels above are columns.",
)

MISSING_PLACE = Rule(
    "code-is-placeholder",
    "the code stands for a missing value (such as NA, NULL, - or 不明), and nothing says that it "
    "is a place: drop such rows from the file, or all rows of unknown codes (--outside drop, "
    "outside=, in place of --other). If it is the code of a place, list it in the table of units, "
    "or give the zone of all other places this name (--other, other=).",
)


def is_placeholder(text: str) -> bool:
    """Test whether a text stands for a missing or unknown value; blanks do not count.

    >>> is_placeholder(" N/A"), is_placeholder("不明"), is_placeholder("－"), is_placeholder("NAM")
    (True, True, True, False)
    """
    return _fold(text) in PLACEHOLDERS or is_formula_error(text)


def is_formula_error(text: str) -> bool:
    """Test whether a text is the error of a formula, as workbooks show it.

    >>> is_formula_error("#N/A"), is_formula_error("Err:502"), is_formula_error("NA")
    (True, True, False)
    """
    return text.upper() in FORMULA_ERRORS or re.fullmatch("Err:[0-9]+", text) is not None


def is_negative(text: str) -> bool:
    """Test whether a text is a negative number, which often stands for a missing value.

    Integers of 17 digits and more are ids of 64 bits, whose highest bit makes them negative.

    >>> is_negative("-99"), is_negative("-1.0"), is_negative("-"), is_negative("99")
    (True, True, False, False)
    """
    digits = text[1:].replace(".", "", 1)
    return text[:1] == "-" and digits.isdecimal() and ("." in text or len(text) <= LONGEST_NEGATIVE)


def split_words(text: str) -> list[str]:
    """Split a text into words without capitals, of letters and digits.

    >>> split_words("人口（総数）　男"), split_words("Population, total")
    (['人口', '総数', '男'], ['population', 'total'])
    """
    return re.findall(r"[^\W_]+", _fold(text))


def is_total_of(words: list[str]) -> bool:
    """Test whether words, as :func:`split_words` returns them, say that a text is a total."""
    has_word = any(word in TOTAL_WORDS or word.endswith(TOTAL_ENDS) for word in words)
    return has_word or " ".join(words) in TOTAL_TEXTS


def is_total(text: str) -> bool:
    """Test whether a text by itself is a total.

    >>> [is_total(text) for text in ("_T", "Grand Total", "計", "Insgesamt", "Totnes", "12000")]
    [True, True, True, True, False, False]
    """
    return normalize("NFKC", text).strip() in TOTAL_CODES or is_total_of(split_words(text))


def is_named_total(code: str) -> bool:
    """Test whether a listed code says by itself that it is a total, as no code of a place does.

    >>> is_named_total("TOTAL"), is_named_total("_T"), is_named_total("ALL"), is_named_total("T")
    (True, True, False, False)
    """
    return code == "_T" or _fold(code) in TOTAL_WORDS


def find_no_place(text: str) -> Rule | None:
    """Return the rule that a code breaks which is in no list of places; None for a place.

    >>> find_no_place("Total").code, find_no_place("NA").code, find_no_place("9999")
    ('code-is-total', 'code-is-placeholder', None)
    """
    if is_total(text):
        return TOTAL_PLACE
    return MISSING_PLACE if is_placeholder(text) or is_negative(text.strip()) else None
