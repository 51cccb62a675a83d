"""Ask the Hugging Face hub how large the download of a model is."""

from __future__ import annotations

from pathlib import Path

import msgspec
from huggingface_hub import constants, get_hf_file_metadata, get_session, hf_hub_url
from huggingface_hub.utils import build_hf_headers, hf_raise_for_status  # type: ignore[attr-defined]

from gnod.models.supply.convert import tokenizer
from gnod.models.supply.convert.layout import SMALL_FILES
from gnod.models.supply.fetch.hub_errors import translate
from gnod.models.uris import HubFile, HubQuant, HubRepository

_TIMEOUT_S = 2.0


class _HubEntry(msgspec.Struct, frozen=True):
    path: str
    size: int = 0


def size_of(uri: HubRepository | HubFile | HubQuant) -> int | None:
    """Return the bytes; None for a quantisation, whose file is looked for when it is downloaded. Raises GnoError."""
    try:
        match uri:
            case HubFile(repository, path):
                return get_hf_file_metadata(hf_hub_url(repository, path), timeout=_TIMEOUT_S).size
            case HubRepository(repository):
                return _of_repository(repository)
            case HubQuant():
                return None
    except Exception as error:
        raise translate(error, str(uri), uri.repository, Path()) from None


def _of_repository(repository: str) -> int:
    """Return the size of the files that a conversion needs. The hub's own client would try several times."""
    address = f"{constants.ENDPOINT}/api/models/{repository}/tree/main?recursive=true"
    response = get_session().get(address, headers=build_hf_headers(), timeout=_TIMEOUT_S, follow_redirects=True)
    hf_raise_for_status(response)
    needed = (*SMALL_FILES, *tokenizer.FILES)
    return sum(
        entry.size
        for entry in msgspec.json.decode(response.content, type=list[_HubEntry])
        if entry.path.count("/") <= 1
        and (entry.path.endswith(".safetensors") or entry.path.rpartition("/")[2] in needed)
    )
