"""`ask.answer`. Progress notifications carry the quotes as soon as they are found, the sources before the answer, and
then the text as the model writes it, unchecked. The result is checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gnod.answers.confidence import Confidence
from gnod.answers.query_models import NotCalled
from gnod.answers.quotes import ScoredQuote
from gnod.answers.quoting import Quoted
from gnod.answers.service import Answer, AnswerOptions, AnswerService
from gnod.answers.sources import SourcePassage
from gnod.handlers.search import request_of
from gnod.handlers.wire_types import also, corrections_of, freshness_of, location_to_wire, stages_of
from gnod.protocol import base as wire
from gnod.protocol.base import AnswerSource, ProgressValue
from gnod.protocol.search import AskParams, AskResult
from gnod.rpc.dispatcher import Call, Handler
from gnod.search.hits import NO_COPIES, Copies


def handlers(answers: AnswerService) -> Mapping[str, Handler]:
    async def answer(params: AskParams, call: Call) -> AskResult:
        call.progress(ProgressValue(stage="syncing" if params.fresh else "searching", done=0))
        request = request_of(params, params.question)._replace(exact=params.exact)
        options = AnswerOptions(params.expand, params.rerank, params.max_tokens, params.generate)
        return _result(await answers.answer(request, options, _Progress(call, params)), params)

    return {"ask.answer": answer}


class _Progress:
    """Tells the client how far its answer is."""

    def __init__(self, call: Call, params: AskParams) -> None:
        self._call = call
        self._params = params

    def quoted(self, found: Quoted, copies: Mapping[int, Copies]) -> None:
        quotes = _quotes(found, copies, self._params)
        self._call.say(ProgressValue(stage="quotes", done=len(quotes), total=len(quotes), quotes=quotes))

    def chose(self, sources: Sequence[SourcePassage], copies: Mapping[int, Copies]) -> None:
        shown = [_source(source, copies) for source in sources]
        self._call.say(ProgressValue(stage="sources", done=len(sources), total=len(sources), sources=shown))
        self._call.progress(ProgressValue(stage="reading", done=0, total=len(sources)))

    def wrote(self, text: str, length: int) -> None:
        self._call.say(ProgressValue(stage="answering", done=length, unit="characters", text=text))


def _result(answer: Answer, params: AskParams) -> AskResult:
    said, (sources, generated, checked), confidence = answer.said, answer.written, answer.quoted.confidence
    answered, reason = answer.verdict
    cited = checked.citations if checked else []
    not_called = answer.generator if isinstance(answer.generator, NotCalled) else None
    explain: dict[str, object] = {"stages": stages_of(said.stages), "confidence": dict(confidence.components)}
    return AskResult(
        question=params.question,
        quotes=_quotes(answer.quoted, answer.copies, params),
        answer=checked.text if checked and answered and not reason else "",
        answered=answered,
        confidence=confidence.value,
        reason=reason,
        sources=[_source(source, answer.copies, cited=source.number in cited) for source in sources],
        citations=cited,
        model=None if isinstance(answer.generator, NotCalled) else answer.generator.uri,
        no_model_reason=not_called and not_called.why,
        finish=generated.finish if generated else None,
        prompt_tokens=generated.prompt_tokens if generated else 0,
        tokens=generated.tokens if generated else 0,
        took_ms=said.took_ms,
        freshness=freshness_of(said.freshness),
        notes=list(said.notes),
        hints=list(said.hints),
        corrections=corrections_of(said.corrections),
        explain=explain if params.explain else None,
    )


def _source(source: SourcePassage, copies: Mapping[int, Copies], *, cited: bool = False) -> AnswerSource:
    location, same = location_to_wire(source.location), also(copies.get(source.document_id, NO_COPIES))
    return wire.copied(AnswerSource, source, location=location, cited=cited, **same)


def _quotes(found: Quoted, copies: Mapping[int, Copies], params: AskParams) -> list[wire.Quote]:
    return [_quote(quote, found.confidence, copies, explain=params.explain) for quote in found.quotes]


def _quote(quote: ScoredQuote, confidence: Confidence, copies: Mapping[int, Copies], *, explain: bool) -> wire.Quote:
    return wire.copied(
        wire.Quote,
        quote,
        location=location_to_wire(quote.location),
        perhaps=not confidence.is_enough,
        explain=dict(quote.components) if explain else None,
        **also(copies.get(quote.document_id, NO_COPIES)),
    )
