import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodp.errors import CodeError, UsageError
from geodp.grid.order import Order
from geodp.kernels.morton import TOGETHER
from tests.refusals import refuses
from tests.strategies import shapes


def naive_key(order: Order, index) -> int:
    """A key by its definition: take the axes' digits, least significant first."""
    rest, key, weight = list(index), 0, 1
    for axis, radix in reversed(list(zip(order.axes, order.radices, strict=True))):
        key += rest[axis] % radix * weight
        rest[axis] //= radix
        weight *= radix
    return key


@given(shapes, st.data())
def test_morton_equals_the_definition_and_returns(shape, data):
    order = Order.morton(shape)
    index = [data.draw(st.integers(0, size - 1)) for size in shape]
    column = np.array(index)[:, None]
    key = order.encode(column)
    assert int(key[0]) == naive_key(order, index)
    assert (order.decode(key, len(shape)) == column).all()


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(2, 10)), min_size=1, max_size=12), st.data()
)
def test_mixed_radices_equal_the_definition_and_return(digits, data):
    order = Order(tuple(a for a, _ in digits), tuple(r for _, r in digits))
    room = [1, 1, 1]
    for axis, radix in digits:
        room[axis] *= radix
    index = [data.draw(st.integers(0, size - 1)) for size in room]
    key = order.encode(np.array(index)[:, None])
    assert int(key[0]) == naive_key(order, index)
    assert order.decode(key, 3)[:, 0].tolist() == index


def test_jis_levels_as_digits():
    # 80 km / 10 km / 1 km / 500 m: radices 8, 10, 2 on rows and columns in turn.
    order = Order((0, 1) * 3, (8, 8, 10, 10, 2, 2))
    assert not order.is_binary
    secondary = order.encode(np.array([[20], [40]])) // np.uint64(10 * 10 * 2 * 2)
    assert secondary.tolist() == [1 * 8 + 2]


def test_unequal_axes_keep_square_blocks_at_the_fine_end():
    assert Order.morton((16, 4)).axes == (0, 0, 0, 1, 0, 1)
    assert Order.morton((4, 4), below=(5,)).axes == (0, 1, 0, 1, 2, 2, 2)


def test_many_keys_are_those_of_each_alone_and_the_first_bad_index_is_told():
    order, shape, n = Order.morton((50, 700), below=(3,)), (50, 700, 3), 2 * TOGETHER + 5
    index = np.array([np.random.default_rng(1).integers(0, size, n) for size in shape])
    key = order.encode(index)
    assert key.tolist() == [int(order.encode(one[:, None])[0]) for one in index.T]
    first = n
    for bad in ((0, 2 * TOGETHER + 1), (2, TOGETHER), (1, TOGETHER + 3), (0, 7)):
        index[bad] = -1 if bad[0] else 64
        with pytest.raises(CodeError) as caught:
            order.encode(index)
        first = min(bad[1], first)
        assert caught.value.position == first


def test_62_bits_and_no_more():
    order = Order.morton((2**31, 2**31))
    assert order.bits == 62
    index = np.array([[2**31 - 1], [2**31 - 1]])
    assert int(order.encode(index)[0]) == 2**62 - 1
    with refuses(UsageError, "grid-too-large"):
        Order.morton((2**31, 2**32))
