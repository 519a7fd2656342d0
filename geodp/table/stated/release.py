"""Software, guarantee, charge, mechanism and prior of a release, as its card states them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Self

from geodp.privacy.accounts import Charge
from geodp.privacy.assumption import Assumption, name_layout
from geodp.table.plain import AtLeast, Text, caption, read_plain, write_plain

Exact = Annotated[str, Text(r"[0-9]{1,400}(/[0-9]{1,400})?")]
"""An exact number; an exponent could ask for more digits than memory holds."""

Count = Annotated[int, AtLeast(0)]
Amount = Annotated[float, AtLeast(0)]


@dataclass(frozen=True)
class PureLoss:
    """A privacy loss of pure differential privacy."""

    variant: Literal["pure"]
    epsilon: Exact
    epsilon_decimal: Amount


@dataclass(frozen=True)
class ConcentratedLoss:
    """A privacy loss of zero-concentrated differential privacy."""

    variant: Literal["zero-concentrated"]
    rho: Exact
    rho_decimal: Amount


@dataclass(frozen=True)
class ApproximateLoss:
    """A privacy loss of approximate differential privacy, and what it was converted from."""

    variant: Literal["approximate"]
    epsilon: Exact
    epsilon_decimal: Amount
    delta: Exact
    delta_decimal: Amount
    converted_from: ConcentratedLoss | None = None


StatedLoss = PureLoss | ConcentratedLoss | ApproximateLoss


@dataclass(frozen=True)
class StatedCharge:
    """Charge to a ledger, before the release was written.

    Attributes
    ----------
    ledger, dataset, unit, neighbours : str
    loss : StatedLoss
        Loss of this release; ``spent``: including it; ``cap``: the largest that is allowed.
    earlier_releases : int
    sequence : int
        Number of the ledger's entry; ``head``: its hash.
    """

    ledger: str
    dataset: str
    unit: str
    neighbours: str
    loss: StatedLoss
    spent: StatedLoss
    cap: StatedLoss
    earlier_releases: Count
    sequence: Count
    head: str

    @classmethod
    def of(cls, charge: Charge | StatedCharge) -> Self:
        """Convert a ledger's charge to its form on cards."""
        # By way of plain values, so that a new charge and one read from a card are checked alike.
        return read_plain(cls, charge.describe(), "budget")

    def describe(self) -> dict[str, Any]:
        """Return plain values for a card, as :meth:`geodp.privacy.ledger.Charge.describe` does."""
        plain: dict[str, Any] = write_plain(self)
        return plain


TABLE_NAME = r"[a-z][a-z0-9_]*"
"""Form of the name of a table among several, which is that of its folder."""

Digest = Annotated[str, Text(r"[0-9a-f]{64}")]
Size = Annotated[int, AtLeast(1)]
Plain = bool | int | str


Identity = Annotated[str, Text(r"[0-9a-f]{16}")]
"""Id of a release."""


@dataclass(frozen=True)
class TableInfo:
    """A table of a release of several tables, as their index lists it.

    Attributes
    ----------
    name : str
        Name of its folder, and of its count.
    release_id : str
    card_sha256 : str
        Of its card.
    """

    name: Annotated[str, Text(TABLE_NAME)]
    release_id: Identity
    card_sha256: Digest


@dataclass(frozen=True)
class Software:
    """Software that made the release.

    Attributes
    ----------
    name, version : str
    """

    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


@dataclass(frozen=True)
class StatedGuarantee:
    """The guarantee of a release, in words and numbers.

    Attributes
    ----------
    in_words, variant : str
        One sentence, and the notion of privacy.
    precondition : str
        Conditions under which it holds.
    source : str
        Where it is proved.
    sensitivity_counts : str or None
        What the sensitivity counts, if the method says.
    not_protected : tuple of str
    mechanism : str
        Name and settings.
    epsilon, rho, delta : str or None
        Exact, each with the nearest decimal.
    spends : str
        The exact parameters in a line.
    neighbours : str
    contribution : int
        The most that one person adds to the sum of all counts.
    contribution_bound : str
        Who answers for it; ``enforced``: whether geodp does.
    unit : str
        Whom the guarantee protects.
    l1_sensitivity : int
    noise_scale, noise_sigma2 : str or None
        Width of the noise of a stage that has the whole budget: Laplace or Gaussian.
    key_origin : {"entropy", "file", "fixed", "device"}
    noise_key : str
        The same in words.
    assumptions : tuple of Assumption, optional
        What is assumed of the input, and who answers for it.
    model, period, reports, further_charge : optional
        Set if devices randomised their own reports; otherwise an office added the noise:
        how long a device waits until its next one, how many, what a further release costs.
    share : str, optional
        Of a table that depends on noisy counts of other tables of its release: the part of the
        budget that its own noise has. The budget is that of all that it depends on.
    """

    in_words: str
    variant: str
    precondition: str
    source: str
    sensitivity_counts: str | None
    not_protected: tuple[str, ...]
    mechanism: str
    epsilon: Exact | None
    epsilon_decimal: Amount | None
    spends: str
    rho: Exact | None
    rho_decimal: Amount | None
    delta: Exact | None
    delta_decimal: Amount | None
    neighbours: str
    contribution: Size
    contribution_bound: str
    enforced: bool
    unit: str
    l1_sensitivity: Size
    noise_scale: Exact | None
    noise_scale_decimal: Amount | None
    noise_sigma2: Exact | None
    key_origin: Literal["entropy", "file", "fixed", "device"]
    noise_key: str
    model: Literal["local"] | None = None
    period: str | None = field(
        default=None,
        metadata=caption("time until a device reports again", "端末が次に報告するまでの期間"),
    )
    reports: Count | None = None
    further_charge: str | None = None
    assumptions: tuple[Assumption, ...] | None = None
    share: Exact | None = field(
        default=None,
        metadata=caption(
            "part of the budget that the noise of this table has; the budget is that of all that "
            "the table depends on, once for the whole release",
            "この表の雑音の予算に占める割合（予算は、この表が依存する雑音のすべてについてのもので、公表全体で一度だけ数える）",
        ),
    )

    @property
    def layout(self) -> str:
        """Name and title of the layout that states the contribution; empty where none does."""
        return name_layout(self.assumptions or ())

    def decimals(self) -> dict[str, float]:
        """Return the budget's parameters that are not None, as decimals."""
        amounts = {
            "epsilon": self.epsilon_decimal,
            "delta": self.delta_decimal,
            "rho": self.rho_decimal,
        }
        return {name: amount for name, amount in amounts.items() if amount is not None}


@dataclass(frozen=True)
class StatedMechanism:
    """The method of a release.

    Attributes
    ----------
    name : str
    version : int
    title, citation : str
    spec : str
        The name with the settings that differ from the default; ``settings``: all of them.
    noise, noise_format : str
    values : str
        What the released values can be; ``whole`` and ``nonnegative``: the same as flags.
    """

    name: str
    version: Size
    title: str
    citation: str
    spec: str
    settings: Mapping[str, Plain]
    noise: str
    noise_format: str
    values: str = field(metadata=caption("released values", "公表する値"))
    whole: bool
    nonnegative: bool


@dataclass(frozen=True)
class StatedPriorLevel:
    """Trust in a prior on a level, as estimated from the noisy counts.

    Attributes
    ----------
    keys : int
        Number of keys of a node.
    nodes : int
        Number of nodes that were measured.
    in_use : float
        Fraction of them whose estimates the prior influenced.
    reliability : float
        Fraction by which the prior reduced an estimate's variance, on average: 0 to 1.
    """

    keys: Size
    nodes: Count
    in_use: Amount
    reliability: Amount


@dataclass(frozen=True)
class StatedSlope:
    """The mean fraction of a change against the prior, of so many counts, that a cell shows."""

    change: Amount
    slope: float


@dataclass(frozen=True)
class StatedPrior:
    """A prior that a release was made with.

    Attributes
    ----------
    source : str
        Where it was published, in the words of the operator, who vouches that it is public; or
        which charged release it is.
    version : int
        Version of what is computed from a prior.
    finest : int
        Keys that one of its cells covers.
    meaning : str
    levels : tuple of StatedPriorLevel
        Below the root; empty before anything is drawn.
    attenuation : tuple of StatedSlope
    """

    source: str
    version: Size
    finest: Size
    meaning: str
    levels: tuple[StatedPriorLevel, ...] = ()
    attenuation: tuple[StatedSlope, ...] = ()
