"""Compute the identity of what is drawn: a digest, from which noise key and fingerprint follow.

The digest is of everything that a release depends on except the key. The kept key derives the
release's noise key from it, and the fingerprint that says in a ledger what a charge was for. It is
not the public id of a release, which is made of its files
(:func:`geodp.io.folder.manifest.release_id`).

Noise is a function of (key, stream, node). If one key served two releases that measure different
things, the noise would cancel: two noisy counts at two scales, of one uniform number, are two
equations for it and the true count. So every release has a key of its own, derived from the kept
key and a digest of all that it is made of: the data, the public domain and the numbering of its
cells, the method with its version and all settings, the queries that it makes (the nodes of every
level, the exact parameter of every law), the same for the base method, if the release refines
another one, and everything that its guarantee states.

The key of a release draws what these queries declare and nothing else
(:class:`geodp.privacy.noise.draws.Draws`): what is drawn is in the digest, or it is refused.

A superfluous component costs budget: a release that could have been a replay draws new noise and is
charged. A missing component costs privacy. So everything doubtful is included, such as the unit of
privacy and delta, on which no noise depends. Only the origin of the key is left out.
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
"""Separates this use of the hash from others; a new list of components needs a new number."""


def release_digest(table: CountTable, method: Mechanism, event: Measurement) -> bytes:
    """Compute the SHA-256 of everything that a release depends on except the key.

    Equal for equal releases, on any machine, and on a cluster: see :func:`digest_stream`.

    Parameters
    ----------
    table : CountTable
    method : Mechanism
        With its settings.
    event : Measurement
        That of the method on the table's grid.

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
    """Compute the digest of a table that comes in chunks: all keys in order, then all counts."""
    # Sizes in bytes come first and byte order is fixed: chunks and machines must not matter.
    return digest(
        LABEL,
        encode(tuple(components(grid, method, event).items())),
        (8 * cells, (piece.astype("<u8", copy=False) for piece in keys)),
        (8 * cells, (piece.astype("<i8", copy=False) for piece in counts)),
    )


def components(grid: Grid, method: Mechanism, event: Measurement) -> dict[str, Plain]:
    """List the components of the digest other than the table, by name."""
    qualified_name = (type(method).__module__, type(method).__qualname__)
    # Names of built-in methods are unique and survive a move of their module. Two plug-ins may
    # share a name, so the module also identifies their classes.
    is_builtin = qualified_name[0].startswith("geodp.")
    # A base release has noise of its own, and the table drawn from it depends on that.
    base = method.base(grid, event)
    return {
        **grid_components(grid),
        "method": method.name if is_builtin else (method.name, *qualified_name),
        "version": method.version,
        "settings": method.settings,
        "queries": tuple((q.stream, q.noise, q.what) for q in method.queries(grid, event)),
        "event": loss_fields(event),
        **({} if base is None else {"base": tuple(components(*base).items())}),
    }


def grid_components(grid: Grid) -> dict[str, Plain]:
    """List the components that all releases on a grid share: noise format, grid and key order."""
    order = grid.order
    return {
        "noise format": NOISE_FORMAT,
        # Axes, labels, places, code system, and the SHA-256 of a mask or of a table of regions.
        "grid": grid.identity,
        # Written out: the description calls Morton's order by its name only.
        "order": (order.axes, order.radices, order.offset),
    }


def loss_fields(event: Measurement | Selection) -> Plain:
    """List names and values of an event's budget, neighbours, contribution and sensitivity.

    Left out are the origin of the key and the layout that states the contribution: the same input
    is the same release, whoever vouches for it. So is a share of 1: what is measured has all of the
    budget of its event.
    """
    named = {field.name: getattr(event, field.name) for field in fields(event)}
    left_out = ("key_origin", "layout", *(["share"] if named.get("share") == 1 else []))
    return tuple((name, value) for name, value in named.items() if name not in left_out)


def encode(value: Plain) -> bytes:
    """Encode a plain value as bytes, injectively: a type, a length, the content.

    Raises TypeError for any other type, floats included: they are seldom exact.

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
        case bool():  # before int, of which bool is a subclass
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
    key: NoiseKey | None, draws: Draws, compute_digest: Callable[[], bytes]
) -> tuple[NoiseKey, str]:
    """Derive the key of one release, and its fingerprint in a ledger. The caller forgets the key.

    Parameters
    ----------
    key : NoiseKey or None
        The kept key; None: a fresh one.
    draws : Draws
        All that the release may draw; its key refuses everything else.
    compute_digest : callable
        Computes the digest of all that the release depends on; called with a kept key only.
    """
    if key is None:
        # A fresh key never serves twice, so no digest is needed; a random fingerprint matches none.
        with NoiseKey.generate() as fresh:
            return fresh.restrict(draws), secrets.token_hex(32)
    contents = compute_digest()
    return key.derive(contents, draws), key.fingerprint(contents)


def key_of_table(
    key: NoiseKey | None, table: CountTable, method: Mechanism, event: Measurement
) -> tuple[NoiseKey, str]:
    """Derive the key of a table's release, and its fingerprint; see :func:`release_key`.

    The key draws exactly what the digest covers: both are made of the method's queries.
    """
    draws = method.declare(table.grid, event)
    return release_key(key, draws, lambda: release_digest(table, method, event))
