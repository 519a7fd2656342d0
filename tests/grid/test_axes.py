"""Attributes and masks refuse what would be published and makes no sense."""

import hashlib

import numpy as np
import pytest

from geodp.errors import UsageError
from geodp.grid.axes import FORMULA, Attribute, Mask
from tests.refusals import refuses


@pytest.mark.parametrize(
    ("name", "labels"),
    [("", ("a",)), ("sex", ()), ("sex", ("f", "f")), ("sex", ("f", "")), ("sex", (1, 2))],
)
def test_an_attribute_has_a_name_and_labels_that_differ(name, labels):
    with refuses(UsageError, "attribute-form"):
        Attribute(name, labels)


@pytest.mark.parametrize("mark", FORMULA)
def test_no_text_is_a_formula_of_a_spreadsheet(mark):
    for name, label in ((mark + "sex", "f"), ("sex", mark + "f")):
        with refuses(UsageError, "name-is-formula"):
            Attribute(name, ("m", label))
    assert Attribute("sex", ("m" + mark,)).describe() == {
        "attribute": "sex",
        "labels": ["m" + mark],
    }


@pytest.mark.parametrize("source", ["", "  ", "\n"])
def test_nobody_vouches_for_a_mask_without_a_source(source):
    with refuses(UsageError, "mask-source-missing"):
        Mask(np.array([[0, 4]], np.uint64), 4, source)


def test_the_digest_of_a_mask_is_that_of_its_ranges_in_bytes():
    ranges = np.array([[1, 3], [8, 2**63]], np.uint64)
    written = b"".join(int(key).to_bytes(8, "little") for key in ranges.ravel())
    expected = hashlib.sha256(written).hexdigest()
    assert Mask(ranges, 7, "a census").sha256 == expected
    assert Mask(ranges.astype(">u8"), 7, "another source").sha256 == expected
    assert Mask(ranges[:1], 2, "a census").sha256 != expected
