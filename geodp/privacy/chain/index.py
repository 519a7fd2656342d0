"""An index inside the entries themselves, which finds the latest entry with a key.

Keys are digests. Every entry of an index is the root of a tree of all keys so far: its *branches*
hold, for each bit of its own key, the latest entry among those keys that share the bits before and
differ in this one. A search begins at the latest entry, goes to the branch of the first bit in
which the keys differ, and so on: about half of log2(n) steps for n keys. A new entry takes over
the branches that the search passed, so nothing that was written is ever changed.

A branch names an entry by its place and its hash. So the hash of the latest entry stands for the
whole index, as that of a hash chain stands for all entries: whatever a search meets, and that there
is nothing else to meet, is verified.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from geodp.privacy.chain.slots import Place
from geodp.privacy.hash_chain import LedgerEntry, canonical

Branches = list[Place | None]
Fetch = Callable[[Place], LedgerEntry]
"""Function that returns the verified entry of a place."""

_BITS = 256


def digest_key(*parts: str) -> int:
    """Return the key of some texts, a whole number of 256 bits."""
    return int.from_bytes(hashlib.sha256(canonical(parts).encode()).digest())


class Index:
    """One index over the entries of a ledger.

    Parameters
    ----------
    name : str
        Entries hold their branches under it. An entry that is none of the index holds the place of
        the latest one that is, under ``latest_`` and the name.
    key_of : callable
        Returns the key of an entry's content, or None where it is none of the index.
    """

    def __init__(self, name: str, key_of: Callable[[dict[str, Any]], int | None]) -> None:
        self.name = name
        self._latest = f"latest_{name}"
        self._key_of = key_of

    def columns(
        self, content: dict[str, Any], last: LedgerEntry | None, fetch: Fetch
    ) -> dict[str, Any]:
        """Return the columns that the index adds to a new entry.

        Parameters
        ----------
        content : dict
            Content of the new entry.
        last : Entry, optional
            The entry before it.
        """
        root = self._root(last)
        key = self._key_of(content)
        if key is not None:
            return {self.name: self._branches_of(key, root, fetch)}
        return {} if root is None else {self._latest: list(root)}

    def find(self, key: int, last: LedgerEntry, fetch: Fetch) -> LedgerEntry | None:
        """Return the latest entry with a key, if there is one."""
        place = self._root(last)
        while place is not None:
            entry = fetch(place)
            at = _first_difference(key, self._require_key(entry))
            if at is None:
                return entry
            branches = self._read(entry)
            place = branches[at] if at < len(branches) else None
        return None

    def entries(self, last: LedgerEntry, fetch: Fetch) -> Iterator[LedgerEntry]:
        """Yield the latest entry of every key, in no order."""
        root = self._root(last)
        open_places = [] if root is None else [(root, 0)]
        while open_places:
            place, depth = open_places.pop()
            entry = fetch(place)
            yield entry
            branches = self._read(entry)
            open_places += [
                (branch, at + 1)
                for at, branch in enumerate(branches)
                if branch is not None and at >= depth
            ]

    def _branches_of(self, key: int, root: Place | None, fetch: Fetch) -> list[list[Any] | None]:
        """Return the branches of a new latest entry."""
        branches = Branches()
        place = root
        while place is not None:
            entry = fetch(place)
            existing = self._read(entry)
            at = _first_difference(key, self._require_key(entry))
            upto = len(existing) if at is None else at
            # Branches above the first difference lead to keys that share the prefix with the new
            # one, too.
            branches += existing[len(branches) : upto]
            if at is None:
                break
            branches += [None] * (at - len(branches))
            branches.append(place)
            place = existing[at] if at < len(existing) else None
        return [None if branch is None else list(branch) for branch in branches]

    def _root(self, last: LedgerEntry | None) -> Place | None:
        if last is None:
            return None
        if self._key_of(last.content) is not None:
            return last.place
        return _place(last.content.get(self._latest))

    def _read(self, entry: LedgerEntry) -> Sequence[Place | None]:
        return [_place(branch) for branch in entry.content[self.name]]

    def _require_key(self, entry: LedgerEntry) -> int:
        key = self._key_of(entry.content)
        if key is None:
            raise ValueError("a branch leads to an entry outside of the index")
        return key


def _place(value: Any) -> Place | None:
    if value is None:
        return None
    start, digest = value
    return Place(int(start), str(digest))


def _first_difference(one: int, other: int) -> int | None:
    """Return the first bit, from the highest, in which two keys differ."""
    # Keys are SHA-256 digests, so the tree is balanced whatever names an attacker chooses.
    different = one ^ other
    return _BITS - different.bit_length() if different else None
