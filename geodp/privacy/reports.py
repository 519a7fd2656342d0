"""Events of local collection: reports that devices randomise themselves."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

from geodp.privacy.assumption import Assumption
from geodp.privacy.event import TableEvent, describe_factor
from geodp.privacy.loss import Loss, PureDP
from geodp.privacy.terms import REPLACE
from geodp.reprs import one_line

LOCAL_PRIVACY = "local epsilon-differential privacy"


@dataclass(frozen=True, slots=True)
class LocalReports(TableEvent):
    """One report of every device, randomised on the device.

    Attributes
    ----------
    mechanism : str
        Name in ``PROTOCOLS``, and settings.
    epsilon : Fraction
        Epsilon of one report.
    unit : str
        Whom the guarantee protects, as a noun: device.
    period : str
        How long a device waits until its next report, in words: day.
    reports : int
        How many came, which is public; 0 before there are any.
    neighbours : "replace-one"
    contribution : 1
        Reports of a device in a period.
    """

    __repr__ = one_line

    mechanism: str
    epsilon: Fraction
    unit: str
    period: str
    reports: int
    # Fixed by the local model: taking part is public, so a neighbour has another place, not another
    # device, and no central key exists.
    neighbours: str = field(default=REPLACE, init=False)
    contribution: int = field(default=1, init=False)
    key_origin: str = field(default="device", init=False)
    rho: Fraction | None = field(default=None, init=False)
    delta: Fraction | None = field(default=None, init=False)

    variant: ClassVar[str] = LOCAL_PRIVACY
    is_private: ClassVar[bool] = True
    is_normal: ClassVar[bool] = True
    not_protected: ClassVar[tuple[str, ...]] = (
        "taking part, and the number of reports, which is the total: both are public",
        "further reports of the same device, in this round or another: k reports cost k times "
        "epsilon",
        "silence: a device outside of the domain sends nothing, which tells that it is not inside",
        "how a report came: network addresses and times are no part of it and are not protected "
        "by it",
    )

    @property
    def loss(self) -> Loss:
        """Privacy loss of one report, for a ledger; computations on reports cost nothing."""
        return PureDP(self.epsilon)

    @property
    def assumption(self) -> Assumption:
        """The bound of one report per period, which each device enforces."""
        statement = f"Each {self.unit} sends at most one report a {self.period}."
        return Assumption("contribution", statement, "device")

    @property
    def spends(self) -> str:
        """The exact parameter, as text."""
        return f"epsilon = {self.epsilon}"

    @property
    def statement(self) -> str:
        """The guarantee as one sentence."""
        return (
            f"The place of a {self.unit} changes the probability of what it sends by a factor of "
            f"at most {describe_factor(self.epsilon)}, with one report a {self.period}; only the "
            f"{self.unit} needs to be trusted."
        )

    def describe(self) -> dict[str, Any]:
        """Plain values for the release card."""
        return {
            "mechanism": self.mechanism,
            "epsilon": str(self.epsilon),
            "epsilon_decimal": float(self.epsilon),
            "spends": self.spends,
            "rho": None,
            "rho_decimal": None,
            "delta": None,
            "delta_decimal": None,
            "neighbours": self.neighbours,
            "contribution": self.contribution,
            "contribution_bound": f"kept by the {self.unit}: one report a {self.period}",
            "enforced": False,
            "unit": self.unit,
            "l1_sensitivity": 1,
            "noise_scale": None,
            "noise_scale_decimal": None,
            "noise_sigma2": None,
            "key_origin": self.key_origin,
            "noise_key": f"coins of every {self.unit}, from its operating system; nobody has them",
            "model": "local",
            "period": self.period,
            "reports": self.reports,
            "further_charge": "none: computed from local reports",
        }
