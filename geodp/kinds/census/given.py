"""Earlier releases of the same persons, which a census keeps as they are: ``given=``.

The earlier release is public, so that what is computed of it costs nothing. A copy of its folder is
a part of the new release, whose tables state the loss of both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from geodp.errors import Rule, UsageError
from geodp.grid.grid import Grid
from geodp.io.verify.card import find_notice, public_folder, read_card
from geodp.io.verify.verify import verify
from geodp.kinds.census.census import choose_persons, digest_release
from geodp.kinds.census.kind import StatedGiven
from geodp.kinds.census.methods import GivenNoise
from geodp.privacy.event import Measurement
from geodp.release.inputs import describe_charge
from geodp.release.opening import open_written
from geodp.release.release import Release
from geodp.table.index import read_amounts

NOT_VERIFIED = Rule(
    "given-not-verified",
    "The given release {} does not pass geodp verify, so that its counts may not be those of its "
    "card. Take the folder as its office has published it.",
)

WITHDRAWN = Rule(
    "given-withdrawn",
    "The given release {} was withdrawn: take the one that replaces it.",
)

NO_PERSONS = Rule(
    "given-without-persons",
    "The given release {} must be a map of persons, or a census: it has no counts of persons that "
    "could be kept.",
)

OTHER_GRID = Rule(
    "given-of-other-grid",
    "The given release {} is on another grid. The counts of its cells are kept: read the input on "
    "the grid and the domain of the given release.",
)

OTHER_PROMISE = Rule(
    "given-promises-otherwise",
    "The given release {given} protects {theirs}, and this one {ours}. Both must protect the same "
    "unit, with epsilon for both or rho for both, so that their losses can be added up.",
)

NOT_PRIVATE = Rule(
    "given-not-private",
    "The given release {} is NOT PRIVATE, as its noise had a fixed key: it reveals the counts that "
    "it was made from.",
)

NO_SOURCE = Rule(
    "given-source-missing",
    "The card of the given release {} states no charge to a ledger. Say where it was published and "
    "charged (--given-source, given_source=): nobody else can tell it from exact counts that look "
    "like a release.",
)

NO_ERRORS = Rule(
    "given-without-errors",
    "The given release {} has no errors that follow from its method and its budget alone, as it "
    "was made with a prior, public totals, or other tables. Take one of geodp publish without "
    "them.",
)


@dataclass(frozen=True, eq=False)
class Given:
    """An earlier release whose populations are kept.

    Attributes
    ----------
    folder : Path
        Its public folder.
    release : Release
        Its table of persons.
    amount : Fraction
        Epsilon or rho of all that the release holds.
    stated : StatedGiven
        What the new index says of it.
    """

    folder: Path
    release: Release
    amount: Fraction
    stated: StatedGiven

    @property
    def noise(self) -> GivenNoise:
        """The noise of the given persons, from which their errors follow."""
        assert isinstance(self.release.event, Measurement)  # as `open_given` requires
        return GivenNoise.of(self.release.event)

    def add_loss(self, event: Measurement) -> Measurement:
        """Return the event of both releases; ``event``: of what is new."""
        if event.rho is not None:
            return event.with_rho(event.rho + self.amount)
        assert event.epsilon is not None
        return replace(event, epsilon=event.epsilon + self.amount)


def open_given(path: str | Path, source: str | None, ground: Grid, event: Measurement) -> Given:
    """Open and verify an earlier release of the same persons.

    Parameters
    ----------
    path : path
        Its folder.
    source : str or None
        Where it was published and charged; not needed where its card states a charge.
    ground : Grid
        The map of the new release.
    event : Measurement
        Of the new release alone.

    Raises
    ------
    UsageError
        For a release that cannot be given: not verified, withdrawn, of another grid, unit or kind
        of budget, not private, or without persons.
    VerificationError
        There is no release.
    """
    shown, folder = str(path), public_folder(path)
    if find_notice(folder) is not None:
        raise UsageError(WITHDRAWN.format(shown))
    if not all(check.ok for check in verify(folder)):
        raise UsageError(NOT_VERIFIED.format(shown))
    release = choose_persons(open_written(folder))
    if release is None:
        raise UsageError(NO_PERSONS.format(shown))
    own = release.event
    if release.grid != ground:
        raise UsageError(OTHER_GRID.format(shown))
    if not own.is_private and event.is_private:
        raise UsageError(NOT_PRIVATE.format(shown))
    if not isinstance(own, Measurement) or not has_closed_form(release):
        raise UsageError(NO_ERRORS.format(shown))
    card: Any = read_card(folder)
    spends, amounts = card.guarantee.spends, read_amounts(card.guarantee)
    amount = amounts["epsilon"] if amounts["rho"] is None else amounts["rho"]
    same = (own.rho is None) == (event.rho is None) and own.neighbours == event.neighbours
    if not same or own.unit != event.unit or own.contribution != event.contribution:
        promises = {
            name: f"one {one.unit} counted {one.contribution} times at most by {spends}"
            for name, one, spends in (("theirs", own, spends), ("ours", event, event.spends))
        }
        raise UsageError(OTHER_PROMISE.format(given=shown, **promises))
    where = (source or describe_charge(card.budget)).strip()
    if not where or not where.isprintable():
        raise UsageError(NO_SOURCE.format(shown))
    # Of a rho that was derived from epsilon, as verify derives it again.
    new = event if event.rho is None else event.with_rho(event.rho)
    stated = StatedGiven(digest_release(folder), spends, new.spends, where)
    return Given(folder, release, amount, stated)


def has_closed_form(release: Release) -> bool:
    """Test whether the errors of a map follow from its method, its budget and its counts."""
    if release.prior is not None or release.totals is not None or release.postprocessing:
        return False
    return release.method.tree_variance(release.grid, release.event) is not None
