"""`search.*`."""

from __future__ import annotations

import time
from collections.abc import Mapping

from gnod.config.model import Config, contexts_for
from gnod.pipeline import lexical
from gnod.pipeline.dates import moment
from gnod.pipeline.passages import best_passage
from gnod.protocol.params import SearchLexicalParams, SearchParams
from gnod.protocol.results import Hit, SearchResult
from gnod.server.dispatcher import Call, Handler
from gnod.server.handlers.shapes import iso
from gnod.server.index import Index
from gnod.store import documents
from gnod.store.database import Connection
from gnod.store.filters import Filters
from gnod.types import format_uri, source_line

_LANGUAGE_SEPARATORS = str.maketrans("_", "-")


def handlers(served: Index) -> Mapping[str, Handler]:
    async def search_lexical(params: SearchLexicalParams, _: Call) -> SearchResult:
        served.configuration.check_known(params.collections)
        filters = _filters(params)
        if params.fresh:
            await served.make_fresh(params.collections)
        config = served.configuration.current

        def work(connection: Connection) -> SearchResult:
            return _search_lexical(served, connection, params, filters, config)

        return await served.read(work)

    return {"search.lexical": search_lexical}


def _search_lexical(
    served: Index, connection: Connection, params: SearchLexicalParams, filters: Filters, config: Config
) -> SearchResult:
    started = time.perf_counter()
    found = lexical.search(connection, params.query, filters, limit=params.limit, min_score=params.min_score)
    ranked_ms = _milliseconds_since(started)
    by_id = documents.by_ids(connection, [r.document_id for r in found.ranked])
    sought = found.expression.sought()
    hits = []
    for rank, ranked in enumerate(found.ranked, 1):
        document = by_id[ranked.document_id]
        text = documents.markdown(connection, document.mirror_hash)
        passage = best_passage(text, sought, found.analyzers)
        hits.append(
            Hit(
                rank=rank,
                score=ranked.score,
                docid=document.docid,
                uri=format_uri(document.collection, document.path),
                collection=document.collection,
                path=document.path,
                source=document.source,
                title=document.title,
                line=source_line(document.line_map, passage.line),
                end_line=source_line(document.line_map, passage.end_line),
                snippet=passage.snippet,
                snippet_line=source_line(document.line_map, passage.snippet_line),
                marks=passage.marks,
                language=document.language,
                mime=document.mime,
                modified=iso(document.mtime_ns / 1e9),
                tags=documents.tags_of(connection, document.id),
                context=contexts_for(config, document.collection, document.path),
                text=text if params.full else None,
                explain={"bm25": ranked.bm25, "every_word": float(ranked.has_every_word)} if params.explain else None,
            )
        )
    explain = _explain(found, ranked_ms, _milliseconds_since(started)) if params.explain else None
    return SearchResult(
        query=params.query,
        mode="lexical",
        hits=hits,
        total=found.total,
        took_ms=_milliseconds_since(started),
        freshness=served.freshness(connection, params.collections),
        explain=explain,
    )


def _explain(found: lexical.LexicalResult, ranked_ms: float, all_ms: float) -> dict[str, object]:
    wanted = found.expression
    return {
        "words": [word.expression for word in wanted.words],
        "required": [word.expression for word in wanted.required],
        "excluded": [word.expression for word in wanted.excluded],
        "languages": [analyzer.language for analyzer in found.analyzers],
        "stages": [
            {"stage": "bm25", "ran": True, "ms": ranked_ms, "matches": found.total},
            {"stage": "passages", "ran": True, "ms": round(all_ms - ranked_ms, 3)},
        ],
    }


def _filters(params: SearchParams) -> Filters:
    return Filters(
        collections=tuple(params.collections),
        tags_all=_tags(params.tags_all),
        tags_any=_tags(params.tags_any),
        languages=tuple(v.lower().translate(_LANGUAGE_SEPARATORS).partition("-")[0] for v in params.languages),
        types=tuple(value.lower() for value in params.types),
        path_prefix=params.path_prefix.lstrip("/") if params.path_prefix else None,
        author=params.author.lower() if params.author else None,
        since=moment(params.since) if params.since else None,
        until=moment(params.until, end_of_day=True) if params.until else None,
    )


def _tags(tags: list[str]) -> tuple[str, ...]:
    return tuple(tag.strip().lstrip("#").lower() for tag in tags)


def _milliseconds_since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)
