"""DAWA's two stages by their definitions: all partitions, and a system of equations."""

from fractions import Fraction
from math import floor

import numpy as np


def deviation(values):
    """``sum |x - mean|``, rounded half up."""
    if not values:
        return 0
    mean = Fraction(sum(values), len(values))
    return floor(sum(abs(v - mean) for v in values) + Fraction(1, 2))


def intervals(node, n):
    """First key and end of a tree's node."""
    width = n >> (node.bit_length() - 1)
    return node * width - n, node * width - n + width


def partitions(node, n, inside):
    """Every way to cut a node into aligned intervals; whole first, then by the left half."""
    low, high = intervals(node, n)
    if not any(inside[low:high]):
        return [[]]
    if high - low == 1:
        return [[node]]
    middle = (low + high) // 2
    left, right = partitions(2 * node, n, inside), partitions(2 * node + 1, n, inside)
    found = [a + b for a in left for b in right]
    both = any(inside[low:middle]) and any(inside[middle:high])
    return [[node], *found] if both else found


def best_partition(cost, inside):
    """The first of the cheapest partitions, as nodes."""
    found = partitions(1, len(inside), inside)
    return min(found, key=lambda nodes: sum(cost[node] for node in nodes))


def tree(count, fanout):
    """Rows of a hierarchy's matrix over so many leaves, level by level."""
    groups = [[k] for k in range(count)]
    rows = list(groups)
    while len(groups) > 1:
        starts = range(0, len(groups), fanout)
        groups = [[k for group in groups[a : a + fanout] for k in group] for a in starts]
        rows += groups
    matrix = np.zeros((len(rows), count))
    for row, members in enumerate(rows):
        matrix[row, members] = 1
    return matrix


def estimate(people, inside, constant, cost_noise, tree_noise, fanout):
    """Values of all keys, for an additive constant and noises of both stages."""
    n = len(people)
    cost = {}
    for node in range(1, 2 * n):
        low, high = intervals(node, n)
        domain = [people[k] for k in range(low, high) if inside[k]]
        cost[node] = deviation(domain) + constant + int(cost_noise[node])
    buckets = [intervals(node, n) for node in best_partition(cost, inside)]
    counts = np.array([sum(people[low:high]) for low, high in buckets])
    matrix = tree(len(buckets), fanout)
    noisy = matrix @ counts + tree_noise(len(matrix))
    solved = np.linalg.lstsq(matrix, noisy, rcond=None)[0]
    values = np.zeros(n)
    for (low, high), value in zip(buckets, solved, strict=True):
        for k in range(low, high):
            values[k] = value / sum(inside[low:high]) if inside[k] else 0
    return values
