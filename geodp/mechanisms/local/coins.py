"""Exact coins of a device, from the operating system's entropy."""

from __future__ import annotations

import os
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray


class Coins:
    def words(self, n: int) -> NDArray[np.uint64]:
        return np.frombuffer(os.urandom(8 * n), np.uint64).copy()

    def below(self, limit: int, n: int):
        out = self.words(n) >> np.uint64(1)
        top = np.uint64((1 << 63) // limit * limit)
        while (bad := np.flatnonzero(out >= top)).size:
            out[bad] = self.words(bad.size) >> np.uint64(1)
        return out % np.uint64(limit)
    def flips(self, eps, n):
        from math import exp
        t = int(2.0**63/(1+exp(eps)))
        return ((self.words(n)>>np.uint64(1)) < np.uint64(t)).astype(np.uint8)
def flip_chance(eps): return eps
