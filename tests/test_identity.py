"""A kept key: the same release again at no cost, and independent noise for any other."""

from fractions import Fraction

import numpy as np
import pytest

import geodp
from geodp.ledger import Ledger
from geodp.loss import PureDP
from geodp.mechanisms import pyramid

GRID = geodp.Grid.regular((8, 8))
TABLE = geodp.CountTable.from_dense(np.arange(64).reshape(8, 8) * 100, GRID)


@pytest.fixture
def ledger(tmp_path):
    made = Ledger.create(tmp_path / "office.ledger")
    made.add_dataset("census", PureDP(Fraction(1)))
    return made


@pytest.fixture
def key(tmp_path):
    file = tmp_path / "key"
    file.write_text(bytes(range(32)).hex())
    return geodp.NoiseKey.from_file(file)


def test_changed_software_under_a_kept_key_draws_new_noise_and_is_charged(ledger, key, monkeypatch):
    """Shares of small grids, as a version of this project once changed them.

    With the noise of the first release the second would be another equation of the same
    unknowns: two of them at epsilon 1/100 tell a total of thousands to within some people.
    """
    terms = {"epsilon": "1/100", "key": key, "ledger": ledger, "dataset": "census"}
    one = geodp.publish(TABLE, **terms)
    assert geodp.publish(TABLE, **terms).charge.replay
    monkeypatch.setattr(pyramid, "SMALL", 1)
    two = geodp.publish(TABLE, **terms)
    assert two.event == one.event, "the same call, as far as its parameters tell"
    assert not two.charge.replay
    assert ledger.spent("census") == PureDP(Fraction(2, 100))
    assert two.charge.fingerprint != one.charge.fingerprint


def test_two_releases_by_changed_software_do_not_tell_the_total(monkeypatch):
    """Half the sum of two totals of one noise at two scales, ``n + z a`` and ``n + z b``, is n.

    Where noises are one, ``(b t1 - a t2) / (b - a)`` has hardly any error.
    """
    scales = []
    errors = []
    for number in range(60):
        key, totals = geodp.NoiseKey(bytes([number] * 32)), []
        for small in (1 << 10, 1):
            monkeypatch.setattr(pyramid, "SMALL", small)
            method = pyramid.Pyramid(passes=1)
            release = geodp.publish(TABLE, method=method.spec, epsilon="1/100", key=key)
            totals.append(int(release.table.count.sum()))
            scales.append(release.event.scale / method.levels(GRID).shares[0])
        a, b = map(float, scales[-2:])
        errors.append((b * totals[0] - a * totals[1]) / (b - a) - TABLE.count.sum())
    assert np.median(np.abs(errors)) > float(min(scales)) / 2
