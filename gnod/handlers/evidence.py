"""`evidence.gather`: hybrid search, then the fewest passages that support an answer, within a number of tokens."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal

from gnod.handlers.attached import with_lag
from gnod.handlers.search import lexical_only_reason
from gnod.handlers.wire_types import (
    Also,
    copies_of,
    corrected_stage,
    corrections_of,
    filters_of,
    freshness_of,
    location_of,
    milliseconds_since,
    stages_of,
)
from gnod.pipeline.answering.evidence import Evidence, EvidenceLeftOut, EvidencePassage, Place
from gnod.pipeline.correction.correcting import Corrected
from gnod.pipeline.correction.corrector import Corrector
from gnod.pipeline.fields import reading
from gnod.pipeline.hybrid import SearchOptions
from gnod.pipeline.query import parse_question
from gnod.protocol import evidence as wire
from gnod.protocol.base import ProgressValue, copied
from gnod.rpc.dispatcher import Call, Handler
from gnod.services.attached import AttachedCollections
from gnod.services.configuration import Configuration
from gnod.services.embedding import EmbeddingService
from gnod.services.search import HybridSearch
from gnod.store.database import Connection, Database
from gnod.store.documents import documents
from gnod.store.documents.documents import Document
from gnod.sync.freshness import FreshnessService
from gnod.types import format_uri


def handlers(
    configuration: Configuration,
    database: Database,
    freshness: FreshnessService,
    hybrid: HybridSearch,
    embedding: EmbeddingService,
    corrector: Corrector,
    attached: AttachedCollections,
) -> Mapping[str, Handler]:
    async def gather(params: wire.EvidenceParams, call: Call) -> wire.EvidenceResult:
        configuration.check_known(params.collections)
        filters = filters_of(params)
        if params.fresh:
            call.progress(ProgressValue(stage="syncing", done=0))
            await freshness.refresh(params.collections, embedded=True)
        started = time.perf_counter()
        asked = await reading.read_question(database.read, params.question, configuration.current.saved_queries)
        filters, question = asked.within(filters), asked.text
        options = SearchOptions(
            limit=params.limit,
            min_score=params.min_score,
            expand=params.expand,
            rerank=params.rerank,
            budget_s=params.budget_s,
        )
        async with database.snapshot() as local, attached.searching(local, filters) as shared:
            read = shared.read
            corrected = Corrected(question)
            if not params.exact:
                corrected = await read(lambda c: corrector.correct(c, question))
            correcting = corrected_stage(corrected, started)
            found = await hybrid.search(read, parse_question(corrected.text), filters, options, sources=shared.sources)
            evidence = await hybrid.evidence(read, corrected.text, found, params.collections, params.tokens)
            also = await read(lambda c: copies_of(c, {each.place.document.id for each in evidence.passages}, filters))
            digests = await read(partial(_digests, [each.place.document for each in evidence.passages]))
            report = await read(lambda c: freshness.report(c, params.collections, embedded=True))
        reason = lexical_only_reason(embedding, found)
        stages = [*correcting, *stages_of([*found.stages, *evidence.stages])]
        explained: dict[str, object] = {"stages": stages, "confidence": dict(evidence.confidence.components)}
        return wire.EvidenceResult(
            question=params.question,
            passages=[_passage(number, each, digests, also) for number, each in enumerate(evidence.passages, start=1)],
            tokens=evidence.tokens,
            max_tokens=params.tokens,
            left_out=[_left_out(each) for each in evidence.left_out],
            reason=_why_empty(evidence),
            found=evidence.confidence.is_enough,
            confidence=evidence.confidence.value,
            took_ms=milliseconds_since(started),
            freshness=with_lag(freshness_of(report), shared),
            lexical_only_reason=reason,
            notes=[*(note for note in found.left_out if note != reason), *dict.fromkeys(shared.notes)],
            hints=list(asked.hints),
            corrections=corrections_of(corrected),
            explain=explained if params.explain else None,
        )

    return {"evidence.gather": gather}


def _digests(found: Sequence[Document], connection: Connection) -> dict[int, str]:
    return {each.id: documents.content_digest(connection, each.mirror_hash) for each in found}


def _passage(
    number: int, passage: EvidencePassage, digests: Mapping[int, str], also: Mapping[int, Also]
) -> wire.EvidencePassage:
    document = passage.place.document
    return copied(
        wire.EvidencePassage,
        document,
        **_place(passage.place),
        number=number,
        content_hash=digests[document.id],
        text=passage.text,
        lead=passage.lead,
        lead_line=passage.lead_line,
        score=passage.score,
        **also.get(document.id, {}),
    )


def _left_out(left_out: EvidenceLeftOut) -> wire.LeftOutPassages:
    return copied(
        wire.LeftOutPassages,
        left_out.place.document,
        **_place(left_out.place),
        reason=left_out.reason,
        count=left_out.passages,
        score=left_out.score,
        tokens=left_out.tokens,
        repeats=None if left_out.repeats is None else left_out.repeats + 1,
    )


def _place(place: Place) -> dict[str, object]:
    return {
        "uri": format_uri(place.document.collection, place.document.path),
        "heading": place.heading,
        "line": place.line,
        "end_line": place.end_line,
        "location": location_of(place.document, place.line),
    }


def _why_empty(evidence: Evidence) -> Literal["nothing_found", "over_budget"] | None:
    if evidence.passages:
        return None
    return "over_budget" if evidence.left_out else "nothing_found"
