"""Types of arguments are plain values, and the list is what commands call kernels with."""

import json

import numba
import numpy as np
import pytest
from numba import types

from geodp.kernels import shipped
from geodp.kernels.noise import NoiseTable
from tests.signatures import called

VALUES = [
    np.int64(1),
    np.uint64(1),
    1.5,
    True,
    np.zeros(1, np.uint64),
    np.zeros((1, 2), np.bool_),
    np.zeros((2, 4), np.int64)[:, ::2],
    np.zeros((2, 2), np.float64, order="F"),
    (1, 2),
    (1, (2.0, np.zeros(1, np.uint8))),
    NoiseTable(*[np.zeros(1, np.uint32)] * len(NoiseTable._fields)),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: str(numba.typeof(value))[:40])
def test_types_are_read_as_they_were_written(value):
    signature = (numba.typeof(value), types.int64)
    text = shipped.text_of(signature)
    assert shipped.types_of(text) == signature


def test_an_array_that_cannot_be_written_to_is_another_type():
    array = np.zeros(3)
    array.flags.writeable = False
    fixed, free = ((numba.typeof(one),) for one in (array, np.zeros(3)))
    assert shipped.text_of(fixed) == '["float64 1 C readonly"]'
    assert shipped.types_of(shipped.text_of(fixed)) == fixed != free


@pytest.mark.parametrize(
    "value", [types.unicode_type, types.literal(1), types.ListType(types.int8)]
)
def test_what_no_kernel_takes_has_no_text(value):
    assert shipped.text_of((types.int64, value)) is None


@pytest.mark.law
def test_the_list_is_what_commands_call():
    """Otherwise: ``python -m tests.signatures``."""
    listed = json.loads(shipped.LIST.read_text(encoding="utf-8"))
    found = {name: [json.loads(one) for one in texts] for name, texts in called().items()}
    assert listed == found
