"""The list of methods: name, types, a line of help. The dispatcher, OpenRPC and the docs are made from it."""

from __future__ import annotations

from typing import NamedTuple

from gnod.protocol import memory as m
from gnod.protocol import params as p
from gnod.protocol import results as r

# The notification that subscribers get.
CHANGED = "index.changed"


class Method(NamedTuple):
    """`result` is the struct that answers, or `dict` for `rpc.discover`, whose schema is OpenRPC's own."""

    name: str
    params: type[p.Params]
    result: type[r.Result] | type[dict[str, object]]
    summary: str


_ALL = [
    Method("search.lexical", p.SearchLexicalParams, r.SearchResult, "Find documents by keyword."),
    Method("search.vector", p.SearchVectorParams, r.SearchResult, "Find documents by meaning."),
    Method("search.query", p.SearchQueryParams, r.SearchResult, "Find documents by keyword and by meaning."),
    Method("search.similar", p.SearchSimilarParams, r.SearchResult, "Find documents that are like one."),
    Method("ask.answer", p.AskParams, r.AskResult, "Answer a question from documents, with citations."),
    Method("document.get", p.DocumentGetParams, r.DocumentText, "Return one document's text, or some lines."),
    Method("document.multi_get", p.DocumentMultiGetParams, r.DocumentMultiGetResult, "Return several documents."),
    Method("document.list", p.DocumentListParams, r.DocumentListResult, "List documents in path order."),
    Method("collection.add", p.CollectionAddParams, r.CollectionAddResult, "Add a folder."),
    Method("collection.remove", p.CollectionRemoveParams, r.CollectionRemoveResult, "Forget a folder."),
    Method("collection.rename", p.CollectionRenameParams, r.CollectionRenameResult, "Give a folder another name."),
    Method("collection.list", p.NoParams, r.CollectionListResult, "List the folders."),
    Method("context.add", p.ContextAddParams, r.ContextAddResult, "Say what a scope is about."),
    Method("context.list", p.NoParams, r.ContextListResult, "List the contexts."),
    Method("context.remove", p.ContextRemoveParams, r.ContextRemoveResult, "Remove contexts of a scope."),
    Method(
        "index.init",
        p.NoParams,
        r.IndexInitResult,
        "Create the config file if it is missing; name the places.",
    ),
    Method("index.sync", p.IndexSyncParams, r.IndexSyncResult, "Make the index equal the disk now."),
    Method("index.embed", p.IndexEmbedParams, r.IndexEmbedResult, "Follow the embedding of chunks until it ends."),
    Method("index.pause", p.NoParams, r.EmbeddingStatus, "Stop embedding until it is resumed."),
    Method("index.resume", p.NoParams, r.EmbeddingStatus, "Go on embedding."),
    Method("index.status", p.IndexStatusParams, r.IndexStatusResult, "Compare the index with the disk."),
    Method("index.subscribe", p.IndexSubscribeParams, r.IndexSubscribeResult, "Tell the state, then what changes."),
    Method("index.unsubscribe", p.IndexUnsubscribeParams, r.IndexUnsubscribeResult, "End a subscription."),
    Method("index.why", p.IndexWhyParams, r.IndexWhyResult, "Say all that is known of one path."),
    Method("index.cleanup", p.NoParams, r.IndexCleanupResult, "Drop what nothing refers to, and compact."),
    Method("index.backup", p.IndexBackupParams, r.IndexBackupResult, "Write the index and the config to one file."),
    Method("index.restore", p.IndexRestoreParams, r.IndexRestoreResult, "Put a backup in the place of the index."),
    Method("models.list", p.NoParams, r.ModelsListResult, "List the presets and the models."),
    Method("models.use", p.ModelsUseParams, r.ModelsUseResult, "Choose a preset."),
    Method("models.pull", p.ModelsPullParams, r.ModelsPullResult, "Fetch models."),
    Method("models.clear", p.ModelsClearParams, r.ModelsClearResult, "Remove models from the disk."),
    Method("models.path", p.ModelsPathParams, r.ModelsPathResult, "Say where a model's file is."),
    Method("memory.store", m.MemoryStoreParams, m.MemoryStoreResult, "Remember a text."),
    Method("memory.search", m.MemorySearchParams, m.MemorySearchResult, "Find memories by meaning and by topic."),
    Method("memory.deep_search", m.MemoryDeepSearchParams, m.MemorySearchResult, "Find memories among more of them."),
    Method("memory.retrieve", m.MemoryIdsParams, m.MemoryRecordsResult, "Return memories whole."),
    Method("memory.update", m.MemoryUpdateParams, m.MemoryRecord, "Change a memory."),
    Method("memory.forget", m.MemoryIdsParams, m.MemoryForgetResult, "Remove memories for good."),
    Method("memory.list", m.MemoryListParams, m.MemoryListResult, "List memories, or export them."),
    Method("memory.publish", m.MemoryPublishParams, m.MemoryManyResult, "Copy memories into a shared namespace."),
    Method("memory.import", m.MemoryImportParams, m.MemoryManyResult, "Take in memories that were exported."),
    Method("memory.lock", p.NoParams, m.MemoryStatusResult, "Forget the memories' key until it is unlocked."),
    Method("memory.unlock", m.MemoryUnlockParams, m.MemoryStatusResult, "Take the memories' key, or make one."),
    Method("memory.move_key", m.MemoryMoveKeyParams, m.MemoryStatusResult, "Have the memories' key kept elsewhere."),
    Method("memory.status", p.NoParams, m.MemoryStatusResult, "Say how the memories stand; unlocks nothing."),
    Method("daemon.status", p.NoParams, r.DaemonStatusResult, "Describe the running process."),
    Method("daemon.shutdown", p.NoParams, r.DaemonShutdownResult, "Stop the daemon after answering."),
    Method("doctor.run", p.NoParams, r.DoctorResult, "Check everything that gnod depends on."),
    Method("rpc.discover", p.NoParams, dict[str, object], "Return this list as an OpenRPC document."),
]

METHODS: dict[str, Method] = {method.name: method for method in _ALL}
