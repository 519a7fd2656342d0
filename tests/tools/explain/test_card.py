"""Pages of releases: every figure is the card's, every word is plain or explained."""

import json
import re
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError, VerificationError
from geodp.kinds.selection.card import SelectionCard
from geodp.kinds.selection.explanation import SHOWN
from geodp.kinds.selection.question import Quantile
from geodp.kinds.selection.selected import prepare
from geodp.privacy.terms import Terms
from geodp.release.request import Request
from geodp.table.contribution import SUMS
from geodp.table.stated.error import StatedFloor
from geodp.table.stated.release import ApproximateLoss, ConcentratedLoss, PureLoss, StatedCharge
from geodp.tools.explain.audit import explain_audit
from geodp.tools.explain.card import RARE, explain
from geodp.tools.explain.page import HALF, OPEN, PRIORS, SIZES, texts_of, write_number

PLAIN = {
    name: set(Path(__file__).with_name(f"plain_{name}.txt").read_text(encoding="utf-8").split())
    for name in ("en", "ja")
}
"""Words of everyday life; whatever else a page says is a term, and explained on it."""

LONGEST = {"en": 25, "ja": 60}
"""Words of a sentence, and letters of one in Japanese."""

GRID = geodp.Grid.regular((8, 8))
COUNTS = np.arange(64).reshape(8, 8) % 7
BUDGETS = {
    "topdown": {"method": "topdown", "epsilon": "1/10", "contribution": 2},
    "pyramid": {
        "method": "pyramid",
        "epsilon": 1,
        "people": 40,
        "neighbours": "replace-one",
        "unit": "trip",
    },
    "gaussian": {"method": "topdown", "rho": "1/50", "people": 100, "unit": "household"},
    "gaussian, delta": {
        "method": "pyramid",
        "epsilon": 1,
        "delta": "1e-6",
        "people": 40,
        "unit": "person-day",
    },
    "agrid": {"method": "agrid", "epsilon": "1/2", "unit": "visit"},
    "laplace": {"method": "laplace", "epsilon": 40},
    "fixed": {"method": "topdown", "epsilon": 1, "key": geodp.NoiseKey(bytes(32))},
}


def card_of(budget, **more):
    """The card as it is written, of a guess of people that leaves some blocks useless."""
    kwargs = {"contribution": 1, "people": 400, **BUDGETS[budget], **more}
    table = geodp.CountTable.from_dense(COUNTS, GRID)
    card = geodp.publish(table, **{"contribution": 1, **kwargs}).card()
    return replace(card, name="population", release_id="0123456789abcdef")


LOCAL = (
    "taking part, and the number of reports, which is the total: both are public",
    "further reports of the same device, in this round or another: k reports cost k times epsilon",
    "how a report came: network addresses and times are no part of it and are not protected by it",
)
LOSSES = {
    "pure": [PureLoss("pure", text, float(Fraction(text))) for text in ("1/10", "3/10", "2")],
    "concentrated": [
        ConcentratedLoss("zero-concentrated", text, float(Fraction(text)))
        for text in ("1/8", "3/8", "5")
    ],
    "approximate": [
        ApproximateLoss("approximate", text, float(Fraction(text)), "1/10000", 1e-4)
        for text in ("1/8", "3/8", "5")
    ],
}
TERMS = {"epsilon": "1/2", "contribution": 2}
CHOICES = {
    "top": partial(geodp.select.top_cells, k=3, neighbours="replace-one", unit="trip"),
    "areas": partial(geodp.select.top_cells, k=SHOWN - 4, level=2),
    "many": partial(geodp.select.top_cells, k=SHOWN + 1, mechanism="exponential"),
    "quantile": lambda table, **terms: prepare(
        table, Quantile(Fraction(1, 3), "row"), Request(terms=Terms.of(**terms))
    ).release(),
}
NAMES = (
    *BUDGETS,
    "local",
    *(f"charged, {name}" for name in LOSSES),
    *CHOICES,
    "charged selection",
    "fixed selection",
)


@cache
def selections():
    table = geodp.CountTable.from_dense(COUNTS, GRID)
    return {name: choose(table, **TERMS) for name, choose in CHOICES.items()}


@cache
def cards():
    """Cards by name, made when the first test asks: who collects tests need not release."""
    collected = {name: card_of(name) for name in BUDGETS}
    topdown = collected["topdown"]
    collected["local"] = replace(
        topdown,
        guarantee=replace(
            topdown.guarantee,
            variant="local epsilon-differential privacy",
            unit="device",
            neighbours="replace-one",
            noise_scale=None,
            noise_scale_decimal=None,
            not_protected=(topdown.guarantee.not_protected[0], *LOCAL),
        ),
    )
    for name, losses in LOSSES.items():
        charge = StatedCharge("L", "people", "person", "add-remove-one", *losses, 2, 4, "ab")
        collected[f"charged, {name}"] = replace(topdown, budget=charge)
    for name, selection in selections().items():
        collected[name] = replace(selection.card(), release_id="0123456789abcdef")
    collected["charged selection"] = replace(
        collected["top"],
        budget=collected["charged, pure"].budget,
        chosen=({"code": "5_6"}, {"code": "7_8"}),
    )
    table = geodp.CountTable.from_dense(COUNTS, GRID)
    collected["fixed selection"] = geodp.select.top_cells(
        table, 1, key=geodp.NoiseKey(bytes(32)), **TERMS
    ).card()
    return collected


@pytest.fixture
def card(request):
    return cards()[request.param]


@pytest.fixture
def source(request):
    return AUDIT if request.param == "audit" else cards()[request.param]


AUDIT = {
    "guarantee": {
        "threshold": 10,
        "rate": "1/5",
        "bound": "exact",
        "neighbours": "add-remove-one",
        "epsilon": 1.0252,
        "delta": 3.443e-6,
        "words": "what geodp audit says itself",
    },
    "confidential": {"k_anonymity": 7},
}
"""As ``geodp audit --json`` writes it, as far as it is read."""

every = pytest.mark.parametrize("card", NAMES, indirect=True)
languages = pytest.mark.parametrize("language", ["en", "ja"])


def sentences(page):
    return [page.title, *(text for section in page.sections for text in section.sentences)]


def words(text, language):
    """Words in English; runs of katakana and of kanji in Japanese."""
    text = re.sub(r"`[^`]*`|release\.json|[0-9a-f]{16}", " ", text)
    matches = re.findall(
        r"[A-Za-z]+(?:-[a-z]+)*" if language == "en" else r"[ァ-ヴー]+|[一-龥々]+", text
    )
    return {word.lower() for word in matches}


def numbers(page):
    """All that stand below the title, in their order."""
    text = page.to_text().partition("\n")[2]
    return re.findall(r"\d[\d,]*(?:[./^]-?\d+)*", text)


def changed(value):
    """The same plain value with every number in it another, and every exact text."""
    if is_dataclass(value):
        return replace(value, **{f.name: changed(getattr(value, f.name)) for f in fields(value)})
    if isinstance(value, tuple):
        return tuple(changed(one) for one in value)
    if isinstance(value, dict):
        return {name: changed(one) for name, one in value.items()}
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return 3 * value + 7
    if isinstance(value, float):
        return 1.37 * value
    if isinstance(value, str) and re.fullmatch(r"\d+(/\d+)?", value):
        return str(Fraction(value) * Fraction(137, 100))
    if isinstance(value, str) and re.fullmatch(r"\d+_\d+", value):
        return "_".join(str(int(part) + 50) for part in value.split("_"))
    return value


QUESTIONS = {
    *(write_number(100 * prior) for prior in (*PRIORS, HALF)),
    *(write_number(size) for size in (1, *SIZES)),
}
"""What the page asks about, whatever the release."""


@pytest.mark.parametrize(
    "name", [name for name in NAMES if name not in ("laplace", "fixed", "fixed selection")]
)
@languages
def test_every_number_on_the_page_comes_from_the_card(name, language):
    card = cards()[name]
    before = numbers(explain(card, language))
    after = numbers(explain(changed(card), language))
    assert len(before) == len(after) > 20
    unstated = not isinstance(card, SelectionCard) and card.guarantee.delta is None
    allowed = QUESTIONS | ({write_number(1 / RARE)} if unstated else set())
    same = {old for old, new in zip(before, after, strict=True) if old == new}
    assert same <= allowed


@languages
def test_the_sentences_hold_no_figures_of_their_own(language):
    table = texts_of(language)
    texts = [*table.sentences.values(), *table.terms, *table.terms.values(), *table.units.values()]
    assert [text for text in texts if re.search(r"[0-9]", re.sub(r"{.*?}", "", text))] == []


def page_of(source, language):
    return (explain_audit if isinstance(source, dict) else explain)(source, language)


every_page = pytest.mark.parametrize("source", [*NAMES, "audit"], indirect=True)


@every_page
@languages
def test_sentences_are_short(source, language):
    for text in sentences(page_of(source, language)):
        for sentence in re.split(r"(?<=[.!?:;])\s+|(?<=。)", text):
            length = len(sentence.split()) if language == "en" else len(sentence)
            assert length <= LONGEST[language], sentence


@every_page
@languages
def test_no_word_is_neither_plain_nor_explained(source, language):
    page = page_of(source, language)
    used = {word for text in sentences(page) for word in words(text, language)}
    used |= {
        word for part in page.sections for column in part.head for word in words(column, language)
    }
    explained = {text.partition(":")[0].partition("：")[0] for text in page.sections[-1].sentences}
    terms = {word for term in explained for word in words(term, language)}
    terms |= {f"{word}s" for word in terms}
    allowed_names = {"geodp"}
    if not isinstance(source, dict):
        named = [*source.chosen[0]] if isinstance(source, SelectionCard) else [source.name]
        allowed_names |= words(" ".join([*named, source.guarantee.unit]), language)
    unknown = used - terms - allowed_names - PLAIN[language]
    assert unknown == set()


@every
@languages
def test_terms_are_explained_where_they_are_used_and_only_there(card, language):
    page = explain(card, language)
    above = "\n".join(
        text for part in page.sections[:-1] for text in (*part.sentences, part.heading)
    )
    listed = [text.partition(":")[0].partition("：")[0] for text in page.sections[-1].sentences]
    table = texts_of(language).terms
    assert listed == sorted(set(listed))
    assert {term for term in table if term in above} <= set(listed)
    if isinstance(card, SelectionCard) or (card.guarantee.rho is None and card.budget is None):
        assert not {"rho", "ロー"} & set(listed)


def test_the_table_of_beliefs_is_that_of_the_bounds():
    page = explain(cards()["pyramid"])
    (section,) = [part for part in page.sections if part.heading == "What somebody can find out"]
    beliefs = geodp.explain.beliefs(1, PRIORS)
    assert [row[2] for row in section.rows] == ["2.67 %", "23.2 %", "73.1 %"]
    assert [row[1] for row in section.rows] == [f"{100 * one.least:.3g} %" for one in beliefs]
    assert page.figures["advantage"] == pytest.approx(np.tanh(0.5))
    half = "If the chance of this was 50 % for them before, it lies between 26.9 % and 73.1 %"
    assert section.sentences[1].startswith(half)


def test_the_table_of_places_has_those_of_one_more_and_one_less():
    page = explain(cards()["topdown"])
    (section,) = [part for part in page.sections if "where one" in part.heading]
    found = geodp.explain.beliefs(Fraction(2, 10), PRIORS)
    assert [row[2] for row in section.rows] == [
        write_number(100 * one.most) + " %" for one in found
    ]
    assert page.figures["where_most"] == pytest.approx(found[-1].most)


@every_page
def test_one_more_or_less_bounds_whether_and_one_moved_bounds_where(source):
    """Another place is one removed and one added: twice as far, in a section of its own."""
    page = page_of(source, "en")
    if len(page.sections) == 2:
        return
    text, guarantee = (
        page.to_text(),
        source["guarantee"] if isinstance(source, dict) else source.guarantee,
    )
    neighbours = guarantee["neighbours"] if isinstance(source, dict) else guarantee.neighbours
    more_or_less = neighbours == "add-remove-one"
    assert ("suspects that one" in text) == more_or_less
    assert ("was counted, and has a place in mind" in text) == more_or_less
    assert ("if the question is where" in text) != more_or_less
    assert ("suspects something about one" in text) != more_or_less


@every_page
@languages
def test_it_says_that_numbers_are_rounded(source, language):
    """They are not rounded to the safe side: 2.674 % at most is written as 2.67 %."""
    sentence = {"en": "These numbers are rounded.", "ja": "この説明の数は丸めてあります。"}
    page = page_of(source, language)
    assert (sentence[language] in sentences(page)) == (len(page.sections) > 2)


def test_a_household_counts_together():
    def most(name, size):
        (part,) = [p for p in explain(cards()[name]).sections if p.heading == "Households"]
        (row,) = [row for row in part.rows if row[0] == str(size)]
        return float(row[2].removesuffix(" %"))

    for size in (1, *SIZES):
        (bound,) = geodp.explain.beliefs(Fraction(size, 10), [0.1])
        assert most("topdown", size) == pytest.approx(100 * bound.most, abs=0.05)
    # With rho, the shift of f people is more than f times that of one.
    assert (
        most("gaussian", 4)
        > 100
        * geodp.explain.beliefs(4 * np.log(explain(cards()["gaussian"]).figures["factor"]), [0.1])[
            0
        ].most
    )


def test_a_local_release_needs_no_trust_and_hides_places():
    text = explain(cards()["local"]).to_text()
    assert "Every device makes its own noise, so nobody else needs to be trusted." in text
    assert "Somebody bets on which of two places one device was at" in text
    assert "Further reports of the same device add to this one." in text
    assert "the office answers" not in text
    error = replace(cards()["local"].expected_error, blocks=None)
    assert "width" not in explain(replace(cards()["local"], expected_error=error)).to_text()


def test_a_release_that_is_not_private_gets_no_promises():
    page = explain(cards()["fixed"])
    assert "NOT PRIVATE" in page.to_text()
    assert len(page.sections) == 2
    assert "factor" not in page.figures


@pytest.mark.parametrize(
    ("people", "cells", "sentence"),
    [
        (900, 4, "With 900 people in all, blocks of fewer than 4 cells say no more than zeros"),
        (9e6, 1, "With 9,000,000 people in all, even single cells say more than zeros would."),
        (2, None, "With 2 people in all, even the whole map says no more than zeros would."),
    ],
)
def test_the_smallest_useful_block(people, cells, sentence):
    card = cards()["topdown"]
    floor = StatedFloor("", people, cells)
    error = replace(card.expected_error, floor=floor)
    assert sentence in explain(replace(card, expected_error=error)).to_text()
    error = replace(card.expected_error, floor=None)
    assert "There is no guess" in explain(replace(card, expected_error=error)).to_text()


@every
def test_what_is_not_protected_is_said_in_plain_words_or_quoted(card):
    lines = card.guarantee.not_protected
    assert all(any(line.startswith(begins) for begins in OPEN) for line in lines)
    more = replace(card, guarantee=replace(card.guarantee, not_protected=(*lines, "x \x1b[2J y")))
    if card.private:
        assert "The card adds in its own words: x \\x1b[2J y" in explain(more).to_text()


def test_a_kept_key_and_sums_of_labels_are_told():
    guarantee = cards()["pyramid"].guarantee
    lines = (
        "whether two releases with the same kept key and parameters come from exactly the same "
        "input: they are then identical, so use a new key for every new state of the data",
        SUMS,
    )
    text = explain(
        replace(cards()["pyramid"], guarantee=replace(guarantee, not_protected=lines))
    ).to_text()
    assert "Two releases with the same kept key" in text
    assert "labels which are sums of others" in text
    assert "own words" not in text


def spoilt(plain, way=()):
    """Every copy of plain values in which one number or exact text is another that cannot be."""
    if isinstance(plain, dict | list):
        for name, inner in plain.items() if isinstance(plain, dict) else enumerate(plain):
            for worse in spoilt(inner, (*way, name)):
                copy = {**plain} if isinstance(plain, dict) else [*plain]
                copy[name] = worse
                yield copy
    elif isinstance(plain, int | float) and not isinstance(plain, bool):
        yield from (0, 1, 1e308, 5e-324, 10**19)
    elif isinstance(plain, str) and re.fullmatch(r"\d+(/\d+)?", plain):
        yield from ("0", "1/0", "0/0", "9" * 400, "1/" + "9" * 400)


@pytest.mark.parametrize("name", ["gaussian, delta", "charged, approximate", "top", "quantile"])
def test_numbers_that_cannot_be_are_refused_or_said(name):
    card, refused = cards()[name], 0
    for plain in spoilt(json.loads(json.dumps(card.to_json()))):
        try:
            explain(type(card).from_json(plain)).to_text()
        except VerificationError:
            refused += 1
    assert refused > 5


def test_numbers_of_an_audit_that_cannot_be_are_refused_or_said():
    for plain in spoilt(AUDIT):
        try:
            explain_audit(plain).to_text()
        except VerificationError:
            continue


def test_an_exact_number_counts_and_not_the_decimal_beside_it():
    card = cards()["top"]
    other = replace(card, guarantee=replace(card.guarantee, epsilon_decimal=99.0))
    assert explain(other).to_text() == explain(card).to_text()


def test_a_selection_lists_what_was_drawn():
    def listed(name):
        (section,) = [part for part in explain(cards()[name]).sections if "asked" in part.heading]
        return section

    card = cards()["top"]
    assert listed("top").rows == tuple((one["code"],) for one in card.chosen)
    assert len(listed("many").rows) == SHOWN < len(cards()["many"].chosen)
    assert "the card has all" in " ".join(listed("many").sentences)
    hostile = replace(card, chosen=({"a|b": "x|\x1b[2J"},))
    assert "| a\\|b |\n| --: |\n| x\\|\\x1b[2J |" in explain(hostile).to_text()


@pytest.mark.parametrize("mechanism", [geodp.select.permute_and_flip, geodp.select.exponential])
def test_what_is_so_far_behind_is_at_most_half_as_likely(mechanism):
    behind = explain(cards()["top"]).figures["behind"]
    assert behind == pytest.approx(np.log(2) / (0.5 / 3 / 2 / 2))
    law = mechanism.probabilities(
        [100, 100 - Fraction(behind), 98], epsilon=Fraction(1, 24), monotone=True
    )
    assert law[1] <= law[0] / 2 * (1 + 1e-9)


def test_another_language_is_refused():
    with pytest.raises(UsageError) as caught:
        explain(cards()["topdown"], "fr")
    assert str(caught.value) == "language is 'fr', but must be one of en, ja."


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "0.5"),
        (999.96, "1000"),
        (1234.5, "1,234"),
        (9e-8, "10^-7"),
        (2e15, "10^15"),
        (-3, "-3"),
    ],
)
def test_numbers_have_three_digits(value, text):
    assert write_number(value) == text


@languages
def test_every_number_on_the_page_of_an_audit_is_the_audits(language):
    page = explain_audit(AUDIT, language)
    stated = AUDIT["guarantee"]
    other = {**stated, "threshold": 37, "rate": "1/3", "epsilon": 1.4, "delta": 5e-6}
    after = explain_audit({"guarantee": other}, language)
    pairs = list(zip(numbers(page), numbers(after), strict=True))
    assert {old for old, new in pairs if old == new} <= QUESTIONS
    assert page.figures["one_in"] == pytest.approx(1 / (2 * 3.443e-6))
    assert page.figures["factor"] == pytest.approx(2 * np.exp(1.0252))
    assert "7" not in numbers(page), "what is confidential is not read"


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        {"curve": {}},
        {"guarantee": 3},
        {"guarantee": {"threshold": 10}},
        {"guarantee": {**AUDIT["guarantee"], "rate": "1/0"}},
        {"guarantee": {**AUDIT["guarantee"], "rate": "3/2"}},
        {"guarantee": {**AUDIT["guarantee"], "epsilon": "1"}},
        {"guarantee": {**AUDIT["guarantee"], "delta": -1.0}},
        {"guarantee": {**AUDIT["guarantee"], "threshold": 0}},
    ],
)
def test_what_states_no_guarantee_is_refused(document):
    with pytest.raises(VerificationError):
        explain_audit(document)
