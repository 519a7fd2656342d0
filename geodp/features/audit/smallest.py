"""Find the smallest threshold of a sampled table that keeps to a budget."""

from __future__ import annotations

from geodp.features.audit.binomial import Bound, thresholds_above
from geodp.features.audit.threshold import (
    require_bound,
    require_delta,
    require_epsilon,
    require_rate,
)
from geodp.privacy.budget import Budget


def smallest_k(rate: Budget, epsilon: Budget, delta: Budget, bound: Bound = "exact") -> int:
    """Find the smallest count that may be published with an epsilon and a delta.

    Parameters
    ----------
    rate, epsilon, delta, bound
        As for :func:`geodp.audit.sampled_threshold`.

    Raises
    ------
    UsageError
        As in :func:`geodp.audit.sampled_threshold`.

    Examples
    --------
    >>> smallest_k("0.632", 1, "1e-6"), smallest_k("0.632", 1, "1e-6", bound="li")
    (58, 74)
    """
    exact_rate = require_rate(rate)
    exact_epsilon, exact_delta = require_epsilon(exact_rate, epsilon), require_delta(delta)
    # Every threshold above the last one that exceeds delta keeps to it.
    return 1 + max(
        thresholds_above(exact_rate, exact_epsilon, exact_delta, require_bound(bound)), default=0
    )
