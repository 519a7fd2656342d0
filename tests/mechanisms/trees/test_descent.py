"""Where a thread works: what runs along vectors is laid out for them."""

import numpy as np
import pytest

from geodp.kernels.pyramid import layout
from geodp.mechanisms.trees import descent


@pytest.mark.parametrize("kind", [np.int32, np.uint32, np.uint64])
@pytest.mark.parametrize("shape", [(1,), (15,), (128,), (6, 2048), (2, 100)])
def test_rows_start_at_lines_of_the_cache_and_none_falls_on_another(shape, kind):
    found = descent.align(shape, kind)
    assert found.dtype == kind
    assert found.flags.c_contiguous
    assert found.ndim == len(shape)
    assert found.shape[-1] >= shape[-1]
    assert not found.any()
    assert found.ctypes.data % layout.LINE == 0
    step = found.shape[-1] * found.itemsize
    assert step % layout.LINE == 0
    lines_of_a_page = 4096 // layout.LINE
    if len(shape) > 1:
        starts = {row * step // layout.LINE % lines_of_a_page for row in range(shape[0])}
        assert len(starts) == shape[0]
