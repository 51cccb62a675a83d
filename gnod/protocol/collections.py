"""Wire types of `collection.…` and `context.…`."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from gnod.protocol.base import Params, Result

Scope = Literal["local", "lan", "any"]


class CollectionAddParams(Params, frozen=True, kw_only=True):
    """The folder to add, and how to index it.

    - `path`: the folder.
    - `name`: the collection's name. By default, it is made from the folder's name.
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
    """`path`: a folder; the home folder if it is null."""

    path: Annotated[str, Meta(max_length=4096)] | None = None


class CollectionFoldersResult(Result, frozen=True, kw_only=True):
    """The folders in a folder, to choose one to add.

    - `path`: the folder.
    - `folders`: their names in order, at most 1,000. Hidden folders and links are left out.
    - `has_more`: there are more.
    """

    path: str
    folders: list[str]
    has_more: bool


class CollectionPreviewParams(Params, frozen=True, kw_only=True):
    """`path`: the folder to look at."""

    path: Annotated[str, Meta(max_length=4096)]


class KindOfFile(Result, frozen=True, kw_only=True):
    """`kind`: what the names say, such as "Markdown". `is_read`: false if gnod does not read such files."""

    kind: str
    files: int
    is_read: bool


class CollectionPreviewResult(Result, frozen=True, kw_only=True):
    """What `collection.add` would index, by the names of the files.

    - `name`: a free name for the collection; "" if none can be made of the folder's name.
    - `kinds`: the files by kind, the most frequent first.
    - `excluded`: how many files the rules leave out. Files in excluded folders are not counted.
    - `is_complete`: false if counting stopped after a second. Then there are more files.
    - `collections`: the collections that have this folder already, or are inside it or around it.
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

    `documents` to `behind` are as of the last answer of its engine, and null before the first one.

    - `published_ago_s`: seconds since its publisher last reported `behind`.
    - `behind`: the number of changes that its publisher has not published yet.
    - `problem`: why it is not searched now.
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
    - `behind`: the number of documents that may have changed and were not sent yet.
    - `failed`: the number of documents that the engine refuses.
    - `told_at`: when the engine last heard of this publisher.
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
    """What to publish, and where.

    - `address`: the engine and the shared collection, such as `milvus://host:19530/team/handbook`. If the last part is
      missing, it is the name of the collection. If `address` is empty, it is where the collection is published now.
    - `take_over`: publish even if another daemon is the publisher.
    - `check_only`: report whether it can be published, and change nothing.
    - `wait`: answer when everything is published, or when publishing fails. Progress counts documents.
    """

    name: str
    address: str
    take_over: bool = False
    check_only: bool = False
    wait: bool = True


class CollectionPublishResult(Result, frozen=True, kw_only=True):
    """`publisher`: who publishes the shared collection now; null if nobody does. Set only with `check_only`."""

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
    """The shared collection to attach.

    - `name`: the name to use here. By default, it is the name in the address.
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
    """If `text` is null, all contexts of the scope are removed."""

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
