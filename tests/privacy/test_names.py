"""Names in one script, and names that look alike."""

import subprocess
import sys
import unicodedata
from fractions import Fraction as F

import pytest
from fontTools import unicodedata as tables

from geodp.errors import UsageError
from geodp.privacy import ledger as ledgers
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP
from geodp.privacy.samples import canonical_name, look_alike, require_one_script, skeleton
from tests.ledgers import charge, small_ledger
from tests.refusals import refuses

FINE = [
    "census",
    "Zensus 2022 (Zürich)",
    "国勢調査 census",
    "統計データの手引き census",
    "国勢調査・2020（確報）",
    "ガザ Gaza がざ",
    "注音ㄅㄆ 漢字 census",
    "인구 조사 人口 census",
    "перепись 2020",
    "απογραφή",
    "תעודה",
    "تعداد ٢٠٢٠",
    "census ー",
    "2020",
    "día ½",
    "da\u0316ta",
]
MIXED = {
    "сensus": "Cyrillic and Latin",
    "cеnsus": "Cyrillic and Latin",
    "Ρopulation": "Greek and Latin",
    "перепись ー": "Cyrillic, Hiragana and Katakana",
    "国勢調査 перепись": "Cyrillic and Han",
    "ㄅ ア": "Bopomofo and Katakana",
    "한 ア": "Hangul and Katakana",
    "αβ census ガ": "Greek, Katakana and Latin",
    "cens\u0585s": "Armenian and Latin",
}
ALIKE = [
    ("census", "census."),
    ("census", "census。"),
    ("census", "CENSUS!"),
    ("census-2020", "census 2020"),
    ("census-2020", "census_2020"),
    ("census 2020", "census 2O2O"),
    ("census 2021", "census 202l"),
    ("census 2021", "census 202I"),
    ("census 2021", "census-202I"),
    ("income 2020", "INCOME-2020"),
    ("データ income", "デ-タ INCOME"),
    ("データ 2021", "デ-タ 202I"),
    ("panel", "paneI"),
    ("modern", "modem"),
    ("сосо", "coco"),
    ("ΟΚΤ", "OKT"),
    ("カ", "力"),
    ("ロ", "口"),
    ("ஊர்", "உளர்"),
    ("ニ", "二"),
    ("ガザ", "ｶﾞｻﾞ"),
    ("تعداد ٢٠٢٠", "تعداد 2020"),
    ("census", "cen\u00adsus"),
    ("census-2020", "census—2020"),
    ("census 2020", "census―2020"),
    ("census 2020", "census|2020"),
    ("データ", "デ—タ"),
    ("データ", "デ-タ"),
    ("income", "i\u0307ncome"),
    ("income 2020", "i\u0307ncome-2020"),
    ("income", "İncome"),
    ("café", "cafe\u0301\u0301"),
    ("p\u00e5\u0316", "pa\u309a\u0316"),  # marks whose order changes with what they look like
]
DIFFERENT = [
    ("census 2020", "census 2021"),
    ("census 10", "census 11"),
    ("resume", "résumé"),
    ("a", "b"),
    ("تعداد ٢٠٢٠", "تعداد ٢٢"),
    ("east", "west"),
    ("東京", "京都"),
    ("ビール", "ビル"),
    ("統計一", "統計"),
]


@pytest.mark.parametrize("name", FINE)
def test_names_in_one_script_are_entered(tmp_path, name):
    ledger = small_ledger(tmp_path)
    if name == "census":
        return
    ledger.add_dataset(name, PureDP(1))
    assert charge(ledger, dataset=name).dataset == unicodedata.normalize("NFC", name)
    ledger.check()


@pytest.mark.parametrize(("name", "scripts"), MIXED.items())
def test_names_in_several_scripts_are_refused(tmp_path, name, scripts):
    ledger = small_ledger(tmp_path)
    before = ledger.check()
    with refuses(UsageError, f"name-mixes-scripts:  {scripts}, "):
        ledger.add_dataset(name, PureDP(1))
    assert ledger.check() == before


@pytest.mark.parametrize("name", ["...", "- -", "?!", "※", "\u0301"])
def test_a_name_without_a_letter_is_refused(tmp_path, name):
    with refuses(UsageError, "name-without-letters"):
        small_ledger(tmp_path).add_dataset(name, PureDP(1))


@pytest.mark.parametrize("mark", "\u034f\u115f\u3164\u180e\u200b\u202e\u2060\ufe0f\U000e01ef")
def test_characters_that_are_not_seen_are_refused(mark):
    with refuses(UsageError, "name-length|name-unseen-characters"):
        canonical_name(f"cen{mark}sus")


def test_a_name_has_200_characters_at_most():
    assert canonical_name("x" * 200) == "x" * 200
    with refuses(UsageError, "name-length: data set"):
        canonical_name("x" * 201)


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_names_that_look_alike_are_one(tmp_path, one, other):
    ledger = Ledger.create(tmp_path / "ledger")
    assert look_alike(one, ["x", other]) == other
    assert look_alike(other, [one]) == one
    ledger.add_dataset(one, PureDP(1))
    with refuses(UsageError, "dataset-looks-alike|name-length"):
        ledger.add_dataset(other, PureDP(1))
    assert len(ledger.accounts()) == 1


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_names_that_differ_have_caps_of_their_own(tmp_path, one, other):
    ledger = Ledger.create(tmp_path / "ledger")
    for name in (one, other):
        ledger.add_dataset(name, PureDP(1))
    assert [account.name for account in ledger.accounts()] == [one, other]


def test_names_in_use_stay_usable_whatever_the_rules_say_of_them(tmp_path, monkeypatch):
    """Such as those that a later table of look-alikes brings together."""
    ledger = Ledger.create(tmp_path / "ledger")
    with monkeypatch.context() as patch:
        patch.setattr(ledgers, "require_one_script", lambda name: None)
        patch.setattr("geodp.privacy.accounts.look_alike", lambda name, others: None)
        for name in ("census", "сensus", "census.", "..."):
            ledger.add_dataset(name, PureDP(F(1)))
    for number, name in enumerate(("census", "сensus", "census.", "...")):
        assert not charge(Ledger.open(ledger.path), dataset=name, number=number).replay
        assert Ledger.open(ledger.path).account(name).releases == 1
    assert Ledger.open(ledger.path).check().sequence == 8


def test_a_name_that_is_not_there_tells_the_one_that_looks_like_it(tmp_path):
    ledger = small_ledger(tmp_path)
    for name in ("сensus", "census.", "ceNSUS"):
        with refuses(UsageError, "dataset-spelt-otherwise"):
            charge(ledger, dataset=name)
    with refuses(UsageError, "dataset-unknown"):
        charge(ledger, dataset="trips")


def test_every_letter_of_every_script_stands_alone():
    """No single character, and no pair of one script, is mixed."""
    for point in range(0x20, 0x30000, 7):
        letter = chr(point)
        if letter.isprintable() and letter.isalnum():
            require_one_script(letter)
            if tables.script_extension(letter) == {"Cyrl"}:
                with refuses(UsageError, "name-mixes-scripts"):
                    require_one_script(f"a{letter}")


def test_looking_like_another_goes_both_ways():
    """For every pair of the table, from either side."""
    from confusable_homoglyphs.confusables import confusables_data as table

    for letter, rows in list(table.items())[::37]:
        for row in rows[:2]:
            one, other = f"x{letter}x", f"x{row['c']}x"
            assert look_alike(one, [one]) == one
            assert bool(look_alike(one, [other])) == bool(look_alike(other, [one]))


def test_every_letter_looks_like_what_the_table_has_for_it():
    """For all that are compared as they are written: no digits, and the same in small letters."""
    from confusable_homoglyphs.confusables import confusables_data as table

    def plain(text):
        seen = all(unicodedata.category(letter)[0] in "LN" for letter in text)
        digits = any(unicodedata.decimal(letter, None) is not None for letter in text)
        forms = {unicodedata.normalize(form, text.casefold()) for form in ("NFD", "NFKC")}
        return seen and not digits and forms == {text}

    pairs = [(letter, rows[0]["c"]) for letter, rows in table.items() if len(rows) == 1]
    pairs = [pair for pair in pairs if all(map(plain, pair))]
    assert len(pairs) > 1000
    assert not [pair for pair in pairs if look_alike(f"x{pair[0]}x", [f"x{pair[1]}x"]) is None]


@pytest.mark.parametrize("other", ["Census-2020", "ｃensus-２０２０", " cen sus - 2020"])
@pytest.mark.parametrize("dash", "-\u2010\u2013\u2014\uff0d")
def test_a_skeleton_is_what_case_width_blanks_and_dashes_leave(other, dash):
    assert skeleton(other.replace("-", dash)) == skeleton("census-2020")
    assert skeleton(other.replace("-", "")) != skeleton("census-2020")


def test_charging_imports_no_tables(tmp_path):
    """They are for names that are new or not there."""
    ledger = small_ledger(tmp_path)
    code = f"""
import sys
from fractions import Fraction
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP
Ledger.open({str(ledger.path)!r}).charge(
    "census", PureDP(Fraction(1, 5)), mechanism="topdown", neighbours="add-remove-one",
    contribution=1, fingerprint="00" * 32,
)
assert not {{"fontTools", "confusable_homoglyphs"}} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
