"""The two stages by their definitions, and the authors' own design beside them."""

import numpy as np


def deviation(values):
    """The least of ``sum |x - m|``, which some m among the values has."""
    return min(sum(abs(v - m) for v in values) for m in values)


def lengths(n):
    """Powers of two up to n."""
    return [1 << k for k in range(n.bit_length())]


def partitions(n):
    """Every way to cut n entries into intervals (start, width); last intervals' widths fall."""
    if n == 0:
        return [[]]
    return [
        [*before, (n - width, width)]
        for width in reversed(lengths(n))
        for before in partitions(n - width)
    ]


def best_partition(cost, n):
    """The first of the cheapest partitions; ``cost`` by (start, width)."""
    return min(partitions(n), key=lambda found: sum(cost[interval] for interval in found))


def tree(count, fanout):
    """Rows of a hierarchy's matrix over so many leaves, and the level of each."""
    groups = [[k] for k in range(count)]
    rows, levels = list(groups), [0] * count
    while len(groups) > 1:
        starts = range(0, len(groups), fanout)
        groups = [[k for group in groups[a : a + fanout] for k in group] for a in starts]
        rows += groups
        levels += [levels[-1] + 1] * len(groups)
    matrix = np.zeros((len(rows), count))
    for row, members in enumerate(rows):
        matrix[row, members] = 1
    return matrix, np.array(levels)


def estimate(people, constant, cost_noise, tree_noise, tree_scale, fanout):
    """Values of a list of cells.

    ``cost_noise`` of a level is a list long enough. So is ``tree_noise`` of a height, of the
    buckets (0) or of all levels above them (1); it has the scale ``tree_scale`` of the same.
    """
    n = len(people)
    cost = {}
    for level, width in enumerate(lengths(n)):
        noise = cost_noise(level)
        for start in range(n - width + 1):
            even = deviation(people[start : start + width])
            cost[start, width] = even + constant + int(noise[start])
    buckets = best_partition(cost, n)
    counts = np.array([sum(people[start : start + width]) for start, width in buckets])
    matrix, level = tree(len(buckets), fanout)
    height, n = level[-1] + 1, len(buckets)
    noise = [tree_noise(0, height)[:n]]
    scale = [float(tree_scale(0, height))] * n
    if height > 1:
        noise.append(tree_noise(1, height)[: len(matrix) - n])
        scale += [float(tree_scale(1, height))] * (len(matrix) - n)
    noisy, exact = matrix @ counts + np.concatenate(noise), 1 / np.array(scale)
    solved = np.linalg.lstsq(matrix * exact[:, None], noisy * exact, rcond=None)[0]
    values = []
    for (_, width), value in zip(buckets, solved, strict=True):
        values += [value / width] * width
    return np.array(values)


def design(people, epsilon, rng, published=False, rho=0.25):
    """The authors' own on a list of counts: one release with noise of a NumPy generator.

    Deviations from the mean; GREEDY_H for rectangles of a map leaves the buckets nearly all of
    the second budget, and they have all of it here. ``published``: with the noise of the authors'
    code, which is less than its claim asks for.
    """
    n = people.size
    first, second = rho * epsilon, (1 - rho) * epsilon
    best, last = np.zeros(n + 1), np.zeros(n + 1, int)
    costs = []
    for width in lengths(n):
        windows = np.lib.stride_tricks.sliding_window_view(people, width)
        even = np.abs(windows - windows.mean(axis=1, keepdims=True)).sum(axis=1)
        scale = published_scale(width, n) / first if published else 4 / first
        even += rng.laplace(0, 1, even.size) * scale
        costs.append((np.maximum(even, 0) if published else even) + 1 / second)
    for end in range(1, n + 1):
        found = [best[end - w] + c[end - w] for w, c in zip(lengths(end), costs, strict=False)]
        best[end] = min(found)
        last[end] = lengths(end)[int(np.argmin(found))]
    values, end = np.zeros(n), n
    while end:
        bucket = slice(end - last[end], end)
        values[bucket] = (people[bucket].sum() + rng.laplace(0, 1 / second)) / last[end]
        end -= last[end]
    return values


def published_scale(width, n):
    """Scale of the noise of a cost in the authors' code, for a first budget of 1."""
    return 0 if width == 1 else 2 - 1 / width - 1 / n
