"""The present protocol keeps the promises of released ones, and the comparison notices each kind of broken promise."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.protocol.compatibility import RELEASED, Schema, breaks, promises


@pytest.mark.parametrize("released", sorted(RELEASED.glob("*.json")), ids=lambda path: path.stem)
def test_the_present_protocol_keeps_every_promise(released: Path) -> None:
    """Before the release of 1.0, a change may break a promise: then run `make freeze`."""
    assert breaks(json.loads(released.read_text(encoding="utf-8")), promises()) == []


def document() -> Schema:
    """Return a protocol with one of everything."""
    item = {
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "count": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
            "kind": {"enum": ["note", "mail"]},
            "parts": {"type": "array", "items": {"$ref": "#/components/schemas/Item"}, "default": []},
        },
        "required": ["title", "kind"],
    }
    filter_ = {"type": "object", "properties": {"field": {"type": "string"}}, "required": ["field"]}
    params = [
        {"name": "query", "required": True, "schema": {"type": "string", "minLength": 1}},
        {"name": "limit", "required": False, "schema": {"type": "integer", "maximum": 100, "default": 10}},
        {"name": "mode", "required": False, "schema": {"enum": ["fast", "exact"], "default": "fast"}},
        {
            "name": "filters",
            "required": False,
            "schema": {"type": "array", "items": {"$ref": "#/components/schemas/Filter"}, "default": []},
        },
    ]
    result = {"name": "Item", "schema": {"$ref": "#/components/schemas/Item"}}
    errors = {"NotFound": {"code": 404, "data": {"kind": "not_found"}}}
    return {
        "methods": [{"name": "find", "params": params, "result": result, "x-repeatable": True}],
        "components": {"schemas": {"Item": item, "Filter": filter_}, "errors": errors},
        "x-framing": {"maxMessageBytes": 16, "maxRequestBytes": 4},
        "x-notifications": [{"name": "changed", "direction": "to the client", "params": result["schema"]}],
    }


Change = Callable[[dict[str, Any]], object]


def method(found: Schema) -> Any:
    return found["methods"][0]


def param(found: Schema, number: int) -> Any:
    return method(found)["params"][number]


def fields(found: Schema, name: str = "Item") -> Any:
    return found["components"]["schemas"][name]["properties"]


BROKEN: dict[str, Change] = {
    "find: the method is gone": lambda d: d["methods"].clear(),
    "find: it may not be repeated any more": lambda d: method(d).update({"x-repeatable": False}),
    "find(mode): the parameter is gone": lambda d: method(d)["params"].pop(2),
    "find(limit): the parameter is required now": lambda d: param(d, 1).update(required=True),
    "find(more): the parameter is required now": lambda d: method(d)["params"].append(
        {"name": "more", "required": True, "schema": {"type": "string"}}
    ),
    "find(limit): its type was integer and is string": lambda d: param(d, 1)["schema"].update(type="string"),
    "find(limit): it has another default": lambda d: param(d, 1)["schema"].update(default=20),
    "find(limit): maximum is stricter": lambda d: param(d, 1)["schema"].update(maximum=99),
    "find(query): minLength is stricter": lambda d: param(d, 0)["schema"].update(minLength=2),
    "find(query): its pattern is another one": lambda d: param(d, 0)["schema"].update(pattern="^a"),
    "find(query): not all values are accepted any more": lambda d: param(d, 0)["schema"].update(enum=["a"]),
    "find(mode): the values ['exact'] are gone": lambda d: param(d, 2)["schema"].update(enum=["fast"]),
    "find(filters)[].field: the field is gone": lambda d: fields(d, "Filter").clear(),
    "find(filters)[].more: the field is required now": lambda d: (
        fields(d, "Filter").update(more={"type": "string"}),
        d["components"]["schemas"]["Filter"]["required"].append("more"),
    ),
    "find → .title: the field is gone": lambda d: fields(d).pop("title"),
    "find → .title: the field may be absent now": lambda d: d["components"]["schemas"]["Item"]["required"].remove(
        "title"
    ),
    "find → .title: its type was string and is null": lambda d: fields(d).update(
        title={"anyOf": [{"type": "string"}, {"type": "null"}]}
    ),
    "find → .count: its type was": lambda d: fields(d)["count"]["anyOf"].append({"type": "string"}),
    "find → .count: it has another default": lambda d: fields(d)["count"].update(default=0),
    "find → .kind: the values ['mail'] are gone": lambda d: fields(d)["kind"].update(enum=["note"]),
    "find → .parts[]: its type was": lambda d: fields(d)["parts"].update(items={"type": "string"}),
    "not_found: the error is gone": lambda d: d["components"]["errors"].clear(),
    "not_found: the error is gone, or has another code": lambda d: d["components"]["errors"]["NotFound"].update(code=4),
    "changed: the notification is gone": lambda d: d["x-notifications"].clear(),
    "framing: maxRequestBytes is smaller": lambda d: d["x-framing"].update(maxRequestBytes=3),
}


@pytest.mark.parametrize("told", BROKEN)
def test_each_kind_of_broken_promise_is_noticed(told: str) -> None:
    changed = document()
    BROKEN[told](changed)
    found = breaks(document(), changed)
    assert any(each.startswith(told) for each in found), found


ALLOWED: list[Change] = [
    lambda _: None,
    lambda d: d["methods"].append(copy.deepcopy(method(d)) | {"name": "another"}),
    lambda d: method(d)["params"].append({"name": "more", "required": False, "schema": {"type": "string"}}),
    lambda d: param(d, 0).update(required=False),
    lambda d: param(d, 0)["schema"].pop("minLength"),
    lambda d: param(d, 1)["schema"].update(maximum=1000),
    lambda d: param(d, 1).update(schema={"anyOf": [param(d, 1)["schema"], {"type": "null"}], "default": 10}),
    lambda d: param(d, 2)["schema"]["enum"].append("loose"),
    lambda d: fields(d, "Filter").update(more={"type": "string", "default": ""}),
    lambda d: fields(d).update(more={"type": "string"}),
    lambda d: fields(d)["kind"]["enum"].append("chat"),
    lambda d: fields(d).update(count={"type": "integer", "default": None}),
    lambda d: d["components"]["errors"].update(New={"code": 1, "data": {"kind": "new"}}),
    lambda d: d["x-framing"].update(maxMessageBytes=32),
]


@pytest.mark.parametrize("change", ALLOWED)
def test_what_a_client_does_not_notice_is_allowed(change: Change) -> None:
    changed = document()
    change(changed)
    assert breaks(document(), changed) == []
