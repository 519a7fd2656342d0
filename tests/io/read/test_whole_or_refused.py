"""The cutting law: a file that was cut short is refused, or gives the very table of the whole one.

It asks every form of `FORMS`. Of forms whose records end without a word of how many there are, a
cut between two of them gives the first ones.
"""

import numpy as np
import pytest

from geodp.errors import GeodpError
from tests.io.read.damage import FORMS, cuts, mutate, outcomes
from tests.io.read.dialects import same

EVERY = pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
MANY, FEW = 50, 8
MUTATIONS, SAMPLE = 60, 3


def is_beginning(found, whole):
    """Whether all counts of a table are those of another."""
    counts = dict(zip(whole.key.tolist(), whole.count.tolist(), strict=True))
    pairs = zip(found.key.tolist(), found.count.tolist(), strict=True)
    return all(counts.get(key) == count for key, count in pairs)


def require_whole_or_refused(form, folder, many, seed):
    right = form.read(form.write(folder))
    refused = 0

    def cut(data):
        return (data[:keep] for keep in cuts(len(data), many, seed))

    for version, found in outcomes(form, folder, cut):
        if isinstance(found, GeodpError):
            refused += 1
            assert found.file is not None
            continue
        allowed = is_beginning if form.records else same
        assert allowed(found, right), f"{len(version)} bytes"
    assert refused


def require_no_silent_change(form, folder, seeds):
    right = form.read(form.write(folder))

    def change(data):
        return (mutate(data, seed, form.head) for seed in seeds)

    for number, (_, found) in enumerate(outcomes(form, folder, change)):
        if form.checked and not isinstance(found, GeodpError):
            assert same(found, right), f"seed {seeds[number]}"


@EVERY
def test_a_cut_file_is_refused_or_whole(form, tmp_path):
    require_whole_or_refused(form, tmp_path, FEW, seed=0)


@pytest.mark.law
@EVERY
def test_a_file_that_is_cut_anywhere_is_refused_or_whole(form, tmp_path):
    require_whole_or_refused(form, tmp_path, MANY, seed=36)


@EVERY
def test_changed_bytes_are_a_sentence_or_a_table(form, tmp_path):
    """And the same table, where a checksum covers all of it."""
    require_no_silent_change(form, tmp_path, range(SAMPLE))


@pytest.mark.law
@EVERY
def test_many_changed_bytes_are_a_sentence_or_a_table(form, tmp_path):
    require_no_silent_change(form, tmp_path, range(1000, 1000 + MUTATIONS))


def test_the_law_finds_a_form_that_is_read_in_part(tmp_path):
    """A reader of text that knows no length: half of the file passes for all of it."""
    (csv,) = (form for form in FORMS if form.name == "csv")
    right = csv.read(csv.write(tmp_path))
    ((_, found),) = outcomes(csv, tmp_path, lambda data: [data[: data.index(b"\n", 9999) + 1]])
    assert is_beginning(found, right)
    assert not same(found, right)
    assert np.sum(found.count) < np.sum(right.count)
