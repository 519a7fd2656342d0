"""A key draws what was declared for it, and refuses everything else."""

from fractions import Fraction

import numpy as np
import pytest

from geodp.errors import UndeclaredDrawError
from geodp.privacy.key import NoiseKey, Stream, blocks
from geodp.privacy.noise.draws import Draw, Draws
from geodp.privacy.noise.law import DiscreteLaplace
from geodp.privacy.noise.node import NodeNoise
from tests.keys import keep


def test_a_private_key_draws_nothing_before_something_is_declared(tmp_path):
    kept = NoiseKey.from_file(keep(tmp_path / "key"))
    law, node = DiscreteLaplace.of_scale(Fraction(2)), np.arange(3, dtype=np.uint64)
    draw, narrow = Draw(Stream.STAGE, law.identity), DiscreteLaplace.of_scale(Fraction(3, 2))
    for key in (kept, NoiseKey.generate(), kept.derive(bytes(32))):
        with pytest.raises(UndeclaredDrawError):
            NodeNoise(key, Stream.STAGE, law).sequence(3)
        with pytest.raises(UndeclaredDrawError):
            blocks(key, Stream.STAGE, node)
        own = key.restrict(Draws.of([draw], {bytes(32): Draws.of([])}))
        assert NodeNoise(own, Stream.STAGE, law).sequence(3).size == 3
        for stream, other in ((Stream.STAGE + 1, law), (Stream.STAGE, narrow)):
            with pytest.raises(UndeclaredDrawError):
                NodeNoise(own, stream, other).sequence(3)
        for undeclared in (
            lambda own=own: own.restrict(Draws.of([])),
            lambda own=own: own.derive(bytes(31) + b"1"),
            lambda own=own: own.derive(bytes(32), Draws.of([draw])),
            lambda own=own: own.require(),
            lambda own=own: NodeNoise(own.derive(bytes(32)), Stream.STAGE, law).sequence(1),
        ):
            with pytest.raises(UndeclaredDrawError):
                undeclared()
