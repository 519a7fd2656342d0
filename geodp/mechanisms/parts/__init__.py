"""Parts of a map's counts: measured at coarse areas, and shared out so that all sums agree."""
