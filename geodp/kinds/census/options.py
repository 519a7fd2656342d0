"""Options of a census."""

from __future__ import annotations

from geodp.options.option import KindOptions, Option, grouped

OWN = {
    "estimate": KindOptions(
        "census",
        grouped(
            "Output",
            Option(
                "--share",
                "Also estimate one column for each of another, as A/B: the share of a part in its "
                "whole, such as EMP/T; repeatable.",
                many=True,
                everyday=True,
                metavar="A/B",
                excludes=("within",),
            ),
            Option(
                "--difference",
                "Also estimate a column less another one, as A-B; repeatable.",
                many=True,
                metavar="A-B",
                excludes=("within",),
            ),
        ),
    ),
}
"""Options that commands have for a census alone, by what they do."""
