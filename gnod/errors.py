"""Every error that gnod raises on purpose, and its number on the wire.

The module knows no other module of the project: everything else may import it.

    GnoError
    ├── WireError                    what JSON-RPC 2.0 itself defines (negative codes)
    │   ├── ParseError               -32700
    │   ├── InvalidRequest           -32600
    │   ├── MethodNotFound           -32601
    │   ├── InvalidParams            -32602
    │   ├── InternalError            -32603
    │   └── RequestCancelled         -32800
    ├── NotFound                     1xx
    │   ├── CollectionNotFound       101
    │   ├── DocumentNotFound         102
    │   ├── FolderNotFound           103
    │   ├── ContextNotFound          104
    │   ├── ModelNotFound            105
    │   ├── SubscriptionNotFound     106
    │   └── MemoryNotFound           107
    ├── Conflict                     2xx
    │   ├── CollectionExists         201
    │   ├── AmbiguousReference       202
    │   ├── ContextExists            203
    │   ├── BackupExists             204
    │   └── MemoryExists             205
    ├── Refused                      3xx
    │   ├── QuerySyntaxError         301
    │   ├── PathOutsideRoot          302
    │   ├── ConfigInvalid            303
    │   ├── InvalidName              304
    │   ├── ForeignDatabase          305
    │   ├── NewerDatabase            306
    │   ├── SocketPathTooLong        307
    │   ├── FolderUnreadable         308
    │   ├── LimitExceeded            309
    │   ├── InvalidReference         310
    │   ├── UsageError               311
    │   ├── InvalidDataset           312
    │   ├── InvalidModelUri          313
    │   ├── ModelRejected            314
    │   ├── BackupRejected           315
    │   └── WrongPassphrase          316
    ├── Unavailable                  4xx, worth another try
    │   ├── DaemonNotRunning         401
    │   ├── ShuttingDown             402
    │   ├── TimedOut                 403
    │   ├── IndexLocked              404
    │   ├── StorageFailed            405
    │   ├── RootUnavailable          406
    │   ├── UpdateCommandFailed      407
    │   ├── WorkerFailed             408
    │   ├── ModelNotPulled           409
    │   ├── DownloadFailed           410
    │   ├── Offline                  411
    │   ├── InferenceFailed          412
    │   ├── NotEmbedded              413
    │   ├── ModelNotConfigured       414
    │   ├── MemoryLocked             415
    │   ├── KeyringFailed            416
    │   └── Busy                     417
    └── Corrupt                      5xx
        ├── DatabaseCorrupt          501
        ├── ModelCorrupt             502
        └── MemoryDamaged            503

`kind` is the stable word that programs compare; messages may change.
"""

from __future__ import annotations

from typing import ClassVar

EXIT_VALIDATION = 1
EXIT_RUNTIME = 2
EXIT_NOT_RUNNING = 3

Details = dict[str, object]


class GnoError(Exception):
    """The base. `details` is plain data that says what a program needs to react."""

    code: ClassVar[int] = 0
    kind: ClassVar[str] = "error"
    exit_status: ClassVar[int] = EXIT_RUNTIME

    def __init__(self, message: str, details: Details | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details: Details = details or {}


class WireError(GnoError):
    exit_status = EXIT_RUNTIME


class ParseError(WireError):
    code, kind = -32700, "parse_error"


class InvalidRequest(WireError):
    code, kind, exit_status = -32600, "invalid_request", EXIT_VALIDATION


class MethodNotFound(WireError):
    code, kind, exit_status = -32601, "method_not_found", EXIT_VALIDATION


class InvalidParams(WireError):
    code, kind, exit_status = -32602, "invalid_params", EXIT_VALIDATION


class InternalError(WireError):
    code, kind = -32603, "internal"


class RequestCancelled(WireError):
    code, kind = -32800, "cancelled"


class NotFound(GnoError):
    code, kind, exit_status = 100, "not_found", EXIT_VALIDATION


class CollectionNotFound(NotFound):
    code, kind = 101, "collection_not_found"


class DocumentNotFound(NotFound):
    code, kind = 102, "document_not_found"


class FolderNotFound(NotFound):
    code, kind = 103, "folder_not_found"


class ContextNotFound(NotFound):
    code, kind = 104, "context_not_found"


class ModelNotFound(NotFound):
    """The address names nothing: no such repository, file, package or path."""

    code, kind = 105, "model_not_found"


class SubscriptionNotFound(NotFound):
    code, kind = 106, "subscription_not_found"


class MemoryNotFound(NotFound):
    """No such memory, or no such namespace of them."""

    code, kind = 107, "memory_not_found"


class Conflict(GnoError):
    code, kind, exit_status = 200, "conflict", EXIT_VALIDATION


class CollectionExists(Conflict):
    code, kind = 201, "collection_exists"


class AmbiguousReference(Conflict):
    code, kind = 202, "ambiguous_reference"


class ContextExists(Conflict):
    code, kind = 203, "context_exists"


class BackupExists(Conflict):
    code, kind = 204, "backup_exists"


class MemoryExists(Conflict):
    code, kind = 205, "memory_exists"


class Refused(GnoError):
    code, kind, exit_status = 300, "refused", EXIT_VALIDATION


class QuerySyntaxError(Refused):
    code, kind = 301, "query_syntax"


class PathOutsideRoot(Refused):
    code, kind = 302, "path_outside_root"


class ConfigInvalid(Refused):
    code, kind = 303, "config_invalid"


class InvalidName(Refused):
    code, kind = 304, "invalid_name"


class ForeignDatabase(Refused):
    code, kind = 305, "foreign_database"


class NewerDatabase(Refused):
    code, kind = 306, "newer_database"


class SocketPathTooLong(Refused):
    code, kind = 307, "socket_path_too_long"


class FolderUnreadable(Refused):
    code, kind = 308, "folder_unreadable"


class LimitExceeded(Refused):
    code, kind = 309, "limit_exceeded"


class InvalidReference(Refused):
    code, kind = 310, "invalid_reference"


class UsageError(Refused):
    code, kind = 311, "usage"


class InvalidDataset(Refused):
    code, kind = 312, "invalid_dataset"


class InvalidModelUri(Refused):
    code, kind = 313, "invalid_model_uri"


class ModelRejected(Refused):
    """The file is a model, but not one that can do what is asked of it (self-test failed, no embeddings)."""

    code, kind = 314, "model_rejected"


class BackupRejected(Refused):
    """The file is no backup that can be restored: damaged, another program's, hostile."""

    code, kind = 315, "backup_rejected"


class WrongPassphrase(Refused):
    """Also one that is too short, and one that nobody asked for."""

    code, kind = 316, "wrong_passphrase"


class Unavailable(GnoError):
    code, kind, exit_status = 400, "unavailable", EXIT_RUNTIME


class DaemonNotRunning(Unavailable):
    code, kind, exit_status = 401, "daemon_not_running", EXIT_NOT_RUNNING


class ShuttingDown(Unavailable):
    code, kind = 402, "shutting_down"


class TimedOut(Unavailable):
    code, kind = 403, "timed_out"


class IndexLocked(Unavailable):
    code, kind = 404, "index_locked"


class StorageFailed(Unavailable):
    code, kind = 405, "storage_failed"


class RootUnavailable(Unavailable):
    code, kind = 406, "root_unavailable"


class UpdateCommandFailed(Unavailable):
    code, kind = 407, "update_command_failed"


class WorkerFailed(Unavailable):
    code, kind = 408, "worker_failed"


class ModelNotPulled(Unavailable):
    """The model is known and not on this machine yet."""

    code, kind = 409, "model_not_pulled"


class DownloadFailed(Unavailable):
    code, kind = 410, "download_failed"


class Offline(Unavailable):
    """A download was needed, and a setting forbids downloads."""

    code, kind = 411, "offline"


class InferenceFailed(Unavailable):
    """The inference worker died or could not answer; it is restarted."""

    code, kind = 412, "inference_failed"


class NotEmbedded(Unavailable):
    """What is asked for has no vectors yet."""

    code, kind = 413, "not_embedded"


class ModelNotConfigured(Unavailable):
    """The config has no model for what is asked."""

    code, kind = 414, "model_not_configured"


class Busy(Unavailable):
    """Others ask for so much that there is no room for this; later there may be."""

    code, kind = 417, "busy"


class MemoryLocked(Unavailable):
    """The memories are encrypted, and their key is not here."""

    code, kind = 415, "memory_locked"


class KeyringFailed(Unavailable):
    """The system's keyring has no key for the memories, or did not give it."""

    code, kind = 416, "keyring_failed"


class Corrupt(GnoError):
    code, kind, exit_status = 500, "corrupt", EXIT_RUNTIME


class DatabaseCorrupt(Corrupt):
    code, kind = 501, "database_corrupt"


class ModelCorrupt(Corrupt):
    """A model's file is not what it should be: truncated, not GGUF, another hash."""

    code, kind = 502, "model_corrupt"


class MemoryDamaged(Corrupt):
    """What is stored of a memory does not open with its key."""

    code, kind = 503, "memory_damaged"


def _tree(base: type[GnoError]) -> list[type[GnoError]]:
    return [base, *(leaf for child in base.__subclasses__() for leaf in _tree(child))]


CLASSES: dict[int, type[GnoError]] = {cls.code: cls for cls in reversed(_tree(GnoError))}


def from_code(code: int, message: str, details: Details | None = None) -> GnoError:
    """Return the error of that code; an unknown code becomes its family, or the base."""
    if cls := CLASSES.get(code):
        return cls(message, details)
    family = CLASSES.get(code - code % 100, GnoError) if code > 0 else GnoError
    return family(message, details)
