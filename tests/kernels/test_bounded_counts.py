"""The fit's kernels beside their definition in plain Python, bit for bit, and its promises."""

import itertools

import numpy as np

from geodp.kernels import bounded_counts as kernels
from tests.reference import households as reference

TREES = 150


def make_tree(draw):
    """A random tree with 1 to 4 levels below the root, caps, measurements and uniforms."""
    depth = int(draw.integers(1, 5))
    children = [[[0]]]
    sizes = [1]
    for i in range(depth):
        each = draw.integers(1, draw.choice([2, 5, 20]), sizes[i])
        ends = [0, *np.cumsum(each).tolist()]
        children.append([[*range(a, b)] for a, b in itertools.pairwise(ends)])
        sizes.append(ends[-1])
    children = [*children[1:], []]
    cap = [draw.integers(1, draw.choice([3, 60, 10**9]), sizes[-1]).tolist()]
    for level in reversed(children[:-1]):
        cap.insert(0, [sum(cap[0][c] for c in below) for below in level])
    # Measurements far outside of what is possible, ties, and ones that nothing clamps.
    spread = float(draw.choice([0.0, 1.0, 50.0, 1e7]))
    measured = [
        np.rint(np.array(one) * draw.random() + spread * draw.normal(size=len(one))).tolist()
        for one in cap
    ]
    noise = draw.choice([1e-12, 0.3, 40.0, 1e6], len(sizes)).tolist()
    numbers = [draw.integers(0, 4, n) for n in sizes[:-1]]
    closed = [
        [(float(np.rint(spread * draw.normal())) if k else 0.0, float(k)) for k in some]
        for some in numbers
    ]
    uniform = [[float(draw.random())], *(draw.random(n).tolist() for n in sizes[:-1])]
    return children, measured, noise, closed, cap, uniform


def run_kernels(children, measured, noise, closed, cap, uniform):
    """The same by the kernels."""
    firsts = [np.cumsum([0, *map(len, level)]) for level in children[:-1]]
    z = [np.array(one, float) for one in measured]
    variance = [np.full(one.size, v) for one, v in zip(z, noise, strict=True)]
    for i in reversed(range(len(firsts))):
        sums, numbers = np.array(closed[i]).T.copy()
        others = sums, numbers * noise[i + 1]
        kernels.combine(firsts[i], z[i + 1], variance[i + 1], *others, noise[i], z[i], variance[i])
    count = np.clip(np.floor(z[0] + uniform[0][0]).astype(np.int64), 0, cap[0][0])
    for i, first in enumerate(firsts):
        below = np.empty(z[i + 1].size, np.int64)
        bounds = np.array(cap[i + 1])
        kernels.apportion(
            first, count, np.array(uniform[i + 1]), z[i + 1], variance[i + 1], bounds, below
        )
        sums = np.add.reduceat(below, first[:-1])
        assert (sums == count).all()
        assert (below >= 0).all()
        assert (below <= bounds).all()
        count = below
    return count


def test_trees_are_those_of_the_definition_to_the_last_unit():
    for seed in range(TREES):
        tree = make_tree(np.random.default_rng(seed))
        assert run_kernels(*tree).tolist() == reference.fit(*tree), seed


def test_estimates_are_those_of_the_definition_to_the_last_bit():
    for seed in range(100):
        children, measured, noise, closed, _, _ = make_tree(np.random.default_rng(seed))
        z, variance = reference.estimates(children, measured, noise, closed)
        first = np.cumsum([0, *map(len, children[-2])])
        above, spread = np.array(measured[-2], float), np.full(len(measured[-2]), noise[-2])
        cells = np.array(measured[-1], float), np.full(len(measured[-1]), noise[-1])
        sums, numbers = np.array(closed[-1]).T.copy()
        others = sums, numbers * noise[-1]
        kernels.combine(first, *cells, *others, noise[-2], above, spread)
        assert above.tolist() == z[-2]
        assert spread.tolist() == variance[-2]


def apportion(total, z, variance, cap, uniform):
    count = np.empty(len(z), np.int64)
    kernels.apportion(
        np.array([0, len(z)]),
        np.array([total]),
        np.array([uniform]),
        np.array(z, float),
        np.array(variance, float),
        np.array(cap),
        count,
    )
    return count.tolist()


def test_a_child_above_its_cap_leaves_the_rest_to_its_siblings_by_variance():
    # 10 more than what the first can hold go to the others, twice as many to the vaguer one.
    assert apportion(36, [16, 8, 8], [1, 1, 2], [6, 100, 100], 0.5) == [6, 13, 17]
