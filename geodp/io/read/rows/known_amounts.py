"""Names of amounts: money and measures, whose numbers are no counts of people.

A count of 30,000 counts 30,000 people, so that a column ``income`` that is read as one publishes
sums of incomes with the noise for one person. A name proves nothing: such a column is asked about,
and the operator confirms that its numbers are counts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from unicodedata import combining, normalize

from geodp.errors import InputError, Rule, printable
from geodp.io.read.rows.columns import InputTable
from geodp.io.read.rows.names import list_names
from geodp.io.read.rows.title_units import find_unit, read_title

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

SHARE = Rule(
    "share-as-count",
    "Column {column}: its name has a sign of percentages or per mille, and no share is a count of "
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
    """Return whether the name of a column says that its numbers are percentages, or per mille.

    Examples
    --------
    >>> [is_share(one) for one in ("women [%]", "％", "income below 60 % of the median", "n")]
    [True, True, False, False]
    """
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
        found = find_unit(table, column)
        if found.is_multiple and found.factor is not None:
            number = f"{float(1 / found.factor):.12f}".rstrip("0")
            written = printable(found.written)
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
