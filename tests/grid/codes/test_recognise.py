"""Code systems are recognised by the form of all codes; a column's name only orders them."""

import numpy as np
import pytest

from geodp.grid.codes import code_system
from geodp.grid.codes.recognise import count_others, systems_of

ALONE = [
    *("inspire:1km", "inspire:250m", "national:3067:1km", "ssb:250m", "dkn:100m", "ibge:1km"),
    *("british:1km", "irish:100m", "korean:100m", "jis:half", "jis:2km", "quadkey:16"),
]
"""Systems whose codes look like those of no other."""


def draw(name, n=50, seed=0):
    system = code_system(name)
    row0, col0, rows, cols = system.extent
    rng = np.random.default_rng(seed)
    return system.format(row0 + rng.integers(0, rows, n), col0 + rng.integers(0, cols, n))


@pytest.mark.parametrize("name", [*ALONE, "cbs:100m", "statpop:100m", "jis:basic"])
def test_a_system_is_among_those_of_its_codes(name):
    assert name in systems_of(draw(name))
    if name in ALONE:
        assert systems_of(draw(name)) == (name,)


@pytest.mark.parametrize("odd", ["", "x", "1kmN2599E46", None, "999"])
def test_one_odd_code_leaves_systems_out_and_brings_none_in(odd):
    for name in ALONE:
        assert systems_of([*draw(name).tolist(), odd]) == ()


def test_numbers_are_geohashes_where_most_codes_have_a_letter():
    codes = draw("geohash:9").tolist()
    assert systems_of(codes) == ("geohash:9",)
    half = draw("jis:half").tolist()
    assert systems_of(half[:3] + codes[:2]) == ()
    assert systems_of([*half, "xn76u8b5x"]) == ()


def test_a_columns_name_orders_and_decides_nothing():
    hectares = ["60302000"]
    assert systems_of(hectares) == ("jis:basic", "statpop:100m")
    assert systems_of(hectares, "RELI") == ("statpop:100m", "jis:basic")
    assert systems_of(draw("inspire:1km"), "RELI") == ("inspire:1km",)


def test_numbers_are_read_and_never_complete_lost_zeros():
    assert "jis:half" in systems_of(np.array([533946113, 392725541]))
    assert systems_of(np.array([13, 12])) == ()  # quadkeys are never numbers
    assert systems_of([]) == systems_of(np.array([0.5])) == ()


@pytest.mark.parametrize(
    ("codes", "name"),
    [
        (["1kmN6672E0385", "1kmN7000E0040"], "national:3067:1km"),
        (["5kmN1338E0017", "5kmN1400E0100"], "national:3067:5km"),
        (["250mN674400E31725", "250mN669000E08500"], "national:3067:250m"),
        (["1kmN6588E0540", "1kmN6450E0660"], "national:3301:1km"),
        (["SE_CRS3006RES1000mN6133000E394000"], "national:3006:1km"),
    ],
)
def test_short_ids_of_a_country_are_of_its_grid_alone(codes, name):
    """Those of Europe's grid look like them, and have other eastings and northings."""
    assert systems_of(codes) == (name,)


@pytest.mark.parametrize("kind", [np.str_, np.int64])
def test_thirteen_digits_are_squares_of_sweden(kind):
    """Which size they are of they do not tell."""
    found = systems_of(np.array(["3940006133000", "3950006134000"]).astype(kind), "rutid_scb")
    assert {*found} == {f"national:3006:{size}" for size in ("1km", "500m", "250m", "200m", "100m")}


def test_short_codes_and_those_of_one_letter_are_looked_for_in_columns_of_that_name():
    """Outward codes of British postcodes, and numbers of persons, look like them."""
    assert count_others(["SE10", "SW11", "NE12"], 0) == {}
    assert count_others(["SE10", "SW11", "NE12"], 0, "grid_ref") == {"british:10km": 0}
    assert count_others(["G0305", "N0050"], 0, "id") == {}
    assert count_others(["G0305", "N0050"], 0, "Grid ref") == {"irish:1km": 0}
    assert count_others(["SU4217", "TQ 30 80", "SU1"], 1) == {"british:1km": 1}
    assert count_others(["다사551085"], 0) == {"korean:100m": 0}
