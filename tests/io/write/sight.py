"""How colours look to people who see them otherwise, and how far two colours are apart.

Machado, Oliveira, Fernandes: A Physiologically-based Model for Simulation of Color Vision
Deficiency. IEEE Transactions on Visualization and Computer Graphics 15(6), 2009: the matrices of
full severity.
"""

import numpy as np

SIGHTS = {
    "all cones": np.eye(3),
    "no long": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "no medium": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "no short": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
"""Linear RGB as it is seen, by the cones that are there."""

XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)
"""Matrix of linear sRGB; its rows add up to the white of D65."""


def lab(colours, sight):
    """CIE L*a*b* of colours, 0 to 255 each, as somebody sees them: float64[n, 3]."""
    part = np.asarray(colours, float) / 255
    linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    seen = np.clip(linear @ np.array(SIGHTS[sight]).T, 0, 1)
    ratio = seen @ XYZ.T / XYZ.sum(axis=1)
    root = np.where(ratio > (6 / 29) ** 3, np.cbrt(ratio), ratio / (3 * (6 / 29) ** 2) + 4 / 29)
    x, y, z = root.T
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=1)


def apart(colours, sight):
    """CIE76 differences of all pairs of colours: float64[n, n]."""
    seen = lab(colours, sight)
    return np.linalg.norm(seen[:, None] - seen[None], axis=2)
