"""The quadtree of Cormode et al. (2012), by its recursive definition on the bits of a key."""


def level_widths(axes, height):
    """Keys under a node of every level: a level takes bits of different axes, cells first."""
    widths, seen = [1], []
    for axis in reversed(axes):
        if axis in seen:
            widths.append(widths[-1] << len(seen))
            seen = []
        seen.append(axis)
    if seen:
        widths.append(widths[-1] << len(seen))
    return widths[::-1][: height + 1]


def shares(levels, budget):
    """Parts of the budget from the root to the leaves, as floats."""
    weights = [2 ** (i / 3) if budget == "geometric" else 1 for i in range(levels)]
    return [weight / sum(weights) for weight in weights]
