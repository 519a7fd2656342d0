"""The indicator of Takagi, Cao and Yoshikawa by its definition, for any channels."""

from math import inf, log


def indicator(shares, channels):
    """For each label: the largest, over inputs, of the least distance to any label's answer."""
    found = []
    for w, own in zip(shares, channels, strict=True):
        worst = 0.0
        inputs = range(len(own))
        for row in own:
            for answer, p in enumerate(row):
                if p:
                    worst = max(worst, *(far(w * p, answer, d, shares, channels) for d in inputs))
        found.append(worst)
    return found


def far(weight, answer, other, shares, channels):
    """How far the label's answer is from the nearest label's that has another input."""
    weights = [u * channel[other][answer] for u, channel in zip(shares, channels, strict=True)]
    return min(abs(log(weight / one)) if one else inf for one in weights)
