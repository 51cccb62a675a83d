"""`doctor.run`: check everything that gnod depends on, and say what mends what is wrong."""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
import shutil
import stat
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import apsw

from gnod.errors import GnoError, ModelCorrupt, ModelRejected
from gnod.ingest.jobs import Failure, TextJob
from gnod.ingest.walk import root_problem
from gnod.models import uris
from gnod.models.fetch import pip
from gnod.models.presets import Use
from gnod.models.uris import LocalFile
from gnod.paths import SOCKET_PATH_LIMIT
from gnod.protocol.params import NoParams
from gnod.protocol.results import Check, DoctorResult
from gnod.server.dispatcher import Call, Handler
from gnod.server.index import Index
from gnod.store.database import Connection

MIN_FREE_BYTES = 500 * 1024 * 1024
EMBED_LIMIT_S = 60

# Package, what it is for, and whether gnod can do without it.
_PACKAGES = [
    ("markitdown", "PDF, Word, PowerPoint, Excel, EPUB and HTML files", True),
    ("PyStemmer", "stemming", False),
    ("lingua-language-detector", "telling languages apart", True),
    ("llama-cpp-python", "search by meaning", True),
    ("tokenizers", "search by meaning, with models like BERT", True),
    ("numkong", "search by meaning, in many vectors", False),
    ("huggingface-hub", "models of the Hugging Face hub", True),
    ("gguf", "checking and converting the models that are fetched", True),
]


def handlers(served: Index) -> Mapping[str, Handler]:
    async def doctor_run(_: NoParams, __: Call) -> DoctorResult:
        checks = [
            *_places(served),
            _config(served),
            await _database(served),
            _disk(served.places.data_dir),
            *_folders(served),
            await _workers(served),
            *await _models(served),
            _inference(served),
            _vector_tables(served),
            *(_package(*package) for package in _PACKAGES),
            _pip(),
            _inotify(),
        ]
        return DoctorResult(healthy=all(check.status != "error" for check in checks), checks=checks)

    return {"doctor.run": doctor_run}


def _places(served: Index) -> list[Check]:
    places = served.places
    length = len(os.fsencode(places.socket))
    mode = stat.S_IMODE(places.socket.stat().st_mode) if places.socket.exists() else 0
    is_private = mode & 0o077 == 0
    return [
        Check(name="config file", status="ok", message=str(places.config_file)),
        Check(name="data folder", status="ok", message=str(places.data_dir)),
        Check(name="cache folder", status="ok", message=str(places.cache_dir)),
        Check(name="log file", status="ok", message=str(places.log_file)),
        Check(
            name="socket",
            status="ok" if is_private else "error",
            message=f"{places.socket} ({length} of {SOCKET_PATH_LIMIT} bytes, mode {mode:04o})",
            remedy=None if is_private else "gnoctl daemon restart",
        ),
    ]


def _config(served: Index) -> Check:
    configuration = served.configuration
    if configuration.error:
        return Check(
            name="config",
            status="error",
            message=configuration.error.message,
            remedy=f"edit {configuration.path}",
        )
    if configuration.warnings:
        return Check(name="config", status="warning", message="; ".join(configuration.warnings))
    count = len(configuration.current.collections)
    remedy = None if count else "gnoctl collection add FOLDER"
    return Check(
        name="config", status="ok", message=f"valid, {count} collection{'' if count == 1 else 's'}", remedy=remedy
    )


async def _database(served: Index) -> Check:
    def work(connection: Connection) -> str:
        return str(connection.execute("PRAGMA quick_check(1)").get)

    try:
        verdict = await served.read(work)
    except GnoError as error:
        return Check(name="database", status="error", message=error.message)
    message = f"{served.places.database}, SQLite {apsw.sqlite_lib_version()}"
    if verdict == "ok":
        return Check(name="database", status="ok", message=message)
    return Check(
        name="database",
        status="error",
        message=f"{message}: damaged",
        remedy=f"gnoctl daemon stop; mv {served.places.database} elsewhere; gnoctl index",
    )


def _disk(folder: Path) -> Check:
    free = shutil.disk_usage(folder).free
    is_enough = free > MIN_FREE_BYTES
    return Check(
        name="disk",
        status="ok" if is_enough else "warning",
        message=f"{free / 1e9:.1f} GB free for {folder}",
        remedy=None if is_enough else "free some space, or set GNO_DATA_DIR to another disk",
    )


def _folders(served: Index) -> list[Check]:
    checks = []
    for collection in served.configuration.current.collections:
        problem = root_problem(collection.path)
        checks.append(
            Check(
                name=f"collection {collection.name}",
                status="warning" if problem else "ok",
                message=problem or collection.path,
                remedy=f"mount or create it, or: gnoctl collection remove {collection.name}" if problem else None,
            )
        )
    return checks


async def _workers(served: Index) -> Check:
    """Send a real job through a worker."""
    try:
        outcome = await asyncio.wait_for(served.pool.run(TextJob(text="# ok\n", relative_path="doctor.md")), 30)
        problem = outcome.message if isinstance(outcome, Failure) else None
    except (GnoError, TimeoutError) as error:
        problem = str(error) or "no answer within 30 s"
    if problem is None:
        return Check(name="converter workers", status="ok", message=f"up to {served.pool.size}, answering")
    return Check(name="converter workers", status="error", message=problem, remedy="gnoctl daemon logs")


async def _models(served: Index) -> list[Check]:
    """Look for each model that the config asks for, and send a query through those that embed."""
    roles: dict[str, list[Use]] = {}
    for use in served.models.uses():
        roles.setdefault(use.uri, []).append(use)
    checks = []
    for uri, uses in roles.items():
        is_here = await asyncio.to_thread(served.models.find, uri) is not None
        name = f"model {uris.short_name(uris.parse(uri))}"
        if any(use.role == "embed" for use in uses):
            checks.append(await _embeds(served, name, uri) if is_here else _missing(name, uri, uses))
        else:
            wanted_for = " and ".join(dict.fromkeys(use.role for use in uses))
            message = f"{'here' if is_here else 'not here'}; it is to {wanted_for}, and nothing needs that yet"
            checks.append(Check(name=name, status="ok", message=message))
    return checks


def _missing(name: str, uri: str, uses: Sequence[Use]) -> Check:
    """Say what does not work without an embedding model."""
    owners = [use.collection for use in uses if use.role == "embed" and use.collection]
    is_presets = any(use.role == "embed" and use.collection is None for use in uses)
    where = "" if is_presets else f" in {', '.join(owners)}"
    is_local = isinstance(uris.parse(uri), LocalFile)
    return Check(
        name=name,
        status="warning",
        message=f"{uri} is not on this machine: there is keyword search, but no search by meaning{where}",
        remedy="put the file there, or name another in index.yml" if is_local else "gnoctl models pull embed",
    )


async def _embeds(served: Index, name: str, uri: str) -> Check:
    """Ask for the vector of a query twice: the first may have to load the model."""
    embedder = served.embedding.embedder(uri)
    took_ms = []
    try:
        for _ in range(2):
            started = time.perf_counter()
            vector = await asyncio.wait_for(embedder.query("how do I know that this works"), EMBED_LIMIT_S)
            took_ms.append((time.perf_counter() - started) * 1000)
    except (GnoError, TimeoutError) as error:
        is_bad = isinstance(error, ModelCorrupt | ModelRejected) and not isinstance(uris.parse(uri), LocalFile)
        return Check(
            name=name,
            status="error",
            message=f"cannot embed: {str(error) or f'no answer within {EMBED_LIMIT_S} s'}",
            remedy=f"gnoctl models pull --force {uri}" if is_bad else "gnoctl daemon logs",
        )
    first, second = took_ms
    loaded = f", {first - second:,.0f} ms more to load it" if first > 10 * second else ""
    return Check(
        name=name, status="ok", message=f"embeds a query in {second:.0f} ms ({len(vector)} dimensions{loaded})"
    )


def _inference(served: Index) -> Check:
    found = served.inference.status()
    if found.crashes:
        times = "once" if found.crashes == 1 else f"{found.crashes} times"
        message = f"died {times} since the daemon started, last of {found.last_crash}; it was started again each time"
        return Check(name="inference worker", status="warning", message=message, remedy="gnoctl daemon logs")
    memory = f", {found.resident_bytes / 1e6:,.0f} MB" if found.pid else ""
    return Check(name="inference worker", status="ok", message=f"{found.state}{memory}")


def _vector_tables(served: Index) -> Check:
    if missing := served.database.knn_missing:
        return Check(
            name="sqlite-vec",
            status="warning",
            message=f"{missing}. Search by meaning works without it; it is slow for vectors beyond 1 GB of memory",
            remedy="pip install sqlite-vec, then: gnoctl daemon restart",
        )
    return Check(name="sqlite-vec", status="ok", message=f"{importlib.metadata.version('sqlite-vec')}, loaded")


def _package(name: str, purpose: str, is_optional: bool) -> Check:
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return Check(
            name=name,
            status="warning" if is_optional else "error",
            message=f"not installed: needed for {purpose}",
            remedy=f"pip install {name}",
        )
    return Check(name=name, status="ok", message=f"{version}, for {purpose}")


def _pip() -> Check:
    """Where this environment has no pip, that of Python's own ensurepip will do."""
    try:
        version = ".".join(str(part) for part in pip.find().version)
    except GnoError as error:
        return Check(name="pip", status="warning", message=error.message)
    return Check(name="pip", status="ok", message=f"{version}, for models of the Python package index")


def _inotify() -> Check:
    path = Path("/proc/sys/fs/inotify/max_user_watches")
    try:
        watches = int(path.read_text())
    except (OSError, ValueError):
        return Check(name="file events", status="ok", message="the system's own limits apply")
    return Check(name="file events", status="ok", message=f"inotify allows {watches:,} watched folders")
