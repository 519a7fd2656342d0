"""What is added to geodp is added in few lines: the examples of docs/how-to are short."""

import pytest

from tests.house.recipes import example

LINES = {
    "Add a kind of release": 25,
    "Add a reader": 64,
    "Add a method": 68,
    "Add a local oracle": 90,
    "Add a command": 21,
    "Add a format": 40,
}
"""A complete example is not longer than this, blank lines apart."""


@pytest.mark.parametrize("heading", LINES)
def test_an_example_is_short(heading):
    assert sum(1 for line in example(heading).splitlines() if line.strip()) <= LINES[heading]
