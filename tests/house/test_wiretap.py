"""Nothing is drawn but what was declared, charged and fingerprinted: every draw is listened to."""

import ast
from fractions import Fraction
from functools import partial
from itertools import pairwise
from unittest import mock

import numpy as np
import pytest

import geodp
from geodp import select
from geodp.cluster.partitions import partition_of
from geodp.errors import UndeclaredDrawError
from geodp.kinds.selection.question import Quantile
from geodp.kinds.selection.selected import prepare
from geodp.local import coins
from geodp.local.oracles import ORACLES
from geodp.mechanisms import mechanism
from geodp.mechanisms.central.laplace import Geometric
from geodp.mechanisms.central.parts import Parts
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.mechanisms.measure import add_noise
from geodp.mechanisms.trees.layer import fill_counts
from geodp.privacy.key import NoiseKey, Stream
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import ApproximateDP, PureDP
from geodp.privacy.noise.draws import UNIFORM
from geodp.privacy.selected import Selection
from geodp.privacy.terms import Terms
from geodp.release import noise_identity
from geodp.release.noise_identity import encode
from geodp.release.request import Request
from geodp.table.contribution import truncate
from geodp.table.counts import Cells
from geodp.tools.audit.threshold import charge_threshold, sampled_threshold
from tests import sources
from tests.golden.methods import grids, table_of
from tests.house.wiretap import listening
from tests.keys import keep
from tests.local.oracles.cases import oracle
from tests.mechanisms.kept import forget_levels
from tests.refusals import refuses

METHODS = sorted(geodp.METHODS)
GRIDS = grids()
FORMS = ("one cell", "line", "square", "odd", "pairs", "attribute below", "mask", "official")
FORMS += ("mask, attribute", "regions", "regions, attribute below", "units", "units, attribute")
AMOUNTS = ({"epsilon": "1/2"}, {"rho": "1/8"})
EVENT = {"contribution": 1}


@pytest.fixture
def key(tmp_path):
    return NoiseKey.from_file(keep(tmp_path / "key"))


@pytest.fixture
def ledger(tmp_path):
    made = Ledger.create(tmp_path / "office.ledger")
    made.add_dataset("census", PureDP(Fraction(1000)))
    return made


@pytest.fixture(autouse=True)
def forgetful():
    """No test leaves levels of changed versions behind."""
    yield
    forget_levels()


def few(grid):
    """Test whether a grid is small enough for the strategies of the matrix mechanism."""
    return grid.bits <= 6


@pytest.mark.parametrize("name", METHODS)
def test_methods_draw_what_was_declared_charged_and_fingerprinted(name, key, ledger):
    method, seen = mechanism(name), 0
    for where in FORMS:
        grid = GRIDS[where]
        if method.unsupported(grid) is not None or (name == "matrix" and not few(grid)):
            continue
        for amounts in AMOUNTS[: 1 + method.gaussian]:
            event = method.event(grid, Terms.of(**amounts, **EVENT), "file")
            if method.explain_noise_limit(grid, event) is not None:
                continue
            made = {"method": name, "key": key, **amounts, **EVENT}
            if "rho" not in amounts:
                made |= {"ledger": ledger, "dataset": "census"}
            with listening() as wire:
                release = geodp.publish(table_of(grid), **made)
            assert wire.drawn
            assert wire.faults() == [], where
            assert all(one.declared is not None for one in wire.private)
            # The charge is known by the digest that derives the key, and holds all other digests.
            (known,) = (
                wire.fingerprints if method.base(grid, event) is None else wire.fingerprints[:1]
            )
            assert known == wire.derived[0]
            texts = [text for text in wire.encoded if b"noise format" in text]
            assert len(texts) == len(wire.derived)
            assert all(text in texts[0] for text in texts), where
            if release.charge is not None:
                assert release.charge.fingerprint == key.fingerprint(known)
                assert not release.charge.replay
            seen += 1
    assert seen >= 4
    assert len(ledger.charges("census")) >= 4


def by_versions(method, grid, key, ledger):
    """Publish the same table while the pyramid's version goes from 4 to 7, under one kept key."""
    found = []
    for version in (4, 5, 6, 7):
        with mock.patch.object(Pyramid, "version", version):
            forget_levels()
            with listening() as wire:
                release = geodp.publish(
                    table_of(grid),
                    method=method,
                    epsilon="1/2",
                    contribution=1,
                    key=key,
                    ledger=ledger,
                    dataset="census",
                )
        secrets = tuple(dict.fromkeys(one.secret for one in wire.private))
        found.append((release.charge.replay, release.table.to_dense(), secrets))
    return found


@pytest.mark.parametrize("where", ["attribute below", "regions, attribute below"])
def test_another_version_of_the_maps_method_is_another_release_of_parts(where, key, ledger):
    """It was one charge for four independent maps: replays False, True, True, True."""
    found = by_versions("parts", GRIDS[where], key, ledger)
    assert [replay for replay, *_ in found] == [False] * 4
    assert ledger.spent("census") == PureDP(Fraction(2))
    secrets = [secret for *_, own in found for secret in own]
    assert len(secrets) == len(set(secrets)) == 8, "a key for every map, and one for its parts"
    again = by_versions("parts", GRIDS[where], key, ledger)
    assert [replay for replay, *_ in again] == [True] * 4
    for (_, one, _), (_, two, _) in zip(found, again, strict=True):
        assert np.array_equal(one, two)


def test_the_versions_of_parts_are_seen_by_what_the_digest_says_of_the_map(key, ledger):
    """Without it, the fault is there: this is what the test above would find."""
    components = noise_identity.components

    def forgetful(grid, method, event):
        return {
            name: one for name, one in components(grid, method, event).items() if name != "base"
        }

    with mock.patch.object(noise_identity, "components", forgetful):
        found = by_versions("parts", GRIDS["attribute below"], key, ledger)
    assert [replay for replay, *_ in found] == [False, True, True, True]
    maps = [dense.sum(axis=-1) for _, dense, _ in found]
    assert all((one != two).any() for one, two in pairwise(maps)), "four maps for one charge"


@pytest.mark.parametrize("smooth", ["none", "forward", "both"])
@pytest.mark.parametrize(
    ("method", "amounts"),
    [
        ("pyramid", {"epsilon": 1}),
        ("pyramid", {"epsilon": 1, "delta": "1e-6", "noise": "gaussian"}),
        ("topdown", {"epsilon": 1}),
        ("parts", {"epsilon": 1}),
    ],
)
def test_series_draw_with_a_key_for_every_snapshot(method, amounts, smooth, key, ledger):
    if smooth != "none" and method != "pyramid":
        return
    grid = GRIDS["attribute below" if method == "parts" else "square"]
    rng, times = np.random.default_rng(3), ("2024-01", "2024-02", "2024-03")
    tables = [geodp.CountTable.from_dense(rng.poisson(20, grid.shape), grid) for _ in times]
    made = {"noise": "laplace", "method": method, "smooth": smooth, "key": key, **EVENT, **amounts}
    with listening() as wire:
        geodp.publish_series(tables, times=times, person="all", **made)
    assert wire.faults() == []
    assert wire.fingerprints == [wire.derived[0]]
    secrets = {one.secret for one in wire.private}
    assert len(secrets) == (2 if method == "parts" else 1) * len(times)
    if smooth != "none":
        return
    charged = {"ledger": ledger, "dataset": "census"}
    if "delta" not in amounts:
        runs = []
        for version in (4, 5):
            with mock.patch.object(Pyramid, "version", version):
                runs.append(
                    geodp.publish_series(tables, times=times, person="all", **made, **charged)
                )
        replays = [run[0].charge.replay for run in runs]
        assert replays == [False, method == "topdown"]


SQUARE = GRIDS["square"]
DRAWN = np.random.default_rng(3)
MAPS = [geodp.CountTable.from_dense(DRAWN.poisson(20, SQUARE.shape), SQUARE) for _ in range(3)]
SIZED = SQUARE.with_attribute("size", ["1", "2", "3+"])
SIZES = geodp.CountTable.from_dense(DRAWN.poisson(20, SIZED.shape), SIZED)
SCALE = geodp.amounts.Scale.of((0, 10), 1, "EUR", "rent")
RENTS = [geodp.amounts.AmountTable(one, 4 * one.count, SCALE) for one in MAPS]
RECORDS = geodp.CountTable.from_dense(MAPS[0].to_dense() + MAPS[1].to_dense(), SQUARE)
CLASSES = geodp.amounts.AmountTable(
    RECORDS, 4 * RECORDS.count, SCALE, (), (0, 5, 10), (MAPS[0], MAPS[1])
)


def trips(**labels):
    """Return trips between places of a small map, by label if there are any."""
    pairs = geodp.Grid.regular((16, 16)).pairs()
    index = DRAWN.integers(0, 16, (4 + len(labels), 5000))
    for name, names in labels.items():
        pairs, index[4] = pairs.with_attribute(name, names), index[4] % len(names)
    return geodp.CountTable.from_index(pairs, index, np.ones(5000, np.int64))


BY_SIZE = partial(geodp.households.publish, by_size=SIZES)
YEARS = {"times": ["2001", "2002", "2003"], "person": "all"}
OF_KINDS = {
    # Of two streams; or of the map, as if it were published alone, and of the sizes of its cells.
    "persons and households": (partial(BY_SIZE, protect="person"), 2, 1),
    "households": (partial(BY_SIZE, protect="household"), 2, 2),
    # Two streams and the rounding of records, and two classes.
    "amounts": (partial(geodp.amounts.publish, CLASSES), 5, 1),
    "classes of amounts": (partial(geodp.amounts.publish, CLASSES, means=False), 2, 1),
    "series of amounts": (partial(geodp.amounts.publish_series, RENTS, **YEARS), 3 * 3, 1),
    # Origins, destinations, pairs of blocks, and the rounding.
    "flows": (partial(geodp.flows.publish, trips()), 4, 1),
    # And counts by label, and their rounding.
    "flows by label": (partial(geodp.flows.publish, trips(mode=["walk", "car"])), 6, 1),
}
"""How each kind is published, how many keys it draws with, and the digests that it is known by."""


@pytest.mark.parametrize("amounts", [{"epsilon": 1}, {"rho": 1}])
@pytest.mark.parametrize("kind", OF_KINDS)
def test_kinds_draw_with_a_key_for_each_stream(kind, amounts, key):
    publish, keys, digests = OF_KINDS[kind]
    with listening() as wire:
        publish(key=key, contribution=1, **amounts)
    assert wire.drawn
    assert wire.faults() == []
    assert len({one.secret for one in wire.private}) == keys
    assert len(wire.fingerprints) == digests
    assert wire.derived[0] in wire.fingerprints


def ask(question, table, mechanism, epsilon, contribution, **given):
    terms = Terms.of(epsilon, contribution=contribution)
    return prepare(table, question, Request(terms=terms, **given), mechanism).release()


QUESTIONS = {
    "top": lambda table, **given: select.top_cells(table, 3, **given),
    "quantile": partial(ask, Quantile(Fraction(1, 3), "row")),
}


@pytest.mark.parametrize("selector", ["permute-and-flip", "exponential"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_selections_draw_what_was_declared_charged_and_fingerprinted(
    question, selector, key, ledger
):
    table = table_of(GRIDS["square"])
    made = {"mechanism": selector, "key": key, "ledger": ledger, "dataset": "census"}
    with listening() as wire:
        found = QUESTIONS[question](table, epsilon=1, **made, **EVENT)
    assert wire.drawn
    assert wire.faults() == []
    assert wire.fingerprints == wire.derived
    assert found.charge.fingerprint == key.fingerprint(wire.derived[0])
    for draw in wire.drawn:
        assert draw.law in (UNIFORM, ("coins of chances exp(-rate d)", found.event.rate))


def test_a_selection_of_changed_software_draws_with_another_key(key, ledger):
    """The law of its coins is in the digest: it was not, and the second run was a replay."""
    table, rate = table_of(GRIDS["square"]), Selection.rate.fget
    made = {"key": key, "ledger": ledger, "dataset": "census", "epsilon": 1, **EVENT}
    with listening() as one:
        assert not select.top_cells(table, 3, **made).charge.replay
    changed = property(lambda event: rate(event) * 3 / 4)
    with mock.patch.object(Selection, "rate", changed), listening() as two:
        assert not select.top_cells(table, 3, **made).charge.replay
    assert not {heard.secret for heard in one.private} & {heard.secret for heard in two.private}


@pytest.mark.parametrize("own", [True, False])
def test_a_selector_that_is_called_draws_what_it_declares(own, key):
    for selector in (select.permute_and_flip, select.exponential):
        for utilities in ([1, 2, 3], ["1/3", "1/7", 2]):
            with listening() as wire:
                selector(utilities, epsilon=1, key=key.derive(bytes(32)) if own else None)
            assert wire.drawn
            assert all(one.declared is not None for one in wire.private)
            undeclared = [fault for fault in wire.faults() if "in no digest" not in fault]
            assert undeclared == [], "there is no release, and no digest"


@pytest.mark.parametrize("amounts", AMOUNTS)
@pytest.mark.parametrize("name", ["pyramid", "topdown"])
def test_measurements_and_priors_draw_nothing_more(name, amounts, key):
    """Every node's noise is of the same key and the same law as in the release without them."""
    grid = GRIDS["square"]
    before = geodp.CountTable.from_dense(np.arange(64).reshape(8, 8), grid)
    extras = [{}, {"measurements": True}, {"measurements": "cell"}]
    if mechanism(name).informed:
        told = {"prior": before, "prior_source": "a public census"}
        extras += [told, {**told, "measurements": "cell"}]
    found = []
    for extra in extras:
        with listening() as wire:
            geodp.publish(table_of(grid), method=name, key=key, **amounts, **EVENT, **extra)
        assert wire.faults() == []
        found.append(({one.secret for one in wire.private}, wire.fingerprints, wire.drawn))
    assert all(one[:2] == found[0][:2] for one in found)
    assert all(one[2] <= found[0][2] for one in found)


@pytest.mark.parametrize("name", ["pyramid", "topdown"])
def test_parts_of_a_cluster_draw_what_the_release_declares(name, tmp_path):
    """What workers draw, with the key as they open it."""
    grid = GRIDS["square"]
    table, method = table_of(grid), mechanism(name)
    event = method.event(grid, Terms.of(epsilon="1/2", **EVENT), "file")
    cut = partition_of(method, grid, event)
    key = NoiseKey.from_file(keep(tmp_path / "key")).restrict(cut.declare())
    node, first = np.unique(table.key // np.uint64(cut.stride), return_index=True)
    totals = Cells(grid, node * np.uint64(cut.stride), np.add.reduceat(table.count, first))
    with listening() as wire:
        top = cut.above(totals, key)
        below = cut.below(Cells(grid, table.key, table.count), top, key)
        count = top.count
        if cut.two_passes:
            count = fill_counts(top, cut.improve(totals, key, below.roots.z, below.roots.variance))
        cut.finish(below, count)
    wire.encoded.append(encode(tuple(noise_identity.components(grid, method, event).items())))
    assert wire.drawn
    assert wire.faults() == []


def test_evaluations_draw_what_their_methods_declare(key):
    table = table_of(GRIDS["attribute below"])
    with listening() as wire:
        geodp.evaluate(table, methods=["parts", "pyramid"], epsilon=1, trials=2, key=key, **EVENT)
    assert wire.faults() == []
    assert len({one.secret for one in wire.private}) == 2 * (2 + 1)


def test_readers_draw_samples_and_rounding_with_a_kept_key_and_nothing_else(key, tmp_path):
    person, cell = np.arange(12) // 6, (np.arange(12) % 6).astype(np.uint64)
    rows = tmp_path / "rows.csv"
    rows.write_text("x,y,n\n0,0,1.5\n1,2,0.25\n")
    grid = geodp.Grid.regular((4, 4))
    with listening() as wire:
        truncate(person, cell, cells=2, per_cell=1, truncation="sample", secret=key)
        geodp.read_table(
            rows, grid=grid, x="x", y="y", anchor="index", value="n", rounding="stochastic",
            secret=key,
        )  # fmt: skip
    assert wire.faults() == []
    assert {draw.stream for draw in wire.drawn} == {Stream.SAMPLE, Stream.ROUNDING}


def test_a_sampled_table_is_charged_and_nothing_is_drawn(tmp_path):
    ledger = Ledger.create(tmp_path / "office.ledger")
    ledger.add_dataset("census", ApproximateDP(Fraction(3), Fraction(1, 10**5)))
    with listening() as wire:
        charge_threshold(sampled_threshold(10, "0.2", delta="1e-6"), ledger, "census", "autumn")
    assert (wire.heard, wire.derived, wire.fingerprints) == ([], [], [])


@pytest.mark.parametrize("name", sorted(ORACLES))
def test_devices_flip_the_coins_that_their_oracle_declares(name):
    """The chances are ``flip_chances``, which follow from what the round's public file says."""
    one, seen = oracle(name), set()
    known = one.identity

    class Heard(coins.Coins):
        def fill(self, step, arguments, count, units, chances=()):
            seen.update(chances)
            return super().fill(step, arguments, count, units, chances)

    one.randomize(np.arange(9).repeat(20), Heard())
    assert seen
    assert seen <= {*one.list_flip_chances()}
    other = oracle(name, epsilon=2)
    assert {*other.list_flip_chances()} != {*one.list_flip_chances()}
    assert other.identity != known
    with mock.patch.object(type(one), "version", one.version + 1):
        assert one.identity != known


# What must be caught.


class Careful(Geometric):
    """The control of the controls: it draws what it says."""

    factor, further, name = Fraction(1), (), "careful"

    def release(self, table, event, key):
        add_noise(table.to_vector(), key, 0, event.scale * self.factor)
        for stage in self.further:
            add_noise(table.to_vector(), key, stage, event.scale)
        return super().release(table, event, key)


def published(**changed):
    method = type("Mutant", (Careful,), changed)()
    return geodp.publish(table_of(GRIDS["square"]), method=method, epsilon=1, **EVENT)


def test_a_method_that_draws_what_it_declares_passes():
    with listening() as wire:
        published()
    assert [fault for fault in wire.faults() if "in no digest" not in fault] == []


MUTANTS = {
    "a stream that is not listed": {"further": (7,)},
    "a scale that is a quarter less": {"factor": Fraction(3, 4)},
    "a scale that is a quarter more": {"factor": Fraction(5, 4)},
    "queries of another scale": {
        "queries": lambda self, grid, event: [
            type(one)(one.stream, (one.noise[0], one.noise[1] * 3 / 4), one.what)
            for one in Geometric().queries(grid, event)
        ]
    },
    "no queries": {"queries": lambda self, grid, event: ()},
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_an_undeclared_draw_is_refused_and_is_heard_where_it_is_not(mutant):
    with refuses(UndeclaredDrawError, "draw-undeclared"):
        published(**MUTANTS[mutant])
    with listening(guarded=False) as wire:
        published(**MUTANTS[mutant])
    assert any("was not declared" in fault for fault in wire.faults())


def test_parts_whose_map_is_drawn_with_their_own_key_are_refused():
    """Then two lists of the same streams would share their noise."""
    grid, terms = GRIDS["attribute below"], Terms.of(epsilon=1, **EVENT)
    method, table = Parts(), table_of(grid)
    event = method.event(grid, terms)
    key, base = NoiseKey.generate().restrict(method.declare(grid, event)), method.base(grid, event)
    with pytest.raises(UndeclaredDrawError):
        base.method.release(method.first(table), base.event, key)
    assert method.release(table, event, key).key.size


TAKERS = {"privacy/key.py", "cluster/secret.py", "tools/evaluate/evaluate.py"}
"""Files that take the words of a key: to lend them to a kernel, and for another process."""


def test_words_of_keys_are_taken_where_draws_are_named_and_nowhere_else():
    """The kernels are told words, streams and laws; only these files hold words at all."""
    found = set()
    for path in sources.FILES:
        for node in sources.walk(path):
            called = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            if called and node.func.attr in ("words", "_hold") and not node.args:
                found.add(path.relative_to(sources.PACKAGE).as_posix())
            if called and node.func.attr == "_secret":
                found.add(path.relative_to(sources.PACKAGE).as_posix())
    assert found == TAKERS
