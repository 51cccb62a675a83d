"""Files of the Hugging Face hub, with the public parts of the hub's own client: metadata, session, headers, errors.

`hf_hub_download` itself removes an interrupted download, so nothing could be resumed, and reports in steps of 10 MB.
Files come over plain HTTP: hf_xet (HF_HUB_DISABLE_XET) supports no mirror and no `Range`, and keeps a second copy.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeVar

import msgspec
from huggingface_hub import HfApi, get_hf_file_metadata, get_session, hf_hub_url
from huggingface_hub.utils import build_hf_headers, hf_raise_for_status  # type: ignore[attr-defined]

from gnod.errors import DownloadFailed, ModelCorrupt, ModelNotFound, ModelRejected
from gnod.models.files import MAGIC
from gnod.models.supply.fetch.check import check_model, describe, sha256_of
from gnod.models.supply.fetch.hub_errors import host, is_transient, translate
from gnod.models.supply.fetch.messages import FetchProgress, OnProgress
from gnod.models.supply.fetch.staging import Staged, check_space
from gnod.models.uris import HubFile, HubQuant

TIMEOUT_S = 30.0
BACK_OFF_S = (0.5, 1.0, 2.0)

_SHARD = re.compile(r"-\d{5}-of-(\d{5})\.gguf$", re.IGNORECASE)
_SHA256 = re.compile(r"[0-9a-f]{64}")

T = TypeVar("T")


class RemoteFile(NamedTuple):
    """A file on the hub, from its headers. `begins`: its first characters."""

    uri: str
    url: str
    commit: str | None
    etag: str
    bytes: int | None
    begins: str


class _Note(msgspec.Struct, frozen=True):
    """Identifies the file of an unfinished download."""

    url: str
    etag: str


def fetch(uri: HubFile | HubQuant, folder: Path, report: OnProgress) -> Staged:
    """Download the file into `folder`, continuing an earlier call's download, and check it.

    Raises DownloadFailed, ModelNotFound, ModelRejected, Offline, StorageFailed, and ModelCorrupt.
    """
    try:
        path = uri.path if isinstance(uri, HubFile) else _choose(uri)
        _refuse_part(path, str(uri))
        target = look_up(str(uri), uri.repository, path, begins=MAGIC.decode())
        part = folder / "download"
        download(target, part, report)
    except Exception as error:
        raise translate(error, str(uri), uri.repository, folder) from None
    check_size(target, part)
    check_model(part, target.uri)
    return Staged(part, check_hash(target, part, report), target.url)


def _choose(uri: HubQuant) -> str:
    """Return the path of the single file with that quantisation."""
    paths = retrying(lambda: HfApi().list_repo_files(uri.repository))
    models = [path for path in paths if path.lower().endswith(".gguf") and "mmproj" not in path.lower()]
    pattern = re.compile(rf"(?<![a-z0-9]){re.escape(uri.quant)}(?![a-z0-9]|_[a-z0-9])", re.IGNORECASE)
    matches = sorted((path for path in models if pattern.search(path)), key=lambda path: (path.count("/"), path))
    if not matches:
        names = ", ".join(models[:8]) or "none"
        raise ModelNotFound(
            f"{uri.repository} has no file for {uri.quant}; its models: {names}", {"uri": str(uri), "files": models}
        )
    whole = [path for path in matches if not _SHARD.search(path)]
    if len(whole) > 1:
        raise ModelRejected(
            f"{uri.repository} has several files for {uri.quant}: {', '.join(whole[:8])}; "
            f"name one, as in hf:{uri.repository}/{whole[0]}",
            {"uri": str(uri), "files": whole},
        )
    return (whole or matches)[0]


def _refuse_part(path: str, uri: str) -> None:
    if shard := _SHARD.search(path):
        raise ModelRejected(
            f"{path} is one of {int(shard[1])} parts of a model, which gnod does not join; "
            "choose a smaller quantisation, or one in a single file",
            {"uri": uri, "file": path},
        )


def look_up(uri: str, repository: str, path: str, *, begins: str = "", revision: str | None = None) -> RemoteFile:
    """Ask the hub for a file's headers. Raises DownloadFailed, and what the hub's client raises."""
    metadata = retrying(lambda: get_hf_file_metadata(hf_hub_url(repository, path, revision=revision)))
    if not metadata.etag:
        raise DownloadFailed(
            f"{host()} does not answer like a hub: check HF_ENDPOINT, and whether this network requires a login",
            {"uri": uri, "host": host()},
        )
    # Ask by commit, so that a change of the repository cannot mix two files.
    url = hf_hub_url(repository, path, revision=metadata.commit_hash)
    return RemoteFile(uri, url, metadata.commit_hash, metadata.etag, metadata.size, begins)


def first_bytes(target: RemoteFile, start: int, count: int) -> bytes:
    """Return some bytes of a file. Raises what the hub's client raises."""
    headers = build_hf_headers() | {"Accept-Encoding": "identity", "Range": f"bytes={start}-{start + count - 1}"}
    data = b""
    with get_session().stream("GET", target.url, headers=headers, timeout=TIMEOUT_S) as response:
        hf_raise_for_status(response)
        skip = 0 if response.status_code == 206 else start
        for more in response.iter_raw():
            data += more
            if len(data) >= skip + count:
                break
    return data[skip : skip + count]


def download(target: RemoteFile, part: Path, report: OnProgress) -> None:
    """Fetch the file, or what `part` lacks of it."""
    path = part.with_name(f"{part.name}.note")
    note = _Note(target.url, target.etag)
    if _read_note(path) != note:
        part.unlink(missing_ok=True)
        path.write_bytes(msgspec.json.encode(note))
    if target.bytes is not None and part.exists() and part.stat().st_size > target.bytes:
        part.unlink()
    part.touch()
    check_space(part.parent, (target.bytes or 0) - part.stat().st_size)
    before = -1
    # The end may come too early without an error, because proxies hide broken connections.
    while before < part.stat().st_size < (target.bytes or 1 << 62):
        before = part.stat().st_size
        retrying(lambda: _stream(target, part, report), lambda: part.stat().st_size)
        if target.bytes is None:
            return


def _stream(target: RemoteFile, part: Path, report: OnProgress) -> None:
    """Fetch the rest of the file."""
    with part.open("r+b") as file:
        done = file.seek(0, 2)
        if done == target.bytes:
            return
        # Ask for no compression: ranges and sizes count the bytes of the file.
        headers = build_hf_headers() | {"Accept-Encoding": "identity"}
        if done:
            headers["Range"] = f"bytes={done}-"
        with get_session().stream("GET", target.url, headers=headers, timeout=TIMEOUT_S) as response:
            if response.status_code == 416:  # the download is complete; the check decides
                return
            hf_raise_for_status(response)
            if done and not response.headers.get("content-range", "").startswith(f"bytes {done}-"):
                if response.status_code == 206:
                    raise ModelCorrupt(f"{host()} sends a wrong part of {target.uri}")
                done = file.seek(0)
                file.truncate()
            for data in response.iter_raw():
                done = _append(file, data, done, target)
                report(FetchProgress("download", done, target.bytes))


def _append(file: BinaryIO, data: bytes, done: int, target: RemoteFile) -> int:
    if done == 0 and not data.startswith(target.begins.encode()[: len(data)]):
        raise ModelCorrupt(f"{host()} does not send a model for {target.uri} but {describe(data[:512])}")
    file.write(data)
    if target.bytes is not None and done + len(data) > target.bytes:
        raise ModelCorrupt(f"{host()} sends more for {target.uri} than the announced {target.bytes:,} bytes")
    return done + len(data)


def check_size(target: RemoteFile, part: Path) -> None:
    """Raise ModelCorrupt unless the whole file is there."""
    size = part.stat().st_size
    if target.bytes is not None and size != target.bytes:
        raise ModelCorrupt(
            f"{target.uri} is truncated: {host()} sent {size:,} of {target.bytes:,} bytes",
            {"uri": target.uri, "bytes": size, "needed_bytes": target.bytes},
        )


def check_hash(target: RemoteFile, part: Path, report: OnProgress) -> str:
    """Return the file's SHA-256. Raises ModelCorrupt unless it is the hub's."""
    size = part.stat().st_size
    sha256 = sha256_of(part, lambda done: report(FetchProgress("check", done, size)))
    # The etag of a large file is its SHA-256; that of a small one is git's hash.
    if _SHA256.fullmatch(target.etag) and sha256 != target.etag:
        raise ModelCorrupt(
            f"{target.uri} is damaged: its SHA-256 differs from the one at {host()}; fetch it again",
            {"uri": target.uri, "sha256": sha256, "expected_sha256": target.etag},
        )
    return sha256


def retrying(work: Callable[[], T], progress: Callable[[], int] = lambda: 0) -> T:
    """Return what `work` returns. Retry after a transient failure, a few times or as long as there is progress."""
    failures = 0
    while True:
        before = progress()
        try:
            return work()
        except Exception as error:
            if not is_transient(error):
                raise
            failures = 0 if progress() > before else failures
            if failures == len(BACK_OFF_S):
                raise
            time.sleep(BACK_OFF_S[failures])
            failures += 1


def _read_note(path: Path) -> _Note | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Note)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
