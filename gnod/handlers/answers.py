"""`ask.…` and `evidence.gather`: search, and return what the documents say about a question or a claim."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from gnod.answers.confidence import Confidence
from gnod.answers.evidence import EvidenceLeftOut, EvidenceList, PassageText, Place
from gnod.answers.line_citations import CitationNow
from gnod.answers.query_models import NotCalled
from gnod.answers.quotes import ScoredQuote
from gnod.answers.quoting import Quoted
from gnod.answers.service import Answer, AnswerOptions, AnswerService, EvidenceFound, JudgedClaim, Said
from gnod.handlers.search import request_of
from gnod.handlers.wire_types import also, corrections_of, freshness_of, location_of, location_to_wire, stages_of
from gnod.protocol import base
from gnod.protocol import evidence as wire
from gnod.protocol.base import AnswerSource, ProgressValue, copied
from gnod.protocol.search import AskParams, AskResult
from gnod.rpc.dispatcher import Call, Handler, named
from gnod.search.hits import NO_COPIES, Copies
from gnod.search.hybrid.budget import milliseconds_since
from gnod.search.hybrid.stages import HybridSettings


def handlers(answers: AnswerService) -> Mapping[str, Handler]:
    async def ask_answer(params: AskParams, call: Call) -> AskResult:
        call.progress(ProgressValue(stage="syncing" if params.fresh else "searching", done=0))
        request = request_of(params, params.question)._replace(exact=params.exact)
        options = AnswerOptions(params.expand, params.rerank, params.max_tokens, params.generate)
        return _answered(await answers.answer(request, options, _Progress(call, params)), params)

    async def evidence_gather(params: wire.EvidenceParams, call: Call) -> wire.EvidenceResult:
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
        return _gathered(await answers.evidence(request, options, params.tokens), params)

    async def ask_verify(params: wire.AskVerifyParams, call: Call) -> wire.AskVerifyResult:
        def report(done: int, total: int) -> None:
            call.progress(ProgressValue(stage="checking", done=done, total=total))

        started = time.perf_counter()
        verified = await answers.verify(request_of(params, params.text), report)
        return wire.AskVerifyResult(
            claims=[_claim(claim) for claim in verified.claims],
            citations=[_citation(citation) for citation in verified.citations],
            took_ms=milliseconds_since(started),
            freshness=freshness_of(verified.freshness),
        )

    return named(ask_answer, ask_verify, evidence_gather)


class _Progress:
    """Sends the progress of an answer to the client."""

    def __init__(self, call: Call, params: AskParams) -> None:
        self._call = call
        self._params = params

    def quoted(self, found: Quoted, copies: Mapping[int, Copies]) -> None:
        quotes = _quotes(found, copies, self._params)
        self._call.say(ProgressValue(stage="quotes", done=len(quotes), total=len(quotes), quotes=quotes))

    def chose(self, sources: Sequence[PassageText], copies: Mapping[int, Copies]) -> None:
        shown = [_source(number, source, copies) for number, source in enumerate(sources, start=1)]
        self._call.say(ProgressValue(stage="sources", done=len(sources), total=len(sources), sources=shown))
        self._call.progress(ProgressValue(stage="reading", done=0, total=len(sources)))

    def wrote(self, text: str, length: int) -> None:
        self._call.say(ProgressValue(stage="answering", done=length, unit="characters", text=text))


def _answered(answer: Answer, params: AskParams) -> AskResult:
    confidence, generated, checked = answer.quoted.confidence, answer.generated, answer.checked
    cited = checked.citations if checked else []
    not_called = answer.generator if isinstance(answer.generator, NotCalled) else None
    return AskResult(
        question=params.question,
        quotes=_quotes(answer.quoted, answer.copies, params),
        answer=checked.text if checked else "",
        answered=answer.answered,
        confidence=confidence.value,
        reason=answer.reason,
        sources=[
            _source(number, source, answer.copies, cited=number in cited)
            for number, source in enumerate(answer.sources, start=1)
        ],
        citations=cited,
        model=None if isinstance(answer.generator, NotCalled) else answer.generator.uri,
        no_model_reason=not_called and not_called.why,
        finish=generated.finish if generated else None,
        tokens=generated.tokens if generated else 0,
        **_besides(answer.said, confidence, explain=params.explain),
    )


def _besides(said: Said, confidence: Confidence, *, explain: bool) -> dict[str, Any]:
    """Return the fields that every answer has besides its content."""
    explained = {"stages": stages_of(said.stages), "confidence": dict(confidence.components)}
    return {
        "took_ms": said.took_ms,
        "freshness": freshness_of(said.freshness),
        "notes": list(said.notes),
        "hints": list(said.hints),
        "corrections": corrections_of(said.corrections),
        "explain": explained if explain else None,
    }


def _source(number: int, source: PassageText, copies: Mapping[int, Copies], *, cited: bool = False) -> AnswerSource:
    document, place = source.place.document, _place(source.place)
    del place["heading"]
    same = also(copies.get(document.id, NO_COPIES))
    facts = {"number": number, "text": source.text, "citation": source.citation, "score": source.score, "cited": cited}
    return copied(AnswerSource, document, **place, **facts, **same)


def _quotes(found: Quoted, copies: Mapping[int, Copies], params: AskParams) -> list[base.Quote]:
    return [_quote(quote, found.confidence, copies, explain=params.explain) for quote in found.quotes]


def _quote(quote: ScoredQuote, confidence: Confidence, copies: Mapping[int, Copies], *, explain: bool) -> base.Quote:
    return copied(
        base.Quote,
        quote,
        location=location_to_wire(quote.location),
        perhaps=not confidence.is_enough,
        explain=dict(quote.components) if explain else None,
        **also(copies.get(quote.document_id, NO_COPIES)),
    )


def _claim(claim: JudgedClaim) -> wire.VerifiedClaim:
    sentence = claim.sentence
    shown = sentence and copied(base.Quote, sentence, location=location_to_wire(sentence.location))
    return copied(wire.VerifiedClaim, claim, differs=list(claim.differs), sentence=shown)


def _citation(checked: CitationNow) -> wire.CheckedCitation:
    uri = checked.document.uri if checked.document else None
    return copied(wire.CheckedCitation, checked, citation=checked.written, uri=uri)


def _gathered(found: EvidenceFound, params: wire.EvidenceParams) -> wire.EvidenceResult:
    evidence = found.evidence
    return wire.EvidenceResult(
        question=params.question,
        passages=[_passage(number, passage, found) for number, passage in enumerate(evidence.passages, start=1)],
        tokens=evidence.tokens,
        max_tokens=params.tokens,
        left_out=[_left_out(passages) for passages in evidence.left_out],
        reason=_why_empty(evidence),
        state=evidence.confidence.state,
        confidence=evidence.confidence.value,
        lexical_only_reason=found.lexical_only_reason,
        **_besides(found.said, evidence.confidence, explain=params.explain),
    )


def _passage(number: int, passage: PassageText, found: EvidenceFound) -> wire.EvidencePassage:
    document = passage.place.document
    return copied(
        wire.EvidencePassage,
        document,
        **_place(passage.place),
        number=number,
        text=passage.text,
        citation=passage.citation,
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
        "uri": place.document.uri,
        "heading": place.heading,
        "line": place.line,
        "end_line": place.end_line,
        "location": location_of(place.document, place.line),
    }


def _why_empty(evidence: EvidenceList) -> Literal["nothing_found", "over_budget"] | None:
    if evidence.passages:
        return None
    return "over_budget" if evidence.left_out else "nothing_found"
