"""The result of `rpc.discover` is a valid OpenRPC document with everything that a client needs."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from referencing import Registry
from referencing.jsonschema import DRAFT7

from gnod import errors
from gnod.protocol import openrpc
from gnod.protocol.methods import METHODS

# As a client receives it.
DOCUMENT: dict[str, Any] = json.loads(json.dumps(openrpc.document()))

SCHEMAS = Path(__file__).parent / "openrpc_schemas"


def schema(name: str) -> Any:
    return json.loads((SCHEMAS / name).read_text(encoding="utf-8"))


def official() -> jsonschema.Draft7Validator:
    """Return OpenRPC's meta-schema, which includes the meta-schema of JSON Schema."""
    inner = DRAFT7.create_resource(schema("json_schema.json"))
    addresses = ("https://meta.json-schema.tools", "https://meta.json-schema.tools/")
    registry: Registry[Any] = Registry().with_resources([(address, inner) for address in addresses])
    return jsonschema.Draft7Validator(schema("openrpc.json"), registry=registry)


def references(value: object) -> Iterator[str]:
    match value:
        case {"$ref": str(target)}:
            yield target
        case dict():
            for item in value.values():
                yield from references(item)
        case list():
            for item in value:
                yield from references(item)


FAULTS: list[tuple[tuple[str | int, ...], str, object]] = [
    ((), "methods", {}),
    ((), "openrpc", "9.9.9"),
    (("methods", 0), "nonsense", 1),
    (("methods", 0, "params", 0, "schema"), "type", "strin"),
    (("components", "schemas", "Hit"), "properties", 7),
    (("components", "errors", "NotFound"), "code", "100"),
]


@pytest.mark.slow
def test_it_is_a_valid_openrpc_document_and_an_invalid_one_is_detected() -> None:
    validator = official()
    # Each method has the same long list of errors; below, one method has all of it.
    methods = [method | {"errors": method["errors"][:1]} for method in DOCUMENT["methods"]]
    assert [error.message for error in validator.iter_errors(DOCUMENT | {"methods": methods})] == []
    parts = DOCUMENT["components"]
    few = {"schemas": {"Hit": parts["schemas"]["Hit"]}, "errors": {"NotFound": parts["errors"]["NotFound"]}}
    short = DOCUMENT | {"methods": DOCUMENT["methods"][:1], "components": few}
    assert validator.is_valid(short)
    for where, name, value in FAULTS:
        document = copy.deepcopy(short)
        part: Any = document
        for step in where:
            part = part[step]
        part[name] = value
        assert not validator.is_valid(document), (where, name)


def test_notifications_are_described() -> None:
    described = {each["name"]: each for each in DOCUMENT["x-notifications"]}
    assert set(described) == {"$/cancelRequest", "$/progress", "index.changed"}
    for each in described.values():
        name = each["params"]["$ref"].rpartition("/")[2]
        assert DOCUMENT["components"]["schemas"][name]["properties"]


def test_it_lists_every_method_once() -> None:
    assert DOCUMENT["openrpc"].startswith("1.3.")
    assert [method["name"] for method in DOCUMENT["methods"]] == list(METHODS)


def test_every_reference_is_valid() -> None:
    local = {target for target in references(DOCUMENT) if target.startswith("#")}
    for target in local:
        _, components, group, name = target.split("/")
        assert name in DOCUMENT[components][group]
    schemas = {f"#/components/schemas/{name}" for name in DOCUMENT["components"]["schemas"]}
    assert schemas <= local, "a schema that nothing refers to"


def test_parameters_are_described_one_by_one_with_the_required_ones_first() -> None:
    search = next(method for method in DOCUMENT["methods"] if method["name"] == "search.lexical")
    params = {param["name"]: param for param in search["params"]}
    assert search["paramStructure"] == "by-name"
    assert search["params"][0]["name"] == "query"
    assert params["query"]["required"]
    assert params["limit"]["schema"] == {"type": "integer", "minimum": 1, "maximum": 1000, "default": 10}
    assert "ISO 8601" in search["description"]


def test_every_error_is_listed_with_its_kind() -> None:
    listed = {error["code"]: error["data"]["kind"] for error in DOCUMENT["components"]["errors"].values()}
    assert listed == {code: cls.kind for code, cls in errors.CLASSES.items()}


def test_the_result_of_rpc_discover_is_named_openrpc_schema() -> None:
    discover = next(method for method in DOCUMENT["methods"] if method["name"] == "rpc.discover")
    assert discover["result"]["name"] == "OpenRPC Schema"
