"""Convert the results of a search to wire types. This may run in another process."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import UNSET, UnsetType

from gnod.handlers.wire_types import also, corrections_of, freshness_of, iso, location_of, stages_of
from gnod.protocol import search as wire
from gnod.protocol.base import copied
from gnod.search.hits import DocumentHit
from gnod.search.passages.best_passage import DocumentMatches, ShownPassage
from gnod.search.related import related_documents
from gnod.search.results import Results
from gnod.store.tables.documents import DocumentRow
from gnod.store.tables.records import StoredDefinition
from gnod.types import source_line


def result_of(results: Results, params: wire.FilterParams) -> wire.SearchResult:
    in_rows = isinstance(params, wire.SearchParams) and bool(params.columns)
    first = params.offset + 1 if isinstance(params, wire.SearchParams) else 1
    hits = [] if in_rows else [hit_of(rank, each, params) for rank, each in enumerate(results.hits, first)]
    return wire.SearchResult(
        query=results.query,
        mode=results.mode,
        hits=hits,
        rows=[copied(wire.Row, row) for row in results.rows] if in_rows else UNSET,
        total=results.total,
        loose=results.loose,
        took_ms=results.took_ms,
        freshness=freshness_of(results.freshness),
        lexical_only_reason=results.lexical_only_reason,
        notes=list(results.notes),
        hints=list(results.hints),
        facets={name: [wire.FacetCount(*count) for count in counts] for name, counts in results.facets.items()},
        corrections=corrections_of(results.corrections),
        explain={**results.explain, "stages": stages_of(results.stages)} if params.explain else None,
    )


def hit_of(rank: int, hit: DocumentHit, params: wire.FilterParams) -> wire.Hit:
    document, best = hit.document, hit.passages[0]
    passages: list[wire.HitPassage] | UnsetType = UNSET
    if isinstance(params, wire.SearchParams) and params.passages > 1:
        passages = [copied(wire.HitPassage, passage, **_passage(passage, document)) for passage in hit.passages]
    return copied(
        wire.Hit,
        document,
        **_passage(best, document),
        **hit.columns._asdict(),
        uri=document.uri,
        source=document.source,
        modified=iso(document.mtime_ns / 1e9),
        date=iso(document.dated),
        rank=rank,
        score=hit.ranked.score,
        loose=hit.ranked.is_loose,
        location=location_of(document, best.line),
        definition=_definition(hit.definition, document) if hit.definition else None,
        context=hit.context,
        text=hit.text,
        explain=dict(hit.ranked.components) if params.explain else None,
        passages=passages,
        matches=_matches(hit.matches, document) if hit.matches else UNSET,
        reasons=_reasons(hit.ranked.components),
        **also(hit.copies),
    )


def _passage(passage: ShownPassage, document: DocumentRow) -> dict[str, object]:
    return {
        "line": source_line(document.line_map, passage.line),
        "end_line": source_line(document.line_map, passage.end_line),
        "snippet": passage.snippet,
        "snippet_line": source_line(document.line_map, passage.snippet_line),
        "marks": passage.marks,
        "heading": passage.heading,
    }


def _matches(found: DocumentMatches, document: DocumentRow) -> wire.HitMatches:
    lines = [source_line(document.line_map, line) for line in found.lines]
    located = document.locations
    places = [place for line in dict.fromkeys(found.lines) if located and (place := located.at(line))]
    pages = {place.value for place in places if place.kind == "page"}
    return wire.HitMatches(count=len(lines), exact=found.is_exact, lines=lines, pages=len(pages) or None)


def _definition(definition: StoredDefinition, document: DocumentRow) -> wire.Definition:
    path = definition.path.split(" > ") if definition.path else []
    return copied(
        wire.Definition,
        definition,
        path=path,
        label=".".join((*path, definition.name)),
        line=source_line(document.line_map, definition.line),
        end_line=source_line(document.line_map, definition.end_line),
    )


def _reasons(components: Mapping[str, float]) -> list[wire.Reason] | UnsetType:
    return [
        wire.Reason(kind=kind, number=components[kind]) for kind in related_documents.KINDS if kind in components
    ] or UNSET
