"""The table of oracles in the documents is that of the oracles."""

import re
from fractions import Fraction
from pathlib import Path

from geodp.local.oracles import ORACLES

PAGE = Path(__file__).parents[3] / "docs" / "proofs" / "local.md"
ROW = re.compile(r"^\| `(\w+)` \| .* \| (\d+) \| ([\d.]+) \| ([\d.]+) \| .* \|$", re.MULTILINE)


def test_bytes_and_variances_are_those_of_the_oracles():
    stated = {name: figures for name, *figures in ROW.findall(PAGE.read_text(encoding="utf-8"))}
    measured = {}
    for name, kind in ORACLES.items():
        one, four = (kind(cells=1024, epsilon=Fraction(epsilon)) for epsilon in (1, 4))
        measured[name] = [
            str(one.report_type.itemsize),
            *(f"{o.variance(1):.2f}" for o in (one, four)),
        ]
    assert stated == measured
