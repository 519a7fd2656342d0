"""Verification of a written release of amounts: index, records, and numbers that agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import cast

import numpy as np

from geodp.errors import Rule
from geodp.features.amounts.amounts import (
    CLIPPED,
    describe_identity,
    describe_notches,
    describe_prior,
    describe_release,
    list_constraints,
    state_guarantee,
)
from geodp.features.amounts.card import COUNT, IDENTITY, INDEX, AmountsCard
from geodp.features.amounts.formats.joint import write_joint
from geodp.features.amounts.formats.reading import open_amounts, read_drawn, reopen
from geodp.features.amounts.methods import CountOfAmounts
from geodp.features.amounts.scale import exact
from geodp.features.amounts.series.card import OF_PERIOD
from geodp.io.folder.kinds import Check
from geodp.io.read.rows.weights import GIVEN
from geodp.io.verify.card import read_table_card, require
from geodp.io.verify.files import check_restricted
from geodp.io.verify.index import check_checksums, check_tables, verify_index
from geodp.io.verify.readback import event_of
from geodp.io.verify.remade import Remake
from geodp.io.verify.rewritten import Written, check_rewritten
from geodp.io.verify.statements import require_charge
from geodp.mechanisms import find_method
from geodp.privacy.event import Measurement
from geodp.release.card import PUBLIC_CARD
from geodp.release.opening import open_release


def verify_amounts(folder: Path, errors: Remake | None = None) -> list[Check]:
    """Verify that the index matches the numbers, that these agree, and the records.

    Parameters and result are those of :func:`geodp.io.verify.index.verify_index`.
    """
    return verify_index(
        folder / INDEX,
        AmountsCard.from_json,
        lambda card: f"schema {card.schema}, {card.amount.name} in {card.amount.unit}",
        QUESTIONS,
        lambda card: [COUNT],
        errors,
    )


def _check_checksums(folder: Path, card: AmountsCard) -> str:
    return check_checksums(folder / INDEX, card.files, [COUNT])


def _check_records(folder: Path, card: AmountsCard) -> str:
    """Check that the records are those of the index, charged once with it."""
    return check_tables(folder, card, ((COUNT,),))


def _check_guarantee(folder: Path, card: AmountsCard) -> str:
    """Check that what the index promises is what the event of the records promises."""
    amount, table = card.amount, read_table_card(folder / COUNT)
    event, release = event_of(table), open_release(folder / COUNT)
    require(
        isinstance(event, Measurement) and isinstance(find_method(event.mechanism), CountOfAmounts),
        Rule("amounts-method-differs", "The records have another method than a release."),
    )
    event = cast(Measurement, event)
    made = reopen(release, card)
    scale = made.scale
    share = exact(amount.share or 1, "share") if amount.notches else Fraction(0)
    classes = max(len(amount.edges) - 1, 0)
    method = cast(CountOfAmounts, find_method(event.mechanism))
    require(
        method == CountOfAmounts.of(method.pyramid, classes, share, amount.notches or 1)
        and (amount.share is None) is not (amount.notches is not None and bool(amount.edges))
        and (not amount.notches or scale.span % amount.notches == 0),
        Rule("amounts-design-differs", "The records were made of other streams."),
    )
    facts = [describe_release(scale), CLIPPED.format(amount.lower, amount.upper)]
    if amount.notches not in (None, scale.span):
        facts.append(describe_notches(scale, amount.notches or 1))
    if amount.max_weight is not None:
        facts.append(GIVEN.format(amount.max_weight))
    if card.prior is not None:
        facts.append(describe_prior(card.prior.source))
    # What the records state beyond the index: that their own card is public, and the identity.
    stated = [one for one in card.guarantee.not_protected if one in table.guarantee.not_protected]
    beyond = {*table.guarantee.not_protected} - {*stated}
    require(
        all(fact in stated for fact in facts)
        and len(stated) == len(card.guarantee.not_protected)
        and all(one == PUBLIC_CARD or one.startswith(IDENTITY) for one in beyond),
        Rule("amounts-facts-differ", "The index states other public facts than the records."),
    )
    whole = replace(event, mechanism=method.pyramid.spec)
    # The periods of a series share one charge, which the index of the series is compared with.
    is_period = any(fact.startswith(OF_PERIOD) for fact in stated)
    require_charge(card.budget, whole.unit, whole.neighbours, None if is_period else whole.loss)
    public = card.guarantee.not_protected[len(whole.not_protected) :]
    require(
        card.guarantee == state_guarantee(whole, amount, public, card.prior)
        and card.private is event.is_private
        and card.constraints == list_constraints(amount),
        Rule("amounts-guarantee-differs", "The index contradicts the records' guarantee."),
    )
    return f"{card.guarantee.spends} for one {card.guarantee.unit}, once for everything"


def _check_numbers(folder: Path, card: AmountsCard) -> str:
    """Check that numbers agree in every cell; then they do in every area, a sum of cells."""
    count = open_release(folder / COUNT)
    made = reopen(count, card)
    drawn = read_drawn(folder, made)
    if drawn.classes is not None:
        require(
            bool((drawn.classes >= 0).all())
            and np.array_equal(drawn.classes.sum(axis=0), drawn.number),
            Rule("amounts-classes-differ", "There is a cell whose classes are not its records."),
        )
    most = drawn.number * (card.amount.notches or 1)
    require(
        drawn.above is None or bool(((drawn.above >= 0) & (drawn.above <= most)).all()),
        Rule("amounts-beyond-clip", "There is a cell whose mean is not within its bounds."),
    )
    facts = read_table_card(folder / COUNT).guarantee.not_protected
    require(
        describe_identity(drawn, card.amount, card.prior) in facts,
        Rule("amounts-of-two-releases", "The numbers are not all of one release."),
    )
    return f"{drawn.key.size:,} cells, each with a mean within the clip"


def _check_joint(folder: Path, card: AmountsCard) -> str:
    """Check that the table is the one that the numbers make, in every format."""
    release = open_amounts(folder, card)

    def write(again: Path) -> Written:
        return write_joint(release, again)

    names = check_rewritten(folder, (card.files, card.left_out), write, release.count.grid)
    return f"{len(release.count.table):,} cells, {names}"


QUESTIONS: list[tuple[str, Callable[[Path, AmountsCard], str]]] = [
    ("checksums", _check_checksums),
    ("records", _check_records),
    ("guarantee", _check_guarantee),
    ("numbers", _check_numbers),
    ("table", _check_joint),
    ("restricted", check_restricted),
]
