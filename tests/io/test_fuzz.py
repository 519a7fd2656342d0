"""Damaged input of every kind: one deliberate error or none, and never a planted secret."""

import traceback
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import geodp
from geodp.errors import GeodpError
from geodp.grid.codes import code_system, infer_jis_level
from geodp.io.read.layout.inspect import inspect
from geodp.io.read.public.mask import read_mask
from geodp.privacy.key import NoiseKey
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP

SECRET = "987654321"
MESH = (
    "KEY_CODE,HTKSYORI,HTKSAKI,GASSAN,T001,T002\r\n,,,,　人口（総数）,　男\r\n"
    f"533946113,0,,,{SECRET},12\r\n533946114,2,533946113,,3,*\r\n533946121,1,,533946114,40,20\r\n"
)
TABLE = (
    f"code;x;y;count;who\n533946113;139.7656;35.6812;{SECRET};ann\n"
    "533946114;139.7719;35.6812;5;bob\n"
)
PIECES = [b",", b";", b"\r\n", b"\0", b'"', b"-", b"*", b".5", b"1e9", b"\xff"]
GRID = geodp.Grid.mesh("jis:half", bounds=(139, 35 + 1 / 3, 140, 36))


@st.composite
def damaged(draw, text, encoding):
    """A file's bytes with a few changes: cut, repeated, replaced or swapped pieces."""
    data = bytearray(text.encode(encoding))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        stop = min(len(data), start + draw(st.integers(0, 12)))
        piece = draw(
            st.one_of(
                st.binary(max_size=6),
                st.sampled_from(PIECES),
                st.just(bytes(data[start:stop]) * 2),
            )
        )
        data[start:stop] = piece
    return bytes(data)


def calls(path):
    common = {"grid": GRID, "outside": "drop"}
    yield lambda: geodp.read_mesh(path, value="人口（総数）", **common)
    yield lambda: geodp.read_mesh(path, value="T002", suppressed="zero", **common)
    yield lambda: geodp.read_table(path, code="code", value="count", **common)
    yield lambda: geodp.read_table(path, x="x", y="y", value="count", **common)
    yield lambda: geodp.read_table(path, code="count", value="code", **common)
    yield lambda: geodp.read_points(path, x="x", y="y", person="who", **common)
    yield lambda: read_mask(path, GRID, source="a fuzzed file")
    yield lambda: inspect(path)


def survives(call):
    """Run a call; what it says must be deliberate and must not tell the secret."""
    try:
        result = call()
    except GeodpError as error:
        said = "".join(traceback.format_exception(error))
        told = str(error) + repr(error.__cause__) + repr(error.__context__)
        assert SECRET not in told, said
        return
    assert SECRET not in repr(result)


settings_of_files = settings(
    max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.mark.law
@pytest.mark.parametrize("encoding", ["cp932", "utf-8", "utf-8-sig"])
@settings_of_files
@given(data=st.data())
def test_damaged_mesh_files(tmp_path, encoding, data):
    path = tmp_path / "mesh.txt"
    path.write_bytes(data.draw(damaged(MESH, encoding)))
    for call in calls(path):
        survives(call)


@settings_of_files
@given(data=st.data())
def test_damaged_tables(tmp_path, data):
    path = tmp_path / "table.csv"
    path.write_bytes(data.draw(damaged(TABLE, "utf-8")))
    for call in calls(path):
        survives(call)


@settings_of_files
@given(st.text(max_size=14), st.sampled_from(["jis:half", "jis:eighth", "inspire:1km"]))
def test_any_text_as_a_code(text, spec):
    for call in (
        lambda: code_system(spec).parse([text]),
        lambda: infer_jis_level(text),
        lambda: code_system(text),
        lambda: geodp.Grid.mesh(text),
    ):
        survives(call)


@settings_of_files
@given(st.one_of(st.text(max_size=30), st.floats(), st.integers(), st.none(), st.binary()))
def test_anything_as_a_budget(value):
    table = geodp.CountTable.from_dense(np.ones((2, 2), int), geodp.Grid.regular((2, 2)))
    survives(lambda: geodp.publish(table, epsilon=value, contribution=1))


@settings_of_files
@given(content=st.binary(max_size=80))
def test_anything_as_a_key_file(tmp_path, content):
    path = tmp_path / "key"
    path.write_bytes(content)
    path.chmod(0o600)
    survives(lambda: NoiseKey.from_file(path))


@settings_of_files
@given(data=st.data())
def test_a_damaged_ledger(tmp_path, data):
    path = tmp_path / f"office-{data.draw(st.integers(0, 10**9))}.ledger"
    if path.exists():
        path.unlink()
    ledger = Ledger.create(path)
    ledger.add_dataset("census", PureDP(Fraction(1)))
    raw = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(raw)
    survives(lambda: Ledger.open(path).check())
    survives(lambda: Ledger.open(path).account("census"))
