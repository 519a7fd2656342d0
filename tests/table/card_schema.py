"""The JSON schemas of ``release.json`` and ``series.json``, made from the classes of the cards.

``python -m tests.table.card_schema`` writes them into the package.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import MISSING, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Literal, Union, get_args, get_origin

import geodp
from geodp.kinds.amounts.kind import AmountsCard, AmountsSeriesCard
from geodp.kinds.census.kind import CensusCard
from geodp.kinds.flows.kind import FlowsCard
from geodp.kinds.households.kind import HouseholdsCard
from geodp.kinds.selection.card import SelectionCard
from geodp.kinds.series.kind import SeriesCard
from geodp.table.card import Card
from geodp.table.plain import AtLeast, Text, key_of, list_in_order, types_of

PACKAGE = Path(geodp.__file__).parent
FILES = {
    PACKAGE / folder / f"{name}.schema.json": (card, f"geodp-{name}", title)
    for folder, name, card, title in (
        ("table", "release-2", Card, "a geodp release: release.json"),
        ("kinds/amounts", "amounts-1", AmountsCard, "amounts of geodp: amounts.json"),
        (
            *("kinds/amounts", "amounts-series-1", AmountsSeriesCard),
            "a series of amounts of geodp: amounts-series.json",
        ),
        ("kinds/census", "census-1", CensusCard, "a census of geodp: census.json"),
        ("kinds/flows", "flows-1", FlowsCard, "flows of geodp: flows.json"),
        (
            *("kinds/households", "households-1", HouseholdsCard),
            "persons and households of geodp: households.json",
        ),
        ("kinds/selection", "selection-1", SelectionCard, "a geodp selection: release.json"),
        ("kinds/series", "series-1", SeriesCard, "a geodp series: series.json"),
    )
}
"""By file: the card's class, the schema's id, and of what it is."""

KINDS = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}


def schema(card, identity, title):
    """Return a whole document."""
    names = {}
    root = _object(card, names)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": identity,
        "title": f"The card of {title}",
        **root,
        "$defs": {name: names[name] for name in sorted(names)},
    }


def _schema(kind, names):
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        (limit,) = parts[1:]
        bound = (
            {"pattern": f"^(?:{limit.pattern})$"}
            if isinstance(limit, Text)
            else {
                "minimum": limit.value,
                **({} if limit.maximum is None else {"maximum": limit.maximum}),
            }
        )
        assert isinstance(limit, Text | AtLeast)
        return {**_schema(parts[0], names), **bound}
    if origin in (Union, UnionType):
        return {"anyOf": [_schema(part, names) for part in parts]}
    if origin is Literal:
        return {"enum": list(parts)}
    if origin is tuple and parts[-1] is Ellipsis:
        return {"type": "array", "items": _schema(parts[0], names)}
    if origin is tuple:
        each = [_schema(part, names) for part in parts]
        return {"type": "array", "prefixItems": each, "minItems": len(each), "maxItems": len(each)}
    if origin is Mapping:
        return {"type": "object", "additionalProperties": _schema(parts[1], names)}
    if is_dataclass(kind):
        if kind.__name__ not in names:
            names[kind.__name__] = {}
            names[kind.__name__] = _object(kind, names)
        return {"$ref": f"#/$defs/{kind.__name__}"}
    return {"type": KINDS[kind]}


def _object(kind, names):
    """Return the schema of a dataclass, in the words of its docstring."""
    types, properties, needed = types_of(kind), {}, []
    for field in list_in_order(kind):
        if inline := field.metadata.get("inline"):
            properties |= {name: _schema(inline[name], names) for name in inline}
            continue
        properties[key_of(field)] = _schema(types[field.name], names)
        if field.default is MISSING or field.default is not None:
            needed.append(key_of(field))
    return {
        "description": re.sub(r"\s+", " ", kind.__doc__.split("\n\n")[0]).strip(),
        "type": "object",
        "properties": properties,
        "required": needed,
        "additionalProperties": False,
    }


def text(file):
    """Return it as a file has it."""
    return json.dumps(schema(*FILES[file]), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for path in FILES:
        path.write_text(text(path), encoding="utf-8")
