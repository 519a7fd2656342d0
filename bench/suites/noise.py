"""Cost of exact noise compared with usual floating-point noise."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.tables import table
from geodp.privacy.key import NoiseKey
from geodp.privacy.noise.law import DiscreteGaussian, DiscreteLaplace, Law
from geodp.privacy.noise.node import WORDS_PER_BLOCK, NodeNoise

TITLE = """\
Exact noise, nanoseconds a draw, the best of several rounds that alternate all peers.
  entries, build_ms       the law's table
  numpy                   Generator.laplace or Generator.normal, one call
  inverse                 float Laplace in NumPy: uniform, logarithm, sign, all in place
  words                   the exact draw, random words given
  full                    with ChaCha20, the 16 draws of every block used
  single                  with ChaCha20, one draw a block: the most that a draw can cost
  ratio                   full / the faster of the two float Laplace draws; the aim is at most 2"""

SCALES = [Fraction(3, 10), Fraction(1), Fraction(19), Fraction(190), Fraction(4000)]
GROUPS = 1 << 16
ROUNDS = 15


def options(parser: argparse.ArgumentParser) -> None:
    """Add no options: there are none."""


def measure() -> dict[str, Any]:
    """Measure a row for each law and scale (sigma for the Gaussian)."""
    return {"rows": [row(name, scale) for name in ("laplace", "gaussian") for scale in SCALES]}


def show(result: dict[str, Any]) -> str:
    """Format the rows."""
    return table(result["rows"])


def row(name: str, scale: Fraction, rounds: int = ROUNDS) -> dict[str, Any]:
    """Measure a law at one scale, and floating-point noise."""
    start = time.perf_counter()
    law: Law = DiscreteLaplace(scale) if name == "laplace" else DiscreteGaussian(scale**2)
    build = time.perf_counter() - start
    peers = _floats(float(scale)) | _exact(law)
    cost = _alternate(peers, rounds)
    # Compared with the faster of two usual implementations, which is the harder test.
    fastest = min(cost["laplace"], cost["inverse"])
    return {
        "law": name,
        "scale": str(scale),
        "entries": law.table.first.size,
        "build_ms": build * 1e3,
        "numpy": cost["laplace" if name == "laplace" else "normal"],
        "inverse": cost["inverse"],
        "words": cost["words"],
        "full": cost["full"],
        "single": cost["single"],
        "ratio": cost["full"] / fastest,
    }


def _floats(scale: float) -> dict[str, tuple[int, Callable[[], object]]]:
    """List the floating-point libraries: draws per call, and the call."""
    n = GROUPS * WORDS_PER_BLOCK
    generator = np.random.default_rng(1)
    # Buffers are reused, as an optimised implementation would do.
    uniform, magnitude = np.empty(n), np.empty(n)

    def inverse() -> None:
        generator.random(out=uniform)
        np.subtract(uniform, 0.5, out=uniform)
        np.abs(uniform, out=magnitude)
        np.multiply(magnitude, -2, out=magnitude)
        np.add(magnitude, 1, out=magnitude)
        np.log(magnitude, out=magnitude)
        np.multiply(magnitude, -scale, out=magnitude)
        np.copysign(magnitude, uniform, out=magnitude)

    return {
        "laplace": (n, lambda: generator.laplace(0, scale, n)),
        "normal": (n, lambda: generator.normal(0, scale, n)),
        "inverse": (n, inverse),
    }


def _exact(law: Law) -> dict[str, tuple[int, Callable[[], object]]]:
    """List the exact draws: with given random words, full blocks, and a block for each draw."""
    source = NodeNoise(NoiseKey(os.urandom(32)), 1, law)
    address = np.arange(GROUPS, 2 * GROUPS, dtype=np.uint64)
    words, node = source.words(address), np.arange(WORDS_PER_BLOCK * GROUPS, dtype=np.uint64)

    def draw(words: NDArray[np.uint32] = words) -> None:
        source.draw(words.reshape(-1), node.__getitem__)

    def full() -> None:
        draw(source.words(address))

    def single() -> None:
        draw(source.words(address)[:, :1])

    n = node.size
    return {"words": (n, draw), "full": (n, full), "single": (GROUPS, single)}


def _alternate(peers: dict[str, tuple[int, Callable[[], object]]], rounds: int) -> dict[str, float]:
    """Measure nanoseconds a draw of every peer; the first round compiles and is not counted."""
    best = dict.fromkeys(peers, float("inf"))
    for number in range(rounds + 1):
        for name, (draws, call) in peers.items():
            start = time.perf_counter()
            call()
            took = (time.perf_counter() - start) / draws * 1e9
            if number:
                best[name] = min(best[name], took)
    return best
