"""All that a kind lacks, and all that it is not asked for: by check, and by kind.

A check is the name of its test, a kind one of ``kinds``. A hole fails strictly: where it is mended,
its test says so until its row is gone.
"""

from tests.contract.holes import publishing, reading, using
from tests.contract.holes.every import EVERY

HOLES: dict[str, dict[str, str]] = publishing.HOLES | using.HOLES | reading.HOLES
"""What a kind should do and does not do yet, as what is seen: strict expected failures."""

NOT_ASKED: dict[str, dict[str, str]] = publishing.NOT_ASKED | using.NOT_ASKED | reading.NOT_ASKED
"""What a kind is not asked for, and why it would make no sense there: not run."""

OF_SERIES = {
    *("charging", "checking", "folders", "interrupted", "opening", "replaying"),
    *("stating", "estimating", "comparing"),
}
"""Files whose checks series are asked for: what reads, plans and describes them is of one period,
and tests/release/test_series.py verifies and reports series of all kinds."""

SUBJECTS: dict[str, set[str]] = {
    "series of households": OF_SERIES,
    "series of flows": OF_SERIES,
    "own kind": {
        *("charging", "checking", "folders", "interrupted", "numbers", "opening", "refusing"),
        *("replaying", "running", "silence", "stating", "verifying", "withdrawn", "inspecting"),
        *("reporting", "explaining", "estimating", "comparing", "display"),
    },
}
"""Files whose checks a kind is asked for, if not for all: how a release is made, kept and checked.

A kind of one's own has no commands by which it is used, and reads by the readers of counts.
"""

__all__ = ["EVERY", "HOLES", "NOT_ASKED", "SUBJECTS"]
