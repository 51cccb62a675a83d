from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from gnod import errors
from gnod.protocol import openrpc
from gnod.protocol.methods import METHODS

# As a client gets it.
DOCUMENT: dict[str, Any] = json.loads(json.dumps(openrpc.document()))


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


def test_it_lists_every_method_once() -> None:
    assert DOCUMENT["openrpc"].startswith("1.3.")
    assert [method["name"] for method in DOCUMENT["methods"]] == list(METHODS)


def test_every_reference_leads_somewhere() -> None:
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


def test_the_method_that_answers_with_it_says_so() -> None:
    discover = next(method for method in DOCUMENT["methods"] if method["name"] == "rpc.discover")
    assert discover["result"]["name"] == "OpenRPC Schema"
