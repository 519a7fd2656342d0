"""The sentence: publish a confidential table under a budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Unpack, cast

from numpy.typing import NDArray

from geodp.accuracy.margins import UNKNOWN
from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.io.read.public.land import state_land
from geodp.mechanisms import Mechanism, default_method, mechanism
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey
from geodp.privacy.ledger import Ledger
from geodp.privacy.terms import Terms, TermsGiven
from geodp.release.charging import Keep, draw_and_charge
from geodp.release.identity import key_of_table
from geodp.release.measurements import Asked, ask_measurements
from geodp.release.metadata import state_metadata
from geodp.release.outline import outline, warn_of
from geodp.release.prior import choose_prior
from geodp.release.release import Release
from geodp.release.simulated_cells import require_simulated, simulate_cells
from geodp.table.card import StatedMetadata
from geodp.table.contribution import bound_contribution, require_no_sums
from geodp.table.counts import CountTable
from geodp.table.prior import Prior
from geodp.table.public_totals import PublicTotals
from geodp.table.reading import require_rows
from geodp.table.released import ReleasedTable
from geodp.table.stated.prior import StatedPrior, restore_stated
from geodp.table.totals import WholeTable


class Given(TermsGiven, total=False):
    """Terms, and what is published beside the table; :func:`publish` says what they mean."""

    measurements: bool | str | int
    totals: PublicTotals | None
    prior: CountTable | Release | Prior | None
    prior_source: str | None
    simulate: int
    metadata: Mapping[str, str | int] | None


NO_TABLE = (
    "Publishing takes a table of counts on a public grid: geodp.read_table(frame, grid=..., "
    "code=..., value=...) makes one of a frame or a file, geodp.read_points(frame, grid=..., "
    "x=..., y=..., person=...) of a row for each record."
)


def publish(
    table: CountTable,
    *,
    method: str | Mechanism | None = None,
    allow_empty: bool = False,
    key: NoiseKey | None = None,
    ledger: Ledger | None = None,
    dataset: str | None = None,
    records: str | None = None,
    **given: Unpack[Given],
) -> Release:
    """Release a table with differential privacy.

    Parameters
    ----------
    table : CountTable
        Confidential counts on a public domain.
    method : str or Mechanism, optional
        A name in ``METHODS``, with settings after a colon: ``"hay:fanout=4"``; or a method of your
        own, whose releases under a kept key are told apart by its name, version, settings and
        queries. Default: parts on a grid with attributes below its cells, otherwise pyramid.
    allow_empty : bool
        Publish a table that counts nothing, or to which a file adds nothing, too. Otherwise it is
        refused before anything is charged, and the card states as a public fact that at least one
        row of every file was counted.
    key : NoiseKey, optional
        Default: fresh from the operating system and forgotten. With a kept key the noise
        depends on the key and a digest of the table, the grid, all parameters and what the method
        measures (see :mod:`geodp.release.identity`): the same input gives the same release again,
        and different inputs, or a method that has changed, never share noise.
    ledger : Ledger, optional
        Asked before any noise is drawn, and charged before anything that was drawn is returned; the
        charge stays if the run fails afterwards.
        Publishing the same input again with the same kept key is recognised and costs nothing.
    dataset : str, optional
        Name of the data set in the ledger.
    records : {"all", "fresh-sample", "same-sample"}, optional
        What the table was made from; needed where a table of a secret sample was charged to the
        data set (see :mod:`geodp.audit`), and refused where it is the same sample.
    epsilon : str, int, float, Decimal or Fraction
        The budget, read exactly: ``0.1``, ``"1/10"``. Alone it is that of pure differential
        privacy; with delta, of Gaussian noise with the largest rho that implies the two.
    rho : as epsilon
        Instead of it: zero-concentrated differential privacy, with Gaussian noise.
    delta : as epsilon, optional
        With rho: the chance for which the release also states an epsilon.
    neighbours : {"add-remove-one", "replace-one"}
        Which tables are to be indistinguishable.
    contribution : int, optional
        The most that one person adds to the sum of all counts: 1 where everybody is counted once.
        You vouch for it. May be left out where a reader enforced it on the records, or where the
        layout of one official table states it (``table.bound``).
    unit : str
        Whom the guarantee protects, as a noun: person, household, person-day, trip.
    people : float, optional
        A public guess of the sum of all counts, such as an older census tells; never taken from
        the data. The card then states the resolution floor.
    measurements : bool, str or int
        Also publish what was measured before any clamp (:mod:`geodp.release.measurements`), which
        costs no more: True, or the smallest areas of which all are measured, such as ``"basic"``
        in the order of official areas, ``"cell"``, or a number of cells of a block.
    totals : PublicTotals
        Totals of areas that are public already (:mod:`geodp.table.public_totals`): the table must
        have them, and the release meets them exactly.
    prior : CountTable, Release or Prior, optional
        Where people are likely to be, by a table that is public, on the same grid or on one of
        larger squares, or by an earlier release: another year's census, 0 and 1 of inhabited cells.
        The same is measured; how far it can be trusted is learned from that (docs/informed.md).
    prior_source : str, optional
        Where it was published, in words. With it you vouch that the prior is public; the card
        quotes it. A Prior has its own, and a Release that was charged to a ledger needs none.
    simulate : int
        Releases that are simulated for the intervals of cells and what settlements lose, 20 to
        10,000 (:mod:`geodp.release.simulated_cells`), which take as long as several times as many.
        Default: 0, margins of public maps.
    metadata : mapping, optional
        What the office says: ``title``, ``description``, ``publisher``, ``contact``, ``licence``,
        ``source``, ``reference_date``, ``language``, ``supersedes``, ``display_below``.

    Returns
    -------
    Release

    Raises
    ------
    UsageError
        A call that cannot be carried out; a contribution below the table's bound or too small for
        totals beside their parts, or none where nothing bounds it; a table that counts nothing.
    BudgetError
        The ledger's cap would be exceeded; nothing was charged or shown.

    Warns
    -----
    UserWarning
        Before the charge, where totals of small labels of an attribute are biased by more than
        their stated error.

    Notes
    -----
    The guarantee is that of the method (``METHODS[method].guarantee``); it holds for this
    release alone, and budgets of releases about the same people add up.

    Examples
    --------
    >>> import numpy as np, geodp
    >>> grid = geodp.Grid.regular((64, 64))
    >>> table = geodp.CountTable.from_dense(np.full((64, 64), 100), grid)
    >>> release = geodp.publish(table, epsilon=1, contribution=1)
    >>> bool((release.table.to_dense() >= 0).all())
    True
    >>> round(release.standard_error(64), 1)
    8.3
    """
    if not isinstance(table, CountTable):
        raise UsageError(NO_TABLE)
    beside = given.pop("measurements", False), given.pop("totals", None)
    told = choose_prior(table, given.pop("prior", None), given.pop("prior_source", None))
    simulate, metadata = given.pop("simulate", 0), given.pop("metadata", None)
    stated = state_metadata(metadata) if metadata else None
    prepared = prepare(
        table,
        mechanism(default_method(table.grid) if method is None else method),
        Terms.of(**cast(TermsGiven, given)),
        allow_empty=allow_empty,
        key=key,
        ledger=ledger,
        dataset=dataset,
        records=records,
    ).add(*beside, told, simulate, stated)
    warn_of(prepared.outline)
    release = prepared.release()
    return simulate_cells(release, simulate) if simulate else release


@dataclass(frozen=True, eq=False)
class Prepared:
    """A release of which all is settled that is public; nothing is charged and nothing drawn.

    Attributes
    ----------
    table : CountTable
    method : Mechanism
    spent : Measurement
    outline : Release
        Of nobody: card and closed forms are those of the release, but for its charge.
    key, ledger, dataset, records
        As for :func:`publish`.
    asked : Asked or None
        Which measurements are published.
    totals : PublicTotals or None
        That are met.
    prior : Prior or None
        By which people are expected.
    """

    table: CountTable = field(repr=False)
    method: Mechanism
    spent: Measurement
    outline: Release
    key: NoiseKey | None
    ledger: Ledger | None
    dataset: str | None
    records: str | None
    asked: Asked | None = None
    totals: PublicTotals | None = None
    prior: Prior | None = None

    def add(
        self,
        measurements: bool | str | int = False,
        totals: PublicTotals | None = None,
        prior: Prior | None = None,
        simulate: int = 0,
        metadata: StatedMetadata | None = None,
    ) -> Prepared:
        """Return the same with what is published beside the table, as :func:`publish` takes it.

        Raises UsageError where there is no such thing of this table.
        """
        found, grid = self, self.table.grid
        if metadata is not None:
            found = replace(found, outline=replace(found.outline, metadata=metadata))
        if simulate:
            require_simulated(self.method, grid, self.spent, simulate)
            if totals is not None or prior is not None:
                what = "public totals" if prior is None else "a prior"
                raise UsageError(f"Releases with {what} are not simulated: leave out --simulate.")
        if measurements is not False:
            least = None if measurements is True else measurements
            asked = ask_measurements(self.method, grid, self.spent, least)
            found = replace(found, asked=asked)
        if prior is not None:
            if not self.method.informed:
                raise UsageError(f"{self.method.name} takes no prior; pyramid does.")
            told = replace(found.outline, prior=prior.describe(), margins=UNKNOWN)
            found = replace(found, outline=told, prior=prior)
        if totals is None:
            return found
        if not (self.method.whole and self.method.nonnegative):
            raise UsageError(
                f"{self.method.name} does not release whole counts from 0 on, which public totals "
                "need."
            )
        if totals.grid != grid:
            raise UsageError("The public totals are of areas of another grid.")
        totals.require(self.table)
        facts = *self.outline.public_facts, totals.describe_guarantee(self.spent)
        outline = replace(found.outline, public_facts=facts, totals=totals)
        return replace(found, outline=outline, totals=totals)

    @property
    def nodes(self) -> int | None:
        """Nodes of the complete levels of measurements; None without any."""
        return None if self.asked is None else sum(self.asked.sizes)

    def release(self, keep: Keep[Release] | None = None) -> Release:
        """Draw, and charge; ``keep`` gets the release before it is charged, and its fingerprint."""
        own, fingerprint = key_of_table(self.key, self.table, self.method, self.spent)
        try:
            release, charge = draw_and_charge(
                self.ledger,
                self.dataset,
                self.spent,
                fingerprint,
                lambda: self._draw(own),
                keep,
                records=self.records,
            )
        finally:
            own.forget()
        return replace(release, charge=charge)

    def _draw(self, key: NoiseKey) -> Release:
        """Draw the release, which is not charged yet."""
        drawn, told = self._draw_table(key)
        if self.totals is not None:
            drawn = self.totals.fit(drawn)
        found = None if self.asked is None else self.asked.measure(self.table, drawn, key)
        return replace(self.outline, table=drawn, measurements=found, prior=told)

    def _draw_table(self, key: NoiseKey) -> tuple[ReleasedTable, StatedPrior | None]:
        """Draw the table, what it begins with by a key of its own; and state what a prior told."""
        if self.prior is not None:
            return self.method.release_informed(self.table, self.spent, key, self.prior)
        base = self.method.base(self.table.grid, self.spent)
        if base is None:
            return self.method.release(self.table, self.spent, key), None
        table = self.method.first(self.table)
        own, _ = key_of_table(self.key, table, base.method, base.event)
        try:
            first = base.method.release(table, base.event, own)
        finally:
            own.forget()
        return self.method.release_over(first, self.table, self.spent, key), None


def restore_beside(
    release: Release,
    method: Mechanism,
    spent: Measurement,
    arrays: Mapping[str, NDArray[Any]],
    measurements: bool | str | int = False,
) -> Release:
    """Return a release with what was drawn beside its table and kept, for the same call."""
    if (told := restore_stated(arrays)) is not None:
        release = replace(release, prior=told, margins=UNKNOWN)
    if measurements is False:
        return release
    least = None if measurements is True else measurements
    asked = ask_measurements(method, release.grid, spent, least)
    return replace(release, measurements=asked.restore(arrays))


def prepare(
    table: CountTable,
    method: Mechanism,
    terms: Terms,
    *,
    allow_empty: bool = False,
    key: NoiseKey | None = None,
    ledger: Ledger | None = None,
    dataset: str | None = None,
    records: str | None = None,
) -> Prepared:
    """Do everything of :func:`publish` that comes before the charge."""
    if not isinstance(table, CountTable):
        raise UsageError("publish takes a CountTable; CountTable.from_dense makes one.")
    spent = agree(table, method, terms, key)
    facts = (
        *require_rows(table.rows, table.reading, allow_empty=allow_empty),
        *require_no_sums(table.grid, spent, WholeTable(table)),
        *state_land(table.grid),
    )
    public = None if table.reading is None else table.reading.public
    nobody = outline(table.grid, method, spent, terms.people, facts, public)
    return Prepared(table, method, spent, nobody, key, ledger, dataset, records)


def agree(
    table: CountTable, method: Mechanism, terms: Terms, key: NoiseKey | None = None
) -> Measurement:
    """Settle what a release of a table spends; of the table only grid and bound are read.

    Raises
    ------
    UsageError
        As :func:`publish`.
    """
    return make_event(
        table.grid, method, terms.bound(bound_contribution(table, terms.contribution)), key
    )


def make_event(
    grid: Grid, method: Mechanism, terms: Terms, key: NoiseKey | None = None
) -> Measurement:
    """Make the event of a method on a grid, under terms with a contribution.

    Raises
    ------
    UsageError
        A grid or a budget that the method does not take, or a key that is none.
    """
    if refusal := method.unsupported(grid):
        raise UsageError(refusal)
    if key is not None and not isinstance(key, NoiseKey):
        raise UsageError("key must be a NoiseKey; NoiseKey(bytes) makes one for tests.")
    event = method.event(grid, terms, "entropy" if key is None else key.origin)
    names = ("loss", "neighbours", "contribution", "enforced", "layout", "unit")
    if any(getattr(event, name) != getattr(terms, name) for name in names):
        raise UsageError(f"{method.name} spends something else than it is given.")
    if overload := method.undrawable(grid, event):
        raise UsageError(overload)
    return event
