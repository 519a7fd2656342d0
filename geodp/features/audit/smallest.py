"""The smallest threshold of a sampled table that keeps to a budget."""

from __future__ import annotations

from geodp.features.audit.binomial import Bound, exceed
from geodp.features.audit.threshold import (
    require_bound,
    require_delta,
    require_epsilon,
    require_rate,
)
from geodp.privacy.budget import Budget


def smallest_k(rate: Budget, epsilon: Budget, delta: Budget, bound: Bound = "exact") -> int:
    """Return the smallest count that may be published with an epsilon and a delta.

    Parameters
    ----------
    rate, epsilon, delta, bound
        As for :func:`geodp.audit.sampled_threshold`.

    Raises
    ------
    UsageError
        As there.

    Examples
    --------
    >>> smallest_k("0.632", 1, "1e-6"), smallest_k("0.632", 1, "1e-6", bound="li")
    (58, 74)
    """
    share = require_rate(rate)
    spent, chance = require_epsilon(share, epsilon), require_delta(delta)
    return 1 + max(exceed(share, spent, chance, require_bound(bound)), default=0)
