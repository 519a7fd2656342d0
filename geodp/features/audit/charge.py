"""Charge a sampled table's guarantee to a ledger."""

from __future__ import annotations

import secrets

from geodp.errors import UsageError
from geodp.features.audit.threshold import Threshold
from geodp.privacy.ledger import Charge, Ledger
from geodp.privacy.neighbours import ADD_REMOVE
from geodp.privacy.samples import SecretSample


def charge_threshold(
    threshold: Threshold, ledger: Ledger, dataset: str, sample: str, *, unit: str = "person"
) -> Charge:
    """Charge a sampled table to a data set, and record that its sample stays secret.

    Every later charge to the data set must then say what it was made from: all records, or a fresh
    sample. A charge for the same sample is refused, as the losses would not add up.

    Parameters
    ----------
    threshold : Threshold
    ledger : Ledger
    dataset : str
        Entered for neighbours add-remove-one and with a cap of approximate differential privacy.
    sample : str
        Name of the sample. You vouch that it is fresh: that nothing charged to the data set so far
        was made from it.
    unit : str
        Noun for what one record stands for; that of the data set.

    Raises
    ------
    BudgetError
        The cap would be exceeded; nothing was charged.
    UsageError
        Another unit, other neighbours or another kind of cap than the data set has; a sample of
        which a table is charged already.

    Examples
    --------
    >>> import tempfile
    >>> from fractions import Fraction
    >>> from geodp.features.audit.threshold import sampled_threshold
    >>> from geodp.privacy.loss import ApproximateDP
    >>> threshold = sampled_threshold(10, "0.2", delta="1e-6")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger.create(f"{folder}/office.ledger")
    ...     account = ledger.add_dataset("census", ApproximateDP(Fraction(3), Fraction(1, 10**5)))
    ...     print(charge_threshold(threshold, ledger, "census", "sample of 2020").spent)
    epsilon 670915381/500000000, delta 1/1000000
    """
    _require_unit(ledger, dataset, unit)
    return ledger.charge(
        dataset,
        threshold.loss,
        mechanism=threshold.mechanism,
        neighbours=ADD_REMOVE,
        contribution=1,
        # Random, as there is no table here to take a digest of.
        fingerprint=secrets.token_hex(32),
        records=SecretSample(sample),
    )


def find_threshold_charge(
    threshold: Threshold, ledger: Ledger, dataset: str, sample: str, *, unit: str = "person"
) -> Charge:
    """Find the charge that :func:`charge_threshold` made earlier for the same table.

    Parameters and errors are those of :func:`charge_threshold`; UsageError where the ledger has no
    charge for the sample, or one of another table.

    Examples
    --------
    >>> import tempfile, geodp
    >>> from fractions import Fraction
    >>> threshold = geodp.audit.sampled_threshold(10, "0.2", delta="1e-6")
    >>> cap = geodp.ApproximateDP(3, Fraction("1e-5"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = geodp.Ledger.create(f"{folder}/office.ledger")
    ...     account = ledger.add_dataset("census", cap)
    ...     charge = geodp.audit.charge_threshold(threshold, ledger, "census", "2020")
    ...     geodp.audit.find_threshold_charge(threshold, ledger, "census", "2020") == charge
    True
    """
    _require_unit(ledger, dataset, unit)
    charge = ledger.find_sample(dataset, SecretSample(sample))
    if charge is None:
        raise UsageError(
            f"There is nothing to resume: the ledger has no charge for the sample {sample}.",
            code="sample-not-charged",
        )
    # A sample's name identifies the charge; another guarantee would be another table.
    if (charge.loss, charge.mechanism) != (threshold.loss, threshold.mechanism):
        raise UsageError(
            f"The ledger has another charge for the sample {sample}; repeat the command of the "
            "interrupted run.",
            code="sample-charged-otherwise",
        )
    return charge


def _require_unit(ledger: Ledger, dataset: str, unit: str) -> None:
    account = ledger.account(dataset)
    if account.unit != unit:
        raise UsageError(
            f"The ledger protects one {account.unit} of {account.name}, and this table one {unit}; "
            "budgets of different units do not add up.",
            code="unit-differs-from-ledger",
        )
