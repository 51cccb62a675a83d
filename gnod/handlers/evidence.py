"""`evidence.gather`: hybrid search, then the fewest passages that support an answer, within a number of tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from gnod.answers.evidence import EvidenceLeftOut, EvidenceList, PassageText, Place
from gnod.answers.service import AnswerService, EvidenceFound
from gnod.handlers.search import request_of
from gnod.handlers.wire_types import also, corrections_of, freshness_of, location_of, stages_of
from gnod.protocol import evidence as wire
from gnod.protocol.base import ProgressValue, copied
from gnod.rpc.dispatcher import Call, Handler
from gnod.search.hits import NO_COPIES
from gnod.search.hybrid.stages import HybridSettings
from gnod.types import format_uri


def handlers(answers: AnswerService) -> Mapping[str, Handler]:
    async def gather(params: wire.EvidenceParams, call: Call) -> wire.EvidenceResult:
        if params.fresh:
            call.progress(ProgressValue(stage="syncing", done=0))
        request = request_of(params, params.question)._replace(exact=params.exact)
        options = HybridSettings(
            limit=params.limit,
            min_score=params.min_score,
            expand=params.expand,
            rerank=params.rerank,
            budget_s=params.budget_s,
        )
        return _result(await answers.evidence(request, options, params.tokens), params)

    return {"evidence.gather": gather}


def _result(found: EvidenceFound, params: wire.EvidenceParams) -> wire.EvidenceResult:
    evidence, said = found.evidence, found.said
    explain: dict[str, object] = {"stages": stages_of(said.stages), "confidence": dict(evidence.confidence.components)}
    return wire.EvidenceResult(
        question=params.question,
        passages=[_passage(number, each, found) for number, each in enumerate(evidence.passages, start=1)],
        tokens=evidence.tokens,
        max_tokens=params.tokens,
        left_out=[_left_out(each) for each in evidence.left_out],
        reason=_why_empty(evidence),
        found=evidence.confidence.is_enough,
        confidence=evidence.confidence.value,
        took_ms=said.took_ms,
        freshness=freshness_of(said.freshness),
        lexical_only_reason=found.lexical_only_reason,
        notes=list(said.notes),
        hints=list(said.hints),
        corrections=corrections_of(said.corrections),
        explain=explain if params.explain else None,
    )


def _passage(number: int, passage: PassageText, found: EvidenceFound) -> wire.EvidencePassage:
    document = passage.place.document
    return copied(
        wire.EvidencePassage,
        document,
        **_place(passage.place),
        number=number,
        content_hash=found.digests[document.id],
        text=passage.text,
        lead=passage.lead,
        lead_line=passage.lead_line,
        score=passage.score,
        **also(found.copies.get(document.id, NO_COPIES)),
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


def _why_empty(evidence: EvidenceList) -> Literal["nothing_found", "over_budget"] | None:
    if evidence.passages:
        return None
    return "over_budget" if evidence.left_out else "nothing_found"
