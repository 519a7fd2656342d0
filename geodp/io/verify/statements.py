"""Compute again what a card says, and compare: each sentence, flag and number, and all intervals.

A card has a few facts from which all others follow: the event behind the table, its domain, its
method and the words of the operator. The rest is computed again, in the words of this version.
Cards of other versions have other words, which are not known any more: of these, numbers, names and
flags are compared, and sentences are not.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import isclose
from typing import Any

from geodp import __version__
from geodp.accuracy.part_errors import VERSION as PARTS
from geodp.accuracy.region_interval import VERSION
from geodp.errors import Rule, VerificationError
from geodp.io.verify.card import require
from geodp.io.verify.readback import event_of
from geodp.io.verify.rewritten import are_near
from geodp.io.verify.written import Remaking, WrittenErrors
from geodp.io.write.tables import slices
from geodp.io.write.view import View
from geodp.privacy.event import Measurement
from geodp.privacy.loss import Loss, amounts_of
from geodp.privacy.terms import NEIGHBOURS
from geodp.table.card import Card
from geodp.table.plain import write_plain
from geodp.table.public_totals import PublicTotals
from geodp.table.stated.release import (
    ApproximateLoss,
    ConcentratedLoss,
    PureLoss,
    Software,
    StatedCharge,
)
from geodp.typing import FloatArray

NEAR = 2e-5
"""Relative tolerance of numbers that are written with six digits, the last of which may differ."""

EARLIER_FORMATS = ("chacha20-inverse-2",)
"""Formats of the noise of earlier releases, whose cards have other words and other figures."""

HEAD = 64
"""Letters of the hash of a ledger's entry."""

STATED_ALONE = ("schema", "software", "budget", "domain", "reading", "metadata", "name")
"""Fields that do not follow from others, or that other checks compare with the files."""

OF_FILES = ("release_id", "files", "left_out")
"""Fields on the files, which other checks compare with these."""


def check_statements(remaking: Remaking) -> str:
    """Require all that the card says to follow from its event, its domain and its method."""
    card, again = remaking.card, remaking.release
    require_charge(card.budget, card.guarantee.unit, card.guarantee.neighbours)
    if isinstance(again, str):
        _require_promise(card)
        return f"those of the budget; others are not computed again, as {again}"
    own = again.card()
    _require_known_method(card, own)
    if card.mechanism.version != own.mechanism.version:
        _require_promise(card)
        return "those of the budget; others are not computed again, as another version made them"
    stated, expected = (list_plain(card), list_plain(own))
    # Of intervals of another version, other checks require that they contain their counts.
    if not _has_same_intervals(card, own):
        for plain in (stated, expected):
            plain["expected_error"].pop("cells", None)
    is_worded_here = has_words_of(card.software, card.mechanism.noise_format)
    if not is_worded_here:
        expected["mechanism"]["noise_format"] = card.mechanism.noise_format
    require_same(stated, expected, "card", worded=is_worded_here)
    if is_worded_here:
        _require_totals(card, again.totals)
        return "follow from the budget, the domain and the method"
    return "figures follow from the budget, the domain and the method; other versions worded it"


def has_words_of(software: Software, noise_format: str = "") -> bool:
    """Test whether this version words a card or an index as the one that has written it."""
    return software == Software("geodp", __version__) and noise_format not in EARLIER_FORMATS


def list_plain(card: Card) -> dict[str, Any]:
    """Return the plain values of a card that follow from others."""
    plain: dict[str, Any] = write_plain(card)
    return {name: one for name, one in plain.items() if name not in STATED_ALONE + OF_FILES}


def require_same(stated: Any, expected: Any, name: str, *, worded: bool = True) -> None:
    """Require plain values to be those that follow, or raise VerificationError with their place.

    Parameters
    ----------
    stated, expected
        Plain values of a card.
    name : str
        Name of the card, with which places begin.
    worded : bool
        Whether sentences are compared. Otherwise what only one of both has is not compared either,
        as versions add fields.
    """
    place = next(_list_differences(stated, expected, name, worded), None)
    if place is not None:
        raise VerificationError(
            f"{place} is not what follows from the rest of the card.", code="card-says-otherwise"
        )


def _list_differences(stated: Any, expected: Any, at: str, worded: bool) -> Iterator[str]:
    """Yield the places at which plain values differ."""
    if isinstance(stated, dict) and isinstance(expected, dict):
        names = [*stated, *(name for name in expected if name not in stated)]
        if not worded:
            names = [name for name in names if name in stated and name in expected]
        for name in names:
            yield from _list_differences(
                stated.get(name), expected.get(name), f"{at}.{name}", worded
            )
    elif isinstance(stated, list) and isinstance(expected, list):
        if len(stated) != len(expected):
            if worded or not all(map(_is_sentence, (*stated, *expected))):
                yield at
            return
        for number, pair in enumerate(zip(stated, expected, strict=True)):
            yield from _list_differences(*pair, f"{at}[{number}]", worded)
    elif not _is_same(stated, expected) and (worded or not _is_sentence(stated)):
        yield at


def _is_same(stated: Any, expected: Any) -> bool:
    """Test whether two leaves are equal, floats but for their last digit."""
    # In Python, 1 == 1.0 == True.
    if type(stated) is not type(expected):
        return False
    if isinstance(stated, float):
        return isclose(stated, expected, rel_tol=NEAR, abs_tol=1e-9)
    return bool(stated == expected)


def _is_sentence(value: Any) -> bool:
    """Test whether a leaf is a text of several words, and no name."""
    return isinstance(value, str) and " " in value


def _require_known_method(card: Card, own: Card) -> None:
    """Require a method and a noise that this version or an earlier one has."""
    stated, known = card.mechanism, own.mechanism
    formats = (known.noise_format, *EARLIER_FORMATS)
    is_later = card.software == own.software and stated.version > known.version
    require(
        card.software.name == own.software.name
        and card.guarantee.neighbours in NEIGHBOURS
        and stated.name == known.name
        and not is_later
        and stated.noise_format in formats,
        Rule(
            "card-method-unknown",
            "The card names a method, a noise or neighbours that its version lacks.",
        ),
    )


def _has_same_intervals(card: Card, own: Card) -> bool:
    """Test whether intervals are those of this version, and both cards state them."""
    stated, known = card.expected_error.cells, own.expected_error.cells
    # Cards of earlier versions state none, or others.
    if has_words_of(card.software, card.mechanism.noise_format) or stated is known is None:
        return True
    if stated is None or known is None:
        return False
    return (stated.version, stated.parts) == (known.version, known.parts)


def _require_promise(card: Card) -> None:
    """Require the sentences on the guarantee, which need neither the method nor the domain."""
    event, guarantee = event_of(card), card.guarantee
    same = card.private is event.is_private
    if has_words_of(card.software, card.mechanism.noise_format):
        facts = guarantee.not_protected[1 : len(event.not_protected) + 1]
        same = same and (guarantee.in_words, guarantee.variant, facts) == (
            event.statement,
            event.variant,
            event.not_protected,
        )
    require(
        same, Rule("card-promises-otherwise", "The card words another guarantee than it states.")
    )


def _require_totals(card: Card, totals: PublicTotals | None) -> None:
    """Require the sentence on public totals that the release meets."""
    event = event_of(card)
    if totals is not None and isinstance(event, Measurement):
        require(
            totals.describe_guarantee(event) in card.guarantee.not_protected,
            Rule("card-totals-unstated", "The card words other public totals than it lists."),
        )


def require_charge(
    charge: StatedCharge | None, unit: str, neighbours: str, loss: Loss | None = None
) -> None:
    """Require a charge for a unit, within its cap, whose decimals are those of its amounts.

    ``loss``: that of all that was charged; None: the card is one of several that share the charge.
    """
    if charge is None:
        return
    wrong = Rule("card-charge-contradicts", "The charge to the ledger contradicts the release.")
    stated = (charge.loss, charge.spent, charge.cap)
    this, spent, cap = map(_list_amounts, stated)
    # A cap may be of another form than the loss that it limits.
    alike = this.keys() == spent.keys() == cap.keys()
    require(
        all(map(_has_own_decimals, stated))
        and (charge.unit, charge.neighbours) == (unit, neighbours)
        and (not alike or all(this[name] <= spent[name] <= cap[name] for name in this))
        and (loss is None or _is_loss(charge, loss))
        and len(charge.head) == HEAD
        and charge.earlier_releases <= charge.sequence,
        wrong,
    )


def _is_loss(charge: StatedCharge, loss: Loss) -> bool:
    """Test whether a charge is of a loss; a ledger may count the rho of Gaussian noise alone."""
    stated = _list_amounts(charge.loss)
    if (converted := getattr(charge.loss, "converted_from", None)) is not None:
        stated |= _list_amounts(converted)
    exact = amounts_of(loss)
    return all(exact[name] == value for name, value in stated.items())


def _list_amounts(loss: Any) -> dict[str, Fraction]:
    """Return the exact amounts of a loss by name."""
    names = ("epsilon", "delta", "rho")
    return {name: Fraction(getattr(loss, name)) for name in names if hasattr(loss, name)}


def _has_own_decimals(loss: PureLoss | ConcentratedLoss | ApproximateLoss) -> bool:
    """Test whether the decimals of a loss are those of its exact amounts."""
    converted = getattr(loss, "converted_from", None)
    return all(
        isclose(float(amount), getattr(loss, f"{name}_decimal"))
        for name, amount in _list_amounts(loss).items()
    ) and (converted is None or _has_own_decimals(converted))


OTHER_VERSION = "contain their counts; not computed again, as another version made them"


def check_intervals(remaking: Remaking) -> str:
    """Require the errors and intervals of files and card to be those of the released counts."""
    view, card = remaking.written, remaking.card
    made = card.expected_error.cells
    if not isinstance(view.errors, WrittenErrors):
        require(
            made is None,
            Rule("intervals-without-errors", "The card has intervals, and no errors."),
        )
        return "none: the error depends on the data"
    _check_columns(view, view.errors.written)
    _require_made_by_simulation(card)
    is_current = made is not None and made.version == VERSION
    again = remaking.release
    if made is None or not is_current or made.parts not in (None, PARTS):
        return OTHER_VERSION
    if isinstance(again, str):
        return f"contain their counts; not computed again, as {again}"
    own, computed = again.card().expected_error, remaking.errors
    require(
        computed is not None and own.cells is not None,
        Rule("intervals-without-errors", "The card has intervals, and no errors."),
    )
    assert computed is not None
    assert own.cells is not None
    for part in slices(view.size):
        expected = computed.columns(view.table.key[part], part)
        require(
            all(map(are_near, (one[part] for one in view.errors.written), expected)),
            Rule("intervals-differ", "Errors or intervals are not the release's."),
        )
    stated, derived = (
        {"cells": one.cells, "settlements": one.settlements} for one in (card.expected_error, own)
    )
    worded = has_words_of(card.software, card.mechanism.noise_format)
    require_same(write_plain(stated), write_plain(derived), "expected_error", worded=worded)
    return "those of the released counts, computed again"


def _check_columns(view: View, columns: list[FloatArray]) -> None:
    """Require standard errors as the card states them, and intervals that contain the counts."""
    error, low, high = columns
    stated = view.card.expected_error
    largest = stated.largest
    require(
        bool((error > 0).all() and (error <= largest).all())
        if largest is not None
        else bool((error >= 0).all()),
        Rule("errors-not-stated", "Standard errors are not in the range that the card states."),
    )
    # Cells at the edge of a domain have other errors, up to the largest one that the card says.
    usual = None if stated.blocks is None else float(stated.blocks[0].standard_error)
    require(
        largest is None or usual != largest or bool((error == largest).all()),
        Rule("standard-errors-differ", f"The standard errors are not {largest} in every row."),
    )
    count = view.table.count
    require(
        bool(((low <= count) & (count <= high)).all()),
        Rule("count-outside-interval", "A count is outside its interval."),
    )


def _require_made_by_simulation(card: Card) -> None:
    """Require that a card says something of settlements only if it was simulated."""
    made, settlements = card.expected_error.cells, card.expected_error.settlements
    simulated = made is not None and made.simulated is not None
    require(
        settlements is None or simulated,
        Rule("settlements-not-simulated", "Settlements of the card were not simulated."),
    )
