"""A release of amounts: records, sums, means and classes of every area, under one guarantee."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self, cast

import numpy as np

from geodp.accuracy.interval import USUAL
from geodp.errors import Rule, VerificationError
from geodp.grid.grid import Grid
from geodp.grid.region import Region
from geodp.io.opening import read_parquet
from geodp.io.read.rows.decimals import GIVEN
from geodp.io.verify.card import read_card, require
from geodp.io.verify.readback import explain_errors
from geodp.io.write.view import View
from geodp.kinds.amounts.comparison import compare_all
from geodp.kinds.amounts.declaring import state_learned
from geodp.kinds.amounts.joint import NAME, name_classes, view_of, write_joint
from geodp.kinds.amounts.kind import (
    COUNT,
    IDENTITY,
    SUM,
    AmountsCard,
    AmountsGuarantee,
    RecordRelation,
    StatedAmount,
    StatedAmountsPrior,
    StatedRelation,
)
from geodp.kinds.amounts.methods import STREAMS_PROOF, CountOfAmounts, SumOfAmounts, stream_event
from geodp.kinds.amounts.numbers import AmountNumbers, CountRelease, SumRelease
from geodp.kinds.amounts.scale import Scale, exact, show_number
from geodp.kinds.amounts.streams import AmountDesign, ReleasedAmounts
from geodp.kinds.census.census import choose_persons, digest_release
from geodp.kinds.census.kind import StatedGiven
from geodp.kinds.census.methods import GivenNoise
from geodp.privacy.assumption import Assumption
from geodp.privacy.event import Measurement
from geodp.privacy.key import digest
from geodp.privacy.ledger import Charge
from geodp.release.card import PRIOR_PUBLIC, PUBLIC_CARD, state_budget
from geodp.release.composite import JointRelease, fill_tables
from geodp.release.opening import open_release, open_written
from geodp.release.preview import preview_release
from geodp.release.regional import Compared
from geodp.release.release import Release
from geodp.release.request import Request
from geodp.reprs import one_line
from geodp.table.counts import ReleasedTable
from geodp.table.index import Constraint, Joint, Rebuilt, read_amounts, state_event
from geodp.table.plain import write_plain
from geodp.table.reading import StatedReading
from geodp.typing import IntArray

COUNTED = "One {} has at most {:,} of all records."
"""The assumption of the contribution, which is in records."""

WEIGHED = "The records of one {} have weights of at most {:,} together."
"""The assumption where records have weights."""

CLIPPED = (
    "that amounts below {} and above {} count as these: their number and the sums beyond are in no "
    "public file"
)
"""The sentence that says what is public of the clip."""

CLASSES_PROOF = (
    "one record is in one class, and so changes, on each level, one count of one class by 1; all "
    "classes have independent noise, each for {}, and everything else is post-processing"
)
"""Why a release of classes holds what it promises."""

BOTH_PROOF = (
    "sums and classes each have a part of the budget, and their parts add up to it. Sums: {}. "
    "Classes: {}"
)

WEIGHTS_PROOF = "a record of weight w counts as w such records"
"""Addition to each proof where records have weights."""

RELATED: Mapping[RecordRelation, str] = {
    "same": "The given release counts the same persons as this input, each of whom has one record, "
    "was published, and was charged",
    "part": "The given release counts all persons of this input, of whom a part have one record "
    "each, was published, and was charged",
}
"""The assumption on the persons who were published before, by their relation."""

AGREES: Mapping[RecordRelation, str] = {
    "same": "Records are the persons of the given release.",
    "part": "Records are at most the persons of the given release.",
}
"""What holds in every cell, by the relation of records and persons."""

CHOSEN = (
    "The clip, the step and the edges of classes were chosen without looking at the data, or by a "
    "selection with a charge of its own, which adds to that of this release."
)
"""The assumption on the scale of amounts, for which the operator vouches."""


@dataclass(frozen=True, eq=False)
class Amounts(AmountNumbers, JointRelease[AmountsCard]):
    """A release of amounts: its numbers agree in every area.

    Its attributes are those of :class:`geodp.kinds.amounts.numbers.AmountNumbers`: ``count``,
    ``sum``, ``classes`` and ``index``, and:

    Attributes
    ----------
    given : Path or None
        Public folder of the earlier release with whose persons records agree.
    """

    __repr__ = one_line

    given: Path | None = field(default=None, repr=False)

    # The table of all numbers has as many rows as the release of records, and more columns.
    joint_rows: ClassVar[dict[str, int]] = {COUNT: 2}

    @property
    def tables(self) -> dict[str, Release]:
        """The release of records by its name."""
        return {COUNT: self.count}

    @property
    def enclosed(self) -> dict[str, Path]:
        """The public folder of the earlier release that a copy of is enclosed, by its name."""
        return {} if self.given is None else dict.fromkeys(self.index.enclosed, self.given)

    @cached_property
    def _persons(self) -> Release | None:
        """The persons of the enclosed release; None where there are none."""
        return None if self.given is None else choose_persons(open_written(self.given))

    @property
    def constraints(self) -> tuple[Constraint[Amounts], ...]:
        """Sentences that hold in every cell, with their checks."""
        return list_constraints(self.index.amount, self.index.related)

    def compare_all(
        self,
        pairs: Sequence[tuple[Region, Region]],
        release: Self | None = None,
        *,
        interval: str = USUAL,
    ) -> list[Compared]:
        """Compare many pairs of regions, in their order.

        Differences are ``count``, ``sum``, ``mean`` and ``median``, as far as both releases have
        them; None where two medians have other edges of classes, too. Intervals allow for noise
        that both regions share, and for what the clamp may have moved.

        Raises UsageError for amounts of another unit or clip, or another largest weight, besides
        what :meth:`compare` refuses.
        """
        return compare_all(self, pairs, release, interval)

    def with_fact(self, fact: str) -> Self:
        """Return the release with one more public fact on the cards of all numbers."""
        told, promise = super().with_fact(fact), self.index.guarantee
        stated = replace(promise, not_protected=(*promise.not_protected, fact))
        return replace(told, index=replace(told.index, guarantee=stated))

    def view(self, name: str | None = None) -> View:
        """Return the view of the rows of all cells with records.

        Columns are those of ``amounts.csv``: codes or centres, ``count``, ``sum`` and ``mean`` in
        units of the amount, classes, ``median``, and the ends of their intervals.
        """
        return view_of(self) if name is None else view_of(self).named(name)

    def write_joint(self, folder: Path) -> Joint:
        """Write the table of all numbers in every format; return the index's entries of it."""
        return write_joint(self, folder)

    def rebuild(self) -> Rebuilt[AmountsCard]:
        """Derive the index from the records, and from what the index says of the amount.

        Raises VerificationError for records of another method, and for an amount of no release.
        """
        stated, event, scale = self.index, cast(Measurement, self.count.event), self.scale
        amount, prior, method = stated.amount, stated.prior, self.count.method
        if not isinstance(method, CountOfAmounts):
            raise VerificationError(
                "The records have another method than a release.", code="amounts-method-differs"
            )
        require(
            not amount.notches or scale.span % amount.notches == 0,
            Rule("amounts-notches-differ", "The notches of the amount do not divide its clip."),
        )
        share = exact(amount.share or 1, "share") if amount.notches else Fraction(0)
        number = max(len(amount.edges) - 1, 0)
        related = self._state_relation(method, event, share)
        noise = method.given if related is not None and related.relation == "same" else ""
        counting = CountOfAmounts.of(method.pyramid, number, share, amount.notches or 1, noise)
        whole = replace(event, mechanism=method.pyramid.spec)
        # What the records state beyond the index: that their own card is public, and the identity.
        known = (PUBLIC_CARD, *whole.not_protected)
        facts = tuple(
            fact
            for fact in self.count.card().guarantee.not_protected
            if fact not in known and not fact.startswith(IDENTITY)
        )
        if not (amount.notches and amount.edges) and related is None:
            amount = replace(amount, share=None)
        return Rebuilt(
            make_index(whole, amount, facts, prior, related),
            {COUNT: replace(event, mechanism=counting.spec)},
            (
                *list_facts(amount, scale, prior, related),
                describe_identity(self.drawn, amount, prior),
            ),
            (whole if related is None else whole.part(share)).loss,
        )

    def _state_relation(
        self, method: CountOfAmounts, event: Measurement, share: Fraction
    ) -> StatedRelation | None:
        """State the enclosed release that records agree with; VerificationError for another."""
        stated = self.index.related
        other = Rule("amounts-given-differs", "The records were not made of the enclosed release.")
        if self.given is None or stated is None:
            require(not method.given and self.given is None and stated is None, other)
            return None
        persons = self._persons
        require(persons is not None and isinstance(persons.event, Measurement), other)
        assert persons is not None
        own = cast(Measurement, persons.event)
        noise = GivenNoise.of(own).write() if stated.relation == "same" else ""
        require(method.given == noise, other)
        card: Any = read_card(self.given)
        new, amounts = event.part(share), read_amounts(card.guarantee)
        name, total = ("epsilon", event.epsilon) if event.rho is None else ("rho", event.rho)
        amount = amounts[name]
        require(amount is not None and share < 1 and total == amount / (1 - share), other)
        # Where it was charged, only the operator knows.
        source = stated.release.source
        found = StatedGiven(digest_release(self.given), card.guarantee.spends, new.spends, source)
        return StatedRelation(stated.relation, found)


def preview_amounts(
    design: AmountDesign,
    grid: Grid,
    request: Request,
    facts: tuple[str, ...],
    reading: StatedReading | None,
    prior: StatedAmountsPrior | None = None,
) -> Amounts:
    """Make the release of no records, with cards and closed forms of the real one."""
    event, scale, method = design.whole, design.scale, design.method
    number = max(len(design.edges) - 1, 0)
    related = None if design.related is None else design.related.stated
    noise = "" if design.related is None else design.related.noise
    counting = CountOfAmounts.of(method, number, design.share, design.notches or 1, noise)
    amount = state_amount(design)
    facts = (*facts, *list_facts(amount, scale, prior, related))
    common = (request.terms.people, facts, reading, request.metadata)
    event_of_counts = replace(event, mechanism=counting.spec)
    count = preview_release(grid, counting, event_of_counts, *common, made=CountRelease)
    none = np.empty(0, np.int64)
    empty = (none.astype(np.uint64), none)
    total = None
    if design.of_sums is not None:
        adding = SumOfAmounts.of(method, scale.lower, scale.upper, design.share, design.notches)
        table = ReleasedTable(grid, *empty, replace(event, mechanism=adding.spec))
        total = SumRelease(table, reading=reading, public_facts=facts)
    classes: tuple[ReleasedTable, ...] = ()
    if design.of_classes is not None:
        classes = (ReleasedTable(grid, *empty, design.of_classes),) * number
    given = None if design.related is None else design.related.given.folder
    return Amounts(count, total, classes, make_index(event, amount, facts, prior, related), given)


def with_drawn(empty: Amounts, drawn: ReleasedAmounts, charge: Charge | None) -> Amounts:
    """Return the release of what was drawn in place of nothing."""
    prior = state_learned(empty.index.prior, drawn.learned)
    grid, make = empty.count.grid, ReleasedTable
    records = make(grid, drawn.key, drawn.number, empty.count.event)
    identity = describe_identity(drawn, empty.index.amount, prior)
    (count,) = fill_tables([empty.count], [records], identity, charge)
    total = None
    if empty.sum is not None:
        assert drawn.above is not None
        # Most scales begin at 0, and have notches of a step.
        steps = drawn.above if empty.notch == 1 else drawn.above * empty.notch
        steps = steps + drawn.number * empty.scale.lower if empty.scale.lower else steps
        some = np.flatnonzero(steps != 0)
        table = make(grid, drawn.key[some], steps[some], empty.sum.event)
        total = replace(empty.sum, table=table, charge=charge)
    classes = []
    for k, one in enumerate(empty.classes):
        assert drawn.classes is not None
        # Positions are taken faster than a mask, which most cells of most classes are not in.
        some = np.flatnonzero(drawn.classes[k] != 0)
        classes.append(make(grid, drawn.key[some], drawn.classes[k][some], one.event))
    index = replace(empty.index, budget=state_budget(charge), prior=prior)
    return replace(empty, count=count, sum=total, classes=tuple(classes), index=index)


def state_amount(design: AmountDesign) -> StatedAmount:
    """State what is added up."""
    scale = design.scale
    lower, upper = map(show_number, scale.clip)
    return StatedAmount(
        name=scale.name,
        unit=scale.unit,
        lower=lower,
        upper=upper,
        step=show_number(scale.step),
        notches=design.notches or None,
        edges=tuple(show_number((scale.lower + edge) * scale.step) for edge in design.edges),
        share=str(design.share) if design.divides else None,
        max_weight=design.max_weight if design.max_weight > 1 else None,
    )


def list_facts(
    amount: StatedAmount,
    scale: Scale,
    prior: StatedAmountsPrior | None,
    related: StatedRelation | None = None,
) -> tuple[str, ...]:
    """List what the card of the records states as public of the amount; ``scale``: its scale."""
    facts = [CLIPPED.format(amount.lower, amount.upper), describe_release(scale)]
    if amount.notches not in (None, scale.span):
        facts.append(describe_notches(scale, amount.notches or 1))
    if amount.max_weight is not None:
        facts.append(GIVEN.format(amount.max_weight))
    if prior is not None:
        facts.append(describe_prior(prior.source))
    if related is not None:
        facts.append(describe_relation(related))
    return tuple(facts)


def make_index(
    event: Measurement,
    amount: StatedAmount,
    facts: tuple[str, ...],
    prior: StatedAmountsPrior | None,
    related: StatedRelation | None = None,
) -> AmountsCard:
    """Make the index of a release that is not drawn yet; ``event``: of all numbers together."""
    return AmountsCard.state(
        event,
        amount=amount,
        guarantee=state_guarantee(event, amount, facts, prior, related),
        constraints=tuple(one.sentence for one in list_constraints(amount, related)),
        prior=prior,
        related=related,
    )


def state_guarantee(
    event: Measurement,
    amount: StatedAmount,
    facts: tuple[str, ...],
    prior: StatedAmountsPrior | None,
    related: StatedRelation | None = None,
) -> AmountsGuarantee:
    """State the guarantee of all numbers together."""
    source = (STREAMS_PROOF if amount.notches else CLASSES_PROOF).format("the whole budget")
    if amount.share is not None and related is None:
        proofs = [one.format("all of this part") for one in (STREAMS_PROOF, CLASSES_PROOF)]
        source = BOTH_PROOF.format(*proofs)
    if amount.max_weight is not None:
        source = f"{source}; {WEIGHTS_PROOF}"
    counted = COUNTED if amount.max_weight is None else WEIGHED
    bound = replace(event.assumption, statement=counted.format(event.unit, event.contribution))
    assumed = [bound, Assumption("amounts", CHOSEN, "operator")]
    if prior is not None:
        assumed.append(Assumption("prior", PRIOR_PUBLIC, "operator", prior.source))
    if related is not None:
        assumed.append(
            Assumption("given", RELATED[related.relation], "operator", related.release.source)
        )
    return AmountsGuarantee(
        **state_event(event, "any result of these numbers together"),
        source=source,
        assumptions=tuple(assumed),
        not_protected=(*event.not_protected, *facts),
    )


def list_constraints(
    amount: StatedAmount, related: StatedRelation | None = None
) -> tuple[Constraint[Amounts], ...]:
    """List what holds in every cell; then it does in every area, which is a sum of cells."""
    means = f"The mean is from {amount.lower} to {amount.upper}, in {amount.unit}."
    classes = "Records are the sum of the records of all classes."
    agreed = [] if related is None else [Constraint(AGREES[related.relation], _agree)]
    return (
        *([Constraint(means, _are_within_clip)] if amount.notches else []),
        *([Constraint(classes, _are_sums)] if amount.edges else []),
        *agreed,
    )


def _agree(release: Amounts) -> bool:
    """Test whether records of every cell are the given persons, or at most these."""
    related = release.index.related
    persons = release._persons
    if related is None or persons is None:
        return False
    number, most = release.count.table, persons.table
    if related.relation == "same":
        return np.array_equal(number.key, most.key) and np.array_equal(number.count, most.count)
    return bool((number.count <= most.counts_at(number.key)).all())


def _are_within_clip(release: Amounts) -> bool:
    """Test whether the mean of every cell is within the clip."""
    drawn = release.drawn
    most = drawn.number * (release.index.amount.notches or 1)
    return drawn.above is not None and bool(((drawn.above >= 0) & (drawn.above <= most)).all())


def _are_sums(release: Amounts) -> bool:
    """Test whether the records of every cell are those of all classes."""
    classes, number = release.drawn.classes, release.drawn.number
    return (
        classes is not None
        and bool((classes >= 0).all())
        and np.array_equal(classes.sum(axis=0), number)
    )


def describe_release(scale: Scale) -> str:
    """Describe, for the card of the records, the release that they are a part of."""
    return (
        f"that these are the records of a release of {scale.name} in {scale.unit}, and were "
        "charged once with it"
    )


def describe_notches(scale: Scale, notches: int) -> str:
    """Describe the rounding of sums of cells before the noise."""
    notch = show_number(scale.span // notches * scale.step)
    return (
        f"that the sum of a cell is rounded to a multiple of {notch} ({scale.unit}) before the "
        "noise, which is drawn on these: by at most half of that a cell, which the stated errors "
        "leave out"
    )


def describe_prior(source: str) -> str:
    """Describe, for the card of the records, the prior of the release that they are a part of."""
    return f"that records and amounts of their release were estimated with a public prior: {source}"


def describe_relation(related: StatedRelation) -> str:
    """Describe, for the card of the records, the persons of an earlier release."""
    given = related.release
    return (
        f"{AGREES[related.relation][:-1].replace('Records', 'that records')}, of digest "
        f"{given.sha256}: the release spends {given.spent} for these, and {given.new}, charged "
        "once, for the amounts"
    )


def describe_identity(
    drawn: ReleasedAmounts, amount: StatedAmount, prior: StatedAmountsPrior | None
) -> str:
    """Describe, for the card of the records, the sums and classes that they were released with.

    The digest is of these, and of what they mean: the amount, its clip, step and edges, and a prior
    with what was learned of it.
    """
    stated = [one for one in (amount, prior) if one is not None]
    meaning = [json.dumps(write_plain(one), sort_keys=True).encode() for one in stated]
    arrays = [one for one in (drawn.above, drawn.classes) if one is not None]
    return IDENTITY + digest(*meaning, *arrays).hex()


def open_amounts(folder: Path, card: AmountsCard) -> Amounts:
    """Open a release from its public folder."""
    count = open_release(folder / COUNT)
    given = next((folder / name for name in card.enclosed), None)
    empty = reopen(count, card, given)
    with explain_errors(folder):
        drawn = read_drawn(folder, empty)
    opened = with_drawn(empty, drawn, None)
    # The records come with a card of their own; nothing of it is made again.
    return replace(opened, count=count, index=card)


def reopen(count: Release, card: AmountsCard, given: Path | None = None) -> Amounts:
    """Make the release without sums and classes that goes with released records."""
    event, method = cast(Measurement, count.event), cast(CountOfAmounts, count.method)
    none = np.empty(0, np.int64)
    empty: tuple[Any, IntArray] = (none.astype(np.uint64), none)
    made = Amounts(count, None, (), card, given)
    total: Release | None = None
    classes: tuple[ReleasedTable, ...] = ()
    share = exact(card.amount.share or 1, "share")
    if card.amount.notches:
        scale = made.scale
        adding = SumOfAmounts.of(
            method.pyramid, scale.lower, scale.upper, share, card.amount.notches
        )
        table = ReleasedTable(count.grid, *empty, replace(event, mechanism=adding.spec))
        total = SumRelease(table, reading=count.reading, public_facts=count.public_facts)
    if card.amount.edges:
        rest = 1 - share if card.amount.notches else share
        one = ReleasedTable(count.grid, *empty, stream_event(event, method.pyramid, rest, 1))
        classes = (one,) * (len(card.amount.edges) - 1)
    return Amounts(count, total, classes, card, given)


def read_drawn(folder: Path, release: Amounts) -> ReleasedAmounts:
    """Read the numbers of all cells from the table of a public folder."""
    key = release.count.table.key
    number = np.asarray(release.count.table.count, np.int64)
    names = [SUM] * (release.sum is not None) + (
        name_classes(release.index.amount) if release.classes else []
    )
    rows = read_parquet(folder / f"{NAME}.parquet", key.size, names)
    above = classes = None
    if release.sum is not None:
        amounts = np.asarray(rows[SUM].to_numpy())
        scale = release.scale
        if scale.step.denominator == 1:
            steps = amounts // int(scale.step)
        else:
            steps = np.rint(amounts / float(scale.step)).astype(np.int64)
        above = (steps - number * scale.lower) // release.notch
    if release.classes:
        columns = [np.asarray(rows[name].to_numpy(), np.int64) for name in names if name != SUM]
        classes = np.stack(columns)
    return ReleasedAmounts(key, number, above, classes)
