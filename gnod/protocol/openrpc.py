"""Make an OpenRPC 1.3 document from the types of the methods. Must not depend on the daemon.

Source: https://spec.open-rpc.org. `x-` fields describe what OpenRPC does not cover (framing, progress, cancelling).
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from itertools import takewhile
from typing import Any

import msgspec

import gnod
from gnod import errors
from gnod.protocol import framing, jsonrpc
from gnod.protocol.base import CancelParams, Params, ProgressParams, Result
from gnod.protocol.methods import METHODS, Method
from gnod.protocol.subscription import CHANGED, IndexChanged

VERSION = "1.3.2"

_META_SCHEMA = "https://raw.githubusercontent.com/open-rpc/meta-schema/master/schema.json"
_REFERENCE = "#/components/schemas/{name}"

# A JSON Schema, which is a part of the document.
Schema = dict[str, Any]


def document(methods: Mapping[str, Method] = METHODS) -> dict[str, object]:
    schemas = _schemas(methods)
    described = [_method(method, schemas[method.params.__name__]) for method in methods.values()]
    # Parameters are listed individually, so nothing refers to their structs.
    for method in methods.values():
        schemas.pop(method.params.__name__, None)
    return {
        "openrpc": VERSION,
        "info": {
            "title": "gnod",
            "version": gnod.__version__,
            "description": "Local knowledge search over a Unix stream socket, in JSON-RPC 2.0.",
            "license": {"name": "MIT"},
        },
        "methods": described,
        "components": {"schemas": schemas, "errors": _errors()},
        "x-framing": _framing(),
        "x-notifications": _notifications(),
    }


def _schemas(methods: Mapping[str, Method]) -> dict[str, Schema]:
    types: list[type] = [CancelParams, IndexChanged, ProgressParams]
    for method in methods.values():
        types += [method.params, *([method.result] if _is_struct(method) else [])]
    _, components = msgspec.json.schema_components(types, schema_hook=_any_value, ref_template=_REFERENCE)
    return components


def _any_value(_type: type) -> Schema:
    """Describe `object`: msgspec has no schema for it, and does not accept {}."""
    return {"description": "any JSON value"}


def _is_struct(method: Method) -> bool:
    return isinstance(method.result, type) and issubclass(method.result, Result)


def _method(method: Method, params: Schema) -> Schema:
    described: Schema = {"name": method.name, "summary": method.summary}
    if notes := _notes(method.params):
        described["description"] = notes
    return described | {
        "paramStructure": "by-name",
        "params": _params(params),
        "result": _result(method),
        "errors": [{"$ref": f"#/components/errors/{cls.__name__}"} for cls in _error_classes()],
        "x-repeatable": method.is_repeatable,
        "x-limit-seconds": method.limit_s,
    }


def _notes(params: type[Params]) -> str:
    """Return the docstrings of the struct and of its bases, except Params."""
    own = takewhile(lambda cls: cls is not Params, params.__mro__)
    return "\n\n".join(inspect.cleandoc(cls.__doc__) for cls in own if cls.__doc__)


def _params(struct: Schema) -> list[Schema]:
    required = struct.get("required", [])
    listed = [
        {"name": name, "required": name in required, "schema": schema} for name, schema in struct["properties"].items()
    ]
    return sorted(listed, key=lambda param: not param["required"])  # OpenRPC lists required ones first


def _result(method: Method) -> Schema:
    if not _is_struct(method):
        return {"name": "OpenRPC Schema", "schema": {"$ref": _META_SCHEMA}}
    name = method.result.__name__
    return {"name": name, "schema": {"$ref": _REFERENCE.format(name=name)}}


def _error_classes() -> list[type[errors.GnoError]]:
    return [errors.CLASSES[code] for code in sorted(errors.CLASSES)]


def _errors() -> dict[str, Schema]:
    return {
        cls.__name__: {
            "code": cls.code,
            "message": (inspect.cleandoc(cls.__dict__.get("__doc__") or "") or cls.kind.replace("_", " ")),
            "data": {"kind": cls.kind},
        }
        for cls in _error_classes()
    }


def _framing() -> Schema:
    return {
        "transport": "unix stream socket",
        "lines": "first byte '{' or '[': one JSON message per line",
        "headers": "first byte 'C': Content-Length headers as in the Language Server Protocol 3.17",
        "maxMessageBytes": framing.MAX_MESSAGE_BYTES,
        "maxRequestBytes": framing.MAX_REQUEST_BYTES,
    }


def _notifications() -> list[Schema]:
    cancel = f"Cancel a request; the reply is error {errors.RequestCancelled.code}."
    progress = "Progress of a request that has a progress_token."
    changed = "Changes of the index, for a client that has called index.subscribe."
    return [
        _notification(jsonrpc.CANCEL_METHOD, "to the daemon", cancel, CancelParams),
        _notification(jsonrpc.PROGRESS_METHOD, "to the client", progress, ProgressParams),
        _notification(CHANGED, "to the client", changed, IndexChanged),
    ]


def _notification(name: str, direction: str, summary: str, params: type[msgspec.Struct]) -> Schema:
    reference = {"$ref": _REFERENCE.format(name=params.__name__)}
    return {"name": name, "direction": direction, "summary": summary, "params": reference}
