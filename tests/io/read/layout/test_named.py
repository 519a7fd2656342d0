"""What a call says of attributes, before any table is looked at."""

import pytest

from geodp.errors import UsageError
from geodp.io.read.layout.attributes import Named
from tests.refusals import refuses


@pytest.mark.parametrize(
    ("named", "asks"),
    [
        (Named(), False),
        (Named(values="n", columns={"sex": "SEX"}), False),
        (Named(values={"f": "F_*"}), False),
        (Named(by=["sex"]), True),
        (Named(values="F_*"), True),
        (Named(values=["n", "F_*"]), True),
    ],
)
def test_a_header_is_asked_for_attributes_and_patterns_alone(named, asks):
    assert named.needs_header is asks


def test_labels_need_attributes():
    with refuses(UsageError, "labels-need-names: --by"):
        Named(labels={"sex": ["f", "m"]})
