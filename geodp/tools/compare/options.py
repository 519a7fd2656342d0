"""Options of tests of differences, and of plans of groups of devices."""

from __future__ import annotations

from pathlib import Path

from geodp.options.option import Option, grouped

ALTERNATIVES = ("two-sided", "greater", "less")
CORRECTIONS = ("holm", "benjamini-hochberg")

TESTED = ("ratio", "polygons", "polygon_name", "area", "cells", "conservative", "correction")
"""Options of what releases are asked, which neither a plan nor a test of bits takes."""

OF_COUNTS = grouped(
    "Counts",
    Option(
        "--cells",
        "Compare every cell of two releases instead of regions.",
        type=bool,
        excludes=("polygons", "area", "conservative", "ratio"),
    ),
    Option(
        "--conservative",
        "Use the regions' 95 % intervals where clamping at 0 may have moved people.",
        type=bool,
    ),
    Option(
        "--ratio",
        "Estimate ratios, first to second, with intervals, instead of testing differences.",
        type=bool,
        excludes=("alternative", "correction"),
    ),
    Option(
        "--correction",
        "Correction for many tests: bound the probability of any false finding, or their "
        "expected share.",
        choices=CORRECTIONS,
        default=CORRECTIONS[0],
    ),
    Option(
        "--alternative",
        "Alternative hypothesis: the second differs, is greater, or is less.",
        choices=ALTERNATIVES,
        default=ALTERNATIVES[0],
    ),
    Option(
        "--alpha",
        "Significance level: the probability of a false finding.",
        default=0.05,
        type=float,
    ),
    everyday=True,
)
"""Options of tests of counts; the last two are also those of bits."""

DEVICES = grouped(
    "Options",
    Option(
        "--plan",
        "Without a release: compute how many devices are needed to show a difference.",
        type=bool,
        needs=("difference",),
        excludes=TESTED,
    ),
    Option(
        "--bits",
        "Without a release: ONES:DEVICES of a group's bits, once for each of two groups; with "
        "--maximum, --epsilon.",
        many=True,
        metavar="ONES:ALL",
        needs=("maximum",),
        excludes=(*TESTED, "plan"),
    ),
    Option(
        "--maximum",
        "With --plan: largest value of a device; the smallest is 0.",
        type=float,
        needs=("plan", "bits"),
    ),
    Option(
        "--difference",
        "With --plan: difference between the means of the two groups.",
        type=float,
        needs=("maximum",),
        excludes=("bits",),
    ),
    Option(
        "--epsilon",
        "With --plan: epsilon of a device's bit. Default: no noise.",
        needs=("plan", "bits"),
    ),
    Option(
        "--share",
        "With --plan: mean of the first group, divided by --maximum. Default: the worst case.",
        type=float,
        needs=("plan",),
    ),
    Option(
        "--power",
        "With --plan: power of the test.",
        type=float,
        default=0.8,
        needs=("plan",),
        excludes=("devices",),
    ),
    Option(
        "--devices",
        "With --plan: compute the power with this many devices in each group.",
        type=int,
        needs=("plan",),
    ),
    Option(
        "--plot",
        "With --plan: PNG, PDF or SVG file of the power by devices, for several epsilons.",
        type=Path,
        needs=("plan",),
    ),
    Option("--overwrite", "Replace this file.", type=bool, needs=("plot",)),
)
"""Options of groups of devices, of which no release is known."""
