"""The list of methods: name, types, one line of help. The dispatcher, OpenRPC and the docs use it."""

from __future__ import annotations

from typing import NamedTuple

from gnod.protocol import collections as c
from gnod.protocol import daemon as d
from gnod.protocol import documents as t
from gnod.protocol import evidence as e
from gnod.protocol import index as i
from gnod.protocol import links as li
from gnod.protocol import memory as m
from gnod.protocol import models as mo
from gnod.protocol import search as s
from gnod.protocol import subscription as n
from gnod.protocol.base import NoParams, Params, Result

# Seconds that a client waits for the next message, which is the reply or progress. The daemon answers most requests in
# milliseconds. Loading models and waiting for other searches take longer.
SHORT_S = 120.0
LONG_S = 3600.0


class Method(NamedTuple):
    """A method of the protocol.

    - `result`: the type of the result; `dict` for `rpc.discover`, whose schema is OpenRPC's own.
    - `is_repeatable`: two calls have the same effect as one, so a client repeats the call after a lost connection.
    - `limit_s`: how long a client waits between two messages.
    """

    name: str
    params: type[Params]
    result: type[Result] | type[dict[str, object]]
    summary: str
    is_repeatable: bool = False
    limit_s: float = SHORT_S


def _again(name: str, params: type[Params], result: type[Result] | type[dict[str, object]], summary: str) -> Method:
    """Return a method that a client may send again."""
    return Method(name, params, result, summary, is_repeatable=True)


_ALL = [
    _again("search.lexical", s.SearchLexicalParams, s.SearchResult, "Search by keyword."),
    _again("search.vector", s.SearchVectorParams, s.SearchResult, "Search by meaning (vectors)."),
    _again("search.query", s.SearchQueryParams, s.SearchResult, "Combine keyword and vector search."),
    _again("search.similar", s.SearchSimilarParams, s.SearchResult, "Find documents related to a document."),
    Method("search.save", s.SearchSaveParams, s.SearchSaveResult, "Save a query and its filters under a name."),
    _again("search.list", NoParams, s.SearchListResult, "List the saved searches."),
    Method("search.remove", s.SearchRemoveParams, s.SearchRemoveResult, "Remove a saved search."),
    _again("ask.answer", s.AskParams, s.AskResult, "Quote exact answers to a question, and write an answer."),
    _again("ask.verify", e.AskVerifyParams, e.AskVerifyResult, "Say which sentence supports or contradicts a claim."),
    _again("evidence.gather", e.EvidenceParams, e.EvidenceResult, "Return the fewest passages that support an answer."),
    _again("document.get", t.DocumentGetParams, t.DocumentText, "Return the text of one document."),
    _again("document.multi_get", t.DocumentMultiGetParams, t.DocumentMultiGetResult, "Return several documents."),
    _again("document.locate", t.DocumentLocateParams, t.DocumentPlace, "Return where on the disk a reference leads."),
    _again(
        "document.boxes", t.DocumentBoxesParams, t.DocumentBoxesResult, "Return where words are on a page or picture."
    ),
    _again(
        "document.layers", t.DocumentLayersParams, t.DocumentLayersResult, "Return positioned text and links of pages."
    ),
    _again("document.matches", t.DocumentMatchesParams, t.DocumentMatchesResult, "Return all matches of one document."),
    _again("document.image", t.DocumentImageParams, t.DocumentImageResult, "Return a page as a picture."),
    Method("document.capture", t.DocumentCaptureParams, t.DocumentCaptureResult, "Write a note to the inbox folder."),
    Method(
        "document.move", li.DocumentMoveParams, li.DocumentMoveResult, "Move a file or folder, and update the links."
    ),
    Method("document.unmove", li.DocumentUnmoveParams, li.DocumentUnmoveResult, "Undo the last move."),
    _again(
        "document.duplicates",
        li.ScopeParams,
        li.DocumentDuplicatesResult,
        "List the documents that have the same text.",
    ),
    _again(
        "document.picture", t.DocumentPictureParams, t.DocumentPictureResult, "Return a picture that a document shows."
    ),
    _again(
        "document.links", li.DocumentLinksParams, li.DocumentLinksResult, "Return the links in a document and to it."
    ),
    _again("document.list", t.DocumentListParams, t.DocumentListResult, "List documents in path order."),
    _again(
        "links.unresolved", li.LinksScopeParams, li.LinksUnresolvedResult, "List the links that lead to no document."
    ),
    _again("links.orphans", li.LinksScopeParams, t.DocumentListResult, "List the documents that no other links to."),
    _again("links.graph", li.LinksGraphParams, li.LinksGraphResult, "Return documents and the links between them."),
    _again(
        "links.mentions",
        li.LinksMentionsParams,
        li.LinksMentionsResult,
        "Find where a document is named without a link.",
    ),
    _again("links.check", li.ScopeParams, li.LinksCheckResult, "List dead links, which lead to no file or heading."),
    Method("collection.add", c.CollectionAddParams, c.CollectionAddResult, "Add a folder."),
    _again("collection.folders", c.CollectionFoldersParams, c.CollectionFoldersResult, "List the folders in a folder."),
    _again(
        "collection.preview",
        c.CollectionPreviewParams,
        c.CollectionPreviewResult,
        "Count what adding a folder would index; change nothing.",
    ),
    Method("collection.remove", c.CollectionRemoveParams, c.CollectionRemoveResult, "Remove a folder from the index."),
    Method("collection.rename", c.CollectionRenameParams, c.CollectionRenameResult, "Rename a collection."),
    Method(
        "collection.attach",
        c.CollectionAttachParams,
        c.CollectionAttachResult,
        "Add a shared collection to the searches.",
    ),
    Method(
        "collection.detach", c.CollectionDetachParams, c.CollectionDetachResult, "Stop searching a shared collection."
    ),
    Method(
        "collection.publish", c.CollectionPublishParams, c.CollectionPublishResult, "Publish a collection for others."
    ),
    Method(
        "collection.unpublish",
        c.CollectionUnpublishParams,
        c.CollectionUnpublishResult,
        "Stop publishing a collection, and delete its data from the engine.",
    ),
    _again("collection.list", NoParams, c.CollectionListResult, "List the collections."),
    Method("context.add", c.ContextAddParams, c.ContextAddResult, "Describe what a scope is about."),
    _again("context.list", NoParams, c.ContextListResult, "List the contexts."),
    Method("context.remove", c.ContextRemoveParams, c.ContextRemoveResult, "Remove contexts of a scope."),
    Method("index.init", NoParams, i.IndexInitResult, "Create the config file if it is missing; return the paths."),
    Method("index.sync", i.IndexSyncParams, i.IndexSyncResult, "Make the index equal the disk now."),
    _again("index.embed", i.IndexEmbedParams, i.IndexEmbedResult, "Wait until all chunks have vectors."),
    Method("index.pause", NoParams, i.EmbeddingStatus, "Pause embedding until it is resumed."),
    Method("index.resume", NoParams, i.EmbeddingStatus, "Resume embedding."),
    Method("index.tune", i.IndexTuneParams, i.IndexTuneResult, "Learn how much the vectors of a collection count."),
    _again("index.status", i.IndexStatusParams, i.IndexStatusResult, "Compare the index with the disk."),
    Method(
        "index.subscribe", n.IndexSubscribeParams, n.IndexSubscribeResult, "Return the state, then notify of changes."
    ),
    Method("index.unsubscribe", n.IndexUnsubscribeParams, n.IndexUnsubscribeResult, "End a subscription."),
    _again("index.egress", NoParams, i.IndexEgressResult, "Count the data sent to other programs and machines."),
    _again(
        "index.skipped",
        i.IndexSkippedParams,
        i.IndexSkippedResult,
        "List the files that are not documents, and the unread parts of others.",
    ),
    _again(
        "index.acknowledge",
        i.IndexAcknowledgeParams,
        i.IndexAcknowledgeResult,
        "Stop mentioning the present failures in answers.",
    ),
    _again("index.retry", i.IndexRetryParams, i.IndexRetryResult, "Try again to read the files that failed."),
    _again("index.activity", i.IndexActivityParams, i.IndexActivityResult, "Count the changed files over time."),
    _again("index.why", i.IndexWhyParams, i.IndexWhyResult, "Explain why a path is or is not in the index."),
    Method("index.cleanup", NoParams, i.IndexCleanupResult, "Delete unused data and compact the database."),
    Method("index.backup", i.IndexBackupParams, i.IndexBackupResult, "Write index, config and memories to one file."),
    Method("index.restore", i.IndexRestoreParams, i.IndexRestoreResult, "Replace the index with a backup."),
    _again("models.list", NoParams, mo.ModelsListResult, "List the presets and the models."),
    Method("models.use", mo.ModelsUseParams, mo.ModelsUseResult, "Choose a preset."),
    _again(
        "models.recommend",
        NoParams,
        mo.ModelsRecommendResult,
        "Find the preset that fits the machine and the documents; change nothing.",
    ),
    Method("models.pull", mo.ModelsPullParams, mo.ModelsPullResult, "Download models."),
    Method("models.clear", mo.ModelsClearParams, mo.ModelsClearResult, "Delete models from the disk."),
    _again("models.path", mo.ModelsPathParams, mo.ModelsPathResult, "Return the path of a model file."),
    _again("memory.store", m.MemoryStoreParams, m.MemoryStoreResult, "Store a memory."),
    _again("memory.search", m.MemorySearchParams, m.MemorySearchResult, "Find memories by meaning and by topic."),
    _again(
        "memory.deep_search", m.MemoryDeepSearchParams, m.MemorySearchResult, "Search more candidates, and rerank them."
    ),
    _again("memory.retrieve", m.MemoryIdsParams, m.MemoryRecordsResult, "Return complete memories."),
    _again("memory.history", m.MemoryHistoryParams, m.MemoryHistoryResult, "Return what a memory superseded."),
    Method("memory.update", m.MemoryUpdateParams, m.MemoryRecord, "Change a memory."),
    Method("memory.forget", m.MemoryIdsParams, m.MemoryForgetResult, "Delete memories permanently."),
    _again("memory.list", m.MemoryListParams, m.MemoryListResult, "List memories, or export them."),
    Method("memory.publish", m.MemoryPublishParams, m.MemoryManyResult, "Copy memories into a shared namespace."),
    Method("memory.import", m.MemoryImportParams, m.MemoryManyResult, "Import exported memories."),
    Method("memory.lock", NoParams, m.MemoryStatusResult, "Remove the key from the daemon until the next unlock."),
    Method("memory.unlock", m.MemoryUnlockParams, m.MemoryStatusResult, "Unlock the memories, or create their key."),
    Method("memory.move_key", m.MemoryMoveKeyParams, m.MemoryStatusResult, "Change where the key is kept."),
    _again("memory.status", NoParams, m.MemoryStatusResult, "Return the state of the memories; unlock nothing."),
    _again("daemon.status", NoParams, d.DaemonStatusResult, "Describe the running process."),
    _again("daemon.stats", NoParams, d.DaemonStatsResult, "Return times, memory, caches and embedded chunks by hour."),
    _again("daemon.metrics", NoParams, d.DaemonMetricsResult, "Return these figures in the text format of Prometheus."),
    _again("daemon.restart", NoParams, d.DaemonRestartResult, "Start the installed version without losing a request."),
    Method("daemon.shutdown", NoParams, d.DaemonShutdownResult, "Stop the daemon after it has answered."),
    _again("doctor.run", NoParams, d.DoctorResult, "Check everything that gnod depends on."),
    _again("doctor.config", NoParams, d.DoctorConfigResult, "Return the settings in force."),
    _again("rpc.discover", NoParams, dict[str, object], "Return this list as an OpenRPC document."),
]

# Methods whose duration depends on the amount of data, or that wait for a person or a server.
_LONG = {
    *("ask.answer", "ask.verify", "collection.add", "collection.remove", "collection.rename", "collection.attach"),
    *("collection.publish", "collection.unpublish", "doctor.run", "index.sync", "index.embed", "index.tune"),
    *(
        "index.cleanup",
        "index.backup",
        "index.restore",
        "index.retry",
        "document.move",
        "document.unmove",
        "models.recommend",
        "models.use",
        "models.pull",
    ),
    *("daemon.restart", "memory.import", "memory.publish", "memory.unlock", "memory.move_key"),
}

METHODS: dict[str, Method] = {
    method.name: method._replace(limit_s=LONG_S) if method.name in _LONG else method for method in _ALL
}
