"""What a card states of a prior is kept until it is written."""

import geodp
from geodp.table.stated.prior import keep_stated, restore_stated
from tests.table.test_prior import table


def test_what_was_learned_is_kept_and_restored():
    release = geodp.publish(
        table(), epsilon=1, prior=table(seed=2), prior_source="made up", contribution=1
    )
    assert restore_stated(keep_stated(release.prior)) == release.prior
    assert restore_stated(keep_stated(None)) is None
