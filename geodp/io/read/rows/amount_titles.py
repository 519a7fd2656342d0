"""Titles of columns that are no counts: amounts, with their currencies, powers of ten and shares.

A title that says ``income (1,000 EUR)`` makes every number of its column a thousand times as large.
No unit is applied because a title says it: one that differs from what the operator states is
refused, and the message names the option that confirms.

A count of 30,000 counts 30,000 people, so that a column ``income`` that is read as one publishes
sums of incomes with the noise for one person. A name proves nothing: such a column is asked about,
and the operator confirms that its numbers are counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, reduce
from itertools import pairwise, starmap
from unicodedata import combining, normalize

from geodp.errors import InputError, Rule, printable
from geodp.io.read.rows.columns import InputTable
from geodp.io.read.rows.delimited import TextTable
from geodp.io.read.rows.names import list_names

_EXPONENTS = {
    2: "hundred hundreds hundert 百 백",
    3: "thousand thousands thous thsd tsd tausend k t 千 천 mille millier milliers migliaia "
    "millares milhares duizend tusen tusind tuhat tys тыс тысяч ribu",
    4: "万 萬 만",
    5: "lakh lakhs lac lacs 十万",
    6: "million millions mio mn mln m millionen millones milhões milhoes milioni miljoen miljoner "
    "млн juta 百万 백만",
    7: "crore crores 千万 천만",
    8: "億 亿 억",
    9: "billion billions bn mrd milliarde milliarden milliard milliards miliardi miljard mld млрд "
    "十億 십억",
    12: "trillion trillions 兆 조",
}
"""Words for powers of ten, by the exponent."""

_CURRENCIES = {
    "EUR": "eur euro euros € ユーロ 유로 欧元",
    "USD": "usd us$ dollar dollars $ ドル 달러 美元",
    "CAD": "cad c$ dollar dollars $",
    "AUD": "aud a$ dollar dollars $",
    "NZD": "nzd nz$ dollar dollars $",
    "HKD": "hkd hk$ dollar dollars $",
    "SGD": "sgd s$ dollar dollars $",
    "TWD": "twd nt$ dollar dollars $ 元",
    "JPY": "jpy yen ¥ 円 엔 日元",
    "CNY": "cny rmb yuan ¥ 元 人民币",
    "KRW": "krw ₩ 원 ウォン",
    "GBP": "gbp pounds sterling £ ポンド",
    "CHF": "chf sfr franken francs",
    "SEK": "sek kr kronor",
    "NOK": "nok kr kroner",
    "DKK": "dkk kr kroner",
    "ISK": "isk kr krónur",
    "PLN": "pln zł zloty złotych",
    "CZK": "czk kč korun",
    "HUF": "huf forint",
    "RON": "ron lei",
    "TRY": "try ₺ lira",
    "RUB": "rub ₽ руб рублей rubles roubles",
    "UAH": "uah ₴ грн",
    "INR": "inr ₹ rupee rupees rs",
    "IDR": "idr rp rupiah",
    "BRL": "brl r$ reais",
    "MXN": "mxn pesos $",
    "ZAR": "zar rands",
    "ILS": "ils nis ₪ shekels",
    "THB": "thb baht ฿",
    "VND": "vnd ₫",
    "PHP": "php ₱ pesos",
    "MYR": "myr ringgit",
    "NGN": "ngn naira ₦",
    "XOF": "xof fcfa cfa francs",
}
"""Words and signs of currencies; some are of several, such as $."""

_COUNTED = (
    "人 名 世帯 戸 명 세대 person persons people inhabitants residents households einwohner "
    "personen habitants habitantes"
)
_PEOPLE = frozenset(_COUNTED.split())
"""Words of those who are counted, which may follow a power of ten: 千人."""

_SHORT = frozenset(("k", "t", "m", "mn", "hundred", "hundreds", "hundert", "mille", "百", "백"))
"""Powers of ten that are other words, too: they count only beside a currency or those counted."""

_DOUBTFUL = frozenset(("try", "ron", "lei", "rs", "rp", "kr", "sek", "php", "nis", "pounds"))
"""Currencies that are other words, too: they count only beside a power of ten, or in brackets."""

_INSIDE = frozenset(("of", "de", "di", "d"))
_IN_FRONT = frozenset(("in", "en", "x", "×", "単位", "单位", "단위"))
"""Words that may stand inside a unit, and in front of one."""


_SCALES = {word: power for power, some in _EXPONENTS.items() for word in some.split()}
_CODES = {
    mark: frozenset(code for code, some in _CURRENCIES.items() if mark in some.split())
    for some in _CURRENCIES.values()
    for mark in some.split()
}

_GLUED = re.compile(r"(k|t|m|tsd|mio|mrd|bn)(" + "|".join(map(str.lower, _CURRENCIES)) + ")")
"""A power of ten and a currency in one word: TEUR, kCHF."""

_EAST = "\u3005-\u9fff\uac00-\ud7af"
_SCALE_SIGNS = "十百千万萬億亿兆백천만억십조"
_EASTERN = re.compile(
    rf"(?P<scale>[{_SCALE_SIGNS}]*)"
    rf"(?P<unit>{'|'.join(w for w in (*_CODES, *_PEOPLE) if w[0] >= '　' and len(w) < 4)})?$"
)
_SIGNS = "".join(sorted({mark for mark in _CODES if len(mark) == 1 and not mark.isalpha()}))

_TOKEN = re.compile(
    r"(?P<power>(?<![0-9.,A-WYZa-wyz])"
    rf"(?:1(?:0{{0,2}}(?:[.,'\u2019 ]000)+|0{{2,}})(?![0-9])(?![.,][0-9])|10*(?=[{_SCALE_SIGNS}])))"
    r"|(?P<omitted>['\u2019]?(?<![0-9.,A-Za-z])000(?![0-9.,]))"
    r"|(?P<number>(?<![A-Za-z])[0-9]+(?:[.,'\u2019][0-9]+)*)"
    rf"|(?P<sign>(?:us|ca?|au?|nz|hk|s|nt|r)?[{re.escape(_SIGNS)}])"
    rf"|(?P<east>[{_EAST}\u30a0-\u30ff]+)"
    r"|(?P<word>[^\W\d_]+)"
    r"|(?P<bracket>[()\[\]{},;:])|(?P<other>[^\s.])"
)


@dataclass(frozen=True)
class TitleUnit:
    """A unit that a title states.

    Attributes
    ----------
    factor : Fraction or None
        What a number of the column is multiplied by; None where the title says nothing.
    currencies : frozenset of str
        Codes of the currencies that it may mean; empty where it names none.
    written : str
        Its words, of a fixed vocabulary: nothing else of a title is shown.
    """

    factor: Fraction | None = None
    currencies: frozenset[str] = frozenset()
    written: str = ""

    def __bool__(self) -> bool:
        return self.factor is not None or bool(self.currencies)

    @property
    def is_multiple(self) -> bool:
        """Whether numbers are counted in a multiple of what they are of, and not of money."""
        return self.factor not in (None, 1) and not self.currencies

    def complete(self, other: TitleUnit) -> TitleUnit:
        """Return the unit with what another title says of it where it says nothing itself."""
        written = [self.written] if self else []
        factor, currencies = self.factor, self.currencies
        if (factor is None and other.factor is not None) or (not currencies and other.currencies):
            written.append(other.written)
        if factor is None:
            factor = other.factor
        return TitleUnit(factor, currencies or other.currencies, " ".join(written))

    def differs_from(self, declared: TitleUnit) -> bool:
        """Return whether a title says another unit than the one that was stated."""
        if self.currencies and not self.currencies & declared.currencies:
            return True
        return bool(self) and (self.factor or 1) != (declared.factor or 1)


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    exponent: int = 0
    codes: frozenset[str] = frozenset()


def read_title(title: str) -> TitleUnit:
    """Return the unit that a title states; a false one where it states none.

    Numbers beside other numbers are classes and no units: "5 million and more".

    Examples
    --------
    >>> read_title("income (1,000 EUR)").factor, read_title("年収（万円）").factor
    (Fraction(1000, 1), Fraction(10000, 1))
    >>> sorted(read_title("rent [CHF]").currencies), bool(read_title("age_2000"))
    (['CHF'], False)
    """
    return reduce(TitleUnit.complete, starmap(_unit_of, _phrases([*_tokens(title)])), TitleUnit())


@cache
def read_unit(text: str) -> TitleUnit:
    """Return the unit of an amount as an operator states it, such as "10,000 yen" or "5 EUR"."""
    factor, tokens = Fraction(1), [*_tokens(text)]
    for at, one in enumerate(tokens):
        adjacent = {each.kind for each in (*tokens[max(at - 1, 0) : at], *tokens[at + 1 : at + 2])}
        if one.kind == "number":
            plain = re.sub(r"[.,'\u2019](?=[0-9]{3}(?![0-9]))", "", one.text).replace(",", ".")
            factor *= Fraction(plain)
        # EUR per m2 is no million.
        elif one.text not in _SHORT or not adjacent.isdisjoint(("currency", "people")):
            factor *= Fraction(10) ** one.exponent
    codes = [one.codes for one in tokens if one.codes]
    return TitleUnit(factor, codes[0] if codes else frozenset(), " ".join(text.split()))


def find_unit(table: InputTable, column: int) -> TitleUnit:
    """Return the unit that the titles of a column state, those nearest to its numbers first."""
    return reduce(TitleUnit.complete, map(read_title, list_titles(table, column)), TitleUnit())


def list_titles(table: InputTable, column: int) -> Iterator[str]:
    """Yield the titles of a column: its name, label and unit, and titles of the whole table."""
    yield table.columns[column]
    if isinstance(table, TextTable):
        yield table.labels[column]
    rows: Sequence[tuple[bool, Sequence[str]]] = getattr(table, "title_rows", ())
    for is_above, cells in rows:
        if not is_above and column < len(cells):
            yield f"({cells[column]})"
    for is_above, cells in rows:
        if is_above:
            yield from (f"({cell})" for cell in cells if cell.strip())


def _tokens(title: str) -> Iterator[_Token]:
    """Yield the words and signs of a title that may belong to a unit, and all others."""
    text = normalize("NFKC", title).casefold().replace("_", " ").replace("miles de", "thousand de")
    for match in _TOKEN.finditer(text):
        kind, word = str(match.lastgroup), match.group()
        if kind in ("power", "omitted"):
            zeros = sum(one == "0" for one in word)
            yield _Token("power", word, zeros)
        elif kind == "sign":
            # 'ca$' is an unknown dollar, whose last character is a currency anyway.
            yield _Token("currency", word, codes=_CODES.get(word) or _CODES[word[-1]])
        elif kind == "east":
            yield from _eastern_tokens(word)
        elif kind != "word":
            yield _Token(kind, word)
        elif word in _SCALES:
            yield _Token("scale", word, _SCALES[word])
        elif word in _CODES:
            yield _Token("currency", word, codes=_CODES[word])
        elif glued := _GLUED.fullmatch(word):
            yield _Token("scale", glued[1], _SCALES[glued[1]])
            yield _Token("currency", glued[2], codes=_CODES[glued[2]])
        elif word in _PEOPLE:
            yield _Token("people", word)
        else:
            yield _Token("join" if word in (*_INSIDE, *_IN_FRONT) else "name", word)


def _eastern_tokens(run: str) -> Iterator[_Token]:
    """Yield the tokens of a run of characters without blanks: a unit stands at its end."""
    match = _EASTERN.search(run)
    scale, unit = (match["scale"], match["unit"]) if match else ("", None)
    rest = run[: len(run) - len(scale) - len(unit or "")]
    # A place such as 千 alone at the end of a name is no unit; in brackets it is.
    if not unit and rest:
        yield _Token("name", run)
        return
    if rest:
        yield _Token("join" if rest in _IN_FRONT else "name", rest)
    if scale:
        yield _Token("scale", scale, sum(_SCALES.get(one, 1) for one in scale))
    if unit in _CODES:
        yield _Token("currency", unit, codes=_CODES[unit])
    elif unit:
        yield _Token("people", unit)


_OF_UNIT = ("power", "scale", "currency", "people", "join")


def _phrases(tokens: Sequence[_Token]) -> Iterator[tuple[list[_Token], str, str]]:
    """Yield runs of tokens of units, with the kinds of the tokens before and behind each.

    The kind before the first token and behind the last one is an empty text.
    """
    at = 0
    while at < len(tokens):
        end = at
        while end < len(tokens) and tokens[end].kind in _OF_UNIT:
            end += 1
        if end > at:
            before = tokens[at - 1].kind if at else ""
            after = tokens[end].kind if end < len(tokens) else ""
            yield [*tokens[at:end]], before, after
        at = max(end, at + 1)


def _unit_of(phrase: list[_Token], before: str, after: str) -> TitleUnit:
    """Return the unit of a run of tokens, a false one if it is none."""
    # A number beside it makes a class: "under 5 million EUR".
    if "number" in (before, after):
        return TitleUnit()
    is_led = phrase[0].text in _IN_FRONT
    in_brackets = (before == "bracket" or is_led) and after in ("bracket", "")
    scales = [one for one in phrase if one.kind in ("scale", "power")]
    codes = [one for one in phrase if one.kind == "currency"]
    people = any(one.kind == "people" for one in phrase)
    if not scales and not in_brackets:
        codes = [one for one in codes if one.text not in _DOUBTFUL]
    if not codes and not in_brackets:
        # Numbers such as 1,000 may be of anything else, and short words may be other words.
        begins = people and before in ("", "bracket")
        is_last = before == "name" and after == ""
        scales = [
            one
            for one in scales
            if begins
            or (one.kind == "scale" and (people or one.text not in _SHORT))
            or (one.text == "k" and is_last)
        ]
    # Of cells of 1000 m, and of men and totals.
    if not codes and not people and any(one.text in ("m", "t") for one in scales):
        scales = []
    if not scales and not codes:
        return TitleUnit()
    factor = Fraction(10) ** sum(one.exponent for one in scales) if scales else None
    written = " ".join(one.text for one in phrase if one in scales or one in codes)
    return TitleUnit(factor, codes[0].codes if codes else frozenset(), written)


AMOUNTS = """
income incomes salary salaries wage wages earning earnings rent rents rental price prices cost
costs
fare fares turnover turnovers sale sales revenue revenues tax taxes age ages distance distances
duration durations height heights weight weights area areas length lengths expenditure
expenditures
expense expenses spending profit profits debt debts mortgage fee fees wealth gdp payment payments
einkommen bruttoeinkommen nettoeinkommen haushaltseinkommen gehalt gehälter gehaelter lohn löhne
loehne bruttolohn nettolohn miete mieten kaltmiete warmmiete preis preise kosten umsatz umsätze
umsaetze alter steuer steuern fahrpreis entfernung dauer höhe hoehe gewicht fläche flaeche erlös
erlöse ausgaben einnahmen
revenu revenus salaire salaires loyer loyers prix coût coûts impôt impôts âge âges distance durée
hauteur poids superficie surface dépense dépenses
ingreso ingresos salario salarios sueldo sueldos alquiler alquileres renta rentas precio precios
coste costes costo costos venta ventas impuesto impuestos edad edades distancia duración altura
tarifa gasto gastos
renda rendas rendimento rendimentos salário salários aluguel preço preços custo custos vendas
imposto
idade distância duração receita
reddito redditi stipendio stipendi salari affitto affitti canone prezzo prezzi costi ricavi
fatturato
imposta imposte età distanza durata altezza peso spesa
inkomen inkomens loon lonen salaris salarissen huur huren prijs prijzen omzet leeftijd afstand
duur
gewicht oppervlakte belasting
inkomst inkomster lön löner hyra hyror pris priser ålder inntekt inntekter lønn leie alder
indkomst
indkomster løn husleje omsætning omsetning areal
dochód dochody płaca płace wynagrodzenie czynsz cena ceny wiek příjem příjmy mzda nájem věk tulot
palkka vuokra hinta ikä jövedelem ár életkor gelir maaş kira fiyat yaş
доход доходы зарплата аренда цена цены возраст площадь выручка
"""
"""Names of money and measures, in languages whose words have blanks between them."""

EASTERN = """
年収 所得 給与 給料 賃金 月給 家賃 賃料 価格 運賃 料金 売上 収入 支出 金額 費用 税額 税
年金 年齢 身長 体重 面積 距離 所要時間 単価 報酬 地価 工资 工資 薪水 房租 租金 价格 價格
年龄 年齡 面积 销售额 소득 급여 임금 월세 가격 요금 매출 나이 연령 연봉 세금 면적 거리
"""
"""Names of money and measures in scripts without blanks, where they are parts of names."""

COUNTED = """
n nb no nr num number numbers count counts counted cnt freq frequency headcount population
populations
pop persons people inhabitants residents households
employees workers earners payers taxpayers recipients tenants renters owners users customers
visitors
students children men women adults families jobs dwellings houses homes buildings trips journeys
anzahl zahl personen einwohner haushalte beschäftigte bevölkerung nombre effectif effectifs
habitants
personnes ménages número numero personas habitantes hogares pessoas residentes domicílios persone
residenti famiglie abitanti aantal inwoners personer antal antall hushåll befolkning liczba osoby
ludność počet kişi численность население
"""
"""Words of what is counted, beside which a name of an amount says by what: persons by income."""

EASTERN_COUNTED = re.compile(
    "別|階級|区分|階層|未満|以上|以下|以内|コード|(?:数|人口|人員|世帯|者|人|件|戸|组|分组|구간|별)$"
)
"""Parts of names in scripts without blanks that make counts, or classes of them."""

CLASSES = """
class classes group groups grp band bands bracket brackets category cat decile quintile quartile
percentile level code codes cd id key name label type range interval under over below above less
more
plus lt gt le ge from to until up low lower high upper middle klasse gruppe bis unter über ab
tranche moins plus classe fascia grupo menos mas hasta
"""
"""Words of classes, in which people are counted, and of codes of these."""

STATISTICS = """
mean means average averages avg median medians per mittel mittlere durchschnitt durchschnittliches
durchschnittliche moyen moyenne médian médiane promedio medio media mediana médio média gemiddeld
gemiddelde genomsnitt
"""
"""Words of a statistic: the mean income of persons is an amount, whomever it is of."""

RULE = Rule(
    "amount-as-count",
    "Column {column}: {why}, and an amount is no count: a row of 30,000 counts 30,000 people. "
    "Sums and means of amounts are released by geodp amounts publish (--amount, "
    "geodp.amounts.publish). If its numbers are counts nevertheless, state the number that stands "
    "for one person, such as 1 (--raster-unit 1, value_unit=1).",
)

SHARES = """
share shares percent percentage pct proportion ratio density
anteil anteile prozent quote dichte bevölkerungsdichte einwohnerdichte
pourcentage taux densité porcentaje proporción tasa densidad
percentuale tasso densità percentagem taxa densidade aandeel dichtheid bevolkingsdichtheid
"""
"""Words of shares and densities, which are counts of nothing."""

EASTERN_SHARES = "密度 割合 比率 構成比 百分率 百分比 占比 밀도 비율"

_BY_LAND = re.compile(
    r"(?:/|\bper\b|\bpro\b|\bje\b|\bpar\b|\bpor\b)\s*"
    r"(?:km\W?2|km²|sq\b|square\b|ha\b|hectare|hektar|acre|mi2|mi²)",
    re.IGNORECASE,
)
"""Persons on so much land: a density."""

SHARE = Rule(
    "share-as-count",
    "Column {column}: by its name its numbers are shares or densities, and these are no counts of "
    "people: choose the column of counts (--value, value=). If its numbers are counts all the "
    "same, state the number that stands for one person, such as 1 (--raster-unit 1, value_unit=1).",
)

MULTIPLE = Rule(
    "count-in-multiples",
    "Column {column}: by a title its numbers are of a multiple of what is counted ({written}), so "
    "that they would be published too small. State the number that stands for one person, such as "
    "{unit} (--raster-unit {unit}, value_unit={unit}), or 1 if they are counts nevertheless.",
)


def is_amount(name: str, label: str = "") -> bool:
    """Return whether a column is named for money or a measure, and not for what is counted.

    Examples
    --------
    >>> [is_amount(one) for one in ("Household income", "Umsätze (Tsd. EUR)", "年齢", "village")]
    [True, True, True, False]
    >>> [is_amount(one) for one in ("income_group", "men by income", "age_0_14", "年収別人口")]
    [False, False, False, False]
    """
    return any(map(_is_amount, filter(None, (name, label))))


def is_share(name: str) -> bool:
    """Return whether the name of a column says that its numbers are shares or densities.

    Examples
    --------
    >>> [is_share(one) for one in ("women [%]", "％", "income below 60 % of the median", "n")]
    [True, True, False, False]
    >>> [is_share(one) for one in ("n per km2", "人口密度", "share of women", "population")]
    [True, True, True, False]
    """
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", normalize("NFKC", name))
    plain = text.replace("_", " ")
    if _BY_LAND.search(name) or _BY_LAND.search(plain):
        return True
    words = {_fold(word) for word in re.findall(r"[^\W\d_]+", text)}
    eastern = any(word in text for word in EASTERN_SHARES.split())
    says = not _words("SHARES").isdisjoint(words) or (eastern and not EASTERN_COUNTED.search(text))
    return is_percentage(name) or (says and not _is_class(text))


def is_percentage(name: str) -> bool:
    """Return whether the name of a column has a sign of percentages, or per mille, as its unit."""
    text = normalize("NFKC", name)
    return re.search("[%\u2030]", text) is not None and not _is_class(text)


def require_counts(table: InputTable, columns: Sequence[int], unit: float | None) -> None:
    """Raise InputError for a column of counts whose title says that its numbers are amounts.

    Or multiples, such as thousands. Nothing is asked where the operator stated the ``unit``, the
    number that stands for one person.
    """
    if unit is not None:
        return
    for column in columns:
        name = table.columns[column].strip()
        labels = getattr(table, "labels", ())
        shown = list_names([name])
        label = labels[column] if column < len(labels) else ""
        if is_amount(name, label):
            rule = RULE.format(column=shown, why="its name is that of an amount")
            raise InputError(rule, file=table.name)
        if any(is_share(one) for one in (name, label)):
            raise InputError(SHARE.format(column=shown), file=table.name)
        title_unit = find_unit(table, column)
        if title_unit.is_multiple and title_unit.factor is not None:
            number = f"{float(1 / title_unit.factor):.12f}".rstrip("0")
            written = printable(title_unit.written)
            rule = MULTIPLE.format(column=shown, written=written, unit=number)
            raise InputError(rule, file=table.name)


def _is_amount(title: str) -> bool:
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", normalize("NFKC", title))
    # What stands in brackets says by what, or in which unit.
    plain = re.sub(r"[(\[{].*?[)\]}]", " ", text) if not text.startswith(("(", "[")) else text
    eastern = re.findall(r"[\u3005-\u9fff\uac00-\ud7af\u30a0-\u30ff]+", plain)
    if any(word in run for run in eastern for word in EASTERN.split()):
        return not any(EASTERN_COUNTED.search(run) for run in eastern) and not _is_class(plain)
    words = [_fold(word) for word in re.findall(r"[^\W\d_]+", plain)]
    named = not _words("AMOUNTS").isdisjoint(words) or bool(read_title(title).currencies)
    if not named or _is_class(plain) or not _words("CLASSES").isdisjoint(words):
        return False
    # A currency in brackets is the unit of the numbers, unless it is that of what is counted by.
    inside = re.findall(r"([(\[{].*?[)\]}])", text)
    if any(read_title(one).currencies for one in inside) and _words("AMOUNTS").isdisjoint(words):
        return True
    # "Sales of persons" are sales, and "number of sales" is a number.
    heads = {word for word, after in pairwise(words) if after == "of"}
    of_amount = _words("STATISTICS") & {*words} or _words("AMOUNTS") & heads
    return bool(of_amount) or _words("COUNTED").isdisjoint(words)


def _is_class(text: str) -> bool:
    """Return whether a name has numbers other than years, which are ends of classes."""
    without = re.sub(r"(?<![0-9])(?:19|20)[0-9]{2}(?![0-9])", " ", text)
    power = r"(?:1(?:0{0,2}(?:[.,' ]000)+|0{2,})|'?000s?)"
    return re.search("[0-9]", re.sub(rf"(?<![0-9]){power}(?![0-9])", " ", without)) is not None


def _fold(word: str) -> str:
    """Return a word without case and accents."""
    decomposed = normalize("NFKD", word.casefold())
    return "".join(one for one in decomposed if not combining(one))


@cache
def _words(name: str) -> frozenset[str]:
    """Return the folded words of one of the lists of this module."""
    return frozenset(map(_fold, globals()[name].split()))
