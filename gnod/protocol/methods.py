"""The list of methods: name, types, one line of help. The dispatcher, OpenRPC and the docs are made from it."""

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


class Method(NamedTuple):
    """`result` is the struct that answers, or `dict` for `rpc.discover`, whose schema is OpenRPC's own."""

    name: str
    params: type[Params]
    result: type[Result] | type[dict[str, object]]
    summary: str


_ALL = [
    Method("search.lexical", s.SearchLexicalParams, s.SearchResult, "Search by keyword."),
    Method("search.vector", s.SearchVectorParams, s.SearchResult, "Search by meaning (vectors)."),
    Method("search.query", s.SearchQueryParams, s.SearchResult, "Combine keyword and vector search."),
    Method("search.similar", s.SearchSimilarParams, s.SearchResult, "Find documents related to a document."),
    Method("search.save", s.SearchSaveParams, s.SearchSaveResult, "Save a query and its filters under a name."),
    Method("search.list", NoParams, s.SearchListResult, "List the saved searches."),
    Method("search.remove", s.SearchRemoveParams, s.SearchRemoveResult, "Remove a saved search."),
    Method("ask.answer", s.AskParams, s.AskResult, "Quote what answers a question, and write an answer."),
    Method("evidence.gather", e.EvidenceParams, e.EvidenceResult, "Return the fewest passages that support an answer."),
    Method("document.get", t.DocumentGetParams, t.DocumentText, "Return the text of one document."),
    Method("document.multi_get", t.DocumentMultiGetParams, t.DocumentMultiGetResult, "Return several documents."),
    Method("document.locate", t.DocumentLocateParams, t.DocumentPlace, "Return where on the disk a reference leads."),
    Method(
        "document.boxes", t.DocumentBoxesParams, t.DocumentBoxesResult, "Return where words are on a page or picture."
    ),
    Method("document.image", t.DocumentImageParams, t.DocumentImageResult, "Return a page as a picture."),
    Method(
        "document.links", li.DocumentLinksParams, li.DocumentLinksResult, "Return the links in a document, and to it."
    ),
    Method("document.list", t.DocumentListParams, t.DocumentListResult, "List documents in path order."),
    Method(
        "links.unresolved", li.LinksScopeParams, li.LinksUnresolvedResult, "List the links that lead to no document."
    ),
    Method("links.orphans", li.LinksScopeParams, t.DocumentListResult, "List the documents that no other links to."),
    Method("links.graph", li.LinksGraphParams, li.LinksGraphResult, "Return documents and the links between them."),
    Method(
        "links.mentions", li.LinksMentionsParams, li.LinksMentionsResult, "Find where a document is named without link."
    ),
    Method("links.check", li.LinksCheckParams, li.LinksCheckResult, "List dead links: to no file, or to no heading."),
    Method("collection.add", c.CollectionAddParams, c.CollectionAddResult, "Add a folder."),
    Method("collection.remove", c.CollectionRemoveParams, c.CollectionRemoveResult, "Remove a folder from the index."),
    Method("collection.rename", c.CollectionRenameParams, c.CollectionRenameResult, "Rename a collection."),
    Method("collection.attach", c.CollectionAttachParams, c.CollectionAttachResult, "Search a shared collection, too."),
    Method("collection.detach", c.CollectionDetachParams, c.CollectionDetachResult, "Stop searching it."),
    Method(
        "collection.publish", c.CollectionPublishParams, c.CollectionPublishResult, "Publish a collection for others."
    ),
    Method(
        "collection.unpublish", c.CollectionUnpublishParams, c.CollectionUnpublishResult, "Remove what was published."
    ),
    Method("collection.list", NoParams, c.CollectionListResult, "List the collections."),
    Method("context.add", c.ContextAddParams, c.ContextAddResult, "Describe what a scope is about."),
    Method("context.list", NoParams, c.ContextListResult, "List the contexts."),
    Method("context.remove", c.ContextRemoveParams, c.ContextRemoveResult, "Remove contexts of a scope."),
    Method("index.init", NoParams, i.IndexInitResult, "Create the config file if it is missing; return the paths."),
    Method("index.sync", i.IndexSyncParams, i.IndexSyncResult, "Make the index equal the disk now."),
    Method("index.embed", i.IndexEmbedParams, i.IndexEmbedResult, "Wait until all chunks have vectors."),
    Method("index.pause", NoParams, i.EmbeddingStatus, "Pause embedding until it is resumed."),
    Method("index.resume", NoParams, i.EmbeddingStatus, "Resume embedding."),
    Method("index.tune", i.IndexTuneParams, i.IndexTuneResult, "Learn how much the vectors of a collection count."),
    Method("index.status", i.IndexStatusParams, i.IndexStatusResult, "Compare the index with the disk."),
    Method(
        "index.subscribe", n.IndexSubscribeParams, n.IndexSubscribeResult, "Return the state, then notify of changes."
    ),
    Method("index.unsubscribe", n.IndexUnsubscribeParams, n.IndexUnsubscribeResult, "End a subscription."),
    Method("index.egress", NoParams, i.IndexEgressResult, "Count what was sent to other programs and machines."),
    Method("index.activity", i.IndexActivityParams, i.IndexActivityResult, "Count what was indexed over time."),
    Method("index.why", i.IndexWhyParams, i.IndexWhyResult, "Explain why a path is or is not in the index."),
    Method("index.cleanup", NoParams, i.IndexCleanupResult, "Delete unused data and compact the database."),
    Method("index.backup", i.IndexBackupParams, i.IndexBackupResult, "Write index, config and memories to one file."),
    Method("index.restore", i.IndexRestoreParams, i.IndexRestoreResult, "Replace the index by a backup."),
    Method("models.list", mo.ModelsListParams, mo.ModelsListResult, "List the presets and the models."),
    Method("models.use", mo.ModelsUseParams, mo.ModelsUseResult, "Choose a preset."),
    Method(
        "models.recommend",
        mo.ModelsRecommendParams,
        mo.ModelsRecommendResult,
        "Find the preset that fits the machine and the documents; change nothing.",
    ),
    Method("models.pull", mo.ModelsPullParams, mo.ModelsPullResult, "Download models."),
    Method("models.clear", mo.ModelsClearParams, mo.ModelsClearResult, "Delete models from the disk."),
    Method("models.path", mo.ModelsPathParams, mo.ModelsPathResult, "Return the path of a model file."),
    Method("memory.store", m.MemoryStoreParams, m.MemoryStoreResult, "Store a memory."),
    Method("memory.search", m.MemorySearchParams, m.MemorySearchResult, "Find memories by meaning and by topic."),
    Method("memory.deep_search", m.MemoryDeepSearchParams, m.MemorySearchResult, "Search more candidates, reranked."),
    Method("memory.retrieve", m.MemoryIdsParams, m.MemoryRecordsResult, "Return complete memories."),
    Method("memory.history", m.MemoryHistoryParams, m.MemoryHistoryResult, "Return what a memory superseded."),
    Method("memory.update", m.MemoryUpdateParams, m.MemoryRecord, "Change a memory."),
    Method("memory.forget", m.MemoryIdsParams, m.MemoryForgetResult, "Delete memories permanently."),
    Method("memory.list", m.MemoryListParams, m.MemoryListResult, "List memories, or export them."),
    Method("memory.publish", m.MemoryPublishParams, m.MemoryManyResult, "Copy memories into a shared namespace."),
    Method("memory.import", m.MemoryImportParams, m.MemoryManyResult, "Import exported memories."),
    Method("memory.lock", NoParams, m.MemoryStatusResult, "Delete the key from the daemon's memory until unlocked."),
    Method("memory.unlock", m.MemoryUnlockParams, m.MemoryStatusResult, "Unlock the memories, or create their key."),
    Method("memory.move_key", m.MemoryMoveKeyParams, m.MemoryStatusResult, "Change where the key is kept."),
    Method("memory.status", NoParams, m.MemoryStatusResult, "Return the state of the vault; unlocks nothing."),
    Method("daemon.status", NoParams, d.DaemonStatusResult, "Describe the running process."),
    Method("daemon.shutdown", NoParams, d.DaemonShutdownResult, "Stop the daemon after it has answered."),
    Method("doctor.run", NoParams, d.DoctorResult, "Check everything that gnod depends on."),
    Method("rpc.discover", NoParams, dict[str, object], "Return this list as an OpenRPC document."),
]

METHODS: dict[str, Method] = {method.name: method for method in _ALL}
