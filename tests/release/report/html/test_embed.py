"""Arrays in a page: what the page's script unpacks is what was packed."""

import numpy as np
import pytest

from geodp.release.report.html import markup
from tests.release.report.html.pages import NODE, drive, page_of, publish

NUMBERS = np.array([0, 1, 127, 128, 16_383, 16_384, 2**32 - 1, 2**32, 2**52 - 1])


def read_numbers(data):
    """The slow, obvious reading."""
    numbers, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            numbers.append(value)
            value, shift = 0, 0
    return numbers


def test_numbers_are_written_in_bytes_of_seven_bits():
    assert read_numbers(markup.write_numbers(NUMBERS.astype(np.uint64))) == NUMBERS.tolist()
    assert markup.write_numbers(np.empty(0, np.uint64)) == b""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return page_of(*publish(tmp_path_factory.mktemp("embed") / "release"))


@pytest.mark.law
@NODE
def test_the_script_unpacks_what_was_packed(page):
    random = np.random.default_rng(3)
    arrays = {
        "sorted": np.sort(random.integers(0, 2**50, 500)),
        "whole": random.integers(-(2**51), 2**51, 500),
        "few": np.append(-NUMBERS, NUMBERS)[:-1],
        "none": np.empty(0, np.int64),
    }
    packed = {name: markup.pack_integers(values) for name, values in arrays.items()}
    packed["sorted"] = markup.pack_sorted(arrays["sorted"])
    real, bits = random.normal(size=99), random.random(77) < 0.5
    packed |= {"real": markup.pack_counts(real), "bits": markup.pack_bits(bits)}
    driver = "return Object.entries(all).map(([name, one]) => [name, [...one]]);"
    unpacked = dict(drive(page, driver, None, packed))
    assert {name: unpacked[name] for name in arrays} == {k: v.tolist() for k, v in arrays.items()}
    assert unpacked["real"] == real.tolist()
    assert unpacked["bits"] == bits.astype(int).tolist()
