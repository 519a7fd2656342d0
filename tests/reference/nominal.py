"""The nominal wavelet of Xiao et al. (2011), section 5, node by node on nested lists.

A tree is a list of trees, a cell its count, and a place that nobody can be at is None.
"""


def prune(tree):
    """The tree without places that nobody can be at; None where nothing is left."""
    if not isinstance(tree, list):
        return tree
    kept = [one for one in map(prune, tree) if one is not None]
    return kept or None


def leaf_sum(tree):
    return sum(map(leaf_sum, tree)) if isinstance(tree, list) else tree


def coefficients(tree):
    """Leaf sums less their mean, and weights, of every list of siblings, level by level.

    The first is the total alone, with the weight 1.
    """
    found, level = [([leaf_sum(tree)], 1)], [tree]
    while any(isinstance(one, list) for one in level):
        for one in level:
            if isinstance(one, list) and len(one) > 1:
                sums = [leaf_sum(child) for child in one]
                f = len(one)
                found.append(([s - sum(sums) / f for s in sums], f / (2 * f - 2)))
        level = [child for one in level if isinstance(one, list) for child in one]
    return found


def rebuild(tree, noisy):
    """Cells of a tree, by noisy coefficients in the same order: means subtracted, then top-down."""
    noisy = iter(noisy)
    (total,) = next(noisy)
    level, values, cells = [tree], [total], {}
    paths = [()]
    while level:
        below, sums, ways = [], [], []
        for one, value, path in zip(level, values, paths, strict=True):
            if not isinstance(one, list):
                cells[path] = value
                continue
            own = next(noisy) if len(one) > 1 else [0]
            mean = sum(own) / len(own)
            for i, (child, c) in enumerate(zip(one, own, strict=True)):
                below.append(child)
                sums.append(c - mean + value / len(one))
                ways.append((*path, i))
        level, values, paths = below, sums, ways
    return [cells[path] for path in sorted(cells)]
