"""Largest variance of aligned blocks, from the dense covariance matrix of a domain's cells."""

from math import prod

import numpy as np


def shared_out(key, fanouts, variances):
    """Covariance of cells where every node shares out among its children in the domain.

    Each of k children is the k-th part of its node, and a deviation that is uncorrelated with the
    node; the deviations of siblings add up to nothing: ``V (1 - 1/k)`` each, ``-V / k`` together.
    """
    stride, above = prod(fanouts), np.zeros(1, np.uint64)
    found = np.array([[variances[0]]])
    for fanout, variance in zip(fanouts, variances[1:], strict=True):
        stride //= fanout
        child = np.unique(key // np.uint64(stride))
        node = child // np.uint64(fanout)
        siblings = node[:, None] == node
        part = 1 / siblings.sum(axis=1, keepdims=True)
        share = (node[:, None] == above) * part
        found = share @ found @ share.T + variance * (np.eye(child.size) - siblings * part)
        above = child
    return found


def least_squares(key, fanouts, variances):
    """Covariance of the cells' best linear estimates from one measurement of every node."""
    stride, rows = prod(fanouts), []
    for fanout, variance in zip((*fanouts, 1), variances, strict=True):
        node = key // np.uint64(stride)
        rows.append((np.unique(node)[:, None] == node) / np.sqrt(variance))
        stride //= fanout
    measured = np.concatenate(rows)
    return np.linalg.inv(measured.T @ measured)


def largest_variances(covariance, key, radices):
    """Largest variance of a block of keys that share i digits, at index i: float64[digits + 1]."""
    found = []
    for digits in range(len(radices) + 1):
        block = key // np.uint64(prod(radices[digits:]))
        inside = (np.unique(block)[:, None] == block).astype(np.float64)
        found.append(float(((inside @ covariance) * inside).sum(axis=1).max()))
    return np.array(found)
