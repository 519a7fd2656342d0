"""What makes two releases under one kept key the same: the digest that derives their noise.

Noise is a function of (key, stream, node). If one key served two releases that measure different
things, the noise would cancel: two noisy counts at two scales, of one uniform number, are two
equations for it and the true count. So every release has a key of its own, derived from the kept
key and a digest of all that it is made of: the data, the public domain and the numbering of its
cells, the method with its version and all settings, the queries that it really asks (every level's
nodes, every law's exact parameter), the same of the method whose release it begins with, if there
is one, and everything that its guarantee says.

The key of a release draws what these queries declare and nothing else
(:class:`geodp.privacy.noise.draws.Draws`): what is drawn is in the digest, or it is refused.

What is in the digest without need costs budget: a release that could have been a replay draws
noise of its own and is charged. What is missing costs privacy. So whatever is in doubt is in it,
such as the unit of privacy and delta, which no noise depends on. Left out is only where the key
came from.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from dataclasses import fields
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from geodp.grid.grid import Grid
from geodp.mechanisms import Mechanism
from geodp.mechanisms.base import Plain
from geodp.privacy.event import Measurement
from geodp.privacy.key import NOISE_FORMAT, NoiseKey, digest
from geodp.privacy.noise.draws import Draws
from geodp.privacy.selected import Selection
from geodp.table.counts import CountTable

LABEL = b"geodp release identity 2"
"""Of this use of the hash, and of the list of components."""


def release_digest(table: CountTable, method: Mechanism, event: Measurement) -> bytes:
    """SHA-256 of everything that a release depends on but the key.

    Equal for equal releases, on any machine, and on a cluster: see :func:`digest_stream`.

    Parameters
    ----------
    table : CountTable
    method : Mechanism
        With its settings.
    event : Measurement
        Of the method on the table's grid.

    Returns
    -------
    bytes
        32, for :meth:`geodp.privacy.key.NoiseKey.derive`.
    """
    return digest_stream(table.grid, method, event, table.key.size, [table.key], [table.count])


def digest_stream(
    grid: Grid,
    method: Mechanism,
    event: Measurement,
    cells: int,
    keys: Iterable[NDArray[np.uint64]],
    counts: Iterable[NDArray[np.int64]],
) -> bytes:
    """Return the same of a table that comes in pieces: all keys in order, and then all counts."""
    return digest(
        LABEL,
        encode(tuple(components(grid, method, event).items())),
        (8 * cells, (piece.astype("<u8", copy=False) for piece in keys)),
        (8 * cells, (piece.astype("<i8", copy=False) for piece in counts)),
    )


def components(grid: Grid, method: Mechanism, event: Measurement) -> dict[str, Plain]:
    """Return what is in the digest beside the table, by name."""
    whose = (type(method).__module__, type(method).__qualname__)
    own = whose[0].startswith("geodp.")  # its name is nobody else's
    base = method.base(grid, event)
    return {
        **ground(grid),
        "method": method.name if own else (method.name, *whose),
        "version": method.version,
        "settings": method.settings,
        "queries": tuple((q.stream, q.noise, q.what) for q in method.queries(grid, event)),
        "event": spent(event),
        **({} if base is None else {"base": tuple(components(*base).items())}),
    }


def ground(grid: Grid) -> dict[str, Plain]:
    """Return the format of the noise, and where."""
    order = grid.order
    return {
        "noise format": NOISE_FORMAT,
        # Axes, labels, places, code system, and the SHA-256 of a mask or of a table of regions.
        "grid": grid.identity,
        # Written out: the description calls Morton's order by its name only.
        "order": (order.axes, order.radices, order.offset),
    }


def spent(event: Measurement | Selection) -> Plain:
    """Names and values of what an event spends: budget, relation, contribution, sensitivity.

    Not where the key comes from, nor which layout states the contribution: the same input is the
    same release, whoever answers for it.
    """
    return tuple(
        (field.name, getattr(event, field.name))
        for field in fields(event)
        if field.name not in ("key_origin", "layout")
    )


def encode(value: Plain) -> bytes:
    """Plain values as bytes, different for different values: a type, a length, the content.

    Raises TypeError for anything else, floats among them: they are seldom exact.

    Examples
    --------
    >>> encode(("1", 1))
    b't8:s1:1i1:1'
    >>> encode(True) == encode(1)
    False
    """
    match value:
        case None:
            kind, content = b"n", b""
        case bool():
            kind, content = b"b", b"%d" % value
        case int():
            kind, content = b"i", b"%d" % value
        case Fraction():
            kind, content = b"q", b"%d/%d" % (value.numerator, value.denominator)
        case str():
            kind, content = b"s", value.encode()
        case bytes():
            kind, content = b"y", value
        case tuple():
            kind, content = b"t", b"".join(map(encode, value))
        case _:
            raise TypeError(f"A {type(value).__name__} has no exact encoding.")
    return b"%b%d:%b" % (kind, len(content), content)


def release_key(
    key: NoiseKey | None, draws: Draws, identity: Callable[[], bytes]
) -> tuple[NoiseKey, str]:
    """Return the key of one release, which the caller forgets, and its fingerprint in a ledger.

    Parameters
    ----------
    key : NoiseKey or None
        Kept by its owner; None: a fresh one.
    draws : Draws
        All that the release can draw; its key refuses everything else.
    identity : callable
        The digest of all that the release depends on, asked for where a key is kept.
    """
    if key is None:
        fresh = NoiseKey.generate()
        try:
            return fresh.restrict(draws), secrets.token_hex(32)
        finally:
            fresh.forget()
    found = identity()
    return key.derive(found, draws), key.fingerprint(found)


def key_of_table(
    key: NoiseKey | None, table: CountTable, method: Mechanism, event: Measurement
) -> tuple[NoiseKey, str]:
    """Return the key of a table's release, and its fingerprint; see :func:`release_key`.

    What the key draws is what the digest says: both are made of the method's queries.
    """
    draws = method.declare(table.grid, event)
    return release_key(key, draws, lambda: release_digest(table, method, event))
