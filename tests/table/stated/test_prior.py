"""What a card states of a prior is kept until it is written."""

import geodp
from geodp.table.stated.prior import StatedPrior, pack_prior, unpack_prior
from tests.table.test_prior import table


def test_what_was_learned_is_kept_and_restored():
    release = geodp.publish(
        table(), epsilon=1, prior=table(seed=2), prior_source="made up", contribution=1
    )
    assert unpack_prior(pack_prior(release.prior), StatedPrior) == release.prior
    assert unpack_prior(pack_prior(None), StatedPrior) is None
