"""The noise of tree nodes: a law, addressed by key, stream and node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from geodp.kernels import noise as kernels
from geodp.privacy.key import NoiseKey, draw_digits, expose, lines
from geodp.privacy.noise.draws import Draw
from geodp.privacy.noise.law import FIRST, Law

WORDS_PER_BLOCK = 16
"""Words of 32 bits in a ChaCha20 block; each serves one draw."""

SEQUENCE = WORDS_PER_BLOCK << 12
"""Items of a list that are drawn together, so that they and their words stay in the cache."""


def number_children(above: NDArray[np.uint64], fanout: int) -> NDArray[np.uint64]:
    """Compute ``above * fanout + j`` for every j below fanout: uint64[n * fanout]."""
    first = above[:, None] * np.uint64(fanout)
    return np.asarray(first + np.arange(fanout, dtype=np.uint64), np.uint64).reshape(-1)


@dataclass(frozen=True, eq=False, slots=True)
class NodeNoise:
    """Noise of a law and a rounding bit for every node of a binary tree.

    Magnitudes have no bound, and yet all fit int64: a node has ``2**41`` further digits, and N
    digits decide for ``|Z| >= g`` only if ``P(|Z| >= g) >= 2**-N``, so for no g from
    ``LARGEST_SCALE * 2**41 < 2**58`` on. That more are needed has a probability of ``2**-2**41``.

    Attributes
    ----------
    key : NoiseKey
    stream : int
        At most 31 bits; the top bit marks the blocks that hold further digits of a draw.
    law : Law
    """

    key: NoiseKey
    stream: int
    law: Law

    @property
    def source(self) -> Draw:
        """The declared draw: the stream, and the law of the noise."""
        return Draw(int(self.stream), self.law.identity)

    def words(self, address: NDArray[np.uint64]) -> NDArray[np.uint32]:
        """Generate the words of blocks, for :meth:`draw`: uint32[n, 16]."""
        line = np.empty(8 * address.size, np.uint64)
        lines(self.key, self.stream, address, line, law=self.law.identity)
        halves = line.astype("<u8", copy=False).view("<u4")  # the lower half is the first word
        return halves.astype(np.uint32, copy=False).reshape(-1, WORDS_PER_BLOCK)

    def draw(
        self, word: NDArray[np.uint32], node: Callable[[NDArray[np.int32]], NDArray[np.uint64]]
    ) -> NDArray[np.int64]:
        """Draw the noise of nodes, or of items of a list, from their words: int64[n].

        Parameters
        ----------
        word : uint32[n]
        node : callable
            The ids of the nodes, or the numbers of the items, at some places; asked for draws
            that need further digits.
        """
        noise, todo = np.empty(word.size, np.int64), np.empty(word.size + 1, np.int32)
        table = self.law.table
        # The table decides almost all draws from one word; the rest compare 64 more digits, and the
        # very few that are still open are decided in Python with exact integers.
        if left := kernels.look_up(word, table, noise, todo):
            undecided = node(todo[:left])
            with expose(self.key, self.source) as words:
                stream = np.uint32(self.stream)
                left = kernels.resolve(words, stream, undecided, word, table, noise, todo)
            for i, one in zip(todo[:left], undecided[:left], strict=True):
                noise[i] = self.decide(int(word[i]), one)
        return noise

    def decide(self, word: int, node: np.uint64) -> int:
        """Decide one draw exactly, with as many digits as needed."""
        uniform = word >> 4 & ((1 << FIRST) - 1)
        more = draw_digits(self.key, self.stream, int(node), self.law.identity)
        magnitude = self.law.magnitude(uniform, FIRST, more)
        return -magnitude if word >> 31 else magnitude

    def at(
        self, node: NDArray[np.uint64], level: int, leaves: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Draw noise and rounding bits of any nodes of one level: int64[n], int64[n].

        ``leaves`` is the level of the tree's leaves, from which blocks are counted.
        """
        address = np.empty_like(node)
        slot = np.empty(node.size, np.int64)
        kernels.locate(node, level, leaves, address, slot)
        # Nodes of a level share blocks by position, so a lookup costs one block and no state.
        word = self.words(address)[np.arange(node.size), slot]
        return self.draw(word, node.__getitem__), (word & np.uint32(1)).astype(np.int64)

    def sequence(self, n: int) -> NDArray[np.int64]:
        """Draw the noise of the items 0 to n - 1 of a list: int64[n]; 16 items share a block.

        A stream serves either the nodes of a tree or one list, never both.
        """
        return self.add_sequence(np.zeros(n, np.int64))

    def add_sequence(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Add the noise of the items of a list to their counts, and return these: int64[n]."""
        for start in range(0, counts.size, SEQUENCE):
            stop = min(start + SEQUENCE, counts.size)
            block = np.arange(
                start // WORDS_PER_BLOCK, -(-stop // WORDS_PER_BLOCK), dtype=np.uint64
            )
            word = self.words(block).reshape(-1)[: stop - start]
            counts[start:stop] += self.draw(word, partial(_number, start))
        return counts

    def families(
        self, above: NDArray[np.uint64], fanout: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Draw the noise of all children of nodes, and a number in [0, 1) for each node.

        A node has ceil(fanout / 16) blocks; child j takes word j % 16 of block j // 16, and the
        low nibbles of the first block's words are the node's own number.

        Parameters
        ----------
        above : uint64[n]
            The nodes; child j of one has the number ``above * fanout + j``.

        Returns
        -------
        noise, uniform : int64[n * fanout], float64[n]
        """
        word, uniform = np.empty(above.size * fanout, np.uint32), np.empty(above.size)
        with expose(self.key, self.source) as words:
            kernels.families(words, np.uint32(self.stream), above, fanout, word, uniform)

        def number(i: NDArray[np.int32]) -> NDArray[np.uint64]:
            child = (i % fanout).astype(np.uint64)
            return np.asarray(above[i // fanout] * np.uint64(fanout) + child, np.uint64)

        return self.draw(word, number), uniform

    def among_children(self, node: NDArray[np.uint64], fanout: int) -> NDArray[np.int64]:
        """Draw the noise of any nodes, each as a child of the node above it: int64[n].

        The same as :meth:`families` draws for all children of those nodes.
        """
        above, child = node // np.uint64(fanout), node % np.uint64(fanout)
        parts, per_block = np.uint64(-(-fanout // WORDS_PER_BLOCK)), np.uint64(WORDS_PER_BLOCK)
        # Siblings share blocks, so each block is generated once.
        block, at = np.unique(above * parts + child // per_block, return_inverse=True)
        word = self.words(block)[at, child % per_block]
        return self.draw(word, node.__getitem__)


def _number(start: int, place: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Return the numbers of items at places from ``start`` on."""
    return np.asarray(place.astype(np.uint64) + np.uint64(start), np.uint64)
