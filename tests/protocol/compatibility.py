"""Compare the promises of a released protocol with the present protocol: see docs/protocol.md.

    python -m tests.protocol.compatibility 1.0      # writes tests/protocol/released/1.0.json, at a release

A released document is the result of `rpc.discover` without its prose.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from gnod.protocol import openrpc

Schema = dict[str, Any]
RELEASED = Path(__file__).parent / "released"

_PROSE = ("description", "title", "summary")
# Keywords of JSON Schema that set the lower and the upper limit of a value.
_LOWER = ("minimum", "exclusiveMinimum", "minLength", "minItems")
_UPPER = ("maximum", "exclusiveMaximum", "maxLength", "maxItems")
_EXACT = ("pattern", "contentEncoding", "propertyNames", "prefixItems", "items", "additionalProperties")


def promises() -> Schema:
    """Return the present document without its prose."""
    document = json.loads(json.dumps(openrpc.document()))
    methods = [
        {name: method[name] for name in ("name", "params", "result", "x-repeatable")} for method in document["methods"]
    ]
    kept = {name: document[name] for name in ("components", "x-framing", "x-notifications")}
    plain: Schema = _without_prose({"methods": methods, **kept})
    return plain


def breaks(old: Schema, new: Schema) -> list[str]:
    """Return the differences that a client of `old` would notice in `new`, as `place: what`."""
    return [f"{where}: {what}" for where, what in _breaks(old, new)]


def _without_prose(value: Any) -> Any:
    match value:
        case {"properties": dict(properties)}:  # a field may be called `title`
            rest = _without_prose({name: item for name, item in value.items() if name != "properties"})
            return rest | {"properties": {name: _without_prose(item) for name, item in properties.items()}}
        case dict():
            return {name: _without_prose(item) for name, item in value.items() if name not in _PROSE}
        case list():
            return [_without_prose(item) for item in value]
    return value


Found = Iterator[tuple[str, str]]


def _breaks(old: Schema, new: Schema) -> Found:
    comparison = _Comparison(old["components"]["schemas"], new["components"]["schemas"], set())
    now = {method["name"]: method for method in new["methods"]}
    for method in old["methods"]:
        name = method["name"]
        if name not in now:
            yield name, "the method is gone"
            continue
        yield from comparison.params(name, method["params"], now[name]["params"])
        yield from comparison.same(f"{name} → ", method["result"]["schema"], now[name]["result"]["schema"], False)
        if method["x-repeatable"] and not now[name]["x-repeatable"]:
            yield name, "it may not be repeated any more"
    sent = {each["name"]: each for each in new["x-notifications"]}
    for each in old["x-notifications"]:
        if each["name"] not in sent:
            yield each["name"], "the notification is gone"
        else:
            is_input = each["direction"] == "to the daemon"
            yield from comparison.same(each["name"], each["params"], sent[each["name"]]["params"], is_input)
    errors = {(each["code"], each["data"]["kind"]) for each in new["components"]["errors"].values()}
    for each in old["components"]["errors"].values():
        if (each["code"], each["data"]["kind"]) not in errors:
            yield each["data"]["kind"], "the error is gone, or has another code"
    for limit in ("maxMessageBytes", "maxRequestBytes"):
        if new["x-framing"][limit] < old["x-framing"][limit]:
            yield "framing", f"{limit} is smaller"


class _Comparison(NamedTuple):
    """`seen`: the pairs of named schemas already compared, because schemas may contain themselves. `is_input`: clients
    send the value. Types of sent values may get wider, types of received values may get narrower."""

    old: Schema
    new: Schema
    seen: set[tuple[str, str, bool]]

    def params(self, method: str, old: list[Schema], new: list[Schema]) -> Found:
        now = {param["name"]: param for param in new}
        for param in old:
            where = f"{method}({param['name']})"
            if param["name"] not in now:
                yield where, "the parameter is gone"
            else:
                yield from self.same(where, param["schema"], now[param["name"]]["schema"], True)
        optional = {param["name"] for param in old if not param["required"]}
        for param in new:
            if param["required"] and (param["name"] in optional or param["name"] not in {each["name"] for each in old}):
                yield f"{method}({param['name']})", "the parameter is required now"

    def same(self, where: str, old: Schema, new: Schema, is_input: bool) -> Found:
        pair = (old.get("$ref", ""), new.get("$ref", ""), is_input)
        if all(pair[:2]) and pair in self.seen:
            return
        self.seen.add(pair)
        before, after = _alternatives(old, self.old), _alternatives(new, self.new)
        wide, narrow = (after, before) if is_input else (before, after)
        for each in narrow:
            tries = [list(self._one(where, *((each, it) if is_input else (it, each)), is_input)) for it in wide]
            yield from min(tries, key=len)
        if old.get("default") != new.get("default"):
            yield where, "it has another default"

    def _one(self, where: str, old: Schema, new: Schema, is_input: bool) -> Found:
        if old.get("type") != new.get("type"):
            yield where, f"its type was {old.get('type')} and is {new.get('type')}"
            return
        # A client may rely on a value, and must expect further values.
        values: list[object] = old.get("enum", [])
        if gone := {str(each) for each in values if each not in (new.get("enum") or values)}:
            yield where, f"the values {sorted(gone)} are gone"
        if is_input:
            yield from _limits(where, old, new)
        for name, each in old.get("properties", {}).items():
            if name not in new["properties"]:
                yield f"{where}.{name}", "the field is gone"
            else:
                yield from self.same(f"{where}.{name}", each, new["properties"][name], is_input)
        required, was = set(new.get("required", ())), set(old.get("required", ()))
        for name in (required - was) if is_input else (was - required) & new.get("properties", {}).keys():
            yield f"{where}.{name}", "the field is required now" if is_input else "the field may be absent now"
        for name in _EXACT:
            if isinstance(old.get(name), dict) and isinstance(new.get(name), dict):
                yield from self.same(f"{where}[]", old[name], new[name], is_input)
            elif old.get(name) != new.get(name):
                yield where, f"its {name} is another one"


def _limits(where: str, old: Schema, new: Schema) -> Found:
    if "enum" in new and "enum" not in old:
        yield where, "not all values are accepted any more"
    for name in _LOWER + _UPPER:
        sign = 1 if name in _LOWER else -1
        if name in new and (name not in old or sign * new[name] > sign * old[name]):
            yield where, f"{name} is stricter"


def _alternatives(schema: Schema, named: Schema) -> list[Schema]:
    """Return the alternative schemas of a value, with references resolved."""
    if "$ref" in schema and schema["$ref"].startswith("#"):
        return _alternatives(named[schema["$ref"].rpartition("/")[2]], named)
    if "anyOf" in schema:
        return [each for option in schema["anyOf"] for each in _alternatives(option, named)]
    return [schema]


if __name__ == "__main__":
    text = json.dumps(promises(), separators=(",", ":"), sort_keys=True)
    (RELEASED / f"{sys.argv[1]}.json").write_text(f"{text}\n", encoding="utf-8")
