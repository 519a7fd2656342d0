"""How wrong: variances, errors of blocks and areas, intervals, all worked out without any data."""
