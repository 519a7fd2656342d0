"""Small settings of every oracle, and the slow, obvious twins that say what they do."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from geodp.local.coins import FixedCoins
from geodp.local.oracles import ORACLES
from tests.reference import grr, hadamard, olh, pgr, rappor, sketch, unary

EPSILONS = [Fraction(1, 2), Fraction(1), Fraction(4)]

SMALL = {"cms": {"k": 3, "m": 4}, "hcms": {"k": 3, "m": 4}}
"""Settings with which an oracle is quick; without an entry its own defaults are."""


def oracle(name, cells=9, epsilon=1, **own):
    """An oracle with small settings."""
    return ORACLES[name](cells=cells, epsilon=epsilon, **{**SMALL.get(name, {}), **own})


def fixed(seed, units):
    """Fixed coins, in plenty."""
    return FixedCoins(np.random.default_rng(seed).integers(0, 1 << 32, units, np.uint32))


def plain(report):
    """A report as its twin writes it: numbers, and bytes for bits."""
    fields = [report[name] for name in report.dtype.names]
    return tuple(tuple(one.tolist()) if isinstance(one, np.ndarray) else int(one) for one in fields)


@dataclass(frozen=True)
class Twin:
    """An oracle's twin, and the settings that it is told, which are the oracle's own."""

    name: str
    twin: Any
    own: dict = field(default_factory=dict)
    told: tuple[tuple[str, str], ...] = ()
    epsilon: bool = True
    """Whether the twin goes by epsilon."""

    def __str__(self):
        words = [f"{name}={value}" for name, value in self.own.items()]
        return "-".join([self.name, *words])

    def oracle(self, cells, epsilon=Fraction(1)):
        own = self.own if {"f"} & {*self.own} else {"epsilon": epsilon, **self.own}
        return ORACLES[self.name](cells=cells, **own)

    def settings(self, one):
        """What the twin is told of an oracle."""
        told = {theirs: getattr(one, mine) for theirs, mine in self.told}
        return {"cells": one.cells, **({"epsilon": one.epsilon} if self.epsilon else {}), **told}

    def report(self, value, coins, one):
        return self.twin.report(value, coins, **self.settings(one))

    def estimate(self, reports, value, one):
        told = self.settings(one)
        return self.twin.estimate([plain(report) for report in reports], value, **told)


SKETCH = (("k", "k"), ("m", "m"), ("seed", "seed"))
FILTER = tuple((name, name) for name in ("f", "p", "q", "hashes", "bits", "cohorts", "seed"))

TWINS = [
    Twin("grr", grr),
    Twin("hadamard", hadamard),
    Twin("sue", unary.sue),
    Twin("oue", unary.oue),
    Twin("olh", olh),
    Twin("pgr", pgr, {}, (("q", "prime"),)),
    Twin("pgr", pgr, {"prime": 2}, (("q", "prime"),)),
    Twin("pgr", pgr, {"prime": 5}, (("q", "prime"),)),
    Twin("cms", sketch.Cms, {"k": 3, "m": 4}, SKETCH),
    Twin("cms", sketch.Cms, {"k": 1, "m": 5, "seed": 7}, SKETCH),
    Twin("hcms", sketch.Hcms, {"k": 3, "m": 4}, SKETCH),
    Twin("hcms", sketch.Hcms, {"k": 1, "m": 2, "seed": 7}, SKETCH),
    Twin("rappor", rappor, {}, FILTER, False),
    Twin("rappor", rappor, {"one_time": True}, FILTER, False),
    Twin("rappor", rappor, {"f": "1/2", "p": "1/2", "q": "3/4"}, FILTER, False),
    Twin("rappor", rappor, {"hashes": 2, "bits": 5, "cohorts": 3, "seed": 5}, FILTER, False),
]
