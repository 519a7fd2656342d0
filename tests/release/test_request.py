"""A request is checked where it is made, and names its method and the origin of its key."""

from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.mechanisms import choose_method
from geodp.privacy.key import NoiseKey
from geodp.privacy.terms import Terms
from geodp.release.request import Request
from tests.keys import secret
from tests.refusals import refuses

TERMS = Terms.of(epsilon=1)
GRID = Grid.regular((8, 8))


def chosen(grid, **options):
    return choose_method(Request(terms=TERMS, **options).method, grid)


def test_the_method_is_that_of_the_call_or_the_default_of_the_grid():
    parts = GRID.with_attribute("sex", ["f", "m"])
    assert chosen(GRID).name == "pyramid"
    assert chosen(parts).name == "parts"
    assert chosen(GRID, method="hay:fanout=4").spec == "hay:fanout=4"
    with refuses(UsageError, "method-unknown"):
        chosen(GRID, method="best")


def test_the_origin_of_the_noise_is_that_of_the_key():
    assert Request(terms=TERMS).key_origin == "entropy"
    assert Request(terms=TERMS, key=NoiseKey(secret("request"))).key_origin == "fixed"
    with refuses(UsageError, "key-expected"):
        Request(terms=TERMS, key=secret("request"))
