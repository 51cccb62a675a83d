"""`document.capture`: writes a note to the inbox folder of a collection."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from gnod.config.model import CaptureConfig, CollectionConfig, Config
from gnod.configured.configuration import Configuration
from gnod.errors import (
    CollectionNotFound,
    ConfigInvalid,
    InvalidParams,
    PathOutsideRoot,
    RootUnavailable,
    StorageFailed,
)
from gnod.freshness.scheduler import SyncScheduler
from gnod.ingest.files.ignore import IgnoreFiles
from gnod.ingest.files.walk import folder_problem, why_not_listed
from gnod.protocol import documents as wire
from gnod.rpc.dispatcher import Call, Handler, named
from gnod.types import format_uri

# Seconds to wait until the note is indexed, after the files that are being read.
_INDEXED_S = 5.0
_TITLE_CHARACTERS = 60
_NAME_BYTES = 240  # file systems allow 255, with the number and `.md`
# Characters that are not valid in file names on some system, or special in a link.
_SPECIAL = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|#^\[\]]+')
_MARKS = re.compile(r"^(?:[#>*+-]+\s+|\d+[.)]\s+)+(?:\[.\]\s+)?")


def handlers(configuration: Configuration, scheduler: SyncScheduler) -> Mapping[str, Handler]:
    async def document_capture(params: wire.DocumentCaptureParams, _: Call) -> wire.DocumentCaptureResult:
        await configuration.reload()
        config = configuration.current
        collection = _collection(config, params.collection)
        file = await asyncio.to_thread(_write, collection, config.capture, params.text, scheduler.ignore_files)
        return wire.DocumentCaptureResult(
            uri=format_uri(collection.name, file.relative_to(collection.path).as_posix()),
            source=str(file),
            is_indexed=await indexed(scheduler, collection.name),
        )

    return named(document_capture)


def _collection(config: Config, wanted: str | None) -> CollectionConfig:
    if name := wanted or config.capture.collection:
        return config.collection(name)
    if len(config.collections) == 1:
        return config.collections[0]
    if not config.collections:
        raise CollectionNotFound("there is no collection to write to: add one with `gnoctl collection add FOLDER`")
    names = ", ".join(collection.name for collection in config.collections)
    raise InvalidParams(f"several collections: choose one with -c, or set capture: {{collection: …}}: {names}")


async def indexed(scheduler: SyncScheduler, collection: str) -> bool:
    """Wait for a short time until the index equals the folder. Return whether it does."""
    try:
        await asyncio.wait_for(scheduler.sync([collection]), _INDEXED_S)
    except TimeoutError:
        return False
    return True


def _write(collection: CollectionConfig, capture: CaptureConfig, text: str, ignore_files: IgnoreFiles) -> Path:
    """Write a note to a new file by the templates of the config, and return the file. Raises RootUnavailable,
    PathOutsideRoot, ConfigInvalid and StorageFailed."""
    if problem := folder_problem(collection.path):
        raise RootUnavailable(problem)
    root, folder = Path(collection.path), Path(collection.path, capture.folder)
    if ".." in folder.parts or not folder.resolve().is_relative_to(root.resolve()):
        raise PathOutsideRoot(f"{folder} is not inside the collection: set another folder for `capture` in index.yml")
    now = datetime.now().astimezone()
    values = {"date": f"{now:%Y-%m-%d}", "time": f"{now:%H:%M:%S}", "title": _title(text)}
    name = _cut(_SPECIAL.sub(" ", _filled(capture.name, values)).strip(" .") or values["date"])
    path = (folder / f"{name}.md").relative_to(root).as_posix()
    if reason := why_not_listed(collection, path, ignore_files):
        raise ConfigInvalid(f"{path} would not be indexed ({reason}): set another folder for `capture` in index.yml")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return _write_new(folder, name, _filled(capture.head, values) + text.rstrip() + "\n")
    except OSError as error:
        raise StorageFailed(f"cannot write a note to {folder}: {error.strerror}") from error


def _write_new(folder: Path, name: str, content: str) -> Path:
    """Write a file under a free name: `name`, `name 2` and so on."""
    names = itertools.chain([name], (f"{name} {number}" for number in itertools.count(2)))
    for file in (folder / f"{each}.md" for each in names):
        with contextlib.suppress(FileExistsError), file.open("x", encoding="utf-8", newline="") as opened:
            try:
                opened.write(content)
            except OSError:
                file.unlink()
                raise
            return file
    raise AssertionError("unreachable: the numbers are infinite")


def _title(text: str) -> str:
    """Return the first line with words, without Markdown and characters that file names cannot have, cut at a word."""
    lines = (
        " ".join(_SPECIAL.sub(" ", _MARKS.sub("", line.strip())).split()).strip(" .") for line in text.splitlines()
    )
    line = next((each for each in lines if re.search(r"\w", each)), "note")
    if len(line) <= _TITLE_CHARACTERS:
        return line
    cut = line[: _TITLE_CHARACTERS + 1]
    return (cut.rsplit(" ", 1)[0] if " " in cut else cut[:-1]).rstrip()


def _filled(template: str, values: Mapping[str, str]) -> str:
    """Fill a template. Braces around unknown words stay."""
    return re.sub(r"\{(date|time|title)\}", lambda found: values[found[1]], template)


def _cut(name: str) -> str:
    return name.encode()[:_NAME_BYTES].decode(errors="ignore").rstrip(" .")
