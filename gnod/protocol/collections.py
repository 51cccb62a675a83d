"""Wire types of `collection.…` and `context.…`."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from gnod.protocol.base import Params, Result

Scope = Literal["local", "lan", "any"]


class CollectionAddParams(Params, frozen=True, kw_only=True):
    """Names the folder to add, and sets how to index it.

    - `path`: the folder.
    - `name`: the name of the collection. The default is derived from the name of the folder.
    - `egress`: how far its texts, and queries over it, may travel to model servers.
    - `ocr`: "on", "off", or the languages of its scans and pictures, such as `ru,de`.
    - `hidden`: also index files and folders whose names begin with a dot.
    """

    path: str
    name: str | None = None
    pattern: str = "**/*"
    include: list[str] = []
    exclude: list[str] | None = None
    language: str | None = None
    update_command: str | None = None
    gitignore: bool = True
    hidden: bool = False
    egress: Scope = "local"
    ocr: str = "on"


class CollectionFoldersParams(Params, frozen=True, kw_only=True):
    """`path`: the folder to list; null for the home folder."""

    path: Annotated[str, Meta(max_length=4096)] | None = None


class CollectionFoldersResult(Result, frozen=True, kw_only=True):
    """The subfolders of a folder, from which the user can choose one to add.

    - `path`: the folder.
    - `folders`: the names of at most 1,000 subfolders, sorted. Hidden folders and links are left out.
    - `has_more`: the folder has more subfolders.
    """

    path: str
    folders: list[str]
    has_more: bool


class CollectionPreviewParams(Params, frozen=True, kw_only=True):
    """`path`: the folder to look at."""

    path: Annotated[str, Meta(max_length=4096)]


class KindOfFile(Result, frozen=True, kw_only=True):
    """`kind`: from the names of the files, such as "Markdown". `is_read`: false if gnod does not read such files."""

    kind: str
    files: int
    is_read: bool


class CollectionPreviewResult(Result, frozen=True, kw_only=True):
    """The files that `collection.add` would index, judged by their names.

    - `name`: an unused name for the collection; "" if none can be derived from the name of the folder.
    - `kinds`: the files by kind, the most frequent first.
    - `excluded`: how many files the rules leave out. Files in excluded folders are not counted.
    - `is_complete`: false if counting stopped after a second. Then there are more files.
    - `collections`: the collections whose folder is this folder, or is inside it, or contains it.
    """

    path: str
    name: str
    kinds: list[KindOfFile]
    excluded: int
    is_complete: bool
    collections: list[str]


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
    hidden: bool = False
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


class AttachedInfo(Result, frozen=True, kw_only=True):
    """A collection that another daemon publishes.

    `documents` to `behind` date from the last answer of its engine. They are null before the first answer.

    - `published_ago_s`: seconds since its publisher last reported `behind`.
    - `behind`: the number of changes that its publisher has not published yet.
    - `problem`: why it is currently not searched.
    - `limits`: which parts of it are not searched, and why.
    """

    name: str
    address: str
    egress: Scope = "local"
    documents: int | None = None
    languages: list[str] = []
    model: str | None = None
    publisher: str | None = None
    published_ago_s: float | None = None
    behind: int | None = None
    problem: str | None = None
    limits: list[str] = []


class PublicationInfo(Result, frozen=True, kw_only=True):
    """A collection that this daemon publishes.

    - `state`: publishing, idle (everything is published) or failing (`reason` says why).
    - `documents`: the number of documents in the shared collection.
    - `behind`: the number of documents that may have changed and have not been sent yet.
    - `failed`: the number of documents that the engine refuses.
    - `told_at`: when this publisher last reported to the engine.
    """

    collection: str
    address: str
    state: str
    reason: str | None = None
    documents: int = 0
    behind: int = 0
    failed: int = 0
    told_at: str | None = None


class CollectionPublishParams(Params, frozen=True, kw_only=True):
    """Names the collection to publish and the address to publish it at.

    - `address`: the engine and the shared collection, such as `milvus://host:19530/team/handbook`. If the last part is
      missing, it is the name of the collection. If `address` is empty, the collection keeps its present address.
    - `take_over`: publish even if another daemon is the publisher.
    - `check_only`: report whether the collection can be published, and change nothing.
    - `wait`: answer when everything is published, or when publishing fails. Progress counts documents.
    """

    name: str
    address: str
    take_over: bool = False
    check_only: bool = False
    wait: bool = True


class CollectionPublishResult(Result, frozen=True, kw_only=True):
    """`publisher`: who publishes the shared collection now; null if there is none. Set only with `check_only`."""

    publication: PublicationInfo
    publisher: str | None = None


class CollectionUnpublishParams(Params, frozen=True, kw_only=True):
    name: str


class CollectionUnpublishResult(Result, frozen=True, kw_only=True):
    """`removed`, `left`: how many rows of each kind were removed from the engine, and how many are still there."""

    name: str
    address: str
    removed: dict[str, int]
    left: dict[str, int]


class CollectionListResult(Result, frozen=True, kw_only=True):
    collections: list[CollectionInfo]
    attached: list[AttachedInfo] = []


class CollectionAttachParams(Params, frozen=True, kw_only=True):
    """Names the shared collection to attach.

    - `name`: the name to use here. The default is the name in the address.
    - `egress`: how far queries over it may travel.
    - `check_only`: check whether it exists, and change nothing.
    """

    address: str
    name: str | None = None
    egress: Scope = "local"
    check_only: bool = False


class CollectionAttachResult(Result, frozen=True, kw_only=True):
    collection: AttachedInfo


class CollectionDetachParams(Params, frozen=True, kw_only=True):
    name: str


class CollectionDetachResult(Result, frozen=True, kw_only=True):
    name: str


class ContextAddParams(Params, frozen=True, kw_only=True):
    """`scope`: `/` for everything, `collection:` for a collection, or `gno://collection/prefix`."""

    scope: str
    text: Annotated[str, Meta(min_length=1, max_length=10_000)]


class ContextRemoveParams(Params, frozen=True, kw_only=True):
    """`text`: the context to remove; null for all contexts of the scope."""

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
