"""A repository of the Hugging Face hub: its commit, its files, and the hub's reasons for a refusal. A fetch takes one
GGUF file, or an encoder if the small files show that gnod can use it.

Files come over plain HTTP. hf_xet supports neither mirrors nor `Range`, and keeps a second copy; `hf_hub_download`
removes an interrupted download. The hub's own client only finds the user's token.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

import httpx2 as httpx
import msgspec
from huggingface_hub import get_token

from gnod.config.model_uris import HubFile, HubQuant, HubRepository
from gnod.errors import DownloadFailed, GnoError, ModelNotFound, ModelRejected
from gnod.models.files import MAGIC, Pin
from gnod.models.supply.encoders.files import SMALL_FILES
from gnod.models.supply.encoders.repository import EncoderPlan
from gnod.models.supply.fetch.messages import FetchProgress, OnProgress
from gnod.models.supply.fetch.staging import Expected, Staged, check_model, check_space, named, staged
from gnod.models.supply.fetch.transfer import FileServer, RemoteFile, host_of

_SHARD = re.compile(r"-\d{5}-of-(\d{5})\.gguf$", re.IGNORECASE)
_SHA256 = re.compile(r"[0-9a-f]{64}")


class HubEntry(msgspec.Struct, frozen=True):
    """A file or a folder of a repository."""

    path: str
    type: str = "file"
    size: int = 0


class Hub(FileServer):
    """`expected`: its revision is used if the hub has it. Otherwise the newest one is used, and the hashes decide.
    `revision`: the commit, after the first download."""

    def __init__(self, uri: HubFile | HubQuant | HubRepository, expected: Expected) -> None:
        token = get_token()
        super().__init__("HF_ENDPOINT", {"Authorization": f"Bearer {token}"} if token else {})
        self.endpoint = os.environ.get("HF_ENDPOINT", "").rstrip("/") or "https://huggingface.co"
        self._uri, self._repository, self._expected = str(uri), uri.repository, expected
        self.revision = self._known_revision(expected.pin.revision) if expected.pin.revision else "main"

    def files(self) -> list[HubEntry]:
        """Return the files in all folders of the repository."""
        address = f"{self._api}/tree/{self.revision}?recursive=true"
        try:
            return msgspec.json.decode(self.get(address, self._repository).content, type=list[HubEntry])
        except msgspec.DecodeError:
            raise self._is_not_a_hub() from None

    def download(self, path: str, part: Path, report: OnProgress, begins: bytes = b"") -> str:
        """Download a file and return its SHA-256. All later files come from the same commit, so that a change of the
        repository cannot mix two models. Raises ModelCorrupt if the hash differs from the pinned one, before the
        download if possible."""
        name = f"hf:{self._repository}/{path}"
        headers = self.head(self._address(path), name, "X-Linked-Etag")
        etag = str(headers.get("X-Linked-Etag") or headers.get("ETag", "")).removeprefix("W/").strip('"')
        if not etag:
            raise self._is_not_a_hub()
        self.revision = headers.get("X-Repo-Commit") or self.revision
        size = str(headers.get("X-Linked-Size") or headers.get("Content-Length", ""))
        # The etag of a large file is its SHA-256; a small file's is git's hash.
        sha256 = etag if _SHA256.fullmatch(etag) else ""
        if sha256:
            self._expected.check(self._uri, path, sha256)
        length = int(size) if size.isdecimal() else None
        sha256 = self.fetch(RemoteFile(name, self._address(path), sha256, etag, length, begins), part, report)
        self._expected.check(self._uri, path, sha256)
        return sha256

    def refusal(self, response: httpx.Response, name: str) -> GnoError:
        host, repository = host_of(self.endpoint), self._repository
        details: dict[str, object] = {"uri": name, "host": host, "status": response.status_code}
        code, message = (response.headers.get(f"X-Error-{part}") for part in ("Code", "Message"))
        match code:
            case "GatedRepo":
                return DownloadFailed(
                    f"{repository} is gated: accept its terms on https://{host}/{repository}, then set HF_TOKEN to a "
                    "token of that account (https://huggingface.co/settings/tokens) and try again",
                    details,
                )
            case "RepoNotFound":
                text = f"{host} has no repository {repository}, or it is private: check the name, or set HF_TOKEN"
                return ModelNotFound(text, details)
            case "EntryNotFound":
                return ModelNotFound(f"{repository} has no such file: {name}", details)
        if message == "Access to this resource is disabled.":
            return DownloadFailed(f"{repository} was disabled by the hub; choose another model", details)
        if response.status_code in (401, 403) and not response.history:
            text = f"{host} denies access to {name} ({response.status_code}): set HF_TOKEN to a token that may read it"
            return DownloadFailed(text, details)
        return super().refusal(response, name)

    @property
    def _api(self) -> str:
        return f"{self.endpoint}/api/models/{self._repository}"

    def _address(self, path: str) -> str:
        return f"{self.endpoint}/{self._repository}/resolve/{quote(self.revision, safe='')}/{quote(path)}"

    def _known_revision(self, revision: str) -> str:
        try:
            self.get(f"{self._api}/revision/{revision}", self._repository)
        except ModelNotFound:
            return "main"
        return revision

    def _is_not_a_hub(self) -> DownloadFailed:
        host = host_of(self.endpoint)
        return DownloadFailed(
            f"{host} does not answer like a hub: check HF_ENDPOINT, and whether this network requires a login",
            {"uri": self._repository, "host": host},
        )


def fetch(uri: HubFile | HubQuant, folder: Path, report: OnProgress, expected: Expected) -> Staged:
    """Download the file into `folder` and check it. Continues the download of an earlier call.

    Raises DownloadFailed, ModelNotFound, ModelRejected, StorageFailed, and ModelCorrupt.
    """
    hub = Hub(uri, expected)
    path = uri.path if isinstance(uri, HubFile) else _choose(uri, [entry.path for entry in hub.files()])
    _refuse_part(path, str(uri))
    part = folder / "download"
    sha256 = hub.download(path, part, report, MAGIC)
    check_model(part, str(uri))
    return Staged([part], sha256, Pin(hub.revision, {path: sha256}))


def _choose(uri: HubQuant, paths: list[str]) -> str:
    """Return the path of the single file with that quantisation."""
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


def fetch_repository(uri: HubRepository, folder: Path, report: OnProgress, expected: Expected) -> Staged:
    """Download the necessary files into `folder` and make an encoder from them. Continues the download of an earlier
    call.

    Raises DownloadFailed, ModelNotFound, ModelRejected, StorageFailed, and ModelCorrupt.
    """
    model, hub = folder / "repository", Hub(uri, expected)
    sizes = {entry.path: entry.size for entry in hub.files() if entry.type == "file" and entry.path.count("/") <= 1}
    small = {path: size for path, size in sizes.items() if path.rpartition("/")[2] in SMALL_FILES}
    if not any(path.endswith("config.json") for path in small):
        raise ModelRejected(f"{uri} is not a model that gnod can use: it has no config.json{_gguf(uri, sizes)}")
    hashes = _download_all(hub, small, model, lambda _: None)
    with named(str(uri)):
        large = {path: sizes[path] for path in EncoderPlan(model, str(uri), list(sizes)).large}
    # The disk needs space for both the downloaded files and the encoder.
    check_space(folder, 2 * sum(large.values()))
    hashes |= _download_all(hub, large, model, report)
    return staged(model, folder, str(uri), report, Pin(hub.revision, hashes))


def _gguf(uri: HubRepository, sizes: Mapping[str, int]) -> str:
    names = sorted(path for path in sizes if path.lower().endswith(".gguf"))
    return f"; it has GGUF files: name one, as in {uri}/{names[0]}" if names else ": choose another model"


def _download_all(hub: Hub, sizes: Mapping[str, int], model: Path, report: OnProgress) -> dict[str, str]:
    """Download files and return their hashes."""
    hashes, total, done = {}, sum(sizes.values()), 0
    for path, size in sizes.items():
        part = model / path
        part.parent.mkdir(parents=True, exist_ok=True)

        def advance(progress: FetchProgress, before: int = done) -> None:
            if progress.stage == "download":
                report(FetchProgress("download", before + progress.done, total))

        hashes[path] = hub.download(path, part, advance)
        done += size
    return hashes
