"""Kinds of release are told by what their cards say, and a table's needs none of them."""

import json

from geodp.errors import VerificationError
from geodp.io.folder import kinds
from tests.refusals import refuses


def put(folder, name, schema):
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(json.dumps({"schema": schema}), encoding="utf-8")


def test_every_kind_is_found_by_its_file_and_schema(tmp_path):
    for name, kind in kinds.list_kinds().items():
        for schema in kind.schemas:
            put(tmp_path / name, kind.file, schema)
            assert kinds.find_kind(tmp_path / name) is kind
            assert kinds.find_card(tmp_path / name) == tmp_path / name / kind.file
    schemas = [schema for kind in kinds.list_kinds().values() for schema in kind.schemas]
    assert len({*schemas}) == len(schemas)


def test_what_no_kind_knows_is_none(tmp_path):
    assert kinds.find_kind(tmp_path) is None
    assert kinds.find_card(tmp_path / "nowhere") is None
    for text in ("", "[]", '{"schema": "geodp-selection-99"}', '{"schema": ["a"]}'):
        (tmp_path / kinds.CARD).write_text(text, encoding="utf-8")
        assert kinds.find_kind(tmp_path) is None
        assert not kinds.is_table(tmp_path)


def test_a_card_of_no_kind_is_refused():
    class Strange:
        schema = "geodp-strange-1"

    with refuses(VerificationError, "card-kind-unknown: geodp-strange-1"):
        kinds.kind_of(Strange())
