"""How a level's nodes are cut into runs and blocks: all of them, once, in order."""

import numpy as np
import pytest

from geodp.mechanisms.trees import layer
from geodp.mechanisms.trees.layer import Layer


@pytest.mark.parametrize("nodes", [0, 1, 7, 100])
@pytest.mark.parametrize("threads", [1, 3])
def test_runs_and_blocks_are_all_nodes_once(monkeypatch, nodes, threads):
    monkeypatch.setattr(layer, "CHILDREN", 16)
    monkeypatch.setattr(layer, "MAX_NODES", 64)
    one = Layer.of(np.arange(nodes, dtype=np.uint64), np.ones(nodes, np.int64), (4, 2))
    runs = one.runs(threads)
    every = np.arange(nodes)
    assert np.concatenate([every[run] for run in runs]).tolist() == every.tolist()
    blocks = [block for run in runs for block in one.blocks(run)]
    assert np.concatenate([every[block] for block in blocks]).tolist() == every.tolist()
    assert max(4 * (block.stop - block.start) for block in blocks) <= 16
    assert max(4 * (run.stop - run.start) for run in runs) <= 64
    assert nodes < 100 or len(runs) > 3


def test_open_children_of_runs_lie_side_by_side():
    one = Layer.of(np.arange(5, dtype=np.uint64), np.ones(5, np.int64), (4, 1))
    one.members = np.array([2, 0, 4, 1, 3])
    found = one.opened([slice(0, 2), slice(2, 5)])
    assert found == [slice(0, 2), slice(2, 10)]


def test_what_is_measured_is_kept_until_it_is_asked_for_where_nodes_are_few(monkeypatch):
    monkeypatch.setattr(layer, "FEW", 20)
    monkeypatch.setattr(layer, "FEWER", 16)
    block, inside, prior = slice(2, 4), np.empty(0, np.bool_), (np.ones(8), np.ones(2))
    for nodes, held in ((4, (True, True)), (5, (True, False)), (6, (False, False))):
        for value in (3, 2**40):  # what 32 bits hold, and what they do not
            one = Layer.of(np.arange(nodes, dtype=np.uint64), np.ones(nodes, np.int64), (4, 1))
            noisy = np.full(8, value)
            one.keep(block, (noisy, inside), prior)
            assert one.recall(slice(0, 2)) == (None, None)
            measured, said = one.recall(block)
            assert ((measured is not None), (said is prior)) == held
            if measured is not None:
                assert measured[0].dtype == np.int64
                assert measured[0].tolist() == noisy.tolist()
                assert measured[1] is inside
            assert one.recall(block) == (None, None)
