"""Trees of values: what a value may be replaced by, and how much that blurs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

from geodp.errors import UsageError, printable

LONGEST = 80
"""Letters of a name that a message repeats."""

ROOT = "*"
"""Name of the node that stands for every value, where none is given."""


@dataclass(frozen=True, eq=False)
class Taxonomy:
    """A public tree of values: leaves are what a column holds, nodes what may stand for them.

    Attributes
    ----------
    parents : dict of str to str
        Of every node but the root.

    Examples
    --------
    >>> jobs = Taxonomy.of({"baker": "crafts", "mason": "crafts", "crafts": "*", "nurse": "*"})
    >>> jobs.leaves("crafts"), jobs.path("mason")
    (2, ('*', 'crafts', 'mason'))
    """

    parents: dict[str, str] = field(repr=False)

    def __post_init__(self) -> None:
        roots = {*self.parents.values()} - {*self.parents}
        if len(roots) != 1:
            raise UsageError(
                "A hierarchy is a tree: it has one root, which every value leads to.",
                code="hierarchy-one-root",
            )
        reached = 0
        waiting = [*roots]
        while waiting:
            below = self.children.get(waiting.pop(), ())
            reached += len(below)
            waiting += below
        if reached != len(self.parents):
            raise UsageError(
                "A hierarchy is a tree: no value leads back to itself.", code="hierarchy-in-circle"
            )

    @classmethod
    def of(cls, parents: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> Self:
        """Make a tree of pairs: a value or node, and what it lies directly under.

        Parameters
        ----------
        parents : mapping, or pairs
            Names are compared as texts.

        Raises
        ------
        UsageError
            No tree: several roots, a node under two others, a node under itself.
        """
        pairs = parents.items() if isinstance(parents, Mapping) else parents
        found: dict[str, str] = {}
        for child, parent in pairs:
            if found.setdefault(str(child), str(parent)) != str(parent):
                name = printable(str(child)[:LONGEST])
                raise UsageError(
                    f"A hierarchy is a tree: {name} lies under two others.",
                    code="hierarchy-two-parents",
                )
        return cls(found)

    @classmethod
    def of_rows(cls, rows: Iterable[Sequence[Any]]) -> Self:
        """Make the tree of a table: a value, and what it lies under from the finest level up.

        Where the last column has several nodes, they lie under one root.

        Examples
        --------
        >>> rows = [("30", "30s", "adult"), ("31", "30s", "adult"), ("9", "child")]
        >>> tree = Taxonomy.of_rows(rows)
        >>> tree.path("31")
        ('*', 'adult', '30s', '31')
        """
        pairs: dict[tuple[str, str], None] = {}
        tops: dict[str, None] = {}
        for row in rows:
            path = [*dict.fromkeys(map(str, row))]
            pairs |= dict.fromkeys(pairwise(path))
            tops[path[-1]] = None
        if len(tops) > 1 or not pairs:
            pairs |= dict.fromkeys((top, ROOT) for top in tops if top != ROOT)
        return cls.of([*pairs])

    @classmethod
    def of_prefixes(cls, codes: Iterable[Any], lengths: Sequence[int]) -> Self:
        """Make the tree of codes whose first characters are codes of larger areas.

        Parameters
        ----------
        codes : iterable
            The finest ones.
        lengths : sequence of int
            Of the larger areas' codes, increasing; such as 4, 6, 8 of codes of JIS X 0410.

        Examples
        --------
        >>> Taxonomy.of_prefixes(["533945", "533946", "543910"], [4]).path("533946")
        ('*', '5339', '533946')
        """
        if not all(0 < a < b for a, b in zip(lengths, [*lengths[1:], 1 << 30], strict=True)):
            raise UsageError(
                "Lengths of codes are whole numbers above 0 that increase.",
                code="code-lengths-increase",
            )
        found: dict[str, str] = {}
        for code in map(str, codes):
            above = ROOT
            for length in lengths:
                if length < len(code):
                    above = found.setdefault(code[:length], above) and code[:length]
            found[code] = above
        return cls(found)

    @cached_property
    def children(self) -> dict[str, tuple[str, ...]]:
        """Nodes directly under every inner node."""
        found: dict[str, list[str]] = {}
        for child, parent in self.parents.items():
            found.setdefault(parent, []).append(child)
        return {parent: tuple(below) for parent, below in found.items()}

    @cached_property
    def root(self) -> str:
        """The node that stands for every value."""
        (found,) = {*self.parents.values()} - {*self.parents}
        return found

    @cached_property
    def _leaves(self) -> dict[str, int]:
        found: dict[str, int] = {}
        waiting = [self.root]
        while waiting:
            node = waiting[-1]
            below = self.children.get(node, ())
            if below and below[0] not in found:
                waiting += below
                continue
            found[waiting.pop()] = sum(found[child] for child in below) if below else 1
        return found

    def leaves(self, node: str) -> int:
        """Count the leaves under a node; 1 for a leaf. UsageError for what is no node."""
        if node not in self._leaves:
            raise UsageError("A value is not in its hierarchy.", code="value-not-in-hierarchy")
        return self._leaves[node]

    def loss(self, node: str) -> Fraction:
        """Return 0 for a leaf, else the share of all leaves that lie under a node."""
        below = self.leaves(node)
        if node not in self.children:
            return Fraction()
        return Fraction(below, self.leaves(self.root))

    def path(self, node: str) -> tuple[str, ...]:
        """Return the nodes from the root to one; UsageError for what is no node."""
        self.leaves(node)
        found = [node]
        while found[-1] != self.root:
            found.append(self.parents[found[-1]])
        return tuple(reversed(found))


def ncp(values: Mapping[str, Any], hierarchies: Mapping[str, Taxonomy]) -> Fraction:
    """Return what one record has lost by generalisation: its normalised certainty penalty.

    The sum over columns of 0 for a value itself, and of the share of all values that a node
    stands for (Xu et al. 2006, "Utility-based anonymization using local recoding").

    Parameters
    ----------
    values : mapping of str to str
        Nodes that stand for the record's values, by column.
    hierarchies : mapping of str to Taxonomy

    Raises
    ------
    UsageError
        A column without a hierarchy, or a value that is none of its nodes.

    Examples
    --------
    >>> names = {**dict.fromkeys("ab", "two"), **dict.fromkeys("cdef", "four")}
    >>> letters = Taxonomy.of({**names, "two": "*", "four": "*"})
    >>> names = {**dict.fromkeys("123", "low"), **dict.fromkeys("456", "high")}
    >>> digits = Taxonomy.of({**names, "low": "*", "high": "*"})
    >>> ncp({"letter": "two", "digit": "high"}, {"letter": letters, "digit": digits})
    Fraction(5, 6)
    """
    if missing := {*values} - {*hierarchies}:
        raise UsageError(f"The column {min(missing)} has no hierarchy.", code="hierarchy-missing")
    return sum((hierarchies[name].loss(str(value)) for name, value in values.items()), Fraction())
