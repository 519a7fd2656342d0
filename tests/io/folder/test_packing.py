"""What is drawn becomes plain values and few arrays, and comes back with its types, or not."""

import json
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import pytest

from geodp.errors import VerificationError
from geodp.io.folder.pending import pack, unpack
from geodp.typing import CountArray, IntArray, KeyArray


@dataclass(frozen=True, eq=False)
class Cells:
    key: KeyArray
    count: CountArray


@dataclass(frozen=True, eq=False)
class Drawn:
    tables: tuple[Cells, ...]
    pairs: IntArray
    learned: Mapping[str, float]
    classes: IntArray | None = None


def cells(count):
    return Cells(np.arange(len(count), dtype=np.uint64), np.array(count))


DRAWN = Drawn(
    (cells([3, 4]), cells([]), cells([0.5, -1])), np.arange(6).reshape(2, 3), {"decay": 0.1}
)


def stored(drawn):
    """Return what a file has of a draw: texts of JSON, and arrays by name."""
    plain, arrays = pack(drawn)
    return json.loads(json.dumps(plain)), arrays


def test_a_draw_is_restored_with_its_types_and_shapes():
    plain, arrays = stored(DRAWN)
    assert {*arrays} == {"uint64", "int64", "float64"}
    found = unpack(Drawn, plain, arrays)
    assert (found.learned, found.classes) == ({"decay": 0.1}, None)
    both = [(found.pairs, DRAWN.pairs)]
    for one, other in zip(found.tables, DRAWN.tables, strict=True):
        both += [(one.key, other.key), (one.count, other.count)]
    for one, other in both:
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert np.array_equal(one, other)


DAMAGES = {
    "a field is missing": lambda plain, _: plain.pop("pairs"),
    "a field is unknown": lambda plain, _: plain.update(more=1),
    "an array is missing": lambda _, arrays: arrays.pop("uint64"),
    "an array is too short": lambda _, arrays: arrays.update(int64=arrays["int64"][:-1]),
    "an array has another type": lambda _, arrays: arrays.update(uint64=arrays["uint64"] * 1.0),
    "a table is of others": lambda plain, _: plain["tables"][0].update(key=plain["pairs"]),
    "a number is a text": lambda plain, _: plain["learned"].update(decay="0.1"),
    "a number is an array": lambda plain, _: plain["learned"].update(decay=plain["pairs"]),
    "an array is a number": lambda plain, _: plain.update(pairs=4),
    "a shape is none": lambda plain, _: plain["pairs"].update(shape="2"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_draw_is_refused(damage):
    plain, arrays = deepcopy(stored(DRAWN))
    DAMAGES[damage](plain, arrays)
    with pytest.raises((VerificationError, LookupError, TypeError, ValueError)):
        unpack(Drawn, plain, arrays)
