"""`doctor.run`: check everything that gnod depends on, and suggest fixes; `doctor.config`."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import apsw
import msgspec

from gnod import extras
from gnod.configured.configuration import Configuration
from gnod.configured.models import ModelFactory
from gnod.errors import GnoError
from gnod.folders import SOCKET_PATH_LIMIT, is_private
from gnod.handlers.checks import doctor_models
from gnod.handlers.index_status import IndexServices
from gnod.ingest.files.walk import folder_problem
from gnod.ingest.workers.jobs import Failure, TextJob
from gnod.ingest.workers.pool import WorkerPool
from gnod.memory.service import MemoryService
from gnod.models.run.inference import Inference
from gnod.models.supply import devices
from gnod.paths import IndexPaths
from gnod.private import opening
from gnod.protocol.base import NoParams
from gnod.protocol.daemon import Check, DoctorConfigResult, DoctorResult
from gnod.rpc.dispatcher import Call, Handler, named
from gnod.rpc.stats import Stats
from gnod.store.database import Database
from gnod.store.health import damage
from gnod.store.health.monitor import StorageMonitor
from gnod.store.tables import failures

MIN_FREE_BYTES = 500 * 1024 * 1024

_UNLOCK = "gnoctl memory unlock"
# This file exists where NVIDIA's driver is loaded.
_NVIDIA = Path("/proc/driver/nvidia/version")

# Package, purpose, and whether gnod works without it.
_PACKAGES = [
    ("markitdown", "EPUB and HTML files", True),
    ("olefile", "Office files from before 2007", True),
    ("pypdfium2", "PDF files", True),
    ("PyStemmer", "stemming", False),
    ("lingua-language-detector", "language detection", True),
    ("tokenizers", "vector search with models like BERT", True),
    ("simsimd", "vector search over many vectors", False),
    ("huggingface-hub", "downloads from the Hugging Face hub", True),
    ("cryptography", "memories", False),
    ("keyring", "the key of the memories", False),
    ("onnxruntime", "embedding and reranking with small models", True),
]


def handlers(
    services: IndexServices,
    stats: Stats,
    pool: WorkerPool,
    factory: ModelFactory,
    memory: MemoryService,
    more_checks: Callable[[], list[Check]],
) -> Mapping[str, Handler]:
    async def doctor_run(_: NoParams, __: Call) -> DoctorResult:
        checks = [
            *_places(services.places),
            _socket(Path(stats.socket)),
            *_runtime_folder(),
            _config(services.configuration),
            await _database(services.database, services.storage),
            *_storage(services.storage),
            _disk(services.places.data_dir),
            *await asyncio.to_thread(_folders, services.configuration),
            *await _files(services.configuration, services.database),
            *more_checks(),
            await _workers(pool),
            sandbox(pool.protections),  # `_workers` has started a worker
            *await doctor_models.checks(services.models, factory, services.endpoints, services.embedding.unused()),
            _inference(services.inference),
            *await graphics_card(),
            await _memories(memory),
            _vector_extension(services.database),
            *(_package(*package) for package in _PACKAGES),
            _llama(),
            _inotify(),
        ]
        return DoctorResult(healthy=all(check.status != "error" for check in checks), checks=checks)

    async def doctor_config(_: NoParams, __: Call) -> DoctorConfigResult:
        return DoctorConfigResult(config=msgspec.to_builtins(services.configuration.current))

    return named(doctor_run, doctor_config)


def _places(places: IndexPaths) -> list[Check]:
    return [
        Check("config file", "ok", str(places.config_file)),
        _data(places.data_dir),
        Check("cache folder", "ok", str(places.cache_dir)),
        Check("log file", "ok", str(places.log_file)),
    ]


def _socket(path: Path) -> Check:
    shown = f"{path} ({len(os.fsencode(path))} of {SOCKET_PATH_LIMIT} bytes"
    if not path.exists():
        return Check("socket", "error", f"{shown}, deleted)", "wait two seconds: gnod creates it again")
    mode = stat.S_IMODE(path.stat().st_mode)
    if not is_private(str(path.parent)):
        return Check("socket", "error", f"{shown}): other users can replace it", f"chmod go-w {path.parent}")
    status, remedy = ("error", "gnoctl daemon restart") if mode & 0o077 else ("ok", None)
    return Check("socket", status, f"{shown}, mode {mode:04o})", remedy)


def _runtime_folder() -> list[Check]:
    """Report an XDG_RUNTIME_DIR that is not safe for a socket: gnod then uses another folder."""
    folder = os.environ.get("XDG_RUNTIME_DIR")
    if not folder or is_private(folder):
        return []
    message = f"{folder} can be written by others, so gnod does not use it"
    return [Check("runtime folder", "warning", message, "unset XDG_RUNTIME_DIR, or give it mode 0700")]


def _data(folder: Path) -> Check:
    """Check that other users cannot replace the files in the folder, which the user may have chosen."""
    if found := opening(folder / "index"):
        return Check("data folder", "warning", f"{found.problem}, and replace the files in it", found.remedy)
    return Check("data folder", "ok", str(folder))


def _config(configuration: Configuration) -> Check:
    if configuration.error:
        return Check("config", "error", configuration.error.message, f"edit {configuration.path}")
    if configuration.warnings:
        return Check("config", "warning", "; ".join(configuration.warnings))
    if found := opening(configuration.path):
        return Check("config", "warning", f"{found.problem}, so no command in index.yml runs", found.remedy)
    count = len(configuration.current.collections)
    remedy = None if count else "gnoctl collection add FOLDER"
    return Check("config", "ok", f"valid, {count} collection{'' if count == 1 else 's'}", remedy)


async def _database(database: Database, storage: StorageMonitor) -> Check:
    try:
        found = await database.read(damage.find)
    except GnoError as error:
        return Check("database", "error", error.message)
    message = f"{database.path}, SQLite {apsw.sqlite_lib_version()}"
    if found is None:
        return Check("database", "ok", message)
    storage.damaged()
    return Check(
        "database",
        "error",
        f"{message}: damaged ({' '.join(found.split())[:200]})",
        "gnod quarantines it now and rebuilds it from your folders: see `gnoctl status`",
    )


def _storage(storage: StorageMonitor) -> list[Check]:
    problems = [Check("storage", "error", problem) for problem in storage.problems()]
    return [*problems, *(Check("storage", "warning", note) for note in storage.notes())]


def _disk(folder: Path) -> Check:
    free = shutil.disk_usage(folder).free
    is_enough = free > MIN_FREE_BYTES
    return Check(
        "disk",
        "ok" if is_enough else "warning",
        f"{free / 1e9:.1f} GB free for {folder}",
        None if is_enough else "free some space, or set GNO_DATA_DIR to another disk",
    )


def _folders(configuration: Configuration) -> list[Check]:
    checks = []
    for collection in configuration.current.collections:
        problem = folder_problem(collection.path)
        checks.append(
            Check(
                f"collection {collection.name}",
                "warning" if problem else "ok",
                problem or collection.path,
                f"mount or create it, or run: gnoctl collection remove {collection.name}" if problem else None,
            )
        )
    return checks


async def _files(configuration: Configuration, database: Database) -> list[Check]:
    names = [collection.name for collection in configuration.current.collections]
    try:
        failed = await database.read(lambda connection: failures.count(connection, names))
    except GnoError:
        return []  # the check of the database reports why
    if not failed:
        return [Check("files", "ok", "all files could be read")]
    message = f"{failed:,} file{'' if failed == 1 else 's'} could not be read"
    return [Check("files", "ok", message, "gnoctl status --errors")]


async def _workers(pool: WorkerPool) -> Check:
    """Let a worker convert a real text."""
    try:
        outcome = await asyncio.wait_for(pool.run(TextJob(text="# ok\n", relative_path="doctor.md")), 30)
        problem = outcome.message if isinstance(outcome, Failure) else None
    except (GnoError, TimeoutError) as error:
        problem = str(error) or "no answer within 30 s"
    if problem is None:
        return Check("converter workers", "ok", f"up to {pool.size}, answering")
    return Check("converter workers", "error", problem, "gnoctl daemon logs")


def sandbox(held: Sequence[str]) -> Check:
    """Report the protections of a worker."""
    name, protections = "converter sandbox", "; ".join(held)
    if "reading" in protections:
        return Check(name, "ok", protections)
    if held:
        return Check(name, "ok", f"{protections}. A converter may read all of your files")
    message = (
        "converters have no sandbox here: a document that takes one over can read, write and send your files. Limits"
        " on memory and time and Python's own checks still apply"
    )
    return Check(name, "warning", message, "a Linux with Landlock (5.13) or seccomp, or macOS")


def _inference(inference: Inference) -> Check:
    found = inference.status()
    if found.crashes:
        times = "once" if found.crashes == 1 else f"{found.crashes} times"
        message = f"crashed {times} since the daemon started, last: {found.last_crash}; it was restarted each time"
        return Check("inference worker", "warning", message, "gnoctl daemon logs")
    memory = f", {found.resident_bytes / 1e6:,.0f} MB" if found.pid else ""
    sandbox = f", {'; '.join(found.protections)}" if found.protections else ""
    return Check("inference worker", "ok", f"{found.state}{memory}{sandbox}")


async def graphics_card(driver: Path = _NVIDIA) -> list[Check]:
    """Report an NVIDIA card that is not used, and what to install."""
    if not await asyncio.to_thread(driver.exists) or await devices.gpus():
        return []
    message = "this machine has an NVIDIA card, but the installed llama.cpp runs on the CPU only"
    return [
        Check("graphics card", "warning", message, "install llama-cpp-python for CUDA, as docs/install.md describes")
    ]


async def _memories(memory: MemoryService) -> Check:
    name = "memories"
    try:
        state = await memory.state()
    except GnoError as error:
        return Check(name, "error", error.message)
    if state.key == "file":
        if broken := await memory.key_file_problem():
            return Check(name, "error", broken)
        return Check(name, "ok", f"whoever can read {memory.key_file} can read them")
    problem = await memory.keyring_problem()
    if state.key == "passphrase":
        message = "unlocked by their passphrase" if state.is_unlocked else "locked by a passphrase"
        return Check(name, "ok", message, None if state.is_unlocked else _UNLOCK)
    if state.key == "keyring" and problem and not state.is_unlocked:
        message = f"their key is in the system's keyring, and {problem}"
        return Check(name, "warning", message, "start or unlock the keyring")
    if state.key == "keyring":
        return Check(name, "ok", "their key is in the system's keyring")
    if problem:
        message = f"none yet, and {problem}, so they will need a passphrase"
        return Check(name, "ok", message, _UNLOCK)
    return Check(name, "ok", "none yet; the system's keyring will keep their key")


def _vector_extension(database: Database) -> Check:
    from importlib.metadata import version  # here, because it would take 20 ms at each start of the daemon

    if missing := database.knn_missing:
        return Check(
            "sqlite-vec",
            "warning",
            f"{missing}. Vector search works without it, but is slow for vectors beyond 1 GB",
            f"{extras.install('sqlite-vec')}, then: gnoctl daemon restart",
        )
    return Check("sqlite-vec", "ok", f"{version('sqlite-vec')}, loaded")


def _package(name: str, purpose: str, is_optional: bool) -> Check:
    from importlib import metadata

    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Check(
            name, "warning" if is_optional else "error", f"not installed: needed for {purpose}", extras.install(name)
        )
    return Check(name, "ok", f"{version}, for {purpose}")


def _llama() -> Check:
    """Report llama.cpp, which is optional."""
    if extras.is_installed("llama_cpp"):
        return _package("llama-cpp-python", "GGUF models, which also write answers", is_optional=True)
    return Check("llama-cpp-python", "ok", f"not installed; for models that write answers: {extras.command('llama')}")


def _inotify() -> Check:
    path = Path("/proc/sys/fs/inotify/max_user_watches")
    try:
        watches = int(path.read_text())
    except (OSError, ValueError):
        return Check("file events", "ok", "the system's own limits apply")
    return Check("file events", "ok", f"inotify allows {watches:,} watched folders")
