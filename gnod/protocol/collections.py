"""Wire types of `collection.…` and `context.…`."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from gnod.protocol.base import Params, Result

Scope = Literal["local", "lan", "any"]


class CollectionAddParams(Params, frozen=True, kw_only=True):
    """`name`: by default the folder's name, made valid. `egress`: how far its texts, and queries over it, may travel
    to model servers. `ocr`: on, off, or the languages of its scans and pictures, such as `ru,de`."""

    path: str
    name: str | None = None
    pattern: str = "**/*"
    include: list[str] = []
    exclude: list[str] | None = None
    language: str | None = None
    update_command: str | None = None
    gitignore: bool = True
    egress: Scope = "local"
    ocr: str = "on"


class CollectionRemoveParams(Params, frozen=True, kw_only=True):
    name: str


class CollectionRenameParams(Params, frozen=True, kw_only=True):
    name: str
    new_name: str


class CollectionInfo(Result, frozen=True, kw_only=True):
    name: str
    path: str
    pattern: str
    include: list[str]
    exclude: list[str]
    gitignore: bool
    language: str | None = None
    update_command: str | None = None
    egress: str = "local"
    ocr: str = "on"
    publish: str | None = None
    documents: int


class CollectionAddResult(Result, frozen=True, kw_only=True):
    collection: CollectionInfo
    config_file: str


class CollectionRemoveResult(Result, frozen=True, kw_only=True):
    name: str
    removed_documents: int


class CollectionRenameResult(Result, frozen=True, kw_only=True):
    name: str
    new_name: str
    renamed_contexts: int


class PublicationInfo(Result, frozen=True, kw_only=True):
    """A collection that is published. `state`: publishing, idle (everything is published) or failing (`reason` says
    why). `documents`: in the shared collection; `behind`: those that may have changed and were not sent yet;
    `failed`: those that the engine refuses. `told_at`: when the engine last heard of this publisher."""

    collection: str
    address: str
    state: str
    reason: str | None = None
    documents: int = 0
    behind: int = 0
    failed: int = 0
    told_at: str | None = None


class CollectionPublishParams(Params, frozen=True, kw_only=True):
    """`address`: such as `milvus://host:19530/team/handbook`; without the last part, the name of the collection; empty:
    where it is published now. `take_over`: also if another daemon publishes it. `check_only`: look whether that is
    possible, and change nothing. `wait`: answer when everything is published, or cannot be; progress counts documents.
    """

    name: str
    address: str
    take_over: bool = False
    check_only: bool = False
    wait: bool = True


class CollectionPublishResult(Result, frozen=True, kw_only=True):
    """`publisher`: who publishes it now, if anybody does, as far as `check_only` asks."""

    publication: PublicationInfo
    publisher: str | None = None


class CollectionUnpublishParams(Params, frozen=True, kw_only=True):
    name: str


class CollectionUnpublishResult(Result, frozen=True, kw_only=True):
    """`removed` and `left`: rows of each kind in the engine, counted before and after."""

    name: str
    address: str
    removed: dict[str, int]
    left: dict[str, int]


class CollectionListResult(Result, frozen=True, kw_only=True):
    collections: list[CollectionInfo]


class ContextAddParams(Params, frozen=True, kw_only=True):
    """`scope`: `/` for everything, `collection:`, or `gno://collection/prefix`."""

    scope: str
    text: Annotated[str, Meta(min_length=1, max_length=10_000)]


class ContextRemoveParams(Params, frozen=True, kw_only=True):
    """Without `text`, all contexts of the scope are removed."""

    scope: str
    text: str | None = None


class ContextInfo(Result, frozen=True, kw_only=True):
    scope: str
    text: str


class ContextAddResult(Result, frozen=True, kw_only=True):
    context: ContextInfo


class ContextListResult(Result, frozen=True, kw_only=True):
    contexts: list[ContextInfo]


class ContextRemoveResult(Result, frozen=True, kw_only=True):
    removed: list[ContextInfo]
